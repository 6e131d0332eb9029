//! Section 11: the order of all symbols, line for line.

use super::layout::{level, subbands};
use super::slice::{Ended, Place, Slice, positions};

/// A code block of a subband.
#[derive(Clone, Copy)]
struct B {
    subband: usize,
    bx: i32,
    by: i32,
}

/// Returns whether a subband has symbols in a plane.
fn is_coded(subband: usize, plane: i32, planes: i32, fine: i32) -> bool {
    let level = i32::try_from(level(subband)).expect("1 to 6");
    let last = fine - fine.min(21 - planes - level);
    (last..last + 15).contains(&plane)
}

impl Slice<'_> {
    pub(super) fn planes(&mut self, planes: i32) -> Result<(), Ended> {
        for plane in (0..planes + self.fine).rev() {
            self.place = Place { plane, ..Place::default() };
            self.regions()?;
            for pass in 0..3 {
                for (order, subband) in subbands(self.kind).into_iter().enumerate() {
                    let blocks = self.subbands[subband].blocks.len();
                    self.place = Place { plane, pass, order, block: 0, blocks };
                    if is_coded(subband, plane, planes, self.fine) {
                        self.coding_pass(subband, pass)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn coding_pass(&mut self, subband: usize, pass: usize) -> Result<(), Ended> {
        if !self.subbands[subband].nonzero {
            if pass != 0 || self.subbands[subband].width * self.subbands[subband].height == 0 {
                return Ok(());
            }
            self.subbands[subband].nonzero = self.code(self.subband_context(subband))?;
            if !self.subbands[subband].nonzero {
                return Ok(());
            }
        }
        for by in 0..self.subbands[subband].down {
            for bx in 0..self.subbands[subband].across {
                let block = B { subband, bx, by };
                self.place.block = self.block_index(block);
                match pass {
                    0 => self.significance_pass(block)?,
                    1 => self.refine(block)?,
                    _ => self.cleanup_pass(block)?,
                }
            }
        }
        Ok(())
    }

    fn significance_pass(&mut self, b: B) -> Result<(), Ended> {
        if positions(b.bx, b.by).any(|(x, y)| self.subbands[b.subband].near(x, y)) {
            self.code_nonzero(b)?;
        }
        if self.nonzero(b) {
            self.code_candidates(b)?;
        }
        Ok(())
    }

    fn cleanup_pass(&mut self, b: B) -> Result<(), Ended> {
        self.code_nonzero(b)?;
        if self.nonzero(b) {
            self.clean_up(b)?;
        }
        let index = self.block_index(b);
        if self.nonzero(b) {
            self.journal.opens.push((b.subband, index, self.place.plane));
        }
        let subband = &mut self.subbands[b.subband];
        subband.blocks[index].nonzero_since_plane = false;
        subband.blocks[index].decided = false;
        for (x, y) in positions(b.bx, b.by) {
            if subband.has(x, y) {
                let at = subband.index(x, y);
                subband.visited[at] = false;
            }
        }
        Ok(())
    }

    fn code_nonzero(&mut self, b: B) -> Result<(), Ended> {
        let index = self.block_index(b);
        if self.nonzero(b) || self.subbands[b.subband].blocks[index].decided {
            return Ok(());
        }
        let bit = self.code(self.code_block_context(b.subband, b.bx, b.by))?;
        let block = &mut self.subbands[b.subband].blocks[index];
        block.decided = true;
        block.nonzero = bit;
        block.nonzero_since_plane = bit;
        if bit {
            self.journal.opens.push((b.subband, index, self.place.plane + 1));
        }
        Ok(())
    }

    fn code_candidates(&mut self, b: B) -> Result<(), Ended> {
        loop {
            let subband = &self.subbands[b.subband];
            let Some((x, y)) = positions(b.bx, b.by).find(|&(x, y)| subband.near(x, y) && subband.open(x, y)) else {
                return Ok(());
            };
            self.significance(b.subband, x, y, self.block_must_hold_one(b.subband, b.bx, b.by))?;
        }
    }

    fn clean_up(&mut self, b: B) -> Result<(), Ended> {
        let mut held: Vec<(i32, i32)> = Vec::new();
        let mut must_hold_one = false;
        loop {
            let left = self.left(b);
            let Some(&lowest) = left.first() else {
                return Ok(());
            };
            let both: Vec<_> = left.iter().copied().filter(|c| held.contains(c)).collect();
            if let Some(&(x, y)) = both.first() {
                if must_hold_one && both.len() == 1 {
                    must_hold_one = false;
                    self.first_one(b.subband, x, y)?;
                } else if self.significance(b.subband, x, y, must_hold_one)? {
                    must_hold_one = false;
                }
                continue;
            }
            let still = |&(x, y): &(i32, i32)| y == lowest.1 && self.expected_magnitude_now(b.subband, x, y) == 0;
            let run: Vec<_> = left.iter().copied().filter(still).collect();
            let new = self.block_must_hold_one(b.subband, b.bx, b.by);
            if !run.contains(&lowest) || run.len() < 2 {
                self.significance(b.subband, lowest.0, lowest.1, new)?;
            } else if self.code(self.zero_run_context(b.subband, run.len(), new))? {
                held = run;
                must_hold_one = true;
            } else {
                for (x, y) in run {
                    self.visit(b.subband, x, y);
                }
            }
        }
    }

    fn significance(&mut self, subband: usize, x: i32, y: i32, f: bool) -> Result<bool, Ended> {
        let bit = self.code(self.significance_context(subband, x, y, f))?;
        self.visit(subband, x, y);
        if bit {
            self.first_one(subband, x, y)?;
        }
        Ok(bit)
    }

    fn first_one(&mut self, subband: usize, x: i32, y: i32) -> Result<(), Ended> {
        self.visit(subband, x, y);
        self.gain_of(subband, x, y)?;
        let (context, turned) = self.sign_context(subband, x, y);
        let negative = self.code(context)? != turned;
        self.set(subband, x, y, negative);
        Ok(())
    }

    fn refine(&mut self, b: B) -> Result<(), Ended> {
        for (x, y) in positions(b.bx, b.by) {
            let subband = &self.subbands[b.subband];
            if !subband.significant(x, y) || subband.visited[subband.index(x, y)] {
                continue;
            }
            let bit = self.code(self.refinement_context(b.subband, x, y))?;
            self.visit(b.subband, x, y);
            self.refine_to(b.subband, x, y, bit);
        }
        Ok(())
    }

    /// Returns the coefficients of a block that are not significant and not visited, by position.
    fn left(&self, b: B) -> Vec<(i32, i32)> {
        let subband = &self.subbands[b.subband];
        let open = |&(x, y): &(i32, i32)| {
            subband.has(x, y) && !subband.significant(x, y) && !subband.visited[subband.index(x, y)]
        };
        positions(b.bx, b.by).filter(open).collect()
    }

    fn visit(&mut self, subband: usize, x: i32, y: i32) {
        let subband = &mut self.subbands[subband];
        let at = subband.index(x, y);
        subband.visited[at] = true;
    }

    fn nonzero(&self, b: B) -> bool {
        self.subbands[b.subband].blocks[self.block_index(b)].nonzero
    }

    fn block_index(&self, b: B) -> usize {
        (b.by * self.subbands[b.subband].across + b.bx) as usize
    }
}
