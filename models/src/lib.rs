//! nestcast's transforms with networks: model packages, and ONNX Runtime wrapped in plain types.
//!
//! ```
//! use nestcast_codec::{Channels, Codec, Decoder, Picture, Size};
//! use nestcast_models::{Package, Runtime};
//!
//! let samples = (0..64 * 48).flat_map(|i| [(i % 64 * 4) as u8, (i / 64 * 5) as u8, 99]).collect();
//! let picture = Picture::new(Size::new(64, 48)?, Channels::Rgb, samples)?;
//!
//! // A package is sound or it is an error: every file matches its manifest.
//! let package = Package::find("photo")?;
//! let codec = Codec::with(package.deep(&Runtime::open()?, 2)?);
//! let stream = codec.encode(&picture)?;
//!
//! // Any prefix is a picture, with or without networks.
//! for mut decoder in [codec.decoder(), Decoder::new(package.linear(2))] {
//!     decoder.push(&stream.prefix(stream.bytes().len() / 2))?;
//!     assert_eq!(decoder.render()?.size(), picture.size());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! If you only decode, load [`Package::deep_synthesis`] alone; if you only encode, [`Package::deep_analysis`], or
//! [`Package::masked_analysis`] for the network for activity masking alone, with
//! [`Encoder::with_activity_masking`](nestcast_codec::Encoder::with_activity_masking) of the strength
//! [`Package::activity_masking`]. Networks never decide a stream's meaning: two machines may differ in a pixel's last
//! bit, never in the order of bytes.

#[cfg(feature = "codes")]
pub mod codes;
mod deep;
mod frames;
pub mod graph;
#[cfg(feature = "kept")]
mod kept;
mod library;
pub mod onnx;
mod package;
#[cfg(feature = "kept")]
mod packages;
pub mod runtime;
mod tensor;

pub use deep::{Composed, Deep, DeepAnalysis, DeepSynthesis};
pub use frames::{DeepFrames, VideoManifest, VideoPackage, VideoRanges};
#[cfg(feature = "kept")]
pub use kept::{KeepError, KeptPackages};
pub use package::{
    EncoderDefaults, Fault, GainPorts, Golden, Manifest, Networks, Package, PackageError, PackageSource, Ports, Ranges,
    Transform,
};
#[cfg(feature = "kept")]
pub use packages::{FetchError, Packages, Wanted};
pub use runtime::{Runtime, RuntimeError};
