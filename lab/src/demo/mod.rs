//! The demonstration: a broadcast to three receivers behind unequal links, and one photograph cut at four places.
//!
//! Both give what is to be said and files; whoever asks opens the model, reads the input and writes the files.

pub mod broadcast;
pub mod picture;

use nestcast_models::Package;

/// What a demonstration works with.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The model.
    pub package: &'a Package,
    /// Threads to encode and decode with.
    pub threads: usize,
    /// Where lines for people go while it lasts.
    pub note: fn(&str),
}

/// What came of a demonstration.
#[derive(Debug)]
pub struct Shown {
    /// For the terminal; several lines.
    pub summary: String,
    /// Files to be written into one folder.
    pub files: Vec<File>,
}

/// A file that shows something.
#[derive(Debug)]
pub struct File {
    /// What it is.
    pub what: &'static str,
    /// Its name, without a folder.
    pub name: &'static str,
    /// Its content.
    pub bytes: Vec<u8>,
}
