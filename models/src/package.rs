//! Model packages: a folder of tables, networks and a manifest, checked before any of it is used.

mod archive;
mod fault;
pub(crate) mod files;
pub(crate) mod manifest;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use nestcast_codec::{Linear, Model, ModelId, PostFilter};
use sha2::{Digest as _, Sha256};

pub use fault::{Fault, PackageError};
pub use manifest::{EncoderDefaults, GainPorts, Golden, Manifest, Networks, PackageSource, Ports, Ranges, Transform};

use crate::deep::{Correction, Corrections, Deep, DeepAnalysis, DeepSynthesis, GainNetwork};
use crate::runtime::Runtime;
use crate::tensor::NetworkError;
use files::{ANALYSIS_FILE, BUILT_IN, Bytes, COMMON_FILES, Contents, Files, GAINS_FILE, check_gains};

/// A model: the tables that streams depend on, and its networks, not loaded yet. It is cheap to keep, and its bytes
/// match the manifest; those of the network for gains are compared when an encoder asks for it.
#[derive(Clone)]
pub struct Package {
    /// Its folder or name, for messages.
    place: String,
    manifest: Manifest,
    tables: Arc<Model>,
    post_filter: Arc<PostFilter>,
    common: [Bytes; COMMON_FILES.len()],
    syntheses: Arc<[Bytes]>,
    gains: Option<Bytes>,
}

