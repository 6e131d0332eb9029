//! The video that is broadcast.

use std::sync::Arc;

use anyhow::Result;

use crate::clip::Clip;

/// The video to broadcast.
#[derive(Debug)]
pub struct Video {
    pub(super) name: String,
    pub(super) credit: Option<&'static str>,
    pub(super) clip: Arc<Clip>,
}

impl Video {
    /// Names a clip.
    #[must_use]
    pub fn new(name: String, clip: Clip) -> Self {
        Self { name, credit: None, clip: Arc::new(clip) }
    }

    /// Returns the built-in video; `assets/README.md` names its origin.
    ///
    /// # Errors
    /// Those of [`Clip::builtin`].
    pub fn builtin() -> Result<Self> {
        const CLIP_CREDIT: &str =
            "Video: a clip of the sign for \u{201c}book\u{201d} in American Sign Language, CC BY 4.0, shortened.";
        Ok(Self { credit: Some(CLIP_CREDIT), ..Self::new("Sign language".to_owned(), Clip::builtin()?) })
    }
}
