//! The command line's words: subcommands, options, defaults.

mod live;
#[cfg(feature = "retrieval")]
mod retrieval;
mod video;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread;

use clap::builder::{PossibleValue, PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use nestcast_codec::{DEFAULT_MAX_PIXELS, MAX_HEADER};
use nestcast_lab::eval::Grid;
use nestcast_media::FrameRange;
use nestcast_models::Package;
#[cfg(feature = "retrieval")]
use nestcast_models::codes::CodePackage;
use nestcast_proto::Bitrate;

pub(crate) use live::{Receive, Send};
#[cfg(feature = "retrieval")]
pub(crate) use retrieval::{Codes, Index, Search};
pub(crate) use video::VideoCoding;

/// Most threads that may be asked for: more would only take memory.
const MAX_THREADS: usize = 256;
/// The model unless told otherwise.
const DEFAULT_MODEL: &str = "photo";

/// Encode a picture or a video once, cut the stream at any byte, decode every prefix.
///
/// `-` is standard input or output wherever a file is named, with these exceptions: `send -` takes a video alone; the
/// index of `search`, certificates and keys are files. Files appear whole or not at all: only a process that is killed leaves
/// an unfinished one, .nestcast-*, which may be deleted.
#[derive(Debug, Parser)]
#[command(name = "nestcast", version, propagate_version = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Encode a PNG or JPEG picture as one stream, every prefix of which decodes, or a y4m video as one file for all bit rates
    Encode(Encode),
    /// Decode a stream, or any prefix of one, to a PNG picture, or a stored video to y4m
    Decode(Decode),
    /// Keep the first bytes of a picture's stream, as `head -c` does, or what a bit rate carries of every frame of a video
    Cut(Cut),
    /// Show a stream's header, its model and what its cuts give, or the frames of a stored video
    Inspect(Inspect),
    /// Measure rate and distortion: of pictures on a grid of byte cuts, of a video at five of its bit rates
    Eval(Eval),
    #[cfg(feature = "retrieval")]
    /// Index a folder's pictures by ordered binary codes, for `search`
    Index(Index),
    #[cfg(feature = "retrieval")]
    /// Find the pictures of an index that are most like one, in time that does not grow with their codes' length
    Search(Search),
    /// Broadcast pictures or video, cut to each receiver's bandwidth
    Send(Send),
    /// Receive a broadcast, as good as the network allows
    Receive(Receive),
    #[cfg(feature = "demo")]
    /// Show a broadcast to three unequal receivers, and one photograph cut at four places, beside JPEG
    Demo(Demo),
}

/// What turns pixels into numbers and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transform {
    /// The model's networks; needs ONNX Runtime
    Deep,
    /// The model's linear transform; needs nothing
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

/// Both decoders side by side, the best last.
pub(crate) const BOTH: &[Transform] = &[Transform::Linear, Transform::Deep];

/// One decoder, or both.
fn decoders() -> impl TypedValueParser<Value = &'static [Transform]> {
    let each = Transform::value_variants().iter().filter_map(Transform::to_possible_value);
    PossibleValuesParser::new(each.chain([PossibleValue::new("both").help("Both")])).map(|name| match &*name {
        "deep" => &[Transform::Deep][..],
        "linear" => &[Transform::Linear],
        _ => BOTH,
    })
}

/// Options that every subcommand with a transform has.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// The model of pictures: the name of a built-in one, or a model package's folder [default: photo]
    #[arg(long, value_name = "NAME|DIR", value_parser = model)]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    threads: Threads,
    /// Refuse pictures of more pixels than this, before memory is taken for them
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_PIXELS)]
    pub(crate) max_pixels: u64,
}

impl Common {
    /// The model asked for, or the usual one.
    pub(crate) fn model(&self) -> &str {
        self.model.as_deref().unwrap_or(DEFAULT_MODEL)
    }

    /// The number of threads asked for, or that of the cores there are.
    pub(crate) fn threads(&self) -> usize {
        self.threads.count()
    }
}

#[derive(Debug, Args)]
pub(crate) struct Threads {
    /// Threads to use; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=MAX_THREADS as u64))]
    threads: Option<usize>,
}

