//! The rate of a rendition's base layers: a part of what the path of its slowest receiver carries.
//!
//! The more bytes base layers have, the better all receivers see: blocks are refreshed from them. But they must arrive.
//! After the rate falls, those on the way arrive late, and all later frames wait for them. So base layers have much of
//! a rate that has lasted, less of one that has just risen, and least after a fall, until those on the way are through.
//! If the rate is soon back, it only stalled, and base layers are what they were.

use std::collections::BTreeMap;

/// The part of the slowest receiver's rate for base layers if that rate has lasted.
const LASTING_BASE_SHARE: f64 = 0.75;
/// The part for a rate that is new.
const BASE_SHARE: f64 = 0.4;
/// The growth of base layers in a second from the latter to the former part.
const LASTING_GROWTH: f64 = 1.2;
/// The most growth in a second of base layers below that part, and of the slowest rate.
const GROWTH: f64 = 4.3;
/// A receiver's rate has fallen if base layers had more than this many times what its path carries now.
const FALLEN_RATIO: f64 = 1.2;
/// With this many times as much, base layers have [`BASE_SHARE`] of the new rate. With more
/// they have less, by the square of the ratio.
const DEEP_FALL_RATIO: f64 = 1.6;
/// The least part of that after a fall.
const LEAST_FALLEN_SHARE: f64 = 0.5;
/// The part of base layers' rate that still counts as on the way a second later: a receiver's rate may fall in steps.
const RECENT_DECAY: f64 = 0.1;
/// A rate that comes back within [`STALL_SECONDS`] and stays for [`BACK_SECONDS`] only stalled. It is back if base layers
/// may have this part of what they had: rates jitter.
const STALL_SECONDS: f64 = 2.0;
const BACK_SECONDS: f64 = 0.4;
const BACK_SHARE: f64 = 0.8;
/// A receiver with less than this part of the median rate does not slow the others more: it gets random-access frames
/// again and again.
const HOPELESS_RATE_SHARE: f64 = 0.25;
/// A lower rate, in bits a second, means that it is not known.
const MIN_BITS_PER_SECOND: f64 = 8.0;

/// Follows the rates of a rendition's receivers. All rates are in bits a second.
#[derive(Debug, Clone)]
pub(crate) struct BaseRate {
    /// The slowest receiver's rate, as far as it counts: it falls at once and rises slowly. `None` if it is not known.
    slowest: Option<f64>,
    bits: f64,
    /// For each receiver the highest rate of the last base layers that went to it, if any did.
    recent: BTreeMap<u64, f64>,
    stall: Option<Stall>,
}

/// A fall that may be a stall.
#[derive(Debug, Clone, Copy)]
struct Stall {
    /// The rate of base layers before it.
    bits: f64,
    /// Seconds since it began.
    age: f64,
    /// Seconds for which the rate has been back; `None` if it is not.
    back: Option<f64>,
}

/// The path of a receiver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path {
    /// The receiver's number.
    pub(crate) receiver: u64,
    pub(crate) rate: f64,
    /// Whether the receiver waits for a random-access frame: no base layer is of use to it.
    pub(crate) waits: bool,
}

impl BaseRate {
    /// Begins with this rate of the slowest receiver.
    pub(crate) fn new(slowest: f64) -> Self {
        let slowest = slowest.max(MIN_BITS_PER_SECOND);
        Self { slowest: Some(slowest), bits: slowest * BASE_SHARE, recent: BTreeMap::new(), stall: None }
    }

    /// Returns the rate for a rendition that branches off here, whose slowest receiver is not known yet.
    pub(crate) fn branch(&self) -> Self {
        Self { slowest: None, stall: None, ..self.clone() }
    }

    /// Notes the receivers of the next frame. Those whose rate is not known do not count, and for base layers neither do
    /// those that wait. `interval`: the seconds since the frame before.
    pub(crate) fn handle_frame(&mut self, paths: &[Path], interval: f64) {
        let known = || paths.iter().filter(|path| path.rate >= MIN_BITS_PER_SECOND);
        if let Some((slowest, least)) = slowest_and_least(known()) {
            let counts = slowest.max(least);
            self.slowest = Some(self.slowest.map_or(counts, |before| counts.min(before * GROWTH.powf(interval))));
        }
        let served = || known().filter(|path| !path.waits);
        let Some((slowest, least)) = slowest_and_least(served()) else {
            self.stall = None;
            return;
        };
        let most = served().map(|path| self.most(path, least)).fold(f64::INFINITY, f64::min);
        let usual = slowest.max(least) * BASE_SHARE;
        let grown = if self.bits < usual {
            (self.bits * GROWTH.powf(interval)).min(usual)
        } else {
            self.bits * LASTING_GROWTH.powf(interval)
        };
        if most < self.bits * BACK_SHARE && !self.recent.is_empty() {
            self.stall.get_or_insert(Stall { bits: self.bits, age: 0.0, back: None });
        }
        self.bits = grown.min(most);
        self.end_stall(most, interval);
        let decay = RECENT_DECAY.powf(interval);
        // Who waits keeps what is on the way to it.
        let recent = known().filter_map(|path| {
            let before = self.recent.get(&path.receiver).map(|recent| recent * decay);
            let now = (!path.waits).then_some(self.bits);
            Some((path.receiver, before.into_iter().chain(now).max_by(f64::total_cmp)?))
        });
        self.recent = recent.collect();
    }

