//! Control messages (spec, "Messages"): what each end says about itself before frames flow.

use std::fmt;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use crate::wire::broadcast_name::BroadcastName;
use crate::wire::close::{Close, Code, SHORT_MESSAGE};
use crate::wire::limits::{MAX_SIDE, MAX_TOKEN};
use crate::wire::sound::Sound;
use crate::wire::start::Start;
use crate::wire::varint::{Reader, put_bytes, put_varint};
use crate::wire::version::VersionRange;
use nestcast_units::{Bitrate, FrameRate};

const HELLO_TYPE: u64 = 1;
const WELCOME_TYPE: u64 = 2;
const MODEL_REQUEST: u64 = 3;
const RANDOM_ACCESS_REQUEST: u64 = 4;
const CLOCK_TYPE: u64 = 5;
const SOUND_TYPE: u64 = 6;
const SOUND_REQUEST: u64 = 7;
const START_TYPE: u64 = 8;

/// How a receiver decodes; a sender may count them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DecoderKind {
    /// By plain arithmetic.
    Linear,
    /// By networks.
    Deep,
    /// In a way that this build does not know, with its number on the wire.
    Other(u64),
}

impl DecoderKind {
    const fn number(self) -> u64 {
        match self {
            Self::Linear => 0,
            Self::Deep => 1,
            Self::Other(number) => number,
        }
    }

    const fn from_number(number: u64) -> Self {
        match number {
            0 => Self::Linear,
            1 => Self::Deep,
            other => Self::Other(other),
        }
    }
}

/// A receiver's first message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The session versions that it speaks; the sender chooses one.
    pub versions: VersionRange,
    /// The token that admits it; empty if it has none. At most [`MAX_TOKEN`] bytes.
    pub token: Bytes,
    /// The receiver's cap: the highest mean rate that it wants (spec, "Bandwidth").
    pub max_bitrate: Option<Bitrate>,
    /// How it decodes.
    pub decoder: DecoderKind,
    /// Which of the sender's broadcasts it wants; the empty name if the sender has one alone.
    pub broadcast: BroadcastName,
    /// Where it begins; `None` where all others are.
    pub start: Option<Start>,
}

/// A model package's name: the SHA-256 of its manifest, which contains the SHA-256 of every file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PackageHash(pub [u8; 32]);

impl fmt::Display for PackageHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A sender's announcement, once, after a hello.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Welcome {
    /// The model id of every picture's stream; for video, that of frames predicted from nothing. It names only the
    /// tables.
    pub model: [u8; 6],
    /// The package with these tables and their networks; zeros for video.
    pub package: PackageHash,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// The frame rate.
    pub rate: FrameRate,
    /// The announcement of video, whose frames are predicted from earlier ones; `None` if every frame is an independent
    /// picture.
    pub video: Option<Video>,
}

/// The additional announcement of a sender of video.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Video {
    /// The model id of the residuals of predicted frames; [`Welcome::model`] is for the other frames.
    pub residual: [u8; 6],
    /// What samples mean and how to show frames: the byte of a stored video's header (bitstream.md, "Stored video").
    /// The session does not depend on it.
    pub signal: u8,
    /// Width and height of a pixel, in proportion, each in 1..=65535; equal unless `signal` says that they are not.
    pub aspect: [u16; 2],
    /// Bits of a sample in the source, 8..=16. Frames do not depend on it: a receiver may show any number of bits.
    pub bits: u8,
}

impl Video {
    /// The bit of [`Video::signal`] that says that an aspect follows.
    const ASPECT_BIT: u8 = 1 << 6;

    /// The bits of a sample that a Welcome need not state.
    pub const USUAL_BITS: u8 = 8;
    /// The most bits of a sample.
    pub const MAX_BITS: u8 = 16;

    /// Announces video of limited range by BT.601 of 8 bits a sample, with square pixels.
    #[must_use]
    pub const fn new(residual: [u8; 6]) -> Self {
        Self { residual, signal: 0, aspect: [1, 1], bits: Self::USUAL_BITS }
    }

    /// Returns whether a signal has no reserved value: bit 7, and 3 as the siting in bits 2 and 3.
    const fn is_known(signal: u8) -> bool {
        signal >> 7 == 0 && signal >> 2 & 3 != 3
    }
}

impl Welcome {
    /// Returns the time from one frame to the next.
    #[must_use]
    pub fn interval(&self) -> Duration {
        self.rate.interval()
    }
}

/// Asks for a model package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRequest {
    /// The package that the welcome named.
    pub package: PackageHash,
}

/// Asks for a [random-access frame](crate::RandomAccessFrame): a receiver of video cannot decode the next frames from
/// what it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomAccessRequest {
    /// The number of the newest frame that it lacks.
    pub lost: u64,
}

/// The sender's clock at the time of sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// Microseconds since 1970-01-01 UTC, the unit of frames' capture times.
    pub micros: u64,
}

