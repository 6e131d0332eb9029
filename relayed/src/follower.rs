//! Follows a relayed broadcast: which tracks to read, and what of them a session gets.

use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::{
    BroadcastName, Clock, Control, DecoderKind, Hello, Message, ReceiverSession, VersionRange, Welcome,
};

use crate::assembly::{Assembly, Step};
use crate::catalog::Fault;
use crate::event::Event;
use crate::track::Track;

/// What a follower wants of the tracks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Subscribe to this track from now on.
    Read(Track),
    /// End the subscription to this track.
    Leave(Track),
    /// Stop the groups of this track with lower numbers (RFC 9000, section 3.5), also those that come later.
    StopBefore(Track, u64),
    /// All base layers up to this frame are here.
    Complete(u64),
}

/// A viewer of a relayed broadcast, between its tracks and a [`ReceiverSession`]. Times are those of the session.
#[derive(Debug, Default)]
pub struct Follower {
    /// Set once the welcome has come and can be shown.
    assembly: Option<Assembly>,
    wants_sound: bool,
    /// Whether each track is read.
    reads: [bool; Track::ALL.len()],
}

impl Follower {
    /// Begins a session with what [`messages`](crate::catalog::messages) returned. `wall_clock` is the time since 1970
    /// by this machine's clock: no relay says what the publisher's is.
    #[must_use]
    pub fn begin(messages: &[u8], wall_clock: Duration, rtt: Duration, decoder: DecoderKind) -> ReceiverSession {
        let hello = Hello {
            versions: VersionRange::SPOKEN,
            token: Bytes::new(),
            max_bitrate: None,
            decoder,
            broadcast: BroadcastName::default(),
            start: None,
        };
        let mut session = ReceiverSession::new(hello, false);
        session.handle_rtt(rtt);
        session.handle_control_bytes(messages);
        // The session adds the way that a sender's message took.
        let micros = wall_clock.saturating_sub(rtt / 2).as_micros();
        let clock = Clock { micros: u64::try_from(micros).unwrap_or(u64::MAX) };
        session.handle_control_bytes(&Message::Clock(clock).encode());
        session
    }

    /// Returns an error if relays do not carry such a broadcast.
    ///
    /// # Errors
    /// [`Fault::Pictures`].
    pub const fn check(welcome: &Welcome) -> Result<(), Fault> {
        if welcome.video.is_some() { Ok(()) } else { Err(Fault::Pictures) }
    }

    /// Notes that the caller can show the broadcast, which has a frame every `interval`.
    pub fn handle_ready(&mut self, interval: Duration) {
        self.assembly = Some(Assembly::new(interval));
    }

    /// Notes whether the caller plays sound from now on, if there is any.
    pub const fn handle_sound_wanted(&mut self, wanted: bool) {
        self.wants_sound = wanted;
    }

    /// Processes what a track brought.
    pub fn handle_event(&mut self, now: Duration, event: Event) {
        let Some(assembly) = &mut self.assembly else { return };
        match event {
            Event::Sound(packet) => assembly.handle_sound(packet),
            Event::BaseGroup(group) => assembly.handle_base_group(group),
            Event::Bytes(piece) => assembly.handle_bytes(now, piece),
            Event::End { track, number, length } => assembly.handle_end(now, track, number, length),
        }
    }

    /// Notes that the track of sound ended: pictures go on.
    pub fn handle_sound_end(&mut self) {
        self.wants_sound = false;
        self.reads[Track::Sound as usize] = false;
    }

    /// Cuts the frames that had their time.
    pub fn handle_time(&mut self, now: Duration) {
        if let Some(assembly) = &mut self.assembly {
            assembly.handle_time(now);
        }
    }

    /// Handles a message of the session for the sender, who does not hear it. The relay's tracks answer in its place.
    pub fn handle_said(&mut self, session: &mut ReceiverSession, message: &[u8]) {
        session.handle_said();
        let mut control = Control::default();
        control.handle_bytes(message);
        if let (Ok(Some(Message::RandomAccessRequest(request))), Some(assembly)) = (control.poll(), &mut self.assembly)
        {
            assembly.wait_for_join(request.lost);
        }
    }

