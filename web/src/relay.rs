//! A broadcast through a relay: the viewer's end of moq-lite, and what it tells the session.

use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::ReceiverSession;
use nestcast_relayed::client::Output;
use nestcast_relayed::{Client, Fault, Follower, Track, Version, Wanted};

use crate::step::Step;

/// The longest time for the catalog, once connected.
const CATALOG_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a subscription to the rest of frames lasts. A relay opens streams of which a slow link never brings a byte. A
/// browser does not show those, so nobody can stop them, and their bytes would use up the window of flow control. They end
/// with the subscription.
const RENEWAL_TIME: Duration = Duration::from_millis(500);

/// One connection to a relay. Times are since it began, and since the session began once there is one.
#[derive(Debug)]
pub(crate) struct Relay {
    client: Client,
    pub(crate) follower: Follower,
    /// Whether the catalog has come and the session has begun.
    has_begun: bool,
    has_ended: bool,
    /// Whether the broadcast ended. The session still has its last frames.
    is_over: bool,
    /// When the subscription to the rest of frames was replaced.
    renewed: Duration,
}

impl Relay {
    pub(crate) fn new(version: Version, broadcast: String) -> Self {
        let client = Client::new(version, broadcast);
        let follower = Follower::default();
        Self { client, follower, has_begun: false, has_ended: false, is_over: false, renewed: Duration::ZERO }
    }

    /// Returns whether the session may be polled.
    pub(crate) const fn has_session(&self) -> bool {
        self.has_begun && !self.has_ended
    }

    /// Notes that the session began with the catalog.
    pub(crate) fn handle_catalog(&mut self) {
        self.has_begun = true;
        self.client.leave(Track::Catalog);
    }

    pub(crate) fn handle_opened(&mut self, stream: u64) {
        self.client.handle_opened(stream);
    }

    pub(crate) fn handle_bytes(&mut self, stream: u64, bytes: Bytes) {
        self.client.handle_bytes(stream, bytes);
    }

    pub(crate) fn handle_end(&mut self, stream: u64, is_whole: bool) {
        self.client.handle_end(stream, is_whole);
    }

    pub(crate) fn handle_request_end(&mut self, number: u64) {
        self.client.handle_request_end(number);
    }

    /// Ends the connection because of a fault. Another attempt may find the broadcast.
    pub(crate) fn fail(&mut self, fault: &Fault) -> Step {
        self.end();
        let may_retry = matches!(fault, Fault::NoCatalog | Fault::Ended);
        Step::Unusable { why: format!("the broadcast at the relay is unusable: {fault}"), may_retry }
    }

    /// Ends everything: no further step follows.
    pub(crate) fn end(&mut self) {
        self.has_ended = true;
    }

    pub(crate) fn poll(&mut self, now: Duration, session: &mut ReceiverSession) -> Option<Step> {
        if self.has_ended {
            return None;
        }
        if !self.has_begun && now >= CATALOG_TIMEOUT {
            return Some(self.fail(&Fault::NoCatalog));
        }
        if self.follower.poll_timeout().is_some_and(|due| due <= now) {
            self.follower.handle_time(now);
        }
        loop {
            if let Some(output) = self.client.poll() {
                if let Some(step) = self.handle_output(now, output) {
                    return Some(step);
                }
                continue;
            }
            let Some(wanted) = self.follower.poll(now, session) else {
                if self.is_over {
                    session.handle_close();
                }
                return None;
            };
            match wanted {
                Wanted::Read(track) => self.client.read(track),
                Wanted::Leave(track) => self.client.leave(track),
                Wanted::StopBefore(track, group) => self.client.stop_before(track, group),
                Wanted::Complete(frame) => self.renew(now, frame),
            }
        }
    }

    /// Returns the end, once the session has no more frames of a broadcast that is over.
    pub(crate) fn poll_end(&mut self) -> Option<Step> {
        self.is_over.then(|| self.fail(&Fault::Ended))
    }

    /// Subscribes anew to the rest of the frames after this one, if the subscription is old enough.
    fn renew(&mut self, now: Duration, frame: u64) {
        if now.saturating_sub(self.renewed) >= RENEWAL_TIME {
            self.renewed = now;
            self.client.renew(Track::More, frame);
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Duration> {
        let catalog = (!self.has_begun).then_some(CATALOG_TIMEOUT);
        [catalog, self.follower.poll_timeout()].into_iter().flatten().min().filter(|_| !self.has_ended)
    }

    fn handle_output(&mut self, now: Duration, output: Output) -> Option<Step> {
        match output {
            Output::Setup(bytes) => Some(Step::Setup(bytes)),
            Output::Request(number, bytes) => Some(Step::Request(number, bytes)),
            Output::Write(number, bytes) => Some(Step::Write(number, bytes)),
            Output::Leave(number) => Some(Step::Leave(number)),
            Output::Stop(stream) => Some(Step::Stop(stream)),
            Output::Catalog(catalog) => (!self.has_begun).then_some(Step::Catalog(catalog)),
            Output::Unusable(fault) => Some(self.fail(&fault)),
            Output::Event(event) => {
                self.follower.handle_event(now, event);
                None
            }
            Output::TrackEnd(Track::Sound) => {
                self.follower.handle_sound_end();
                None
            }
            Output::TrackEnd(_) if self.has_begun => {
                self.is_over = true;
                None
            }
            Output::TrackEnd(_) => Some(self.fail(&Fault::NoCatalog)),
        }
    }
}
