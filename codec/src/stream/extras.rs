//! What a picture has in addition to opaque samples of 8 bits, and what of it needs bytes.

use crate::picture::{Format, Picture, Range, View, ViewMut};

/// What must be coded of a picture in addition to colours of 8 bits.
#[derive(Debug, Default)]
pub(super) struct Extras {
    /// Whether a colour has no equal in 8 bits.
    pub(super) deep_colour: bool,
    /// The opacity as a grey picture, unless it is the largest everywhere.
    pub(super) alpha: Option<Picture>,
    /// Whether an opacity has no equal in 8 bits.
    pub(super) deep_alpha: bool,
}

impl Extras {
    pub(super) fn of(picture: &View<'_>) -> Self {
        let format = picture.format;
        let deep_colour = picture.has_deep_colour();
        if !format.is_deep() && !format.has_alpha() {
            return Self { deep_colour, ..Self::default() };
        }
        let place = Place::of(format);
        let pixels = |y: usize| picture.planes[0].row(y, place.pixel * picture.size.width()).chunks_exact(place.pixel);
        let rows = 0..picture.size.height();
        let is_finer = |samples: &[u8]| format.is_deep() && samples.as_chunks().0.iter().any(|[low, high]| low != high);
        let any = |is: &dyn Fn(&[u8]) -> bool| rows.clone().any(|y| pixels(y).any(is));
        if !any(&|pixel| pixel[place.alpha..].iter().any(|&byte| byte < u8::MAX)) {
            return Self { deep_colour, ..Self::default() };
        }
        let grey = if format.is_deep() { Format::Grey16 } else { Format::Grey };
        let mut alpha = Picture::zero(picture.size, grey);
        let of_pixels = alpha.samples_mut().chunks_exact_mut(place.pixel - place.alpha);
        for (alpha, pixel) in of_pixels.zip(rows.clone().flat_map(pixels)) {
            alpha.copy_from_slice(&pixel[place.alpha..]);
        }
        Self { deep_colour, alpha: Some(alpha), deep_alpha: any(&|pixel| is_finer(&pixel[place.alpha..])) }
    }
}

/// The bytes of a pixel of an interleaved format, and those of them before its opacity.
struct Place {
    pixel: usize,
    alpha: usize,
}

impl Place {
    fn of(format: Format) -> Self {
        let pixel = format.pixel_bytes();
        let of_sample = if format.is_deep() { 2 } else { 1 };
        Self { pixel, alpha: pixel - if format.has_alpha() { of_sample } else { 0 } }
    }
}

/// Writes opacity into `out`, or, if `out` has none, lays its colours over white. `alpha` is a grey picture of 16 bits
/// of the same size.
pub(super) fn add_alpha(alpha: &Picture, out: &mut ViewMut<'_>) {
    let [width, height] = [out.size.width(), out.size.height()];
    let opacity = |x: usize, y: usize| {
        let at = 2 * (y * width + x);
        u16::from_le_bytes([alpha.samples()[at], alpha.samples()[at + 1]])
    };
    if let Format::Ycbcr420(colours) = out.format {
        over_white_in_ycbcr(opacity, colours.range, out);
        return;
    }
    let format = out.format;
    let place = Place::of(format);
    for y in 0..height {
        let pixels = out.planes[0].row(y, place.pixel * width).chunks_exact_mut(place.pixel);
        for (x, pixel) in pixels.enumerate() {
            let opacity = opacity(x, y);
            match (format.has_alpha(), format.is_deep()) {
                (true, true) => pixel[place.alpha..].copy_from_slice(&opacity.to_le_bytes()),
                (true, false) => pixel[place.alpha] = nearest_byte(opacity),
                (false, true) => pixel.as_chunks_mut().0.iter_mut().for_each(|sample| {
                    *sample = over(u16::from_le_bytes(*sample), MAX_SAMPLE, opacity).to_le_bytes();
                }),
                (false, false) => pixel.iter_mut().for_each(|sample| *sample = byte_over(*sample, u8::MAX, opacity)),
            }
        }
    }
}

