//! Section 9: the state of a slice, and the journal of its changes.

use super::coder::Coder;
use super::gains::{Gains, PRIORS};
use super::layout::{Kind, component, level, subband_size, subbands};
use super::regions::{Angles, Numbers};
use super::tables::Tables;

/// The pixels of a slice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) kind: Kind,
    /// Whether its regions have gains.
    pub(super) gains: bool,
    /// Planes below the finest step.
    pub(super) fine: i32,
}

/// A change in what is known of a coefficient's Level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) subband: usize,
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) level: i32,
    pub(super) plane: i32,
}

/// The place of a slice in the order of section 11.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    pub(super) plane: i32,
    pub(super) pass: usize,
    pub(super) order: usize,
    pub(super) block: usize,
    pub(super) blocks: usize,
}

/// Everything that became known of a slice, and after which byte.
#[derive(Debug, Default)]
pub(super) struct Journal {
    changes: Vec<Change>,
    /// Region and angles.
    pub(super) rotations: Vec<(usize, Angles)>,
    /// Region and gain.
    pub(super) gains: Vec<(usize, i32)>,
    /// Subband, code block, and its `open` from then on.
    pub(super) opens: Vec<(usize, usize, i32)>,
    /// The numbers of changes, of rotations, of gains and of opens, and the place, at which the first 0, 1, 2, ... bytes
    /// determined no more. After the last of these: the end.
    stops: Vec<([usize; 4], Place)>,
    subbands: usize,
}

impl Journal {
    pub(super) fn of(tables: &Tables, area: Area, planes: i32, payload: &[u8]) -> Self {
        let mut slice = Slice::new(tables, area, payload);
        // The end of the payload is no error.
        let _ = slice.planes(planes);
        slice.journal
    }

    pub(super) fn changes_within(&self, bytes: usize) -> &[Change] {
        match self.stops.get(bytes) {
            Some(&([count, ..], _)) => &self.changes[..count],
            None => &self.changes,
        }
    }

    pub(super) fn rotations_within(&self, bytes: usize) -> &[(usize, Angles)] {
        match self.stops.get(bytes) {
            Some(&([_, count, ..], _)) => &self.rotations[..count],
            None => &self.rotations,
        }
    }

    pub(super) fn gains_within(&self, bytes: usize) -> &[(usize, i32)] {
        match self.stops.get(bytes) {
            Some(&([_, _, count, _], _)) => &self.gains[..count],
            None => &self.gains,
        }
    }

    /// Section 26, "Recall": returns the `open` of code blocks that were nonzero, in order, and the planes that were not
    /// finished.
    pub(super) fn opens_within(&self, bytes: usize) -> (&[(usize, usize, i32)], i32) {
        match self.stops.get(bytes) {
            Some(&([.., count], place)) => (&self.opens[..count], place.plane + 1),
            None => (&self.opens, 0),
        }
    }

    /// Section 14, for this slice.
    pub(super) fn at(&self, bytes: usize) -> u64 {
        let Some((_, place)) = self.stops.get(bytes) else {
            return 0;
        };
        let blocks = place.blocks.max(1) as u64;
        let done = (place.pass * self.subbands + place.order) as u64 * blocks + place.block as u64;
        let planes = u64::try_from(place.plane + 1).expect("a plane from 0 on");
        (planes << 20) - (done << 20) / (3 * self.subbands as u64 * blocks)
    }
}

/// The error that the payload ended.
#[derive(Debug)]
pub(super) struct Ended;

/// One code block of a subband.
#[derive(Clone, Debug, Default)]
pub(super) struct CodeBlock {
    pub(super) nonzero: bool,
    pub(super) nonzero_since_plane: bool,
    pub(super) decided: bool,
}

/// One subband of a slice. Queries may use coordinates outside it.
#[derive(Clone, Debug)]
pub(super) struct Subband {
    pub(super) width: i32,
    pub(super) height: i32,
    pub(super) across: i32,
    pub(super) down: i32,
    pub(super) nonzero: bool,
    pub(super) blocks: Vec<CodeBlock>,
    pub(super) visited: Vec<bool>,
    /// The flags by position of all blocks, row by row.
    near: Vec<bool>,
    signs: Vec<i32>,
    magnitudes: Vec<u32>,
}

impl Subband {
    fn new(subband: usize, area: Area) -> Self {
        let (width, height) = subband_size(subband, area.width, area.height);
        let (across, down) = (width.div_ceil(8), height.div_ceil(8));
        let int = |value: usize| i32::try_from(value).expect("a side is at most 16384");
        Self {
            width: int(width),
            height: int(height),
            across: int(across),
            down: int(down),
            nonzero: false,
            blocks: vec![CodeBlock::default(); across * down],
            visited: vec![false; width * height],
            near: vec![false; 64 * across * down],
            signs: vec![0; width * height],
            magnitudes: vec![0; width * height],
        }
    }

    pub(super) fn has(&self, x: i32, y: i32) -> bool {
        (0..self.width).contains(&x) && (0..self.height).contains(&y)
    }

    pub(super) fn index(&self, x: i32, y: i32) -> usize {
        (y * self.width + x) as usize
    }

