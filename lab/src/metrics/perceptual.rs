//! How different two pictures look: SSIMULACRA2 and Butteraugli, which agree with people's ratings better than PSNR and
//! MS-SSIM.

use std::borrow::Cow;

use butteraugli::{ButteraugliParams, ButteraugliReference};
use fast_ssim2::{PixelDescriptor, PixelSlice, Ssimulacra2Reference};
use nestcast_codec::{Channels, Picture};
use nestcast_media::to_rgb;

use super::shape::shape;

/// Both scores of a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerceptualScores {
    /// SSIMULACRA2: 100 for equal pictures, above 90 hardly anybody sees a difference, 70 is high quality, 50 medium,
    /// 30 low; may be negative.
    pub ssimulacra2: f64,
    /// Butteraugli, the 3-norm over the picture as in libjxl's tools, for a screen of 80 nits: 0 for equal pictures,
    /// below 1 hardly anybody sees a difference.
    pub butteraugli: f64,
}

/// An original, prepared for comparison with many pictures.
pub struct Perceptual {
    original: Picture,
    ssimulacra2: Ssimulacra2Reference,
    butteraugli: ButteraugliReference,
}

impl Perceptual {
    /// The shortest side for both metrics.
    pub const MIN_SIDE: usize = 8;

    /// Prepares an original, as RGB; `None` if a side is shorter than [`Self::MIN_SIDE`].
    #[must_use]
    pub fn new(original: &Picture) -> Option<Self> {
        let width = original.size().width();
        let height = original.size().height();
        if width.min(height) < Self::MIN_SIDE {
            return None;
        }
        let samples = rgb_samples(original);
        let slice = slice(&samples, original)?;
        Some(Self {
            ssimulacra2: Ssimulacra2Reference::new(&slice).ok()?,
            butteraugli: ButteraugliReference::new(&samples, width, height, ButteraugliParams::default()).ok()?,
            original: original.clone(),
        })
    }

    /// Compares a picture with the original.
    ///
    /// # Panics
    /// If the pictures differ in size or channels; a decoder keeps both.
    #[must_use]
    pub fn compare(&self, decoded: &Picture) -> PerceptualScores {
        assert_eq!(shape(&self.original), shape(decoded), "only pictures of one shape can be compared");
        let samples = rgb_samples(decoded);
        let slice = slice(&samples, decoded).expect("as many samples as the original has");
        let butteraugli = self.butteraugli.compare(&samples).expect("the original's size");
        PerceptualScores {
            ssimulacra2: self.ssimulacra2.compare(&slice).expect("the original's size"),
            butteraugli: butteraugli.pnorm_3,
        }
    }
}

/// Returns interleaved RGB; grey becomes three equal samples.
fn rgb_samples(picture: &Picture) -> Cow<'_, [u8]> {
    if picture.channels() == Channels::Grey {
        return picture.samples().iter().flat_map(|&grey| [grey; 3]).collect();
    }
    match to_rgb(picture) {
        Cow::Borrowed(picture) => Cow::Borrowed(picture.samples()),
        Cow::Owned(picture) => Cow::Owned(picture.samples().to_vec()),
    }
}

fn slice<'a>(samples: &'a [u8], picture: &Picture) -> Option<PixelSlice<'a>> {
    let [width, height] = [picture.size().width(), picture.size().height()].map(|side| u32::try_from(side).ok());
    PixelSlice::new(samples, width?, height?, 3 * picture.size().width(), PixelDescriptor::RGB8_SRGB).ok()
}

#[cfg(test)]
mod tests {
    use super::super::testdata::{faded, pattern, picture};
    use super::*;

    #[test]
    fn equals_are_perfect_and_more_change_is_worse() {
        for channels in [Channels::Grey, Channels::Rgb] {
            let original = picture([64, 48], channels, pattern);
            let scores = |by: u32| {
                let noisy = |x, y, c| (pattern(x, y, c) + by * ((x + y) % 2)).min(255);
                Perceptual::new(&original).expect("it is large enough").compare(&picture([64, 48], channels, noisy))
            };
            let [equal, little, much] = [0, 6, 30].map(scores);
            assert!((equal.ssimulacra2 - 100.0).abs() < 1e-9 && equal.butteraugli.abs() < 1e-9, "{equal:?}");
            assert!(100.0 > little.ssimulacra2 && little.ssimulacra2 > much.ssimulacra2, "{little:?} {much:?}");
            assert!(0.0 < little.butteraugli && little.butteraugli < much.butteraugli, "{little:?} {much:?}");
        }
    }

    #[test]
    fn tiny_pictures_have_no_scores() {
        let tiny = |sides| Perceptual::new(&picture(sides, Channels::Rgb, faded)).is_none();
        assert!(tiny([7, 64]) && tiny([64, 7]) && !tiny([8, 8]));
    }
}
