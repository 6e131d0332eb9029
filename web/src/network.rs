//! The half of the viewer that reads the network: the session, and the mail for the other half.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::{
    Bitrate, BroadcastName, DecoderKind, Hello, MAX_TOKEN, ReceiveStats, ReceiverOutput, ReceiverSession, Sound,
    VersionRange,
};
use nestcast_relayed::catalog::{Entry, messages};
use nestcast_relayed::{Fault, Follower, Version};

use crate::mail::Mail;
use crate::milliseconds::{duration, milliseconds};
use crate::relay::Relay;
use crate::step::Step;

/// The number of the first stream. The page does not learn the numbers that QUIC gave streams. A sender's parity cannot
/// name these numbers before the sender has opened 2^40 streams, so parity is never applied to the wrong stream.
const FIRST_STREAM: u64 = (1 << 42) + 3;
/// The difference between the numbers of two streams in a row.
const STREAM_STEP: u64 = 4;

/// The sessions of one viewer, one after another.
#[derive(Debug)]
pub struct Network {
    session: ReceiverSession,
    /// The time when the session began.
    epoch: f64,
    mail: Mail,
    /// For each stream that is read, the number of bytes that arrived.
    streams: BTreeMap<u64, u64>,
    next_stream: u64,
    /// The relay that the session goes through, and the interval of the frames there.
    relay: Option<Relay>,
    interval: Duration,
    /// The sound of the broadcast, and whether the user wants it.
    sound: Option<Sound>,
    wants_sound: bool,
    /// Counts of the sessions before this one.
    past: ReceiveStats,
}

impl Network {
    /// Begins the first session at `now`.
    #[must_use]
    pub fn new(now: f64, hello: Hello) -> Self {
        Self {
            session: ReceiverSession::new(hello, false),
            epoch: now,
            mail: Mail::default(),
            streams: BTreeMap::new(),
            next_stream: FIRST_STREAM,
            relay: None,
            interval: Duration::ZERO,
            sound: None,
            wants_sound: false,
            past: ReceiveStats::default(),
        }
    }

    /// Returns what a page says first. A token longer than a sender accepts is cut, so the sender refuses it.
    /// `max_bitrate` is in bits per second, 0 for no limit.
    #[must_use]
    pub fn hello(token: &[u8], max_bitrate: u64, broadcast: BroadcastName) -> Hello {
        Hello {
            versions: VersionRange::SPOKEN,
            token: Bytes::copy_from_slice(&token[..token.len().min(MAX_TOKEN)]),
            max_bitrate: (max_bitrate > 0).then(|| Bitrate::from_bits(max_bitrate)),
            decoder: DecoderKind::Linear,
            broadcast,
            start: None,
        }
    }

    /// Begins another session.
    pub fn handle_connection(&mut self, now: f64, hello: Hello) {
        self.past = self.received();
        self.session = ReceiverSession::new(hello, false);
        self.epoch = now;
        self.streams.clear();
        self.sound = None;
        self.next_stream = FIRST_STREAM;
        self.relay = None;
    }

    /// Makes the connection that began one to a relay, and subscribes to the broadcast of this name there.
    pub fn handle_relay(&mut self, version: Version, broadcast: String) {
        self.relay = Some(Relay::new(version, broadcast));
    }

    /// Begins the session of a relayed broadcast, with its catalog; `rtt` in milliseconds. `None` if the catalog is no
    /// JSON of the right form.
    pub fn handle_catalog(&mut self, now: f64, rtt: f64, catalog: Option<(u64, &[Entry])>) -> Option<Step> {
        let relay = self.relay.as_mut()?;
        let damaged = || Fault::Catalog("it is no JSON of this form".to_owned());
        match catalog.ok_or_else(damaged).and_then(|(version, entries)| messages(version, entries)) {
            Ok(messages) => {
                relay.handle_catalog();
                self.session = Follower::begin(&messages, duration(now), duration(rtt), DecoderKind::Linear);
                self.epoch = now;
                None
            }
            Err(fault) => Some(relay.fail(&fault)),
        }
    }

    /// Notes that the relay ended the stream of a request.
    pub fn handle_request_end(&mut self, number: u64) {
        if let Some(relay) = &mut self.relay {
            relay.handle_request_end(number);
        }
    }

    /// Sets the path's round trip, in milliseconds.
    pub fn handle_rtt(&mut self, rtt: f64) {
        self.session.handle_rtt(duration(rtt));
    }

    /// Notes that the control stream accepted the bytes of the oldest [`Step::Say`].
    pub fn handle_said(&mut self) {
        self.session.handle_said();
    }

    /// Adds bytes from the control stream.
    pub fn handle_control_bytes(&mut self, bytes: &[u8]) {
        self.session.handle_control_bytes(bytes);
    }

    /// Notes that the screen has the tables for what was announced.
    pub fn handle_ready(&mut self, now: f64) {
        self.session.handle_ready(duration(now - self.epoch));
        if let Some(relay) = &mut self.relay {
            relay.follower.handle_ready(self.interval);
        }
    }

