//! The cost of a block's motion, computed from the current probabilities without changing them.

use crate::entropy::probability::{PROBABILITY_BITS, Probability};
use crate::entropy::range_coder::Coder;
use crate::motion::vector::Vector;

/// The unit of costs: this many parts of a bit.
pub(super) const COST_PER_BIT: u32 = 256;
/// Bits of a probability that index the table.
const TABLE_BITS: u32 = 7;

/// Minus the binary logarithm of (at + 1/2) / 128, in 1/[`COST_PER_BIT`].
#[expect(clippy::cast_possible_truncation, reason = "at most eight bits")]
const BIT_COSTS: [u16; 1 << TABLE_BITS] = {
    let mut table = [0; 1 << TABLE_BITS];
    let mut at = 0;
    while at < table.len() {
        // Eight binary digits of the logarithm, each by squaring.
        let mut value = (2 * at as u64 + 1) << 24;
        let mut log = COST_PER_BIT;
        while value < 1 << 31 {
            value <<= 1;
            log += COST_PER_BIT;
        }
        let mut digit = COST_PER_BIT / 2;
        while digit > 0 {
            value = (value * value) >> 31;
            if value >= 1 << 32 {
                value >>= 1;
                log -= digit;
            }
            digit /= 2;
        }
        table[at] = log as u16;
        at += 1;
    }
    table
};

/// Counts the bits of everything that is coded with it.
#[derive(Debug, Default)]
pub(super) struct Cost(pub(super) u32);

impl Coder for Cost {
    const WRITES_BITS: bool = true;

    fn code<const RATES: u32>(&mut self, probabilities: &mut [Probability], context: usize, bit: bool) -> Option<bool> {
        let one = probabilities[context].of_one();
        let of_bit = if bit { one } else { (1 << PROBABILITY_BITS) - one };
        self.0 += u32::from(BIT_COSTS[(of_bit >> (PROBABILITY_BITS - TABLE_BITS)) as usize]);
        Some(bit)
    }

    fn position(&self) -> usize {
        0
    }
}

/// The bits of a vector's difference from another as exponential Golomb codes, which the search for vectors uses.
pub(super) fn of_difference(vector: Vector, before: Vector) -> u32 {
    let golomb = |value: i16| 2 * (2 * u32::from(value.unsigned_abs()) + 1).ilog2() + 1;
    let difference = vector.minus(before);
    golomb(difference.x) + golomb(difference.y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_logarithms() {
        for (at, cost) in BIT_COSTS.iter().enumerate() {
            let exact = -((at as f64 + 0.5) / 128.0).log2() * f64::from(COST_PER_BIT);
            assert!((f64::from(*cost) - exact).abs() <= 2.0, "{at}: {cost} for {exact}");
        }
    }
}
