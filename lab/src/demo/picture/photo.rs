//! The photograph, and the coders for it.

use anyhow::{Context, Result};
use nestcast_codec::{Decoder, Encoder, Picture};
use nestcast_media::picture::decode;

use crate::thumbnail::thumbnail;

/// `assets/README.md` names its origin.
const BUILTIN_PHOTO: &[u8] = include_bytes!("../../../assets/spiral_firework.png");
/// The longest side that is shown; the page holds every picture several times.
const MAX_SIDE: usize = 1024;

/// The photograph to encode.
#[derive(Debug)]
pub struct Photo {
    pub(super) name: String,
    pub(super) credit: Option<&'static str>,
    pub(super) picture: Picture,
    pub(super) scaled: bool,
}

impl Photo {
    /// Names a picture, and scales it down if it is larger than the page needs.
    ///
    /// # Errors
    /// Those of [`thumbnail`].
    pub fn new(name: String, picture: Picture) -> Result<Self> {
        let scaled = picture.size().width().max(picture.size().height()) > MAX_SIDE;
        let picture = if scaled { thumbnail(&picture, u32::try_from(MAX_SIDE)?)? } else { picture };
        Ok(Self { name, credit: None, picture, scaled })
    }

    /// Returns the built-in photograph.
    ///
    /// # Errors
    /// None: the built-in photograph is valid.
    pub fn builtin() -> Result<Self> {
        const PHOTO_CREDIT: &str = "Photograph: Spiral Firework from the wallpapers of the Budgie desktop, CC0.";
        let picture = decode(BUILTIN_PHOTO, u64::MAX).context("the built-in photograph")?.picture;
        Ok(Self { credit: Some(PHOTO_CREDIT), ..Self::new("Spiral Firework".to_owned(), picture)? })
    }
}

/// The coders for a photo.
pub struct Coders {
    /// Encodes the photo once.
    pub encoder: Encoder,
    /// Decoders with their names, in the order of columns; at least one.
    pub decoders: Vec<(&'static str, Decoder)>,
}
