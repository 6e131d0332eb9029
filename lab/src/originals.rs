//! The pictures that a broadcast is made from, for comparison with what is received.

use anyhow::{Result, ensure};
use nestcast_codec::{Format, Picture};
use nestcast_media::{FrameRange, Input, InputError, Kind};

use crate::metrics;

/// Pictures by their frames' numbers; after the last, the first follows again.
#[derive(Debug, Clone)]
pub struct Originals(Vec<Picture>);

impl Originals {
    /// Reads all frames of a y4m video, or one picture, and keeps them in memory.
    ///
    /// # Errors
    /// If the input is neither, is not valid, or a picture has more than `max_pixels`.
    pub fn read(mut input: Input<'_>, max_pixels: u64) -> Result<Self> {
        if input.kind()? != Kind::Y4m {
            return Ok(Self(vec![input.picture(max_pixels)?.picture]));
        }
        let name = input.name();
        let mut frames = input.y4m(FrameRange::default(), max_pixels)?;
        let mut all = Vec::new();
        let mut picture = frames.picture();
        while frames.read_into(&mut picture).map_err(|error| InputError::named(&name, error))? {
            all.push(picture.clone());
        }
        Ok(Self(all))
    }

    /// Returns the PSNR in dB of a shown frame `id`.
    ///
    /// # Errors
    /// If the picture differs from the original in size or colours.
    pub fn psnr(&self, id: u64, picture: &Picture) -> Result<f64> {
        let at = usize::try_from(id % self.0.len() as u64)?;
        let original = &self.0[at];
        let relabelled = relabelled(original, picture.format());
        let original = relabelled.as_ref().unwrap_or(original);
        let alike = (original.size(), original.channels()) == (picture.size(), picture.channels());
        ensure!(alike, "what is sent has another size or other colours than the original");
        Ok(metrics::psnr(original, picture))
    }
}

/// The original with the samples' meaning that was announced, where only that differs: a y4m file does not say its
/// matrix.
fn relabelled(original: &Picture, format: Format) -> Option<Picture> {
    let planar =
        matches!((original.format(), format), (Format::Ycbcr420(a), Format::Ycbcr420(b)) if a.range == b.range);
    let differs = planar && original.format() != format;
    differs.then(|| Picture::new(original.size(), format, original.samples().to_vec()).ok()).flatten()
}
