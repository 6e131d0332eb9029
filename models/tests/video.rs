//! The package of video: the output of its network when it was exported, the gain of frames, and the faults for which
//! it is refused.

use std::fs;
use std::path::{Path, PathBuf};

use nestcast_codec::{VideoModel, tables};
use nestcast_models::onnx::{Network, Tensor, Workers};
use nestcast_models::{Fault, PackageError, Runtime, VideoPackage};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

const FILES: [&str; 4] = ["manifest.toml", "key.bin", "residual.bin", "frames.onnx"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("artifacts/video")
}

/// A file of the shipped package, whose tables lie in the codec.
fn shipped(file: &str) -> Vec<u8> {
    match file {
        "key.bin" => tables::VIDEO_KEY.to_vec(),
        "residual.bin" => tables::VIDEO_RESIDUAL.to_vec(),
        _ => fs::read(folder().join(file)).expect("a file"),
    }
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An array of floats of version 1 of `.npy`.
fn floats(name: &str) -> Tensor {
    let bytes = fs::read(folder().join("golden").join(name)).expect("a golden array");
    let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = str::from_utf8(&bytes[10..10 + length]).expect("a header in ASCII");
    assert!(header.contains("'<f4'") && header.contains("'fortran_order': False"), "{name}: {header}");
    let shape = header.split_once("'shape': (").and_then(|(_, rest)| rest.split_once(')')).expect("a shape").0;
    let shape: Vec<usize> = shape.split(',').filter_map(|side| side.trim().parse().ok()).collect();
    let data: Vec<f32> = bytes[10 + length..].as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
    assert_eq!(data.len(), shape.iter().product::<usize>(), "{name}");
    Tensor { shape, data }
}

#[test]
fn the_shipped_package_is_the_built_in_one() {
    let copy = copy();
    let [open, built_in] =
        [VideoPackage::open(copy.path()), VideoPackage::built_in()].map(|p| p.expect("a sound package"));
    assert_eq!(open.manifest(), built_in.manifest());
    // The network was trained with the tables that frames are coded with.
    assert_eq!([open.model().ids(), built_in.model().ids()], [VideoModel::built_in().ids(); 2]);
    assert!(!built_in.manifest().data.is_empty() && !built_in.manifest().licence.is_empty());
    for (name, expected) in &open.manifest().files {
        assert_eq!(hex(&shipped(name)), *expected, "{name}");
    }
}

/// Sums of int8 are exact, but roundings at a half may fall either way with other instructions (`golden.rs`).
#[test]
fn the_network_agrees() {
    let runtime = Runtime::open().unwrap_or_else(|error| panic!("{error}"));
    let model = fs::read(folder().join("frames.onnx")).expect("a network");
    let network = Network::load(&runtime, &model, Workers::single_threaded(1)).expect("a network");
    let (mut blocks, told, correction) = (floats("blocks.npy"), floats("told.npy"), floats("correction.npy"));
    blocks.shape.insert(0, 1);
    let [count, of_each] = told.shape[..] else { panic!("rows of what is told") };
    for (told, expected) in told.data.chunks(of_each).zip(correction.data.chunks(correction.data.len() / count)) {
        let told = Tensor { shape: vec![of_each], data: told.to_vec() };
        let given = network.run(&[("frame", &blocks), ("told", &told)]).expect("a correction").remove(0);
        assert_eq!((given.shape[0], &given.shape[1..]), (1, &correction.shape[1..]));
        let largest = expected.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
        let apart: Vec<f32> = given.data.iter().zip(expected).map(|(a, b)| (a - b).abs()).collect();
        let mean = apart.iter().sum::<f32>() / apart.len() as f32;
        let furthest = apart.iter().copied().fold(0.0, f32::max);
        assert!(
            largest > 0.0 && furthest <= 0.1 * largest && mean <= 1e-3 * largest,
            "{furthest}, {mean} of {largest}"
        );
    }
}

/// A copy of the shipped package that tests may spoil.
fn copy() -> TempDir {
    let copy = tempfile::tempdir().expect("a temporary folder");
    for file in FILES {
        fs::write(copy.path().join(file), shipped(file)).expect("a copy");
    }
    copy
}

fn fault(folder: &Path) -> Fault {
    let error = VideoPackage::open(folder).expect_err("a spoiled package");
    let message = error.to_string();
    assert!(!message.contains('\n') && !message.contains("  "), "{message}");
    match error {
        PackageError::Refused { fault, .. } => fault,
        other => panic!("{other}"),
    }
}

/// The fault of the package with `from` in its manifest replaced by `to`.
fn fault_with(from: &str, to: &str) -> Fault {
    let copy = copy();
    let path = copy.path().join("manifest.toml");
    let text = fs::read_to_string(&path).expect("a manifest");
    assert!(text.contains(from), "{from}");
    fs::write(path, text.replacen(from, to, 1)).expect("a manifest");
    fault(copy.path())
}

#[test]
fn a_missing_or_altered_file_is_named() {
    VideoPackage::open(copy().path()).expect("a package without golden arrays");
    for file in FILES {
        let copy = copy();
        fs::remove_file(copy.path().join(file)).expect("removed");
        assert_eq!(fault(copy.path()), Fault::Missing(file.into()));
    }
    for file in &FILES[1..] {
        let copy = copy();
        let path = copy.path().join(file);
        let mut bytes = fs::read(&path).expect("a file");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, bytes).expect("a file");
        assert_eq!(fault(copy.path()), Fault::Hash((*file).into()));
    }
}

#[test]
fn a_manifest_that_says_something_else_is_refused() {
    assert_eq!(fault_with("format = 1", "format = 2"), Fault::Format { format: 2, known: 1 });
    assert!(matches!(fault_with("position = [0.0, 9.0]", "position = [0.0, 19.0]"), Fault::Manifest(_)));
    assert!(matches!(fault_with("position = [0.0, 9.0]", "position = [nan, 9.0]"), Fault::Manifest(_)));
    assert!(matches!(fault_with("name = \"video\"", "name = \"video\"\nmore = 1"), Fault::Manifest(_)));
    assert_eq!(fault_with("\"frames.onnx\"", "\"other.onnx\""), Fault::NoHash("frames.onnx".into()));
    assert_eq!(fault_with("\"frames.onnx\"", "\"../frames.onnx\""), Fault::Outside("../frames.onnx".into()));
}

/// Replaces a file, and its hash in the manifest.
fn replace(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join("manifest.toml");
    let text = fs::read_to_string(&path).expect("a manifest");
    let before = hex(&fs::read(folder.join(name)).expect("a file"));
    fs::write(path, text.replace(&before, &hex(bytes))).expect("a manifest");
    fs::write(folder.join(name), bytes).expect("a file");
}

#[test]
fn other_networks_and_tables_are_refused_though_the_manifest_vouches_for_them() {
    let photo = folder().with_file_name("photo");
    let other = fs::read(photo.join("synthesis-0.onnx")).expect("a network");
    for network in [&other[..], b"", b"no network"] {
        let copy = copy();
        replace(copy.path(), "frames.onnx", network);
        assert!(matches!(fault(copy.path()), Fault::Graph { .. }));
    }
    for tables in ["key.bin", "residual.bin"] {
        let copy = copy();
        replace(copy.path(), tables, b"no tables");
        assert!(matches!(fault(copy.path()), Fault::VideoTables { file, .. } if file == tables));
    }
    let copy = copy();
    replace(copy.path(), "frames.onnx", &vec![0; 5 << 20]);
    assert!(matches!(fault(copy.path()), Fault::TooLarge { .. }));
}
