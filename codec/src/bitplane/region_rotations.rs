//! The rotations of a slice's regions as symbols (spec, "Regions" and "Contexts").

use crate::bitplane::contexts;
use crate::bitplane::kept_symbols::KeptSymbols;
use crate::entropy::probability::Probability;
use crate::entropy::range_coder::Coder;
use crate::subband::layout::ChromaFormat;
use crate::subband::regions::{self, Rotations};
use crate::subband::rotation::{ANGLE_BITS, ANGLE_RANGE, MAX_ROTATIONS, Matrix, Rotation};

/// Bits of a rotation's number.
const NUMBER_BITS: u32 = 3;

/// The known rotations of a slice's regions; some pictures have no regions.
#[derive(Debug, Clone, Default)]
pub(crate) struct RegionRotations {
    /// Regions in a row.
    across: usize,
    /// By number, in the order of coding; the first is the identity.
    rotations: Vec<Rotation>,
    /// The number of each region's rotation, once it is coded; row by row.
    numbers: Vec<Option<u8>>,
    /// An encoder's source: each region's rotation. Empty in a decoder.
    source: Vec<Rotation>,
    matrices: Vec<Matrix>,
    /// The next region of the current plane.
    next: usize,
    /// The symbols of that region that were coded before the coder starved.
    known: KeptSymbols,
}

impl RegionRotations {
    /// Sets these to the regions of a slice of `width` x `rows` pixels, of which nothing is known.
    pub(super) fn reset(&mut self, chroma: ChromaFormat, width: usize, rows: usize) {
        let (across, down) = regions::count(chroma, width, rows);
        self.across = across;
        self.rotations.clear();
        self.rotations.push(Rotation::default());
        self.numbers.clear();
        self.numbers.resize(across * down, None);
        self.source.clear();
        self.matrices.clear();
        (self.next, self.known) = (0, KeptSymbols::default());
    }

    /// Sets an encoder's rotation of each region; without this call no region is rotated.
    pub(crate) fn set_source(&mut self, source: impl Iterator<Item = Rotation>) {
        self.source.extend(source);
        self.matrices.extend(self.source.iter().map(|rotation| rotation.matrix()));
    }

    /// In an encoder: returns each region's matrix, row by row, if any is not the identity; and the regions in a row.
    pub(super) fn source(&self) -> Option<(&[Matrix], usize)> {
        let rotated = self.source.iter().any(|rotation| *rotation != Rotation::default());
        rotated.then_some((&self.matrices, self.across))
    }

    /// In an encoder: returns each region's rotation, row by row.
    #[cfg(feature = "training")]
    pub(crate) fn source_rotations(&self) -> &[Rotation] {
        &self.source
    }

    /// Returns the rotations that are coded so far.
    pub(super) fn known(&self) -> Rotations<'_> {
        Rotations { across: self.across, rotations: &self.rotations, numbers: &self.numbers }
    }

    /// Begins another plane.
    pub(super) const fn descend(&mut self) {
        self.next = 0;
    }

    /// Returns the next region of this plane that has no rotation yet; [`RegionRotations::skip`] passes over it.
    pub(super) fn next_without(&mut self) -> Option<[usize; 2]> {
        let rest = self.numbers.get(self.next..)?;
        self.next += rest.iter().position(Option::is_none).unwrap_or(rest.len());
        (self.next < self.numbers.len()).then(|| [self.next % self.across, self.next / self.across])
    }

    pub(super) const fn skip(&mut self) {
        self.next += 1;
    }

    /// Returns the number of a region's rotation; a region without one counts as not rotated.
    fn number(&self, region: Option<usize>) -> usize {
        region.and_then(|region| self.numbers[region]).map_or(0, usize::from)
    }

    /// Codes the rotation of the next region, with those of its neighbours as the context. Returns `None` if the coder
    /// starved; the next call goes on from there.
    pub(super) fn code<C: Coder>(&mut self, probabilities: &mut [Probability], coder: &mut C) -> Option<()> {
        let region = self.next;
        let first = region.is_multiple_of(self.across);
        let left = self.number(region.checked_sub(1).filter(|_| !first));
        let above = self.number(region.checked_sub(self.across));
        let between = self.number(region.checked_sub(self.across + 1).filter(|_| !first));
        let source = self.source.get(region).copied().unwrap_or_default();
        let Self { rotations, known, .. } = self;
        let mut read = 0;
        let mut code = |context: usize, bit: bool| known.code(&mut read, probabilities, coder, context, bit);
        let is = |number: usize| C::WRITES_BITS && rotations[number] == source;
        let number = if code(contexts::like_left(left, above, between), is(left))? {
            left
        } else if left != above && code(contexts::like_above(left, above, between), is(above))? {
            above
        } else {
            let count = rotations.len();
            let place = rotations.iter().position(|rotation| *rotation == source);
            if count < MAX_ROTATIONS && code(contexts::new_rotation(count), place.is_none())? {
                rotations.push(angles(source, code)?);
                count
            } else {
                let [low, ..] = place.unwrap_or(0).to_le_bytes();
                let number = tree(NUMBER_BITS, low, |node, bit| code(contexts::rotation(node), bit))?;
                if usize::from(number) < count { usize::from(number) } else { 0 }
            }
        };
        *known = KeptSymbols::default();
        let [low, ..] = number.to_le_bytes();
        self.numbers[region] = Some(low);
        self.next += 1;
        Some(())
    }
}

/// Codes three angles.
fn angles(source: Rotation, mut code: impl FnMut(usize, bool) -> Option<bool>) -> Option<Rotation> {
    let mut angles = [0; 3];
    for (axis, (angle, source)) in angles.iter_mut().zip(source.angles).enumerate() {
        let bits = (source + ANGLE_RANGE).cast_unsigned();
        let bits = tree(ANGLE_BITS, bits, |node, bit| code(contexts::angle(axis, node), bit))?;
        *angle = bits.cast_signed() - ANGLE_RANGE;
    }
    Some(Rotation { angles })
}

/// Codes `count` bits of a number, the highest first. `code` gets the bits before each as the node of a tree, whose
/// root is 1.
fn tree(count: u32, number: u8, mut code: impl FnMut(usize, bool) -> Option<bool>) -> Option<u8> {
    let mut node = 1_u8;
    for bit in (0..count).rev() {
        node = node << 1 | u8::from(code(usize::from(node), number >> bit & 1 != 0)?);
    }
    Some(node - (1 << count))
}
