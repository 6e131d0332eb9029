//! The model package, for a receiver that asks for it: it goes before frames, since without it they cannot be shown.

use std::time::Duration;

use bytes::{Buf as _, Bytes};

use super::output::{SenderOutput, Urgency};
use crate::bitrate::Bitrate;
use crate::publish::room::Room;
use crate::wire::message::PackageHash;
use crate::wire::stream::{ModelHeader, StreamHead};

/// Least bytes of it that are written at once: what a packet carries.
const LEAST_BYTES: u64 = 1200;

/// A package on its way, on a stream of its own.
#[derive(Debug)]
pub(super) struct PackageStream {
    state: State,
    unwritten: [Bytes; 2],
    cap: Option<Bitrate>,
    /// More may be written from then on.
    turn: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Opening,
    Open(u64),
    /// Finished, and to be released.
    Finished(u64),
    Whole,
}

impl PackageStream {
    /// Sends a package within a receiver's `cap`.
    pub(super) fn new(package: PackageHash, bytes: Bytes, cap: Option<Bitrate>) -> Self {
        let head = StreamHead::Model(ModelHeader { package, length: bytes.len() as u64 }).encode();
        Self { state: State::New, unwritten: [head, bytes], cap, turn: None }
    }

    /// Its stream has this number.
    pub(super) fn handle_opened(&mut self, stream: u64) {
        self.state = State::Open(stream);
    }

    pub(super) fn unwritten(&self) -> [Bytes; 2] {
        self.unwritten.clone()
    }

    /// Of what the transport may have, what it may have of this.
    pub(super) fn room(&self, room: Room) -> Room {
        let Some(cap) = self.cap else { return room };
        // No more than goes in a second: a receiver waits only for so long for the next bytes.
        let second = cap.bytes_in(Duration::from_secs(1)).max(LEAST_BYTES);
        Room { pending: Some(room.pending.unwrap_or(u64::MAX).min(second)), ..room }
    }

    /// Bytes of it were written.
    pub(super) fn handle_written(&mut self, now: Duration, count: usize) {
        let head = count.min(self.unwritten[0].len());
        let body = (count - head).min(self.unwritten[1].len());
        self.unwritten[0].advance(head);
        self.unwritten[1].advance(body);
        // With its headers, a packet has a sixteenth more.
        self.turn = self.cap.map(|cap| now.saturating_add(cap.time_for((count + count / 16) as u64)));
    }

    /// When more may be written, if not now.
    pub(super) const fn turn(&self) -> Option<Duration> {
        self.turn
    }

    /// Whether all of it was written and its stream released.
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