    /// Notes that the screen lacks the tables for what was announced.
    pub fn handle_model_missing(&mut self, now: f64) {
        self.session.handle_package_missing(duration(now - self.epoch));
    }

    /// Notes the newest frame of video that the screen could not decode: those after it are damaged.
    pub fn handle_undecoded(&mut self, frame: u64) {
        self.session.handle_undecoded(frame);
    }

    /// Notes whether the user wants sound, in this session and in later ones.
    pub fn handle_sound_wanted(&mut self, now: f64, wanted: bool) {
        if std::mem::replace(&mut self.wants_sound, wanted) != wanted {
            self.want_sound(now);
        }
    }

    /// Adds a stream that the sender opened. Returns the number by which this viewer calls it.
    pub fn handle_opened(&mut self) -> u64 {
        let number = self.next_stream;
        self.next_stream += STREAM_STEP;
        match &mut self.relay {
            Some(relay) => relay.handle_opened(number),
            None => {
                self.streams.insert(number, 0);
                self.session.handle_opened(number);
            }
        }
        number
    }

    /// Adds the next bytes of a stream.
    pub fn handle_stream_bytes(&mut self, now: f64, stream: u64, bytes: Bytes) {
        if let Some(relay) = &mut self.relay {
            return relay.handle_bytes(stream, bytes);
        }
        let Some(offset) = self.streams.get_mut(&stream) else { return };
        let start = *offset;
        *offset += bytes.len() as u64;
        self.session.handle_stream_bytes(duration(now - self.epoch), stream, start, bytes);
    }

    /// Notes that all of a stream came, or that it was reset.
    pub fn handle_stream_end(&mut self, now: f64, stream: u64, is_whole: bool) {
        if let Some(relay) = &mut self.relay {
            return relay.handle_end(stream, is_whole);
        }
        if self.streams.remove(&stream).is_some() {
            self.session.handle_stream_end(duration(now - self.epoch), stream);
        }
    }

    /// Notes that the connection ended. Poll once more for what arrived before.
    pub const fn handle_close(&mut self) {
        self.session.handle_close();
    }

    /// Returns the next action; `None` until the next input or [`Network::poll_timeout`].
    pub fn poll(&mut self, now: f64) -> Option<Step> {
        loop {
            let elapsed = duration(now - self.epoch);
            if let Some(relay) = &mut self.relay {
                if let Some(step) = relay.poll(elapsed, &mut self.session) {
                    return Some(step);
                }
                if !relay.has_session() {
                    return None;
                }
            }
            let Some(output) = self.session.poll(elapsed) else {
                return self.relay.as_mut().and_then(Relay::poll_end);
            };
            match output {
                ReceiverOutput::Say(bytes) => match &mut self.relay {
                    Some(relay) => relay.follower.handle_said(&mut self.session, &bytes),
                    None => return Some(Step::Say(bytes)),
                },
                ReceiverOutput::Welcome { welcome, sender_clock } => {
                    if let Some(relay) = &mut self.relay
                        && let Err(fault) = Follower::check(&welcome)
                    {
                        return Some(relay.fail(&fault));
                    }
                    self.interval = welcome.interval();
                    self.mail.push_welcome(welcome);
                    if let Some(sound) = self.sound {
                        self.mail.push_sound_announced(sound);
                    }
                    return Some(Step::Welcome(milliseconds(sender_clock) - now));
                }
                ReceiverOutput::Start(granted) => return Some(Step::Start(granted)),
                ReceiverOutput::Frame(frame) => {
                    if let Some(lost) = self.mail.push_frame(frame) {
                        self.session.handle_undecoded(lost);
                    }
                }
                ReceiverOutput::More(more) => self.mail.push_more(more),
                ReceiverOutput::SoundAnnounced(sound) => {
                    self.sound = Some(sound);
                    if self.wants_sound {
                        self.want_sound(now);
                    }
                    return Some(Step::Sound(sound));
                }
                ReceiverOutput::Sound(packet) => self.mail.push_sound(packet),
                // With a relay, the session's streams are those of the follower, which stops the relay's by itself.
                ReceiverOutput::Stop(stream) if self.relay.is_none() => {
                    self.streams.remove(&stream);
                    return Some(Step::Stop(stream));
                }
                ReceiverOutput::Close(end) => {
                    let code = end.close().code;
                    if let Some(relay) = &mut self.relay {
                        relay.end();
                    }
                    return Some(Step::Close { code, why: end.to_string(), may_retry: code.may_retry() });
                }
                // The browser reads streams in order, and this viewer asks for no package.
                _ => {}
            }
        }
    }