/// Asks for the sound that the sender announced, or for no more of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SoundRequest {
    /// Whether the receiver plays sound from now on.
    pub wanted: bool,
}

/// A message of the control stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Message {
    /// The receiver's first message.
    Hello(Hello),
    /// The sender's first message.
    Welcome {
        /// The session version that the sender chose, for both ends from now on.
        version: u64,
        /// The broadcast's announcement.
        welcome: Welcome,
    },
    /// From receiver to sender.
    ModelRequest(ModelRequest),
    /// From receiver to sender.
    RandomAccessRequest(RandomAccessRequest),
    /// From sender to receiver, after the welcome.
    Clock(Clock),
    /// From sender to receiver, between the welcome and the clock: the broadcast has this sound.
    Sound(Sound),
    /// From receiver to sender.
    SoundRequest(SoundRequest),
    /// From sender to receiver, between the welcome and the clock, if the hello asked for a start: where the receiver
    /// begins; `None` where all others are.
    Start(Option<Start>),
}

impl Message {
    /// Encodes the message for the wire: type, length, body.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut body = BytesMut::new();
        let kind = match self {
            Self::Hello(hello) => {
                hello.versions.write(&mut body);
                put_bytes(&mut body, &hello.token);
                put_varint(&mut body, hello.max_bitrate.map_or(0, Bitrate::bits));
                put_varint(&mut body, hello.decoder.number());
                put_bytes(&mut body, hello.broadcast.as_str().as_bytes());
                if hello.start.is_some() {
                    Start::write(hello.start, &mut body);
                }
                HELLO_TYPE
            }
            Self::Welcome { version, welcome } => {
                put_varint(&mut body, *version);
                put_bytes(&mut body, &welcome.model);
                put_bytes(&mut body, &welcome.package.0);
                for number in [welcome.width, welcome.height, welcome.rate.frames(), welcome.rate.seconds()] {
                    put_varint(&mut body, u64::from(number));
                }
                put_varint(&mut body, u64::from(welcome.video.is_some()));
                if let Some(video) = welcome.video {
                    put_bytes(&mut body, &video.residual);
                    put_varint(&mut body, u64::from(video.signal));
                    if video.signal & Video::ASPECT_BIT != 0 {
                        video.aspect.iter().for_each(|side| put_varint(&mut body, u64::from(*side)));
                    }
                    // A field after it would need it in any case.
                    if video.bits > Video::USUAL_BITS {
                        put_varint(&mut body, u64::from(video.bits));
                    }
                }
                WELCOME_TYPE
            }
            Self::ModelRequest(request) => {
                put_bytes(&mut body, &request.package.0);
                MODEL_REQUEST
            }
            Self::RandomAccessRequest(request) => {
                put_varint(&mut body, request.lost);
                RANDOM_ACCESS_REQUEST
            }
            Self::Clock(clock) => {
                put_varint(&mut body, clock.micros);
                CLOCK_TYPE
            }
            Self::Sound(sound) => {
                sound.write(&mut body);
                SOUND_TYPE
            }
            Self::SoundRequest(request) => {
                put_varint(&mut body, u64::from(request.wanted));
                SOUND_REQUEST
            }
            Self::Start(start) => {
                Start::write(*start, &mut body);
                START_TYPE
            }
        };
        let mut out = BytesMut::with_capacity(body.len() + 4);
        put_varint(&mut out, kind);
        put_bytes(&mut out, &body);
        out.freeze()
    }

    /// Reads a body of the given type; returns `None` for a type or a sound that this build does not know. Skips bytes after the
    /// fields that it knows.
    ///
    /// # Errors
    /// [`Code::Version`] for a hello without a version that this build speaks, [`Code::Unsupported`] for a broadcast
    /// that it cannot show, [`Code::Violation`] for a broken rule.
    pub(crate) fn decode(kind: u64, body: &[u8]) -> Result<Option<Self>, Close> {
        let mut reader = Reader::new(body);
        let message = match kind {
            HELLO_TYPE => Self::Hello(hello(&mut reader)?),
            WELCOME_TYPE => Self::Welcome { version: version(&mut reader)?, welcome: welcome(&mut reader)? },
            MODEL_REQUEST => Self::ModelRequest(ModelRequest { package: package(&mut reader)? }),
            RANDOM_ACCESS_REQUEST => {
                Self::RandomAccessRequest(RandomAccessRequest { lost: reader.varint().ok_or(SHORT_MESSAGE)? })
            }
            CLOCK_TYPE => Self::Clock(Clock { micros: reader.varint().ok_or(SHORT_MESSAGE)? }),
            SOUND_TYPE => match Sound::read(&mut reader)? {
                Some(sound) => Self::Sound(sound),
                None => return Ok(None),
            },
            SOUND_REQUEST => Self::SoundRequest(SoundRequest { wanted: reader.varint().ok_or(SHORT_MESSAGE)? == 1 }),
            START_TYPE => Self::Start(Start::read(&mut reader)?),
            _ => return Ok(None),
        };
        Ok(Some(message))
    }
}

