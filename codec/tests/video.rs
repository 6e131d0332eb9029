//! Tests video through its public interface: prefixes of any frame, no drift, threads, bad input.

use std::sync::{Arc, Mutex};

mod harness;

use harness::{FORMAT, RATE, clip, decoder, error, render};
use nestcast_codec::{
    Bitrate, Budget, CodedFrame, DecodedFrame, DecodedPart, DecodingConditions, Effort, Error, Format, Picture,
    Population, Restoration, Size, TransformError, VideoDecoder, VideoEncoder, VideoModel, VideoSettings, ViewMut,
};

fn encode(clip: &[Picture], threads: usize) -> Vec<CodedFrame> {
    encode_at(1.0, clip, threads)
}

/// Encodes for receivers of `share` times the usual rates.
fn encode_at(share: f64, clip: &[Picture], threads: usize) -> Vec<CodedFrame> {
    encode_by(Effort::Normal, share, clip, threads)
}

fn encode_by(effort: Effort, share: f64, clip: &[Picture], threads: usize) -> Vec<CodedFrame> {
    let size = clip[0].size();
    let bits = share * (30.0 * 8.0 * size.pixels() as f64).max(1e6);
    let population = Population::log_uniform(Bitrate::rounded(0.02 * bits)..=Bitrate::rounded(0.32 * bits));
    let settings = VideoSettings { size, rate: RATE, population, threads };
    let mut encoder = VideoEncoder::new(VideoModel::built_in(), settings).with_effort(effort);
    clip.iter().map(|frame| encoder.encode(frame).expect("a frame")).collect()
}

#[test]
fn more_bytes_of_every_frame_give_better_frames_and_nobody_drifts() {
    let size = Size::new(97, 66).expect("a valid size");
    let clip = clip(size, 40, 99);
    let frames = encode(&clip, 1);
    let mut errors = Vec::new();
    for quarters in [0, 1, 4] {
        let mut decoder = decoder(size);
        let mut halves = [0.0; 2];
        for (number, (frame, original)) in frames.iter().zip(&clip).enumerate() {
            let count = frame.base + (frame.bytes.len() - frame.base) * quarters / 4;
            assert!(decoder.decode(&frame.bytes[..count]).expect("a frame") >= DecodedPart::Base);
            halves[usize::from(number >= 24)] += error(&render(&mut decoder), original) / 20.0;
        }
        // The second half is as good as the first: missing bytes do not add up.
        assert!(halves[1] < 1.2 * halves[0], "{quarters}: {halves:?}");
        errors.push(halves[1]);
    }
    assert!(errors[0] > 1.5 * errors[1] && errors[1] > 1.5 * errors[2], "{errors:?}");
}

#[test]
fn tails_lost_at_random_do_no_lasting_harm_in_three_hundred_frames() {
    let size = Size::new(64, 48).expect("a valid size");
    let clip = clip(size, 300, 999);
    let (mut base, mut some) = (decoder(size), decoder(size));
    let mut windows = [[0.0; 2]; 6];
    let mut seed = 5_u32;
    for (number, (frame, original)) in encode(&clip, 1).iter().zip(&clip).enumerate() {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let tail = (frame.bytes.len() - frame.base) * (seed >> 24) as usize / 255;
        assert!(base.decode(&frame.bytes[..frame.base]).expect("a frame") >= DecodedPart::Base);
        assert!(some.decode(&frame.bytes[..frame.base + tail]).expect("a frame") >= DecodedPart::Base);
        let window = &mut windows[number / 50];
        for (sum, decoder) in window.iter_mut().zip([&mut base, &mut some]) {
            *sum += error(&render(decoder), original) / 50.0;
        }
    }
    let first = windows[0];
    for (number, [base, some]) in windows.into_iter().enumerate() {
        assert!(some < base, "window {number}: {some}, with the bases alone {base}");
        assert!(base < 1.3 * first[0] && some < 1.3 * first[1], "window {number}: {windows:?}");
    }
}

/// Shows frames as they are after the filter, and keeps their decoding conditions.
#[derive(Default)]
struct Rounding(Mutex<Vec<DecodingConditions>>);

