//! A whole stream restores the picture, except for the finest quantiser steps.

use nestcast_codec::{Channels, Decoder, Encoder, Linear, Picture, Progress};
use nestcast_lab::metrics::psnr;
use nestcast_tests::pictures::{CONTENTS, picture};
use nestcast_tests::vectors;
use proptest::prelude::*;

/// The frozen tables' finest steps are 0.7 to 2.7. A coefficient in the dead zone is off by up to a whole step. The
/// mean square of that is a third of the step's square: at most 2.5, or 44 dB, if synthesis and colour preserved
/// squares. They nearly do; their error, and 8 bits, fit into the other 4 dB.
const LEAST_DB: f64 = 40.0;

fn round_trip(original: &Picture) -> (Picture, Progress) {
    let linear = Linear::new(vectors::model());
    let stream = Encoder::new(linear.clone()).encode(original).expect("a stream");
    let mut decoder = Decoder::new(linear);
    let progress = decoder.push(stream.bytes()).expect("a valid stream");
    (decoder.render().expect("a picture"), progress)
}

fn assert_round_trip(original: &Picture, what: &str) -> f64 {
    let (decoded, progress) = round_trip(original);
    assert_eq!(progress, Progress::Complete, "{what}");
    assert_eq!((decoded.size(), decoded.channels()), (original.size(), original.channels()), "{what}");
    let psnr = psnr(original, &decoded);
    assert!(psnr >= LEAST_DB, "{what}: {psnr:.2} dB");
    psnr
}

/// The sides where a wavelet of six levels has its corner cases.
#[test]
fn corner_sizes() {
    let sides = [1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65];
    let mut worst = f64::INFINITY;
    for content in CONTENTS {
        for (width, height) in sides.into_iter().flat_map(|width| sides.map(|height| (width, height))) {
            for channels in [Channels::Grey, Channels::Rgb] {
                let original = picture(content, width, height, channels, width + 100 * height);
                let what = format!("{content:?} {width}x{height} {channels:?}");
                worst = worst.min(assert_round_trip(&original, &what));
            }
        }
    }
    println!("the least of all was {worst:.2} dB");
}

/// The longest sides, and the number of slices of a tall picture of this size.
#[test]
fn extreme_shapes() {
    for (width, height) in [(16384, 1), (1, 16384), (16384, 40), (30, 16384)] {
        let original = picture(CONTENTS[3], width, height, Channels::Grey, 9);
        assert_round_trip(&original, &format!("{width}x{height}"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_pictures(
        content in proptest::sample::select(CONTENTS.to_vec()),
        width in 1..=200_u32,
        height in 1..=200_u32,
        grey: bool,
        seed: u32,
    ) {
        let channels = if grey { Channels::Grey } else { Channels::Rgb };
        let original = picture(content, width, height, channels, seed);
        assert_round_trip(&original, &format!("{content:?} {width}x{height} {channels:?} seed {seed}"));
    }
}
