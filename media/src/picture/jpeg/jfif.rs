//! Decides between two segments that contradict each other about a picture's colours.

use super::segments::Segments;

const APPLICATION_0: u8 = 0xE0;
const APPLICATION_14: u8 = 0xEE;
/// Where Adobe's segment says how components are coded; 0 is red, green and blue.
const ADOBE_TRANSFORM: usize = 11;

/// Returns the file without Adobe's segment where it says that three components are red, green and blue, although JFIF
/// has luma and colour differences. Viewers believe JFIF, as libjpeg does. `None` if the file does not say both.
pub(crate) fn without_false_adobe(bytes: &[u8]) -> Option<Vec<u8>> {
    let segments = || Segments::of(bytes);
    segments().find(|(marker, _, body)| *marker == APPLICATION_0 && body.starts_with(b"JFIF\0"))?;
    let says_rgb = |body: &[u8]| body.starts_with(b"Adobe") && body.get(ADOBE_TRANSFORM) == Some(&0);
    let (_, start, body) = segments().find(|(marker, _, body)| *marker == APPLICATION_14 && says_rgb(body))?;
    // Its marker and length go too.
    Some([&bytes[..start - 2], &bytes[start + 2 + body.len()..]].concat())
}
