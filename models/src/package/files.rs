//! The bytes of a package, from a folder or from this build, never more than a package may have.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::Path;
use std::sync::Arc;

use nestcast_codec::{Model, PostFilter};
use sha2::{Digest as _, Sha256};

use super::{Fault, Manifest, Ports};
use crate::graph;

pub(super) const ANALYSIS: &str = "analysis.onnx";
pub(super) const SYNTHESIS: &str = "synthesis.onnx";
pub(crate) const MANIFEST: &str = "manifest.toml";
const TABLES: &str = "tables.bin";
const POST_FILTER: &str = "post_filter.bin";
/// All that a build reads of a package, in the order of its archive.
pub(super) const FILES: [&str; 5] = [MANIFEST, TABLES, POST_FILTER, ANALYSIS, SYNTHESIS];

/// Most bytes of a manifest: thirty times those of the shipped one.
pub(crate) const MAX_MANIFEST: u64 = 64 * 1024;
/// Most bytes of a package: twelve times those of the shipped one.
const MAX_PACKAGE: u64 = 12 * 1024 * 1024;
/// Most bytes of an archive: those of a package, and far more than the names of its files.
#[cfg(feature = "kept")]
pub(crate) const MAX_ARCHIVE: u64 = MAX_PACKAGE + 1024 * 1024;

pub(crate) type Bytes = Cow<'static, [u8]>;
type Embedded = [&'static [u8]; FILES.len()];

/// A package of `artifacts/` as part of this build.
macro_rules! built_in {
    ($name:literal) => {
        (
            $name,
            [
                include_bytes!(concat!("../../artifacts/", $name, "/manifest.toml")),
                include_bytes!(concat!("../../artifacts/", $name, "/tables.bin")),
                include_bytes!(concat!("../../artifacts/", $name, "/post_filter.bin")),
                include_bytes!(concat!("../../artifacts/", $name, "/analysis.onnx")),
                include_bytes!(concat!("../../artifacts/", $name, "/synthesis.onnx")),
            ],
        )
    };
}

/// The packages that are part of this build, by name.
pub(super) const BUILT_IN: &[(&str, Embedded)] = &[built_in!("photo"), built_in!("photo-ssim")];

/// Where a package's files are, and how many bytes of them may still be read.
pub(super) struct Files<'a> {
    place: Place<'a>,
    left: u64,
}

enum Place<'a> {
    Folder(&'a Path),
    BuiltIn(&'a Embedded),
    Archive([&'a [u8]; FILES.len()]),
}

/// What a package's files hold, all checked against the manifest.
pub(super) struct Contents {
    pub(super) manifest: Manifest,
    pub(super) tables: Arc<Model>,
    pub(super) post_filter: Arc<PostFilter>,
    /// The files, in the order of [`FILES`].
    pub(super) files: [Bytes; FILES.len()],
}

impl<'a> Files<'a> {
    pub(super) const fn folder(folder: &'a Path) -> Self {
        Self { place: Place::Folder(folder), left: MAX_PACKAGE }
    }

    pub(super) const fn built_in(files: &'a Embedded) -> Self {
        Self { place: Place::BuiltIn(files), left: MAX_PACKAGE }
    }

    pub(super) const fn archive(files: [&'a [u8]; FILES.len()]) -> Self {
        Self { place: Place::Archive(files), left: MAX_PACKAGE }
    }

    pub(super) fn read(mut self) -> Result<Contents, Fault> {
        let manifest_file = self.file(MANIFEST, MAX_MANIFEST)?;
        let manifest = Manifest::parse(&manifest_file)?;
        let tables_file = self.vouched(TABLES, &manifest)?;
        let tables = Model::from_bytes(&tables_file).map_err(Fault::Tables)?;
        let filter_file = self.vouched(POST_FILTER, &manifest)?;
        let post_filter = PostFilter::from_bytes(&filter_file).map_err(Fault::PostFilter)?;
        let analysis = self.network(ANALYSIS, &manifest, &manifest.networks.analysis)?;
        let synthesis = self.network(SYNTHESIS, &manifest, &manifest.networks.synthesis)?;
        let files = [manifest_file, tables_file, filter_file, analysis, synthesis];
        Ok(Contents { manifest, tables: Arc::new(tables), post_filter: Arc::new(post_filter), files })
    }

    /// A network that ONNX Runtime may be given.
    fn network(&mut self, name: &str, manifest: &Manifest, ports: &Ports) -> Result<Bytes, Fault> {
        let bytes = self.vouched(name, manifest)?;
        graph::check(&bytes, ports).map_err(|error| Fault::Graph { file: name.into(), error })?;
        Ok(bytes)
    }

    /// A file that the manifest vouches for.
    fn vouched(&mut self, name: &str, manifest: &Manifest) -> Result<Bytes, Fault> {
        let expected = manifest.files.get(name).ok_or_else(|| Fault::NoHash(name.into()))?;
        let bytes = self.file(name, self.left)?;
        check_hash(name, &bytes, expected)?;
        Ok(bytes)
    }

    fn file(&mut self, name: &str, max: u64) -> Result<Bytes, Fault> {
        let index = FILES.iter().position(|file| *file == name);
        let index = index.ok_or_else(|| Fault::Missing(name.into()))?;
        let bytes = match &self.place {
            Place::Folder(folder) => Cow::Owned(read(folder, name, max)?),
            Place::BuiltIn(files) => Cow::Borrowed(files[index]),
            Place::Archive(files) if files[index].len() as u64 > max => {
                return Err(Fault::TooLarge { file: name.into(), max });
            }
            Place::Archive(files) => Cow::Owned(files[index].to_vec()),
        };
        self.left = self.left.saturating_sub(bytes.len() as u64);
        Ok(bytes)
    }
}

/// A plain file of at most `max` bytes: its length is asked for first, and holds while it is read.
pub(crate) fn read(folder: &Path, name: &str, max: u64) -> Result<Vec<u8>, Fault> {
    let unreadable = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => Fault::Missing(name.into()),
        _ => Fault::Unreadable { file: name.into(), reason: error.to_string() },
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

/// Compares a file with what its manifest says.
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
