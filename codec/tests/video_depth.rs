//! Frames of video of more than 8 bits a sample: what they give and what is shown of them.

#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "samples")]

use nestcast_codec::{
    Bitrate, Codec, CodedFrame, Error, Format, FrameRate, Picture, Population, Size, TransformError, VideoDecoder,
    VideoEncoder, VideoModel, VideoSettings, Ycbcr,
};

fn size(width: u32, height: u32) -> Size {
    Size::new(width, height).expect("a size")
}

/// The bits in which the frames of these tests come.
const BITS: u8 = 10;
const DEEP_FRAME: Format = Format::Ycbcr420Deep { colours: Ycbcr::BT709, bits: BITS };
const FRAME: Format = Format::Ycbcr420(Ycbcr::BT709);

/// Hills that move, finer than 8 bits, in limited range.
fn deep_frame(size: Size, number: usize) -> Picture {
    let mut samples = Vec::new();
    for plane in 0..3 {
        let [row, rows] = DEEP_FRAME.plane(size, plane);
        for (x, y) in (0..rows).flat_map(|y| (0..row / 2).map(move |x| (x, y))) {
            let across = (x << plane.min(1)) as f64 + 0.75 * number as f64;
            let value = 480.0 + 0.11 * across + 0.07 * y as f64 + 90.0 * (across / 23.0 + y as f64 / 31.0).sin();
            samples.extend((value.round() as u16).to_le_bytes());
        }
    }
    Picture::new(size, DEEP_FRAME, samples).expect("as many samples as the format says")
}

/// The same frame in 8 bits.
fn rounded(deep: &Picture) -> Picture {
    let samples = deep.samples().as_chunks().0.iter().map(|sample| u16::from_le_bytes(*sample));
    let rounded = samples.map(|sample| u8::try_from((sample + 2) >> (BITS - 8)).unwrap_or(u8::MAX));
    Picture::new(deep.size(), FRAME, rounded.collect()).expect("as many samples as the format says")
}

fn encode_frames(frames: &[Picture], threads: usize) -> Vec<CodedFrame> {
    let population = Population::log_uniform(Bitrate::from_bits(100_000)..=Bitrate::from_bits(20_000_000));
    let rate = FrameRate::new(30, 1).expect("a rate");
    let settings = VideoSettings { size: frames[0].size(), rate, population, threads };
    let mut encoder = VideoEncoder::new(VideoModel::built_in(), settings);
    frames.iter().map(|frame| encoder.encode(frame).expect("a frame")).collect()
}

fn in_bits(decoder: &mut VideoDecoder, bits: u8) -> Vec<u32> {
    let mut picture = Picture::zero(decoder.size(), Format::planar(Ycbcr::BT709, bits));
    decoder.render_into(&mut picture).expect("its size");
    if bits == 8 {
        return picture.samples().iter().map(|&sample| sample.into()).collect();
    }
    picture.samples().as_chunks().0.iter().map(|&sample| u16::from_le_bytes(sample).into()).collect()
}

#[test]
fn frames_of_ten_bits_that_are_those_of_eight_give_the_same_bytes() {
    let size = size(67, 50);
    let deep: Vec<_> = (0..6).map(|number| deep_frame(size, number)).collect();
    let eight: Vec<_> = deep.iter().map(rounded).collect();
    let widened: Vec<_> = eight
        .iter()
        .map(|frame| {
            let samples = frame.samples().iter().flat_map(|&sample| (u16::from(sample) << 2).to_le_bytes());
            Picture::new(size, DEEP_FRAME, samples.collect()).expect("twice the bytes")
        })
        .collect();
    assert!(encode_frames(&widened, 1) == encode_frames(&eight, 2));
    assert!(encode_frames(&deep, 1) == encode_frames(&deep, 3), "threads change nothing");
    assert!(encode_frames(&deep, 1) != encode_frames(&eight, 1), "the finer bits count");
}

#[test]
fn frames_in_any_number_of_bits_are_one_frame_rounded_once() {
    for (width, height) in [(1, 1), (3, 130), (97, 66)] {
        let size = size(width, height);
        let frames: Vec<_> = (0..5).map(|number| deep_frame(size, number)).collect();
        let coded = encode_frames(&frames, 1);
        let mut decoder = VideoDecoder::new(VideoModel::built_in(), size, 2);
        for number in 0..=coded.len() {
            // In 16 bits nothing is rounded.
            let exact = in_bits(&mut decoder, 16);
            for bits in 8..16 {
                let half = 1 << (15 - bits);
                let expected = exact.iter().map(|sample| ((sample + half) >> (16 - bits)).min((1 << bits) - 1));
                assert!(in_bits(&mut decoder, bits).into_iter().eq(expected), "{width}x{height}, {bits} bits");
            }
            if let Some(frame) = coded.get(number) {
                let count = frame.base + (frame.bytes.len() - frame.base) * (number % 3) / 2;
                decoder.decode(&frame.bytes[..count]).expect("a frame");
            }
        }
    }
}

