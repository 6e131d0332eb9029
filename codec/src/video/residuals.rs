//! Decodes the residuals of frames apart from their prediction, for two workers that share no memory: one decodes
//! residuals, the other predicts, adds and shows. Each does about half of the work of a frame.

use std::ops::Range;

use crate::error::Error;
use crate::parallel::Threads;
use crate::picture::Size;
use crate::post_filter::blocks;
use crate::residual::decoder::ResidualDecoder;
use crate::residual::planes::plane_size;
use crate::stream::decoder::DEFAULT_MAX_PIXELS;
use crate::transform::Position;
use crate::video::ages::Gains;
use crate::video::head::Head;
use crate::video::model::VideoModel;
use crate::video::strip::{Targets, synthesise};

/// The prefixes of a frame that have a residual each: the base layer, what the enhancement reference has, and all bytes
/// that arrived.
const PREFIXES: usize = 3;
pub(super) const BASE: usize = 0;
pub(super) const ENHANCEMENT: usize = 1;
pub(super) const SHOWN: usize = 2;
/// Numbers before the significance: the bytes that arrived, in 2; for each prefix the number of its residual, and its
/// position, in 2.
const HEAD_NUMBERS: usize = 2 + 3 * PREFIXES;

/// The residuals of one frame, and what the filter of shown frames has to know, as numbers of 16 bits in one piece of
/// memory, which can be copied from one worker to another.
#[derive(Debug, Clone, Default)]
pub struct FrameResiduals {
    /// Those in use, and more from frames before.
    numbers: Vec<i16>,
    used: usize,
}

impl FrameResiduals {
    /// Returns the most numbers that a frame of this size needs: about 4.6 a pixel.
    #[must_use]
    pub fn max_numbers(size: Size) -> usize {
        residual(size, PREFIXES - 1, 2).end
    }

    /// The numbers, for a copy.
    #[must_use]
    pub fn numbers(&self) -> &[i16] {
        &self.numbers[..self.used]
    }

    /// Returns memory for as many [numbers](Self::numbers); they are arbitrary.
    pub fn room(&mut self, count: usize) -> &mut [i16] {
        if self.numbers.len() < count {
            self.numbers.resize(count, 0);
        }
        self.used = count;
        &mut self.numbers[..count]
    }

    /// Returns whether these are residuals of a frame of this size, of whose bitstream this many bytes arrived.
    pub(super) fn fits(&self, size: Size, arrived: usize) -> bool {
        let numbers = self.numbers();
        let Some(head) = numbers.first_chunk::<HEAD_NUMBERS>() else { return false };
        let of_prefixes: [usize; PREFIXES] =
            std::array::from_fn(|prefix| usize::try_from(head[2 + 3 * prefix]).unwrap_or(PREFIXES));
        let most = of_prefixes.into_iter().max().unwrap_or(PREFIXES);
        let is_whole = most < PREFIXES && numbers.len() == residual(size, most, 2).end;
        is_whole && joined(head[0], head[1]) == number_of(arrived)
    }

    /// Returns the number of the residual of a prefix. Two prefixes have the same residual if the second has no byte
    /// more.
    pub(super) fn number(&self, prefix: usize) -> usize {
        usize::try_from(self.numbers[2 + 3 * prefix]).unwrap_or_default()
    }

    /// Returns the position of a prefix.
    pub(super) fn position(&self, prefix: usize) -> Position {
        let at = 3 + 3 * prefix;
        Position::of_fixed_point(joined(self.numbers[at], self.numbers[at + 1]))
    }

    /// Returns the planes of the residual of a prefix, after [`Self::fits`].
    pub(super) fn planes(&self, size: Size, prefix: usize) -> [&[i16]; 3] {
        [0, 1, 2].map(|plane| &self.numbers[residual(size, self.number(prefix), plane)])
    }

    /// Returns the marks of a component's blocks with significant coefficients.
    pub(super) fn significance(&self, size: Size, component: usize) -> &[i16] {
        &self.numbers[marks(size, component)]
    }

    /// Writes a number of 32 bits.
    fn set(&mut self, at: usize, number: i32) {
        let [first, second, third, fourth] = number.to_be_bytes();
        self.numbers[at] = i16::from_be_bytes([first, second]);
        self.numbers[at + 1] = i16::from_be_bytes([third, fourth]);
    }
}

const fn joined(high: i16, low: i16) -> i32 {
    (high as i32) << 16 | low.cast_unsigned() as i32
}

