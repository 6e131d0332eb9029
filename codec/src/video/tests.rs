//! Compares the references of decoders with different histories.

use proptest::prelude::*;

use nestcast_units::{Bitrate, FrameRate};

use crate::motion::reference::Reference;
use crate::motion::search::search_parameters::Effort;
use crate::parallel::Threads;
use crate::picture::{Format, Picture, Size, Ycbcr};
use crate::video::decoder::{DecodedPart, VideoDecoder};
use crate::video::encoder::VideoEncoder;
use crate::video::frame::CodedFrame;
use crate::video::model::VideoModel;
use crate::video::population::Population;
use crate::video::rendition_encoder::RenditionEncoder;
use crate::video::settings::VideoSettings;
use crate::video::source::Source;

const FORMAT: Format = Format::Ycbcr420(Ycbcr::BT601_FULL);
const RATE: FrameRate = match FrameRate::new(30, 1) {
    Ok(rate) => rate,
    Err(_) => panic!("a rate"),
};

/// A texture with grain that moves by three samples in eight frames, over one that stands still.
fn picture(size: Size, number: usize) -> Picture {
    let mut samples = Vec::new();
    for plane in 0..3 {
        let [width, height] = FORMAT.plane(size, plane);
        for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
            let right = x + if 3 * y < 2 * height { number * 3 / 8 } else { 0 };
            let wave = ((right * 7 + y * 5) % 96).abs_diff(48) * 2 + right * right / 3 % 11;
            let grain = (x * 31 + y * 17 + number * 13) * (x + y + 7) % 7;
            samples.push(u8::try_from(60 + wave / (plane + 1) + grain).expect("less than 256"));
        }
    }
    Picture::new(size, FORMAT, samples).expect("as many samples as the size says")
}

fn encoder(size: Size, slowest: u32, threads: usize) -> VideoEncoder {
    let least = u64::from(slowest) * 8 * 30;
    let population = Population::log_uniform(Bitrate::from_bits(least)..=Bitrate::from_bits(16 * least));
    VideoEncoder::new(VideoModel::built_in(), VideoSettings { size, rate: RATE, population, threads })
}

pub(super) fn encode(size: Size, count: usize, slowest: u32) -> Vec<CodedFrame> {
    let mut encoder = encoder(size, slowest, 1);
    (0..count).map(|number| encoder.encode(&picture(size, number)).expect("a frame")).collect()
}

fn decoder(size: Size) -> VideoDecoder {
    VideoDecoder::new(VideoModel::built_in(), size, 1)
}

/// Returns the largest difference between samples of two pictures, in 1/8 of a step.
pub(super) fn apart(a: &Reference, b: &Reference) -> u16 {
    let rows = a.planes.iter().zip(&b.planes).flat_map(|(a, b)| (0..a.height).map(|y| (a.row(y), b.row(y))));
    rows.flat_map(|(a, b)| a.iter().zip(b)).map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0)
}

/// Returns the bytes of a frame's base, and this fraction of the bytes after it, in 1/65536.
fn beyond(frame: &CodedFrame, share: u16) -> &[u8] {
    let rest = frame.bytes.len() - frame.base;
    &frame.bytes[..frame.base + ((usize::from(share) * (rest + 1)) >> 16)]
}

/// The frames of a test in which the enhancement references converge, and how many of them are cut at random before.
const COUNT: usize = 248;
const TAILS: usize = 48;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn floors_agree_whatever_tails_came_and_enhanced_pictures_come_together(
        tails in prop::collection::vec([any::<u16>(), any::<u16>()], TAILS),
        width in 20..90_u32,
        height in 20..70_u32,
    ) {
        let size = Size::new(width, height).expect("a valid size");
        let frames = encode(size, COUNT, width * height / 64 + 20);
        let mut both = [decoder(size), decoder(size)];
        let mut most = 0;
        for (number, frame) in frames.iter().enumerate() {
            for (which, decoder) in both.iter_mut().enumerate() {
                let enhancement_reference = &frame.bytes[..frame.enhancement_reference];
                let bytes = tails.get(number).map_or(enhancement_reference, |tails| beyond(frame, tails[which]));
                prop_assert!(decoder.decode(bytes).expect("a frame") >= DecodedPart::Base);
            }
            let [one, other] = [&both[0].state, &both[1].state];
            prop_assert_eq!(&one.base_reference, &other.base_reference, "frame {}", number);
            most = most.max(apart(&one.enhancement_reference, &other.enhancement_reference));
        }
        let last = apart(&both[0].state.enhancement_reference, &both[1].state.enhancement_reference);
        prop_assert!(most > 40 && last <= 4, "{} before, {} at last, in 1/8 of a step", most, last);
    }

    #[test]
    fn an_encoder_keeps_what_a_decoder_with_all_bytes_has(
        width in 1..80_u32,
        height in 1..60_u32,
        slowest in 12..200_u32,
    ) {
        let size = Size::new(width, height).expect("a valid size");
        let mut encoder = encoder(size, slowest, 2);
        let mut decoder = decoder(size);
        for number in 0..10 {
            let frame = encoder.encode(&picture(size, number)).expect("a frame");
            prop_assert_eq!(decoder.decode(&frame.bytes), Ok(DecodedPart::EnhancementReference));
            prop_assert!(encoder.encoder.state.base_reference == decoder.state.base_reference, "the floor of frame {}", number);
            prop_assert!(encoder.encoder.state.enhancement_reference == decoder.state.enhancement_reference, "the enhanced picture of frame {}", number);
        }
    }
}