impl Threads {
    /// The number asked for, or that of the cores there are.
    pub(crate) fn count(&self) -> usize {
        self.threads.unwrap_or_else(|| thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MAX_THREADS))
    }
}

#[derive(Debug, Args)]
#[cfg_attr(feature = "retrieval", command(mut_arg("model", or_of_codes)))]
pub(crate) struct Encode {
    /// The picture, PNG or JPEG, or the video, y4m
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// The stream to write
    #[arg(short, long, value_name = "OUT.nst")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) video: VideoCoding,
    /// Of a picture: stop after this many bytes, a header's at least: the prefix of the whole stream, made in less time
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(MAX_HEADER as u64..))]
    pub(crate) max_bytes: Option<usize>,
    /// The transform to encode a picture with; both decoders decode what either makes. `deep` is the model's encoder network: it takes
    /// 1.7 times as long, and needs 0.3 % less rate at equal MS-SSIM with `photo`, 5 % less with `photo-ssim`
    #[arg(long, value_enum, default_value_t = Transform::Linear)]
    pub(crate) analysis: Transform,
    /// Print the summary as JSON, on standard error if OUT.nst is `-`
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
#[cfg_attr(feature = "retrieval", command(mut_arg("model", or_of_codes)))]
pub(crate) struct Decode {
    /// The stream
    #[arg(value_name = "IN.nst")]
    pub(crate) input: PathBuf,
    /// The PNG picture to write; of a video the y4m file, `-` for a player, or a folder for PNG pictures, named with a slash
    /// at its end if it is not there
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// The decoder [default: deep for pictures, linear for video]
    #[arg(long, value_enum)]
    pub(crate) decoder: Option<Transform>,
    /// Of a picture: decode no more than the first N bytes
    #[arg(long, value_name = "N")]
    pub(crate) bytes: Option<usize>,
    /// Of a video: decode what a receiver of this rate gets, in bits per second, or with k or M, as in 300k
    #[arg(long, value_name = "RATE")]
    pub(crate) bitrate: Option<Bitrate>,
    /// Of a video: only frames A to B - 1, counted from 0; without A from the first, without B to the last
    #[arg(long, value_name = "A..B", default_value_t)]
    pub(crate) frames: FrameRange,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Cut {
    /// The stream
    #[arg(value_name = "IN.nst")]
    pub(crate) input: PathBuf,
    /// The shorter stream to write
    #[arg(short, long, value_name = "OUT.nst")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) length: Length,
}

/// Where to cut.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Length {
    /// Of a picture: keep the first N bytes
    #[arg(long, value_name = "N")]
    pub(crate) bytes: Option<usize>,
    /// Of a picture: keep as many whole bytes as X bits per pixel pay for
    #[arg(long, value_name = "X", value_parser = positive)]
    pub(crate) bpp: Option<f64>,
    /// Of a video: keep of every frame what this rate carries, in bits per second, or with k or M, as in 300k
    #[arg(long, value_name = "RATE")]
    pub(crate) bitrate: Option<Bitrate>,
    #[cfg(feature = "retrieval")]
    /// Of a code: keep the first N bits
    #[arg(long, value_name = "N")]
    pub(crate) bits: Option<usize>,
}

