//! Section 11, "gain_of()".

use super::layout::level;
use super::slice::{Ended, Slice};

/// The priors of the contexts 7282 and higher (section 8).
pub(super) const PRIORS: [u16; 20] = [
    38912, 41472, 54784, 34048, 29952, 18176, 13312, 20480, 9984, 8704, 8192, 11008, 14336, 8192, 6144, 8192, 8192,
    5632, 4096, 4096,
];

/// A slice's known gains.
#[derive(Debug)]
pub(super) struct Gains {
    across: i32,
    down: i32,
    /// Row by row; empty if there are no gains.
    of: Vec<Option<i32>>,
    last: i32,
}

impl Gains {
    pub(super) fn new(width: usize, height: usize, exist: bool) -> Self {
        let [across, down] = [width, height].map(|side| side.div_ceil(32));
        let of = if exist { vec![None; across * down] } else { Vec::new() };
        let [across, down] = [across, down].map(|count| i32::try_from(count).expect("a side is at most 16384"));
        Self { across, down, of, last: 0 }
    }

    fn at(&self, x: i32, y: i32) -> Option<i32> {
        let inside = (0..self.across).contains(&x) && (0..self.down).contains(&y);
        if inside { self.of[(y * self.across + x) as usize] } else { None }
    }
}

impl Slice<'_> {
    /// Decodes the gain of the region of a coefficient that becomes significant, unless it is known or there is none.
    pub(super) fn gain_of(&mut self, subband: usize, x: i32, y: i32) -> Result<(), Ended> {
        if self.gains.of.is_empty() || subband < 3 || level(subband) > 4 {
            return Ok(());
        }
        let side = 32 >> level(subband);
        let (x, y) = (x / side, y / side);
        if self.gains.at(x, y).is_some() {
            return Ok(());
        }
        let around = [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)];
        let known: Vec<i32> = around.into_iter().filter_map(|(x, y)| self.gains.at(x, y)).collect();
        let (sum, n): (i32, i32) = known.iter().fold((0, 0), |(sum, n), gain| (sum + gain, n + 1));
        let guess = if n == 0 { self.gains.last } else { (2 * sum + n).div_euclid(2 * n) };
        let k = match n {
            0 | 1 => known.len(),
            _ if known.iter().all(|gain| *gain == known[0]) => 2,
            _ => 3,
        };
        let gain = self.gain(guess, k)?;
        let region = (y * self.gains.across + x) as usize;
        self.gains.of[region] = Some(gain);
        self.gains.last = gain;
        self.journal.gains.push((region, gain));
        Ok(())
    }

    fn gain(&mut self, guess: i32, k: usize) -> Result<i32, Ended> {
        if self.code(7282 + k)? {
            return Ok(guess);
        }
        let lower = match guess {
            8 => true,
            -8 => false,
            _ => self.code(7286 + k)?,
        };
        let mut steps = 1;
        loop {
            let gain = if lower { guess - steps } else { guess + steps };
            if gain == if lower { -8 } else { 8 } || !self.code(7290 + 3 * k + steps.min(3) as usize - 1)? {
                return Ok(gain);
            }
            steps += 1;
        }
    }
}