impl Restoration for Rounding {
    #[expect(clippy::cast_possible_truncation, reason = "clamped")]
    fn restore(&self, frame: &DecodedFrame<'_>, out: ViewMut<'_>) -> Result<(), TransformError> {
        for (plane, out) in out.into_planes().into_iter().enumerate() {
            let [width, height] = frame.plane(plane);
            for y in 0..height {
                let (filtered, predicted) = (frame.filtered(plane, y), frame.predicted(plane, y));
                assert_eq!([filtered.len(), predicted.len()], [width; 2]);
                assert!(!frame.told().key || predicted.iter().all(|sample| *sample == 0));
                let samples = &mut out.samples[y * out.stride..][..width];
                let rounded = filtered.iter().map(|value| (value + 128.5).clamp(0.0, 255.0) as u8);
                samples.iter_mut().zip(rounded).for_each(|(out, sample)| *out = sample);
            }
            for row in 0..height.div_ceil(4) {
                let significance = frame.significance(plane, row);
                assert!(significance.len() == width.div_ceil(4) && significance.iter().all(|level| *level <= 3));
            }
        }
        self.0.lock().expect("nothing panicked").push(frame.told());
        Ok(())
    }
}

#[test]
fn a_restoration_is_given_what_the_linear_decoder_shows_and_changes_nothing_else() {
    for (width, height) in [(1, 1), (3, 130), (97, 66), (160, 90)] {
        let size = Size::new(width, height).expect("a valid size");
        let (clip, rounding) = (clip(size, 6, 99), Arc::new(Rounding::default()));
        let mut linear = decoder(size);
        let mut restored = VideoDecoder::new(VideoModel::built_in(), size, 2).with_restoration(rounding.clone());
        let frames = encode(&clip, 1);
        for (number, frame) in frames.iter().enumerate() {
            let count = frame.base + (frame.bytes.len() - frame.base) * (number % 3) / 2;
            for decoder in [&mut linear, &mut restored] {
                decoder.decode(&frame.bytes[..count]).expect("a frame");
            }
            assert_eq!(render(&mut restored), render(&mut linear), "{width}x{height}, frame {number}");
        }
        let told = rounding.0.lock().expect("nothing panicked");
        assert!(told.iter().map(|told| told.key).eq(frames.iter().map(|frame| frame.key)), "{told:?}");
        assert!(
            told.iter()
                .all(|told| told.base_reference >= told.enhancement_reference
                    && told.enhancement_reference >= told.shown),
            "{told:?}"
        );
    }
}

#[test]
fn a_clip_of_one_frame_is_one_key_frame() {
    let size = Size::new(50, 34).expect("a valid size");
    let clip = clip(size, 1, 99);
    let frames = encode(&clip, 1);
    assert!(frames.len() == 1 && frames[0].key);
    let mut decoder = decoder(size);
    let mut last = f64::INFINITY;
    for cut in [frames[0].side, frames[0].base, frames[0].bytes.len()] {
        decoder.decode(&frames[0].bytes[..cut]).expect("a frame");
        let error = error(&render(&mut decoder), &clip[0]);
        assert!(error < last, "{error} with {cut} bytes, before {last}");
        last = error;
    }
}

#[test]
fn a_receiver_that_had_little_comes_back_to_one_that_had_all() {
    let size = Size::new(96, 64).expect("a valid size");
    let clip = clip(size, 60, 99);
    let frames = encode(&clip, 1);
    let (mut poor, mut rich) = (decoder(size), decoder(size));
    let mut apart = Vec::new();
    for (number, frame) in frames.iter().enumerate() {
        let count = if number < 30 { frame.base } else { frame.bytes.len() };
        poor.decode(&frame.bytes[..count]).expect("a frame");
        rich.decode(&frame.bytes).expect("a frame");
        apart.push(error(&render(&mut poor), &render(&mut rich)));
    }
    assert!(apart[29] > 1.0, "{}", apart[29]);
    assert!(apart[59] < 0.05 * apart[29], "{} of {}", apart[59], apart[29]);
}

#[test]
fn bytes_do_not_depend_on_threads_and_a_cut_begins_anew() {
    // Two slices, and rows that no division divides evenly.
    let size = Size::new(770, 514).expect("a valid size");
    let clip = clip(size, 12, 7);
    let frames = encode(&clip, 1);
    let decoded = |threads: usize| -> Vec<Picture> {
        let mut decoder = VideoDecoder::new(VideoModel::built_in(), size, threads);
        let shown = |frame: &CodedFrame| {
            decoder.decode(&frame.bytes[..frame.base + (frame.bytes.len() - frame.base) / 3]).expect("a frame");
            render(&mut decoder)
        };
        frames.iter().map(shown).collect()
    };
    let pictures = decoded(1);
    for threads in [2, 3, 8] {
        assert_eq!(encode(&clip, threads), frames);
        assert_eq!(decoded(threads), pictures);
    }
    let keys: Vec<_> = frames.iter().enumerate().filter(|(_, frame)| frame.key).map(|(number, _)| number).collect();
    assert_eq!(keys, [0, 7]);
    let mut late = decoder(size);
    let mut whole = decoder(size);
    for (number, frame) in frames.iter().enumerate() {
        whole.decode(&frame.bytes).expect("a frame");
        if number >= 7 {
            late.decode(&frame.bytes).expect("a frame");
            assert_eq!(render(&mut late), render(&mut whole), "frame {number}");
        }
    }
}

