//! The shortest of the recent times: a windowed minimum.

use std::time::Duration;

/// The shortest time of the current half of the window, and of the half before.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Shortest {
    halves: [Option<(Duration, Duration)>; 2],
    /// Whether one of them belongs to a whole packet.
    whole: bool,
}

impl Shortest {
    /// Adds `time` now, and returns the shortest of the last `life`. The first time of a `whole` packet replaces all
    /// earlier ones; from then on times of shorter packets are ignored.
    pub(crate) fn of(&mut self, now: Duration, time: Duration, whole: bool, life: Duration) -> Duration {
        if whole && !std::mem::replace(&mut self.whole, true) {
            self.halves = [None; 2];
        }
        if whole || !self.whole {
            match &mut self.halves[1] {
                Some((since, shortest)) if now.saturating_sub(*since) < life / 2 => *shortest = time.min(*shortest),
                _ => self.halves = [self.halves[1], Some((now, time))],
            }
        }
        self.shortest().unwrap_or(time)
    }

    /// Lengthens all recorded times by `time`.
    pub(crate) fn lengthen(&mut self, time: Duration) {
        self.halves.iter_mut().flatten().for_each(|(_, shortest)| *shortest += time);
    }

    /// Returns the shortest time, if at least half of a window is known.
    pub(crate) fn of_a_while(&self) -> Option<Duration> {
        self.halves[0].and(self.shortest())
    }

    /// Returns the shortest recent time, if any is known.
    pub(crate) fn shortest(&self) -> Option<Duration> {
        self.halves.iter().flatten().map(|(_, time)| *time).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn the_shortest_is_forgotten_after_its_life() {
        let mut shortest = Shortest::default();
        let mut of = |now, time| shortest.of(at(now), at(time), true, at(1000));
        assert_eq!([of(0, 50), of(100, 20), of(400, 40), of(600, 30)], [at(50), at(20), at(20), at(20)]);
        assert_eq!([of(1099, 60), of(1100, 60), of(1700, 70)], [at(20), at(30), at(60)]);
    }

    #[test]
    fn small_packets_count_until_a_whole_one_comes() {
        let mut shortest = Shortest::default();
        let mut of = |time, whole| shortest.of(at(0), at(time), whole, at(1000));
        assert_eq!([of(20, false), of(50, true), of(20, false), of(40, true)], [at(20), at(50), at(50), at(40)]);
    }
}