    /// Returns the most that base layers may have for this receiver. `least`: the least rate that counts.
    fn most(&self, &Path { receiver, rate, .. }: &Path, least: f64) -> f64 {
        if rate < least {
            return least * BASE_SHARE;
        }
        let recent = self.recent.get(&receiver);
        let ratio = recent.unwrap_or(&self.bits) / rate;
        if ratio <= FALLEN_RATIO {
            return rate * LASTING_BASE_SHARE;
        }
        // The more there is on the way, the longer it holds up the next ones. To a new receiver there is none.
        let part = recent.map_or(1.0, |_| DEEP_FALL_RATIO / ratio);
        rate * BASE_SHARE * (part * part).clamp(LEAST_FALLEN_SHARE, 1.0)
    }

    /// Returns to the base layers of before a stall, once the receivers could have had them for long enough: they may
    /// have `most` now.
    fn end_stall(&mut self, most: f64, interval: f64) {
        let Some(Stall { bits, age, back }) = self.stall else { return };
        // The time before the first frame with the rate of before is not known.
        let back = (most >= bits * BACK_SHARE).then(|| back.map_or(0.0, |back| back + interval));
        let age = age + interval;
        self.stall = Some(Stall { bits, age, back }).filter(|_| age < STALL_SECONDS);
        if back.is_some_and(|back| back >= BACK_SECONDS) {
            self.bits = self.bits.max(bits.min(most));
            self.stall = None;
        }
    }

    /// The rate of the slowest receiver, as far as it counts; `None` if none is known.
    pub(crate) const fn slowest(&self) -> Option<f64> {
        self.slowest
    }

    /// The rate of the base layers.
    pub(crate) const fn bits(&self) -> f64 {
        self.bits
    }
}

