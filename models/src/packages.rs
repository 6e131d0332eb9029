//! The packages that a receiver has: its own, those that are built in, and those that senders gave.

use nestcast_codec::ModelId;

use crate::kept::{KeepError, KeptPackages};
use crate::package::files::hexadecimal;
use crate::package::{Package, PackageError};

/// The package that a broadcast is decoded with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The tables that its frames were encoded with.
    pub model: ModelId,
    /// SHA-256 of the package with these tables and their networks, as its sender announced it.
    pub hash: [u8; 32],
    /// Whether the networks are needed.
    pub networks: bool,
}

/// Why a package from a sender is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// It is not sound.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// It is not the one that was announced.
    #[error(
        "the sender sent the model package {} with tables {given_model}, but it announced {} with {announced_model}: do not trust it",
        hexadecimal(given),
        hexadecimal(announced)
    )]
    Other {
        /// Hash of what was given.
        given: [u8; 32],
        /// Its tables.
        given_model: ModelId,
        /// Hash of what was announced.
        announced: [u8; 32],
        /// Its tables.
        announced_model: ModelId,
    },
}

impl Wanted {
    /// Networks must be those of exactly the announced package. Without networks any package with its tables will do;
    /// each frame's stream names the tables again, and the decoder refuses others.
    fn is_met_by(&self, package: &Package) -> bool {
        package.id() == self.model && (!self.networks || package.hash() == self.hash)
    }

    /// The package that a sender gave, if it is sound and the one that it announced.
    ///
    /// # Errors
    /// If it is not.
    pub fn open(&self, archive: &[u8]) -> Result<Package, FetchError> {
        let package = Package::from_archive(archive, "from the sender")?;
        let given = package.hash();
        let given_model = package.id();
        if given != self.hash || given_model != self.model {
            let announced = self.hash;
            let announced_model = self.model;
            return Err(FetchError::Other { given, given_model, announced, announced_model });
        }
        Ok(package)
    }
}

/// The packages that a receiver has.
#[derive(Debug, Clone)]
pub struct Packages {
    own: Package,
    kept: Option<KeptPackages>,
}

impl Packages {
    /// With a package of the receiver's own, and a folder of those that senders gave, if there is one.
    #[must_use]
    pub const fn new(own: Package, kept: Option<KeptPackages>) -> Self {
        Self { own, kept }
    }

    /// The package for a broadcast, if it is here.
    #[must_use]
    pub fn find(&self, wanted: &Wanted) -> Option<Package> {
        if wanted.is_met_by(&self.own) {
            return Some(self.own.clone());
        }
        let built_in = Package::built_in().find(|package| wanted.is_met_by(package));
        let kept = || self.kept.as_ref()?.find(wanted.hash);
        built_in.or_else(|| kept().filter(|package| wanted.is_met_by(package)))
    }

    /// Keeps a checked package, for broadcasts that announce it.
    ///
    /// # Errors
    /// If there is no folder for it, or it cannot be written.
    pub fn keep(&self, package: &Package) -> Result<(), KeepError> {
        self.kept.as_ref().ok_or(KeepError::NoFolder)?.keep(package)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use sha2::{Digest as _, Sha256};

    use super::*;

    fn photo() -> Package {
        Package::builtin("photo").expect("it is built in")
    }

    /// Photo's tables with the synthesis of another package.
    fn other() -> Package {
        let artifacts = Path::new(env!("CARGO_MANIFEST_DIR")).join("artifacts");
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("tables.bin"), nestcast_codec::tables::PHOTO).expect("a copy");
        for name in [
            "post_filter.bin",
            "analysis.onnx",
            "synthesis-1.onnx",
            "synthesis-2.onnx",
            "synthesis-3.onnx",
            "synthesis-4.onnx",
        ] {
            fs::copy(artifacts.join("photo").join(name), folder.path().join(name)).expect("a copy");
        }
        let synthesis = fs::read(artifacts.join("photo-ssim/synthesis-0.onnx")).expect("a network");
        let manifest = fs::read_to_string(artifacts.join("photo/manifest.toml")).expect("a manifest");
        let (before, after) = manifest.split_once("\"synthesis-0.onnx\" = \"").expect("a hash");
        let hash = hexadecimal(&Sha256::digest(&synthesis));
        let manifest = format!("{before}\"synthesis-0.onnx\" = \"{hash}{}", &after[64..]);
        fs::write(folder.path().join("synthesis-0.onnx"), synthesis).expect("a file");
        fs::write(folder.path().join("manifest.toml"), manifest).expect("a file");
        Package::open(folder.path()).expect("a sound package")
    }

    fn wanted(package: &Package, networks: bool) -> Wanted {
        Wanted { model: package.id(), hash: package.hash(), networks }
    }

    fn packages(cache: &Path) -> Packages {
        Packages::new(photo(), Some(KeptPackages::new(cache.join("models"))))
    }

    fn found(packages: &Packages, wanted: Wanted) -> Option<[u8; 32]> {
        packages.find(&wanted).map(|package| package.hash())
    }

    #[test]
    fn other_networks_with_known_tables_are_asked_for_by_who_decodes_with_networks() {
        let cache = tempfile::tempdir().expect("a folder");
        let photo = photo();
        let other = other();
        let packages = packages(cache.path());
        assert_eq!(other.id(), photo.id());
        let of = |package: &Package, networks| found(&packages, wanted(package, networks));
        assert_eq!([of(&photo, true), of(&other, true)], [Some(photo.hash()), None]);
        assert_eq!([of(&photo, false), of(&other, false)], [Some(photo.hash()); 2]);
        let unknown = |networks| Wanted { model: ModelId([0; 6]), ..wanted(&photo, networks) };
        assert_eq!([true, false].map(|networks| found(&packages, unknown(networks))), [None; 2]);
    }

    #[test]
    fn a_fetched_package_serves_those_who_announce_it_and_nobody_else() {
        let cache = tempfile::tempdir().expect("a folder");
        let photo = photo();
        let other = other();
        let packages = packages(cache.path());
        wanted(&other, true).open(&other.archive()).expect("it is the one");
        packages.keep(&other).expect("a folder to write to");
        assert_eq!(found(&packages, wanted(&other, true)), Some(other.hash()));
        assert_eq!(found(&packages, wanted(&photo, true)), Some(photo.hash()));
        // A sender announces one package and gives another.
        for (said, given) in [(&photo, &other), (&other, &photo)] {
            let refused = wanted(said, true).open(&given.archive()).expect_err("another package").to_string();
            assert!(refused.contains("do not trust it") && !refused.contains('\n'), "{refused}");
        }
        let tables = Wanted { model: ModelId([0; 6]), ..wanted(&other, true) };
        assert!(tables.open(&other.archive()).is_err());
    }
}
