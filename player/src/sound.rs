//! When to play which packet of sound, and what to play where one is missing.
//!
//! Sound is the master clock. Its packets have capture times by the same clock as frames, and are played at a delay
//! after them that moves by little: at most 0.4 %, or 2 % while it is more than 40 ms from where it should be. So clocks
//! that drift are followed by a pitch that nobody hears, and pictures follow the sound. If it is more than 80 ms away, as
//! after a stall, it catches up at 5 %.
//!
//! - The delay should be what pictures and sound both need: the longer of what the two playout clocks learned.
//! - A packet that is missing when it is due is concealed by the codec, up to 100 ms in a row; then there is silence.
//! - Packets that come late after a gap are played late, and the delay returns slowly, as in WebRTC's NetEQ. Much later
//!   ones are dropped.
//!
//! Sound that is recorded has no delay. It waits for each packet for a fixed time, and its place is its capture time. It
//! begins anew with a packet that is far from the one before.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::SoundPacket;

use crate::clock::{Latency, PlayoutClock};
use crate::recording::MAX_FILLED;

/// Samples of each channel in a second, and in a packet.
const SAMPLES_PER_SECOND: i64 = 48_000;
const PACKET_SAMPLES: i64 = 960;
/// The length of a packet.
const PACKET_TIME: Duration = Duration::from_millis(20);
/// The most packets that wait.
const MAX_WAITING_PACKETS: usize = 128;
/// The most packets in a row that are concealed.
const MAX_CONCEALED_PACKETS: u32 = 5;
/// By how many samples a packet may be stretched: always, while the delay is far from where it should be, and while it
/// catches up after a stall.
const STRETCH_SAMPLES: i64 = 4;
const FAR_STRETCH_SAMPLES: i64 = 19;
const CATCH_UP_SAMPLES: i64 = 48;
/// How far these are, and how near the delay need not move at all.
const FAR_DISTANCE: Duration = Duration::from_millis(40);
const CATCH_UP_DISTANCE: Duration = Duration::from_millis(80);
const NEAR_DISTANCE: Duration = Duration::from_millis(1);
/// What sound waits for beyond the delay that its clock learned: an uneven packet or two.
const DELAY_MARGIN: Duration = Duration::from_millis(20);
/// How much later than it should be a packet may still be played.
const MAX_LATE: Duration = Duration::from_millis(400);
/// How long a recording waits for a packet after newer ones.
const RECORDING_WAIT: Duration = Duration::from_millis(1500);
/// Pictures follow no sound that was silent for longer than this.
const MASTER_TIME: Duration = Duration::from_secs(1);

/// What sound is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SoundMode {
    /// It is heard as it comes, and pictures follow it.
    Live,
    /// It is written to a file, in place by its capture times.
    Recorded,
}

/// What a block of sound is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SoundContent {
    /// This packet.
    Packet(Bytes),
    /// What a decoder makes in place of a packet that is missing.
    Concealed,
    /// Nothing.
    Silence,
}

/// The next sound to play, after the blocks before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SoundBlock {
    /// What it is made of.
    pub content: SoundContent,
    /// How many samples of each channel it is to be stretched to, at 48 kHz.
    pub samples: usize,
    /// The capture time of its first sample, in microseconds since 1970-01-01 UTC.
    pub captured: u64,
    /// When its first sample is heard; for a recording, its capture time.
    pub due: Duration,
}

/// Counts what happened to packets of sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SoundStats {
    /// Packets that were played.
    pub packets: u64,
    /// Packets that never came, or too late.
    pub lost: u64,
    /// Sound that was concealed.
    pub concealed: Duration,
    /// Silence because nothing came.
    pub silent: Duration,
}

/// Plays the sound of one connection.
#[derive(Debug)]
pub struct SoundPlayout {
    mode: SoundMode,
    /// Learns how long packets take.
    clock: PlayoutClock,
    packets: BTreeMap<u64, SoundPacket>,
    /// The number of the next packet; those before it are played or lost.
    next: Option<u64>,
    /// When the first sample was played, in microseconds, and how many were since.
    began: i64,
    played: i64,
    /// The time from capture to play, in microseconds.
    offset: i64,
    /// Blocks in a row without a packet, and how long they were.
    concealed: u32,
    missing: Duration,
    /// The newest capture time.
    newest: i64,
    is_over: bool,
    stats: SoundStats,
}

