//! The words of the command line: subcommands, options, defaults.

#[cfg(feature = "access")]
mod access;
mod common;
mod live;
mod missing;
mod relay;
#[cfg(feature = "retrieval")]
mod retrieval;
mod source;
mod video;

use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::{Args, Parser, Subcommand};
use nestcast_codec::MAX_HEADER;
use nestcast_lab::eval::{Grid, rival::Rival};
use nestcast_media::FrameRange;
use nestcast_proto::Bitrate;

#[cfg(feature = "access")]
pub(crate) use access::{Access, Key, Token};
pub(crate) use common::{Analysis, BOTH_DECODERS, Common, PictureCoding, Transform};
pub(crate) use live::{Receive, Send};
pub(crate) use missing::how_to_install;
pub(crate) use relay::Place;
#[cfg(feature = "retrieval")]
pub(crate) use retrieval::{Index, Search};
pub(crate) use source::{NamedSource, assign, assign_apart, check as check_sources};
pub(crate) use video::VideoCoding;

use common::{bytes, decoders, positive};

/// Encode a picture once and cut its stream at any byte, or a video once and cut its file to any bit rate.
///
/// Where a command needs a file, `-` is standard input or output, with these exceptions: `send -` reads a video only; the
/// index of `search`, certificates and keys must be files. A command writes a whole file or none. Only a killed process leaves an
/// unfinished file, .nestcast-*, which you may delete.
#[derive(Debug, Parser)]
#[command(name = "nestcast", version, propagate_version = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Encode a PNG, JPEG or WebP picture as a stream whose every prefix decodes, or a y4m video as one file for all bit rates
    Encode(Encode),
    /// Decode a stream, or any prefix of one, to a PNG picture, or a stored video to y4m
    Decode(Decode),
    /// Keep the first bytes of a picture's stream, as `head -c` does, or cut every frame of a video to fit a bit rate
    Cut(Cut),
    /// Show a stream's header, its model and the quality of its cuts, or the frames of a stored video
    Inspect(Inspect),
    /// Measure rate and distortion, for pictures at a grid of byte cuts, for a video at five of its bit rates
    Eval(Eval),
    #[cfg(feature = "retrieval")]
    /// Index a folder's pictures by ordered binary codes, for `search`
    Index(Index),
    #[cfg(feature = "retrieval")]
    /// Find the pictures in an index that are most like your picture
    Search(Search),
    /// Broadcast pictures or video, cut to each receiver's bandwidth
    Send(Box<Send>),
    /// Receive a broadcast at the best quality that your network allows
    Receive(Receive),
    #[cfg(feature = "access")]
    /// Make a key that signs tokens for `send --keys`
    Key(Key),
    #[cfg(feature = "access")]
    /// Print a signed token for one viewer
    Token(Token),
    #[cfg(feature = "metrics")]
    /// Show the figures of a running sender on the terminal
    Top(Top),
    /// Write the browser viewer, a page and its files, into a folder that any web server can serve
    WebViewer(WebViewer),
    #[cfg(feature = "demo")]
    /// Show a broadcast to three unequal receivers, and one photograph cut at four places, next to JPEG
    Demo(Demo),
}

#[derive(Debug, Args)]
#[cfg_attr(feature = "retrieval", command(mut_arg("model", common::or_of_codes)))]
pub(crate) struct Encode {
    /// The picture (PNG, JPEG or WebP) or the video (y4m)
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// The stream to write
    #[arg(short, long, value_name = "OUT.nst")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) video: VideoCoding,
    /// Picture: stop after N bytes, also with k or M, as in 20k; at least a header. The result is a prefix of the whole stream and needs less time
    #[arg(long, value_name = "N", value_parser = bytes::<MAX_HEADER>)]
    pub(crate) max_bytes: Option<usize>,
    /// Keep at most N bits of a sample, 8 to 16
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = RangedU64ValueParser::<u8>::new().range(8..=16))]
    pub(crate) bits: u8,
    #[command(flatten)]
    pub(crate) picture: PictureCoding,
    /// Print the summary as JSON, on standard error if OUT.nst is `-`
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
#[cfg_attr(feature = "retrieval", command(mut_arg("model", common::or_of_codes)))]
pub(crate) struct Decode {
    /// The stream
    #[arg(value_name = "IN.nst")]
    pub(crate) input: PathBuf,
    /// The PNG picture to write. For a video: a y4m file, `-` for a player, or a folder for PNG pictures; end a new folder's name with
    /// a slash
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// The decoder [default: for pictures deep, or linear where ONNX Runtime is missing; for video linear]
    #[arg(long, value_enum)]
    pub(crate) decoder: Option<Transform>,
    /// Picture: decode only the first N bytes, also with k or M, as in 20k
    #[arg(long, value_name = "N", value_parser = bytes::<0>)]
    pub(crate) bytes: Option<usize>,
    /// Video: decode what a receiver with this bit rate gets, in bits per second, or with k or M, as in 300k
    #[arg(long, value_name = "RATE")]
    pub(crate) bitrate: Option<Bitrate>,
    /// Video: only frames A to B - 1, counted from 0; without A from the first, without B to the last
    #[arg(long, value_name = "A..B", default_value_t)]
    pub(crate) frames: FrameRange,
    /// Video: write its sound to this WAV file, in step with the pictures
    #[arg(long, value_name = "FILE.wav")]
    pub(crate) sound: Option<PathBuf>,
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

/// The length to cut to.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Length {
    /// Picture: keep the first N bytes, also with k or M, as in 20k
    #[arg(long, value_name = "N", value_parser = bytes::<0>)]
    pub(crate) bytes: Option<usize>,
    /// Picture: keep the whole bytes that fit in X bits per pixel
    #[arg(long, value_name = "X", value_parser = positive)]
    pub(crate) bpp: Option<f64>,
    /// Video: cut every frame to fit this bit rate, in bits per second, or with k or M, as in 300k
    #[arg(long, value_name = "RATE")]
    pub(crate) bitrate: Option<Bitrate>,
    #[cfg(feature = "retrieval")]
    /// Code: keep the first N bits
    #[arg(long, value_name = "N")]
    pub(crate) bits: Option<usize>,
}

