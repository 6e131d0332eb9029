//! The package of video: tables, and a network that corrects the frames that are decoded with them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use nestcast_codec::{Model, VideoModel, tables};
use serde::Deserialize;

use super::blocks::{BLOCK_CHANNELS, BLOCK_SAMPLES, BLOCK_SIDE};
use super::network::{CONDITION_NUMBERS, CORRECTION_PORT, DeepFrames, FRAME_PORT, TOLD_PORT};
use crate::deep::LONGEST_OUTER;
use crate::graph::{self, Operand, Signature};
use crate::package::files::{self, Bytes, MANIFEST_FILE, MAX_MANIFEST};
use crate::package::{Fault, PackageError, PackageSource, manifest};
use crate::runtime::Runtime;

const KEY_FILE: &str = "key.bin";
const RESIDUAL_FILE: &str = "residual.bin";
const NETWORK_FILE: &str = "frames.onnx";
/// Version of the manifest that this build reads.
const MANIFEST_FORMAT: u32 = 1;
/// Most bytes of a file of tables: nine times those of the shipped ones.
const MAX_TABLES: u64 = 1024 * 1024;
/// Most bytes of the network's file: six times those of the shipped one.
const MAX_NETWORK: u64 = 4 * 1024 * 1024;
/// The bit planes of the largest coefficient: no position is above.
const MOST_PLANES: f32 = 15.0;

/// A file of the package that is part of this build.
macro_rules! built_in {
    ($name:literal) => {
        include_bytes!(concat!("../../artifacts/video/", $name))
    };
}

/// The manifest of a package of video. Unknown entries are refused.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct VideoManifest {
    /// Version of the manifest's own format.
    pub format: u32,
    /// Name of the model.
    pub name: String,
    /// Version of the model.
    pub version: String,
    /// Licence of the tables and the weights.
    pub licence: String,
    /// What they were trained on.
    pub data: Vec<PackageSource>,
    /// The values that the network was made for.
    pub ranges: VideoRanges,
    /// SHA-256 of every file, in hexadecimal, by its name in the folder.
    pub files: BTreeMap<String, String>,
}

/// Least and greatest values.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VideoRanges {
    /// The positions that the network was trained for, in bit planes; others are clamped to this range.
    pub position: [f32; 2],
}

/// The tables of video and their network, not loaded yet; all its bytes match the manifest.
#[derive(Clone)]
pub struct VideoPackage {
    /// Its folder or name, for messages.
    place: String,
    manifest: VideoManifest,
    model: VideoModel,
    network: Bytes,
}

impl VideoPackage {
    /// The package that is part of this build.
    ///
    /// # Errors
    /// None, as its test shows.
    pub fn built_in() -> Result<Self, PackageError> {
        let file = |name: &str, _| {
            Ok(Cow::Borrowed(match name {
                MANIFEST_FILE => built_in!("manifest.toml").as_slice(),
                KEY_FILE => tables::VIDEO_KEY,
                RESIDUAL_FILE => tables::VIDEO_RESIDUAL,
                _ => built_in!("frames.onnx"),
            }))
        };
        Self::read("video".to_owned(), file)
    }

    /// Reads a package's folder, without its golden arrays.
    ///
    /// # Errors
    /// [`PackageError::Refused`] with the fault and who must act. It reads no file that is larger than a package may
    /// have, none without a hash in the manifest, and none outside the folder.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, PackageError> {
        let folder = folder.as_ref();
        Self::read(folder.display().to_string(), |name, max| files::read(folder, name, max).map(Cow::Owned))
    }

    fn read(place: String, file: impl Fn(&str, u64) -> Result<Bytes, Fault>) -> Result<Self, PackageError> {
        let checked = || {
            let manifest = VideoManifest::parse(&file(MANIFEST_FILE, MAX_MANIFEST)?)?;
            let vouched = |name: &str, max| {
                let expected = manifest.files.get(name).ok_or_else(|| Fault::NoHash(name.into()))?;
                let bytes = file(name, max)?;
                files::check_hash(name, &bytes, expected)?;
                Ok(bytes)
            };
            let tables = |name| {
                let tables = Model::from_bytes(&vouched(name, MAX_TABLES)?);
                tables.map(Arc::new).map_err(|error| Fault::VideoTables { file: name, error })
            };
            let model = VideoModel::new(tables(KEY_FILE)?, tables(RESIDUAL_FILE)?);
            let network = vouched(NETWORK_FILE, MAX_NETWORK)?;
            let checked = graph::check_signature(&network, &signature());
            checked.map_err(|error| Fault::Graph { file: NETWORK_FILE.into(), error })?;
            Ok((manifest, model, network))
        };
        match checked() {
            Ok((manifest, model, network)) => Ok(Self { place, manifest, model, network }),
            Err(fault) => Err(PackageError::Refused { package: place, fault }),
        }
    }

    /// The package's manifest.
    #[must_use]
    pub const fn manifest(&self) -> &VideoManifest {
        &self.manifest
    }

    /// The tables that frames are coded with, and that the network was trained with.
    #[must_use]
    pub const fn model(&self) -> &VideoModel {
        &self.model
    }

    /// Loads the network, which shows frames on up to `threads` threads.
    ///
    /// # Errors
    /// [`Fault::Network`] if the network is not of the kind that a package holds.
    pub fn deep(&self, runtime: &Runtime, threads: usize) -> Result<DeepFrames, PackageError> {
        let loaded = DeepFrames::load(runtime, &self.network, self.manifest.ranges.position, threads);
        loaded.map_err(|error| PackageError::Refused {
            package: self.place.clone(),
            fault: Fault::Network { file: NETWORK_FILE.into(), error },
        })
    }
}

impl VideoManifest {
    fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        let manifest: Self = manifest::read(bytes)?;
        if manifest.format != MANIFEST_FORMAT {
            return Err(Fault::Format { format: manifest.format, known: MANIFEST_FORMAT });
        }
        manifest::check_files(&manifest.files)?;
        let [low, high] = manifest.ranges.position;
        if !(0.0 <= low && low <= high && high <= MOST_PLANES) {
            return Err(Fault::Manifest(format!("the range of positions is not within 0 to {MOST_PLANES}")));
        }
        Ok(manifest)
    }
}

/// In: blocks of the largest tile and the frame's decoding conditions. Out: the correction of their samples.
fn signature() -> Signature<'static> {
    let blocks = |name, channels: usize| Operand {
        name,
        declared: vec![Some(1), None, None, Some(channels as i64)],
        largest: vec![1, LONGEST_OUTER / BLOCK_SIDE, LONGEST_OUTER / BLOCK_SIDE, channels],
    };
    Signature {
        inputs: vec![blocks(FRAME_PORT, BLOCK_CHANNELS), Operand::fixed(TOLD_PORT, &[CONDITION_NUMBERS])],
        output: blocks(CORRECTION_PORT, BLOCK_SAMPLES),
    }
}

/// Leaves out megabytes of weights.
impl fmt::Debug for VideoPackage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VideoPackage").field("place", &self.place).finish_non_exhaustive()
    }
}
