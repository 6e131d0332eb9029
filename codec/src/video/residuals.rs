//! Decodes the residuals of frames apart from their prediction, for two workers that share no memory: one decodes
//! residuals, the other predicts, adds and shows. Each does about half of the work of a frame.

use std::ops::Range;

use crate::error::{Error, Quantity};
use crate::parallel::Threads;
use crate::picture::Size;
use crate::post_filter::blocks;
use crate::residual::decoder::ResidualDecoder;
use crate::residual::planes::plane_size;
use crate::stream::decoder::DEFAULT_MAX_PIXELS;
use crate::subband::zone::Zone;
use crate::transform::Position;
use crate::video::ages::Gains;
use crate::video::head::Head;
use crate::video::model::VideoModel;
use crate::video::recall;
use crate::video::strip::{Targets, synthesise};

/// The prefixes of a frame that have a residual each: the base layer, what the enhancement reference has, and all bytes
/// that arrived.
const PREFIXES: usize = 3;
pub(super) const BASE: usize = 0;
pub(super) const ENHANCEMENT: usize = 1;
pub(super) const SHOWN: usize = 2;
/// The numbers at the beginning: the frame's bytes that arrived, its width and its height, in 2 each.
const FRAME_NUMBERS: usize = 6;
/// Then, for each prefix, the number of its residual, and its position in 2. The significance follows.
const HEAD_NUMBERS: usize = FRAME_NUMBERS + 3 * PREFIXES;

/// The residuals of one frame, and what the filter of shown frames has to know, as numbers of 16 bits in one piece of
/// memory, which can be copied from one worker to another.
#[derive(Debug, Clone, Default)]
pub struct FrameResiduals {
    /// Those in use, and more from frames before.
    numbers: Vec<i16>,
    used: usize,
}

impl FrameResiduals {
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

    /// Returns whether these are residuals of a frame of this size and zone, of whose bitstream this many bytes arrived.
    pub(super) fn fits(&self, size: Size, arrived: usize, zone: Option<&Zone>) -> bool {
        if self.used < HEAD_NUMBERS
            || (0..FRAME_NUMBERS).step_by(2).map(|at| self.number_at(at)).ne(identity(size, arrived))
        {
            return false;
        }
        let numbers = [BASE, ENHANCEMENT, SHOWN].map(|prefix| usize::try_from(self.numbers[of_prefix(prefix)]));
        let [Ok(base), Ok(enhancement), Ok(shown)] = numbers else { return false };
        base <= enhancement
            && enhancement <= shown
            && shown < PREFIXES
            && self.used == residual(size, shown, 2).end + limits_of(zone)
    }

    /// Returns the number of the residual of a prefix. Two prefixes have the same residual if the second has no byte
    /// more.
    pub(super) fn number(&self, prefix: usize) -> usize {
        usize::try_from(self.numbers[of_prefix(prefix)]).unwrap_or_default()
    }

    /// Returns the position of a prefix.
    pub(super) fn position(&self, prefix: usize) -> Position {
        Position::of_fixed_point(self.number_at(of_prefix(prefix) + 1))
    }

    /// Returns the planes of the residual of a prefix, after [`Self::fits`].
    pub(super) fn planes(&self, size: Size, prefix: usize) -> [&[i16]; 3] {
        [0, 1, 2].map(|plane| &self.numbers[residual(size, self.number(prefix), plane)])
    }

    /// Returns the limits of a zone's coefficients, after [`Self::fits`].
    pub(super) fn limits(&self, size: Size) -> &[i16] {
        &self.numbers[residual(size, self.number(SHOWN), 2).end..self.used]
    }

    /// Returns the marks of a component's blocks with significant coefficients.
    pub(super) fn significance(&self, size: Size, component: usize) -> &[i16] {
        &self.numbers[marks(size, component)]
    }

    /// Returns a number of 32 bits.
    fn number_at(&self, at: usize) -> i32 {
        let [first, second] = self.numbers[at].to_be_bytes();
        let [third, fourth] = self.numbers[at + 1].to_be_bytes();
        i32::from_be_bytes([first, second, third, fourth])
    }

    /// Writes a number of 32 bits.
    fn set(&mut self, at: usize, number: i32) {
        let [first, second, third, fourth] = number.to_be_bytes();
        self.numbers[at] = i16::from_be_bytes([first, second]);
        self.numbers[at + 1] = i16::from_be_bytes([third, fourth]);
    }
}

/// Returns what identifies a frame: its bytes that arrived, its width and its height, all less than 2^31.
fn identity(size: Size, arrived: usize) -> [i32; 3] {
    [arrived, size.width(), size.height()].map(|number| i32::try_from(number).unwrap_or(i32::MAX))
}

