//! JPEG as a rival, and what a JPEG file says of itself before it is decoded.

use anyhow::{Context, Result};
use jpeg_encoder::{ChromaSubsamplingMethod, ColorType, Encoder, SamplingFactor};
use nestcast_codec::{Channels, Picture};

/// How the rival is made; the demo's page shows it.
pub(crate) const DESCRIPTION: &str = "baseline JPEG with the standard's quantiser tables, optimised Huffman tables and \
     no metadata, by the Rust crate jpeg-encoder: the better of 4:2:0 (averaged chroma) and 4:4:4,";
/// Its best quality.
pub(crate) const BEST: u8 = 100;

/// The entropy coder's tables. They change the bytes, not the pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tables {
    /// Made for the picture: the smallest file. Its scans are not interleaved, which `pictures::decode` refuses.
    Optimised,
    /// The standard's.
    Fixed,
}

/// How many chroma samples are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sampling {
    /// 4:2:0, a quarter of them.
    Quarter,
    /// 4:4:4, all of them.
    Full,
}

impl Sampling {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Quarter => "4:2:0",
            Self::Full => "4:4:4",
        }
    }
}

/// Encodes at a quality of 1 to 100.
pub(crate) fn encode(picture: &Picture, quality: u8, sampling: Sampling, tables: Tables) -> Result<Vec<u8>> {
    let (width, height) = (picture.size().width(), picture.size().height());
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, quality);
    encoder.set_sampling_factor(match sampling {
        Sampling::Quarter => SamplingFactor::F_2_2,
        Sampling::Full => SamplingFactor::F_1_1,
    });
    encoder.set_chroma_subsampling_method(ChromaSubsamplingMethod::Average);
    encoder.set_optimized_huffman_tables(tables == Tables::Optimised);
    let kind = match picture.channels() {
        Channels::Grey => ColorType::Luma,
        Channels::Rgb => ColorType::Rgb,
    };
    let [width, height] = [width, height].map(|side| u16::try_from(side).expect("a side is at most MAX_SIDE"));
    encoder.encode(picture.samples(), width, height, kind).context("JPEG cannot be encoded")?;
    Ok(bytes)
}

/// What the decoder does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Facts {
    /// Components of a pixel: 4 are CMYK.
    pub(crate) components: u8,
    /// Whether the end marker is there. Decoders paint what is missing grey, and say nothing.
    pub(crate) whole: bool,
    /// Whether a sequential file has a scan for each component; zune-jpeg 0.5.15 decodes many such files to garbage
    /// (its issue 422).
    pub(crate) scattered: bool,
}

impl Facts {
    /// Walks over the segments before the first scan; then looks for the end marker.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        const START_OF_SCAN: u8 = 0xDA;
        let mut facts = Self::default();
        let mut sequential = false;
        let mut at = 2;
        while let Some(&[0xFF, marker, high, low]) = bytes.get(at..at + 4) {
            if marker == 0xFF {
                at += 1; // padding
                continue;
            }
            if marker == START_OF_SCAN {
                let in_scan = bytes.get(at + 4).copied().unwrap_or(0);
                facts.scattered = sequential && in_scan < facts.components;
                facts.whole = bytes[at..].windows(2).any(|pair| pair == [0xFF, 0xD9]);
                break;
            }
            if is_frame(marker) {
                sequential = matches!(marker, 0xC0 | 0xC1);
                facts.components = bytes.get(at + 9).copied().unwrap_or(0);
            }
            at += 2 + usize::from(u16::from_be_bytes([high, low]));
        }
        facts
    }
}

/// SOF0 to SOF15 without the three codes that mean something else.
const fn is_frame(marker: u8) -> bool {
    matches!(marker, 0xC0..=0xCF) && !matches!(marker, 0xC4 | 0xC8 | 0xCC)
}

#[cfg(test)]
mod tests {
    use nestcast_codec::Size;

    use super::*;

    #[test]
    fn facts_of_a_file_and_of_its_prefix() {
        let size = Size::new(40, 30).expect("a valid size");
        let picture = Picture::new(size, Channels::Rgb, vec![90; 3600]).expect("the shape fits");
        let optimised = encode(&picture, 50, Sampling::Quarter, Tables::Optimised).expect("encodes");
        assert!(Facts::of(&optimised).scattered);
        let bytes = encode(&picture, 50, Sampling::Quarter, Tables::Fixed).expect("encodes");
        let whole = Facts { components: 3, whole: true, scattered: false };
        assert_eq!(Facts::of(&bytes), whole);
        let cut = &bytes[..bytes.len() - 2];
        assert_eq!(Facts::of(cut), Facts { whole: false, ..whole });
        for length in 0..bytes.len() {
            assert!(!Facts::of(&bytes[..length]).whole);
        }
    }
}