impl Package {
    /// Reads a package's folder, without its golden arrays.
    ///
    /// # Errors
    /// [`PackageError::Refused`] with the fault and who must act. It reads no file that is larger than a package may
    /// have, none without a hash in the manifest, and none outside the folder.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, PackageError> {
        let folder = folder.as_ref();
        Self::read(Files::folder(folder), folder.display().to_string())
    }

    /// A package that is part of this build: [`Package::names`] lists them.
    ///
    /// # Errors
    /// [`PackageError::Unknown`] if there is none of that name.
    pub fn builtin(name: &str) -> Result<Self, PackageError> {
        let unknown =
            || PackageError::Unknown { name: name.into(), known: Self::names().collect::<Vec<_>>().join(", ") };
        let (_, files) = BUILT_IN.iter().find(|(known, _)| *known == name).ok_or_else(unknown)?;
        Self::read(Files::built_in(files), name.into())
    }

    /// Finds the package that `--model NAME|DIR` means: the built-in one of that name, else a folder. Write `./photo`
    /// for a folder that has the name of a built-in package.
    ///
    /// # Errors
    /// As [`Package::builtin`] and [`Package::open`].
    pub fn find(name_or_folder: &str) -> Result<Self, PackageError> {
        let builtin = Self::builtin(name_or_folder);
        let unknown = matches!(builtin, Err(PackageError::Unknown { .. }));
        if unknown && Path::new(name_or_folder).is_dir() { Self::open(name_or_folder) } else { builtin }
    }

    /// The names of the built-in packages.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// All packages that are part of this build, opened.
    pub fn built_in() -> impl Iterator<Item = Self> {
        Self::names().filter_map(|name| Self::builtin(name).ok())
    }

    /// The package that is part of this build and has the tables of this id, if there is one.
    #[must_use]
    pub fn built_in_with(id: ModelId) -> Option<Self> {
        Self::built_in().find(|package| package.id() == id)
    }

    fn read(files: Files<'_>, place: String) -> Result<Self, PackageError> {
        match files.read() {
            Ok(Contents { manifest, tables, post_filter, common, syntheses, gains }) => {
                Ok(Self { place, manifest, tables, post_filter, common, syntheses: syntheses.into(), gains })
            }
            Err(fault) => Err(PackageError::Refused { package: place, fault }),
        }
    }

    /// The model's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// The model's name in streams: a hash of the tables alone. Another package may have the same tables.
    #[must_use]
    pub fn id(&self) -> ModelId {
        self.tables.id()
    }

    /// The whole package's name: the SHA-256 of its manifest, which has the SHA-256 of every file.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        let [manifest, ..] = &self.common;
        Sha256::digest(manifest).into()
    }

    /// The package's manifest.
    #[must_use]
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The strength of activity masking that encoders use unless their user chooses another.
    #[must_use]
    pub const fn activity_masking(&self) -> f32 {
        self.manifest.encoder.activity_masking
    }

    /// The tables that streams and the linear transform depend on.
    #[must_use]
    pub const fn tables(&self) -> &Arc<Model> {
        &self.tables
    }

    /// The transform without networks: needs no ONNX Runtime.
    #[must_use]
    pub fn linear(&self, threads: usize) -> Linear {
        Linear::new(self.tables.clone()).with_threads(threads)
    }

    /// Both halves of the transform with networks, on up to `threads` threads.
    ///
    /// # Errors
    /// [`Fault::Network`] if the analysis is not of the kind that a package holds.
    pub fn deep(&self, runtime: &Runtime, threads: usize) -> Result<Deep, PackageError> {
        let analysis = self.deep_analysis(runtime, threads)?;
        Ok(Deep { analysis, synthesis: self.deep_synthesis(runtime, threads) })
    }

    /// Loads the half that an encoder needs.
    ///
    /// # Errors
    /// As [`Package::deep`].
    pub fn deep_analysis(&self, runtime: &Runtime, threads: usize) -> Result<DeepAnalysis, PackageError> {
        let (ports, [.., analysis]) = (&self.manifest.networks.analysis, &self.common);
        let correction = Correction::load(runtime, analysis, ports, threads).map_err(self.fault_of(ANALYSIS_FILE))?;
        Ok(DeepAnalysis { correction: Some(correction), ..self.masked_analysis(runtime, threads)? })
    }

    /// Loads the linear transform with the network that says which regions hide errors, for an encoder with activity
    /// masking; without a network where the package has none.
    ///
    /// # Errors
    /// [`Fault::Hash`], [`Fault::Graph`] or [`Fault::Network`] if the network for gains is not that of the manifest, or
    /// not of the kind that a package holds.
    pub fn masked_analysis(&self, runtime: &Runtime, threads: usize) -> Result<DeepAnalysis, PackageError> {
        let load = |(ports, model): (&GainPorts, &Bytes)| {
            let refused = |fault| PackageError::Refused { package: self.place.clone(), fault };
            check_gains(model, &self.manifest, ports).map_err(refused)?;
            GainNetwork::load(runtime, model, ports, threads).map_err(self.fault_of(GAINS_FILE))
        };
        let gains = self.manifest.networks.gains.as_ref().zip(self.gains.as_ref()).map(load).transpose()?;
        Ok(DeepAnalysis { linear: self.linear(threads), correction: None, gains })
    }

    /// Returns whether the package has a network that says which regions hide errors.
    #[must_use]
    pub const fn has_gain_network(&self) -> bool {
        self.gains.is_some()
    }

    /// Makes the half that a decoder needs. It loads a network when a cut first needs it.
    #[must_use]
    pub fn deep_synthesis(&self, runtime: &Runtime, threads: usize) -> DeepSynthesis {
        let Networks { synthesis, .. } = &self.manifest.networks;
        let corrections = Corrections::new(runtime, &self.syntheses, synthesis, &self.manifest.ranges.cut, threads);
        DeepSynthesis { linear: self.linear(threads), corrections, post_filter: self.post_filter.clone() }
    }

    /// The fault of one of the networks.
    fn fault_of(&self, file: &str) -> impl Fn(NetworkError) -> PackageError {
        move |error| PackageError::Refused {
            package: self.place.clone(),
            fault: Fault::Network { file: file.into(), error },
        }
    }
}

/// Leaves out megabytes of weights.
impl fmt::Debug for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id().to_string();
        f.debug_struct("Package").field("place", &self.place).field("id", &id).finish_non_exhaustive()
    }
}
