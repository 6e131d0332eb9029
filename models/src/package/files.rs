//! The bytes of a package, from a folder or from this build, at most as many as a package may have.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::Path;
use std::sync::Arc;

use nestcast_codec::{Model, PostFilter, tables};
use sha2::{Digest as _, Sha256};

use super::manifest::MOST_SYNTHESES;
use super::{Fault, GainPorts, Manifest, Ports};
use crate::graph;

pub(super) const ANALYSIS_FILE: &str = "analysis.onnx";
/// Only encoders read it, so that archives, which are for receivers, lack it.
pub(super) const GAINS_FILE: &str = "gains.onnx";
pub(crate) const MANIFEST_FILE: &str = "manifest.toml";
const TABLES_FILE: &str = "tables.bin";
const POST_FILTER: &str = "post_filter.bin";
/// The files that a build reads of every package, in the order of its archive; the networks of its synthesis follow.
pub(super) const COMMON_FILES: [&str; 4] = [MANIFEST_FILE, TABLES_FILE, POST_FILTER, ANALYSIS_FILE];
/// Most files of a package that are read.
pub(super) const MOST_FILES: usize = COMMON_FILES.len() + MOST_SYNTHESES;

/// The file of a network of the synthesis.
pub(crate) fn synthesis_file(number: usize) -> String {
    format!("synthesis-{number}.onnx")
}

/// All files that a build reads of a package with this many networks in its synthesis, in the order of its archive.
pub(super) fn names(syntheses: usize) -> impl Iterator<Item = String> {
    COMMON_FILES.into_iter().map(str::to_owned).chain((0..syntheses).map(synthesis_file))
}

/// Most bytes of a manifest: thirty times those of the shipped one.
pub(crate) const MAX_MANIFEST: u64 = 64 * 1024;
/// Most bytes of a package: more than three times those of the shipped ones.
const MAX_PACKAGE: u64 = 12 * 1024 * 1024;
/// Most bytes of an archive: those of a package, and far more than the names of its files.
#[cfg(feature = "kept")]
pub(crate) const MAX_ARCHIVE: u64 = MAX_PACKAGE + 1024 * 1024;

pub(crate) type Bytes = Cow<'static, [u8]>;
/// Files by name, in the order of an archive.
pub(super) type Named<'a> = [(&'a str, &'a [u8])];

/// A package of `artifacts/` as part of this build. The codec has the tables of `photo`, the crate of the networks
/// those of the others.
macro_rules! built_in {
    ($package:literal, $tables:expr, $($file:literal),*) => {
        ($package, &[
            (TABLES_FILE, $tables),
            $(($file, include_bytes!(concat!("../../artifacts/", $package, "/", $file)))),*
        ])
    };
}

/// The packages that are part of this build, by name.
pub(super) const BUILT_IN: &[(&str, &Named<'static>)] = &[
    built_in!(
        "photo",
        tables::PHOTO,
        "manifest.toml",
        "post_filter.bin",
        "analysis.onnx",
        "synthesis-0.onnx",
        "synthesis-1.onnx",
        "synthesis-2.onnx",
        "synthesis-3.onnx",
        "synthesis-4.onnx"
    ),
    built_in!(
        "photo-ssim",
        include_bytes!("../../artifacts/photo-ssim/tables.bin"),
        "manifest.toml",
        "post_filter.bin",
        "analysis.onnx",
        "gains.onnx",
        "synthesis-0.onnx"
    ),
];

/// The place of a package's files, and the number of bytes that may still be read.
pub(super) struct Files<'a> {
    place: Place<'a>,
    left: u64,
}

enum Place<'a> {
    Folder(&'a Path),
    BuiltIn(&'static Named<'static>),
    Archive(&'a Named<'a>),
}

/// The contents of a package's files, checked against the manifest: all but the network for gains.
pub(super) struct Contents {
    pub(super) manifest: Manifest,
    pub(super) tables: Arc<Model>,
    pub(super) post_filter: Arc<PostFilter>,
    /// The files of [`COMMON_FILES`].
    pub(super) common: [Bytes; COMMON_FILES.len()],
    /// The networks of the synthesis, that of the least cuts first.
    pub(super) syntheses: Vec<Bytes>,
    /// The network for gains; [`check_gains`] comes before its use. Only encoders need it, and most packages are opened
    /// to decode.
    pub(super) gains: Option<Bytes>,
}

impl<'a> Files<'a> {
    pub(super) const fn folder(folder: &'a Path) -> Self {
        Self { place: Place::Folder(folder), left: MAX_PACKAGE }
    }

    pub(super) const fn built_in(files: &'static Named<'static>) -> Self {
        Self { place: Place::BuiltIn(files), left: MAX_PACKAGE }
    }

    pub(super) const fn archive(files: &'a Named<'a>) -> Self {
        Self { place: Place::Archive(files), left: MAX_PACKAGE }
    }

