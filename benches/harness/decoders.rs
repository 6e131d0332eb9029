//! One stream of a picture by both decoders, a rival's file of at most as many bytes, and the original, to switch
//! between on the page.

use anyhow::Result;
use nestcast_codec::Picture;
use nestcast_lab::metrics::budget;

use crate::{
    ours::{Kind, Ours},
    rivals::{self, Avif, Rival, Sampling},
};

/// The model of the stream.
pub const MODEL_NAME: &str = "photo-ssim";
/// Rates shown, in bits per pixel.
pub const RATES_BPP: [f64; 3] = [0.1, 0.2, 0.3];

/// The pictures that the page switches between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// A prefix of the stream, by one of nestcast's decoders.
    Ours(Kind),
    /// AVIF 4:2:0, encoded again for each rate.
    Avif,
    /// The original picture.
    Original,
}

impl Shown {
    /// In the order of the page.
    pub const ALL: [Self; 4] = [Self::Ours(Kind::Deep), Self::Ours(Kind::Linear), Self::Avif, Self::Original];

    /// Returns the name in files and on the page.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ours(kind) => kind.name(),
            Self::Avif => "AVIF",
            Self::Original => "original",
        }
    }

    /// Returns the file's name for a picture at a rate, without extension; the original has one for all rates.
    pub fn file(self, picture: &str, rate_bpp: f64) -> String {
        match self {
            Self::Original => format!("{picture}-original"),
            Self::Ours(_) | Self::Avif => format!("{picture}-{}-{rate_bpp}", self.name()),
        }
    }
}

/// Returns all versions of a picture, by the files' names, without the rates that AVIF does not reach.
pub fn draw(ours: &Ours, name: &str, original: &Picture) -> Result<Vec<(String, Picture)>> {
    let stream = ours.encode(original, usize::MAX)?;
    let rival = Avif(Sampling::S420);
    let mut files = vec![(Shown::Original.file(name, 0.0), original.clone())];
    for rate in RATES_BPP {
        let bytes = budget(rate, original.size());
        for kind in Kind::ALL {
            files.push((Shown::Ours(kind).file(name, rate), ours.decode(&stream.prefix(bytes), kind)?));
        }
        if let Some(file) = rivals::largest(&rival, original, bytes)? {
            files.push((Shown::Avif.file(name, rate), rival.decode(&file)?));
        }
    }
    Ok(files)
}
