//! The playback thread: from the mailbox through the player to a viewer.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;
use nestcast_player::{Announcement, Latency, PlayStats, Playout, Present, SoundMode};
use nestcast_proto::{Cause, PackageHash, ReceivedFrame, Sound, Welcome};

use crate::mailbox::{Answer, Counts, Mail, Mailbox};
use crate::sender_clock;
use crate::sink::Readiness;
use crate::view_error::ViewError;
use crate::viewer::{Concealed, Shown, Totals, Viewer};

/// The time between two reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// The package of a broadcast that has none, such as video.
const NO_PACKAGE: PackageHash = PackageHash([0; 32]);

/// The state of the playback thread.
pub(crate) struct Playback<'a, V> {
    viewer: V,
    mailbox: &'a Mailbox,
    playout: Playout,
    sound_mode: Option<SoundMode>,
    announced: Option<Announcement>,
    /// The number of the connection whose frames are shown.
    connection: u64,
    /// Whether there is no connection: nothing stands in for frames that nobody sends.
    is_disconnected: bool,
    /// Whether this connection has shown a frame: until then, nothing of the one before it is repeated.
    has_shown: bool,
    /// The origin of the player's times.
    epoch: Instant,
    reported: Instant,
    /// How long decoding took, of frames that are not shown yet.
    decoded: VecDeque<(u64, Duration)>,
    /// How long decoding the last frame took.
    decoding: Duration,
}

impl<'a, V: Viewer> Playback<'a, V> {
    pub(crate) fn new(viewer: V, mailbox: &'a Mailbox, latency: Latency) -> Self {
        let (now, mut playout) = (Instant::now(), Playout::new());
        playout.set_latency(latency);
        let (decoded, decoding) = (VecDeque::new(), Duration::ZERO);
        let sound_mode = viewer.sound_mode();
        Self {
            viewer,
            mailbox,
            playout,
            sound_mode,
            announced: None,
            connection: 0,
            is_disconnected: false,
            has_shown: false,
            epoch: now,
            reported: now,
            decoded,
            decoding,
        }
    }

    /// Plays until the last mail has arrived or the viewer cannot continue.
    pub(crate) fn run(mut self) -> Result<(), ViewError> {
        let mut patience = REPORT_INTERVAL;
        loop {
            let mail = self.mailbox.take(patience);
            let counts = self.mailbox.counts();
            if mail.is_empty() && mail.last {
                self.show_rest()?;
                self.playout.handle_sound_end();
                self.play_sound()?;
                if self.is_disconnected {
                    self.viewer.handle_disconnection().map_err(failed)?;
                }
                self.report(&counts)?;
                return self.viewer.finish().map_err(failed);
            }
            self.handle_mail(mail)?;
            if self.reported.elapsed() >= REPORT_INTERVAL {
                self.reported = Instant::now();
                self.report(&counts)?;
            }
            let now = self.epoch.elapsed();
            let due = [self.picture_timeout(), self.playout.poll_sound_timeout()].into_iter().flatten().min();
            patience = due.map_or(REPORT_INTERVAL, |due| due.saturating_sub(now));
        }
    }

    /// Returns when the next picture is due. Without a connection, only frames that arrived before its end are.
    fn picture_timeout(&self) -> Option<Duration> {
        if self.is_disconnected { self.playout.next_frame_at() } else { self.playout.poll_timeout() }
    }

    /// Shows the frames that wait for their moment.
    fn show_rest(&mut self) -> Result<(), ViewError> {
        while let Some(at) = self.playout.next_frame_at() {
            std::thread::sleep(at.saturating_sub(self.epoch.elapsed()));
            self.present()?;
        }
        Ok(())
    }

    fn handle_mail(&mut self, mail: Mail) -> Result<(), ViewError> {
        for (came, packet) in mail.sound {
            self.playout.handle_sound(came.saturating_duration_since(self.epoch), packet);
        }
        self.play_sound()?;
        for frame in mail.frames {
            self.handle_frame(frame)?;
        }
        if let Some(more) = mail.more {
            self.playout.handle_more(self.epoch.elapsed(), more)?;
        }
        self.present()?;
        self.is_disconnected |= mail.disconnected;
        if let Some((welcome, answer)) = mail.welcome {
            self.show_rest()?;
            if self.announced.is_some() {
                self.viewer.handle_disconnection().map_err(failed)?;
            }
            (self.connection, self.is_disconnected, self.has_shown) = (mail.connection, false, false);
            self.playout.handle_sound_end();
            self.play_sound()?;
            self.handle_welcome(&welcome, answer)?;
            self.handle_sound_announced(mail.sound_announced)?;
        }
        if let Some((package, answer)) = mail.package {
            self.handle_package(package, answer)?;
        }
        Ok(())
    }