#[test]
fn no_effort_depends_on_threads() {
    // Two slices.
    let size = Size::new(770, 514).expect("a valid size");
    let clip = clip(size, 12, 7);
    for effort in [Effort::Realtime, Effort::Fast] {
        let frames = encode_by(effort, 1.0, &clip, 1);
        for threads in [2, 3, 8] {
            assert!(encode_by(effort, 1.0, &clip, threads) == frames, "{effort:?} with {threads} threads");
        }
        let keys: Vec<_> = frames.iter().enumerate().filter(|(_, frame)| frame.key).map(|(number, _)| number).collect();
        assert_eq!(keys, [0, 7], "{effort:?}");
        let mut whole = decoder(size);
        frames.iter().for_each(|frame| whole.decode(&frame.bytes).map(|_| ()).expect("a frame"));
    }
}

#[test]
fn a_scene_begins_with_a_key_frame_at_any_rate() {
    let size = Size::new(160, 128).expect("a valid size");
    let clip = clip(size, 12, 7);
    for share in [0.02, 0.1, 1.0, 4.0] {
        let frames = encode_at(share, &clip, 1);
        let keys: Vec<_> = frames.iter().enumerate().filter(|(_, frame)| frame.key).map(|(number, _)| number).collect();
        assert_eq!(keys, [0, 7], "{share} times the usual rates");
    }
}

#[test]
fn grain_on_flat_ground_begins_no_scene() {
    let size = Size::new(96, 64).expect("a valid size");
    let mut seed = 3_u32;
    let frame = |_| {
        let mut random = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            u8::try_from(96 + (seed >> 28)).expect("less than 256")
        };
        let samples = (0..FORMAT.bytes(size)).map(|_| random()).collect();
        Picture::new(size, FORMAT, samples).expect("as many samples")
    };
    let clip: Vec<_> = (0..8).map(frame).collect();
    assert_eq!(encode(&clip, 1).iter().filter(|frame| frame.key).count(), 1);
}

#[test]
fn one_who_joins_is_near_at_once_and_then_with_the_others() {
    one_joins(false);
    one_joins(true);
}

fn one_joins(knows_receivers: bool) {
    let size = Size::new(96, 64).expect("a valid size");
    let clip = clip(size, 80, 99);
    let bits = 240.0 * size.pixels() as f64;
    let population = Population::log_uniform(Bitrate::rounded(0.02 * bits)..=Bitrate::rounded(0.32 * bits));
    let settings = VideoSettings { size, rate: RATE, population, threads: 1 };
    let encoder = VideoEncoder::new(VideoModel::built_in(), settings);
    let mut encoder = encoder.with_known_receivers(knows_receivers);
    let (mut old, mut new) = (decoder(size), decoder(size));
    let mut apart = Vec::new();
    for (number, picture) in clip.iter().enumerate() {
        let frame = encoder.encode(picture).expect("a frame");
        old.decode(&frame.bytes).expect("a frame");
        match number {
            0..20 => continue,
            20 => {
                let join = encoder.join(1500);
                assert!(join.key && join.bytes.len() <= 1500 && join.base == join.bytes.len());
                new.decode(&join.bytes).expect("a frame")
            }
            _ => new.decode(&frame.bytes).expect("a frame"),
        };
        apart.push(error(&render(&mut new), picture) / error(&render(&mut old), picture));
    }
    // Frames are 0.05 above or below those around them; the mean is 1.13, whatever the search for motion.
    let last = apart[44..60].iter().sum::<f64>() / 16.0;
    assert!(apart[16] < 1.5 && last < 1.14, "{apart:?}");
}

