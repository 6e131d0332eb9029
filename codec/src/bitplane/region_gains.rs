//! The gains of a slice's regions as symbols (spec, "Gains" and "Contexts").

use crate::bitplane::contexts;
use crate::bitplane::kept_symbols::KeptSymbols;
use crate::entropy::probability::Probability;
use crate::entropy::range_coder::Coder;
use crate::subband::gains::{self, MAX_GAIN};
use crate::subband::layout::SUBBAND_COUNT;

/// The known gains of a slice's regions; most pictures have none.
#[derive(Debug, Clone, Default)]
pub(crate) struct RegionGains {
    /// Regions in a row.
    across: usize,
    /// The gain of each region, once it is coded; row by row. Empty if the stream has no gains.
    known: Vec<Option<i8>>,
    /// The gain that was coded last.
    last: i8,
    /// An encoder's source: each region's gain. Empty in a decoder.
    source: Vec<i8>,
    /// The symbols of the next gain that were coded before the coder starved.
    kept: KeptSymbols,
}

impl RegionGains {
    /// Sets these to no gains.
    pub(crate) fn reset(&mut self) {
        self.known.clear();
        self.source.clear();
        (self.across, self.last, self.kept) = (0, 0, KeptSymbols::default());
    }

    /// Sets these to the gains of a slice of `width` x `rows` pixels, none of which is known.
    pub(crate) fn start(&mut self, width: usize, rows: usize) {
        let (across, down) = gains::count(width, rows);
        self.across = across;
        self.known.resize(across * down, None);
    }

    /// As [`RegionGains::start`], in an encoder, with the gain of each region.
    pub(crate) fn set_source(&mut self, width: usize, rows: usize, source: impl Iterator<Item = i8>) {
        self.start(width, rows);
        self.source.extend(source.map(|gain| gain.clamp(-MAX_GAIN, MAX_GAIN)));
    }

    /// Returns whether the stream has gains.
    pub(super) const fn exist(&self) -> bool {
        !self.known.is_empty()
    }

    /// In an encoder: returns whether any region has another gain than 0.
    pub(crate) fn is_any(&self) -> bool {
        self.source.iter().any(|gain| *gain != 0)
    }

    /// In an encoder: returns each region's gain, row by row, if there are gains; and the regions in a row.
    pub(super) fn source(&self) -> Option<(&[i8], usize)> {
        (!self.source.is_empty()).then_some((&self.source, self.across))
    }

    /// Undoes the known gains in the slice's rows of all subbands; `width` is the width of a subband by its index.
    pub(super) fn undo(&self, width: impl Fn(usize) -> usize, subbands: &mut [&mut [f32]; SUBBAND_COUNT]) {
        if self.known.iter().flatten().any(|gain| *gain != 0) {
            gains::undo(&self.known, self.across, width, subbands);
        }
    }

    /// Returns whether the gain of the region in this column and row is known.
    #[inline(always)]
    pub(super) fn knows(&self, [x, y]: [usize; 2]) -> bool {
        self.known[y * self.across + x].is_some()
    }

    /// Codes the gain of the region in this column and row, with those of its neighbours as the context. Returns `None`
    /// if the coder starved; the next call must be for the same region, and goes on from there.
    pub(super) fn code<C: Coder>(
        &mut self,
        [x, y]: [usize; 2],
        probabilities: &mut [Probability],
        coder: &mut C,
    ) -> Option<()> {
        let region = y * self.across + x;
        let (guess, around) = self.guess([x, y]);
        let source = self.source.get(region).copied().unwrap_or_default();
        let mut read = 0;
        let mut code = |context: usize, bit: bool| self.kept.code(&mut read, probabilities, coder, context, bit);
        let mut gain = guess;
        if !code(contexts::guessed_gain(around), source == guess)? {
            let lower = match guess {
                MAX_GAIN => true,
                gain if gain == -MAX_GAIN => false,
                _ => code(contexts::lower_gain(around), source < guess)?,
            };
            let by = if lower { -1 } else { 1 };
            let mut steps = 0;
            loop {
                gain += by;
                steps += 1;
                if gain.abs() == MAX_GAIN && (gain < 0) == lower {
                    break;
                }
                if !code(contexts::further_gain(around, steps), gain != source)? {
                    break;
                }
            }
        }
        self.kept = KeptSymbols::default();
        self.known[region] = Some(gain);
        self.last = gain;
        Some(())
    }

