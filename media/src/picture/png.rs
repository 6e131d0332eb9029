//! Reads a PNG file's chunks before it is decoded.

use std::borrow::Cow;

use super::colour::{self, Colours};

/// The most pixels per byte: deflate expands a byte to at most 1032, and a pixel needs at least a bit.
pub(super) const MAX_PIXELS: u64 = 8 * 1032;
/// Bytes before the first chunk.
const SIGNATURE_BYTES: usize = 8;
/// The chunk that ends a file.
const END_CHUNK: [u8; 12] = [0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xAE, 0x42, 0x60, 0x82];

/// Returns whether the palette ends inside an entry of three bytes: `png` 0.18.1 then panics (its issue 694).
pub(super) fn is_palette_broken(bytes: &[u8]) -> bool {
    before_data(bytes).any(|chunk| chunk.kind == *b"PLTE" && !chunk.length.is_multiple_of(3))
}

/// Returns whether this is the variant of PNG inside programs for iPhones, which other decoders call damaged.
pub(super) fn is_of_iphones(bytes: &[u8]) -> bool {
    chunks(bytes).next().is_some_and(|chunk| chunk.kind == *b"CgBI")
}

/// Returns the Exif data. They may come after the picture's data, where the decoder ignores them.
pub(super) fn exif(bytes: &[u8]) -> Option<&[u8]> {
    chunks(bytes).find(|chunk| chunk.kind == *b"eXIf" && chunk.data.len() == chunk.length).map(|chunk| chunk.data)
}

/// Returns the file with its last chunk, and whether that was missing: some writers forget it, and no picture needs it.
pub(super) fn with_end(bytes: &[u8]) -> (Cow<'_, [u8]>, bool) {
    let mut end = SIGNATURE_BYTES;
    let mut data = false;
    for chunk in chunks(bytes) {
        data |= chunk.kind == *b"IDAT";
        if chunk.kind == *b"IEND" {
            return (Cow::Borrowed(bytes), false);
        }
        end = chunk.end;
    }
    match bytes.get(..end) {
        Some(whole) if data => (Cow::Owned([whole, &END_CHUNK].concat()), true),
        _ => (Cow::Borrowed(bytes), false),
    }
}

/// Returns the colours that a file declares, in the order of PNG's specification (third edition, section 4.3): cICP,
/// iCCP, sRGB, gAMA with cHRM. `profile` is that of iCCP if the decoder could read it. `None` is sRGB.
///
/// # Errors
/// `()` if the file declares colours that cannot be read.
pub(super) fn colours(bytes: &[u8], profile: Option<&[u8]>) -> Result<Option<Colours>, ()> {
    let data = |kind: &[u8; 4]| before_data(bytes).find(|chunk| chunk.kind == *kind).map(|chunk| chunk.data);
    if let Some(colours) = data(b"cICP").and_then(|data| colour::from_cicp(data.try_into().ok()?)) {
        return Ok(colours);
    }
    let unknown = data(b"cICP").is_some();
    if data(b"iCCP").is_some() {
        return colour::from_icc(profile.ok_or(())?).map_err(|_| ());
    }
    if data(b"sRGB").is_some() {
        return Ok(None);
    }
    let gamma = data(b"gAMA").and_then(|data| Some(u32::from_be_bytes(data.try_into().ok()?)));
    let chromaticities = data(b"cHRM").and_then(|data| {
        let numbers: &[[u8; 4]; 8] = data.as_chunks::<4>().0.try_into().ok()?;
        Some(numbers.map(u32::from_be_bytes))
    });
    if unknown && gamma.is_none() && chromaticities.is_none() {
        return Err(());
    }
    Ok(colour::from_gamma(gamma, chromaticities))
}

/// A chunk of a file.
struct Chunk<'a> {
    kind: [u8; 4],
    length: usize,
    /// Its data, as far as the file has them.
    data: &'a [u8],
    /// Where the next chunk begins.
    end: usize,
}

/// Returns the file without a cICP chunk that declares another matrix than RGB's. PNG has RGB alone (third edition,
/// section 11.3.2.6), and `png` refuses the whole file.
pub(super) fn without_matrix(bytes: &[u8]) -> Cow<'_, [u8]> {
    let wrong = before_data(bytes).find(|chunk| chunk.kind == *b"cICP" && chunk.data.len() == 4 && chunk.data[2] != 0);
    let around = wrong.and_then(|chunk| Some((bytes.get(..chunk.end.checked_sub(16)?)?, bytes.get(chunk.end..)?)));
    around.map_or(Cow::Borrowed(bytes), |(before, after)| Cow::Owned([before, after].concat()))
}