/// Returns the place of a prefix's numbers.
const fn of_prefix(prefix: usize) -> usize {
    FRAME_NUMBERS + 3 * prefix
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

/// Returns the number of limits of a zone's coefficients.
fn limits_of(zone: Option<&Zone>) -> usize {
    zone.map_or(0, |zone| zone.coefficients)
}

/// Decodes the residuals of frames, each by itself: the first half of a [`VideoDecoder`](crate::VideoDecoder), which
/// then predicts frames and takes these residuals.
#[derive(Debug)]
pub struct FrameResidualDecoder {
    model: VideoModel,
    size: Size,
    decoder: ResidualDecoder,
    significance: [Vec<u8>; 3],
}

impl FrameResidualDecoder {
    /// Returns a decoder for frames of this size, on `threads` threads, that accepts up to [`DEFAULT_MAX_PIXELS`]. It
    /// allocates about 22 bytes a pixel with the first frame, 9 of them in the residuals.
    #[must_use]
    pub fn new(model: VideoModel, size: Size, threads: usize) -> Self {
        let decoder = ResidualDecoder::new(&Threads::new(threads));
        Self { model, size, decoder, significance: Default::default() }
    }

    /// Decodes the residuals of a frame, or of a prefix of it. Returns whether there are any: a frame whose head or side
    /// information is incomplete has none.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the head breaks the specification. [`Error::Limit`] if frames are larger than agreed.
    pub fn decode(&mut self, frame: &[u8], out: &mut FrameResiduals) -> Result<bool, Error> {
        let Self { model, size, decoder, significance } = self;
        let (size, given) = (*size, size.pixels() as u64);
        if given > DEFAULT_MAX_PIXELS {
            return Err(Error::Limit { what: Quantity::FramePixels, given, max: DEFAULT_MAX_PIXELS });
        }
        let Some((head, length)) = Head::parse(frame)? else { return Ok(false) };
        let Some((_, string)) = frame[length..].split_at_checked(head.side) else { return Ok(false) };
        let model = model.of(head.key);
        let ends = [head.base_reference, head.enhancement_reference, usize::MAX].map(|end| end.min(string.len()));
        let differs = [true, ends[1] > ends[0] || head.stays, ends[2] > ends[1]];
        let count = differs.iter().filter(|differs| **differs).count();
        let zone = if head.is_weighted() { recall::zone(size, head.phase) } else { None };
        let (residuals, of_zone) = (residual(size, count - 1, 2).end, limits_of(zone.as_ref()));
        out.room(residuals + of_zone);
        (0..FRAME_NUMBERS).step_by(2).zip(identity(size, string.len())).for_each(|(at, number)| out.set(at, number));
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
            if let Some(zone) = zone.as_ref().filter(|_| prefix == ENHANCEMENT) {
                decoder.limits_into(model, zone, &mut out.numbers[residuals..][..of_zone]);
            }
            out.numbers[of_prefix(prefix)] = i16::from(next - 1);
            out.set(of_prefix(prefix) + 1, decoder.position().fixed_point());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::video::decoder::VideoDecoder;
    use crate::video::tests::encode;

    #[test]
    fn residuals_fit_the_frame_that_they_are_of_and_no_other() {
        let size = Size::new(72, 48).expect("a valid size");
        let frame = &encode(size, 2, 70)[1].bytes;
        let mut residuals = FrameResiduals::default();
        assert!(!residuals.fits(size, 0, None), "nothing is there yet");
        let mut decoder = FrameResidualDecoder::new(VideoModel::built_in(), size, 1);
        assert_eq!(decoder.decode(frame, &mut residuals), Ok(true));
        let (head, length) = Head::parse(frame).expect("a frame").expect("a whole head");
        let arrived = frame.len() - length - head.side;
        let zone = recall::zone(size, head.phase);
        let zone = zone.as_ref();
        assert!(zone.is_some() && residuals.fits(size, arrived, zone) && !residuals.fits(size, arrived - 1, zone));
        assert!(!residuals.fits(size, arrived, None), "it recalls nothing");
        // As many numbers of each kind.
        assert!(!residuals.fits(Size::new(48, 72).expect("a valid size"), arrived, zone));
        for (at, number) in [(of_prefix(BASE), -1), (of_prefix(SHOWN), 3), (of_prefix(SHOWN), i16::MAX)] {
            let mut wrong = residuals.clone();
            wrong.numbers[at] = number;
            assert!(!wrong.fits(size, arrived, zone), "{number} at {at}");
        }
        for count in [0, HEAD_NUMBERS - 1, HEAD_NUMBERS, residuals.used - 1, residuals.used + 1] {
            let mut wrong = residuals.clone();
            wrong.room(count);
            assert!(!wrong.fits(size, arrived, zone), "{count} numbers");
        }
    }

    #[test]
    fn any_limits_are_taken() {
        let size = Size::new(72, 48).expect("a valid size");
        let frames = encode(size, 2, 70);
        let mut residuals = FrameResiduals::default();
        let mut decoder = VideoDecoder::new(VideoModel::built_in(), size, 1);
        for limit in [-1, i16::MIN, i16::MAX] {
            FrameResidualDecoder::new(VideoModel::built_in(), size, 1)
                .decode(&frames[1].bytes, &mut residuals)
                .expect("a frame");
            let limits = residuals.limits(size).len();
            assert!(limits > 0, "it recalls something");
            let end = residuals.used;
            residuals.numbers[end - limits..end].fill(limit);
            decoder.decode(&frames[0].bytes).expect("a frame");
            decoder.predict(&frames[1].bytes).expect("a frame");
            decoder.complete_with(&mut residuals).expect("they fit");
        }
    }
}
