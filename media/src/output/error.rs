//! Errors of outputs.

use std::io;
use std::path::PathBuf;

use crate::picture;

/// Why an output cannot be written. Every message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Standard output is a terminal.
    #[error("standard output is a terminal, which cannot show this")]
    Terminal,
    /// Standard output was closed before the process began.
    #[error("standard output is closed")]
    Closed,
    /// The reader of standard output closed it.
    #[error("what reads standard output has closed it")]
    ReaderGone,
    /// The output would replace the input.
    #[error("{} is the input: name another file to write", .0.display())]
    Input(PathBuf),
    /// The name is an existing folder's.
    #[error("{} is a folder: name a file to write", .0.display())]
    Folder(PathBuf),
    /// The name is a folder's, and the folder does not exist.
    #[error("{} is a folder's name: name a file to write", .0.display())]
    FolderName(PathBuf),
    /// The folder's name belongs to something else.
    #[error("{} is not a folder: name a new one", .0.display())]
    NotAFolder(PathBuf),
    /// The folder is not empty. Its contents stay.
    #[error("{} is not empty: name a new folder", .0.display())]
    NotEmpty(PathBuf),
    /// The name promises another format than the PNG picture that would be written.
    #[error("{} would hold a PNG picture: give it a name that ends in .png", .0.display())]
    NotPng(PathBuf),
    /// The file of a recording exists.
    #[error("{} exists, and a recording replaces no file", .0.display())]
    Exists(PathBuf),
    /// The name promises another format than the stream that would be written.
    #[error("{} would hold a stream: give it a name that ends in .nst", .0.display())]
    NotStream(PathBuf),
    /// The name promises another format than the WAV file that would be written.
    #[error("{} would hold sound as WAV: give it a name that ends in .wav", .0.display())]
    NotWav(PathBuf),
    /// The name promises another format than the y4m video that would be written.
    #[error("{} would hold a y4m video: give it a name that ends in .y4m, or name a folder/", .0.display())]
    NotY4m(PathBuf),
    /// The name promises a file, but the output would be a folder.
    #[error("{} would be a folder of PNG pictures: give it a name without .{format}", path.display())]
    FileName {
        /// The folder.
        path: PathBuf,
        /// The format that the name promises.
        format: &'static str,
    },
    /// A picture cannot be compressed.
    #[error(transparent)]
    Picture(#[from] picture::Error),
    /// The output's folder does not exist.
    #[error("the folder {} does not exist: create it or write elsewhere", .0.display())]
    NoFolder(PathBuf),
    /// The file is write-protected.
    #[error("{} cannot be written: it is write-protected, so remove that or write elsewhere", .0.display())]
    Protected(PathBuf),
    /// Links form a circle.
    #[error("{} cannot be written: its links form a circle, so name another file", .0.display())]
    Circle(PathBuf),
    /// The system cannot write a file.
    #[error("{} cannot be written", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The system cannot write to standard output.
    #[error("standard output cannot be written")]
    Standard(#[source] io::Error),
}

impl Error {
    /// Explains why standard output was not written.
    #[must_use]
    pub fn of_standard(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe { Self::ReaderGone } else { Self::Standard(error) }
    }
}