    pub(super) fn sign(&self, x: i32, y: i32) -> i32 {
        if self.has(x, y) { self.signs[self.index(x, y)] } else { 0 }
    }

    pub(super) fn significant(&self, x: i32, y: i32) -> bool {
        self.sign(x, y) != 0
    }

    /// Returns whether there is a coefficient that is not significant and not visited.
    pub(super) fn open(&self, x: i32, y: i32) -> bool {
        self.has(x, y) && !self.significant(x, y) && !self.visited[self.index(x, y)]
    }

    pub(super) fn magnitude(&self, x: i32, y: i32) -> u32 {
        if self.has(x, y) { self.magnitudes[self.index(x, y)] } else { 0 }
    }

    pub(super) fn block(&self, bx: i32, by: i32) -> Option<&CodeBlock> {
        let inside = (0..self.across).contains(&bx) && (0..self.down).contains(&by);
        inside.then(|| &self.blocks[(by * self.across + bx) as usize])
    }

    /// Returns whether one of the eight neighbours of a position is significant; positions are in blocks.
    pub(super) fn near(&self, x: i32, y: i32) -> bool {
        self.near[(y * 8 * self.across + x) as usize]
    }

    fn mark_near(&mut self, x: i32, y: i32) {
        for (dx, dy) in (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dx, dy))) {
            let (x, y) = (x + dx, y + dy);
            if (dx, dy) != (0, 0) && (0..8 * self.across).contains(&x) && (0..8 * self.down).contains(&y) {
                self.near[(y * 8 * self.across + x) as usize] = true;
            }
        }
    }
}

/// Returns the 64 positions of a code block, some of which may have no coefficient.
pub(super) fn positions(bx: i32, by: i32) -> impl Iterator<Item = (i32, i32)> {
    (0..64).map(move |position| (8 * bx + position % 8, 8 * by + position / 8))
}

/// A slice during decoding.
pub(super) struct Slice<'a> {
    pub(super) tables: &'a Tables,
    pub(super) kind: Kind,
    pub(super) fine: i32,
    /// All 57 subbands; uncoded ones are never used.
    pub(super) subbands: Vec<Subband>,
    pub(super) numbers: Numbers,
    pub(super) gains: Gains,
    pub(super) place: Place,
    probabilities: Vec<(i32, i32)>,
    coder: Coder<'a>,
    pub(super) journal: Journal,
}

impl<'a> Slice<'a> {
    fn new(tables: &'a Tables, area: Area, payload: &'a [u8]) -> Self {
        let count = subbands(area.kind).len();
        Self {
            tables,
            kind: area.kind,
            fine: area.fine,
            subbands: (0..57).map(|subband| Subband::new(subband, area)).collect(),
            numbers: Numbers::new(area.width, area.height, area.kind == Kind::Rgb),
            gains: Gains::new(area.width, area.height, area.gains),
            place: Place::default(),
            probabilities: tables.priors.iter().chain(&PRIORS).map(|&prior| (prior.into(), prior.into())).collect(),
            coder: Coder::new(payload),
            journal: Journal { subbands: count, ..Journal::default() },
        }
    }

    /// Decodes a symbol and adapts its probability (section 8).
    pub(super) fn code(&mut self, context: usize) -> Result<bool, Ended> {
        let (fast, slow) = self.probabilities[context];
        let q = ((fast + slow) >> 2).clamp(32, 32736).unsigned_abs();
        let bit = loop {
            if let Some(bit) = self.coder.symbol(q) {
                break bit;
            }
            let journal = &mut self.journal;
            let Journal { changes, rotations, gains, opens, .. } = journal;
            let known = [changes.len(), rotations.len(), gains.len(), opens.len()];
            journal.stops.push((known, self.place));
            if !self.coder.grow() {
                return Err(Ended);
            }
        };
        let target = if bit { 65535 } else { 0 };
        let shift = if context < 6480 { 5 } else { 4 };
        self.probabilities[context] = (fast + ((target - fast) >> shift), slow + ((target - slow) >> 8));
        Ok(bit)
    }

    /// Makes a coefficient significant.
    pub(super) fn set(&mut self, subband: usize, x: i32, y: i32, negative: bool) {
        let of = &mut self.subbands[subband];
        let at = of.index(x, y);
        of.signs[at] = if negative { -1 } else { 1 };
        of.mark_near(x, y);
        self.refine_to(subband, x, y, true);
    }

    /// Gives a significant coefficient the bit of this plane.
    pub(super) fn refine_to(&mut self, subband: usize, x: i32, y: i32, bit: bool) {
        let of = &mut self.subbands[subband];
        let at = of.index(x, y);
        of.magnitudes[at] |= u32::from(bit) << self.place.plane;
        let level = of.signs[at] * of.magnitudes[at].cast_signed();
        let change = Change { subband, x: x as usize, y: y as usize, level, plane: self.place.plane };
        self.journal.changes.push(change);
    }

    pub(super) fn level(&self, subband: usize) -> usize {
        level(subband)
    }

    pub(super) fn chroma(&self, subband: usize) -> usize {
        usize::from(component(subband) > 0)
    }
}
