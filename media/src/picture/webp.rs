//! Checks a WebP file's chunks before it is decoded.

/// Returns whether a chunk ends after the end of the file, as in a cut one. The decoder allocates memory for a chunk
/// before it reads it.
pub(super) fn is_cut(bytes: &[u8]) -> bool {
    // RIFF, a length, WEBP.
    let mut at = 12;
    while let Some(head) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let &[_, _, _, _, length @ ..] = head;
        let length = u32::from_le_bytes(length) as usize;
        at = at.saturating_add(8).saturating_add(length);
        if at > bytes.len() {
            return true;
        }
        at += length % 2;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_ends_in_its_file() {
        let file = |length: u32| [b"RIFF\0\0\0\0WEBPVP8L", &length.to_le_bytes()[..], b"abcd"].concat();
        assert!(!is_cut(&file(4)) && !is_cut(&file(3)) && !is_cut(b"RIFF"));
        assert!(is_cut(&file(5)) && is_cut(&file(u32::MAX)));
    }
}
