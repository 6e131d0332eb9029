//! The round-trip probe: a flow leaves the path partly empty for a moment, to measure the path without its queue.
//!
//! All flows probe at the same times of a shared clock. So flows on one link do not see each other's queues either;
//! otherwise the last flow to start would take the others' queues for the path.

use std::time::Duration;

use crate::path::round::{seconds, whole};

/// The probe interval, well within the life of a shortest round trip; a probe costs at most a round trip's bytes.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
/// How much less than the shortest round trip a probe keeps in flight, at most half of it: the length of a queue that
/// may have been taken for the path.
const PROBE_DEPTH: Duration = Duration::from_millis(30);
/// The least length of a probe: flows that share a link begin within a round trip of each other.
const MIN_PROBE_TIME: Duration = Duration::from_millis(30);
/// The probe interval while another flow may have made the queue.
const SUSPICIOUS_PROBE_INTERVAL: Duration = Duration::from_millis(1000);

/// A slow path, on which a packet takes longer than this, is probed in one of this many turns alone if it was seen
/// without a queue in one of sixteen round trips since the last turn: a probe delays several frames there.
const SLOW_PACKET: Duration = Duration::from_millis(15);
const SLOW_TURNS: u32 = 6;

/// The round-trip probe, during which the queue drains.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RoundTripProbe {
    /// The window to return to, and when the probe began.
    window: Option<(u64, Duration)>,
    /// The shared clock's time at this flow's time zero.
    clock: Duration,
    /// When the flow last checked for a turn.
    looked: Duration,
    /// Round trips since the last turn, and those that saw the path without a queue.
    rounds: u32,
    empty: u32,
    /// Turns in a row that were left out.
    left_out: u32,
}

impl RoundTripProbe {
    /// Makes a probe; `clock` is the time of the sender's shared clock when this flow begins.
    pub(crate) fn new(clock: Duration) -> Self {
        Self { clock, ..Self::default() }
    }

    /// Returns the window to return to, during a probe.
    pub(crate) fn window(&self) -> Option<u64> {
        self.window.map(|(window, _)| window)
    }

    /// Notes the end of a round trip, and whether it saw the path without a queue.
    pub(crate) fn handle_round(&mut self, is_empty: bool) {
        self.rounds = self.rounds.saturating_add(1);
        self.empty = self.empty.saturating_add(u32::from(is_empty));
    }

    /// Returns whether a turn may be left out on a path that transmits a packet in `packet`.
    pub(crate) fn leaves_out(&mut self, packet: Duration) -> bool {
        let was_empty = self.empty > 0 && self.empty >= self.rounds / 16;
        (self.rounds, self.empty) = (0, 0);
        let leaves_out = packet > SLOW_PACKET && was_empty && self.left_out + 1 < SLOW_TURNS;
        self.left_out = if leaves_out { self.left_out + 1 } else { 0 };
        leaves_out
    }

    /// Returns whether a turn came since the last call; turns are more frequent if another flow is `suspected`.
    pub(crate) fn is_due(&mut self, now: Duration, suspected: bool) -> bool {
        let every = if suspected { SUSPICIOUS_PROBE_INTERVAL } else { PROBE_INTERVAL };
        let turn = |at: Duration| (self.clock + at).as_nanos() / every.as_nanos();
        turn(now) != turn(std::mem::replace(&mut self.looked, now))
    }

    /// Begins a probe on a path of `rate` bytes a second and round trip `min_rtt`. Returns the window until
    /// [`RoundTripProbe::end`], at least `mtu` bytes.
    pub(crate) fn begin(&mut self, now: Duration, window: u64, (rate, min_rtt): (f64, Duration), mtu: u64) -> u64 {
        self.window = Some((window, now));
        let path = (min_rtt / 2).max(min_rtt.saturating_sub(PROBE_DEPTH));
        whole(rate * seconds(path)).clamp(mtu, window.max(mtu))
    }

    /// Processes the end of a round trip of `rtt`. Returns the window to return to, if the probe has lasted long
    /// enough.
    pub(crate) fn end(&mut self, now: Duration, rtt: Duration) -> Option<u64> {
        let (window, since) = self.window?;
        if now.saturating_sub(since) < MIN_PROBE_TIME.max(rtt) {
            return None;
        }
        self.window = None;
        Some(window)
    }

    /// Ends the probe.
    pub(crate) fn give_up(&mut self) {
        self.window = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn turns_come_with_the_clock_and_a_suspicion_makes_none_by_itself() {
        let mut round_trip_probe = RoundTripProbe::new(ms(4000));
        let due: Vec<_> = [500, 900, 1100, 1200].map(|at| round_trip_probe.is_due(ms(at), false)).into();
        assert_eq!(due, [false, false, true, false], "at five seconds of the clock");
        assert!(!round_trip_probe.is_due(ms(1300), true), "that turn was taken");
        assert!(round_trip_probe.is_due(ms(2100), true), "the next second");
    }

    #[test]
    fn a_slow_path_that_was_empty_is_probed_seldom() {
        let mut probe = RoundTripProbe::default();
        let mut turns = |empty: u32, packet: u64| -> Vec<bool> {
            let turn = |_| {
                (0..32).for_each(|round| probe.handle_round(round < empty));
                probe.leaves_out(ms(packet))
            };
            (0..7).map(turn).collect()
        };
        assert_eq!(turns(2, 32), [true, true, true, true, true, false, true]);
        assert_eq!(turns(1, 32), [false; 7], "a queue stands");
        assert_eq!(turns(2, 10), [false; 7], "a fast path");
    }

    #[test]
    fn the_window_comes_again_when_the_queue_has_had_its_time() {
        let mut round_trip_probe = RoundTripProbe::default();
        assert_eq!(round_trip_probe.begin(ms(10), 9000, (100_000.0, ms(40)), 1200), 2000, "half of the path");
        assert_eq!(round_trip_probe.end(ms(30), ms(10)), None, "too soon");
        assert_eq!(round_trip_probe.end(ms(50), ms(10)), Some(9000));
        assert_eq!(round_trip_probe.window(), None);
    }
}
