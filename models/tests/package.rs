//! The faults for which a model package is refused, each with one line that says who must act.

use std::fs;
use std::path::{Path, PathBuf};

use nestcast_codec::{Channels, Codec, Model, Picture, Size, VideoModel, tables};
use nestcast_models::{Composed, Fault, Package, PackageError, Runtime};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

const FILES: [&str; 9] = [
    "manifest.toml",
    "tables.bin",
    "post_filter.bin",
    "analysis.onnx",
    "synthesis-0.onnx",
    "synthesis-1.onnx",
    "synthesis-2.onnx",
    "synthesis-3.onnx",
    "synthesis-4.onnx",
];

fn photo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("artifacts").join("photo")
}

/// A file of the shipped package, whose tables lie in the codec.
fn shipped(file: &str) -> Vec<u8> {
    if file == "tables.bin" { tables::PHOTO.to_vec() } else { fs::read(photo().join(file)).expect("a file") }
}

/// The SHA-256 of these bytes.
fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A copy of the shipped package that tests may spoil.
fn copy() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for file in FILES {
        fs::write(folder.path().join(file), shipped(file)).expect("a copy");
    }
    folder
}

fn fault(folder: &Path) -> Fault {
    let error = Package::open(folder).expect_err("a spoiled package");
    let message = error.to_string();
    assert!(!message.contains('\n') && !message.contains("  "), "{message}");
    assert!(message.starts_with(&format!("model package {}: ", folder.display())), "{message}");
    match error {
        PackageError::Refused { fault, .. } => fault,
        other => panic!("{other}"),
    }
}

/// The fault of the package with `from` in its manifest replaced by `to`.
fn fault_with(from: &str, to: &str) -> Fault {
    let folder = copy();
    let path = folder.path().join("manifest.toml");
    let text = fs::read_to_string(&path).expect("a manifest");
    assert!(text.contains(from), "{from}");
    fs::write(path, text.replacen(from, to, 1)).expect("a manifest");
    fault(folder.path())
}

#[test]
fn the_shipped_packages_are_the_built_in_ones() {
    let copy = copy();
    for name in Package::names() {
        let folder = if name == "photo" { copy.path().to_owned() } else { photo().with_file_name(name) };
        let [open, builtin] = [Package::open(folder), Package::builtin(name)].map(|p| p.expect("a sound package"));
        assert_eq!(open.id(), builtin.id());
        assert_eq!(open.manifest(), builtin.manifest());
        assert_eq!((builtin.name(), builtin.manifest().format), (name, 1));
        assert!(!builtin.manifest().data.is_empty() && !builtin.manifest().licence.is_empty());
    }
}

#[test]
fn the_tables_of_video_are_those_of_their_manifest() {
    let folder = photo().with_file_name("video");
    let manifest = fs::read_to_string(folder.join("manifest.toml")).expect("a manifest");
    let manifest: toml::Table = manifest.parse().expect("a table");
    let files = ["key.bin", "residual.bin"];
    let hashes = files.map(|file| manifest["files"][file].as_str().expect("a hash"));
    let tables = [tables::VIDEO_KEY, tables::VIDEO_RESIDUAL];
    assert_eq!(tables.map(hex), hashes);
    let ids = tables.map(|tables| Model::from_bytes(tables).expect("tables").id());
    assert_eq!(VideoModel::built_in().ids(), ids);
}

#[test]
fn operating_points_are_different_models() {
    let ids: Vec<_> = Package::names().map(|name| Package::builtin(name).expect("a sound package").id()).collect();
    assert!(ids.len() == 2 && ids[0] != ids[1], "streams of one would be decoded with the other's tables");
    let masking = |name| Package::builtin(name).expect("a sound package").activity_masking();
    assert!(masking("photo") == 0.0 && masking("photo-ssim") > 0.0);
}