#[test]
fn who_always_has_the_base_alone_has_a_loop_that_is_the_floor() {
    let size = Size::new(70, 50).expect("a valid size");
    let mut decoder = decoder(size);
    for frame in encode(size, 20, 70) {
        decoder.decode(&frame.bytes[..frame.base]).expect("a frame");
        assert!(decoder.state.enhancement_reference == decoder.state.base_reference);
    }
}

#[test]
fn what_ends_before_its_string_or_is_corrupt_leaves_all_as_it_was() {
    // With enough blocks that eight zeros cannot describe them.
    let size = Size::new(160, 160).expect("a valid size");
    let frames = encode(size, 6, 400);
    let mut decoder = decoder(size);
    for frame in &frames {
        let base_reference = decoder.state.base_reference.clone();
        let enhancement_reference = decoder.state.enhancement_reference.clone();
        for cut in 0..frame.side {
            assert_eq!(decoder.decode(&frame.bytes[..cut]), Ok(DecodedPart::Nothing));
        }
        let mut damaged = frame.bytes.to_vec();
        damaged[1] |= 0x50;
        assert!(decoder.decode(&damaged).is_err());
        assert!(frame.key || decoder.decode(&[0, 0, 1, 0, 0, 0x55]).is_err(), "side information of too few bytes");
        assert!(decoder.state.enhancement_reference == enhancement_reference || frame.key);
        assert!(decoder.state.base_reference == base_reference || frame.key);
        decoder.decode(&frame.bytes).expect("a frame");
    }
}

#[test]
fn concealing_changes_nothing_that_comes_later() {
    for (width, height) in [(1, 1), (17, 33), (70, 51), (150, 90)] {
        let size = Size::new(width, height).expect("a valid size");
        let mut both = [decoder(size), decoder(size)];
        let mut pictures = [Picture::zero(size, FORMAT), Picture::zero(size, FORMAT)];
        let mut moved = 0;
        let mut frames = encode(size, 12, width * height / 64 + 20);
        // A scene cut, or a random-access frame after an outage.
        frames.insert(6, frames[0].clone());
        for (number, frame) in frames.iter().enumerate() {
            let [one, other] = &mut both;
            for missing in 1..=1 + u32::try_from(number % 3).expect("few") {
                let moves = one.conceal_into(&mut pictures[0], missing).expect("its size and format");
                assert!(!moves || !matches!(number, 0..=2 | 7 | 8), "frame {number} comes after nothing that moved");
                moved += u32::from(moves);
            }
            // A corrupt frame is skipped.
            assert!(one.decode(&[0, 0x50, 0]).is_err());
            let bytes = &frame.bytes[..frame.base + (frame.bytes.len() - frame.base) * (number % 3) / 2];
            for decoder in [&mut *one, &mut *other] {
                decoder.decode(bytes).expect("a frame");
            }
            assert!(
                one.state.base_reference == other.state.base_reference
                    && one.state.enhancement_reference == other.state.enhancement_reference,
                "frame {number}"
            );
            one.conceal_into(&mut pictures[0], 2).expect("its size and format");
            one.render_into(&mut pictures[0]).expect("its size and format");
            other.render_into(&mut pictures[1]).expect("its size and format");
            assert!(pictures[0] == pictures[1], "frame {number} is shown as if nothing had been concealed");
        }
        assert!(moved > 0 || width < 150, "what moves is carried on");
    }
}

/// Returns the mean squared difference of two pictures' luma.
fn distortion(a: &Picture, b: &Picture) -> f64 {
    let luma = a.size().pixels();
    let square = |(a, b): (&u8, &u8)| f64::from(a.abs_diff(*b)).powi(2);
    a.samples()[..luma].iter().zip(b.samples()).map(square).sum::<f64>() / luma as f64
}

