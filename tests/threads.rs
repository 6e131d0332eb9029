//! Bytes and pictures do not depend on threads or runs, and a limited stream is exactly a prefix of the whole one.

use nestcast_codec::{
    Analysis as _, Channels, Coefficients, Decoder, Encoder, Header, Linear, MAX_HEADER, Parsed, Picture,
};
use nestcast_tests::pictures::{Content, picture};
use nestcast_tests::vectors;

/// Returns three slices of grey, two of RGB, and one; two of which the upper one shows little; three of which nothing
/// is coded.
fn coefficients() -> Vec<Coefficients> {
    let linear = Linear::new(vectors::model());
    let sizes =
        [(1000, 700, Channels::Grey), (640, 620, Channels::Rgb), (129, 77, Channels::Rgb), (3, 1, Channels::Rgb)];
    let pictures = sizes.map(|(width, height, channels)| picture(Content::Photo, width, height, channels, 11));
    let mut samples = pictures[1].samples().to_vec();
    for sample in &mut samples[..640 * 290 * 3] {
        *sample = 100 + *sample / 64;
    }
    let calm = Picture::new(pictures[1].size(), Channels::Rgb, samples).expect("as many as there were");
    let empty = picture(Content::Middle, 1000, 700, Channels::Grey, 11);
    pictures
        .iter()
        .chain([&calm, &empty])
        .map(|picture| linear.coefficients_of(picture.into()).expect("linear never fails"))
        .collect()
}

fn encode(mut encoder: Encoder, coefficients: &Coefficients) -> Vec<u8> {
    encoder.encode_coefficients(coefficients).expect("subbands fit the size").bytes().to_vec()
}

#[test]
fn the_same_bytes_and_picture_with_any_threads() {
    let linear = |threads: usize| Linear::new(vectors::model()).with_threads(threads);
    for coefficients in coefficients() {
        let size = coefficients.size;
        let stream = encode(Encoder::new(linear(1)), &coefficients);
        let render = |threads: usize, bytes: &[u8]| {
            let mut decoder = Decoder::new(linear(threads));
            decoder.push(bytes).expect("a valid stream");
            decoder.render().expect("a picture")
        };
        let cuts = [stream.len(), (stream.len() / 3).max(MAX_HEADER).min(stream.len())];
        let once = cuts.map(|cut| render(1, &stream[..cut]));
        for threads in [1, 2, 5] {
            let again = encode(Encoder::new(linear(threads)), &coefficients);
            assert!(again == stream, "{size:?}: {threads} threads give other bytes");
            for (cut, once) in cuts.iter().zip(&once) {
                let same = render(threads, &stream[..*cut]) == *once;
                assert!(same, "{size:?}, {cut} bytes: {threads} threads give another picture");
            }
        }
    }
}

#[test]
fn the_analysis_is_the_same_with_any_threads() {
    let linear = Linear::new(vectors::model());
    let picture = picture(Content::Photo, 321, 200, Channels::Rgb, 5);
    let once = linear.coefficients_of((&picture).into()).expect("linear never fails");
    for threads in [1, 2, 5] {
        let again =
            linear.clone().with_threads(threads).coefficients_of((&picture).into()).expect("linear never fails");
        assert!(again == once, "{threads} threads give other coefficients");
    }
}

#[test]
fn a_limited_stream_is_a_prefix() {
    let linear = |threads: usize| Linear::new(vectors::model()).with_threads(threads);
    for coefficients in coefficients() {
        let size = coefficients.size;
        let whole = encode(Encoder::new(linear(1)), &coefficients);
        let Ok(Parsed::Complete(_, header)) = Header::parse(&whole) else {
            panic!("{size:?}: no header");
        };
        let small = whole.len() < 8000;
        let few = [0, 1, header, header + 1, header + 2, header + 5, whole.len() - 1, whole.len(), whole.len() + 1];
        let grown = std::iter::successors(Some(header + 3), |n| Some(n + n / if small { 9 } else { 2 } + 1));
        for limit in grown.take_while(|&n| n < whole.len()).chain(few) {
            for threads in [1, 2, 5] {
                let encoder = Encoder::new(linear(threads)).with_max_bytes(limit);
                let limited = encode(encoder, &coefficients);
                let expected = &whole[..limit.clamp(header, whole.len())];
                assert!(
                    limited == expected,
                    "{size:?}, limit {limit}, {threads} threads: {} bytes, not the first {} of {}",
                    limited.len(),
                    expected.len(),
                    whole.len(),
                );
            }
        }
    }
}