/// Bytes as 32 bits: a frame has fewer than 2^31.
fn number_of(bytes: usize) -> i32 {
    i32::try_from(bytes).unwrap_or(i32::MAX)
}

/// Returns the place of the marks of a component's blocks.
fn marks(size: Size, component: usize) -> Range<usize> {
    let count = |component: usize| {
        let size = plane_size(size, component);
        blocks(size.width()) * blocks(size.height())
    };
    let start = HEAD_NUMBERS + (0..component).map(count).sum::<usize>();
    start..start + count(component)
}

/// Returns the place of a plane of the residual of this number.
fn residual(size: Size, number: usize, plane: usize) -> Range<usize> {
    let count = |plane: usize| plane_size(size, plane).pixels();
    let all: usize = (0..3).map(count).sum();
    let start = marks(size, 2).end + number * all + (0..plane).map(count).sum::<usize>();
    start..start + count(plane)
}

/// Decodes the residuals of frames, each by itself: the first half of a [`VideoDecoder`](crate::VideoDecoder), which
/// then predicts frames and takes these residuals.
#[derive(Debug)]
pub struct FrameResidualDecoder {
    model: VideoModel,
    size: Size,
    max_pixels: u64,
    decoder: ResidualDecoder,
    significance: [Vec<u8>; 3],
}

impl FrameResidualDecoder {
    /// Returns a decoder for frames of this size, on `threads` threads, that accepts up to [`DEFAULT_MAX_PIXELS`]. It
    /// allocates about 22 bytes a pixel with the first frame, 9 of them in the residuals.
    #[must_use]
    pub fn new(model: VideoModel, size: Size, threads: usize) -> Self {
        let decoder = ResidualDecoder::new(&Threads::new(threads));
        Self { model, size, max_pixels: DEFAULT_MAX_PIXELS, decoder, significance: Default::default() }
    }

    /// Decodes the residuals of a frame, or of a prefix of it. Returns whether there are any: a frame whose head or side
    /// information is incomplete has none.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the head breaks the specification. [`Error::Limit`] if frames are larger than agreed.
    pub fn decode(&mut self, frame: &[u8], out: &mut FrameResiduals) -> Result<bool, Error> {
        let Self { model, size, max_pixels, decoder, significance } = self;
        let (size, given) = (*size, size.pixels() as u64);
        if given > *max_pixels {
            return Err(Error::Limit { what: "the frame's number of pixels", given, max: *max_pixels });
        }
        let Some((head, length)) = Head::parse(frame)? else { return Ok(false) };
        let Some((_, string)) = frame[length..].split_at_checked(head.side) else { return Ok(false) };
        let model = model.of(head.key);
        let ends = [head.base_reference, head.enhancement_reference, usize::MAX].map(|end| end.min(string.len()));
        let differs = [true, ends[1] > ends[0] || head.stays, ends[2] > ends[1]];
        let count = differs.iter().filter(|differs| **differs).count();
        out.room(residual(size, count - 1, 2).end);
        out.set(0, number_of(string.len()));
        decoder.start(size, head.planes);
        let (mut before, mut next) = (0, 0_u8);
        for (prefix, end) in ends.into_iter().enumerate() {
            // The bitstream ends at a corrupt length, as in every decoder.
            let _ = decoder.push(model, &string[before..end]);
            before = end;
            if differs[prefix] {
                let gains = match prefix {
                    BASE => Gains::of_base_reference(size, &head),
                    _ => Gains::of_enhancement_reference(size, &head),
                };
                let places = [0, 1, 2].map(|plane| residual(size, next.into(), plane));
                let planes = out.numbers.get_disjoint_mut(places).unwrap_or_default();
                let targets = Targets { gains: gains.as_ref(), residual: planes, ..Targets::default() };
                synthesise(decoder, model, size, targets);
                next += 1;
            }
            out.numbers[2 + 3 * prefix] = i16::from(next - 1);
            out.set(3 + 3 * prefix, decoder.position().fixed_point());
        }
        for (component, marks) in significance.iter_mut().enumerate() {
            marks.clear();
            marks.resize(self::marks(size, component).len(), 0);
        }
        decoder.write_significance(significance);
        for (component, of_blocks) in significance.iter().enumerate() {
            let out = out.numbers[marks(size, component)].iter_mut();
            out.zip(of_blocks).for_each(|(out, mark)| *out = i16::from(*mark));
        }
        Ok(true)
    }
}
