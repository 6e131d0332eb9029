//! PSNR of planar frames of video: of luma, and of all three planes weighted 6:1:1, as in common test conditions.

use nestcast_codec::{Format, Matrix, Picture, Range, Ycbcr};

/// Weights of luma, blue and red difference.
const COMPONENT_WEIGHTS: [f64; 3] = [6.0, 1.0, 1.0];
/// The largest sample.
const PEAK_SAMPLE: f64 = 255.0;

/// PSNR of each plane in dB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct YcbcrPsnr {
    /// Luma.
    pub luma: f64,
    /// The blue and the red difference.
    pub differences: [f64; 2],
}

impl YcbcrPsnr {
    /// Returns the mean of the three, weighted 6:1:1.
    #[must_use]
    pub fn weighted(&self) -> f64 {
        let planes = [self.luma, self.differences[0], self.differences[1]];
        let sum: f64 = planes.into_iter().zip(COMPONENT_WEIGHTS).map(|(db, weight)| db * weight).sum();
        sum / COMPONENT_WEIGHTS.iter().sum::<f64>()
    }
}

/// Returns the PSNR of a frame of planar YCbCr 4:2:0. Equal planes count as if one sample were off by one, so that
/// means over frames stay finite.
///
/// # Panics
/// If a picture is not planar, or they differ in size or format; a decoder of video keeps both.
#[must_use]
pub fn ycbcr_psnr(original: &Picture, decoded: &Picture) -> YcbcrPsnr {
    let shape = |picture: &Picture| (picture.size(), picture.format());
    let (size, format) = shape(original);
    assert!(
        shape(decoded) == (size, format) && format.planes() == COMPONENT_WEIGHTS.len(),
        "only frames of one shape compare"
    );
    let mut a = original.samples();
    let mut b = decoded.samples();
    let mut plane = |number: usize| {
        let [width, height] = format.plane(size, number);
        let (first, second);
        (first, a) = a.split_at(width * height);
        (second, b) = b.split_at(width * height);
        psnr(first, second)
    };
    YcbcrPsnr { luma: plane(0), differences: [plane(1), plane(2)] }
}

/// Returns the PSNR in dB of a planar YCbCr 4:2:0 frame's luma against what a viewer got: a frame of the same kind, or
/// RGB, whose luma is that of ITU-R BT.601-7, not rounded. Equal planes count as in [`ycbcr_psnr`].
///
/// # Panics
/// If the original is not planar, the other is grey, or they differ in size.
#[must_use]
pub fn luma_psnr(original: &Picture, decoded: &Picture) -> f64 {
    let size = original.size();
    let pixels = original.size().pixels();
    let Format::Ycbcr420(colours) = original.format() else { panic!("the luma of planar frames is compared") };
    assert_eq!(decoded.size(), size, "only frames of one size compare");
    let luma = &original.samples()[..pixels];
    match decoded.format() {
        Format::Ycbcr420(_) => psnr(luma, &decoded.samples()[..pixels]),
        Format::Rgb => {
            let pairs = luma.iter().zip(decoded.samples().as_chunks().0);
            from_squares(pairs.map(|(&luma, rgb)| (f64::from(luma) - luma_of(rgb, colours)).powi(2)).sum(), pixels)
        }
        _ => panic!("a grey picture is no frame of video"),
    }
}

/// Returns the luma of red, green and blue, as planes have it (ITU-R BT.601-7, sections 2.5.1 and 2.5.3; ITU-R
/// BT.709-6, section 3.2).
fn luma_of(rgb: &[u8; 3], colours: Ycbcr) -> f64 {
    let [red, green, blue] = rgb.map(f64::from);
    let full = match colours.matrix {
        Matrix::Bt601 => 0.299 * red + 0.587 * green + 0.114 * blue,
        Matrix::Bt709 => 0.2126 * red + 0.7152 * green + 0.0722 * blue,
    };
    match colours.range {
        Range::Full => full,
        Range::Limited => 16.0 + full * 219.0 / 255.0,
    }
}

fn psnr(a: &[u8], b: &[u8]) -> f64 {
    let squares: u64 = a.iter().zip(b).map(|(&a, &b)| u64::from(a.abs_diff(b)).pow(2)).sum();
    from_squares(squares as f64, a.len())
}

fn from_squares(squares: f64, samples: usize) -> f64 {
    10.0 * (PEAK_SAMPLE * PEAK_SAMPLE * samples as f64 / squares.max(1.0)).log10()
}

#[cfg(test)]
mod tests {
    use nestcast_codec::Size;
    use nestcast_media::to_rgb;

    use super::*;

    #[test]
    fn luma_weighs_six_of_eight() {
        let picture = |[y, cb, cr]: [u8; 3]| {
            let planes = [(y, 15), (cb, 6), (cr, 6)];
            let samples = planes.iter().flat_map(|&(value, count)| vec![value; count]).collect();
            let size = Size::new(5, 3).expect("a valid size");
            Picture::new(size, Format::Ycbcr420(Ycbcr::BT601), samples).expect("the shape fits")
        };
        let psnr = ycbcr_psnr(&picture([50, 100, 100]), &picture([60, 101, 97]));
        // Errors of 10, 1 and 3: 28.13, 48.13 and 38.59 dB.
        assert!((psnr.luma - 28.130_803_6).abs() < 1e-6, "{psnr:?}");
        assert!((psnr.weighted() - (6.0 * 28.130_803_6 + 48.130_803_6 + 38.588_378_5) / 8.0).abs() < 1e-6, "{psnr:?}");
        let same = ycbcr_psnr(&picture([1; 3]), &picture([1; 3]));
        assert!((same.luma - 10.0 * (65_025.0_f64 * 15.0).log10()).abs() < 1e-9);
    }

    #[test]
    fn luma_is_compared_with_that_of_rgb() {
        let size = Size::new(6, 4).expect("a valid size");
        let frame = |range, luma| {
            let samples = [vec![luma; 24], vec![100; 6], vec![150; 6]].concat();
            Picture::new(size, Format::Ycbcr420(range), samples).expect("the shape fits")
        };
        for range in [Ycbcr::BT601, Ycbcr::BT601_FULL, Ycbcr::BT709] {
            let original = frame(range, 90);
            let other = frame(range, 100);
            assert!((luma_psnr(&original, &other) - 28.130_803_6).abs() < 1e-6);
            // Rounding to whole red, green and blue costs less than one luma step.
            assert!(luma_psnr(&original, &to_rgb(&original)) > 50.0, "{range:?}");
            assert!((luma_psnr(&original, &to_rgb(&other)) - 28.13).abs() < 0.4, "{range:?}");
        }
    }
}