    /// Returns when to poll again, even without new input.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<f64> {
        let session = self.session.poll_timeout().filter(|_| self.relay.as_ref().is_none_or(Relay::has_session));
        let relay = self.relay.as_ref().and_then(Relay::poll_timeout);
        [session, relay].into_iter().flatten().min().map(|due| self.epoch + milliseconds(due))
    }

    /// Takes the mail for the screen; empty if there is none.
    pub fn take_mail(&mut self) -> Bytes {
        self.mail.take()
    }

    /// Returns what all sessions received.
    #[must_use]
    pub fn received(&self) -> ReceiveStats {
        let (past, now) = (self.past, self.session.stats());
        ReceiveStats {
            shown: past.shown + now.shown,
            missing_bases: past.missing_bases + now.missing_bases,
            bytes: past.bytes + now.bytes,
            useful: past.useful + now.useful,
        }
    }

    /// Returns how many frames were dropped because the screen was busy.
    #[must_use]
    pub const fn replaced(&self) -> u64 {
        self.mail.replaced()
    }

    fn want_sound(&mut self, now: f64) {
        self.session.handle_sound_wanted(duration(now - self.epoch), self.wants_sound);
        if let Some(relay) = &mut self.relay {
            relay.follower.handle_sound_wanted(self.wants_sound && self.sound.is_some());
        }
    }
}

#[cfg(test)]
mod tests {
    use nestcast_proto::{Clock, Code, FrameHeader, FrameRate, Message, PackageHash, StreamHead, Welcome};

    use super::*;
    use crate::mail::Record;

    const NOW: f64 = 1_795_000_000_000.0;

    fn welcomed() -> Network {
        let mut network = Network::new(NOW, Network::hello(b"token", 500_000, BroadcastName::default()));
        let Some(Step::Say(hello)) = network.poll(NOW) else { panic!("it says hello") };
        assert!(hello.windows(5).any(|part| part == b"token"));
        network.handle_said();
        network.handle_rtt(20.0);
        let package = PackageHash([0; 32]);
        let welcome = Welcome {
            model: [1; 6],
            package,
            width: 16,
            height: 16,
            rate: FrameRate::new(30, 1).expect("a rate"),
            video: None,
        };
        network.handle_control_bytes(&Message::Welcome { version: 1, welcome }.encode());
        network.handle_control_bytes(&Message::Clock(Clock { micros: 1_795_000_001_000_000 }).encode());
        let Some(Step::Welcome(ahead)) = network.poll(NOW + 20.0) else { panic!("it was welcomed") };
        assert!((ahead - 990.0).abs() < 0.01, "a second less the way there, {ahead}");
        network
    }

    fn frame(network: &mut Network, id: u64) -> u64 {
        let stream = network.handle_opened();
        let header = FrameHeader { id, skipped: 0, captured: 0, full: 9000, base: 20 };
        let bytes = [&StreamHead::Frame(header).encode()[..], &[7; 500]].concat();
        let (start, end) = bytes.split_at(9);
        network.handle_stream_bytes(NOW + 30.0, stream, Bytes::copy_from_slice(start));
        network.handle_stream_bytes(NOW + 31.0, stream, Bytes::copy_from_slice(end));
        network.handle_stream_end(NOW + 32.0, stream, true);
        stream
    }

    #[test]
    fn a_frame_becomes_mail_once_the_screen_is_ready() {
        let mut network = welcomed();
        network.handle_ready(NOW + 21.0);
        frame(&mut network, 0);
        assert_eq!(network.poll(NOW + 32.0), None);
        let records = Mail::open(network.take_mail()).expect("mail");
        let [Record::Welcome(_), Record::Frame(frame)] = &records[..] else { panic!("{records:?}") };
        assert_eq!((frame.header.id, frame.prefix.len()), (0, 500));
        assert!(network.poll_timeout().is_some_and(|due| due > NOW + 32.0));
        let bytes = network.received().bytes;
        network.handle_connection(NOW + 99.0, Network::hello(b"", 0, BroadcastName::default()));
        assert_eq!(network.received().bytes, bytes, "it counts over all sessions");
    }

    #[test]
    fn a_missing_model_ends_the_session_in_words() {
        let mut network = welcomed();
        network.handle_model_missing(NOW + 21.0);
        let Some(Step::Close { code, why, may_retry }) = network.poll(NOW + 21.0) else { panic!("it ends") };
        assert_eq!((code, may_retry), (Code::Model, false));
        assert!(why.contains("model package"), "{why}");
        assert_eq!(network.poll_timeout(), None);
    }

    #[test]
    fn parity_finds_no_stream_whose_number_the_page_invented() {
        let mut network = welcomed();
        network.handle_ready(NOW + 21.0);
        let stream = frame(&mut network, 0);
        assert!(stream > 1 << 42);
        // The viewer stops a stream of a kind that only a later version knows, by the number that it gave the stream.
        let unknown = network.handle_opened();
        network.handle_stream_bytes(NOW + 33.0, unknown, Bytes::from_static(&[9, 9]));
        let steps: Vec<_> = std::iter::from_fn(|| network.poll(NOW + 33.0)).collect();
        assert_eq!(steps, [Step::Stop(unknown)]);
    }
}