#[derive(Debug, Args)]
#[cfg_attr(feature = "retrieval", command(mut_arg("model", common::or_of_codes)))]
pub(crate) struct Inspect {
    /// The stream, or a file with a code
    #[arg(value_name = "IN.nst")]
    pub(crate) input: PathBuf,
    /// Video: the y4m video that you encoded, to measure PSNR against
    #[arg(long, value_name = "CLIP.y4m")]
    pub(crate) original: Option<PathBuf>,
    /// Print JSON; for a video one line for the video and one for every frame
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Eval {
    /// Pictures and folders of pictures, or one y4m video
    #[arg(value_name = "IMAGE|DIR|VIDEO", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// The table to write. Pictures: image,decoder,bytes,bpp,psnr_db,ms_ssim,encode_ms,decode_ms,ssimulacra2,butteraugli. Video:
    /// kbps,frame,bytes,luma_db,ycbcr_db
    #[arg(long, value_name = "OUT.csv")]
    pub(crate) csv: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) video: VideoCoding,
    #[cfg(feature = "perceptual")]
    /// Pictures: measure SSIMULACRA2 (100: equal) and Butteraugli (3-norm, 0: equal) too. Each cut needs a tenth of a second for each
    /// megapixel
    #[arg(long)]
    pub(crate) perceptual: bool,
    #[cfg(feature = "plot")]
    /// Video: draw rate and PSNR
    #[arg(long, value_name = "OUT.svg", value_parser = |text: &str| common::named(text, "svg"))]
    pub(crate) plot: Option<PathBuf>,
    /// The decoder to measure with [default: for pictures both, or linear where ONNX Runtime is missing; for video linear]
    #[arg(long, value_parser = decoders())]
    pub(crate) decoder: Option<&'static [Transform]>,
    #[command(flatten)]
    pub(crate) picture: PictureCoding,
    /// Pictures: bits per pixel to cut at [default: 0.1:1.5:0.05]
    #[arg(long, value_name = "START:STOP:STEP")]
    pub(crate) grid: Option<Grid>,
    /// Pictures: another codec's commands, repeatable: 'cjxl {in} {out} -q {q} => djxl {in} {out}'. Without the second one, the
    /// coded file is a PNG, JPEG or WebP; {out}.jp2 gives it an ending
    #[arg(long, value_name = "COMMANDS")]
    pub(crate) rival: Vec<Rival>,
    /// The values of {q}, a point each
    #[arg(long, value_name = "START:STOP:STEP", default_value = "10:90:10", requires = "rival")]
    pub(crate) qualities: Grid,
    /// Print the summary as JSON, on standard error if the table or the plot is `-`
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct WebViewer {
    /// The folder to write into; a file of the same name with other contents is not replaced
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
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
    /// The decoders to show a picture with; a broadcast is always linear [default: both, or linear where ONNX Runtime is missing]
    #[arg(long, value_parser = decoders())]
    pub(crate) decoder: Option<&'static [Transform]>,
    /// Picture: then serve a page at this address, on which you cut the picture at any byte, until you end the program
    #[arg(long, value_name = "ADDR", value_parser = live::address)]
    pub(crate) web: Option<std::net::SocketAddr>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[cfg(feature = "retrieval")]
impl Search {
    /// Ends the program with status 2 and its usage if `--among` is below `--top`.
    pub(crate) fn check(&self) {
        let Some(among) = self.among.filter(|among| *among < self.top) else { return };
        let why = format!("--among {among} is fewer than the {} pictures to show: raise it or lower --top", self.top);
        let mut all = <Arguments as clap::CommandFactory>::command();
        all.build();
        all.find_subcommand_mut("search")
            .expect("it was parsed")
            .error(clap::error::ErrorKind::ArgumentConflict, why)
            .exit();
    }
}

#[cfg(feature = "metrics")]
#[derive(Debug, Args)]
pub(crate) struct Top {
    /// The address of the sender's `--metrics`
    #[arg(value_name = "HOST:PORT")]
    pub(crate) address: String,
    /// Seconds from one showing to the next
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) interval: u16,
    /// Show the figures of one interval and end
    #[arg(long)]
    pub(crate) once: bool,
}

#[cfg(test)]
#[test]
fn the_command_line_is_consistent() {
    <Arguments as clap::CommandFactory>::command().debug_assert();
}