#[test]
fn a_name_or_a_folder_is_found() {
    assert_eq!(Package::names().collect::<Vec<_>>(), ["photo", "photo-ssim"]);
    assert_eq!(Package::find("photo").expect("built in").name(), "photo");
    let folder = copy();
    let folder = folder.path().to_str().expect("a name in UTF-8");
    assert_eq!(Package::find(folder).expect("a folder").name(), "photo");
    let message = Package::find("phto").expect_err("no such model").to_string();
    assert_eq!(message, "there is no model and no folder called phto; the built-in models are photo, photo-ssim");
}

#[test]
fn golden_arrays_are_optional() {
    Package::open(copy().path()).expect("a package without golden arrays");
}

#[test]
fn a_missing_file_is_named() {
    for file in FILES {
        let folder = copy();
        fs::remove_file(folder.path().join(file)).expect("removed");
        assert_eq!(fault(folder.path()), Fault::Missing(file.into()));
    }
    let folder = copy();
    fs::remove_file(folder.path().join("tables.bin")).expect("removed");
    fs::create_dir(folder.path().join("tables.bin")).expect("a folder");
    assert_eq!(fault(folder.path()), Fault::NotAFile("tables.bin".into()));
}

#[test]
fn an_altered_byte_is_found() {
    for file in &FILES[1..] {
        let folder = copy();
        let path = folder.path().join(file);
        let mut bytes = fs::read(&path).expect("a file");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, bytes).expect("a file");
        assert_eq!(fault(folder.path()), Fault::Hash((*file).into()));
        let place = folder.path().display();
        let expected = format!(
            "model package {place}: {file} does not match the sha256 of its manifest: fetch or export the package again"
        );
        assert_eq!(Package::open(folder.path()).expect_err("altered").to_string(), expected);
    }
}

#[test]
fn large_files_are_not_read() {
    for (file, size) in [("manifest.toml", 64 * 1024 + 1), ("tables.bin", 1 << 40), ("synthesis-0.onnx", 12 << 20)] {
        let folder = copy();
        let opened = fs::File::options().write(true).open(folder.path().join(file)).expect("a file");
        // Sparse: it needs no room on the disk, and would need a long time to read.
        if opened.set_len(size).is_ok() {
            assert!(matches!(fault(folder.path()), Fault::TooLarge { file: found, .. } if found == file), "{file}");
        }
    }
}

#[test]
fn another_format_asks_for_an_update() {
    let format = fault_with("format = 1", "format = 2\nnews = true");
    assert_eq!(format, Fault::Format { format: 2, known: 1 });
    assert!(format.to_string().contains("update nestcast"));
    assert_eq!(fault_with("stride = 64", "stride = 32"), Fault::Transform);
    assert_eq!(fault_with("\"u-ll6\", \"v-ll6\"", "\"v-ll6\", \"u-ll6\""), Fault::Transform);
}

#[test]
fn packages_of_other_things_are_told_apart() {
    for (name, of) in [("video", "video"), ("thumb", "codes"), ("../../research/packages/cifar-deep", "codes")] {
        let fault = fault(&photo().with_file_name(name));
        assert_eq!(
            fault.to_string(),
            format!("it is a package for {of}, not for pictures: name a package for pictures")
        );
    }
}

