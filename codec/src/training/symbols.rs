//! Every symbol of a picture, with its probability and its coefficient. From these you can compute the gain of a new
//! context.

use crate::bitplane::scan::{self, Cursor};
use crate::bitplane::slice::Slice;
use crate::entropy::probability::Probability;
use crate::entropy::range_coder::Coder;
use crate::error::Error;
use crate::stream::encoder::Encoder;
use crate::subband::coefficients::Coefficients;

/// The coded data of one slice.
#[derive(Debug)]
pub struct SliceSymbols {
    /// The rotation of each region, row by row: three angles in 1/64 of half a turn (spec, "Quantiser").
    pub rotations: Vec<[i8; 3]>,
    /// The Levels by subband, row by row; empty if the picture has no such subband.
    pub levels: Vec<Vec<i16>>,
    /// The symbols in the order of the stream.
    pub symbols: Vec<Symbol>,
}

/// A symbol and its coding state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbol {
    /// The bit plane of the symbol.
    pub plane: u8,
    /// Its context (spec, "Contexts").
    pub context: u16,
    /// The probability of a one, in 1/32768.
    pub one: u16,
    /// The coded bit.
    pub bit: bool,
    /// The coefficient, if the symbol is a significance or a sign: subband, and column and row in the slice.
    pub coefficient: Option<(u8, [u16; 2])>,
}

impl Encoder {
    /// Returns every symbol of `coefficients`, slice by slice.
    ///
    /// # Errors
    /// As [`Encoder::encode_coefficients`].
    pub fn symbols(&mut self, coefficients: &Coefficients) -> Result<Vec<SliceSymbols>, Error> {
        let (slices, planes) = self.quantised(coefficients)?;
        Ok(slices.slices().map(|slice| symbols(slice, planes)).collect())
    }
}

fn symbols(slice: &mut Slice, planes: u8) -> SliceSymbols {
    let mut cursor = Cursor::new(planes);
    let mut log = Log::default();
    while cursor.planes > 0 {
        let plane = cursor.planes - 1;
        let first = log.symbols.len();
        let done = scan::run(slice, &mut cursor, &mut log, |_| false);
        debug_assert!(done.is_ok(), "a log is never starved");
        log.symbols[first..].iter_mut().for_each(|symbol| symbol.plane = plane);
    }
    let rotations = slice.rotations.source_rotations().iter().map(|rotation| rotation.angles).collect();
    SliceSymbols { rotations, levels: slice.source_levels(), symbols: log.symbols }
}

/// A coder that keeps bits instead of writing them.
#[derive(Default)]
struct Log {
    symbols: Vec<Symbol>,
    coefficient: Option<(u8, [u16; 2])>,
}

impl Coder for Log {
    const WRITES_BITS: bool = true;

    #[expect(clippy::cast_possible_truncation, reason = "57 subbands, fewer than 2^15 coefficients a side")]
    fn about(&mut self, subband: usize, place: [usize; 2]) {
        self.coefficient = Some((subband as u8, place.map(|at| at as u16)));
    }

    #[expect(clippy::cast_possible_truncation, reason = "fewer than 2^15 contexts, probabilities of 15 bits")]
    fn code<const RATES: u32>(&mut self, probabilities: &mut [Probability], context: usize, bit: bool) -> Option<bool> {
        let probability = &mut probabilities[context];
        let one = probability.of_one() as u16;
        self.symbols.push(Symbol { plane: 0, context: context as u16, one, bit, coefficient: self.coefficient.take() });
        if bit {
            probability.rise::<RATES>();
        } else {
            probability.fall::<RATES>();
        }
        Some(bit)
    }

    fn position(&self) -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    use crate::codec::Codec;
    use crate::linear::Linear;
    use crate::model::Model;
    use crate::picture::{Channels, Picture, Size};
    use crate::stream::encoder::Encoder;
    use crate::stream::header::MAX_HEADER;
    use crate::subband::layout::Subband;
    use crate::transform::Analysis;

    #[test]
    fn symbols_have_the_length_of_the_stream_and_are_of_their_coefficients() {
        let size = Size::new(129, 70).expect("sides of a picture");
        let sample = |at: usize| u8::try_from(at * at / 97 % 126 + at / 400 % 100).unwrap_or_default();
        let samples = (0..size.pixels() * 3).map(sample).collect();
        let picture = Picture::new(size, Channels::Rgb, samples).expect("a picture");
        let linear = Linear::new(Model::photo());
        let coefficients = linear.coefficients_of((&picture).into()).expect("coefficients");
        let slices = Encoder::new(linear).symbols(&coefficients).expect("of this model");
        let [slice] = &slices[..] else { panic!("{} slices", slices.len()) };
        let probability = |one: u16, bit: bool| f64::from(if bit { one } else { 32768 - one }) / 32768.0;
        let bits: f64 = slice.symbols.iter().map(|symbol| -probability(symbol.one, symbol.bit).log2()).sum();
        let stream = Codec::photo().encode(&picture).expect("a stream");
        let bytes = stream.bytes().len() - MAX_HEADER;
        assert!((bits / 8.0 - bytes as f64).abs() < 16.0, "{bits} bits, {bytes} bytes");
        let mut significances = 0;
        let mut signs = 0;
        for symbol in &slice.symbols {
            let Some((subband, [x, y])) = symbol.coefficient else { continue };
            let width = Subband::at(subband.into()).size(size.width(), size.height()).0;
            let level = slice.levels[usize::from(subband)][usize::from(y) * width + usize::from(x)];
            let magnitude = level.unsigned_abs() >> symbol.plane;
            if symbol.context < 5760 {
                assert_eq!(symbol.bit, magnitude != 0);
                significances += 1;
            } else {
                assert_eq!(magnitude, 1);
                signs += 1;
            }
        }
        assert!(significances > 10_000 && signs > 1000, "{significances} significances, {signs} signs");
    }
}
