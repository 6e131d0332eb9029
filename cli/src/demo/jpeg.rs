//! JPEG as a rival.

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
    /// Made for the picture: the smallest file. Its scans are not interleaved, which `picture::decode` refuses.
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
