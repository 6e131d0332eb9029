//! Section 11: the order of all symbols, line for line.

use super::layout::units;
use super::stripe::{Ended, Place, Stripe, positions};

/// A block of a unit.
#[derive(Clone, Copy)]
struct B {
    unit: usize,
    bx: i32,
    by: i32,
}

impl Stripe<'_> {
    pub(super) fn planes(&mut self, planes: i32) -> Result<(), Ended> {
        for plane in (0..planes).rev() {
            self.place = Place { plane, ..Place::default() };
            self.regions()?;
            for pass in 0..3 {
                for (order, unit) in units(self.colour).into_iter().enumerate() {
                    let blocks = self.units[unit].blocks.len();
                    self.place = Place { plane, pass, order, block: 0, blocks };
                    self.piece(unit, pass)?;
                }
            }
        }
        Ok(())
    }

    fn piece(&mut self, unit: usize, pass: usize) -> Result<(), Ended> {
        if !self.units[unit].active {
            if pass != 0 || self.units[unit].width * self.units[unit].height == 0 {
                return Ok(());
            }
            self.units[unit].active = self.code(self.unit_context(unit))?;
            if !self.units[unit].active {
                return Ok(());
            }
        }
        for by in 0..self.units[unit].down {
            for bx in 0..self.units[unit].across {
                let block = B { unit, bx, by };
                self.place.block = self.block_index(block);
                match pass {
                    0 => self.near_pass(block)?,
                    1 => self.refine(block)?,
                    _ => self.rest_pass(block)?,
                }
            }
        }
        Ok(())
    }

    fn near_pass(&mut self, b: B) -> Result<(), Ended> {
        if positions(b.bx, b.by).any(|(x, y)| self.units[b.unit].near(x, y)) {
            self.activate(b)?;
        }
        if self.active(b) {
            self.likely(b)?;
        }
        Ok(())
    }

    fn rest_pass(&mut self, b: B) -> Result<(), Ended> {
        self.activate(b)?;
        if self.active(b) {
            self.unlikely(b)?;
        }
        let index = self.block_index(b);
        let unit = &mut self.units[b.unit];
        unit.blocks[index].fresh = false;
        unit.blocks[index].decided = false;
        for (x, y) in positions(b.bx, b.by) {
            if unit.has(x, y) {
                let at = unit.index(x, y);
                unit.visited[at] = false;
            }
        }
        Ok(())
    }

    fn activate(&mut self, b: B) -> Result<(), Ended> {
        let index = self.block_index(b);
        if self.active(b) || self.units[b.unit].blocks[index].decided {
            return Ok(());
        }
        let bit = self.code(self.block_context(b.unit, b.bx, b.by))?;
        let block = &mut self.units[b.unit].blocks[index];
        block.decided = true;
        block.active = bit;
        block.fresh = bit;
        Ok(())
    }

    fn likely(&mut self, b: B) -> Result<(), Ended> {
        loop {
            let unit = &self.units[b.unit];
            let Some((x, y)) = positions(b.bx, b.by).find(|&(x, y)| unit.near(x, y) && unit.open(x, y)) else {
                return Ok(());
            };
            self.significance(b.unit, x, y, self.new_block(b.unit, b.bx, b.by))?;
        }
    }

    fn unlikely(&mut self, b: B) -> Result<(), Ended> {
        let mut row: Vec<(i32, i32)> = Vec::new();
        let mut sought = false;
        loop {
            let left = self.left(b);
            let Some(&lowest) = left.first() else {
                return Ok(());
            };
            let both: Vec<_> = left.iter().copied().filter(|c| row.contains(c)).collect();
            if let Some(&(x, y)) = both.first() {
                if sought && both.len() == 1 {
                    sought = false;
                    self.found(b.unit, x, y)?;
                } else if self.significance(b.unit, x, y, sought)? {
                    sought = false;
                }
                continue;
            }
            let still = |&(x, y): &(i32, i32)| y == lowest.1 && self.expected_now(b.unit, x, y) == 0;
            let quiet: Vec<_> = left.iter().copied().filter(still).collect();
            let new = self.new_block(b.unit, b.bx, b.by);
            if !quiet.contains(&lowest) || quiet.len() < 2 {
                self.significance(b.unit, lowest.0, lowest.1, new)?;
            } else if self.code(self.quiet_context(b.unit, quiet.len(), new))? {
                row = quiet;
                sought = true;
            } else {
                for (x, y) in quiet {
                    self.visit(b.unit, x, y);
                }
            }
        }
    }

    fn significance(&mut self, unit: usize, x: i32, y: i32, f: bool) -> Result<bool, Ended> {
        let bit = self.code(self.significance_context(unit, x, y, f))?;
        self.visit(unit, x, y);
        if bit {
            self.found(unit, x, y)?;
        }
        Ok(bit)
    }

    fn found(&mut self, unit: usize, x: i32, y: i32) -> Result<(), Ended> {
        self.visit(unit, x, y);
        let (context, turned) = self.sign_context(unit, x, y);
        let negative = self.code(context)? != turned;
        self.set(unit, x, y, negative);
        Ok(())
    }

    fn refine(&mut self, b: B) -> Result<(), Ended> {
        for (x, y) in positions(b.bx, b.by) {
            let unit = &self.units[b.unit];
            if !unit.significant(x, y) || unit.visited[unit.index(x, y)] {
                continue;
            }
            let bit = self.code(self.refinement_context(b.unit, x, y))?;
            self.visit(b.unit, x, y);
            self.refine_to(b.unit, x, y, bit);
        }
        Ok(())
    }

    /// The coefficients of a block that are not significant and not visited, by position.
    fn left(&self, b: B) -> Vec<(i32, i32)> {
        let unit = &self.units[b.unit];
        let open = |&(x, y): &(i32, i32)| unit.has(x, y) && !unit.significant(x, y) && !unit.visited[unit.index(x, y)];
        positions(b.bx, b.by).filter(open).collect()
    }

    fn visit(&mut self, unit: usize, x: i32, y: i32) {
        let unit = &mut self.units[unit];
        let at = unit.index(x, y);
        unit.visited[at] = true;
    }

    fn active(&self, b: B) -> bool {
        self.units[b.unit].blocks[self.block_index(b)].active
    }

    fn block_index(&self, b: B) -> usize {
        (b.by * self.units[b.unit].across + b.bx) as usize
    }
}