#[test]
fn a_bad_manifest_is_refused_with_its_line() {
    let message = |from, to| match fault_with(from, to) {
        Fault::Manifest(message) => message,
        other => panic!("{other}"),
    };
    assert!(message("licence =", "license =").contains("unknown field `license`"));
    assert!(message("format = 1", "format = one").starts_with("line 2: "));
    let cuts = "[0.0, 2.0, 3.0, 4.0, 5.0, 7.0]";
    for others in [
        "[-1.0, 2.0, 3.0, 4.0, 5.0, 7.0]",
        "[0.0, nan, 3.0, 4.0, 5.0, 7.0]",
        "[0.0, 2.0, 2.0, 4.0, 5.0, 7.0]",
        "[0.0, 3.0, 2.0, 4.0, 5.0, 7.0]",
        "[0.0, 2.0, 3.0, 4.0, 5.0, 15.5]",
        "[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]",
        "[7.0]",
        "[]",
    ] {
        assert!(message(cuts, others).contains("cuts are not 2 to 9 that rise within 0 to 15"), "{others}");
    }
    assert!(message("name =", "post_filter = 38\nname =").contains("unknown field `post_filter`"));
    assert!(message("cut = \"cut\"\n", "").contains("told the cut"));
    for encoder in [
        "[encoder]\nactivity_masking = 1.5\n\n[golden]",
        "[encoder]\nactivity_masking = -0.1\n\n[golden]",
        "[encoder]\nactivity_masking = nan\n\n[golden]",
    ] {
        assert!(message("[golden]", encoder).contains("activity masking is not within 0 to 1"), "{encoder}");
    }
    assert!(message("\"tables.bin\" = \"", "\"tables.bin\" = \"X").contains("sha256 of tables.bin"));
}

#[test]
fn files_outside_the_folder_are_refused() {
    for name in ["../tables.bin", "/etc/passwd", "golden/../../x"] {
        assert_eq!(fault_with("\"tables.bin\" =", &format!("\"{name}\" =")), Fault::Outside(name.into()));
    }
    assert_eq!(fault_with("\"tables.bin\" =", "\"tables\" ="), Fault::NoHash("tables.bin".into()));
}

#[cfg(unix)]
#[test]
fn links_are_refused() {
    let folder = copy();
    let path = folder.path().join("analysis.onnx");
    fs::remove_file(&path).expect("removed");
    std::os::unix::fs::symlink(photo().join("analysis.onnx"), &path).expect("a link");
    assert_eq!(fault(folder.path()), Fault::NotAFile("analysis.onnx".into()));
}

#[test]
fn tables_are_parsed_behind_their_hash() {
    assert!(matches!(fault(with_file("tables.bin", b"not tables").path()), Fault::Tables(_)));
}

#[test]
fn a_post_filter_is_parsed_behind_its_hash() {
    let filter = fs::read(photo().join("post_filter.bin")).expect("a filter");
    let [mut endless, short] = [filter.clone(), filter[..filter.len() - 1].to_vec()];
    endless[2..6].fill(127); // taps of one filter, which add up to too much
    for wrong in [&endless[..], &short, b""] {
        let folder = with_file("post_filter.bin", wrong);
        assert!(matches!(fault(folder.path()), Fault::PostFilter(_)));
        let message = Package::open(folder.path()).expect_err("a wrong filter").to_string();
        assert!(message.contains("post_filter.bin") && message.ends_with("export the package again"), "{message}");
    }
}

/// A copy of the shipped package with `file` replaced, as its manifest says too.
fn with_file(file: &str, bytes: &[u8]) -> TempDir {
    let folder = copy();
    fs::write(folder.path().join(file), bytes).expect("a file");
    let path = folder.path().join("manifest.toml");
    let text = fs::read_to_string(&path).expect("a manifest");
    let (before, after) = text.split_once(&format!("\"{file}\" = \"")).expect("a hash");
    let digest = hex(bytes);
    fs::write(path, format!("{before}\"{file}\" = \"{digest}{}", &after[64..])).expect("a manifest");
    folder
}