    pub(super) fn read(mut self) -> Result<Contents, Fault> {
        let manifest_file = self.file(MANIFEST_FILE, MAX_MANIFEST, |_| Ok(()))?;
        let manifest = Manifest::parse(&manifest_file)?;
        if let Place::Archive(files) = self.place
            && !names(manifest.syntheses()).eq(files.iter().map(|(name, _)| *name))
        {
            return Err(Fault::Archive);
        }
        let tables_file = self.vouched(TABLES_FILE, &manifest)?;
        let tables = Model::from_bytes(&tables_file).map_err(Fault::Tables)?;
        let filter_file = self.vouched(POST_FILTER, &manifest)?;
        let post_filter = PostFilter::from_bytes(&filter_file).map_err(Fault::PostFilter)?;
        let analysis = self.network(ANALYSIS_FILE, &manifest, &manifest.networks.analysis)?;
        let synthesis = |number| self.network(&synthesis_file(number), &manifest, &manifest.networks.synthesis);
        let syntheses = (0..manifest.syntheses()).map(synthesis).collect::<Result<_, _>>()?;
        let has_gains = !matches!(self.place, Place::Archive(_));
        let gains = manifest.networks.gains.as_ref().filter(|_| has_gains);
        let gains = gains.map(|_| self.file(GAINS_FILE, self.left, |_| Ok(()))).transpose()?;
        let common = [manifest_file, tables_file, filter_file, analysis];
        let (tables, post_filter) = (Arc::new(tables), Arc::new(post_filter));
        Ok(Contents { manifest, tables, post_filter, common, syntheses, gains })
    }

    /// A network that passed the check for ONNX Runtime.
    fn network(&mut self, name: &str, manifest: &Manifest, ports: &Ports) -> Result<Bytes, Fault> {
        let bytes = self.vouched(name, manifest)?;
        graph::check(&bytes, ports).map_err(|error| Fault::Graph { file: name.into(), error })?;
        Ok(bytes)
    }

    /// A file whose bytes match its hash in the manifest.
    fn vouched(&mut self, name: &str, manifest: &Manifest) -> Result<Bytes, Fault> {
        self.file(name, self.left, |bytes| vouch(name, bytes, manifest))
    }

    /// A file of at most `max` bytes that passes a check, which comes before a copy.
    fn file(&mut self, name: &str, max: u64, check: impl FnOnce(&[u8]) -> Result<(), Fault>) -> Result<Bytes, Fault> {
        let bytes = match self.place {
            Place::Folder(folder) => {
                let bytes = read(folder, name, max)?;
                check(&bytes)?;
                Cow::Owned(bytes)
            }
            Place::BuiltIn(files) => {
                let bytes = held(files, name)?;
                check(bytes)?;
                Cow::Borrowed(bytes)
            }
            Place::Archive(files) => {
                let bytes = held(files, name)?;
                if bytes.len() as u64 > max {
                    return Err(Fault::TooLarge { file: name.into(), max });
                }
                check(bytes)?;
                Cow::Owned(bytes.to_vec())
            }
        };
        self.left = self.left.saturating_sub(bytes.len() as u64);
        Ok(bytes)
    }
}

/// Checks the network for gains, against the manifest and for ONNX Runtime.
pub(super) fn check_gains(bytes: &[u8], manifest: &Manifest, ports: &GainPorts) -> Result<(), Fault> {
    vouch(GAINS_FILE, bytes, manifest)?;
    graph::check_gains(bytes, ports).map(|_| ()).map_err(|error| Fault::Graph { file: GAINS_FILE.into(), error })
}

/// Compares a file with its hash in the manifest.
fn vouch(name: &str, bytes: &[u8], manifest: &Manifest) -> Result<(), Fault> {
    let expected = manifest.files.get(name).ok_or_else(|| Fault::NoHash(name.into()))?;
    check_hash(name, bytes, expected)
}

/// A file of those that are in memory.
fn held<'a>(files: &Named<'a>, name: &str) -> Result<&'a [u8], Fault> {
    let file = files.iter().find(|(known, _)| *known == name).map(|(_, bytes)| *bytes);
    file.ok_or_else(|| Fault::Missing(name.into()))
}

/// A plain file of at most `max` bytes: it checks the length first, and again while it reads.
pub(crate) fn read(folder: &Path, name: &str, max: u64) -> Result<Vec<u8>, Fault> {
    let unreadable = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => Fault::Missing(name.into()),
        _ => Fault::Unreadable { file: name.into(), kind: error.kind() },
    };
    let too_large = || Fault::TooLarge { file: name.into(), max };
    let path = folder.join(name);
    let metadata = fs::symlink_metadata(&path).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(Fault::NotAFile(name.into()));
    }
    if metadata.len() > max {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    let count = File::open(&path).and_then(|file| file.take(max + 1).read_to_end(&mut bytes)).map_err(unreadable)?;
    if count as u64 > max { Err(too_large()) } else { Ok(bytes) }
}

/// Compares a file with its manifest.
pub(crate) fn check_hash(name: &str, bytes: &[u8], expected: &str) -> Result<(), Fault> {
    if expected == hexadecimal(&Sha256::digest(bytes)) { Ok(()) } else { Err(Fault::Hash(name.into())) }
}

/// A digest as manifests have it.
pub(crate) fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().fold(String::with_capacity(2 * digest.len()), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all that is written");
        text
    })
}
