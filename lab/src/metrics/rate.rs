//! Bits per pixel from bytes and back; the bytes of a rival as a network carries it.

use nestcast_codec::Size;

/// The rounding error, in bytes, that still counts as a whole number of bytes.
const SLACK_BYTES: f64 = 1e-6;

/// Returns the bits per pixel of a picture coded in `bytes`.
#[must_use]
pub fn bpp(bytes: usize, size: Size) -> f64 {
    8.0 * bytes as f64 / size.pixels() as f64
}

/// Returns the whole bytes that `bpp` pays for: the inverse of [`bpp`], rounded down.
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "a cast to an integer saturates")]
pub fn budget(bpp: f64, size: Size) -> usize {
    (bpp * size.pixels() as f64 / 8.0 + SLACK_BYTES) as usize
}

/// Returns the bytes of a baseline JPEG as RTP carries it (RFC 2435): its entropy-coded scan and a header of 8 bytes,
/// because one number determines the tables. `None` if `file` has no scan.
#[must_use]
pub fn jpeg_over_rtp(file: &[u8]) -> Option<usize> {
    /// RFC 2435, section 3.1.
    const HEADER_BYTES: usize = 8;
    const START_OF_SCAN: u8 = 0xDA;
    const END_BYTES: usize = 2;
    let mut at = 2;
    while let Some(&[0xFF, marker, high, low]) = file.get(at..at + 4) {
        at += 2 + usize::from(u16::from_be_bytes([high, low]));
        if marker == START_OF_SCAN {
            return file.len().checked_sub(at + END_BYTES).map(|scan| scan + HEADER_BYTES);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_is_the_inverse_of_bpp_rounded_down() {
        let size = Size::new(768, 512).expect("a valid size");
        assert_eq!(budget(0.1, size), 4915);
        assert!(bpp(4915, size) <= 0.1);
        assert_eq!(budget(1.0, size), 49_152);
        assert!((bpp(49_152, size) - 1.0).abs() < 1e-12);
        for bytes in [0, 1, 17, 4915, 200_001] {
            assert_eq!(budget(bpp(bytes, size), size), bytes);
        }
        assert_eq!(budget(-1.0, size), 0);
    }
}