#[test]
fn the_deep_decoder_has_the_post_filter_of_its_package() {
    let size = Size::new(96, 64).expect("a size");
    let sample = |at: usize| u8::try_from(at * at / 977 % 97 + at / 3 % 96).expect("at most 191");
    let samples = (0..size.pixels() * 3).map(sample).collect();
    let picture = Picture::new(size, Channels::Rgb, samples).expect("as many as it takes");
    let photo = Package::builtin("photo").expect("it is built in");
    let folder = with_file("post_filter.bin", &[&[1, 0][..], &[0; 86_400]].concat());
    let unfiltered = Package::open(folder.path()).expect("a sound package");
    let runtime = Runtime::open().unwrap_or_else(|error| panic!("{error}"));
    let synthesis = |package: &Package| package.deep_synthesis(&runtime, 1);
    let linear = photo.linear(1);

    let stream = Codec::with(linear.clone()).encode(&picture).expect("a stream");
    let mut decoder = Codec::with(linear.clone()).decoder();
    decoder.push(&stream.bytes()[..stream.bytes().len() / 4]).expect("a prefix");
    let (known, position) = decoder.coefficients().expect("a header");
    let composed = || Composed::new(&linear, &mut known.clone(), position).expect("planes");
    let [with, without] =
        [&photo, &unfiltered].map(|package| synthesis(package).complete(composed()).expect("a picture"));

    let mut corrected = composed();
    synthesis(&photo).correct(&mut corrected).expect("a correction");
    let mut expected = Picture::zero(size, Channels::Rgb);
    linear.picture(&corrected.planes, &mut expected).expect("planes of the size");
    let apart = |other: &Picture| {
        let pairs = expected.samples().iter().zip(other.samples());
        pairs.map(|(a, b)| a.abs_diff(*b)).max().expect("samples")
    };
    assert!(apart(&without) <= 1, "planes are rounded to 1/64 alone");
    assert!(apart(&with) > 1, "the package's filter changes the picture");
}

#[test]
fn the_same_tables_with_other_networks_are_another_package() {
    let photo = Package::builtin("photo").expect("it is built in");
    let networks = fs::read(self::photo().with_file_name("photo-ssim").join("synthesis-0.onnx")).expect("a network");
    let other = with_file("synthesis-0.onnx", &networks);
    let other = Package::open(other.path()).expect("a sound package");
    assert_eq!(other.id(), photo.id(), "streams are the same");
    assert_ne!(other.hash(), photo.hash());
}

#[test]
fn a_folder_its_archive_and_what_is_built_in_are_one_package() {
    let copy = copy();
    for name in Package::names() {
        let builtin = Package::builtin(name).expect("it is built in");
        let folder = if name == "photo" { copy.path().to_owned() } else { photo().with_file_name(name) };
        let opened = Package::open(folder).expect("a sound package");
        let archive = opened.archive();
        let sent = Package::from_archive(&archive, "sent").expect("a sound package");
        assert_eq!([opened.hash(), sent.hash()], [builtin.hash(); 2]);
        assert_eq!([builtin.archive(), sent.archive()], [&archive[..]; 2]);
        assert_eq!(sent.id(), builtin.id());
        let manifest = fs::read(photo().with_file_name(name).join("manifest.toml")).expect("a manifest");
        assert_eq!(builtin.hash()[..], Sha256::digest(manifest)[..], "as the specification has it");
    }
}

#[test]
fn a_package_is_sent_as_it_was_opened() {
    let folder = copy();
    let package = Package::open(folder.path()).expect("a sound package");
    fs::write(folder.path().join("synthesis-0.onnx"), "another").expect("a file");
    let sent = Package::from_archive(&package.archive(), "sent").expect("a sound package");
    assert_eq!(sent.hash(), package.hash());
}

#[test]
fn a_cut_archive_is_refused_at_every_byte() {
    let archive = Package::builtin("photo").expect("it is built in").archive();
    for cut in 0..archive.len() {
        let refused = Package::from_archive(&archive[..cut], "sent");
        assert!(matches!(refused, Err(PackageError::Refused { fault: Fault::Archive, .. })), "{cut}");
    }
    let more = [&archive[..], &[0]].concat();
    assert!(Package::from_archive(&more, "sent").is_err());
}

