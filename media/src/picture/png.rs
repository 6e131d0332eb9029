//! What a PNG file says of itself before it is decoded.

/// Most pixels for a byte: deflate makes 1032 bytes of one at best, and a pixel takes a bit at least.
pub(super) const MAX_PIXELS: u64 = 8 * 1032;
/// Bytes before the first chunk.
const SIGNATURE: usize = 8;

/// Whether there is a colour profile before the picture's data, read or not.
pub(super) fn has_profile(bytes: &[u8]) -> bool {
    let mut at = SIGNATURE;
    while let Some(&[a, b, c, d, ref kind @ ..]) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        match kind {
            b"iCCP" => return true,
            b"IDAT" => return false,
            _ => {}
        }
        // Length, kind, data and checksum.
        let Ok(length) = usize::try_from(u32::from_be_bytes([a, b, c, d])) else { return false };
        let Some(next) = at.checked_add(12).and_then(|at| at.checked_add(length)) else { return false };
        at = next;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_found_before_the_data_and_no_length_leads_astray() {
        let chunk = |kind: &[u8; 4], length: u32| [&length.to_be_bytes()[..], kind, &[0; 9]].concat();
        let file = |chunks: &[Vec<u8>]| [vec![0; SIGNATURE], chunks.concat()].concat();
        assert!(has_profile(&file(&[chunk(b"IHDR", 5), chunk(b"iCCP", 5)])));
        assert!(!has_profile(&file(&[chunk(b"IDAT", 5), chunk(b"iCCP", 5)])));
        assert!(!has_profile(&file(&[chunk(b"IHDR", u32::MAX), chunk(b"iCCP", 5)])));
        assert!(!has_profile(&[]));
    }
}
