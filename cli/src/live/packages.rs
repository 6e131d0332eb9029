//! Which model package a broadcast is decoded with: the user's, one that is built in, or one that a sender gave.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use nestcast_models::{Package, runtime};
use nestcast_proto::{MAX_MODEL, PackageHash};
use nestcast_receiver::Announcement;

use crate::args::Transform;

/// Most packages that are kept: who sends many different ones fills no disk.
const KEPT: usize = 16;
/// What a kept package's file is called behind its hash.
const EXTENSION: &str = "package";

/// The packages that a receiver has.
pub(super) struct Packages {
    decoder: Transform,
    own: Package,
    /// Where those that senders gave are kept, each in a file of its hash's name.
    cache: Option<PathBuf>,
}

impl Packages {
    /// With the user's own package, and those that were kept for the user.
    pub(super) fn new(decoder: Transform, own: Package) -> Self {
        let cache = runtime::user_cache().map(|folder| folder.join("nestcast").join("models"));
        Self { decoder, own, cache }
    }

    /// The package for a broadcast, if it is here. A name in the cache is no promise: what is read is checked again.
    pub(super) fn find(&self, announced: &Announcement) -> Option<Package> {
        if self.suits(&self.own, announced) {
            return Some(self.own.clone());
        }
        let found = Package::built_in().find(|package| self.suits(package, announced));
        found.or_else(|| self.kept(announced.package).filter(|package| self.suits(package, announced)))
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

    fn kept(&self, hash: PackageHash) -> Option<Package> {
        let path = self.path(hash)?;
        // A pipe would never end, a link could lead to one.
        fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
        let mut archive = Vec::new();
        File::open(&path).ok()?.take(MAX_MODEL).read_to_end(&mut archive).ok()?;
        let package = Package::from_archive(&archive, path.display().to_string()).ok()?;
        (package.hash() == hash.0).then_some(package)
    }

    fn path(&self, hash: PackageHash) -> Option<PathBuf> {
        Some(self.cache.as_ref()?.join(format!("{hash}.{EXTENSION}")))
    }

    /// Keeps a package that was checked for broadcasts that announce its hash.
    pub(super) fn keep(&self, hash: PackageHash, archive: &[u8]) -> Result<()> {
        let path = self.path(hash).context("the system names no cache folder: set HOME")?;
        let folder = path.parent().context("a cached package has a folder")?;
        let write = || -> io::Result<()> {
            fs::create_dir_all(folder)?;
            let mut file = tempfile::Builder::new().prefix(".fetched-").tempfile_in(folder)?;
            file.write_all(archive)?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error)?;
            Ok(())
        };
        write().with_context(|| format!("{} cannot be written", path.display()))?;
        self.forget_oldest();
        Ok(())
    }

    /// Removes all but the newest; one that is in use is in memory.
    fn forget_oldest(&self) {
        let entries = self.cache.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
        let files = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|it| it == EXTENSION));
        let mut files: Vec<_> =
            files.filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path))).collect();
        files.sort_unstable();
        for (_, path) in files.iter().rev().skip(KEPT) {
            // Another receiver may have been faster.
            let _ = fs::remove_file(path);
        }
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
        Packages { decoder, own: photo(), cache: Some(cache.path().join("models")) }
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
        deep.keep(hash, &other.archive()).expect("a folder to write to");
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

    #[test]
    fn what_is_kept_is_checked_whenever_it_is_read() {
        let cache = tempfile::tempdir().expect("a folder");
        let deep = packages(Transform::Deep, &cache);
        let (photo, other) = (photo(), other());
        let hash = PackageHash(other.hash());
        let path = deep.path(hash).expect("a cache");
        let archive = other.archive();
        let mut altered = archive.clone();
        altered[archive.len() / 2] ^= 1;
        for poison in [&photo.archive()[..], &altered, &archive[..archive.len() - 1], b""] {
            deep.keep(hash, &archive).expect("a folder to write to");
            assert_eq!(found(&deep, &announced(&other)), Some(hash));
            fs::write(&path, poison).expect("a file");
            assert_eq!(found(&deep, &announced(&other)), None);
        }
        fs::remove_file(&path).expect("a file");
        fs::create_dir(&path).expect("a folder");
        assert_eq!(found(&deep, &announced(&other)), None);
        assert!(deep.keep(hash, &archive).is_err());
        let names = fs::read_dir(path.parent().expect("a folder")).expect("a folder").count();
        assert_eq!(names, 1, "nothing half written is left");
    }

    #[test]
    fn no_more_are_kept_than_a_few() {
        let cache = tempfile::tempdir().expect("a folder");
        let deep = packages(Transform::Deep, &cache);
        for number in (0..).take(KEPT + 5) {
            deep.keep(PackageHash([number; 32]), b"any").expect("a folder to write to");
        }
        let left = fs::read_dir(cache.path().join("models")).expect("a folder").count();
        assert_eq!(left, KEPT);
    }
}