#[test]
fn who_missed_a_frame_goes_on_where_no_vectors_are_copied_or_by_a_random_access_frame() {
    let size = Size::new(96, 64).expect("a valid size");
    let clip = clip(size, 70, 99);
    let bits = 240.0 * size.pixels() as f64;
    let population = Population::log_uniform(Bitrate::rounded(0.02 * bits)..=Bitrate::rounded(0.32 * bits));
    let settings = VideoSettings { size, rate: RATE, population, threads: 1 };
    let mut encoder = VideoEncoder::new(VideoModel::built_in(), settings);
    let (mut missing, mut joining) = (decoder(size), decoder(size));
    for (number, picture) in clip.iter().enumerate() {
        let frame = encoder.encode(picture).expect("a frame").bytes;
        match number {
            20 => {}
            21..32 => assert_eq!(missing.decode(&frame), Ok(DecodedPart::Nothing), "frame {number}"),
            _ => assert_eq!(missing.decode(&frame), Ok(DecodedPart::EnhancementReference), "frame {number}"),
        }
        match number {
            0..40 => assert_eq!(joining.decode(&frame), Ok(DecodedPart::EnhancementReference), "frame {number}"),
            40..50 => {}
            50 => assert!(joining.decode(&encoder.join(1500).bytes).is_ok()),
            _ => assert_eq!(joining.decode(&frame), Ok(DecodedPart::EnhancementReference), "frame {number}"),
        }
    }
}

#[test]
fn small_and_odd_sizes_are_coded() {
    for (width, height) in [(1, 1), (1, 40), (33, 17), (16, 16), (65, 3)] {
        let size = Size::new(width, height).expect("a valid size");
        let clip = clip(size, 4, 99);
        let mut decoder = decoder(size);
        for (frame, original) in encode(&clip, 1).iter().zip(&clip) {
            for cut in 0..frame.side {
                assert_eq!(decoder.decode(&frame.bytes[..cut]), Ok(DecodedPart::Nothing));
            }
            decoder.decode(&frame.bytes).expect("a frame");
            assert!(error(&render(&mut decoder), original) < 2000.0);
        }
    }
}

#[test]
fn a_budget_holds_a_rate_and_gives_every_base() {
    let size = Size::new(96, 64).expect("a valid size");
    let frames = encode(&clip(size, 40, 99), 1);
    let rate = 0.1 * 240.0 * size.pixels() as f64;
    let mut budget = Budget::new(Bitrate::rounded(rate), RATE);
    let mut sum = 0;
    for frame in &frames {
        let count = budget.cut(&frame.bytes, 5).expect("a frame");
        assert!(count >= frame.base && count <= frame.bytes.len());
        sum += count + 5;
    }
    assert!((sum as f64) < rate / 8.0 * 40.0 / 30.0 + 1.0, "{sum}");
    assert!(Budget::new(Bitrate::rounded(rate), RATE).cut(&[], 0).is_err());
}

#[test]
fn large_frames_are_refused_before_memory_is_taken() {
    let size = Size::new(16_384, 16_384).expect("a valid size");
    let mut result = None;
    let taken = allocation_counter::measure(|| result = Some(decoder(size).decode(&[0x80, 0, 0, 0]))).bytes_total;
    assert!(matches!(result, Some(Err(Error::Limit { given, .. })) if given == 1 << 28), "{result:?}");
    assert!(taken < 2_000_000, "{taken} bytes");
    let mut small = decoder(Size::new(33, 17).expect("a valid size")).with_max_pixels(33 * 17);
    assert_eq!(small.decode(&[0x80, 0, 0, 0, 0]), Ok(DecodedPart::EnhancementReference));
    small = small.with_max_pixels(33 * 17 - 1);
    assert!(matches!(small.decode(&[0x80, 0, 0, 0]), Err(Error::Limit { .. })));
}

#[test]
fn other_sizes_formats_and_damage_are_refused_by_name() {
    let size = Size::new(32, 32).expect("a valid size");
    let settings = VideoSettings {
        size,
        rate: RATE,
        population: Population::log_uniform(Bitrate::from_bits(100_000)..=Bitrate::from_bits(1_000_000)),
        threads: 1,
    };
    let mut encoder = VideoEncoder::new(VideoModel::built_in(), settings);
    let other = Picture::zero(Size::new(32, 30).expect("a valid size"), FORMAT);
    assert!(encoder.encode(&other).expect_err("another size").to_string().contains("another size"));
    assert!(encoder.encode(&Picture::zero(size, Format::Grey)).expect_err("grey").to_string().contains("4:2:0"));
    let frame = encoder.encode(&Picture::zero(size, FORMAT)).expect("a frame");
    let mut damaged = frame.bytes.to_vec();
    damaged[1] |= 0x80;
    let mut decoder = decoder(size);
    assert!(decoder.decode(&damaged).expect_err("flags").to_string().contains("exclude each other"));
    assert!(decoder.render_into(&mut Picture::zero(size, Format::Rgb)).is_err());
}
