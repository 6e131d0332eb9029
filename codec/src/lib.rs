//! The ordered, embedded picture codec of nestcast: no I/O, no clock, no network.
//!
//! A picture is encoded once into one byte stream. You can cut the stream at any byte after its header of at most 22
//! bytes: the prefix decodes to a full picture, and more bytes make it better, with rare exceptions.
//! `spec/bitstream.md` defines the bytes.
//!
//! ```text
//! Picture -> Analysis -> Coefficients -> quantise -> Levels -> coding passes -> Stream (bytes)
//! Picture <- Synthesis <- Coefficients <- dequantise <- Levels <- Decoder <- any prefix
//! ```
//!
//! ```
//! use nestcast_codec::{Codec, Format, Picture, Size};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let size = Size::new(80, 60)?;
//! # let samples = (0..60).flat_map(|y| (0..80).map(move |x| (x + 2 * y) as u8)).collect();
//! # let mut picture = Picture::new(size, Format::Grey, samples)?;
//! let codec = Codec::photo();
//! let stream = codec.encode(&picture)?; // once
//! let mut decoder = codec.decoder();
//! decoder.push(&stream.prefix(60))?; // what came of it so far
//! decoder.render_into(&mut picture)?;
//! # Ok(())
//! # }
//! ```
//!
//! An [`Encoder`] and a [`Decoder`] keep their memory from one picture to the next; [`Decoder::reset`] begins another
//! stream. You can lend pictures with a stride ([`View`], [`ViewMut`]): interleaved RGB, grey, or planar YCbCr 4:2:0.
//!
//! The bytes depend on the picture and on a [`Model`], the tables of a trained model package. The transforms are
//! traits, each for one model: [`Linear`] implements both in plain Rust, the crate `nestcast-models` with networks.
//!
//! ```
//! use nestcast_codec::{Channels, Codec, Linear, Model, Picture, Progress, Size};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A small picture: a diagonal ramp.
//! let size = Size::new(80, 60)?;
//! let samples = (0..60).flat_map(|y| (0..80).map(move |x| (x + 2 * y) as u8)).collect();
//! let picture = Picture::new(size, Channels::Grey, samples)?;
//!
//! // Encode once, here on two threads ...
//! let codec = Codec::with(Linear::new(Model::photo()).with_threads(2));
//! let stream = codec.encode(&picture)?;
//!
//! // ... cut anywhere: a receiver renders whatever came so far.
//! let mut decoder = codec.decoder();
//! decoder.push(&stream.prefix(60))?;
//! let early = decoder.render()?;
//! decoder.push(&stream.bytes()[60..])?;
//! assert_eq!(decoder.progress(), Progress::Complete);
//! let late = decoder.render()?;
//!
//! let error = |decoded: &Picture| -> u64 {
//!     let pairs = picture.samples().iter().zip(decoded.samples());
//!     pairs.map(|(&a, &b)| u64::from(a.abs_diff(b)).pow(2)).sum()
//! };
//! assert!(error(&late) < error(&early));
//! # Ok(())
//! # }
//! ```
//!
//! # Video
//!
//! [`VideoEncoder`] predicts each frame from those before, and codes the residual as an embedded bitstream too. Every
//! receiver can cut every frame anywhere after its base without lasting drift, because blocks are refreshed in turn.
//!
//! ```
//! use nestcast_codec::{Format, FrameRate, Picture, Population, Ycbcr, Size};
//! use nestcast_codec::{VideoDecoder, VideoEncoder, VideoModel, VideoSettings};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let size = Size::new(64, 48)?;
//! let rate = FrameRate::new(30, 1)?;
//! // For receivers of 50 to 800 kbit/s.
//! let population = Population::log_uniform("50k".parse()?..="800k".parse()?);
//! let settings = VideoSettings { size, rate, population, threads: 1 };
//! let mut encoder = VideoEncoder::new(VideoModel::built_in(), settings);
//! let mut decoder = VideoDecoder::new(VideoModel::built_in(), size, 1);
//! let mut picture = Picture::zero(size, Format::Ycbcr420(Ycbcr::BT601));
//! for _ in 0..3 {
//!     let frame = encoder.encode(&picture)?; // once
//!     decoder.decode(&frame.bytes[..frame.base])?; // what a slow receiver gets of it
//!     decoder.render_into(&mut picture)?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Untrusted streams
//!
//! [`Decoder::push`] accepts any bytes and never panics. It refuses what the specification calls corrupt, with an
//! [`Error`] that says who must act, and allocates memory only for pictures up to [`Decoder::with_max_pixels`]. A short
//! stream is not an error: [`Progress`] says how far it reaches.

mod bitplane;
mod codec;
mod colour;
mod entropy;
mod error;
mod linear;
mod model;
mod motion;
mod observer;
mod parallel;
mod picture;
mod post_filter;
mod residual;
mod scratch;
mod simd;
mod stream;
mod subband;
pub mod tables;
#[cfg(feature = "training")]
mod training;
mod transform;
mod video;
mod wavelet;

pub use codec::Codec;
pub use colour::axes::Axes;
pub use colour::planes::Planes;
pub use error::{Error, ModelId, Quantity};
pub use linear::Linear;
pub use model::Model;
pub use motion::search::search_parameters::Effort;
pub use nestcast_units::{Bitrate, BitrateError, FrameRate, FrameRateError};
pub use observer::{Moment, Observer, Stage};
pub use parallel::Threads;
pub use picture::{Channels, Format, MAX_SIDE, Matrix, Picture, Plane, PlaneMut, Range, Size, View, ViewMut, Ycbcr};
pub use post_filter::table::PostFilter;
pub use stream::decoder::{DEFAULT_MAX_PIXELS, DecodeError, Decoder, Progress};
pub use stream::encoded::Stream;
pub use stream::encoder::{EncodeError, Encoder};
pub use stream::header::{AlphaPlanes, Header, MAX_HEADER, Parsed};
pub use subband::coefficients::Coefficients;
pub use subband::layout::{Band, SUBBAND_COUNT, Subband, WAVELET_LEVELS};
pub use subband::region_activity::RegionActivity;
#[cfg(feature = "training")]
pub use training::post_filter::FilterFit;
#[cfg(feature = "training")]
pub use training::symbols::{SliceSymbols, Symbol};
#[cfg(feature = "training")]
pub use training::tally::Tally;
#[cfg(feature = "training")]
pub use training::video::MotionTally;
pub use transform::{Analysis, Position, Synthesis, TransformError};
pub use video::base_layer::{BaseLayerDecoder, MIN_RANDOM_ACCESS_BYTES};
pub use video::budget::Budget;
pub use video::container::{BlockKind, RecordHead, VideoFile, VideoHeader, VideoIndex, VideoWriter};
pub use video::decoder::{DecodedPart, VideoDecoder};
pub use video::display::{Display, Scan, Siting};
pub use video::encoder::VideoEncoder;
pub use video::frame::CodedFrame;
pub use video::head::FrameHead;
pub use video::model::VideoModel;
pub use video::population::Population;
pub use video::rendition_rates::{MAX_RENDITIONS, RenditionRates};
pub use video::renditions::VideoRenditions;
pub use video::residuals::{FrameResidualDecoder, FrameResiduals};
pub use video::restoration::{DecodedFrame, DecodingConditions, Restoration};
pub use video::settings::VideoSettings;
pub use video::sound_block::SoundRecord;
pub use video::switch::Switch;
