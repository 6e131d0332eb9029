//! What PyTorch and ONNX Runtime computed when the package was exported, and what this crate and the codec compute.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use nestcast_codec::{
    Analysis as _, Axes, Channels, Coefficients, Linear, Picture, Planes, Position, Size, Synthesis as _,
};
use nestcast_models::onnx::{Network, Tensor, Workers};
use nestcast_models::{Package, Runtime};
use sha2::{Digest as _, Sha256};

fn folder(model: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("artifacts").join(model)
}

fn package(model: &str) -> Package {
    Package::builtin(model).unwrap_or_else(|error| panic!("{error}"))
}

fn runtime() -> Runtime {
    Runtime::open().unwrap_or_else(|error| panic!("{error}"))
}

/// Shape and bytes of a version 1 `.npy` file of the element type `kind`.
fn array(model: &str, name: &str, kind: &str) -> (Vec<usize>, Vec<u8>) {
    let bytes = fs::read(folder(model).join("golden").join(name)).expect("a golden array");
    let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = str::from_utf8(&bytes[10..10 + length]).expect("a header in ASCII");
    assert!(header.contains(kind) && header.contains("'fortran_order': False"), "{name}: {header}");
    let shape = header.split_once("'shape': (").and_then(|(_, rest)| rest.split_once(')')).expect("a shape").0;
    let shape = shape.split(',').filter_map(|side| side.trim().parse().ok()).collect();
    (shape, bytes[10 + length..].to_vec())
}

fn floats(model: &str, name: &str) -> Tensor {
    let (shape, bytes) = array(model, name, "'<f4'");
    let data: Vec<f32> = bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
    assert_eq!(data.len(), shape.iter().product::<usize>(), "{name}");
    Tensor { shape, data }
}

fn picture(model: &str) -> Picture {
    let (shape, samples) = array(model, "rgb.npy", "'|u1'");
    let side = |index: usize| u32::try_from(shape[index]).expect("a small picture");
    let size = Size::new(side(1), side(0)).expect("a valid size");
    Picture::new(size, Channels::Rgb, samples).expect("three samples a pixel")
}

fn axes(model: &str) -> Axes {
    let angles = package(model).manifest().golden.as_ref().expect("golden axes").axes;
    Axes::from_angles(angles).expect("angles within their range")
}

fn planes(model: &str, size: Size, tensor: &Tensor) -> Planes {
    let components: Vec<_> = tensor.data.chunks_exact(tensor.data.len() / 3).map(<[f32]>::to_vec).collect();
    Planes { size, channels: Channels::Rgb, axes: axes(model), components }
}

fn furthest<'a>(a: impl IntoIterator<Item = &'a f32>, b: impl IntoIterator<Item = &'a f32>) -> f32 {
    let (mut a, mut b) = (a.into_iter(), b.into_iter());
    let far = a.by_ref().zip(b.by_ref()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(a.next().is_none() && b.next().is_none(), "as many values on both sides");
    far
}

/// Three planes as a network's input: 4 by 4 pixels after one another, component by component, row by row.
fn blocks(planes: &Tensor) -> Tensor {
    let [.., height, width] = planes.shape[..] else { panic!("planes") };
    let mut data = Vec::new();
    for (y, x) in (0..height / 4).flat_map(|y| (0..width / 4).map(move |x| (4 * y, 4 * x))) {
        for row in planes.data.chunks_exact(width).enumerate().filter(|(row, _)| (y..y + 4).contains(&(row % height))) {
            data.extend_from_slice(&row.1[x..x + 4]);
        }
    }
    Tensor { shape: vec![1, height / 4, width / 4, 48], data }
}

/// The networks are int8: their sums are exact, but roundings of bytes at a half may fall either way with another
/// machine's instructions, and each may move a few bytes of the next layers by one step. A step is a hundredth of the
/// largest correction.
fn assert_as_close_as_bytes(name: &str, given: &[f32], expected: &[f32]) {
    let largest = expected.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
    let far = furthest(given, expected);
    let mean = given.iter().zip(expected).map(|(a, b)| (a - b).abs()).sum::<f32>() / expected.len() as f32;
    assert!(far <= 0.1 * largest && mean <= 1e-3 * largest, "{name}: {far}, on average {mean}, of {largest}");
}

#[test]
fn golden_arrays_match_the_manifest() {
    for model in Package::names() {
        for (name, expected) in package(model).manifest().files.iter().filter(|(name, _)| name.starts_with("golden/")) {
            let digest = Sha256::digest(fs::read(folder(model).join(name)).expect("a golden array"));
            let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(digest, *expected, "{name}");
        }
    }
}

#[test]
fn the_axes_of_a_picture_are_found() {
    for model in Package::names() {
        assert_eq!(Axes::of(&picture(model)), axes(model));
    }
}

fn decomposed(linear: &Linear, planes: &Planes) -> Coefficients {
    let mut coefficients = Coefficients::default();
    linear.decompose(planes, &mut coefficients).expect("planes of the size");
    coefficients
}