#[test]
fn frames_of_ten_bits_keep_gradients_that_eight_bits_round() {
    let size = size(160, 96);
    let frames: Vec<_> = (0..8).map(|number| deep_frame(size, number)).collect();
    let eight: Vec<_> = frames.iter().map(rounded).collect();
    let [deep, usual] = [&frames, &eight].map(|given| {
        let mut decoder = VideoDecoder::new(VideoModel::built_in(), size, 1);
        let mut error = 0.0;
        for (coded, original) in encode_frames(given, 1).iter().zip(&frames) {
            decoder.decode(&coded.bytes).expect("a frame");
            let original = original.samples().as_chunks().0.iter().map(|&sample| u16::from_le_bytes(sample));
            let pairs = in_bits(&mut decoder, BITS).into_iter().zip(original);
            error += pairs.map(|(a, b)| (f64::from(a) - f64::from(b)).powi(2)).sum::<f64>();
        }
        error
    });
    assert!(1.5 * deep < usual, "squared errors in steps of ten bits: {deep}, of a source of eight {usual}");
}

#[test]
fn frames_of_ten_bits_stay_and_are_concealed() {
    let size = size(96, 64);
    let mut frames: Vec<_> = (0..4).map(|number| deep_frame(size, number)).collect();
    frames.push(frames[3].clone());
    let mut touched = frames[3].clone();
    touched.samples_mut()[0] ^= 1;
    frames.push(touched);
    let coded = encode_frames(&frames, 1);
    assert!(coded.iter().map(|frame| frame.stays).eq([false, false, false, false, true, false]));
    // Colour differences that are the same, and luma that rounds to the same.
    let mut finer = rounded(&frames[0]);
    finer.samples_mut()[size.pixels()..].fill(128);
    let widened = |fraction: u16| {
        let samples = finer.samples().iter().enumerate().flat_map(|(at, &sample)| {
            let fraction = if at < size.pixels() { fraction } else { 0 };
            (4 * u16::from(sample) + fraction).to_le_bytes()
        });
        Picture::new(size, DEEP_FRAME, samples.collect()).expect("twice the bytes")
    };
    let mixed = [widened(1), finer.clone(), widened(0), widened(0), finer.clone(), widened(1)];
    let stays: Vec<_> = encode_frames(&mixed, 1).iter().map(|frame| frame.stays).collect();
    assert_eq!(stays, [false, false, true, true, true, false], "frames of both kinds");
    let mut decoder = VideoDecoder::new(VideoModel::built_in(), size, 1);
    coded[..4].iter().for_each(|frame| assert!(decoder.decode(&frame.bytes).is_ok()));
    let [mut deep, mut eight] = [DEEP_FRAME, FRAME].map(|format| Picture::zero(size, format));
    assert!(decoder.conceal_into(&mut deep, 1).expect("its size") && decoder.conceal_into(&mut eight, 1).is_ok());
    let apart = rounded(&deep).samples().iter().zip(eight.samples()).map(|(a, b)| a.abs_diff(*b)).max();
    assert!(apart <= Some(1), "{apart:?}");
    assert!(deep.samples().as_chunks::<2>().0.iter().any(|sample| sample[0] % 4 != 0), "the finer bits are there");
}

#[test]
fn bits_that_no_frame_has_are_refused() {
    let size = size(16, 16);
    let mut decoder = VideoDecoder::new(VideoModel::built_in(), size, 1);
    for bits in [0, 8, 17, 255] {
        let mut picture = Picture::zero(size, Format::Ycbcr420Deep { colours: Ycbcr::BT709, bits });
        assert!(matches!(decoder.render_into(&mut picture), Err(TransformError::Codec(Error::Argument(_)))), "{bits}");
        let population = Population::log_uniform(Bitrate::from_bits(100_000)..=Bitrate::from_bits(200_000));
        let rate = FrameRate::new(30, 1).expect("a rate");
        let settings = VideoSettings { size, rate, population, threads: 1 };
        let mut encoder = VideoEncoder::new(VideoModel::built_in(), settings);
        assert!(matches!(encoder.encode(&picture), Err(Error::Argument(_))), "{bits}");
    }
}

#[test]
fn a_frame_of_ten_bits_is_a_still_picture_too() {
    let frame = deep_frame(size(64, 48), 0);
    let codec = Codec::photo();
    let [deep, eight] = [&frame, &rounded(&frame)].map(|frame| {
        let mut decoder = codec.decoder();
        decoder.push(codec.encode(frame).expect("a picture").bytes()).expect("its stream");
        assert!(decoder.render_as(DEEP_FRAME).is_err(), "pictures in planar samples have 8 bits");
        decoder.render_as(FRAME).expect("a picture")
    });
    let apart = deep.samples().iter().zip(eight.samples()).map(|(a, b)| a.abs_diff(*b)).max();
    assert!(apart <= Some(2), "{apart:?}");
}