fn hello(reader: &mut Reader<'_>) -> Result<Hello, Close> {
    let versions = VersionRange::read(reader)?;
    if versions.common(VersionRange::SPOKEN).is_none() {
        return Err(Close { code: Code::Version, why: "the peer speaks other versions of the session" });
    }
    let token = reader.bytes().ok_or(SHORT_MESSAGE)?;
    if token.len() > MAX_TOKEN {
        return Err(Close::violation("a token is too long"));
    }
    let cap = reader.varint().ok_or(SHORT_MESSAGE)?;
    let decoder = DecoderKind::from_number(reader.varint().ok_or(SHORT_MESSAGE)?);
    let max_bitrate = (cap > 0).then_some(Bitrate::from_bits(cap));
    let broadcast = str::from_utf8(reader.bytes().ok_or(SHORT_MESSAGE)?).ok().and_then(|name| name.parse().ok());
    let broadcast = broadcast.ok_or(Close::violation("a hello asks for a broadcast with a name that is none"))?;
    let start = Start::read_of_hello(reader)?;
    Ok(Hello { versions, token: Bytes::copy_from_slice(token), max_bitrate, decoder, broadcast, start })
}

fn welcome(reader: &mut Reader<'_>) -> Result<Welcome, Close> {
    let model = model_id(reader)?;
    let package = package(reader)?;
    let mut number = |most: u32| -> Result<u32, Close> {
        let number = reader.varint().ok_or(SHORT_MESSAGE)?;
        let fits = u32::try_from(number).ok().filter(|number| (1..=most).contains(number));
        fits.ok_or(Close::violation("a welcome has a number out of range"))
    };
    let [width, height] = [number(MAX_SIDE)?, number(MAX_SIDE)?];
    let [frames, seconds] = [number(FrameRate::MAX_TERM)?, number(FrameRate::MAX_TERM)?];
    let rate = FrameRate::new(frames, seconds);
    let rate = rate.map_err(|_| Close::violation("a welcome announces more than 1000 frames a second"))?;
    Ok(Welcome { model, package, width, height, rate, video: video(reader)? })
}

fn video(reader: &mut Reader<'_>) -> Result<Option<Video>, Close> {
    if !flag(reader, "the sender announces frames of a kind that this receiver does not know")? {
        return Ok(None);
    }
    let residual = model_id(reader)?;
    let signal = u8::try_from(reader.varint().ok_or(SHORT_MESSAGE)?).ok().filter(|signal| Video::is_known(*signal));
    let why = "the sender announces samples of a kind that this receiver does not know";
    let signal = signal.ok_or(Close { code: Code::Unsupported, why })?;
    let mut video = Video { signal, ..Video::new(residual) };
    if signal & Video::ASPECT_BIT != 0 {
        for side in &mut video.aspect {
            let number = u16::try_from(reader.varint().ok_or(SHORT_MESSAGE)?).ok().filter(|side| *side > 0);
            *side = number.ok_or(Close::violation("a welcome has an aspect out of range"))?;
        }
    }
    // A number of a later version says nothing to this one.
    let bits = reader.varint().and_then(|bits| u8::try_from(bits).ok());
    video.bits = bits.filter(|bits| (9..=Video::MAX_BITS).contains(bits)).unwrap_or(Video::USUAL_BITS);
    Ok(Some(video))
}

/// Reads one of two values; later versions may give others a meaning.
fn flag(reader: &mut Reader<'_>, why: &'static str) -> Result<bool, Close> {
    match reader.varint().ok_or(SHORT_MESSAGE)? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Close { code: Code::Unsupported, why }),
    }
}

fn model_id(reader: &mut Reader<'_>) -> Result<[u8; 6], Close> {
    let id = reader.bytes().ok_or(SHORT_MESSAGE)?;
    id.try_into().map_err(|_| Close::violation("a model id is not 6 bytes"))
}

/// Reads the version that a sender chose.
fn version(reader: &mut Reader<'_>) -> Result<u64, Close> {
    let version = reader.varint().ok_or(SHORT_MESSAGE)?;
    if !VersionRange::SPOKEN.contains(version) {
        return Err(Close::violation("the sender chose a version of the session that was not offered"));
    }
    Ok(version)
}

fn package(reader: &mut Reader<'_>) -> Result<PackageHash, Close> {
    package_hash(reader.bytes().ok_or(SHORT_MESSAGE)?)
}

/// Reads a hash of exactly 32 bytes.
pub(crate) fn package_hash(bytes: &[u8]) -> Result<PackageHash, Close> {
    bytes.try_into().map(PackageHash).map_err(|_| Close::violation("a model package's hash is not 32 bytes"))
}
