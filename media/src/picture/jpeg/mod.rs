//! Reads a JPEG file's segments before it is decoded, and applies limits that its decoder lacks.

mod energy;
mod frame;
mod huffman;
mod ink;
mod integrity;
mod jfif;
mod rebuild;
mod segments;

use std::borrow::Cow;

use super::{Cost, Error};
pub(super) use ink::amounts as ink;
pub(super) use integrity::{damaged_scan, without_end};
pub(super) use jfif::without_false_adobe;
pub(super) use rebuild::rebuild;
use segments::{END_OF_IMAGE, START_OF_IMAGE, START_OF_SCAN, Segments, next_marker, segment};

/// The most pixels per byte: each block of 8x8 needs at least a bit.
pub(super) const MAX_PIXELS: u64 = 8 * 64;
/// The most passes over all samples. The decoder walks over the picture for each scan of a progressive file (100 scans
/// of 100 megapixels: 4.5 s), but a scan may have almost no bytes. libjpeg needs 6 passes over luma. DC and two bands
/// with four refinements each need 15.
const MAX_PASSES: usize = 24;
/// The most segments. A colour profile needs 255, 100 MB of metadata need 1600, and every scan needs four tables, which
/// is less in all.
const MAX_SEGMENTS: usize = 4096;

/// The segment of colour profiles and of the list of a file's pictures.
const APPLICATION_2: u8 = 0xE2;
/// The frame of JPEG-LS (ITU-T T.87).
const LOSSLESS_FRAME: u8 = 0xF7;
/// The segment after a first scan that has the number of lines.
const NUMBER_OF_LINES: u8 = 0xDC;

/// Facts that the decoder does not report.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Structure {
    /// Components of a pixel: 4 are CMYK.
    pub(super) components: usize,
    /// Whether the file has a scan.
    pub(super) coded: bool,
    /// Whether the file has an end marker.
    pub(super) ended: bool,
    /// Whether the file has several pictures (CIPA DC-007).
    pub(super) several: bool,
    /// Whether the file has a colour profile, or parts of one.
    pub(super) profile: bool,
    /// Whether a video follows the picture, as in the motion photos of phones.
    pub(super) film: bool,
    /// Whether a sequential file lacks a component.
    pub(super) incomplete: bool,
    /// Whether a sequential file has a scan for each component; zune-jpeg 0.5.15 decodes many such files to garbage
    /// (its issue 422), so [`rebuild`] makes one scan of them.
    pub(super) scattered: bool,
}

/// Returns the file without the bytes between segments before its first scan; `None` if there are none.
pub(super) fn without_junk(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = bytes.get(..2)?.to_vec();
    let mut at = 2;
    loop {
        let (marker, start) = next_marker(bytes, at)?;
        let body = segment(bytes, start)?;
        out.extend([0xFF, marker]);
        if marker == START_OF_SCAN {
            out.extend(&bytes[start..]);
            return (out.len() < bytes.len()).then_some(out);
        }
        at = start + 2 + body.len();
        out.extend(&bytes[start..at]);
    }
}

/// Returns the file with the number of lines in its frame, where the file has it after its first scan (DNL, T.81, section
/// B.2.5).
pub(super) fn with_height(bytes: &[u8]) -> Cow<'_, [u8]> {
    /// Bytes of a frame's segment before its height: the length and the bits of a sample.
    const BEFORE_HEIGHT: usize = 3;
    let mut segments = Segments::of(bytes);
    let frame = segments.find(|(marker, _, _)| is_frame(*marker));
    let Some((_, place, &[_, 0, 0, ..])) = frame else { return Cow::Borrowed(bytes) };
    let lines = segments.find(|(marker, _, _)| *marker == NUMBER_OF_LINES);
    let Some((_, end, height @ &[_, _])) = lines else { return Cow::Borrowed(bytes) };
    let mut whole = bytes.to_vec();
    // Its marker, length and number.
    whole.drain(end - 2..end + 4);
    whole[place + BEFORE_HEIGHT..place + BEFORE_HEIGHT + 2].copy_from_slice(height);
    Cow::Owned(whole)
}

/// Returns whether these bytes after a picture contain a video: the first box of an MP4 file, and its short length.
fn has_film(rest: &[u8]) -> bool {
    rest.windows(8).any(|start| matches!(start, [0, 0, _, _, b'f', b't', b'y', b'p']))
}

