//! The model package that a receiver asked for. One stream brings it, within a time limit.

use std::time::Duration;

use bytes::{Bytes, BytesMut};

use crate::wire::close::Close;
use crate::wire::message::PackageHash;
use crate::wire::stream::ModelHeader;
use nestcast_units::Bitrate;

/// The longest time without new bytes.
const FETCH_STALL: Duration = Duration::from_secs(10);
/// The longest time for the whole package: this, plus its size at this rate.
const MIN_FETCH_TIME: Duration = Duration::from_secs(30);
const MIN_FETCH_BYTES_PER_SECOND: u64 = 8 * 1024;

/// A package, from the request until the caller has it.
#[derive(Debug)]
pub(super) struct PackageFetch {
    package: PackageHash,
    state: State,
}

#[derive(Debug)]
enum State {
    Requested { since: Duration },
    Reading(Reading),
    Given,
    Taken,
}

#[derive(Debug)]
struct Reading {
    stream: u64,
    length: usize,
    bytes: BytesMut,
    /// When bytes last came, and the deadline for all of them.
    since: Duration,
    until: Duration,
}

impl PackageFetch {
    /// Begins to wait for a package, which the session requests at `now`.
    pub(super) const fn new(now: Duration, package: PackageHash) -> Self {
        Self { package, state: State::Requested { since: now } }
    }

    /// Returns whether the caller still lacks the package, so that it cannot show a frame.
    pub(super) const fn is_open(&self) -> bool {
        !matches!(self.state, State::Taken)
    }

    /// Notes that the caller has the package.
    pub(super) fn handle_taken(&mut self) {
        self.state = State::Taken;
    }

    /// Begins to read a package that a stream brings, at no more than the receiver's cap. Returns false unless this is
    /// the requested package, for the first time.
    pub(super) fn begin(&mut self, now: Duration, stream: u64, header: &ModelHeader, cap: Option<Bitrate>) -> bool {
        // The stream's head has already limited the length.
        let Ok(length) = usize::try_from(header.length) else { return false };
        if !matches!(self.state, State::Requested { .. }) || header.package != self.package {
            return false;
        }
        // The sender keeps to the cap, so half the cap is the slowest acceptable rate.
        let half = cap.map_or(u64::MAX, |cap| cap.bits() / 16);
        let rate = half.clamp(1, MIN_FETCH_BYTES_PER_SECOND);
        let until = now + MIN_FETCH_TIME + Duration::from_secs(header.length / rate);
        let bytes = BytesMut::with_capacity(length);
        self.state = State::Reading(Reading { stream, length, bytes, since: now, until });
        true
    }

    /// Adds bytes of the package.
    pub(super) fn handle_bytes(&mut self, now: Duration, stream: u64, bytes: &[u8]) -> Result<(), Close> {
        let State::Reading(reading) = &mut self.state else { return Ok(()) };
        if reading.stream != stream {
            return Ok(());
        }
        if bytes.len() > reading.length - reading.bytes.len() {
            return Err(Close::violation("a model package is longer than announced"));
        }
        reading.since = now;
        reading.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Ends the package's stream, and returns the package.
    pub(super) fn handle_end(&mut self, stream: u64) -> Result<Option<Bytes>, Close> {
        let State::Reading(reading) = &mut self.state else { return Ok(None) };
        if reading.stream != stream {
            return Ok(None);
        }
        if reading.bytes.len() < reading.length {
            return Err(Close::violation("a model package is shorter than announced"));
        }
        let package = std::mem::take(&mut reading.bytes).freeze();
        self.state = State::Given;
        Ok(Some(package))
    }

    /// Returns when the sender is too slow with the package.
    pub(super) fn deadline(&self) -> Option<Duration> {
        match &self.state {
            State::Requested { since } => Some(*since + FETCH_STALL),
            State::Reading(reading) => Some(reading.until.min(reading.since + FETCH_STALL)),
            State::Given | State::Taken => None,
        }
    }
}
