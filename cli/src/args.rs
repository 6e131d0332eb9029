//! The command line's words: subcommands, options, defaults.

mod grid;
mod live;
#[cfg(feature = "retrieval")]
mod retrieval;
mod video;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use nestcast_codec::{DEFAULT_MAX_PIXELS, MAX_HEADER};
use nestcast_models::Package;

pub(crate) use grid::Grid;
pub(crate) use live::{Receive, Send};
#[cfg(feature = "retrieval")]
pub(crate) use retrieval::{Codes, Index, Search};
use video::bitrate;
pub(crate) use video::{Frames, VideoCoding};

/// Most threads that may be asked for: more would only take memory.
const MAX_THREADS: usize = 256;
/// The model unless told otherwise.
const DEFAULT_MODEL: &str = "photo";

/// Encode a picture or a video once, cut the stream at any byte, decode every prefix.
///
/// `-` is standard input or output wherever a file is named. Files appear whole or not at all: only a process that is
/// killed leaves an unfinished one, .nestcast-*, which may be deleted.
#[derive(Debug, Parser)]
#[command(name = "nestcast", version, propagate_version = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    /// The words that the program was given. Words that make no sense whatever the files hold end it with status 2 and the
    /// subcommand's usage; whatever fails later has status 1.
    pub(crate) fn read() -> Self {
        let arguments = Self::parse();
        if let Err((name, why)) = arguments.command.check() {
            let mut all = Self::command();
            all.build();
            let command = all.find_subcommand_mut(name).expect("it was parsed");
            command.error(ErrorKind::ArgumentConflict, why).exit();
        }
        arguments
    }
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

impl Command {
    /// What no option can see alone: the subcommand's name, and what is wrong.
    fn check(&self) -> Result<(), (&'static str, String)> {
        match self {
            #[cfg(feature = "retrieval")]
            Self::Search(search) => search.check().map_err(|why| ("search", why)),
            _ => Ok(()),
        }
    }
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

/// One decoder, or both side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Decoders {
    /// The model's networks; needs ONNX Runtime
    Deep,
    /// The model's linear transform; needs nothing
    Linear,
    /// Both
    Both,
}

impl Decoders {
    pub(crate) const fn list(self) -> &'static [Transform] {
        match self {
            Self::Deep => &[Transform::Deep],
            Self::Linear => &[Transform::Linear],
            Self::Both => &[Transform::Linear, Transform::Deep],
        }
    }
}

/// Options that every subcommand with a transform has.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// The model of pictures: the name of a built-in one, or a model package's folder [default: photo]
    #[arg(long, value_name = "NAME|DIR", value_parser = model)]
    pub(crate) model: Option<String>,
    /// Threads to use; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<usize>,
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
        cores_or(self.threads)
    }
}

/// The number of threads asked for, or that of the cores there are.
fn cores_or(threads: Option<usize>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MAX_THREADS);
    threads.unwrap_or_else(cores)
}

#[derive(Debug, Args)]
pub(crate) struct Encode {
    /// The picture, PNG or JPEG, or the video, y4m
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// The stream to write
    #[arg(short, long, value_name = "OUT.nst")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) video: VideoCoding,
    /// Of a picture: stop after this many bytes: the prefix of the whole stream, made in less time
    #[arg(long, value_name = "N", value_parser = max_bytes)]
    pub(crate) max_bytes: Option<usize>,
    /// The transform to encode a picture with; both decoders decode what either makes. `deep` is the model's encoder network: it takes
    /// 1.6 times as long, and needs 0.3 % less rate at equal MS-SSIM with `photo`, 5 % less with `photo-ssim`
    #[arg(long, value_enum, default_value_t = Transform::Linear)]
    pub(crate) analysis: Transform,
    /// Print the summary as JSON, on standard error if OUT.nst is `-`
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Decode {
    /// The stream
    #[arg(value_name = "IN.nst")]
    pub(crate) input: PathBuf,
    /// The PNG picture to write; of a video the y4m file, `-` for a player, or a folder for PNG pictures, named with a slash
    /// at its end if it is not there
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// The decoder [default: deep for pictures, linear for video, which has no other]
    #[arg(long, value_enum)]
    pub(crate) decoder: Option<Transform>,
    /// Of a picture: decode no more than the first N bytes
    #[arg(long, value_name = "N")]
    pub(crate) bytes: Option<usize>,
    /// Of a video: decode what a receiver of this rate gets, in bits per second, or with k or M, as in 300k
    #[arg(long, value_name = "RATE", value_parser = bitrate)]
    pub(crate) bitrate: Option<u64>,
    /// Of a video: only frames A to B - 1, counted from 0; without A from the first, without B to the last
    #[arg(long, value_name = "A..B", default_value_t)]
    pub(crate) frames: Frames,
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
    #[arg(long, value_name = "RATE", value_parser = bitrate)]
    pub(crate) bitrate: Option<u64>,
    #[cfg(feature = "retrieval")]
    /// Of a code: keep the first N bits
    #[arg(long, value_name = "N")]
    pub(crate) bits: Option<usize>,
}

#[derive(Debug, Args)]
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
    /// The decoder to measure pictures with [default: both]
    #[arg(long, value_enum)]
    pub(crate) decoder: Option<Decoders>,
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
    #[arg(long, value_enum)]
    pub(crate) decoder: Option<Decoders>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// A built-in model's name, or a folder that is there.
fn model(text: &str) -> Result<String, String> {
    let built_in = Package::names();
    #[cfg(feature = "retrieval")]
    let built_in = built_in.chain(nestcast_models::codes::CodePackage::names());
    let built_in: Vec<&str> = built_in.collect();
    if built_in.contains(&text) || Path::new(text).is_dir() {
        return Ok(text.to_owned());
    }
    Err(format!("it is no folder, and built in are {}", built_in.join(", ")))
}

#[cfg(any(feature = "plot", feature = "retrieval"))]
/// A file whose name promises no other format than the one that is written.
fn named(text: &str, extension: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let other = path.extension().is_some_and(|given| !given.eq_ignore_ascii_case(extension));
    if other { Err(format!("give it a name that ends in .{extension}")) } else { Ok(path) }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.trim().parse() {
        Ok(value) if value > 0.0 && f64::is_finite(value) => Ok(value),
        _ => Err(format!("`{text}` is no number above 0")),
    }
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 1..=MAX_THREADS) => Ok(count),
        _ => Err(format!("give 1 to {MAX_THREADS}")),
    }
}

fn max_bytes(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if count >= MAX_HEADER => Ok(count),
        _ => Err(format!("give {MAX_HEADER} or more, because the header comes first")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn threads_are_few() {
        assert_eq!([threads("1"), threads("256")], [Ok(1), Ok(256)]);
        for wrong in ["", "0", "257", "-1", "99999999999999999999"] {
            assert!(threads(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_grid_reaches_its_stop() {
        let rates = |text: &str| text.parse::<Grid>().map(|grid| grid.rates().collect::<Vec<_>>());
        assert_eq!(rates("0.1:0.3:0.05"), Ok(vec![0.1, 0.15, 0.2, 0.25, 0.3]));
        assert_eq!(rates("0.1:0.29:0.05").map(|rates| rates.len()), Ok(4));
        assert_eq!(rates("0.5:0.5:1"), Ok(vec![0.5]));
        assert_eq!("0.1:1.5:0.05".parse(), Ok(Grid::default()));
        for wrong in ["", "1", "1:2", "2:1:0.1", "1:2:0", "0.1:1:1e-9", "a:b:c"] {
            assert!(rates(wrong).is_err(), "{wrong}");
        }
    }
}