/// Returns the chunks before the picture's data.
fn before_data(bytes: &[u8]) -> impl Iterator<Item = Chunk<'_>> {
    chunks(bytes).take_while(|chunk| chunk.kind != *b"IDAT")
}

/// Returns all chunks. The last one may be cut.
fn chunks(bytes: &[u8]) -> impl Iterator<Item = Chunk<'_>> {
    let mut at = SIGNATURE_BYTES;
    std::iter::from_fn(move || {
        let rest = bytes.get(at..)?;
        let &[a, b, c, d, ref kind @ ..] = rest.first_chunk::<8>()?;
        let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).ok()?;
        let data = &rest[8..];
        // Length, kind, data and checksum.
        at = at.checked_add(12)?.checked_add(length)?;
        Some(Chunk { kind: *kind, length, data: data.get(..length).unwrap_or(data), end: at })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
        let length = u32::try_from(data.len()).expect("it is short").to_be_bytes();
        [&length[..], kind, data, &[0; 4]].concat()
    }

    fn file(chunks: &[Vec<u8>]) -> Vec<u8> {
        [vec![0; SIGNATURE_BYTES], chunks.concat()].concat()
    }

    #[test]
    fn colours_are_told_in_the_order_of_the_specification() {
        let linear = chunk(b"gAMA", &100_000_u32.to_be_bytes());
        let (srgb, pq) = (chunk(b"sRGB", &[0]), chunk(b"cICP", &[9, 16, 0, 1]));
        let told = |chunks: &[&Vec<u8>]| {
            let chunks: Vec<_> = chunks.iter().map(|&chunk| chunk.clone()).collect();
            colours(&file(&chunks), None).map(|colours| colours.map(|colours| colours.hdr))
        };
        let profile = chunk(b"iCCP", b"?");
        assert_eq!(told(&[]), Ok(None));
        assert_eq!(told(&[&linear]), Ok(Some(false)));
        assert_eq!(told(&[&linear, &srgb]), Ok(None));
        assert_eq!(told(&[&srgb, &profile]), Err(()), "a profile that cannot be read");
        assert_eq!(told(&[&profile, &pq]), Ok(Some(true)));
        assert_eq!(told(&[&chunk(b"cICP", &[1, 13, 0, 1])]), Ok(None));
        assert_eq!(told(&[&chunk(b"cICP", &[9, 16, 9, 0])]), Err(()), "no RGB, and nothing else is said");
        assert_eq!(told(&[&chunk(b"IDAT", &[]), &linear]), Ok(None), "behind the data it counts no more");
        let endless = [&[0; SIGNATURE_BYTES][..], &u32::MAX.to_be_bytes(), b"gAMA"].concat();
        assert!(colours(&endless, None).is_ok());
    }

    #[test]
    fn a_matrix_that_png_does_not_have_is_left_out() {
        let [head, data] = [(b"IHDR", [0; 13].as_slice()), (b"IDAT", &[1])].map(|(kind, data)| chunk(kind, data));
        let with = |matrix: u8| file(&[head.clone(), chunk(b"cICP", &[1, 13, matrix, 1]), data.clone()]);
        assert_eq!(without_matrix(&with(1)), file(&[head.clone(), data.clone()]));
        assert_eq!(without_matrix(&with(0)), with(0));
        let cut = &with(1)[..SIGNATURE_BYTES + head.len() + 13];
        assert_eq!(without_matrix(cut), cut);
    }

    #[test]
    fn a_palette_has_whole_entries() {
        let file = |length: u32| [&[0; SIGNATURE_BYTES], &length.to_be_bytes()[..], b"PLTE", &[0; 12]].concat();
        assert!(!is_palette_broken(&file(6)) && is_palette_broken(&file(4)) && !is_palette_broken(&[]));
    }

    #[test]
    fn a_missing_end_is_added_behind_whole_data() {
        let whole = file(&[chunk(b"IHDR", &[0; 13]), chunk(b"IDAT", &[1, 2, 3])]);
        let ended = [&whole[..], &END_CHUNK].concat();
        assert_eq!(with_end(&whole), (Cow::Owned(ended.clone()), true));
        assert_eq!(with_end(&ended), (Cow::Borrowed(&ended[..]), false));
        let cut = &whole[..whole.len() - 1];
        assert_eq!(with_end(cut), (Cow::Borrowed(cut), false));
        assert!(!with_end(&file(&[chunk(b"IHDR", &[0; 13])])).1);
    }
}
