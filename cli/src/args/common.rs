//! Options that several subcommands have, and the values that options take.

use std::num::NonZeroUsize;
use std::path::Path;
#[cfg(any(feature = "plot", feature = "retrieval"))]
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use nestcast_codec::DEFAULT_MAX_PIXELS;
use nestcast_media::{ByteCount, ByteCountError};
use nestcast_models::Package;
#[cfg(feature = "retrieval")]
use nestcast_models::codes::CodePackage;
use nestcast_proto::{TimeSpan, TimeSpanError};
use nestcast_receiver::Trust;

/// The most threads that you may ask for: more would only need memory.
const MAX_THREADS: usize = 256;
/// The default model.
const DEFAULT_MODEL: &str = "photo";

/// A transform of pixels into numbers and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transform {
    /// The model's networks; needs ONNX Runtime
    Deep,
    /// The model's linear transform, in plain Rust
    Linear,
}

impl Transform {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Deep => "deep",
            Self::Linear => "linear",
        }
    }
}

/// An encoder's transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Analysis {
    /// The model's linear transform, in plain Rust
    Linear,
    /// The same, and a network that says which regions hide errors; needs ONNX Runtime
    Masked,
    /// All of the model's networks; needs ONNX Runtime
    Deep,
}

impl Analysis {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Masked => "masked",
            Self::Deep => "deep",
        }
    }
}

/// How an encoder codes a picture.
#[derive(Debug, Default, Args)]
pub(crate) struct PictureCoding {
    /// Picture: the transform to encode with; both decoders decode all. `deep` needs 1.7 times as long as `linear`, and 0.3 % fewer
    /// bytes at equal MS-SSIM with `photo`, 5 % fewer with `photo-ssim` [default: masked for photo-ssim where ONNX Runtime works, else
    /// linear]
    #[arg(long, value_enum)]
    pub(crate) analysis: Option<Analysis>,
    /// Picture: the strength of activity masking, 0 to 1. Smooth regions get finer steps than texture, which hides errors; 0 is for the
    /// highest PSNR [default: the model's: 0 for photo, 0.35 for photo-ssim]
    #[arg(long = "activity-masking", value_name = "STRENGTH", value_parser = strength)]
    pub(crate) strength: Option<f32>,
}

impl PictureCoding {
    /// Returns whether you asked for networks.
    pub(crate) fn has_networks(&self) -> bool {
        self.analysis.is_some_and(|analysis| analysis != Analysis::Linear)
    }

    /// Refuses the options where there is no picture to encode.
    pub(crate) fn refuse(&self) -> anyhow::Result<()> {
        let linear = !self.has_networks();
        anyhow::ensure!(linear, "--analysis masked and deep are for pictures, and video has only linear: leave it out");
        anyhow::ensure!(self.strength.is_none(), "--activity-masking is for encoding pictures: leave it out");
        Ok(())
    }
}

/// Both decoders, the better one last.
pub(crate) const BOTH_DECODERS: &[Transform] = &[Transform::Linear, Transform::Deep];

/// Parses one decoder, or both.
pub(super) fn decoders() -> impl TypedValueParser<Value = &'static [Transform]> {
    let each = Transform::value_variants().iter().filter_map(Transform::to_possible_value);
    PossibleValuesParser::new(each.chain([PossibleValue::new("both").help("Both")])).map(|name| match &*name {
        "deep" => &[Transform::Deep][..],
        "linear" => &[Transform::Linear],
        _ => BOTH_DECODERS,
    })
}

/// The options of every subcommand with a transform.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// The model for pictures: the name of a built-in model, or a model package's folder [default: photo]
    #[arg(long, value_name = "NAME|DIR", value_parser = model)]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    threads: Threads,
    /// Refuse pictures of more than N pixels, before nestcast allocates memory for them
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_PIXELS)]
    pub(crate) max_pixels: u64,
}

impl Common {
    /// Returns the model that you asked for, or the default one.
    pub(crate) fn model(&self) -> &str {
        self.model.as_deref().unwrap_or(DEFAULT_MODEL)
    }

    /// Returns the number of threads that you asked for, or the number of cores.
    pub(crate) fn threads(&self) -> usize {
        self.threads.count()
    }
}

#[derive(Debug, Args)]
pub(crate) struct Threads {
    /// The number of threads; it does not change the result [default: all cores]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=MAX_THREADS as u64))]
    threads: Option<usize>,
}

impl Threads {
    /// Returns the number asked for, or that of the available cores.
    pub(crate) fn count(&self) -> usize {
        self.threads.unwrap_or_else(|| thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MAX_THREADS))
    }
}

/// Parses a model of pictures: the name of a built-in one, or an existing folder.
pub(super) fn model(text: &str) -> Result<String, String> {
    name_or_folder(text, &[("pictures", Package::names().collect())])
}

#[cfg(feature = "retrieval")]
/// Parses a model of codes in the same way.
pub(super) fn code_model(text: &str) -> Result<String, String> {
    name_or_folder(text, &[("codes", CodePackage::names().collect())])
}

#[cfg(feature = "retrieval")]
/// Lets an option for a model of pictures accept a model of codes too.
pub(super) fn or_of_codes(model: clap::Arg) -> clap::Arg {
    let kinds = || [("pictures", Package::names().collect()), ("codes", CodePackage::names().collect())];
    let help =
        "The model for pictures or codes: the name of a built-in model, or a model package's folder [default: photo]";
    model.value_parser(move |text: &str| name_or_folder(text, &kinds())).help(help)
}

/// Parses one of the names of each kind, or an existing folder.
fn name_or_folder(text: &str, kinds: &[(&str, Vec<&str>)]) -> Result<String, String> {
    if Path::new(text).is_dir() || kinds.iter().any(|(_, names)| names.contains(&text)) {
        return Ok(text.to_owned());
    }
    let lists: Vec<String> = kinds.iter().map(|(kind, names)| format!("for {kind}: {}", names.join(", "))).collect();
    Err(format!("there is no such model and no such folder; built-in models {}", lists.join("; ")))
}

pub(super) fn fingerprint(text: &str) -> Result<Trust, String> {
    Trust::fingerprint(text).ok_or_else(|| "give 64 hexadecimal digits".to_owned())
}

#[cfg(any(feature = "plot", feature = "retrieval"))]
/// Parses a file name, and refuses an extension of another format than the one that is written.
pub(super) fn named(text: &str, extension: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let other = path.extension().is_some_and(|given| !given.eq_ignore_ascii_case(extension));
    if other { Err(format!("give it a name that ends in .{extension}")) } else { Ok(path) }
}

fn strength(text: &str) -> Result<f32, String> {
    match text.trim().parse() {
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(value),
        _ => Err(format!("`{text}` is not a number from 0 to 1")),
    }
}

pub(super) fn count(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "give a whole number, 1 or more".to_owned())
}

/// Parses a number of bytes, at least `LEAST`.
pub(super) fn bytes<const LEAST: usize>(text: &str) -> Result<usize, String> {
    let ByteCount(count) = text.parse().map_err(|error: ByteCountError| error.to_string())?;
    if count < LEAST { Err(format!("a stream has a header: give {LEAST} bytes or more")) } else { Ok(count) }
}

pub(super) fn time(text: &str) -> Result<Duration, TimeSpanError> {
    text.parse().map(TimeSpan::into)
}

pub(super) fn positive(text: &str) -> Result<f64, String> {
    match text.trim().parse() {
        Ok(value) if value > 0.0 && f64::is_finite(value) => Ok(value),
        _ => Err(format!("`{text}` is not a number above 0")),
    }
}
