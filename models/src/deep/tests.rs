//! The deep transform with networks that correct nothing, and with small ones of random weights.

use nestcast_codec::{Channels, Picture, Size, Ycbcr};

use super::tiles::Tiling;
use super::*;
use crate::package::{Package, Ports};
use crate::runtime::Runtime;

const SMALL: [&[u8]; 2] =
    [include_bytes!("../testdata/small_analysis.onnx"), include_bytes!("../testdata/small_synthesis.onnx")];
const ZERO: [&[u8]; 2] =
    [include_bytes!("../testdata/zero_analysis.onnx"), include_bytes!("../testdata/zero_synthesis.onnx")];
const ADD: &[u8] = include_bytes!("../testdata/add.onnx");

fn ports(cut: Option<&str>) -> Ports {
    Ports { planes: "planes".into(), cut: cut.map(Into::into), correction: "correction".into() }
}

fn runtime() -> Runtime {
    Runtime::open().unwrap_or_else(|error| panic!("{error}"))
}

fn deep([analysis, synthesis]: [&'static [u8]; 2], threads: usize) -> Deep {
    let analysis = Correction::load(&runtime(), analysis, &ports(None), threads).expect("a network");
    let corrections =
        Corrections::new(&runtime(), &[synthesis.into()].into(), &ports(Some("cut")), &[0.0, 8.0], threads);
    let linear = Package::builtin("photo").expect("the built-in package").linear(1);
    // The tables' own, as after the linear synthesis.
    let tables = nestcast_codec::tables::PHOTO;
    let post_filter = PostFilter::from_bytes(&tables[18754..]).expect("tables with a post-filter");
    let analysis = DeepAnalysis { linear: linear.clone(), correction: Some(analysis), gains: None };
    Deep { analysis, synthesis: DeepSynthesis { linear, corrections, post_filter: Arc::new(post_filter) } }
}

fn correction(synthesis: &DeepSynthesis, cut: f32) -> Arc<Correction> {
    synthesis.corrections.at(cut).expect("a network").0
}

/// Smooth, with edges and noise.
fn picture(width: u32, height: u32, channels: Channels) -> Picture {
    let mut noise = 1_u32;
    let sample = |index: usize| {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let pixel = index / channels.count();
        let channel = index % channels.count();
        let x = pixel % width as usize;
        let y = pixel / width as usize;
        let edge = if (x / 37 + y / 53) % 3 == channel { 90 } else { 0 };
        u8::try_from(edge + (x + 2 * y) / 16 % 128 + (noise >> 27) as usize).expect("at most 248")
    };
    let size = Size::new(width, height).expect("a valid size");
    let samples = (0..size.pixels() * channels.count()).map(sample).collect();
    Picture::new(size, channels, samples).expect("as many samples as it takes")
}

const SIZES: [(u32, u32, Channels); 6] = [
    (1, 1, Channels::Rgb),
    (1, 1, Channels::Grey),
    (17, 33, Channels::Rgb),
    (33, 17, Channels::Grey),
    (600, 401, Channels::Rgb),
    (401, 600, Channels::Grey),
];

fn furthest(a: &Planes, b: &Planes) -> f32 {
    let pairs = a.components.iter().flatten().zip(b.components.iter().flatten());
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn networks_that_correct_nothing_leave_the_linear_transform() {
    let deep = deep(ZERO, 2);
    let linear = &deep.synthesis.linear;
    for (width, height, channels) in SIZES {
        let picture = picture(width, height, channels);
        let coefficients = deep.coefficients_of((&picture).into()).expect("an analysis");
        assert_eq!(coefficients, linear.coefficients_of((&picture).into()).expect("an analysis"));
        let expected = linear.picture_of(coefficients.clone(), Position(0.0)).expect("a picture");
        assert_eq!(deep.picture_of(coefficients, Position(0.0)).expect("a picture"), expected);
    }
}

#[test]
fn tiles_have_no_visible_borders() {
    let deep = deep(SMALL, 2);
    let picture = picture(760, 500, Channels::Rgb);
    let planes = deep.synthesis.linear.planes(&picture, Axes::of(&picture));
    let synthesis = correction(&deep.synthesis, 4.0);
    for (correction, cut) in
        [(deep.analysis.correction.as_ref().expect("a correction"), None), (&*synthesis, Some(4.0))]
    {
        let tiled = |counts| {
            let mut planes = planes.clone();
            let tiling = Tiling::split(planes.size, counts);
            correction.add_in_tiles(&mut planes, &tiling, cut).expect("a correction");
            planes
        };
        let whole = tiled([1, 1]);
        assert!(furthest(&whole, &planes) > 1.0, "the network does something");
        for counts in [[2, 1], [1, 2], [3, 2]] {
            let far = furthest(&tiled(counts), &whole);
            assert!(far < 0.05, "{counts:?}: {far} levels");
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let picture = picture(1100, 1500, Channels::Rgb);
    let [one, three] =
        [1, 3].map(|threads| deep(SMALL, threads).coefficients_of((&picture).into()).expect("an analysis"));
    assert_eq!(one, three);
}

#[test]
fn colours_of_8_bits_are_corrected_in_16_bits_too() {
    let deep = deep(SMALL, 1);
    let usual = picture(70, 50, Channels::Rgb);
    let in_16_bits = |low: u8| {
        let samples = usual.samples().iter().flat_map(|&sample| [sample ^ low, sample]).collect();
        Picture::new(usual.size(), Format::Rgb16, samples).expect("all samples")
    };
    let corrected = deep.coefficients_of((&usual).into()).expect("an analysis");
    assert_eq!(deep.coefficients_of((&in_16_bits(0)).into()).expect("an analysis"), corrected);
    let finer = in_16_bits(1);
    let linear = deep.synthesis.linear.coefficients_of((&finer).into()).expect("an analysis");
    assert_eq!(deep.coefficients_of((&finer).into()).expect("an analysis"), linear);
    assert_ne!(linear, corrected);
}

#[test]
fn planar_colours_of_10_bits_are_corrected_if_8_bits_have_them() {
    let deep = deep(SMALL, 1);
    let size = Size::new(70, 50).expect("a valid size");
    let colours = Ycbcr::BT709;
    let eight: Vec<u8> =
        (0..Format::Ycbcr420(colours).bytes(size)).map(|at| 60 + (at % 101).to_le_bytes()[0]).collect();
    let in_10_bits = |last: u16| {
        let mut samples: Vec<u8> = eight.iter().flat_map(|&sample| (4 * u16::from(sample)).to_le_bytes()).collect();
        *samples.last_chunk_mut().expect("samples") = last.to_le_bytes();
        Picture::new(size, Format::Ycbcr420Deep { colours, bits: 10 }, samples).expect("all samples")
    };
    let difference = |picture: &Picture| {
        let corrected = deep.coefficients_of(picture.into()).expect("an analysis");
        corrected != deep.synthesis.linear.coefficients_of(picture.into()).expect("an analysis")
    };
    assert!(difference(&in_10_bits(512)), "no sample is finer");
    assert!(!difference(&in_10_bits(513)), "one is");
}

#[test]
fn pictures_of_any_size_are_corrected() {
    let deep = deep(SMALL, 2);
    let linear = &deep.synthesis.linear;
    for (width, height, channels) in SIZES {
        let picture = picture(width, height, channels);
        let coefficients = linear.coefficients_of((&picture).into()).expect("an analysis");
        let corrected = deep.picture_of(coefficients.clone(), Position(5.0)).expect("a picture");
        assert_eq!((corrected.size(), corrected.channels()), (picture.size(), channels));
        assert_ne!(corrected, linear.picture_of(coefficients, Position(5.0)).expect("a picture"));
    }
}

#[test]
fn grey_is_luma_without_chroma() {
    let correction = correction(&deep(SMALL, 1).synthesis, 3.0);
    let size = Size::new(40, 24).expect("a valid size");
    let luma: Vec<f32> = (0..size.pixels()).map(|i| (i % 97) as f32 - 48.0).collect();
    let nothing = vec![0.0; size.pixels()];
    let mut grey = Planes { size, channels: Channels::Grey, axes: Axes::default(), components: vec![luma.clone()] };
    let mut rgb = Planes {
        size,
        channels: Channels::Rgb,
        axes: Axes::default(),
        components: vec![luma, nothing.clone(), nothing],
    };
    correction.add_to(&mut grey, Some(3.0)).expect("a correction");
    correction.add_to(&mut rgb, Some(3.0)).expect("a correction");
    assert_eq!(grey.components, rgb.components[..1]);
}

#[test]
fn the_cut_matters_as_far_as_it_was_trained_and_networks_fade_below_the_finest_step() {
    let deep = deep(SMALL, 1);
    let coefficients = deep.coefficients_of((&picture(64, 64, Channels::Rgb)).into()).expect("an analysis");
    let at = |cut| deep.picture_of(coefficients.clone(), Position(cut)).expect("a picture");
    assert_ne!(at(3.0), at(6.0));
    assert_eq!(at(8.0), at(14.5));
    assert_ne!(at(0.0), at(-0.5));
    let linear = deep.synthesis.linear.picture_of(coefficients.clone(), Position(-1.0)).expect("a picture");
    assert_eq!(at(-1.0), linear);
}

#[test]
fn a_network_of_another_kind_is_refused() {
    let refusal = |model, ports: &Ports| {
        Correction::load(&runtime(), model, ports, 1).map(|_| ()).expect_err("another kind").to_string()
    };
    assert_eq!(refusal(ADD, &ports(None)), "the network needs the inputs [a, b], but nestcast passed [planes]");
    assert_eq!(
        refusal(SMALL[1], &ports(None)),
        "the network needs the inputs [planes, cut], but nestcast passed [planes]"
    );
    let other = Ports { correction: "pixels".into(), ..ports(None) };
    let message = refusal(SMALL[0], &other);
    assert!(message.ends_with("but nestcast needs pixels of the shape [1, 8, 4, 48]"), "{message}");
}

#[test]
fn every_cut_has_the_network_of_its_range() {
    let networks = [SMALL[1], ZERO[1], SMALL[1]].map(Into::into);
    let corrections = Corrections::new(&runtime(), &networks.into(), &ports(Some("cut")), &[1.0, 2.0, 3.0, 7.0], 1);
    let of = |cut| corrections.at(cut).expect("a network");
    let again = |cut, known: &Arc<Correction>| Arc::ptr_eq(&of(cut).0, known);
    let (first, told) = of(0.5);
    assert_eq!(told, 1.0, "the least that it was trained for");
    assert!(again(1.999, &first) && !again(2.0, &first));
    let (second, told) = of(2.5);
    assert_eq!(told, 2.5);
    assert!(again(2.0, &second) && again(1.0, &first) && !again(3.0, &second));
    assert_eq!(of(9.0).1, 7.0, "the greatest");
    assert!(again(1.0, &first) && !again(2.0, &second), "the two used last stay loaded");
}

#[test]
fn activities_do_not_depend_on_tiles() {
    let package = Package::builtin("photo-ssim").expect("a package");
    let analysis = package.masked_analysis(&runtime(), 2).expect("a network");
    let size = Size::new(300, 330).expect("a size");
    let samples = (0..300 * 330_u32).flat_map(|at| {
        let (x, y) = (at % 300, at / 300);
        let noise = (at.wrapping_mul(2_654_435_761) >> 24) * (x / 50) / 8;
        [(x / 5 + noise).min(255), (y / 3 + noise).min(255), 128].map(|value| value.to_le_bytes()[0])
    });
    let picture = Picture::new(size, Channels::Rgb, samples.collect()).expect("samples");
    let planes = analysis.linear.planes(&picture, Axes::of(View::from(&picture)));
    let network = analysis.gains.as_ref().expect("a network for gains");
    let [whole, tiles] = [100, 3].map(|longest| network.in_tiles(&planes, longest).expect("activities"));
    assert_eq!(whole.len(), 10 * 11);
    for (whole, tiles) in whole.iter().zip(&tiles) {
        assert!((whole.activity - tiles.activity).abs() < 1e-3, "{whole:?}, in tiles {tiles:?}");
        assert!((0.0..=1.0).contains(&whole.weight) && (whole.weight - tiles.weight).abs() < 1e-3);
    }
    // Noise hides more than a ramp does: it is at the right.
    let mean = |columns: std::ops::Range<usize>| -> f32 {
        let regions = whole.chunks(10).flat_map(|row| &row[columns.clone()]);
        regions.map(|region| region.activity).sum::<f32>() / (11 * columns.len()) as f32
    };
    assert!(mean(7..9) > mean(0..2) + 0.5, "{} and {}", mean(7..9), mean(0..2));
    assert_eq!(analysis.coefficients_of((&picture).into()).expect("coefficients").activity, whole);
}
