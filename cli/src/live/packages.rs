//! Which model package a broadcast is decoded with: the user's, one that is built in, or one that a sender gave.

use anyhow::{Context, Result, ensure};
use nestcast_models::{KeptPackages, Package};
use nestcast_proto::PackageHash;
use nestcast_receiver::Announcement;

use crate::args::Transform;

/// The packages that a receiver has.
pub(super) struct Packages {
    decoder: Transform,
    own: Package,
    /// Those that senders gave.
    kept: Option<KeptPackages>,
}

impl Packages {
    /// With the user's own package, and those that were kept for the user.
    pub(super) fn new(decoder: Transform, own: Package) -> Self {
        Self { decoder, own, kept: KeptPackages::of_user() }
    }

    /// The package for a broadcast, if it is here.
    pub(super) fn find(&self, announced: &Announcement) -> Option<Package> {
        if self.suits(&self.own, announced) {
            return Some(self.own.clone());
        }
        let found = Package::built_in().find(|package| self.suits(package, announced));
        let kept = || self.kept.as_ref()?.find(announced.package.0);
        found.or_else(|| kept().filter(|package| self.suits(package, announced)))
    }

    /// Networks are those of the very package that was announced. Without networks, its tables are enough, whichever
    /// package has them; each frame's stream names them again, and the decoder refuses others.
    fn suits(&self, package: &Package, announced: &Announcement) -> bool {
        let tables = package.id() == announced.model;
        match self.decoder {
            Transform::Linear => tables,
            Transform::Deep => tables && package.hash() == announced.package.0,
        }
    }

    /// Keeps a package that was checked for broadcasts that announce it.
    pub(super) fn keep(&self, package: &Package) -> Result<()> {
        let kept = self.kept.as_ref().context("the system names no cache folder: set HOME")?;
        Ok(kept.keep(package)?)
    }
}

/// Checks that a package which a sender gave is sound, and the one that it announced.
pub(super) fn checked(announced: &Announcement, archive: &[u8]) -> Result<Package> {
    let package = Package::from_archive(archive, "from the sender")?;
    let given = PackageHash(package.hash());
    ensure!(
        given == announced.package && package.id() == announced.model,
        "the sender gave the model package {given} with tables {} where it announced {} with {}: do not trust it",
        package.id(),
        announced.package,
        announced.model
    );
    Ok(package)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use nestcast_codec::Size;
    use sha2::{Digest as _, Sha256};
    use tempfile::TempDir;

    use super::*;

    fn photo() -> Package {
        Package::builtin("photo").expect("it is built in")
    }

    /// Photo's tables with the synthesis of another package.
    fn other() -> Package {
        let artifacts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/artifacts");
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["tables.bin", "analysis.onnx"] {
            fs::copy(artifacts.join("photo").join(name), folder.path().join(name)).expect("a copy");
        }
        let synthesis = fs::read(artifacts.join("photo-ssim/synthesis.onnx")).expect("a network");
        let manifest = fs::read_to_string(artifacts.join("photo/manifest.toml")).expect("a manifest");
        let (before, after) = manifest.split_once("\"synthesis.onnx\" = \"").expect("a hash");
        let hash: String = Sha256::digest(&synthesis).iter().map(|byte| format!("{byte:02x}")).collect();
        let manifest = format!("{before}\"synthesis.onnx\" = \"{hash}{}", &after[64..]);
        fs::write(folder.path().join("synthesis.onnx"), synthesis).expect("a file");
        fs::write(folder.path().join("manifest.toml"), manifest).expect("a file");
        Package::open(folder.path()).expect("a sound package")
    }

    fn announced(package: &Package) -> Announcement {
        let size = Size::new(16, 16).expect("a valid size");
        Announcement { model: package.id(), package: PackageHash(package.hash()), size, rate: (30, 1), video: None }
    }

    fn packages(decoder: Transform, cache: &TempDir) -> Packages {
        Packages { decoder, own: photo(), kept: Some(KeptPackages::new(cache.path().join("models"))) }
    }

    fn found(packages: &Packages, announced: &Announcement) -> Option<PackageHash> {
        packages.find(announced).map(|package| PackageHash(package.hash()))
    }

    #[test]
    fn other_networks_with_known_tables_are_asked_for_by_who_decodes_with_networks() {
        let cache = tempfile::tempdir().expect("a folder");
        let (photo, other) = (announced(&photo()), announced(&other()));
        assert_eq!(other.model, photo.model);
        let deep = packages(Transform::Deep, &cache);
        assert_eq!([found(&deep, &photo), found(&deep, &other)], [Some(photo.package), None]);
        let linear = packages(Transform::Linear, &cache);
        assert_eq!([found(&linear, &photo), found(&linear, &other)], [Some(photo.package); 2]);
        let unknown = Announcement { model: nestcast_codec::ModelId([0; 6]), ..photo };
        assert_eq!([found(&deep, &unknown), found(&linear, &unknown)], [None; 2]);
    }

    #[test]
    fn a_fetched_package_serves_those_who_announce_it_and_nobody_else() {
        let cache = tempfile::tempdir().expect("a folder");
        let deep = packages(Transform::Deep, &cache);
        let (photo, other) = (photo(), other());
        let hash = PackageHash(other.hash());
        checked(&announced(&other), &other.archive()).expect("it is the one");
        deep.keep(&other).expect("a folder to write to");
        assert_eq!(found(&deep, &announced(&other)), Some(hash));
        assert_eq!(found(&deep, &announced(&photo)), Some(PackageHash(photo.hash())));
        // A sender announces one package and gives another.
        for (said, given) in [(&photo, &other), (&other, &photo)] {
            let refused = checked(&announced(said), &given.archive()).expect_err("another package").to_string();
            assert!(refused.contains("do not trust it") && !refused.contains('\n'), "{refused}");
        }
        let tables = Announcement { model: nestcast_codec::ModelId([0; 6]), ..announced(&other) };
        assert!(checked(&tables, &other.archive()).is_err());
    }
}