impl SoundPlayout {
    /// Waits for the first packet.
    #[must_use]
    pub fn new(mode: SoundMode) -> Self {
        Self {
            mode,
            clock: PlayoutClock::new(Latency::Smooth, PACKET_TIME),
            packets: BTreeMap::new(),
            next: None,
            began: 0,
            played: 0,
            offset: 0,
            concealed: 0,
            missing: Duration::ZERO,
            newest: 0,
            is_over: false,
            stats: SoundStats::default(),
        }
    }

    /// Takes a packet as it comes: in any order, and perhaps twice.
    pub fn handle_packet(&mut self, now: Duration, packet: SoundPacket) {
        self.clock.handle_ready(now, packet.captured);
        self.newest = self.newest.max(signed(packet.captured));
        if self.next.is_some_and(|next| packet.number < next) {
            return;
        }
        self.packets.insert(packet.number, packet);
        while self.packets.len() > MAX_WAITING_PACKETS {
            self.packets.pop_first();
        }
    }

    /// Notes that no packet follows: a recording waits for none.
    pub const fn handle_end(&mut self) {
        self.is_over = true;
    }

    /// Returns the next block that is due `now`; call it until it returns `None`. Pictures need a delay of `pictures`
    /// microseconds after their capture.
    pub fn poll(&mut self, now: Duration, pictures: Option<i64>) -> Option<SoundBlock> {
        let target = self.target(pictures);
        let now = self.now(now);
        let Some(next) = self.next else { return self.begin(now, target) };
        self.follow_jump();
        let due = self.due();
        if due > now {
            return None;
        }
        let latest = micros(MAX_LATE);
        while let Some(packet) = self.packets.first_entry() {
            if due - signed(packet.get().captured) <= target + latest {
                break;
            }
            packet.remove();
        }
        // After a silence the delay is what it should be.
        let offset = if self.is_starved() { target } else { self.offset };
        let gap = self.packets.first_key_value().map(|(_, packet)| signed(packet.captured) + offset - due);
        match gap {
            Some(gap) if gap <= micros(PACKET_TIME) / 2 => self.play(next, target),
            gap => self.is_audible(gap).then(|| self.fill(due, gap)),
        }
    }

    /// Returns when to call [`SoundPlayout::poll`] even without a packet; `None` before the first, and for a recording.
    #[must_use]
    pub fn poll_timeout(&self, pictures: Option<i64>) -> Option<Duration> {
        let due = match (self.mode, self.next, self.packets.first_key_value()) {
            (SoundMode::Recorded, ..) | (_, None, None) => return None,
            (_, Some(_), _) => self.due(),
            (_, None, Some((_, first))) => signed(first.captured) + self.target(pictures),
        };
        Some(Duration::from_micros(u64::try_from(due).unwrap_or_default()))
    }

    /// Returns how long after its capture sound is heard, in microseconds; `None` if there is none to follow.
    #[must_use]
    pub fn offset(&self) -> Option<i64> {
        let is_heard = self.mode == SoundMode::Live && self.next.is_some() && self.missing <= MASTER_TIME;
        is_heard.then_some(self.offset)
    }

    /// Returns counts of what happened to packets.
    #[must_use]
    pub const fn stats(&self) -> SoundStats {
        self.stats
    }

    /// Returns the delay that sound should have, in microseconds.
    fn target(&self, pictures: Option<i64>) -> i64 {
        match self.mode {
            SoundMode::Recorded => 0,
            SoundMode::Live => {
                let needs = self.clock.learned_micros().unwrap_or_default() + micros(DELAY_MARGIN);
                pictures.map_or(needs, |pictures| pictures.min(needs + micros(MAX_LATE)).max(needs))
            }
        }
    }

    /// Returns the time until which blocks are due, in microseconds.
    fn now(&self, now: Duration) -> i64 {
        match self.mode {
            SoundMode::Live => micros(now),
            SoundMode::Recorded if self.is_over => i64::MAX,
            SoundMode::Recorded => self.newest - micros(RECORDING_WAIT),
        }
    }

