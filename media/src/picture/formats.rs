//! Recognises formats of pictures that this crate does not read, so that an error names them.

/// Returns the format of a file that begins with these bytes, if cameras, phones or editors write it.
pub(super) fn of(start: &[u8]) -> Option<&'static str> {
    const FORMAT_BEGINNINGS: [(&[u8], &str); 12] = [
        (b"GIF8", "a GIF"),
        (b"II*\0", "a TIFF or raw picture"),
        (b"MM\0*", "a TIFF or raw picture"),
        (b"IIRO", "a raw picture"),
        (b"IIU\0", "a raw picture"),
        (b"FUJIFILMCCD-RAW", "a raw picture"),
        (b"BM", "a BMP"),
        (b"8BPS", "a Photoshop document"),
        (b"\0\0\0\x0CJXL ", "a JPEG XL"),
        (b"\xFF\x0A", "a JPEG XL"),
        (b"\0\0\0\x0CjP  ", "a JPEG 2000"),
        (b"\xFF\x4F\xFF\x51", "a JPEG 2000"),
    ];
    if start.get(4..8) == Some(b"ftyp") {
        return of_brands(start);
    }
    FORMAT_BEGINNINGS.iter().find(|(beginning, _)| start.starts_with(beginning)).map(|(_, name)| *name)
}

/// Says what makes a picture of a file of this format. ffmpeg has decoders for few of a camera's raw pictures, and before
/// version 7 reads no HEIC.
pub(super) fn advice(format: &str) -> &'static str {
    match format {
        "a HEIC" | "a HEIF" => "`heif-convert IN OUT.png` makes a picture of it",
        "a raw picture" => "export it as a PNG from a program that develops raw pictures",
        "a TIFF or raw picture" => {
            "`ffmpeg -i IN -frames:v 1 OUT.png` makes a picture of a TIFF, and a program that develops raw pictures exports others"
        }
        _ => "`ffmpeg -i IN -frames:v 1 OUT.png` makes a picture of it",
    }
}

/// Returns the format of a file of ISO/IEC 14496-12 by its brands. The major one of a picture may say only that it is a
/// picture; one of those that follow then says how it is coded.
fn of_brands(start: &[u8]) -> Option<&'static str> {
    let name = |brand: &[u8; 4]| match brand {
        b"avif" | b"avis" => Some("an AVIF"),
        b"heic" | b"heix" | b"heim" | b"heis" | b"hevc" | b"hevx" => Some("a HEIC"),
        b"crx " => Some("a raw picture"),
        _ => None,
    };
    let length = start.first_chunk().map_or(0, |length| usize::try_from(u32::from_be_bytes(*length)).unwrap_or(0));
    let (brands, _) = start.get(8..length.min(start.len()).max(8))?.as_chunks::<4>();
    // The second is the version of the first.
    let major = brands.first()?;
    let also = || brands.iter().skip(2).find_map(name);
    name(major).or_else(|| matches!(major, b"mif1" | b"msf1").then(|| also().unwrap_or("a HEIF")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_known_by_their_first_bytes() {
        for (start, name) in [
            (&b"\0\0\0\x1cftypavif\0\0\0\0mif1"[..], Some("an AVIF")),
            (b"\0\0\0\x1cftypmif1\0\0\0\0mif1avif", Some("an AVIF")),
            (b"\0\0\0\x18ftypmif1\0\0\0\0mif1heic", Some("a HEIC")),
            (b"\0\0\0\x10ftypmif1\0\0\0\0mif1avif", Some("a HEIF")),
            (b"\0\0\0\x1cftypheic\0", Some("a HEIC")),
            (b"\0\0\0\x18ftypcrx \0\0\0\x01", Some("a raw picture")),
            (b"FUJIFILMCCD-RAW 0201", Some("a raw picture")),
            (b"8BPS\0\x01", Some("a Photoshop document")),
            (b"\xFF\x4F\xFF\x51\0\x2F", Some("a JPEG 2000")),
            (b"GIF89a", Some("a GIF")),
            (b"\0\0\0\x1cftypisom\0\0\0\0avif", None),
            (b"\0\0\0\x1cftyp", None),
            (b"", None),
        ] {
            assert_eq!(of(start), name, "{start:?}");
        }
    }
}
