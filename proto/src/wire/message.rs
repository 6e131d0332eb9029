//! Control messages (spec, "Messages"): what each end says of itself before frames flow.

use std::fmt;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use crate::bitrate::Bitrate;
use crate::wire::close::{Close, Code, SHORT};
use crate::wire::limits::{MAX_SIDE, MAX_TOKEN};
use crate::wire::varint::{Reader, put_bytes, put_varint};
use crate::wire::version::VersionRange;

const HELLO: u64 = 1;
const WELCOME: u64 = 2;
const MODEL_REQUEST: u64 = 3;
const JOIN_REQUEST: u64 = 4;
const CLOCK: u64 = 5;

/// How a receiver decodes; a sender may count them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DecoderKind {
    /// Plain arithmetic.
    Linear,
    /// With networks.
    Deep,
    /// In a way that this build does not know, by its number on the wire.
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

/// A receiver's first words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The versions of the session that it speaks; the sender chooses one.
    pub versions: VersionRange,
    /// What lets it in; empty if it has none. At most [`MAX_TOKEN`] bytes.
    pub token: Bytes,
    /// The most that it wants, over time (spec, "Bandwidth").
    pub max_bitrate: Option<Bitrate>,
    /// How it decodes.
    pub decoder: DecoderKind,
}

/// A model package's name: the SHA-256 of its manifest, which has the SHA-256 of every file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PackageHash(pub [u8; 32]);

impl fmt::Display for PackageHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What a sender announces, once, after a hello.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Welcome {
    /// The model id that every picture's stream has, and of video that of frames predicted from nothing: of the tables
    /// alone.
    pub model: [u8; 6],
    /// The package with these tables and the networks that go with them; zeros for video.
    pub package: PackageHash,
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Frames in `rate.1` seconds; both at least 1.
    pub rate: (u32, u32),
    /// Frames are video, each predicted from those before; `None`: every one is a picture by itself.
    pub video: Option<Video>,
}

/// What a sender of video announces besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Video {
    /// The model id of the residuals of predicted frames; [`Welcome::model`] is that of the others.
    pub residual: [u8; 6],
    /// What samples mean and how frames are to be shown: the byte of a stored video's header (bitstream.md, "Stored video"). The session
    /// does not depend on it.
    pub signal: u8,
    /// Width and height of a pixel, in proportion, each in 1..=65535; equal unless `signal` says that they are not.
    pub aspect: [u16; 2],
}

impl Video {
    /// The bit of [`Video::signal`] that an aspect follows.
    const ASPECT: u8 = 1 << 6;

    /// Video of limited range by BT.601, with square pixels.
    #[must_use]
    pub const fn new(residual: [u8; 6]) -> Self {
        Self { residual, signal: 0, aspect: [1, 1] }
    }

    /// Whether no value of a signal is reserved: bit 7, and 3 as the siting in bits 2 and 3.
    const fn is_known(signal: u8) -> bool {
        signal >> 7 == 0 && signal >> 2 & 3 != 3
    }
}

impl Welcome {
    /// The time from one frame to the next.
    #[must_use]
    pub fn interval(&self) -> Duration {
        let (frames, seconds) = self.rate;
        Duration::from_secs(u64::from(seconds)) / frames.max(1)
    }
}

/// Asks for a model package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRequest {
    /// The one that the welcome named.
    pub package: PackageHash,
}

/// Asks for a [`Join`](crate::Join): what a receiver of video has does not serve to decode what comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JoinRequest {
    /// The number of the newest frame that it lacks.
    pub lost: u64,
}

/// What the sender's clock says when this is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// Microseconds since 1970-01-01 UTC, as frames have the moment of their capture.
    pub micros: u64,
}

/// A message of the control stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Message {
    /// Receiver to sender, first.
    Hello(Hello),
    /// Sender to receiver, first.
    Welcome {
        /// The version of the session that the sender chose, for both ends from now on.
        version: u64,
        /// What it broadcasts.
        welcome: Welcome,
    },
    /// Receiver to sender.
    ModelRequest(ModelRequest),
    /// Receiver to sender.
    JoinRequest(JoinRequest),
    /// Sender to receiver, behind the welcome.
    Clock(Clock),
}

