//! Packages of binary codes: those of this repository give the same as when they were exported; broken ones are
//! refused.

use std::fs;
use std::path::{Path, PathBuf};

use nestcast_codec::{Channels, Picture, Size};
use nestcast_models::codes::{CodePackage, SIDE_PIXELS};
use nestcast_models::{Fault, PackageError, Runtime};
use nestcast_onnx_writer::codes::{decoder, encoder};
use sha2::{Digest as _, Sha256};

const BITS: u64 = 16;

fn package(folder: &Path, head: &str, files: &[(&str, Vec<u8>)]) {
    let mut manifest = format!("{head}\n[code]\nbits = {BITS}\n\n[files]\n");
    for (name, bytes) in files {
        let digest: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        manifest += &format!("\"{name}\" = \"{digest}\"\n");
        fs::write(folder.join(name), bytes).expect("a file");
    }
    fs::write(folder.join("manifest.toml"), manifest).expect("a file");
}

const HEAD: &str =
    "kind = \"binary-code\"\nformat = 1\nname = \"small\"\nversion = \"1\"\nlicence = \"MIT\"\ndata = []\n";

fn find(folder: &Path) -> Result<CodePackage, PackageError> {
    CodePackage::find(folder.to_str().expect("UTF-8"))
}

fn fault(folder: &Path) -> Fault {
    match find(folder).expect_err("a broken package") {
        PackageError::Refused { fault, .. } => fault,
        other => panic!("{other}"),
    }
}

#[test]
fn a_picture_goes_to_bits_and_any_number_of_them_back() {
    let folder = tempfile::tempdir().expect("a folder");
    package(folder.path(), HEAD, &[("encoder.onnx", encoder(BITS, 0)), ("decoder.onnx", decoder(BITS))]);
    let package = find(folder.path()).expect("a sound package");
    assert_eq!((package.name(), package.bits()), ("small", 16));
    let runtime = Runtime::open().expect("`cargo xtask test` brings ONNX Runtime");
    let samples = (0..3 * SIDE_PIXELS * SIDE_PIXELS).map(|at| u8::try_from(at / 13 % 256).expect("a byte")).collect();
    let picture = Picture::new(Size::new(32, 32).expect("a size"), Channels::Rgb, samples).expect("all samples");
    let code = package.encoder(&runtime, 1).map(|encoder| encoder.encode(&picture).expect("it runs"));
    assert_eq!(code.expect("it loads").len(), 2);
    let decoder = package.decoder(&runtime).expect("it loads").expect("there is one");
    // Its samples are (bits that are 1 - bits that are 0) / 16.
    for (known, sample) in [(0, 0), (1, 16), (3, 48), (5, 48), (16, 0)] {
        let picture = decoder.decode(&[0b1111_0000, 0b1111_0000], known).expect("it runs");
        assert!(picture.samples().iter().all(|&given| given == sample), "{known}: {}", picture.samples()[0]);
    }
}

#[test]
fn broken_packages_are_refused_with_what_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let sound = || package(folder, HEAD, &[("encoder.onnx", encoder(BITS, 0))]);
    sound();
    assert!(find(folder).is_ok_and(|package| package.name() == "small"));
    assert!(CodePackage::is_meant(folder.to_str().expect("UTF-8")) && !CodePackage::is_meant("photo"));
    fs::write(folder.join("encoder.onnx"), encoder(BITS, 1)).expect("a file");
    assert_eq!(fault(folder), Fault::Hash("encoder.onnx".into()));
    fs::remove_file(folder.join("encoder.onnx")).expect("a file");
    assert_eq!(fault(folder), Fault::Missing("encoder.onnx".into()));
    package(folder, HEAD, &[("encoder.onnx", encoder(BITS, 0)), ("decoder.onnx", decoder(BITS))]);
    fs::remove_file(folder.join("decoder.onnx")).expect("a file");
    assert_eq!(fault(folder), Fault::Missing("decoder.onnx".into()));
    package(folder, HEAD, &[("encoder.onnx", decoder(BITS))]);
    assert!(matches!(fault(folder), Fault::Graph { .. }));
    package(folder, HEAD, &[("encoder.onnx", encoder(2 * BITS, 0))]);
    assert!(matches!(fault(folder), Fault::Graph { .. }), "codes of another length than the manifest says");
    package(folder, &HEAD.replace("format = 1", "format = 2"), &[("encoder.onnx", encoder(BITS, 0))]);
    assert_eq!(fault(folder), Fault::Format { format: 2, known: 1 });
    package(folder, &HEAD.replace("binary-code", "other"), &[("encoder.onnx", encoder(BITS, 0))]);
    assert!(matches!(fault(folder), Fault::Manifest(_)));
}

/// The packages of codes, the shipped one and those of the research.
fn shipped() -> Vec<PathBuf> {
    let entries = ["artifacts", "../research/packages"]
        .map(|folder| fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).expect("a folder"));
    let folders = entries.into_iter().flatten().map(|entry| entry.expect("an entry").path());
    folders.filter(|folder| CodePackage::is_meant(folder.to_str().expect("UTF-8"))).collect()
}

/// A golden array's bytes, of `.npy` version 1.
fn golden(folder: &Path, name: &str) -> Option<Vec<u8>> {
    let bytes = fs::read(folder.join("golden").join(name)).ok()?;
    let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    Some(bytes[10 + length..].to_vec())
}

#[test]
fn shipped_packages_give_what_they_gave_when_they_were_exported() {
    assert_eq!(shipped().len(), 3, "thumb and both of CIFAR's");
    for folder in shipped() {
        let package = find(&folder).expect("a sound package");
        let encoder = package.encoder(&Runtime::open().expect("ONNX Runtime"), 1).expect("it loads");
        let (pictures, codes) = (golden(&folder, "pictures.npy"), golden(&folder, "codes.npy"));
        let (pictures, codes) = (pictures.expect("golden pictures"), codes.expect("golden codes"));
        let values: Vec<f32> = codes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        assert_eq!(
            pictures.len() / (3 * SIDE_PIXELS * SIDE_PIXELS) * package.bits(),
            values.len(),
            "{}",
            folder.display()
        );
        for (planes, values) in pictures.chunks(3 * SIDE_PIXELS * SIDE_PIXELS).zip(values.chunks(package.bits())) {
            let samples = (0..3 * SIDE_PIXELS * SIDE_PIXELS)
                .map(|at| planes[at % 3 * SIDE_PIXELS * SIDE_PIXELS + at / 3])
                .collect();
            let picture =
                Picture::new(Size::new(32, 32).expect("a size"), Channels::Rgb, samples).expect("all samples");
            let code = encoder.encode(&picture).expect("it runs");
            // Values near 0 may fall to either side.
            for (bit, &value) in values.iter().enumerate().filter(|(_, value)| value.abs() > 1e-3) {
                assert_eq!(code[bit / 8] >> (7 - bit % 8) & 1 == 1, value > 0.0, "bit {bit} of {}", folder.display());
            }
        }
    }
}