    /// Returns when the next block is due, in microseconds.
    const fn due(&self) -> i64 {
        self.began + self.played * 1_000_000 / SAMPLES_PER_SECOND
    }

    /// Returns whether blocks without a packet are due. A recording that is over has none.
    const fn is_audible(&self, gap: Option<i64>) -> bool {
        gap.is_some() || !self.is_over
    }

    fn is_starved(&self) -> bool {
        self.concealed >= MAX_CONCEALED_PACKETS
    }

    /// Begins with the first packet, once it is due.
    fn begin(&mut self, now: i64, target: i64) -> Option<SoundBlock> {
        let (number, captured) = self.packets.first_key_value().map(|(number, first)| (*number, first.captured))?;
        let due = signed(captured) + target;
        if due > now {
            return None;
        }
        // A live one that is late begins now.
        self.began = if self.mode == SoundMode::Live { now } else { due };
        (self.played, self.offset) = (0, self.began - signed(captured));
        self.play(number, target)
    }

    /// Goes on at the first packet that waits, if a recording has nothing within reach of it.
    fn follow_jump(&mut self) {
        let Some(captured) = self.packets.first_key_value().map(|(_, first)| signed(first.captured)) else { return };
        let is_far = u128::from(captured.abs_diff(self.due())) > MAX_FILLED.as_micros();
        if self.mode == SoundMode::Recorded && is_far {
            (self.began, self.played, self.newest) = (captured, 0, captured);
        }
    }

    /// Plays the first packet that waits.
    fn play(&mut self, next: u64, target: i64) -> Option<SoundBlock> {
        let (number, packet) = self.packets.pop_first()?;
        self.offset = self.due() - signed(packet.captured);
        let away = target - self.offset;
        let most = most_stretch(away);
        let near = away.clamp(-micros(MAX_LATE), micros(MAX_LATE));
        let wanted = if near.abs() < micros(NEAR_DISTANCE) { 0 } else { near * SAMPLES_PER_SECOND / 1_000_000 };
        let samples = PACKET_SAMPLES + wanted.clamp(-most, most);
        self.stats.lost += number.saturating_sub(next);
        self.stats.packets += 1;
        self.next = Some(number + 1);
        (self.concealed, self.missing) = (0, Duration::ZERO);
        Some(self.block(SoundContent::Packet(packet.bytes), samples, packet.captured))
    }

    /// Fills the time without a packet: until the next one that waits, or for the length of one.
    fn fill(&mut self, due: i64, gap: Option<i64>) -> SoundBlock {
        let longest = micros(PACKET_TIME);
        let gap = gap.unwrap_or(longest).min(longest) * SAMPLES_PER_SECOND / 1_000_000;
        let samples = gap.clamp(1, PACKET_SAMPLES);
        let time = Duration::from_micros(u64::try_from(samples * 1_000_000 / SAMPLES_PER_SECOND).unwrap_or_default());
        self.missing += time;
        let captured = u64::try_from(due - self.offset).unwrap_or_default();
        if self.is_starved() {
            self.stats.silent += time;
            return self.block(SoundContent::Silence, samples, captured);
        }
        self.concealed += 1;
        self.stats.concealed += time;
        self.block(SoundContent::Concealed, samples, captured)
    }

    fn block(&mut self, content: SoundContent, samples: i64, captured: u64) -> SoundBlock {
        let due = Duration::from_micros(u64::try_from(self.due()).unwrap_or_default());
        self.played += samples;
        SoundBlock { content, samples: usize::try_from(samples).unwrap_or_default(), captured, due }
    }
}

/// Returns by how many samples a packet may be stretched while the delay is this far from where it should be.
const fn most_stretch(away: i64) -> i64 {
    let away = away.unsigned_abs() as u128;
    if away > CATCH_UP_DISTANCE.as_micros() {
        CATCH_UP_SAMPLES
    } else if away > FAR_DISTANCE.as_micros() {
        FAR_STRETCH_SAMPLES
    } else {
        STRETCH_SAMPLES
    }
}

fn signed(captured: u64) -> i64 {
    i64::try_from(captured).unwrap_or(i64::MAX / 4).min(i64::MAX / 4)
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