    /// Passes assembled streams to the session, and returns what to do next; `None` until the next input.
    pub fn poll(&mut self, now: Duration, session: &mut ReceiverSession) -> Option<Wanted> {
        let assembly = self.assembly.as_mut()?;
        while let Some(step) = assembly.poll() {
            match step {
                Step::Open(stream) => session.handle_opened(stream),
                Step::Bytes(stream, offset, bytes) => session.handle_stream_bytes(now, stream, offset, bytes),
                Step::End(stream) => session.handle_stream_end(now, stream),
                Step::StopBefore(track, group) => return Some(Wanted::StopBefore(track, group)),
                Step::Complete(group) => return Some(Wanted::Complete(group)),
            }
        }
        self.poll_track()
    }

    /// Returns when to call [`Follower::handle_time`].
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.assembly.as_ref().and_then(Assembly::poll_timeout)
    }

    /// Returns whether random-access frames are read.
    #[must_use]
    pub fn reads_join(&self) -> bool {
        self.reads[Track::Join as usize]
    }

    /// Returns a track to read or to leave. It reads random-access frames while they are needed, and the rest of frames
    /// otherwise: meanwhile that would take the room of the random-access frame, and could not be decoded.
    fn poll_track(&mut self) -> Option<Wanted> {
        let needs_join = self.assembly.as_ref()?.needs_join();
        let tracks = [
            (Track::Base, true),
            (Track::Sound, self.wants_sound),
            (Track::More, !needs_join),
            (Track::Join, needs_join),
        ];
        let mut changed = tracks.into_iter().filter(|(track, is_wanted)| self.reads[*track as usize] != *is_wanted);
        // It leaves one before it reads another.
        let (track, is_wanted) = changed.clone().find(|(_, is_wanted)| !is_wanted).or_else(|| changed.next())?;
        self.reads[track as usize] = is_wanted;
        Some(if is_wanted { Wanted::Read(track) } else { Wanted::Leave(track) })
    }
}

#[cfg(test)]
mod tests {
    use nestcast_proto::{FrameRate, PackageHash, ReceiverOutput, Video};

    use super::*;
    use crate::event::Piece;

    const FRAME_TIME: Duration = Duration::from_millis(33);

    fn welcome() -> Welcome {
        Welcome {
            model: [1; 6],
            package: PackageHash([0; 32]),
            width: 640,
            height: 360,
            rate: FrameRate::new(30, 1).expect("a rate"),
            video: Some(Video::new([2; 6])),
        }
    }

    fn wanted(follower: &mut Follower, session: &mut ReceiverSession) -> Vec<Wanted> {
        std::iter::from_fn(|| follower.poll(FRAME_TIME, session)).collect()
    }

    #[test]
    fn a_follower_reads_what_it_needs() {
        let messages = Message::Welcome { version: 1, welcome: welcome() }.encode();
        let (wall, rtt) = (Duration::from_secs(1_795_000_000), Duration::from_millis(40));
        let mut session = Follower::begin(&messages, wall, rtt, DecoderKind::Linear);
        let mut follower = Follower::default();
        let greeted = std::iter::from_fn(|| session.poll(Duration::ZERO))
            .find_map(|output| match output {
                ReceiverOutput::Welcome { welcome, sender_clock } => Some((welcome, sender_clock)),
                _ => None,
            })
            .expect("a welcome");
        assert_eq!(greeted, (welcome(), wall), "the relay's way is not added");
        assert_eq!(Follower::check(&Welcome { video: None, ..welcome() }), Err(Fault::Pictures));
        assert_eq!(wanted(&mut follower, &mut session), [], "the caller is not ready");
        session.handle_ready(Duration::ZERO);
        follower.handle_ready(FRAME_TIME);
        assert_eq!(wanted(&mut follower, &mut session), [Wanted::Read(Track::Base), Wanted::Read(Track::Join)]);
        follower.handle_sound_wanted(true);
        assert_eq!(wanted(&mut follower, &mut session), [Wanted::Read(Track::Sound)]);
        for (track, text) in [(Track::Join, "join"), (Track::Base, "base")] {
            let piece = Piece { track, number: 7, offset: 0, bytes: Bytes::from_static(text.as_bytes()) };
            follower.handle_event(FRAME_TIME, Event::Bytes(piece));
            follower.handle_event(FRAME_TIME, Event::End { track, number: 7, length: 4 });
        }
        let joined = wanted(&mut follower, &mut session);
        assert_eq!(joined[joined.len() - 2..], [Wanted::Leave(Track::Join), Wanted::Read(Track::More)], "{joined:?}");
        assert!(!follower.reads_join());
        follower.handle_sound_end();
        assert_eq!(wanted(&mut follower, &mut session), []);
    }
}
