//! A package of binary codes: its manifest and networks, checked before this crate uses any of them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::coder::{CODE_PORT, CodeDecoder, CodeEncoder, PICTURE_PORT, PICTURE_SHAPE};
use crate::graph::{self, GraphError, Operand, Signature};
use crate::onnx::{Network, Workers};
use crate::package::files::{self, Bytes, MANIFEST_FILE, MAX_MANIFEST};
use crate::package::{Fault, PackageError, PackageSource, manifest};
use crate::runtime::Runtime;

const ENCODER_FILE: &str = "encoder.onnx";
const DECODER_FILE: &str = "decoder.onnx";

/// The version of the manifest that this build reads.
const MANIFEST_FORMAT: u32 = 1;
/// The manifest's name for this kind of package.
const PACKAGE_KIND: &str = "binary-code";
/// Fewest and most bits of a code.
const CODE_BITS: std::ops::RangeInclusive<u16> = 8..=4096;
/// Bytes of the hash in a file of one code: `spec/codes.md`.
const SHORT_ID: usize = 6;
/// Most bytes of a network's file: three layers of 3072, 2048, 1024 and 512 units in bytes, and room.
const MAX_NETWORK: u64 = 16 * 1024 * 1024;

/// Manifest, encoder, decoder.
type Embedded = (&'static [u8], &'static [u8], Option<&'static [u8]>);

/// The packages that are part of this build, by name.
const BUILT_IN: &[(&str, Embedded)] = &[(
    "thumb",
    (include_bytes!("../../artifacts/thumb/manifest.toml"), include_bytes!("../../artifacts/thumb/encoder.onnx"), None),
)];

/// The manifest of a package of codes. Unknown entries are refused.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CodeManifest {
    /// `binary-code`, where packages of transforms have another kind.
    pub kind: String,
    /// Version of the manifest's own format.
    pub format: u32,
    /// Name of the model.
    pub name: String,
    /// Version of the model.
    pub version: String,
    /// Licence of the weights.
    pub licence: String,
    /// What it was trained on.
    pub data: Vec<PackageSource>,
    /// The codes.
    pub code: Code,
    /// SHA-256 of every file, in hexadecimal, by its name in the folder.
    pub files: BTreeMap<String, String>,
}

/// The table of the codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Code {
    /// How many bits a code has, a multiple of 8.
    pub bits: u16,
}

/// The kind of a package, in any package's manifest.
#[derive(Deserialize)]
struct Kind {
    kind: Option<String>,
    format: u32,
}

/// A model of binary codes whose bytes match its manifest.
#[derive(Clone)]
pub struct CodePackage {
    place: String,
    manifest: CodeManifest,
    hash: [u8; 32],
    encoder: Bytes,
    decoder: Option<Bytes>,
}

impl CodePackage {
    /// Finds the package that `--model NAME|DIR` means: the built-in one of that name, else a folder.
    ///
    /// # Errors
    /// [`PackageError`] names the fault and who must act. It reads no file that is larger than a package may have, and
    /// none without a hash in the manifest.
    pub fn find(name_or_folder: &str) -> Result<Self, PackageError> {
        let place = name_or_folder.to_owned();
        if let Some((_, (manifest, encoder, decoder))) = BUILT_IN.iter().find(|(name, _)| *name == place) {
            let file = |name: &str| match name {
                ENCODER_FILE => Ok(Some(Cow::Borrowed(*encoder))),
                _ => Ok(decoder.map(Cow::Borrowed)),
            };
            return Self::read(Cow::Borrowed(manifest), file).map_err(refused(&place));
        }
        let folder = Path::new(name_or_folder);
        if !folder.is_dir() {
            let known = Self::names().collect::<Vec<_>>().join(", ");
            return Err(PackageError::Unknown { name: place, known });
        }
        let manifest = files::read(folder, MANIFEST_FILE, MAX_MANIFEST).map_err(refused(&place))?;
        let file = |name: &str| match files::read(folder, name, MAX_NETWORK) {
            Ok(bytes) => Ok(Some(Cow::Owned(bytes))),
            Err(Fault::Missing(_)) if name == DECODER_FILE => Ok(None),
            Err(fault) => Err(fault),
        };
        Self::read(Cow::Owned(manifest), file)
            .map(|package| Self { place: place.clone(), ..package })
            .map_err(refused(&place))
    }

    /// The names of the built-in packages.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// Whether `--model` means a package of codes: a built-in one, or a folder whose manifest says so.
    #[must_use]
    pub fn is_meant(name_or_folder: &str) -> bool {
        let folder = Path::new(name_or_folder);
        let says = || manifest::read::<Kind>(&files::read(folder, MANIFEST_FILE, MAX_MANIFEST)?);
        Self::names().any(|name| name == name_or_folder)
            || folder.is_dir() && says().is_ok_and(|found| found.kind.as_deref() == Some(PACKAGE_KIND))
    }