const fn corrupt(why: &'static str) -> Error {
    Error::Corrupt(why)
}

/// The frame's header, and how many of its samples are coded so far.
struct Frame {
    sequential: bool,
    /// For each component: its name, and its share of the samples.
    components: Vec<(u8, usize)>,
    /// The sum of shares in all scans.
    coded: usize,
}

impl Structure {
    /// Walks over all segments and scans.
    ///
    /// # Errors
    /// [`Error`] if the file would cost more work than its size justifies, or is of a kind that is not read.
    pub(super) fn of(bytes: &[u8]) -> Result<Self, Error> {
        let mut structure = Self::default();
        let mut frame: Option<Frame> = None;
        let mut at = 2;
        let mut segments = 0;
        while let Some((marker, start)) = next_marker(bytes, at) {
            if marker == END_OF_IMAGE {
                structure.ended = true;
                structure.film = has_film(&bytes[start..]);
                break;
            }
            if marker == START_OF_IMAGE {
                return Err(corrupt("a second picture begins inside it: get it again"));
            }
            let Some(body) = segment(bytes, start) else { break };
            segments += 1;
            if segments > MAX_SEGMENTS {
                return Err(Error::Cost(Cost::Segments { max: MAX_SEGMENTS as u64 }));
            }
            if marker == START_OF_SCAN {
                let Some(frame) = &mut frame else {
                    return Err(corrupt("a scan comes before its frame: get it again"));
                };
                let in_this = frame.scan(body)?;
                structure.scattered |= frame.sequential && in_this < frame.components.len();
                structure.coded = true;
            } else if is_frame(marker) || marker == LOSSLESS_FRAME {
                if frame.is_some() {
                    return Err(corrupt("it has two frames: save it anew"));
                }
                check_kind(marker, body)?;
                structure.components = frame.insert(Frame::of(marker, body)).components.len();
            } else if marker == APPLICATION_2 {
                structure.several |= body.starts_with(b"MPF\0");
                structure.profile |= body.starts_with(b"ICC_PROFILE\0");
            }
            at = start + 2 + body.len();
        }
        structure.incomplete = frame.is_some_and(|frame| frame.sequential && frame.coded < frame.all());
        Ok(structure)
    }
}

impl Frame {
    fn of(marker: u8, body: &[u8]) -> Self {
        // Precision, height, width and the number of components come first.
        let (components, _) = body.get(6..).unwrap_or(&[]).as_chunks::<3>();
        let share = |sampling: u8| usize::from(sampling >> 4) * usize::from(sampling & 15);
        let components = components.iter().map(|&[name, sampling, _]| (name, share(sampling))).collect();
        Self { sequential: matches!(marker, 0xC0 | 0xC1), components, coded: 0 }
    }

    /// Returns the sum of the shares of all components.
    fn all(&self) -> usize {
        self.components.iter().map(|component| component.1).sum()
    }

    /// Adds the shares of a scan. Returns the number of its components.
    fn scan(&mut self, body: &[u8]) -> Result<usize, Error> {
        let count = body.first().map_or(0, |&count| usize::from(count));
        let (named, _) = body.get(1..).unwrap_or(&[]).as_chunks::<2>();
        for &[name, _] in named.iter().take(count) {
            let component = self.components.iter().find(|component| component.0 == name);
            self.coded += component.map_or(0, |component| component.1);
        }
        let all = self.all();
        if self.sequential && self.coded > all {
            return Err(corrupt("it is coded twice: save it anew"));
        }
        if self.coded > MAX_PASSES * all {
            return Err(Error::Cost(Cost::Passes { max: MAX_PASSES as u64 }));
        }
        Ok(count)
    }
}

/// Refuses all kinds but JPEG of 8 bits with Huffman codes, by name.
fn check_kind(marker: u8, body: &[u8]) -> Result<(), Error> {
    Err(Error::Unsupported(match marker {
        0xC3 => "it is a lossless JPEG, which nestcast does not read: save it as a PNG",
        LOSSLESS_FRAME => "it is a JPEG-LS, which nestcast does not read: save it as a PNG",
        0xC5..=0xC7 => "it is a hierarchical JPEG, which nestcast does not read: save it as a PNG",
        0xC9..=0xCF => {
            "it is a JPEG with arithmetic coding, which nestcast does not read: `jpegtran -copy all IN > OUT` makes another"
        }
        _ if body.first().is_some_and(|bits| *bits != 8) => {
            "it is a JPEG of 12 bits a sample, which nestcast does not read: save it as a PNG"
        }
        _ if body.get(5).is_some_and(|count| !matches!(count, 1 | 3 | 4)) => {
            "it is a JPEG of other components than grey, colours or ink, which nestcast does not read: save it as a PNG"
        }
        _ if !is_sampling_known(body) => {
            "its colours are sampled in a way that nestcast does not read: save it as a PNG"
        }
        _ => return Ok(()),
    }))
}