#[test]
fn a_concealed_frame_is_nearer_to_the_original_than_the_one_before() {
    let size = Size::new(160, 96).expect("a valid size");
    let pan = |number: usize| {
        let wave = |at: usize, of: usize| (at % of).abs_diff(of / 2) * 90 / of;
        let sample = |x: usize, y: usize| 60 + wave(x + 2 * number, 46) + wave(3 * y + x + 2 * number, 58);
        let luma = (0..96).flat_map(|y| (0..160).map(move |x| u8::try_from(sample(x, y)).expect("less than 256")));
        let samples = luma.chain(std::iter::repeat_n(128, 2 * 80 * 48)).collect();
        Picture::new(size, FORMAT, samples).expect("as many samples as the size says")
    };
    let mut decoder = decoder_of(size, pan);
    let [mut last, mut concealed] = [Picture::zero(size, FORMAT), Picture::zero(size, FORMAT)];
    decoder.render_into(&mut last).expect("its size and format");
    for missing in 1..4 {
        assert_eq!(decoder.conceal_into(&mut concealed, missing), Ok(true));
        let original = pan(9 + missing as usize);
        let [frozen, moved] = [&last, &concealed].map(|picture| distortion(picture, &original));
        assert!(moved <= 0.2 * frozen, "{moved} against {frozen}, {missing} frames later");
    }
}

#[test]
fn where_nothing_moves_concealing_leaves_the_picture_as_it_is() {
    let size = Size::new(160, 96).expect("a valid size");
    let mut decoder = decoder_of(size, |_| picture(size, 0));
    let mut out = picture(size, 5);
    for missing in 1..4 {
        assert_eq!(decoder.conceal_into(&mut out, missing), Ok(false));
        assert!(out == picture(size, 5));
    }
    let other = Size::new(96, 160).expect("a valid size");
    assert!(decoder.conceal_into(&mut Picture::zero(other, FORMAT), 1).is_err(), "another size");
}

/// Returns a decoder that has all bytes of the first ten frames of `original`.
fn decoder_of(size: Size, original: impl Fn(usize) -> Picture) -> VideoDecoder {
    let mut encoder = encoder(size, 400, 1);
    let mut decoder = decoder(size);
    for number in 0..10 {
        let frame = encoder.encode(&original(number)).expect("a frame");
        decoder.decode(&frame.bytes).expect("a frame");
    }
    decoder
}

#[test]
fn the_error_of_the_base_layer_is_that_of_the_last_picture_that_did_not_stay() {
    let size = Size::new(48, 32).expect("a size");
    let population = Population::new([(Bitrate::from_bits(40_000), 1.0)]);
    let settings = VideoSettings { size, rate: RATE, population, threads: 1 };
    let mut encoder = RenditionEncoder::new(VideoModel::built_in(), &settings, Threads::new(1));
    assert_eq!(encoder.base_reference_error, None);
    let mut source = Source::new(size);
    let errors = [0, 1, 1, 1, 2].map(|number| {
        let news = source.take(&(&picture(size, number)).into(), Effort::Normal, &Threads::new(1)).expect("its size");
        encoder.encode(&mut source, news, false).expect("a frame");
        source.finish();
        encoder.base_reference_error.expect("the error of a frame")
    });
    let [key, moved, stayed, stayed_longer, moved_on] = errors;
    assert!(moved != key && moved_on != moved, "{errors:?}");
    assert_eq!([stayed, stayed_longer], [moved; 2]);
}

#[test]
fn a_branch_keeps_effort_population_and_what_the_loop_had() {
    let size = Size::new(48, 32).expect("a size");
    let population = Population::new([(Bitrate::from_bits(40_000), 1.0), (Bitrate::from_bits(90_000), 2.0)]);
    let nobody = Population::new([(Bitrate::from_bits(1_000_000), 1.0)]);
    let nobody = VideoSettings { size, rate: RATE, population: nobody, threads: 1 };
    for effort in [Effort::Realtime, Effort::Fast, Effort::Normal] {
        let mut before = RenditionEncoder::new(VideoModel::built_in(), &nobody, Threads::new(1));
        (before.effort, before.useful, before.population) = (effort, 777, population.clone());
        let mut source = Source::new(size);
        for number in 0..3 {
            let key = source.take(&(&picture(size, number)).into(), effort, &Threads::new(1)).expect("its size");
            before.encode(&mut source, key, false).expect("a frame");
            source.finish();
        }
        let branched = before.branch(&nobody);
        assert_eq!((branched.effort, branched.useful), (effort, 777));
        assert_eq!(branched.population, population);
        assert_eq!(branched.base_reference_error, before.base_reference_error);
        assert_eq!(apart(&branched.state.base_reference, &before.state.base_reference), 0);
        assert_eq!(apart(&branched.state.enhancement_reference, &before.state.enhancement_reference), 0);
    }
}
