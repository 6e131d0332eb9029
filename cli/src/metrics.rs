//! How near a decoded picture is to its original: PSNR over all samples; MS-SSIM is in `ms_ssim.rs`.

use nestcast_codec::Picture;

/// The largest sample.
const PEAK: f64 = 255.0;

/// Peak signal-to-noise ratio in dB, of the mean squared error over all samples of all channels; infinite for equals.
///
/// # Panics
/// If the pictures differ in shape; a decoder keeps it.
#[expect(clippy::cast_precision_loss, reason = "sums stay far below 2^53")]
pub(crate) fn psnr(original: &Picture, decoded: &Picture) -> f64 {
    assert_eq!((original.size(), original.channels()), (decoded.size(), decoded.channels()), "two shapes");
    let pairs = original.samples().iter().zip(decoded.samples());
    let squares: u64 = pairs.map(|(&a, &b)| u64::from(a.abs_diff(b)).pow(2)).sum();
    let mse = squares as f64 / original.samples().len() as f64;
    10.0 * (PEAK * PEAK / mse).log10()
}

#[cfg(test)]
mod tests {
    use nestcast_codec::{Channels, Size};

    use super::*;

    #[test]
    fn psnr_pools_the_channels() {
        let picture = |red: u8| {
            let samples = [red, 50, 50].repeat(32);
            Picture::new(Size::new(8, 4).expect("a size"), Channels::Rgb, samples).expect("a picture")
        };
        // An error of 3 in red only: the mean squared error is 9 / 3.
        assert!((psnr(&picture(50), &picture(53)) - 43.359_591_5).abs() < 1e-6);
        assert_eq!(psnr(&picture(50), &picture(50)), f64::INFINITY);
    }
}
