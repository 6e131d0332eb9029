//! The strips against whole arrays: not a bit may differ, whatever the size, the strips and the threads.

use proptest::prelude::*;

use super::{Linear, Planes};
use crate::colour::axes::Axes;
use crate::model::Model;
use crate::picture::{Channels, Picture, Size};
use crate::transform::{Analysis as _, Position, Synthesis as _};
use crate::wavelet::strips::Division;
use crate::wavelet::{analysis, naive, synthesis};

fn model() -> Model {
    Model::from_bytes(include_bytes!("../../../models/artifacts/photo/tables.bin")).expect("the bundled tables")
}

/// Noise over a slope.
fn picture(width: usize, height: usize, channels: Channels) -> Picture {
    let side = |n: usize| u32::try_from(n).expect("a short side");
    let size = Size::new(side(width), side(height)).expect("a valid size");
    let mut state = side(width) * 641 + side(height);
    let samples = (0..size.pixels() * channels.count()).map(|i| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        u8::try_from(i / 7 % 191).expect("a byte") + state.to_be_bytes()[0] / 4
    });
    Picture::new(size, channels, samples.collect()).expect("all samples")
}

/// All ways through the transform, in strips of so many rows.
fn check(model: &Model, picture: &Picture, threads: usize, rows: usize) {
    let linear = Linear::new(model.clone());
    let division = Division { threads, rows };
    let what = format!("{:?} {:?}, {threads} threads, strips of {rows}", picture.size(), picture.channels());
    let planes = linear.planes(picture, Axes::of(picture));
    let coefficients = naive::decompose(&model.taps, &planes);
    assert!(analysis::of_planes(&model.taps, &planes, division) == coefficients, "decompose: {what}");
    assert!(analysis::of_picture(&model.taps, picture, division) == coefficients, "analyse: {what}");
    let back = naive::compose(&model.taps, &coefficients);
    assert!(synthesis::planes(&model.taps, &coefficients, division) == back, "compose: {what}");
    let rebuilt = synthesis::picture(&model.taps, &coefficients, division);
    assert!(rebuilt == linear.picture(&back), "synthesise: {what}");
    assert!(rebuilt == *picture, "there and back: {what}");
}

#[test]
fn every_small_size_is_as_the_whole_array() {
    let model = model();
    for (width, height) in (1..=40).flat_map(|height| (1..=40).map(move |width| (width, height))) {
        check(&model, &picture(width, height, Channels::Grey), 1, 4);
        check(&model, &picture(width, height, Channels::Rgb), 1, 64);
    }
}

#[test]
fn strips_and_threads_change_nothing() {
    let model = model();
    for (width, height, channels) in [(97, 301, Channels::Rgb), (64, 256, Channels::Grey), (33, 130, Channels::Rgb)] {
        let picture = picture(width, height, channels);
        for (threads, rows) in [(1, 4), (1, 300), (2, 128), (5, 8), (5, 60), (3, 100)] {
            check(&model, &picture, threads, rows);
        }
    }
}

#[test]
fn the_public_ways_agree_at_a_size_of_several_strips() {
    let picture = picture(701, 517, Channels::Rgb);
    let once = Linear::new(model());
    let coefficients = once.analyse(&picture).expect("linear never fails");
    assert!(coefficients == once.decompose(once.planes(&picture, Axes::of(&picture))));
    for threads in [1, 2, 5, 300] {
        let linear = once.clone().with_threads(threads);
        assert!(linear.analyse(&picture).expect("linear never fails") == coefficients, "{threads} threads");
        let back = linear.synthesise(coefficients.clone(), Position(0.0)).expect("linear never fails");
        assert!(back == linear.picture(&linear.compose(coefficients.clone())), "{threads} threads");
        assert!(back == picture, "{threads} threads");
    }
}

#[test]
fn samples_round_half_up_and_saturate() {
    let values = [f32::NAN, f32::NEG_INFINITY, -1e9, -128.5, -127.6, -127.5, -0.6, -0.5, 0.5, 126.4, 126.5, 1e9];
    let expected = [0, 0, 0, 0, 0, 1, 127, 128, 129, 254, 255, 255];
    let size = Size::new(12, 1).expect("a valid size");
    let planes = Planes { size, channels: Channels::Grey, axes: Axes::default(), components: vec![values.to_vec()] };
    assert_eq!(Linear::new(model()).picture(&planes).samples(), expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_size_is_as_the_whole_array(
        width in 1..200_usize, height in 1..300_usize, grey: bool, threads in 1..6_usize, rows in 1..40_usize,
    ) {
        let channels = if grey { Channels::Grey } else { Channels::Rgb };
        check(&model(), &picture(width, height, channels), threads, 4 * rows);
    }
}
