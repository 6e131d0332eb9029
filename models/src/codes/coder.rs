//! Pictures to codes and back, each by a network.

use nestcast_codec::{Channels, Picture, Size};

use super::shrink::{SIDE_PIXELS, SIDE_U32, shrink};
use super::uncropped;
use crate::onnx::{Network, Tensor};
use crate::tensor::NetworkError;

/// A picture's samples, by plane.
const PLANE_SAMPLES: usize = SIDE_PIXELS * SIDE_PIXELS;
/// The shape of a picture in a network: count, planes, rows, columns.
pub(super) const PICTURE_SHAPE: [usize; 4] = [1, 3, SIDE_PIXELS, SIDE_PIXELS];

/// Names of the networks' ports.
pub(super) const PICTURE_PORT: &str = "picture";
pub(super) const CODE_PORT: &str = "code";

/// The network from pictures to codes.
#[derive(Debug)]
pub struct CodeEncoder {
    pub(super) network: Network,
}

impl CodeEncoder {
    /// The code of a picture of any size: it is stretched to 32x32 pixels first, each the mean of the area below it.
    /// Bit 0 is the highest of the first byte. Planar YCbCr counts as grey: turn it to RGB first.
    ///
    /// # Errors
    /// [`NetworkError`] where ONNX Runtime fails.
    pub fn encode(&self, picture: &Picture) -> Result<Vec<u8>, NetworkError> {
        self.code(&shrink(picture, SIDE_PIXELS))
    }

    /// Codes, as [`encode`](Self::encode) gives them, of 18 pictures that this one may be a crop of. Each guesses a
    /// sixteenth or an eighth of each side, left and above, right and below, or around the picture, and fills it with
    /// the picture's repeated border. A search by all of them finds the original of a crop.
    ///
    /// # Errors
    /// [`NetworkError`] where ONNX Runtime fails.
    pub fn encode_uncropped(&self, picture: &Picture) -> Result<Vec<Vec<u8>>, NetworkError> {
        let parts = uncropped::PART_SIDES.map(|side| (shrink(picture, side), side));
        parts.iter().flat_map(|(part, side)| uncropped::wholes(part, *side)).map(|whole| self.code(&whole)).collect()
    }

    /// The code of 32x32 pixels.
    fn code(&self, pixels: &[u8]) -> Result<Vec<u8>, NetworkError> {
        let data =
            (0..3).flat_map(|plane| pixels.iter().skip(plane).step_by(3).map(|&sample| f32::from(sample) / 255.0));
        let input = Tensor { shape: PICTURE_SHAPE.to_vec(), data: data.collect() };
        self.network.run_with(&[(PICTURE_PORT, &input)], |outputs| {
            let outputs = outputs.iter().flat_map(|output| output.data);
            packed(&outputs.map(|&value| value > 0.0).collect::<Vec<_>>())
        })
    }
}

/// The network from codes back to pictures.
#[derive(Debug)]
pub struct CodeDecoder {
    pub(super) network: Network,
    pub(super) bits: usize,
}

impl CodeDecoder {
    /// The picture, 32x32 RGB, of the first `known` bits of a code; later bits, and bits that `code` has no bytes for,
    /// are unknown.
    ///
    /// # Errors
    /// [`NetworkError`] where ONNX Runtime fails.
    pub fn decode(&self, code: &[u8], known: usize) -> Result<Picture, NetworkError> {
        let bit = |at: usize| match code.get(at / 8) {
            Some(byte) if at < known => f32::from(byte >> (7 - at % 8) & 1) * 2.0 - 1.0,
            _ => 0.0,
        };
        let input = Tensor { shape: vec![1, self.bits], data: (0..self.bits).map(bit).collect() };
        let samples = self.network.run_with(&[(CODE_PORT, &input)], |outputs| {
            let planes = outputs.first().map_or(&[][..], |output| output.data);
            let samples = (0..3 * PLANE_SAMPLES)
                .map(|at| planes.get(at % 3 * PLANE_SAMPLES + at / 3).map_or(0, |&value| byte(value)));
            samples.collect::<Vec<_>>()
        })?;
        let size = Size::new(SIDE_U32, SIDE_U32).expect("a size within all limits");
        Ok(Picture::new(size, Channels::Rgb, samples).expect("as many samples as the size has"))
    }
}

/// A sample of 0 to 1 as a byte.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to a byte's range")]
fn byte(value: f32) -> u8 {
    (value.clamp(0.0, 1.0) * 255.0).round() as u8
}

/// Bits as bytes, the first the highest of the first byte.
fn packed(bits: &[bool]) -> Vec<u8> {
    let byte = |bits: &[bool]| bits.iter().enumerate().fold(0, |byte, (at, &bit)| byte | u8::from(bit) << (7 - at));
    bits.chunks(8).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_samples_become_bytes() {
        assert_eq!(packed(&[true, false, false, false, false, false, false, true, true]), [0b1000_0001, 0b1000_0000]);
        assert_eq!([-1.0, 0.0, 0.5, 1.0, 7.0, f32::NAN].map(byte), [0, 0, 128, 255, 255, 0]);
    }
}
