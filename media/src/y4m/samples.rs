//! Reads samples of 8 to 16 bits, and rounds them to fewer.

use std::io::{self, Read};

/// Samples that are converted at once.
const PART_SAMPLES: usize = 2048;

/// Fills `out` with samples of `depth` bits, rounded to `bits`, at most `depth`. A sample of more than 8 has two bytes,
/// the lower one first, in the input and in `out`.
pub(super) fn read(input: &mut impl Read, [depth, bits]: [u8; 2], out: &mut [u8]) -> io::Result<()> {
    if depth == 8 {
        return input.read_exact(out);
    }
    if bits > 8 {
        input.read_exact(out)?;
        for pair in out.as_chunks_mut::<2>().0 {
            *pair = rounded(u16::from_le_bytes(*pair), [depth, bits]).to_le_bytes();
        }
        return Ok(());
    }
    let mut bytes = [0; 2 * PART_SAMPLES];
    for part in out.chunks_mut(PART_SAMPLES) {
        let bytes = &mut bytes[..2 * part.len()];
        input.read_exact(bytes)?;
        let (pairs, _) = bytes.as_chunks::<2>();
        for (out, pair) in part.iter_mut().zip(pairs) {
            [*out, _] = rounded(u16::from_le_bytes(*pair), [depth, 8]).to_le_bytes();
        }
    }
    Ok(())
}

/// Rounds a sample half up. One beyond its depth is the brightest.
fn rounded(sample: u16, [depth, bits]: [u8; 2]) -> u16 {
    let surplus = depth - bits;
    let half = (1 << surplus) >> 1;
    let most = u16::MAX >> (16 - bits);
    u16::try_from((u32::from(sample) + half) >> surplus).map_or(most, |sample| sample.min(most))
}

/// Reads `count` bytes and forgets them.
pub(super) fn skip(input: &mut impl Read, count: usize) -> io::Result<()> {
    let skipped = io::copy(&mut input.take(count as u64), &mut io::sink())?;
    if skipped == count as u64 { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_samples_are_rounded_half_up() {
        for (depth, given, expected) in [
            (10, [0_u16, 1, 2, 64, 512, 1021, 1022, 1023, u16::MAX], [0, 0, 1, 16, 128, 255, 255, 255, 255]),
            (12, [0, 7, 8, 256, 2048, 4087, 4088, 4095, u16::MAX], [0, 0, 1, 16, 128, 255, 255, 255, 255]),
            (16, [0, 127, 128, 4096, 32_768, 65_407, 65_408, u16::MAX, 256], [0, 0, 1, 16, 128, 255, 255, 255, 1]),
        ] {
            let bytes: Vec<u8> = given.iter().flat_map(|sample| sample.to_le_bytes()).collect();
            let mut out = [9; 9];
            read(&mut &bytes[..], [depth, 8], &mut out).expect("there are enough");
            assert_eq!(out, expected, "{depth} bits");
            assert!(read(&mut &bytes[1..], [depth, 8], &mut out).is_err(), "a byte is missing");
        }
    }

    #[test]
    fn deep_samples_stay_or_are_rounded_to_fewer_bits() {
        for (depths, given, expected) in [
            ([10, 10], [0_u16, 1, 513, 1023, 1024], [0_u16, 1, 513, 1023, 1023]),
            ([12, 10], [0, 1, 2, 4093, 4095], [0, 0, 1, 1023, 1023]),
            ([16, 16], [0, 1, 256, 32_769, u16::MAX], [0, 1, 256, 32_769, u16::MAX]),
        ] {
            let bytes = |samples: [u16; 5]| samples.map(u16::to_le_bytes).concat();
            let mut out = [9; 10];
            read(&mut &bytes(given)[..], depths, &mut out).expect("there are enough");
            assert_eq!(out[..], bytes(expected), "{depths:?} bits");
            assert!(read(&mut &bytes(given)[1..], depths, &mut out).is_err(), "a byte is missing");
        }
    }

    #[test]
    fn what_is_skipped_must_be_there() {
        let mut input = &b"abcd"[..];
        assert!(skip(&mut input, 3).is_ok() && input == b"d" && skip(&mut input, 2).is_err());
    }
}