/// Returns whether the decoder reads the sampling factors of a frame: whole shares of the most, no thirds across, and
/// luma with the most samples. It also reads luma with half of the rows of a colour difference. A picture of one
/// component has no others to compare with.
fn is_sampling_known(body: &[u8]) -> bool {
    let (components, _) = body.get(6..).unwrap_or(&[]).as_chunks::<3>();
    let sides = |sampling: u8| [sampling >> 4, sampling & 15];
    let most = |side: usize| components.iter().map(|component| sides(component[1])[side]).max().unwrap_or(1);
    let most = [most(0), most(1)];
    let [across, down] = components.first().map_or(most, |luma| sides(luma[1]));
    let luma_leads = across == most[0] && (down == most[1] || most.iter().all(|most| *most <= 2));
    luma_leads
        && components.iter().map(|component| sides(component[1])).all(|[across, down]| {
            let whole = |share: u8, most: u8| most.checked_rem(share) == Some(0);
            across.is_power_of_two() && whole(across, most[0]) && whole(down, most[1])
        })
}

/// SOF0 to SOF15 without the three codes that mean something else.
const fn is_frame(marker: u8) -> bool {
    matches!(marker, 0xC0..=0xCF) && !matches!(marker, 0xC4 | 0xC8 | 0xCC)
}

#[cfg(test)]
mod tests {
    use jpeg_encoder::{ColorType, Encoder};

    use super::*;

    fn grey_file(marker: u8, scans: usize) -> Vec<u8> {
        let mut bytes = vec![0xFF, 0xD8, 0xFF, marker, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0];
        for _ in 0..scans {
            bytes.extend([0xFF, 0xFF, START_OF_SCAN, 0, 8, 1, 1, 0, 0, 63, 0, 1, 0xFF, 0, 2, 0xFF, 0xD3, 3]);
        }
        bytes.extend([0xFF, END_OF_IMAGE]);
        bytes
    }

    #[test]
    fn a_file_and_its_prefixes() {
        let encode = |optimised: bool| {
            let mut bytes = Vec::new();
            let mut encoder = Encoder::new(&mut bytes, 50);
            encoder.set_optimized_huffman_tables(optimised);
            encoder.encode(&[90; 3600], 40, 30, ColorType::Rgb).expect("encodes");
            bytes
        };
        assert!(Structure::of(&encode(true)).expect("little work").scattered);
        let bytes = encode(false);
        let whole = Structure { components: 3, coded: true, ended: true, ..Structure::default() };
        assert_eq!(Structure::of(&bytes).expect("little work"), whole);
        for length in 0..bytes.len() {
            assert!(!Structure::of(&bytes[..length]).expect("little work").ended);
        }
    }

    #[test]
    fn passes_over_the_picture_are_counted() {
        let refused = |bytes: &[u8]| Structure::of(bytes).expect_err("refused").to_string();
        assert!(Structure::of(&grey_file(0xC2, MAX_PASSES)).expect("allowed").ended);
        assert!(refused(&grey_file(0xC2, MAX_PASSES + 1)).contains("more than 24 times"));
        assert!(Structure::of(&grey_file(0xC0, 1)).expect("allowed").ended);
        assert!(refused(&grey_file(0xC0, 2)).contains("coded twice"));
    }

    #[test]
    fn segments_and_frames_are_few() {
        let refused = |bytes: &[u8]| Structure::of(bytes).expect_err("refused").to_string();
        let comments = [&[0xFF, 0xD8][..], &[0xFF, 0xFE, 0, 2].repeat(MAX_SEGMENTS + 1)].concat();
        assert!(refused(&comments).contains("segments"));
        let file = grey_file(0xC2, 1);
        assert!(refused(&[&file[..15], &file[2..]].concat()).contains("two frames"));
        assert!(refused(&[&file[..15], &file[..]].concat()).contains("second picture"));
        assert!(refused(&[&file[..2], &file[15..]].concat()).contains("before its frame"));
    }
}
