//! The model package, for a receiver that asks for it: it goes before frames, which the receiver cannot show without
//! it.

use std::time::Duration;

use bytes::{Buf as _, Bytes};

use super::output::{SenderOutput, Urgency};
use crate::publish::room::Room;
use crate::wire::message::PackageHash;
use crate::wire::stream::{ModelHeader, StreamHead};
use nestcast_units::Bitrate;

/// The fewest bytes that one write allows, even with a low cap: a packet's.
const LEAST_BYTES: u64 = 1200;

/// A package being sent, on its own stream.
#[derive(Debug)]
pub(super) struct PackageStream {
    state: State,
    unwritten: [Bytes; 2],
    cap: Option<Bitrate>,
    /// The time of the next write.
    turn: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Opening,
    Open(u64),
    /// Finished, but not released.
    Finished(u64),
    Whole,
}

impl PackageStream {
    /// Sends a package within a receiver's `cap`.
    pub(super) fn new(package: PackageHash, bytes: Bytes, cap: Option<Bitrate>) -> Self {
        let head = StreamHead::Model(ModelHeader { package, length: bytes.len() as u64 }).encode();
        Self { state: State::New, unwritten: [head, bytes], cap, turn: None }
    }

    /// Notes the number of its stream.
    pub(super) fn handle_opened(&mut self, stream: u64) {
        self.state = State::Open(stream);
    }

    pub(super) fn unwritten(&self) -> [Bytes; 2] {
        self.unwritten.clone()
    }

    /// Limits the transport's room to what this package may use.
    pub(super) fn room(&self, room: Room) -> Room {
        let Some(cap) = self.cap else { return room };
        // At most one second's bytes: a receiver waits only a limited time for the next ones.
        let second = cap.bytes_in(Duration::from_secs(1)).max(LEAST_BYTES);
        Room { pending: Some(room.pending.unwrap_or(u64::MAX).min(second)), ..room }
    }

    /// Counts written bytes, and sets the time of the next write from the cap.
    pub(super) fn handle_written(&mut self, now: Duration, count: usize) {
        let head = count.min(self.unwritten[0].len());
        let body = (count - head).min(self.unwritten[1].len());
        self.unwritten[0].advance(head);
        self.unwritten[1].advance(body);
        // Packet headers add a sixteenth.
        self.turn = self.cap.map(|cap| now.saturating_add(cap.time_for((count + count / 16) as u64)));
    }

    /// Returns when more may be written; `None` means now.
    pub(super) const fn turn(&self) -> Option<Duration> {
        self.turn
    }

    /// Returns whether all of it was written and its stream released.
    pub(super) fn is_whole(&self) -> bool {
        self.state == State::Whole
    }

    pub(super) fn poll(&mut self, now: Duration) -> Option<SenderOutput> {
        match self.state {
            State::New => {
                self.state = State::Opening;
                Some(SenderOutput::Open(Urgency::First))
            }
            State::Open(_) if self.turn.is_some_and(|turn| now < turn) => None,
            State::Open(stream) if self.unwritten.iter().all(Bytes::is_empty) => {
                self.state = State::Finished(stream);
                Some(SenderOutput::Finish(stream))
            }
            State::Open(_) => {
                self.turn = None;
                Some(SenderOutput::Write)
            }
            State::Finished(stream) => {
                self.state = State::Whole;
                Some(SenderOutput::Release(stream))
            }
            State::Opening | State::Whole => None,
        }
    }
}
