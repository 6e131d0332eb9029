//! The demonstration: a broadcast to three receivers with unequal links, and one photograph cut at four places.
//!
//! Both return files and a text for the terminal. The caller opens the model, reads the input and writes the files.

pub mod broadcast;
pub mod picture;

use nestcast_models::Package;

/// The inputs of a demonstration.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The model.
    pub package: &'a Package,
    /// Threads to encode and decode with.
    pub threads: usize,
    /// Prints progress lines for people.
    pub note: fn(&str),
}

/// The results of a demonstration.
#[derive(Debug)]
pub struct Shown {
    /// Text for the terminal; several lines.
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