    /// Begins with the sound of a connection, if it has any and the viewer plays it.
    fn handle_sound_announced(&mut self, announced: Option<Sound>) -> Result<(), ViewError> {
        if self.sound_mode.is_none() {
            return Ok(());
        }
        if announced.is_some() {
            self.playout.set_sound(self.sound_mode);
        }
        self.viewer.handle_sound_announced(announced).map_err(failed)
    }

    /// Plays the sound that is due.
    fn play_sound(&mut self) -> Result<(), ViewError> {
        while let Some(block) = self.playout.poll_sound(self.epoch.elapsed()) {
            self.viewer.play(&block).map_err(failed)?;
        }
        Ok(())
    }

    fn report(&mut self, counts: &Counts) -> Result<(), ViewError> {
        let played = self.playout.totals();
        let played = PlayStats { undecoded: played.undecoded + counts.replaced, ..played };
        let Counts { received, reconnects, watched, .. } = *counts;
        let totals = Totals { received, played, reconnects, watched };
        self.viewer.report(&totals).map_err(failed)
    }

    /// Decodes a frame. If the one before is to be shown meanwhile, shows it first: decoding cannot be interrupted.
    fn handle_frame(&mut self, frame: ReceivedFrame) -> Result<(), ViewError> {
        let now = self.epoch.elapsed();
        if let Some(at) = self.playout.next_frame_at().filter(|at| (now..now + self.decoding).contains(at)) {
            std::thread::sleep(at.saturating_sub(now));
            self.present()?;
        }
        let (start, id) = (Instant::now(), frame.header.id);
        self.playout.handle_frame(self.epoch.elapsed(), frame)?;
        self.report_corrupt();
        self.decoding = start.elapsed();
        self.decoded.push_back((id, self.decoding));
        Ok(())
    }

    fn handle_welcome(&mut self, welcome: &Welcome, answer: Answer<Readiness>) -> Result<(), ViewError> {
        let announced = self.playout.handle_welcome(welcome)?;
        self.announced = Some(announced);
        let decoding = self.viewer.handle_announcement(&announced).map_err(failed)?;
        let readiness = match decoding {
            Some(decoding) => {
                self.playout.handle_decoding(self.epoch.elapsed(), decoding);
                Readiness::Ready
            }
            None if announced.package == NO_PACKAGE => return Err(ViewError::NoPackage),
            None => Readiness::NeedsPackage,
        };
        // The connection that asked may have ended.
        let _ = answer.send(readiness);
        Ok(())
    }

    fn handle_package(&mut self, package: Bytes, answer: Answer<()>) -> Result<(), ViewError> {
        let Some(announced) = &self.announced else { return Ok(()) };
        let decoding = self.viewer.handle_package(announced, package).map_err(failed)?;
        self.playout.handle_decoding(self.epoch.elapsed(), decoding.ok_or(ViewError::PackageRefused)?);
        let _ = answer.send(());
        Ok(())
    }

    /// Shows what the player returns, if anything.
    fn present(&mut self) -> Result<(), ViewError> {
        let start = Instant::now();
        if self.is_disconnected && self.playout.next_frame_at().is_none_or(|at| at > self.epoch.elapsed()) {
            return Ok(());
        }
        let Some(present) = self.playout.handle_time(self.epoch.elapsed())? else {
            self.report_corrupt();
            return Ok(());
        };
        match present {
            Present::Show { id, captured, bytes, full, receiving, picture } => {
                self.has_shown = true;
                self.mailbox.was_useful(self.connection);
                let latency = sender_clock::since(captured, self.mailbox.ahead());
                let decoding = decoding_time(&mut self.decoded, id) + start.elapsed();
                let shown = Shown { id, captured, bytes, full, latency, receiving, decoding, picture };
                self.viewer.show(&shown).map_err(failed)?;
                self.playout.handle_shown(sender_clock::since(captured, self.mailbox.ahead()));
                Ok(())
            }
            Present::Conceal { id, picture } => self.viewer.conceal(&Concealed { id, picture }).map_err(failed),
            Present::Hold { .. } if !self.has_shown => Ok(()),
            Present::Hold { picture } => self.viewer.hold(picture).map_err(failed),
        }
    }

    fn report_corrupt(&mut self) {
        if let Some(frame) = self.playout.poll_corrupt() {
            tracing::debug!(frame = frame.id, "not shown: {}", frame.why);
        }
        if let Some(frame) = self.playout.poll_undecoded() {
            self.mailbox.undecodable(frame);
        }
    }
}

/// Returns how long decoding frame `id` took; zero for one that is shown again. Frames before it are not shown any
/// more.
fn decoding_time(decoded: &mut VecDeque<(u64, Duration)>, id: u64) -> Duration {
    while let Some((first, _)) = decoded.front()
        && *first < id
    {
        decoded.pop_front();
    }
    decoded.pop_front_if(|(first, _)| *first == id).map_or(Duration::ZERO, |(_, decoding)| decoding)
}

fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> ViewError {
    ViewError::View(Cause::new(error))
}
