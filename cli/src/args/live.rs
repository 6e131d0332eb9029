//! The words of `nestcast send` and `nestcast receive`.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use nestcast_codec::{Effort, FrameRate};
use nestcast_proto::Bitrate;
use nestcast_receiver::{Address, Latency, Trust};
use nestcast_sound::RawFormat;

use super::common::{Common, PictureCoding, Transform, count, fingerprint, time};
use super::relay::{Place, place};
use super::source::{Named, NamedSource, named};
use super::video::{MatrixChoice, effort, renditions};

#[derive(Debug, Args)]
pub(crate) struct Send {
    /// A y4m video, raw Matroska with or without sound, `-` for either on standard input, a stored video, which is sent
    /// as it is, a picture or a folder of pictures
    ///
    /// Several sources are several broadcasts at one address, each with a name: cam1=a.y4m cam2=b.y4m. An option that is
    /// for one of them has the name too, and may be given for each: --record cam1=a.nst --record cam2=b.nst
    #[arg(value_name = "[NAME=]SOURCE", required = true, value_parser = named::<PathBuf>)]
    pub(crate) sources: Vec<NamedSource>,
    /// The address to listen on; `[::]:4433` accepts receivers from anywhere
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4433", value_parser = address)]
    pub(crate) listen: SocketAddr,
    /// Start a video or a folder again when it ends
    #[arg(long)]
    pub(crate) repeat: bool,
    /// Keep the encoded video in this new file, as a stored video with capture times, even if nestcast is killed
    #[arg(long, value_name = "[NAME=]FILE.nst", value_parser = named::<PathBuf>)]
    pub(crate) record: Vec<NamedSource>,
    /// Let receivers of a live video begin up to this long ago, at most 12h: keep all of it that long in temporary files
    #[arg(long, value_name = "TIME", value_parser = kept_time)]
    pub(crate) rewind: Option<Duration>,
    /// The frame rate of a picture or a folder, up to 1000 a second, also as a fraction such as 1/5; a video has its
    /// own [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) rate: Option<FrameRate>,
    /// The certificate chain, PEM; without it nestcast makes a certificate and shows its fingerprint for receivers to
    /// trust
    #[arg(long, value_name = "PEM", requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// The certificate's private key, PEM
    #[arg(long, value_name = "PEM", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Accept only receivers that know this file's content
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    #[cfg(feature = "access")]
    #[command(flatten)]
    pub(crate) access: super::access::Access,
    /// The most receivers at once
    #[arg(long, value_name = "N", default_value = "1000", value_parser = count)]
    pub(crate) max_receivers: NonZeroUsize,
    /// Send each receiver at most this bit rate over time, in bits per second, or with k or M, as in 1.5M
    #[arg(long, value_name = "RATE")]
    pub(crate) max_bitrate: Option<Bitrate>,
    /// The most receivers at one address at once, for example behind one router (IPv6: in one network of 64 bits)
    #[arg(long, value_name = "N", default_value = "250", value_parser = count)]
    pub(crate) max_receivers_per_address: NonZeroUsize,
    /// Let browsers watch: serve the page for it at this address and print the link
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub(crate) web: Option<SocketAddr>,
    /// Let only pages of this origin connect, such as `https://example.org`, and the page of `--web`; may be given
    /// several times [default: any]
    #[arg(long, value_name = "ORIGIN", requires = "web", value_parser = origin)]
    pub(crate) web_origin: Vec<String>,
    #[cfg(feature = "moq")]
    #[command(flatten)]
    pub(crate) relay: super::relay::Relay,
    #[cfg(feature = "metrics")]
    /// Serve figures for Prometheus at this address, over HTTP at `/metrics`
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub(crate) metrics: Option<SocketAddr>,
    #[cfg(feature = "qlog")]
    /// Write a qlog file of each connection to this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) qlog: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) picture: PictureCoding,
    /// Video: encode up to N renditions in parallel, each for receivers of similar bandwidth [default: 1, and a second
    /// for a receiver whose link is too slow for the first]
    #[arg(long, value_name = "N", value_parser = renditions())]
    pub(crate) renditions: Option<usize>,
    /// Video: how long to search for motion [default: by the size and the frame rate, and less while the encoder lacks time]
    #[arg(long, value_parser = effort())]
    pub(crate) effort: Option<Effort>,
    #[command(flatten)]
    pub(crate) matrix: MatrixChoice,
    /// Sound with the pictures: a WAV or Ogg Opus file or pipe; Opus stays as it is
    #[arg(long, value_name = "[NAME=]FILE", value_parser = named::<PathBuf>)]
    pub(crate) sound: Vec<NamedSource>,
    /// The sound is raw samples of 16 bits with this rate and these channels, as in 48000:2
    #[arg(long, value_name = "[NAME=]HZ:CHANNELS", requires = "sound", value_parser = named::<RawFormat>)]
    pub(crate) sound_raw: Vec<Named<RawFormat>>,
    /// Encode sound at this bit rate, 16k to 128k
    #[arg(long, value_name = "RATE", default_value = "64k")]
    pub(crate) sound_bitrate: Bitrate,
    /// Print a line of JSON when listening, and one with statistics every second
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Receive {
    /// The sender: host and port, and the broadcast there if it has a name, as in HOST:PORT/cam1. With the feature `moq` also a broadcast at a relay: moq://HOST:PORT/NAME, or https for
    /// WebTransport
    #[arg(value_name = "HOST:PORT[/NAME]|URL", value_parser = place)]
    pub(crate) address: Place,
    /// A folder for PNG pictures, a y4m file, which appears when the broadcast ends or you press ctrl-c, `-` for y4m on
    /// standard output, or a new file CLIP.nst, which keeps what arrives as a stored video, without decoding it
    #[arg(short, long, value_name = "DIR|CLIP.y4m|CLIP.nst")]
    pub(crate) output: PathBuf,
    /// Write the sound that was heard to this WAV file, in step with the pictures, or play it: `-` for raw samples on
    /// standard output, 16 bits at 48 kHz in two channels
    #[arg(long, value_name = "FILE.wav|-")]
    pub(crate) sound: Option<PathBuf>,
    /// Begin this long after the beginning of a stored video, as in 1m30s, or about two seconds earlier
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) start: Option<Duration>,
    /// Begin this long ago in a live broadcast whose sender has `--rewind`, or in one of a stored video, and stay that much
    /// later. Press the return key, or send SIGUSR1, to go to where all others are; type - or + and the return key to go
    /// 30 s back or on, or -90 and the like; also with `--start`
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with = "start")]
    pub(crate) rewind: Option<Duration>,
    #[command(flatten)]
    pub(crate) trusted: Trusted,
    /// A file whose content the sender asks for, or a relay; nestcast reads a sender's again for each connection
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Receive at most this bit rate over time, in bits per second, or with k or M, as in 1.5M
    #[arg(long, value_name = "RATE")]
    pub(crate) max_bitrate: Option<Bitrate>,
    /// The decoder [default: for pictures deep, or linear where ONNX Runtime is missing; for video linear]
    #[arg(long, value_enum)]
    pub(crate) decoder: Option<Transform>,
    /// How long to delay frames so that they are shown as evenly as they were captured: min, not at all; smooth, as
    /// little as keeps them even; or this many milliseconds after the earliest moment, up to 400
    #[arg(long, value_name = "min|smooth|MS", default_value = "smooth")]
    pub(crate) latency: Latency,
    /// Do not ask the sender for its model if this machine lacks it
    #[arg(long)]
    pub(crate) no_fetch_model: bool,
    /// Connect again for this long, and at least once, while the sender is absent, full or failing and no picture
    /// arrives; 0: try only once
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(crate) retry: u32,
    /// Wait for the broadcast to begin and, when it ends or breaks off, for the next one, until you press ctrl-c; not
    /// together with --retry
    #[arg(long, conflicts_with = "retry")]
    pub(crate) wait: bool,
    /// The video or picture that the sender sends, to measure PSNR against
    #[arg(long, value_name = "SOURCE", requires = "json")]
    pub(crate) original: Option<PathBuf>,
    /// Print a line of JSON for each frame, and one with totals every second; on standard error if pictures go to `-`; for
    /// a stored video, one at the end
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Which sender the receiver trusts.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Trusted {
    /// Trust the sender whose certificate has this SHA-256, as `nestcast send` shows it
    #[arg(long, value_name = "HEX", value_parser = fingerprint)]
    fingerprint: Option<Trust>,
    /// Trust senders whose name one of these authorities certifies, PEM
    #[arg(long, value_name = "PEM")]
    ca: Option<PathBuf>,
}

impl Trusted {
    pub(crate) fn trust(&self) -> Trust {
        let authorities = || Trust::Authorities(self.ca.clone().expect("one of the group is there"));
        self.fingerprint.clone().unwrap_or_else(authorities)
    }
}

fn kept_time(text: &str) -> Result<Duration, String> {
    let most = Duration::from_secs(12 * 3600);
    let time = time(text).map_err(|error| error.to_string())?;
    if time <= most { Ok(time) } else { Err("12h is the longest".to_owned()) }
}

pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let zoned = || text.contains('%').then(|| text.parse::<Address>().ok()?.look_up().into_iter().next()).flatten();
    let address = text.parse().ok().or_else(zoned);
    address.ok_or_else(|| {
        "give an IP address and a port, as in [::]:4433, 127.0.0.1:4433 or [fe80::1%eth0]:4433".to_owned()
    })
}

fn origin(text: &str) -> Result<String, String> {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).unwrap_or_default();
    let is_host = !host.is_empty() && !host.contains(['/', '?', '#', '@', '*']) && !host.contains(char::is_whitespace);
    is_host
        .then(|| text.to_owned())
        .ok_or_else(|| "give a scheme and a host without a path, as in https://example.org".to_owned())
}
