//! BT.601 between luma with two colour differences and red, green, blue (ITU-R BT.601-7, 2.5; JFIF for full range).

use nestcast_codec::{Channels, Picture, Size};

/// Samples as y4m has them.
pub(super) struct Planes<'a> {
    pub(super) luma: &'a [u8],
    pub(super) blue: &'a [u8],
    pub(super) red: &'a [u8],
    /// By how many bits a pixel's column and row are shifted to find its chroma sample.
    pub(super) shifts: (u32, u32),
}

/// Luma's black and the factors that bring luma and chroma to 0..=255, in 1/65536.
const LIMITED: [i32; 3] = [16, 76_309, 74_607];
const FULL: [i32; 3] = [0, 65_536, 65_536];
/// Red from Cr, green from Cb and Cr, blue from Cb, in 1/65536 of full range.
const FROM: [f64; 4] = [1.402, -0.344_136, -0.714_136, 1.772];

const fn range(full: bool) -> [i32; 3] {
    if full { FULL } else { LIMITED }
}

fn byte(value: i32) -> u8 {
    u8::try_from(value.clamp(0, 255)).unwrap_or(u8::MAX)
}

/// Luma to grey.
pub(super) fn grey(luma: &[u8], full: bool) -> Vec<u8> {
    let [black, scale, _] = range(full);
    luma.iter().map(|&y| byte((scale * (i32::from(y) - black) + 0x8000) >> 16)).collect()
}

/// Planes to interleaved red, green, blue. Subsampled chroma is repeated: the nearest sample.
pub(super) fn rgb(size: Size, planes: &Planes<'_>, full: bool) -> Vec<u8> {
    let [black, scale, chroma] = range(full);
    #[allow(clippy::cast_possible_truncation, reason = "the factors are below 2")]
    let [red_cr, green_cb, green_cr, blue_cb] = FROM.map(|factor| (factor * f64::from(chroma)) as i32);
    let (right, down) = planes.shifts;
    let stride = size.width().div_ceil(1 << right);
    let mut samples = Vec::with_capacity(3 * size.pixels());
    for (y, line) in planes.luma.chunks_exact(size.width()).enumerate() {
        let at = (y >> down) * stride;
        let (blue, red) = (&planes.blue[at..at + stride], &planes.red[at..at + stride]);
        for (x, &luma) in line.iter().enumerate() {
            let luma = scale * (i32::from(luma) - black) + 0x8000;
            let cb = i32::from(blue[x >> right]) - 128;
            let cr = i32::from(red[x >> right]) - 128;
            samples.extend([
                byte((luma + red_cr * cr) >> 16),
                byte((luma + green_cb * cb + green_cr * cr) >> 16),
                byte((luma + blue_cb * cb) >> 16),
            ]);
        }
    }
    samples
}

/// A picture's planes in limited range, one behind the other: luma alone, or luma, Cb, Cr of full size.
pub(super) fn planes(picture: &Picture) -> Vec<u8> {
    let samples = picture.samples();
    if picture.channels() == Channels::Grey {
        return samples.iter().map(|&grey| byte((56_284 * i32::from(grey) + (16 << 16) + 0x8000) >> 16)).collect();
    }
    // BT.601's matrix times 219/255 and 224/255, in 1/65536.
    const ROWS: [[i32; 4]; 3] =
        [[16_829, 33_039, 6_416, 16], [-9_714, -19_071, 28_784, 128], [28_784, -24_103, -4_681, 128]];
    let pixels = picture.size().pixels();
    let mut planes = Vec::with_capacity(3 * pixels);
    for [r, g, b, offset] in ROWS {
        planes.extend(samples.chunks_exact(3).map(|pixel| {
            let sum = r * i32::from(pixel[0]) + g * i32::from(pixel[1]) + b * i32::from(pixel[2]);
            byte((sum + (offset << 16) + 0x8000) >> 16)
        }));
    }
    planes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_those_of_bt_601_and_come_back() {
        let size = Size::new(8, 1).expect("a valid size");
        let colours = [[0, 0, 0], [255, 255, 255], [255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 0], [9, 99, 199]];
        let samples: Vec<u8> = colours.iter().flatten().copied().chain([128; 3]).collect();
        let picture = Picture::new(size, Channels::Rgb, samples.clone()).expect("the shape fits");
        let planes = planes(&picture);
        let (luma, chroma) = planes.split_at(8);
        let (blue, red) = chroma.split_at(8);
        // SMPTE's 100 % colour bars.
        assert_eq!(luma[..6], [16, 235, 81, 145, 41, 210]);
        assert_eq!(blue[..6], [128, 128, 90, 54, 240, 16]);
        assert_eq!(red[..6], [128, 128, 240, 34, 110, 146]);
        let back = rgb(size, &Planes { luma, blue, red, shifts: (0, 0) }, false);
        assert!(back.iter().zip(&samples).all(|(a, b)| a.abs_diff(*b) <= 2), "{back:?}");
    }
}
