//! The words of `nestcast send` and `nestcast receive`.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use super::video::{bitrate, loops};
use super::{Common, Transform};

#[derive(Debug, Args)]
pub(crate) struct Send {
    /// A y4m video, `-` for one on standard input, a picture or a folder of pictures
    #[arg(value_name = "SOURCE")]
    pub(crate) source: PathBuf,
    /// The address to listen on; `[::]:4433` takes receivers from anywhere
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4433")]
    pub(crate) listen: SocketAddr,
    /// Begin a video or a folder again when it ends
    #[arg(long = "loop")]
    pub(crate) again: bool,
    /// Frames per second of a picture or a folder, 1 to 1000 [default: 1]; a video has its own
    #[arg(long, value_name = "N")]
    pub(crate) rate: Option<u32>,
    /// The certificate chain, PEM; without it one is made, and its fingerprint shown for receivers to pin
    #[arg(long, value_name = "PEM", requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// The certificate's private key, PEM
    #[arg(long, value_name = "PEM", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Let only those in who know this file's content
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Most receivers at once
    #[arg(long, value_name = "N", default_value = "1000")]
    pub(crate) max_receivers: NonZeroUsize,
    /// Most receivers at once at one address, as behind one router (of IPv6: in one network of 64 bits)
    #[arg(long, value_name = "N", default_value = "250")]
    pub(crate) max_receivers_per_address: NonZeroUsize,
    #[cfg(feature = "metrics")]
    /// Serve figures for Prometheus here, over HTTP at `/metrics`
    #[arg(long, value_name = "ADDR")]
    pub(crate) metrics: Option<SocketAddr>,
    #[cfg(feature = "qlog")]
    /// Write a qlog file of each connection to this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) qlog: Option<PathBuf>,
    /// The transform to encode with, as for `encode`
    #[arg(long, value_enum, default_value_t = Transform::Linear)]
    pub(crate) analysis: Transform,
    /// Of a video: loops at most, each coded for a part of the receivers where they are far apart [default: 1]
    #[arg(long, value_name = "N", value_parser = loops)]
    pub(crate) loops: Option<usize>,
    /// Print a line of JSON when listening, and one with statistics every second
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Receive {
    /// The sender: host and port
    #[arg(value_name = "ADDR")]
    pub(crate) address: String,
    /// A folder for PNG pictures, or `-` for y4m on standard output
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Trust the sender whose certificate has this SHA-256, as `nestcast send` shows it
    #[arg(long, value_name = "HEX", required_unless_present = "ca", conflicts_with = "ca")]
    pub(crate) fingerprint: Option<String>,
    /// Trust senders whose name one of these authorities vouches for, PEM
    #[arg(long, value_name = "PEM")]
    pub(crate) ca: Option<PathBuf>,
    /// The content of this file lets the receiver in
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Take no more than this: bits per second, or with k or M, as in 1.5M
    #[arg(long, value_name = "RATE", value_parser = bitrate)]
    pub(crate) max_bitrate: Option<u64>,
    /// The decoder
    #[arg(long, value_enum, default_value_t = Transform::Deep)]
    pub(crate) decoder: Transform,
    /// Do not ask the sender for its model if it is not here
    #[arg(long)]
    pub(crate) no_fetch_model: bool,
    /// Try again for so long while no picture comes, because the sender is not there, is full or fails; 0: try once
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(crate) retry: u32,
    /// The video or picture that is sent, to measure PSNR against
    #[arg(long, value_name = "SOURCE")]
    pub(crate) original: Option<PathBuf>,
    /// Print a line of JSON for each frame, and one with totals every second; on standard error if pictures go to `-`
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}
