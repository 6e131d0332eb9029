//! Recognises formats of pictures that this crate does not read, so that an error names them.

/// Returns the format of a file that begins with these bytes, if cameras, phones or editors write it.
pub(super) fn of(start: &[u8]) -> Option<&'static str> {
    const FORMAT_BEGINNINGS: [(&[u8], &str); 7] = [
        (b"GIF8", "a GIF"),
        (b"II*\0", "a TIFF or raw picture"),
        (b"MM\0*", "a TIFF or raw picture"),
        (b"BM", "a BMP"),
        (b"\0\0\0\x0CJXL ", "a JPEG XL"),
        (b"\xFF\x0A", "a JPEG XL"),
        (b"\0\0\0\x0CjP  ", "a JPEG 2000"),
    ];
    let brand = start.get(4..12).and_then(|kind| kind.strip_prefix(b"ftyp"));
    match brand {
        Some(b"avif" | b"avis") => Some("an AVIF"),
        Some(b"heic" | b"heix" | b"hevc" | b"mif1" | b"msf1") => Some("a HEIC"),
        _ => FORMAT_BEGINNINGS.iter().find(|(beginning, _)| start.starts_with(beginning)).map(|(_, name)| *name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_known_by_their_first_bytes() {
        assert_eq!(of(b"\0\0\0\x1cftypavif"), Some("an AVIF"));
        assert_eq!(of(b"\0\0\0\x1cftypheic\0"), Some("a HEIC"));
        assert_eq!(of(b"GIF89a"), Some("a GIF"));
        assert_eq!((of(b"\0\0\0\x1cftypisom"), of(b"")), (None, None));
    }
}
