//! Errors of an input, with its name.

use std::io;
use std::path::PathBuf;

use crate::{picture, stored, stream, y4m};

/// Why a named input cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The name is a folder's.
    #[error("{} is a folder: name a file in it", .0.display())]
    Folder(PathBuf),
    /// The system cannot open or read the input.
    #[error("{name} cannot be read")]
    Io {
        /// What messages call it.
        name: String,
        /// The system's error.
        source: io::Error,
    },
    /// The input is of another kind, or damaged.
    #[error("{name} is refused")]
    Refused {
        /// What messages call it.
        name: String,
        /// Why.
        source: Refusal,
    },
}

/// Why an input is refused, by the kind that was expected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A picture.
    #[error(transparent)]
    Picture(#[from] picture::Error),
    /// A picture's stream.
    #[error(transparent)]
    Stream(#[from] stream::Error),
    /// Raw video.
    #[error(transparent)]
    Y4m(#[from] y4m::Error),
    /// A stored video.
    #[error(transparent)]
    StoredVideo(#[from] stored::Error),
}

impl From<InputError> for io::Error {
    fn from(error: InputError) -> Self {
        match error {
            InputError::Io { source, .. } => source,
            other => Self::other(other),
        }
    }
}

impl InputError {
    /// Adds the name to an error.
    #[must_use]
    pub fn named(name: &str, error: impl Into<Refusal>) -> Self {
        let name = name.to_owned();
        match error.into() {
            Refusal::Picture(picture::Error::Io(source))
            | Refusal::Stream(stream::Error::Io(source))
            | Refusal::Y4m(y4m::Error::Io(source))
            | Refusal::StoredVideo(stored::Error::Io(source)) => Self::Io { name, source },
            source => Self::Refused { name, source },
        }
    }
}
