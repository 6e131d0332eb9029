//! The photograph that is shown, and what it is encoded and decoded with.

use anyhow::{Context, Result};
use nestcast_codec::{Decoder, Encoder, Picture};
use nestcast_media::picture::decode;

use crate::thumbnail::thumbnail;

/// `assets/README.md` says where it is from.
const BUILTIN: &[u8] = include_bytes!("../../../assets/spiral_firework.png");
/// Longest side that is shown; the page holds every picture several times.
const MAX_SIDE: usize = 1024;

/// What is encoded.
#[derive(Debug)]
pub struct Photo {
    pub(super) name: String,
    pub(super) credit: Option<&'static str>,
    pub(super) picture: Picture,
    pub(super) scaled: bool,
}

impl Photo {
    /// A picture with a name; it is scaled down where it is larger than a page needs it.
    ///
    /// # Errors
    /// Those of [`thumbnail`].
    pub fn new(name: String, picture: Picture) -> Result<Self> {
        let scaled = picture.size().width().max(picture.size().height()) > MAX_SIDE;
        let picture = if scaled { thumbnail(&picture, u32::try_from(MAX_SIDE)?)? } else { picture };
        Ok(Self { name, credit: None, picture, scaled })
    }

    /// What is built in.
    ///
    /// # Errors
    /// None: it is sound.
    pub fn builtin() -> Result<Self> {
        const CREDIT: &str = "Photograph: Spiral Firework from the wallpapers of the Budgie desktop, CC0.";
        let picture = decode(BUILTIN, u64::MAX).context("the built-in photograph")?.picture;
        Ok(Self { credit: Some(CREDIT), ..Self::new("Spiral Firework".to_owned(), picture)? })
    }
}

/// What the photo is encoded and decoded with.
pub struct Coders {
    /// Encodes it once.
    pub encoder: Encoder,
    /// Decoders with their names, in the order of columns; one at least.
    pub decoders: Vec<(&'static str, Decoder)>,
}
