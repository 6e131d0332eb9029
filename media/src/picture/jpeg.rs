//! What a JPEG file says of itself before it is decoded, and limits that its decoder does not have.

use super::Error;

/// Most pixels for a byte: each block of 8x8 takes a bit at least.
pub(super) const MAX_PIXELS: u64 = 8 * 64;
/// How often all samples may be gone over. Each scan of a progressive file costs the decoder a walk over the picture (100
/// scans of 100 megapixels: 4.5 s), but next to no bytes. libjpeg goes over luma 6 times; DC and two bands with four
/// refinements each take 15.
const MAX_PASSES: usize = 24;
/// Most segments: 255 of a colour profile, 1600 of 100 MB of metadata, and four tables before every scan are less.
const MAX_SEGMENTS: usize = 4096;

const START_OF_IMAGE: u8 = 0xD8;
const END_OF_IMAGE: u8 = 0xD9;
const START_OF_SCAN: u8 = 0xDA;

/// What the decoder does not tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Structure {
    /// Components of a pixel: 4 are CMYK.
    pub(super) components: usize,
    /// Whether the end marker is there. Decoders paint what is missing grey, and say nothing.
    pub(super) whole: bool,
    /// Whether a sequential file has a scan for each component; zune-jpeg 0.5.15 decodes many such files to garbage
    /// (its issue 422).
    pub(super) scattered: bool,
}

fn corrupt(why: &str) -> Error {
    Error::Corrupt(why.to_owned())
}

/// The frame's header, and how much of it was coded so far.
struct Frame {
    sequential: bool,
    /// By component: its name, and its share of the samples.
    components: Vec<(u8, usize)>,
    /// Shares of samples in all scans.
    coded: usize,
}

impl Structure {
    /// Walks over all segments and scans.
    ///
    /// # Errors
    /// If the file would cost more work than its size can justify.
    pub(super) fn of(bytes: &[u8]) -> Result<Self, Error> {
        let mut structure = Self::default();
        let mut frame: Option<Frame> = None;
        let mut at = 2;
        let mut in_scan = false;
        let mut segments = 0;
        while let Some((marker, start)) = next_marker(bytes, at, in_scan) {
            if marker == END_OF_IMAGE {
                structure.whole = in_scan;
                break;
            }
            if marker == START_OF_IMAGE {
                return Err(corrupt("a second picture begins inside it: get it again"));
            }
            let Some(body) = segment(bytes, start) else { break };
            segments += 1;
            if segments > MAX_SEGMENTS {
                return Err(Error::Cost(format!("it has more than {MAX_SEGMENTS} segments: save it anew")));
            }
            if marker == START_OF_SCAN {
                let Some(frame) = &mut frame else {
                    return Err(corrupt("a scan comes before its frame: get it again"));
                };
                let in_this = frame.scan(body)?;
                structure.scattered |= frame.sequential && in_this < frame.components.len();
                in_scan = true;
            } else if is_frame(marker) {
                if frame.is_some() {
                    return Err(corrupt("it has two frames: save it anew"));
                }
                structure.components = frame.insert(Frame::of(marker, body)).components.len();
            }
            at = start + 2 + body.len();
        }
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

    /// Adds up what is coded; gives the number of components in this scan.
    fn scan(&mut self, body: &[u8]) -> Result<usize, Error> {
        let count = body.first().map_or(0, |&count| usize::from(count));
        let (named, _) = body.get(1..).unwrap_or(&[]).as_chunks::<2>();
        for &[name, _] in named.iter().take(count) {
            let component = self.components.iter().find(|component| component.0 == name);
            self.coded += component.map_or(0, |component| component.1);
        }
        let all: usize = self.components.iter().map(|component| component.1).sum();
        if self.sequential && self.coded > all {
            return Err(corrupt("it is coded twice: save it anew"));
        }
        if self.coded > MAX_PASSES * all {
            return Err(Error::Cost(format!(
                "its scans go over the picture more than {MAX_PASSES} times, which costs only time: save it anew"
            )));
        }
        Ok(count)
    }
}

/// The next marker that a segment follows, or the end's, and where it ends. Behind a scan's header come its data, in
/// which `FF 00` and restarts are no such markers; before the first one all bytes belong to segments.
fn next_marker(bytes: &[u8], mut at: usize, in_scan: bool) -> Option<(u8, usize)> {
    loop {
        let rest = bytes.get(at..)?;
        let skipped = if in_scan { rest.iter().position(|&byte| byte == 0xFF)? } else { 0 };
        let [0xFF, marker, ..] = *rest.get(skipped..)? else { return None };
        at += skipped + 1;
        match marker {
            0xFF => {} // padding
            0xC0..=0xCF | START_OF_IMAGE.. => return Some((marker, at + 1)),
            _ if in_scan => {}
            _ => return None,
        }
    }
}

/// What follows a segment's length.
fn segment(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let (length, rest) = bytes.get(at..)?.split_first_chunk::<2>()?;
    let length = usize::from(u16::from_be_bytes(*length)).checked_sub(2)?;
    rest.get(..length)
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
        let whole = Structure { components: 3, whole: true, scattered: false };
        assert_eq!(Structure::of(&bytes).expect("little work"), whole);
        for length in 0..bytes.len() {
            assert!(!Structure::of(&bytes[..length]).expect("little work").whole);
        }
    }

    #[test]
    fn passes_over_the_picture_are_counted() {
        let refused = |bytes: &[u8]| Structure::of(bytes).expect_err("refused").to_string();
        assert!(Structure::of(&grey_file(0xC2, MAX_PASSES)).expect("allowed").whole);
        assert!(refused(&grey_file(0xC2, MAX_PASSES + 1)).contains("more than 24 times"));
        assert!(Structure::of(&grey_file(0xC0, 1)).expect("allowed").whole);
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