/// Lays luma over that of white, and colour differences over grey with the mean opacity of their pixels.
fn over_white_in_ycbcr(opacity: impl Fn(usize, usize) -> u16, range: Range, out: &mut ViewMut<'_>) {
    const MIDDLE_SAMPLE: u8 = 128;
    let white = match range {
        Range::Full => u8::MAX,
        Range::Limited => 235,
    };
    let [width, height] = [out.size.width(), out.size.height()];
    let [luma, differences @ ..] = &mut out.planes;
    for y in 0..height {
        let samples = luma.row(y, width).iter_mut().enumerate();
        samples.for_each(|(x, sample)| *sample = byte_over(*sample, white, opacity(x, y)));
    }
    for plane in differences {
        for y in 0..height.div_ceil(2) {
            for (x, sample) in plane.row(y, width.div_ceil(2)).iter_mut().enumerate() {
                let [right, below] = [(2 * x + 1).min(width - 1), (2 * y + 1).min(height - 1)];
                let four = [[2 * x, 2 * y], [right, 2 * y], [2 * x, below], [right, below]];
                let sum: u32 = four.into_iter().map(|[x, y]| u32::from(opacity(x, y))).sum();
                *sample = byte_over(*sample, MIDDLE_SAMPLE, u16::try_from(sum / 4).unwrap_or(MAX_SAMPLE));
            }
        }
    }
}

/// The largest sample of 16 bits.
const MAX_SAMPLE: u16 = u16::MAX;

/// Returns the sample that shows `sample` over `ground` with this opacity, rounded.
fn over(sample: u16, ground: u16, opacity: u16) -> u16 {
    let [sample, ground, opacity, max] = [sample, ground, opacity, MAX_SAMPLE].map(u64::from);
    let sum = sample * opacity + ground * (max - opacity);
    u16::try_from((sum + max / 2) / max).unwrap_or(MAX_SAMPLE)
}

/// As [`over`], of 8 bits.
fn byte_over(sample: u8, ground: u8, opacity: u16) -> u8 {
    let [low, _] = over(sample.into(), ground.into(), opacity).to_le_bytes();
    low
}

/// Returns the sample of 8 bits nearest to one of 16 bits.
fn nearest_byte(sample: u16) -> u8 {
    const STEPS_OF_A_BYTE: u32 = 257;
    let [byte, ..] = ((u32::from(sample) + STEPS_OF_A_BYTE / 2) / STEPS_OF_A_BYTE).to_le_bytes();
    byte
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::{Size, Ycbcr};

    fn picture(format: Format, samples: &[u8]) -> Picture {
        let width = samples.len() / format.pixel_bytes();
        let size = Size::new(width.try_into().expect("a side"), 1).expect("a size");
        Picture::new(size, format, samples.to_vec()).expect("all samples")
    }

    #[test]
    fn only_what_is_there_is_coded() {
        let of = |format, samples: &[u8]| {
            let Extras { deep_colour, alpha, deep_alpha } = Extras::of(&(&picture(format, samples)).into());
            (deep_colour, alpha.map(|alpha| alpha.samples().to_vec()), deep_alpha)
        };
        assert_eq!(of(Format::Rgb, &[1, 2, 3]), (false, None, false));
        assert_eq!(of(Format::Rgba, &[1, 2, 3, 255]), (false, None, false));
        assert_eq!(of(Format::Rgba, &[1, 2, 3, 255, 1, 2, 3, 9]), (false, Some(vec![255, 9]), false));
        assert_eq!(of(Format::Grey16, &[7, 7, 9, 9]), (false, None, false));
        assert_eq!(of(Format::Grey16, &[7, 7, 9, 8]), (true, None, false));
        assert_eq!(of(Format::GreyAlpha16, &[7, 7, 255, 254]), (false, Some(vec![255, 254]), true));
        assert_eq!(of(Format::GreyAlpha16, &[7, 6, 3, 3]), (true, Some(vec![3, 3]), false));
    }

    #[test]
    fn opacity_is_written_or_shows_white() {
        // A fifth, and a value between two of 8 bits.
        let alpha = picture(Format::Grey16, &[51, 51, 0, 255]);
        let with = |format, samples: &[u8]| {
            let mut picture = picture(format, samples);
            add_alpha(&alpha, &mut (&mut picture).into());
            picture.samples().to_vec()
        };
        assert_eq!(with(Format::Rgba, &[9; 8]), [9, 9, 9, 51, 9, 9, 9, 254]);
        assert_eq!(with(Format::GreyAlpha16, &[9; 8]), [9, 9, 51, 51, 9, 9, 0, 255]);
        assert_eq!(with(Format::Grey, &[0, 0]), [204, 1]);
        assert_eq!(with(Format::Grey16, &[0, 0, 0, 0]), [204, 204, 255, 0]);
        let size = Size::new(2, 1).expect("a size");
        let format = Format::Ycbcr420(Ycbcr::BT601);
        let mut planar = Picture::new(size, format, vec![16, 16, 28, 228]).expect("all samples");
        add_alpha(&alpha, &mut (&mut planar).into());
        assert_eq!(planar.samples(), [191, 17, 68, 188]);
    }
}
