//! One stream of a picture by both decoders, rivals' files of at most as many bytes, and the original, to switch between
//! on the page.

use anyhow::Result;
use nestcast_codec::Picture;
use nestcast_lab::metrics::budget;

use crate::{
    ours::{Kind, Ours},
    picture::{Part, shown},
    rivals::{self, Avif, Baseline, Jxl, Lossy, Rival, Sampling},
};

/// The model of the stream.
pub const MODEL_NAME: &str = "photo-ssim";
/// Rates shown, in bits per pixel.
pub const RATES_BPP: [f64; 3] = [0.1, 0.2, 0.3];
/// Pixels of the part that is shown, the middle of the picture: the whole one is coded.
pub const PART_PIXELS: (u32, u32) = (480, 320);

/// The pictures that the page switches between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// A prefix of the stream, by one of nestcast's decoders.
    Ours(Kind),
    /// AVIF 4:2:0, encoded again for each rate.
    Avif,
    /// JPEG XL, encoded again for each rate.
    Jxl,
    /// WebP, encoded again for each rate.
    Webp,
    /// JPEG 4:2:0, encoded again for each rate.
    Jpeg,
    /// The original picture.
    Original,
}

impl Shown {
    /// In the order of the page.
    pub const ALL: [Self; 7] = [
        Self::Ours(Kind::Deep),
        Self::Ours(Kind::Linear),
        Self::Avif,
        Self::Jxl,
        Self::Webp,
        Self::Jpeg,
        Self::Original,
    ];

    /// Returns the name in files and on the page.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ours(kind) => kind.name(),
            Self::Avif => "AVIF",
            Self::Jxl => "JPEG-XL",
            Self::Webp => "WebP",
            Self::Jpeg => "JPEG",
            Self::Original => "original",
        }
    }

    /// Returns the file's name for a picture at a rate, without extension; the original has one for all rates.
    pub fn file(self, picture: &str, rate_bpp: f64) -> String {
        match self {
            Self::Original => format!("{picture}-original"),
            _ => format!("{picture}-{}-{rate_bpp}", self.name()),
        }
    }

    /// Returns the codec of a rival; `None` for the others, and for JPEG XL where its programs are missing.
    fn rival(self) -> Option<Box<dyn Rival>> {
        match self {
            Self::Avif => Some(Box::new(Avif(Sampling::S420))),
            Self::Jxl => Jxl::find().map(|jxl| Box::new(jxl) as Box<dyn Rival>),
            Self::Webp => Some(Box::new(Lossy { method: 6 })),
            Self::Jpeg => Some(Box::new(Baseline(Sampling::S420))),
            Self::Ours(_) | Self::Original => None,
        }
    }
}

/// Returns the middle of a picture in all versions, by the files' names, without the rates that a rival does not reach.
pub fn draw(ours: &Ours, name: &str, original: &Picture) -> Result<Vec<(String, Picture)>> {
    let stream = ours.encode(original, usize::MAX)?;
    let part = |picture: &Picture| shown(picture, Part::Middle, PART_PIXELS);
    let mut files = vec![(Shown::Original.file(name, 0.0), part(original)?)];
    for shown in Shown::ALL {
        let rival = shown.rival();
        for rate in RATES_BPP {
            let bytes = budget(rate, original.size());
            let decoded = match (shown, &rival) {
                (Shown::Ours(kind), _) => Some(ours.decode(&stream.prefix(bytes), kind)?),
                (_, Some(rival)) => {
                    rivals::largest(rival.as_ref(), original, bytes)?.map(|file| rival.decode(&file)).transpose()?
                }
                _ => None,
            };
            if let Some(decoded) = decoded {
                files.push((shown.file(name, rate), part(&decoded)?));
            }
        }
    }
    Ok(files)
}
