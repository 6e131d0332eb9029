//! Writes files that appear whole or not at all, even if a full disk, a signal or a power cut ends the process.
//!
//! ```
//! use std::io::Write as _;
//! use std::path::Path;
//! use nestcast_media::output::{Output, replace};
//!
//! # let folder = tempfile::tempdir()?;
//! # let (there, input) = (folder.path().join("there"), folder.path().join("input"));
//! // Checks before any work that the place is writable, and is none of the inputs.
//! let output = Output::new(&there, &[&input])?;
//! let mut pieces = output.begin()?;
//! pieces.write_all(b"one, ")?;
//! pieces.write_all(b"two")?;
//! assert!(!there.exists());
//! pieces.finish()?; // now the whole file is on the disk, under its name
//! assert_eq!(std::fs::read(&there)?, b"one, two");
//!
//! replace(&there, b"three")?; // the same in one call, for files only
//! assert!(Output::new(&there, &[&there]).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A recording grows under its own name instead: [`Recorder`] writes it on a thread.
//!
//! If your program handles no signals itself, call [`end_without_temporary_files`] when it begins.

mod error;
mod folder;
mod frames;
mod interpolation;
mod lost;
mod place;
mod program;
mod promise;
mod recorder;
mod replacement;
mod scratch;
mod secret;
mod signals;

pub use error::Error;
pub use folder::PictureFolder;
pub use frames::{FramePlace, FrameWriter};
pub use lost::Lost;
pub use place::{Output, Pieces, check_open};
pub use program::Program;
pub use promise::promised_format;
pub use recorder::{Recorder, RecordingError};
pub use replacement::replace;
pub use scratch::Scratch;
pub use secret::write_secret;
#[cfg(unix)]
pub use signals::end_when_asked_again;
pub use signals::{end_at_once, end_without_temporary_files};
