//! Why an input cannot be read, with its name.

use std::io;
use std::path::PathBuf;

use crate::{picture, stored, stream, y4m};

/// What is wrong with a named input.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// There is a folder of this name.
    #[error("{} is a folder: name a file in it", .0.display())]
    Folder(PathBuf),
    /// The system cannot open or read it.
    #[error("{name} cannot be read")]
    Io {
        /// What messages call it.
        name: String,
        /// What the system says.
        source: io::Error,
    },
    /// It is not what it is taken for, or not sound.
    #[error("{name} is refused")]
    Refused {
        /// What messages call it.
        name: String,
        /// Why.
        source: Refusal,
    },
}

/// Why an input is refused, by what it was taken for.
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
    /// What went wrong with what messages call `name`.
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
