//! Compares strips with whole arrays: not one bit may differ, for any size, strips and number of threads.

use proptest::prelude::*;

use super::{Linear, Planes};
use crate::codec::Codec;
use crate::colour::axes::Axes;
use crate::model::Model;
use crate::parallel::Threads;
use crate::picture::{Channels, Picture, Size};
use crate::post_filter::table::{PostFilter, TABLE_BYTES};
use crate::subband::coefficients::Coefficients;
use crate::transform::{Analysis as _, Position, Synthesis as _};
use crate::wavelet::strips::Division;
use crate::wavelet::{analysis, naive, synthesis};

fn analysed(linear: &Linear, picture: &Picture) -> Coefficients {
    linear.coefficients_of(picture.into()).expect("linear never fails")
}

fn synthesised(linear: &Linear, coefficients: &Coefficients) -> Picture {
    linear.picture_of(coefficients.clone(), Position(0.0)).expect("linear never fails")
}

fn picture_of(linear: &Linear, planes: &Planes) -> Picture {
    let mut picture = Picture::zero(planes.size, planes.channels);
    linear.picture(planes, &mut picture).expect("planes of the size");
    picture
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

/// Compares all paths through the transform, in strips of `rows` rows.
fn check(linear: &Linear, picture: &Picture, threads: usize, rows: usize) {
    let model = &linear.model;
    let scratch = &linear.scratch;
    let division = (&Threads::new(threads), Division { rows });
    let what = format!("{:?} {:?}, {threads} threads, strips of {rows}", picture.size(), picture.channels());
    let planes = linear.planes(picture, Axes::of(picture));
    let coefficients = naive::decompose(model.id(), &model.taps, &planes);
    let mut again = Coefficients::default();
    again.reset(coefficients.model, planes.size, planes.channels, planes.axes);
    analysis::of_planes(&model.taps, &planes, division, scratch, &mut again);
    assert!(again == coefficients, "decompose: {what}");
    again.subbands.iter_mut().for_each(|values| values.fill(f32::NAN));
    analysis::of_picture(&model.taps, picture.into(), division, scratch, &mut again);
    assert!(again == coefficients, "analyse: {what}");
    let back = naive::compose(&model.taps, &coefficients);
    assert!(synthesis::planes(&model.taps, &coefficients, division, scratch) == back, "compose: {what}");
    let mut rebuilt = Picture::zero(picture.size(), picture.channels());
    synthesis::picture(&model.taps, &coefficients, division, scratch, (&mut rebuilt).into());
    assert!(rebuilt == picture_of(linear, &back), "synthesise: {what}");
    assert!(rebuilt == *picture, "there and back: {what}");
}

#[test]
fn every_small_size_is_as_the_whole_array() {
    let linear = Linear::new(Model::photo());
    for (width, height) in (1..=40).flat_map(|height| (1..=40).map(move |width| (width, height))) {
        check(&linear, &picture(width, height, Channels::Grey), 1, 4);
        check(&linear, &picture(width, height, Channels::Rgb), 1, 64);
    }
}

#[test]
fn strips_and_threads_change_nothing() {
    let linear = Linear::new(Model::photo());
    for (width, height, channels) in [(97, 301, Channels::Rgb), (64, 256, Channels::Grey), (33, 130, Channels::Rgb)] {
        let picture = picture(width, height, channels);
        for (threads, rows) in [(1, 4), (1, 300), (2, 128), (5, 8), (5, 60), (3, 100)] {
            check(&linear, &picture, threads, rows);
        }
    }
}

#[test]
fn the_public_ways_agree_at_a_size_of_several_strips() {
    let picture = picture(701, 517, Channels::Rgb);
    let once = Linear::new(Model::photo());
    let coefficients = analysed(&once, &picture);
    let mut again = Coefficients::default();
    once.decompose(&once.planes(&picture, Axes::of(&picture)), &mut again).expect("planes of the size");
    assert!(coefficients == again);
    for threads in [1, 2, 5, 300] {
        let linear = once.clone().with_threads(threads);
        assert!(analysed(&linear, &picture) == coefficients, "{threads} threads");
        let back = synthesised(&linear, &coefficients);
        let planes = linear.compose(&coefficients).expect("coefficients of the size");
        assert!(back == picture_of(&linear, &planes), "{threads} threads");
        assert!(back == picture, "{threads} threads");
    }
}

/// The decoder's state after the first half of a picture's stream.
fn half_of_a_stream(picture: &Picture) -> (Coefficients, Position) {
    let codec = Codec::photo();
    let stream = codec.encode(picture).expect("a stream");
    let mut decoder = codec.decoder();
    decoder.push(&stream.bytes()[..stream.bytes().len() / 2]).expect("a prefix is no error");
    let (coefficients, position) = decoder.coefficients().expect("a whole header");
    (coefficients.clone(), position)
}

#[test]
fn strips_and_threads_change_nothing_behind_the_post_filter() {
    for (width, height, channels) in [(701, 517, Channels::Rgb), (64, 256, Channels::Grey), (3, 130, Channels::Rgb)] {
        let (coefficients, position) = half_of_a_stream(&picture(width, height, channels));
        let once = Linear::new(Model::photo());
        let expected = once.picture_of(coefficients.clone(), position).expect("linear never fails");
        let planes = once.compose(&coefficients).expect("coefficients of the size");
        assert_ne!(picture_of(&once, &planes), expected, "the filter changes the picture");
        for threads in [1, 2, 5, 300] {
            let linear = once.clone().with_threads(threads);
            let again = linear.picture_of(coefficients.clone(), position).expect("linear never fails");
            assert!(again == expected, "{width} x {height}, {threads} threads");
            let mut of_planes = Picture::zero(planes.size, planes.channels);
            let filter = linear.model.post_filter.as_ref().expect("a model with one");
            linear
                .filtered_picture(&planes, &coefficients.significance, (filter, position), &mut of_planes)
                .expect("planes of the size");
            assert!(of_planes == expected, "{width} x {height}, {threads} threads, of planes");
        }
    }
}

#[test]
fn taps_of_zero_are_no_filter_and_significance_must_fit() {
    let (coefficients, position) = half_of_a_stream(&picture(97, 75, Channels::Rgb));
    let linear = Linear::new(Model::photo());
    let planes = linear.compose(&coefficients).expect("coefficients of the size");
    let mut out = Picture::zero(planes.size, planes.channels);
    let nothing = PostFilter::from_bytes(&[&[1, 0][..], &vec![0; TABLE_BYTES - 2]].concat()).expect("a valid table");
    let told = (&nothing, position);
    linear.filtered_picture(&planes, &coefficients.significance, told, &mut out).expect("planes of the size");
    let apart = |(a, b): (&u8, &u8)| a.abs_diff(*b);
    let furthest = out.samples().iter().zip(picture_of(&linear, &planes).samples()).map(apart).max();
    assert!(furthest <= Some(1), "planes are rounded to 1/64 alone: {furthest:?}");
    let other = vec![vec![0; 5]; 3];
    assert!(linear.filtered_picture(&planes, &other, told, &mut out).is_err());
    assert!(linear.picture_of(Coefficients { significance: other, ..coefficients }, position).is_err());
}

#[test]
fn samples_round_half_up_and_saturate() {
    let values = [f32::NAN, f32::NEG_INFINITY, -1e9, -128.5, -127.6, -127.5, -0.6, -0.5, 0.5, 126.4, 126.5, 1e9];
    let expected = [0, 0, 0, 0, 0, 1, 127, 128, 129, 254, 255, 255];
    let size = Size::new(12, 1).expect("a valid size");
    let planes = Planes { size, channels: Channels::Grey, axes: Axes::default(), components: vec![values.to_vec()] };
    assert_eq!(picture_of(&Linear::new(Model::photo()), &planes).samples(), expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_size_is_as_the_whole_array(
        width in 1..200_usize, height in 1..300_usize, grey: bool, threads in 1..6_usize, rows in 1..40_usize,
    ) {
        let channels = if grey { Channels::Grey } else { Channels::Rgb };
        check(&Linear::new(Model::photo()), &picture(width, height, channels), threads, 4 * rows);
    }
}