/// Returns the rate of the slowest receiver, and the least that counts: a part of the median. `None` if there is no
/// receiver.
fn slowest_and_least<'a>(paths: impl Iterator<Item = &'a Path>) -> Option<(f64, f64)> {
    let mut rates: Vec<f64> = paths.map(|path| path.rate).collect();
    rates.sort_by(f64::total_cmp);
    let median = rates.get(rates.len().saturating_sub(1) / 2)?;
    Some((rates[0], median * HOPELESS_RATE_SHARE))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: f64 = 1.0 / 30.0;

    /// Lets these receivers, from 1 on, have these rates for some frames of `interval` seconds, and returns the rate of
    /// the base layers.
    fn bits_after(base: &mut BaseRate, (frames, interval): (u32, f64), rates: &[f64]) -> f64 {
        let paths: Vec<Path> =
            (1..).zip(rates).map(|(receiver, rate)| Path { receiver, rate: *rate, waits: false }).collect();
        (0..frames).for_each(|_| base.handle_frame(&paths, interval));
        base.bits()
    }

    /// Lets one receiver have this rate for some frames, and returns the part of it that base layers have.
    fn share_after(base: &mut BaseRate, frames: u32, rate: f64) -> f64 {
        bits_after(base, (frames, INTERVAL), &[rate]) / rate
    }

    fn lasting(rates: &[f64]) -> BaseRate {
        let mut base = BaseRate::new(1e6);
        bits_after(&mut base, (300, INTERVAL), rates);
        base
    }

    #[test]
    fn bases_have_more_of_a_rate_that_lasts() {
        for (interval, seconds) in [(1.0 / 60.0, 60), (INTERVAL, 30), (0.2, 5)] {
            let mut base = BaseRate::new(1e6);
            assert!((base.bits() - 0.4e6).abs() < 1.0);
            let mut after = |seconds| bits_after(&mut base, (seconds, interval), &[1e6]) / 1e6;
            let after_two_seconds = after(2 * seconds);
            assert!((0.55..0.6).contains(&after_two_seconds), "{after_two_seconds}");
            assert!((after(2 * seconds) - 0.75).abs() < 1e-9);
        }
        assert!((share_after(&mut lasting(&[1e6]), 1, 0.7e6) - 0.75).abs() < 1e-9, "a small fall keeps the part");
    }

    #[test]
    fn a_deeper_fall_leaves_bases_less_of_the_new_rate() {
        let shares = [0.7, 0.55, 0.4, 0.25, 0.1].map(|rate| share_after(&mut lasting(&[1e6]), 1, rate * 1e6));
        let expected = [0.75, 0.4, 0.29, 0.2, 0.2];
        assert!(shares.iter().zip(expected).all(|(share, expected)| (share - expected).abs() < 0.002), "{shares:?}");
        let mut base = lasting(&[1e6]);
        share_after(&mut base, 1, 0.25e6);
        let later = share_after(&mut base, 18, 0.25e6);
        assert!((0.39..0.41).contains(&later), "{later}");
    }

    #[test]
    fn a_fall_in_steps_is_a_fall() {
        let mut base = lasting(&[1e6]);
        for rate in [0.8e6, 0.6e6, 0.45e6] {
            share_after(&mut base, 1, rate);
        }
        assert!(share_after(&mut base, 1, 0.3e6) < 0.3, "{base:?}");
    }

    #[test]
    fn a_fall_counts_whoever_falls_and_who_comes_does_not_fall() {
        let mut base = lasting(&[1e6, 1.05e6]);
        assert!(bits_after(&mut base, (1, INTERVAL), &[1e6, 0.25e6]) < 0.21 * 0.25e6, "{base:?}");
        let mut base = lasting(&[1e6]);
        assert!((bits_after(&mut base, (1, INTERVAL), &[1e6, 0.3e6]) - 0.4 * 0.3e6).abs() < 1.0, "{base:?}");
        assert!(bits_after(&mut base, (3, INTERVAL), &[1e6, 0.3e6]) > 0.4 * 0.3e6, "{base:?}");
    }

    #[test]
    fn after_a_stall_bases_are_what_they_were_though_rates_jitter() {
        let mut base = lasting(&[1e6]);
        share_after(&mut base, 9, 0.25e6);
        for rate in [1.05e6, 0.96e6, 1.1e6, 0.94e6, 1e6, 0.95e6, 1.08e6, 0.95e6, 1e6, 1.02e6, 0.93e6, 1e6] {
            assert!(share_after(&mut base, 1, rate) < 0.5, "it may be low again: {base:?}");
        }
        for rate in [1.05e6, 0.95e6] {
            share_after(&mut base, 1, rate);
        }
        assert!(base.bits() > 0.7e6, "{base:?}");
        share_after(&mut base, 90, 0.25e6);
        assert!(share_after(&mut base, 8, 1e6) < 0.4, "that was no stall: {base:?}");
    }

    #[test]
    fn a_stall_ends_with_its_receivers_and_one_frame_is_no_return() {
        let mut base = lasting(&[4e6]);
        share_after(&mut base, 1, 0.4e6);
        base.handle_frame(&[], INTERVAL);
        assert!(share_after(&mut base, 30, 4.1e6) < 0.4, "{base:?}");
        let mut base = lasting(&[1e6]);
        share_after(&mut base, 3, 0.2e6);
        bits_after(&mut base, (1, 1.0), &[1e6]);
        assert!(base.bits() < 0.45e6, "{base:?}");
    }

    #[test]
    fn who_comes_with_the_rate_of_the_others_takes_nothing_from_them() {
        let mut base = lasting(&[1e6, 1.2e6]);
        assert!(bits_after(&mut base, (1, INTERVAL), &[1e6, 1.2e6, 0.95e6]) > 0.4e6, "{base:?}");
        let mut base = lasting(&[1e6]);
        assert!((bits_after(&mut base, (1, INTERVAL), &[1e6, 1e6]) - 0.75e6).abs() < 1.0, "{base:?}");
    }

    #[test]
    fn bases_stay_low_where_the_rate_comes_and_goes() {
        let mut base = BaseRate::new(1e6);
        for _ in 0..5 {
            let high = share_after(&mut base, 60, 1e6);
            assert!((0.35..0.6).contains(&high), "{high}");
            share_after(&mut base, 75, 0.2e6);
        }
    }

    #[test]
    fn a_receiver_far_slower_than_the_median_does_not_slow_the_others() {
        let mut base = lasting(&[1e6, 1e6, 0.05e6]);
        assert!((base.slowest().expect("known") - 0.25e6).abs() < 1.0 && (base.bits() - 0.4 * 0.25e6).abs() < 1.0);
        assert!(bits_after(&mut base, (150, INTERVAL), &[1e6, 1e6]) > 0.5e6, "it left: {base:?}");
    }

    #[test]
    fn who_waits_or_is_not_known_does_not_count_and_nothing_grows_without_receivers() {
        let mut base = lasting(&[1e6]);
        let path = |receiver, rate, waits| Path { receiver, rate, waits };
        base.handle_frame(&[path(1, 1e6, false), path(2, 0.3e6, true), path(3, 0.0, false)], INTERVAL);
        assert!((base.bits() - 0.75e6).abs() < 1.0 && base.slowest() == Some(0.3e6), "{base:?}");
        let waiting = [path(1, 0.3e6, false), path(2, 10e6, true), path(3, 10e6, true)];
        (0..90).for_each(|_| base.handle_frame(&waiting, INTERVAL));
        assert!(base.bits() <= 0.75 * 0.3e6, "{base:?}");
        let mut base = BaseRate::new(1e6);
        base.handle_frame(&[], 60.0);
        assert!((base.bits() - 0.4e6).abs() < 1.0);
    }

    #[test]
    fn a_branch_takes_the_rate_of_its_own_slowest_receiver_at_once() {
        for (slowest, share) in [(0.4e6, 0.29), (1e6, 0.75), (4e6, 0.19)] {
            let mut branch = lasting(&[1e6]).branch();
            let got = share_after(&mut branch, 1, slowest);
            assert!(branch.slowest() == Some(slowest) && (got - share).abs() < 0.01, "{branch:?}");
        }
    }
}
