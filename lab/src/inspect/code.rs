//! Reports on a code's file: how many bits of the code it has, and of which model.

use std::fmt::{self, Display, Formatter};

use nestcast_models::codes::{CodePackage, SIDE_PIXELS};
use nestcast_retrieval::CodeFile;
use serde::Serialize;

/// The report on a code.
#[derive(Debug, Serialize)]
pub struct Report {
    file: String,
    bits: usize,
    /// Whether these are all bits that its model makes; absent without the model.
    whole: Option<bool>,
    /// The first digits of the model's hash, in hexadecimal.
    model_id: String,
    /// The model's name, if the model is available.
    model: Option<String>,
}

impl Report {
    /// Takes the file's name; `package` is the code's model if it is available.
    #[must_use]
    pub fn new(file: String, code: &CodeFile, package: Option<&CodePackage>) -> Self {
        Self {
            file,
            bits: code.bits,
            whole: package.map(|package| code.bits == package.bits()),
            model_id: code.model.iter().map(|byte| format!("{byte:02x}")).collect(),
            model: package.map(|package| package.name().to_owned()),
        }
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { file, bits, whole, model_id, model } = self;
        let model = match model {
            Some(name) => format!("{model_id} ({name})"),
            None => format!("{model_id}, which is not at hand: name the folder of its package with --model"),
        };
        let progress = match whole {
            Some(true) => "the whole code",
            Some(false) => "a prefix: more bits would make the picture better",
            None => "unknown",
        };
        write!(
            f,
            "{file}\n  picture   {SIDE_PIXELS}x{SIDE_PIXELS} RGB\n  code      {bits} bits\n  model     {model}\n  progress  {progress}\n"
        )
    }
}