#[derive(Debug, Args)]
#[cfg_attr(feature = "retrieval", command(mut_arg("model", or_of_codes)))]
pub(crate) struct Inspect {
    /// The stream, or the file of a code
    #[arg(value_name = "IN.nst")]
    pub(crate) input: PathBuf,
    /// Of a video: the y4m it was made of, to measure PSNR against
    #[arg(long, value_name = "CLIP.y4m")]
    pub(crate) original: Option<PathBuf>,
    /// Print JSON; of a video one line for it and one for every frame
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Eval {
    /// Pictures, and folders of pictures, or one y4m video
    #[arg(value_name = "IMAGE|DIR|VIDEO", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// The table to write, of pictures: image,decoder,bytes,bpp,psnr_db,ms_ssim,encode_ms,decode_ms,ssimulacra2,butteraugli; of a video:
    /// kbps,frame,bytes,luma_db,ycbcr_db
    #[arg(long, value_name = "OUT.csv")]
    pub(crate) csv: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) video: VideoCoding,
    #[cfg(feature = "perceptual")]
    /// Of pictures: SSIMULACRA2 (100: equal) and Butteraugli (3-norm, 0: equal) too, as ssimulacra2,butteraugli; takes a tenth of a
    /// second a megapixel and cut
    #[arg(long)]
    pub(crate) perceptual: bool,
    #[cfg(feature = "plot")]
    /// Of a video: draw rate and PSNR
    #[arg(long, value_name = "OUT.svg", value_parser = |text: &str| named(text, "svg"))]
    pub(crate) plot: Option<PathBuf>,
    /// The decoder to measure with [default: both for pictures, linear for video, which is measured with one]
    #[arg(long, value_parser = decoders())]
    pub(crate) decoder: Option<&'static [Transform]>,
    /// The transform to encode with, as for `encode`
    #[arg(long, value_enum, default_value_t = Transform::Linear)]
    pub(crate) analysis: Transform,
    /// Of pictures: bits per pixel to cut at [default: 0.1:1.5:0.05]
    #[arg(long, value_name = "START:STOP:STEP")]
    pub(crate) grid: Option<Grid>,
    /// Print the summary as JSON, on standard error if the table or the plot is `-`
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[cfg(feature = "demo")]
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// A y4m video to broadcast or a picture to cut [default: both, with what is built in]
    #[arg(value_name = "VIDEO|IMAGE")]
    pub(crate) source: Option<PathBuf>,
    /// The folder to write into
    #[arg(short, long, value_name = "DIR", default_value = "nestcast-demo")]
    pub(crate) output: PathBuf,
    /// The decoders to show of a picture, a broadcast is linear; `linear` needs no ONNX Runtime, for encoding neither
    /// [default: both]
    #[arg(long, value_parser = decoders())]
    pub(crate) decoder: Option<&'static [Transform]>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// A model of pictures: the name of a built-in one, or a folder that is there.
fn model(text: &str) -> Result<String, String> {
    name_or_folder(text, &[("pictures", Package::names().collect())])
}

#[cfg(feature = "retrieval")]
/// A model of codes, likewise.
fn code_model(text: &str) -> Result<String, String> {
    name_or_folder(text, &[("codes", CodePackage::names().collect())])
}

#[cfg(feature = "retrieval")]
/// Has an option for a model of pictures take one of codes too.
fn or_of_codes(model: clap::Arg) -> clap::Arg {
    let kinds = || [("pictures", Package::names().collect()), ("codes", CodePackage::names().collect())];
    let help =
        "The model of pictures or codes: the name of a built-in one, or a model package's folder [default: photo]";
    model.value_parser(move |text: &str| name_or_folder(text, &kinds())).help(help)
}

/// One of the names of each kind, or a folder that is there.
fn name_or_folder(text: &str, kinds: &[(&str, Vec<&str>)]) -> Result<String, String> {
    if Path::new(text).is_dir() || kinds.iter().any(|(_, names)| names.contains(&text)) {
        return Ok(text.to_owned());
    }
    let lists: Vec<String> = kinds.iter().map(|(kind, names)| format!("of {kind}: {}", names.join(", "))).collect();
    Err(format!("it is no folder; built-in models {}", lists.join("; ")))
}

#[cfg(any(feature = "plot", feature = "retrieval"))]
/// A file whose name promises no other format than the one that is written.
fn named(text: &str, extension: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let other = path.extension().is_some_and(|given| !given.eq_ignore_ascii_case(extension));
    if other { Err(format!("give it a name that ends in .{extension}")) } else { Ok(path) }
}

fn count(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "give a whole number, 1 or more".to_owned())
}

fn positive(text: &str) -> Result<f64, String> {
    match text.trim().parse() {
        Ok(value) if value > 0.0 && f64::is_finite(value) => Ok(value),
        _ => Err(format!("`{text}` is no number above 0")),
    }
}

#[cfg(test)]
#[test]
fn the_command_line_is_consistent() {
    use clap::CommandFactory as _;
    Arguments::command().debug_assert();
}
