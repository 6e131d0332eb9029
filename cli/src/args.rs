//! The command line's words: subcommands, options, defaults.

mod common;
mod live;
#[cfg(feature = "retrieval")]
mod retrieval;
mod video;

use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::{Args, Parser, Subcommand};
#[cfg(feature = "retrieval")]
use clap::{CommandFactory as _, error::ErrorKind};
use nestcast_codec::MAX_HEADER;
use nestcast_lab::eval::Grid;
use nestcast_media::FrameRange;
use nestcast_proto::Bitrate;

pub(crate) use common::{BOTH, Common, Transform};
pub(crate) use live::{Receive, Send};
#[cfg(feature = "retrieval")]
pub(crate) use retrieval::{Codes, Index, Search};
pub(crate) use video::VideoCoding;

#[cfg(feature = "plot")]
use common::named;
#[cfg(feature = "retrieval")]
use common::or_of_codes;
use common::{decoders, positive};

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
    /// The decoder [default: for pictures deep, or linear where ONNX Runtime is missing; for video linear]
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
    /// The decoder to measure with [default: for pictures both, or linear where ONNX Runtime is missing; for video linear]
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
    /// The decoders to show a picture with; a broadcast is always linear [default: both, or linear where ONNX Runtime is missing]
    #[arg(long, value_parser = decoders())]
    pub(crate) decoder: Option<&'static [Transform]>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[cfg(feature = "retrieval")]
impl Search {
    /// Ends the program with status 2 and its usage if more pictures are to be found than are looked at.
    pub(crate) fn check(&self) {
        let Some(among) = self.among.filter(|among| *among < self.top) else { return };
        let why = format!("--among {among} is fewer than the {} pictures to show: raise it or lower --top", self.top);
        let mut all = Arguments::command();
        all.build();
        all.find_subcommand_mut("search").expect("it was parsed").error(ErrorKind::ArgumentConflict, why).exit();
    }
}

#[cfg(test)]
#[test]
fn the_command_line_is_consistent() {
    #[cfg(not(feature = "retrieval"))]
    use clap::CommandFactory as _;
    Arguments::command().debug_assert();
}