#[test]
fn the_linear_transform_agrees() {
    for model in Package::names() {
        let linear = package(model).linear(1);
        let given = linear.planes(&picture(model), axes(model));
        let far = furthest(given.components.iter().flatten(), &floats(model, "planes.npy").data);
        assert!(far < 1e-3, "{model}: planes: {far}");

        let given = decomposed(&linear, &given);
        let far = furthest(given.subbands.iter().flatten(), &floats(model, "coefficients.npy").data);
        assert!(far < 1e-2, "{model}: coefficients: {far}");
    }
}

/// The network that serves a cut, within the bounds.
fn number(bounds: &[f32], cut: f32) -> usize {
    bounds[1..bounds.len() - 1].iter().filter(|&&bound| bound <= cut).count()
}

#[test]
fn the_networks_agree() {
    for model in Package::names() {
        let planes = blocks(&floats(model, "planes.npy"));
        let load = |file: &str| {
            let model = fs::read(folder(model).join(file)).expect("a network");
            Network::load(&runtime(), &model, Workers::single_threaded(1)).expect("a network")
        };
        let analysis = floats(model, "analysis.npy");
        let given = load("analysis.onnx").run(&[("planes", &planes)]).expect("a correction");
        assert_as_close_as_bytes("analysis", &given[0].data, &blocks(&analysis).data);

        let package = package(model);
        if package.has_gain_network() {
            let given = load("gains.onnx").run(&[("planes", &planes)]).expect("activities");
            let expected = floats(model, "activity.npy");
            for (given, expected) in given[0].data.iter().zip(&expected.data) {
                assert!((given - expected).abs() < 1e-3, "{model}: activity {given}, expected {expected}");
            }
            assert_eq!(given[0].data.len(), expected.data.len());
        }
        let expected = floats(model, "synthesis.npy");
        let (cuts, bounds) = (&package.manifest().golden.as_ref().expect("cuts").cuts, &package.manifest().ranges.cut);
        assert_eq!(expected.data.len(), cuts.len() * planes.data.len(), "{model}: a golden correction for every cut");
        let numbers: BTreeSet<_> = cuts.iter().map(|&cut| number(bounds, cut)).collect();
        assert_eq!(numbers.len(), bounds.len() - 1, "{model}: golden corrections of every network");
        for (&cut, expected) in cuts.iter().zip(expected.data.chunks_exact(planes.data.len())) {
            let synthesis = load(&format!("synthesis-{}.onnx", number(bounds, cut)));
            let cut = Tensor { shape: vec![1], data: vec![cut] };
            let given = synthesis.run(&[("planes", &planes), ("cut", &cut)]).expect("a correction");
            let expected = Tensor { shape: analysis.shape.clone(), data: expected.to_vec() };
            assert_as_close_as_bytes("synthesis", &given[0].data, &blocks(&expected).data);
        }
    }
}

#[test]
fn the_deep_transform_agrees() {
    for model in Package::names() {
        let package = package(model);
        let size = picture(model).size();
        let (linear, deep) = (package.linear(1), package.deep(&runtime(), 2).unwrap_or_else(|error| panic!("{error}")));
        let planes_and = |correction: &[f32]| {
            let mut tensor = floats(model, "planes.npy");
            tensor.data.iter_mut().zip(correction).for_each(|(value, more)| *value += more);
            planes(model, size, &tensor)
        };
        let plain = decomposed(&linear, &planes(model, size, &floats(model, "planes.npy")));
        let corrections = |corrected: &Coefficients| -> Vec<f32> {
            let pairs = corrected.subbands.iter().flatten().zip(plain.subbands.iter().flatten());
            pairs.map(|(corrected, plain)| corrected - plain).collect()
        };
        let given = deep.coefficients_of((&picture(model)).into()).expect("an analysis");
        let expected = decomposed(&linear, &planes_and(&floats(model, "analysis.npy").data));
        assert_as_close_as_bytes(model, &corrections(&given), &corrections(&expected));

        let corrections = floats(model, "synthesis.npy");
        let cuts = &package.manifest().golden.as_ref().expect("cuts").cuts;
        for (&cut, correction) in cuts.iter().zip(corrections.data.chunks_exact(plain.size.pixels() * 3)) {
            let given = deep.picture_of(plain.clone(), Position(cut)).expect("a picture");
            let mut expected = Picture::zero(plain.size, plain.channels);
            linear.picture(&planes_and(correction), &mut expected).expect("planes of the size");
            // Planes differ in their last bits, and so may some of the synthesis's bytes (`assert_as_close_as_bytes`).
            let pairs = given.samples().iter().zip(expected.samples());
            let apart: Vec<u8> = pairs.map(|(a, b)| a.abs_diff(*b)).filter(|&apart| apart > 1).collect();
            let rare = apart.len() * 1000 < given.samples().len();
            assert!(rare && apart.iter().all(|&apart| apart == 2), "{model}: synthesis at {cut}: {apart:?}");
        }
    }
}
