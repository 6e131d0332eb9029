//! What a PNG file says of itself before it is decoded.

/// Most pixels for a byte: deflate makes 1032 bytes of one at best, and a pixel takes a bit at least.
pub(super) const MAX_PIXELS: u64 = 8 * 1032;
/// Bytes before the first chunk.
const SIGNATURE: usize = 8;

/// Whether there is a colour profile before the picture's data, read or not.
pub(super) fn has_profile(bytes: &[u8]) -> bool {
    chunks(bytes).any(|(kind, _)| kind == *b"iCCP")
}

/// Whether the palette, if there is one, ends inside an entry of three bytes: `png` 0.18.1 panics then (its issue 694).
pub(super) fn is_palette_broken(bytes: &[u8]) -> bool {
    chunks(bytes).any(|(kind, length)| kind == *b"PLTE" && !length.is_multiple_of(3))
}

/// Kind and length of each chunk before the picture's data.
fn chunks(bytes: &[u8]) -> impl Iterator<Item = ([u8; 4], usize)> {
    let mut at = SIGNATURE;
    std::iter::from_fn(move || {
        let &[a, b, c, d, ref kind @ ..] = bytes.get(at..)?.first_chunk::<8>()?;
        let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).ok()?;
        // Length, kind, data and checksum.
        at = at.checked_add(12)?.checked_add(length)?;
        (kind != b"IDAT").then_some((*kind, length))
    })
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

    #[test]
    fn a_palette_has_whole_entries() {
        let file = |length: u32| [&[0; SIGNATURE], &length.to_be_bytes()[..], b"PLTE", &[0; 12]].concat();
        assert!(!is_palette_broken(&file(6)) && is_palette_broken(&file(4)) && !is_palette_broken(&[]));
    }
}