#[test]
fn an_altered_archive_is_refused_or_another_package() {
    let package = Package::builtin("photo").expect("it is built in");
    let archive = package.archive();
    // The manifest and all lengths and names, and some of every file.
    let (mut offset, mut picked) = (0, Vec::new());
    for name in FILES {
        let length = shipped(name).len();
        let start = offset + 8 + name.len() + 8;
        picked.extend(offset..start);
        picked.extend((start..start + length).step_by(if name == "manifest.toml" { 3 } else { 20_011 }));
        offset = start + length;
    }
    assert_eq!(offset, archive.len());
    for at in picked {
        let mut altered = archive.clone();
        altered[at] ^= 1 << (at % 8);
        if let Ok(other) = Package::from_archive(&altered, "sent") {
            assert_ne!(other.hash(), package.hash(), "{at}");
        }
    }
}

#[test]
fn an_archive_has_the_files_in_their_order() {
    let file = |name: &str| {
        let bytes = shipped(name);
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).expect("a short file") | 1 << 31;
        let string = |bytes: &[u8]| [&length(bytes).to_be_bytes()[..], bytes].concat();
        [string(name.as_bytes()), string(&bytes)].concat()
    };
    let of = |names: &[&str]| names.iter().flat_map(|name| file(name)).collect::<Vec<_>>();
    Package::from_archive(&of(&FILES), "sent").expect("a length may be of any width");
    let swapped = |a: usize, b: usize| {
        let mut names = FILES.to_vec();
        names.swap(a, b);
        names
    };
    let [manifest, _, _, analysis, ..] = FILES;
    let last = FILES.len() - 1;
    for names in [
        vec![],
        swapped(0, 1),
        swapped(last - 1, last),
        [&FILES[..2], &FILES[3..]].concat(),
        FILES[..last].to_vec(),
        [&FILES[..last], &[analysis]].concat(),
        [&FILES[..], &FILES[last..]].concat(),
        [&FILES[..], &[analysis; 4]].concat(),
    ] {
        let refused = Package::from_archive(&of(&names), "sent");
        assert!(matches!(refused, Err(PackageError::Refused { fault: Fault::Archive, .. })), "{names:?}: {refused:?}");
    }
    // A length of 2^62 - 1 bytes.
    let liar = [&[13][..], manifest.as_bytes(), &[0xFF; 8]].concat();
    assert!(Package::from_archive(&liar, "sent").is_err());
}

#[test]
fn a_network_that_onnx_runtime_is_not_given_is_found_before_it_is() {
    for network in ["add.onnx", "small_synthesis.onnx", "zero_synthesis.onnx"] {
        let bytes = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/testdata").join(network));
        let folder = with_file("synthesis-3.onnx", &bytes.expect("a network"));
        let fault = fault(folder.path());
        assert!(matches!(&fault, Fault::Graph { file, .. } if file == "synthesis-3.onnx"), "{fault}");
    }
}

#[test]
fn the_network_for_gains_is_compared_with_the_manifest_when_an_encoder_asks_for_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for file in fs::read_dir(photo().with_file_name("photo-ssim")).expect("the package").map(|it| it.expect("a file")) {
        if file.path().is_file() {
            fs::copy(file.path(), folder.path().join(file.file_name())).expect("a copy");
        }
    }
    let runtime = Runtime::open().unwrap_or_else(|error| panic!("{error}"));
    let path = folder.path().join("gains.onnx");
    let mut network = fs::read(&path).expect("the network");
    let package = Package::open(folder.path()).expect("a sound package");
    package.masked_analysis(&runtime, 1).expect("a sound network");
    network[1000] ^= 1;
    fs::write(&path, network).expect("a changed network");
    let changed = Package::open(folder.path()).expect("decoders do not need it");
    for refused in [changed.masked_analysis(&runtime, 1), changed.deep_analysis(&runtime, 1)] {
        let Err(PackageError::Refused { fault: Fault::Hash(file), .. }) = refused else { panic!("{refused:?}") };
        assert_eq!(file, "gains.onnx");
    }
    fs::remove_file(path).expect("it goes");
    assert!(matches!(fault(folder.path()), Fault::Missing(_)));
}