    /// The package that `--model` means, or else a built-in one, if its hash begins with the id that a file of one code
    /// has.
    ///
    /// # Errors
    /// As [`CodePackage::find`], where `--model` means a package of codes.
    pub fn find_short(name_or_folder: &str, id: [u8; SHORT_ID]) -> Result<Option<Self>, PackageError> {
        let named = Self::is_meant(name_or_folder).then(|| Self::find(name_or_folder)).transpose()?;
        let built_in = Self::names().filter_map(|name| Self::find(name).ok());
        Ok(named.into_iter().chain(built_in).find(|package| package.short_id() == id))
    }

    fn read(manifest: Bytes, file: impl Fn(&str) -> Result<Option<Bytes>, Fault>) -> Result<Self, Fault> {
        let hash = Sha256::digest(&manifest).into();
        let manifest = CodeManifest::parse(&manifest)?;
        let bits = manifest.code.bits;
        let picture =
            || Operand::fixed(PICTURE_PORT, &PICTURE_SHAPE.map(|length| u16::try_from(length).unwrap_or(u16::MAX)));
        let code = || Operand::fixed(CODE_PORT, &[1, bits]);
        let network = |name: &str, signature: &Signature<'_>| -> Result<Option<Bytes>, Fault> {
            let expected = manifest.files.get(name);
            let Some(bytes) = file(name)? else {
                return if expected.is_some() { Err(Fault::Missing(name.into())) } else { Ok(None) };
            };
            let expected = expected.ok_or_else(|| Fault::NoHash(name.into()))?;
            files::check_hash(name, &bytes, expected)?;
            let refused = |error: GraphError| Fault::Graph { file: name.into(), error };
            graph::check_signature(&bytes, signature).map_err(refused)?;
            Ok(Some(bytes))
        };
        let encoder = network(ENCODER_FILE, &Signature { inputs: vec![picture()], output: code() })?;
        let encoder = encoder.ok_or_else(|| Fault::Missing(ENCODER_FILE.into()))?;
        let decoder = network(DECODER_FILE, &Signature { inputs: vec![code()], output: picture() })?;
        Ok(Self { place: manifest.name.clone(), manifest, hash, encoder, decoder })
    }

    /// The model's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// The model's id: the SHA-256 of its manifest, which has the SHA-256 of its networks.
    #[must_use]
    pub const fn hash(&self) -> [u8; 32] {
        self.hash
    }

    /// The first bytes of the hash, which files of one code have.
    #[must_use]
    pub fn short_id(&self) -> [u8; SHORT_ID] {
        std::array::from_fn(|at| self.hash[at])
    }

    /// The package's manifest.
    #[must_use]
    pub const fn manifest(&self) -> &CodeManifest {
        &self.manifest
    }

    /// Bits of a code.
    #[must_use]
    pub const fn bits(&self) -> usize {
        self.manifest.code.bits as usize
    }

    /// The network from pictures to codes, for up to `runs` at once.
    ///
    /// # Errors
    /// [`Fault::Network`] if ONNX Runtime refuses it.
    pub fn encoder(&self, runtime: &Runtime, runs: usize) -> Result<CodeEncoder, PackageError> {
        self.network(runtime, ENCODER_FILE, &self.encoder, runs).map(|network| CodeEncoder { network })
    }

    /// The network from codes to pictures, if the package has one.
    ///
    /// # Errors
    /// As [`CodePackage::encoder`].
    pub fn decoder(&self, runtime: &Runtime) -> Result<Option<CodeDecoder>, PackageError> {
        let network = self.decoder.as_ref().map(|bytes| self.network(runtime, DECODER_FILE, bytes, 1)).transpose()?;
        Ok(network.map(|network| CodeDecoder { network, bits: self.bits() }))
    }

    fn network(&self, runtime: &Runtime, file: &str, bytes: &[u8], runs: usize) -> Result<Network, PackageError> {
        let network = Network::load(runtime, bytes, Workers::single_threaded(runs));
        network.map_err(|error| refused(&self.place)(Fault::Network { file: file.into(), error }))
    }
}

fn refused(place: &str) -> impl Fn(Fault) -> PackageError {
    move |fault| PackageError::Refused { package: place.to_owned(), fault }
}

impl CodeManifest {
    fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        let Kind { kind, format } = manifest::read(bytes)?;
        if kind.as_deref() != Some(PACKAGE_KIND) {
            return Err(Fault::Manifest(format!("its kind is not {PACKAGE_KIND}")));
        }
        if format != MANIFEST_FORMAT {
            return Err(Fault::Format { format, known: MANIFEST_FORMAT });
        }
        let parsed: Self = manifest::read(bytes)?;
        manifest::check_files(&parsed.files)?;
        let bits = parsed.code.bits;
        if !CODE_BITS.contains(&bits) || !bits.is_multiple_of(8) {
            return Err(Fault::Manifest(format!("{bits} bits of a code are not a multiple of 8 from 8 to 4096")));
        }
        Ok(parsed)
    }
}

/// Leaves out megabytes of weights.
impl fmt::Debug for CodePackage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CodePackage")
            .field("place", &self.place)
            .field("manifest", &self.manifest)
            .finish_non_exhaustive()
    }
}