impl Message {
    /// The message as it goes over the wire: type, length, body.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut body = BytesMut::new();
        let kind = match self {
            Self::Hello(hello) => {
                hello.versions.write(&mut body);
                put_bytes(&mut body, &hello.token);
                put_varint(&mut body, hello.max_bitrate.map_or(0, Bitrate::bits));
                put_varint(&mut body, hello.decoder.number());
                HELLO
            }
            Self::Welcome { version, welcome } => {
                put_varint(&mut body, *version);
                put_bytes(&mut body, &welcome.model);
                put_bytes(&mut body, &welcome.package.0);
                for number in [welcome.width, welcome.height, welcome.rate.0, welcome.rate.1] {
                    put_varint(&mut body, u64::from(number));
                }
                put_varint(&mut body, u64::from(welcome.video.is_some()));
                if let Some(video) = welcome.video {
                    put_bytes(&mut body, &video.residual);
                    put_varint(&mut body, u64::from(video.signal));
                    if video.signal & Video::ASPECT != 0 {
                        video.aspect.iter().for_each(|side| put_varint(&mut body, u64::from(*side)));
                    }
                }
                WELCOME
            }
            Self::ModelRequest(request) => {
                put_bytes(&mut body, &request.package.0);
                MODEL_REQUEST
            }
            Self::JoinRequest(request) => {
                put_varint(&mut body, request.lost);
                JOIN_REQUEST
            }
            Self::Clock(clock) => {
                put_varint(&mut body, clock.micros);
                CLOCK
            }
        };
        let mut out = BytesMut::with_capacity(body.len() + 4);
        put_varint(&mut out, kind);
        put_bytes(&mut out, &body);
        out.freeze()
    }

    /// Reads a body of the given type; gives `None` for a type that this build does not know. Skips what follows the fields
    /// that it knows.
    ///
    /// # Errors
    /// [`Code::Version`] for a hello without a version that this build speaks, [`Code::Unsupported`] for a broadcast that it
    /// cannot show, [`Code::Violation`] for a broken rule.
    pub(crate) fn decode(kind: u64, body: &[u8]) -> Result<Option<Self>, Close> {
        let mut reader = Reader::new(body);
        let message = match kind {
            HELLO => Self::Hello(hello(&mut reader)?),
            WELCOME => Self::Welcome { version: version(&mut reader)?, welcome: welcome(&mut reader)? },
            MODEL_REQUEST => Self::ModelRequest(ModelRequest { package: package(&mut reader)? }),
            JOIN_REQUEST => Self::JoinRequest(JoinRequest { lost: reader.varint().ok_or(SHORT)? }),
            CLOCK => Self::Clock(Clock { micros: reader.varint().ok_or(SHORT)? }),
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
    let token = reader.bytes().ok_or(SHORT)?;
    if token.len() > MAX_TOKEN {
        return Err(Close::violation("a token is too long"));
    }
    let cap = reader.varint().ok_or(SHORT)?;
    let decoder = DecoderKind::from_number(reader.varint().ok_or(SHORT)?);
    let max_bitrate = (cap > 0).then_some(Bitrate::from_bits(cap));
    Ok(Hello { versions, token: Bytes::copy_from_slice(token), max_bitrate, decoder })
}

fn welcome(reader: &mut Reader<'_>) -> Result<Welcome, Close> {
    let model = model_id(reader)?;
    let package = package(reader)?;
    let mut number = |most: u32| -> Result<u32, Close> {
        let number = reader.varint().ok_or(SHORT)?;
        let fits = u32::try_from(number).ok().filter(|number| (1..=most).contains(number));
        fits.ok_or(Close::violation("a welcome has a number out of range"))
    };
    let ([width, height], rate) = ([number(MAX_SIDE)?, number(MAX_SIDE)?], (number(1_000_000)?, number(1_000_000)?));
    Ok(Welcome { model, package, width, height, rate, video: video(reader)? })
}

fn video(reader: &mut Reader<'_>) -> Result<Option<Video>, Close> {
    if !flag(reader, "the sender announces frames of a kind that this receiver does not know")? {
        return Ok(None);
    }
    let residual = model_id(reader)?;
    let signal = u8::try_from(reader.varint().ok_or(SHORT)?).ok().filter(|signal| Video::is_known(*signal));
    let why = "the sender announces samples of a kind that this receiver does not know";
    let signal = signal.ok_or(Close { code: Code::Unsupported, why })?;
    let mut video = Video { residual, signal, aspect: [1, 1] };
    if signal & Video::ASPECT != 0 {
        for side in &mut video.aspect {
            let number = u16::try_from(reader.varint().ok_or(SHORT)?).ok().filter(|side| *side > 0);
            *side = number.ok_or(Close::violation("a welcome has an aspect out of range"))?;
        }
    }
    Ok(Some(video))
}

/// One of two values; others are of broadcasts that later versions may have.
fn flag(reader: &mut Reader<'_>, why: &'static str) -> Result<bool, Close> {
    match reader.varint().ok_or(SHORT)? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Close { code: Code::Unsupported, why }),
    }
}

fn model_id(reader: &mut Reader<'_>) -> Result<[u8; 6], Close> {
    let id = reader.bytes().ok_or(SHORT)?;
    id.try_into().map_err(|_| Close::violation("a model id is not 6 bytes"))
}

/// The version that a sender chose.
fn version(reader: &mut Reader<'_>) -> Result<u64, Close> {
    let version = reader.varint().ok_or(SHORT)?;
    if !VersionRange::SPOKEN.contains(version) {
        return Err(Close::violation("the sender chose a version of the session that was not offered"));
    }
    Ok(version)
}

fn package(reader: &mut Reader<'_>) -> Result<PackageHash, Close> {
    package_hash(reader.bytes().ok_or(SHORT)?)
}

/// A hash of the one length that it has.
pub(crate) fn package_hash(bytes: &[u8]) -> Result<PackageHash, Close> {
    bytes.try_into().map(PackageHash).map_err(|_| Close::violation("a model package's hash is not 32 bytes"))
}
