//! A code's file: how much of the code it has, and of which model it is.

use std::fmt::{self, Display, Formatter};

use nestcast_models::codes::{CodePackage, SIDE};
use nestcast_retrieval::CodeFile;
use serde::Serialize;

/// What there is to say of a code.
#[derive(Debug, Serialize)]
pub struct Report {
    file: String,
    bits: usize,
    /// Whether these are all bits that its model makes; absent where the model is not at hand.
    whole: Option<bool>,
    /// As the model's hash begins, in hexadecimal.
    model_id: String,
    /// The model's name if it is the one at hand.
    model: Option<String>,
}

impl Report {
    /// Of a file of this name; `package` is the code's model if it is at hand.
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
            "{file}\n  picture   {SIDE}x{SIDE} RGB\n  code      {bits} bits\n  model     {model}\n  progress  {progress}\n"
        )
    }
}