    /// Returns the mean of the known gains to the left, right, above and below, or the last gain if none is known; and
    /// what is known: 0 for no gain, 1 for one, 2 for several that are equal, 3 for several that differ.
    fn guess(&self, [x, y]: [usize; 2]) -> (i8, usize) {
        let region = y * self.across + x;
        let around = [
            (x > 0).then(|| region - 1),
            (x + 1 < self.across).then_some(region + 1),
            region.checked_sub(self.across),
            Some(region + self.across),
        ];
        let known = around.map(|other| other.and_then(|other| self.known.get(other).copied().flatten()));
        let mut count = 0;
        let mut sum = 0;
        let mut range = (MAX_GAIN, -MAX_GAIN);
        for gain in known.into_iter().flatten() {
            count += 1;
            sum += gain;
            range = (range.0.min(gain), range.1.max(gain));
        }
        match count {
            0 => (self.last, 0),
            1 => (sum, 1),
            _ => ((2 * sum + count).div_euclid(2 * count), if range.0 == range.1 { 2 } else { 3 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bitplane::contexts::GAIN_PRIORS;
    use crate::entropy::range_coder::{RangeDecoder, RangeEncoder};
    use crate::model::TABLE_PRIORS;

    const WIDTH: usize = 32 * 7 - 5;
    const ROWS: usize = 32 * 5 - 31;

    fn probabilities() -> Vec<Probability> {
        vec![0; TABLE_PRIORS].iter().chain(&GAIN_PRIORS).map(|&prior| Probability::new(prior)).collect()
    }

    #[test]
    fn any_gains_in_any_order_are_read_back_byte_by_byte() {
        for (spread, stride) in [(0, 1), (1, 1), (3, 2), (8, 3), (8, 11)] {
            let order: Vec<[usize; 2]> = (0..35).map(|at| at * stride % 35).map(|at| [at % 7, at / 7]).collect();
            let gain = |at: usize| {
                (at * 37 % 41 % (2 * spread + 1)).to_le_bytes()[0].cast_signed() - spread.to_le_bytes()[0].cast_signed()
            };
            let mut gains = RegionGains::default();
            gains.set_source(WIDTH, ROWS, (0..35).map(gain));
            let (mut coder, mut before) = (RangeEncoder::new(), probabilities());
            for &region in &order {
                gains.code(region, &mut before, &mut coder).expect("an encoder is never starved");
            }
            let bytes = coder.finish();
            let mut decoded = RegionGains::default();
            decoded.start(WIDTH, ROWS);
            let (mut decoder, mut after) = (RangeDecoder::new(), probabilities());
            let (mut left, mut starved) = (order.iter(), None);
            for byte in bytes {
                decoder.push(&[byte]);
                while let Some(region) = starved.take().or_else(|| left.next()) {
                    if decoded.code(*region, &mut after, &mut decoder).is_none() {
                        starved = Some(region);
                        break;
                    }
                }
            }
            assert_eq!(starved, None);
            assert_eq!(decoded.known, (0..35).map(|at| Some(gain(at))).collect::<Vec<_>>(), "{spread}, {stride}");
            assert_eq!(decoded.known, gains.known);
        }
    }

    #[test]
    fn a_guess_is_the_mean_of_the_known_neighbours() {
        let mut gains = RegionGains::default();
        gains.start(96, 96);
        gains.last = -3;
        assert_eq!(gains.guess([1, 1]), (-3, 0));
        gains.known[1] = Some(-1);
        assert_eq!(gains.guess([1, 1]), (-1, 1));
        gains.known[3] = Some(-2);
        assert_eq!(gains.guess([1, 1]), (-1, 3));
        gains.known[1] = Some(-2);
        assert_eq!(gains.guess([1, 1]), (-2, 2));
        assert_eq!(gains.guess([2, 0]), (-2, 1));
        assert_eq!(gains.guess([0, 2]), (-2, 1));
        assert_eq!(gains.guess([2, 2]), (-3, 0));
    }
}
