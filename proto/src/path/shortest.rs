//! The shortest of the times that were seen of late.

use std::time::Duration;

/// The shortest time of this half of a while and of the half before.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Shortest {
    halves: [Option<(Duration, Duration)>; 2],
    /// One of them is that of a whole packet.
    whole: bool,
}

impl Shortest {
    /// The shortest of the last `life`, after `time` was seen now. The first time that is of a `whole` packet takes the place of
    /// all before, and later those of others do not count.
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

    /// All of them would take `time` longer now.
    pub(crate) fn lengthen(&mut self, time: Duration) {
        self.halves.iter_mut().flatten().for_each(|(_, shortest)| *shortest += time);
    }

    /// That of at least half of a while, if so much is known.
    pub(crate) fn of_a_while(&self) -> Option<Duration> {
        self.halves[0].and(self.shortest())
    }

    /// That of late, if any is known.
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
