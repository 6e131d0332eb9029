//! PSNR: the mean squared error, pooled over all samples, in dB below the peak.

use nestcast_codec::Picture;
use nestcast_media::to_rgb;

use super::shape::shape;

/// The largest sample.
const PEAK_SAMPLE: f64 = 255.0;

/// Returns the peak signal-to-noise ratio in dB, from the mean squared error over all samples of all channels; infinite
/// for equal pictures.
///
/// Planar pictures are compared as RGB. A mean over pictures averages these figures, as is usual, not the squared
/// errors.
///
/// # Panics
/// If the pictures differ in size or channels; a decoder keeps both.
#[must_use]
pub fn psnr(original: &Picture, decoded: &Picture) -> f64 {
    assert_eq!(shape(original), shape(decoded), "only pictures of one shape can be compared");
    let [original, decoded] = [original, decoded].map(to_rgb);
    let pairs = original.samples().iter().zip(decoded.samples());
    let squares: u64 = pairs.map(|(&a, &b)| u64::from(a.abs_diff(b)).pow(2)).sum();
    let mse = squares as f64 / original.samples().len() as f64;
    10.0 * (PEAK_SAMPLE * PEAK_SAMPLE / mse).log10()
}

#[cfg(test)]
mod tests {
    use nestcast_codec::Channels;

    use super::super::testdata::{faded, pattern, picture};
    use super::*;

    #[test]
    fn a_constant_error() {
        for channels in [Channels::Grey, Channels::Rgb] {
            let [a, b] = [100, 110].map(|sample| picture([8, 4], channels, |_, _, _| sample));
            assert!((psnr(&a, &b) - 28.130_803_608).abs() < 1e-6);
            assert_eq!(psnr(&a, &a), f64::INFINITY);
        }
    }

    #[test]
    fn channels_are_pooled() {
        // An error of 3 in red only: the mean squared error is 9 / 3.
        let a = picture([8, 4], Channels::Rgb, |_, _, _| 50);
        let b = picture([8, 4], Channels::Rgb, |_, _, c| if c == 0 { 53 } else { 50 });
        assert!((psnr(&a, &b) - 43.359_591_5).abs() < 1e-6);
    }

    /// The figures come from the same double-precision script as those of MS-SSIM.
    #[test]
    fn agrees_with_the_reference() {
        for (sides, expected) in [([192, 176], 16.658_365_486), ([181, 203], 16.652_345_854)] {
            let [a, b] = [pattern, faded].map(|sample| picture(sides, Channels::Rgb, sample));
            assert!((psnr(&a, &b) - expected).abs() < 1e-6);
        }
    }

    #[test]
    #[should_panic(expected = "one shape")]
    fn sizes_must_agree() {
        let [a, b] = [[8, 4], [4, 8]].map(|sides| picture(sides, Channels::Rgb, |_, _, _| 0));
        let _ = psnr(&a, &b);
    }

    #[test]
    #[should_panic(expected = "one shape")]
    fn channels_must_agree() {
        let [a, b] = [Channels::Grey, Channels::Rgb].map(|channels| picture([8, 4], channels, |_, _, _| 0));
        let _ = psnr(&a, &b);
    }
}
