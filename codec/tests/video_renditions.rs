//! Tests video in several renditions, with receivers that change from one to another.

mod harness;

use harness::{RATE, clip, decoder, error, render};
use nestcast_codec::{
    Bitrate, Budget, CodedFrame, DecodedPart, Effort, Picture, Population, Size, Switch, VideoDecoder, VideoEncoder,
    VideoModel, VideoRenditions, VideoSettings,
};

/// Encodes in `renditions` renditions.
fn encode_renditions(clip: &[Picture], renditions: usize, threads: usize) -> Vec<Vec<CodedFrame>> {
    let size = clip[0].size();
    let bits = 240.0 * size.pixels() as f64;
    let population = Population::log_uniform(Bitrate::rounded(0.02 * bits)..=Bitrate::rounded(0.32 * bits));
    let settings = VideoSettings { size, rate: RATE, population, threads };
    let mut encoder = VideoRenditions::new(&VideoModel::built_in(), settings, renditions).expect("one to three");
    assert_eq!(encoder.rates().count(), renditions);
    clip.iter().map(|frame| encoder.encode(frame).expect("a frame")).collect()
}

#[test]
fn the_faster_of_two_loops_serves_the_fast_better_and_the_slower_the_slow() {
    let size = Size::new(130, 100).expect("a valid size");
    let clip = clip(size, 40, 99);
    let (one, two) = (encode_renditions(&clip, 1, 1), encode_renditions(&clip, 2, 2));
    assert!(two == encode_renditions(&clip, 2, 1) && two == encode_renditions(&clip, 2, 3), "bytes depend on threads");
    let error_at = |frames: &mut dyn Iterator<Item = &CodedFrame>, share: f64| {
        let bits = 240.0 * size.pixels() as f64;
        let (mut decoder, mut budget) = (decoder(size), Budget::new(Bitrate::rounded(share * bits), RATE));
        let errors = frames.zip(&clip).map(|(frame, original)| {
            let count = budget.cut(&frame.bytes, 0).expect("a frame");
            assert!(decoder.decode(&frame.bytes[..count]).expect("a frame") >= DecodedPart::Base);
            error(&render(&mut decoder), original)
        });
        errors.skip(8).sum::<f64>()
    };
    let slow = [&one, &two].map(|frames| error_at(&mut frames.iter().map(|frames| &frames[0]), 0.02));
    let fast = [&one, &two].map(|frames| error_at(&mut frames.iter().filter_map(|frames| frames.last()), 0.32));
    assert!(slow[1] <= slow[0] * 1.02 && fast[1] < fast[0], "{slow:?} {fast:?}");
}

#[test]
fn the_slowest_loop_depends_on_no_other_one_and_no_loop_on_the_number_of_threads() {
    let size = Size::new(130, 100).expect("a valid size");
    let clip = clip(size, 9, 99);
    let bits = 240.0 * size.pixels() as f64;
    let population = Population::log_uniform(Bitrate::rounded(0.02 * bits)..=Bitrate::rounded(0.32 * bits));
    for effort in [Effort::Realtime, Effort::Fast, Effort::Normal] {
        let encode = |renditions, threads| {
            let settings = VideoSettings { size, rate: RATE, population: population.clone(), threads };
            let encoder = VideoRenditions::new(&VideoModel::built_in(), settings, renditions).expect("one to three");
            let mut encoder = encoder.with_effort(effort);
            clip.iter().map(|frame| encoder.encode(frame).expect("a frame")).collect::<Vec<_>>()
        };
        // Two and three loops have the same slowest receivers.
        let (two, three) = (encode(2, 1), encode(3, 1));
        assert!(three == encode(3, 3), "{effort:?}: bytes depend on threads");
        for (two, three) in two.iter().zip(&three) {
            assert_eq!(two[0], three[0], "{effort:?}: the slowest loop depends on others");
        }
    }
}

#[test]
fn one_loop_is_the_ordinary_video_and_scenes_begin_in_all_loops_at_once() {
    let size = Size::new(96, 64).expect("a valid size");
    let clip = clip(size, 12, 7);
    let bits = 240.0 * size.pixels() as f64;
    let population = Population::log_uniform(Bitrate::rounded(0.02 * bits)..=Bitrate::rounded(0.32 * bits));
    let settings = VideoSettings { size, rate: RATE, population, threads: 1 };
    let mut encoder = VideoEncoder::new(VideoModel::built_in(), settings.clone());
    for (frames, picture) in encode_renditions(&clip, 1, 1).iter().zip(&clip) {
        assert_eq!(frames[..], [encoder.encode(picture).expect("a frame")]);
    }
    for (number, frames) in encode_renditions(&clip, 3, 1).iter().enumerate() {
        assert!(frames.iter().all(|frame| frame.key == [0, 7].contains(&number)), "frame {number}");
    }
    for renditions in [0, 4] {
        assert!(VideoRenditions::new(&VideoModel::built_in(), settings.clone(), renditions).is_err());
    }
}

/// Decodes a frame as three receivers get it: its first `own_base` bytes; all of it; and, of a switching frame, half of
/// the bytes after its side information. Both receivers that get all of a switching frame show the same.
fn decode_as_it_came(decoders: &mut [VideoDecoder], frame: &CodedFrame, own_base: usize, switching: bool) {
    let all = frame.bytes.len();
    let half = if switching { frame.side + (all - frame.side) / 2 } else { all };
    for (decoder, count) in decoders.iter_mut().zip([own_base, all, half]) {
        let part = switching && count == half && half < all;
        assert_eq!(decoder.decode(&frame.bytes[..count]).expect("a frame") == DecodedPart::Part, part);
    }
    if switching {
        let shown = [0, 1].map(|which| render(&mut decoders[which]));
        assert_eq!(shown[0].samples(), shown[1].samples(), "frame of {all} bytes");
    }
}

#[test]
fn whoever_changes_loops_is_nearer_than_who_begins_anew_whatever_came_before() {
    let size = Size::new(96, 64).expect("a valid size");
    let clip = clip(size, 30, 99);
    let bits = 240.0 * size.pixels() as f64;
    let rates = [0.02, 0.08, 0.32];
    let population = Population::new(rates.iter().map(|share| (Bitrate::rounded(share * bits), 1.0)));
    let most = |at: usize| Bitrate::rounded(rates[at] * bits).bytes_per_frame(RATE);
    for (from, to) in (0..3).flat_map(|from| (0..3).map(move |to| (from, to))).filter(|(from, to)| from != to) {
        let settings = VideoSettings { size, rate: RATE, population: population.clone(), threads: 1 };
        let mut encoder = VideoRenditions::new(&VideoModel::built_in(), settings, 3).expect("three loops");
        // One that begins here with a random-access frame, one that had only bases, one with all bytes, and one that
        // loses half of each switching frame.
        let mut decoders = [(); 4].map(|()| decoder(size));
        let mut switch: Option<Switch> = None;
        let (mut errors, mut arrived) = ([0.0; 4], None);
        for (number, picture) in clip.iter().enumerate() {
            if number == 12 {
                switch = Some(encoder.switch_from(from).expect("there is such a loop"));
            }
            let frames = encoder.encode(picture).expect("a frame");
            let switching = switch.as_mut().and_then(|switch| encoder.switch_to(to, switch, most(to)));
            assert_eq!(switching.is_some(), switch.is_some());
            let now = switching.as_ref().unwrap_or(&frames[if number < 12 { from } else { to }]);
            assert!(
                switching.is_none() || !now.key && now.base == now.bytes.len() && now.base <= most(to).max(now.side)
            );
            if number >= 12 {
                let join = if number == 12 { encoder.join(to, most(to)) } else { None };
                decoders[0].decode(&join.as_ref().unwrap_or(&frames[to]).bytes).expect("a frame");
            }
            let own_base = if number < 12 { now.base } else { now.bytes.len() };
            decode_as_it_came(&mut decoders[1..], now, own_base, switching.is_some());
            if switch.as_ref().is_some_and(Switch::arrived) {
                (switch, arrived) = (None, Some(number));
            }
            if number >= 22 {
                errors
                    .iter_mut()
                    .zip(&mut decoders)
                    .for_each(|(sum, decoder)| *sum += error(&render(decoder), picture));
            }
        }
        assert!(arrived.is_some_and(|number| (12..15).contains(&number)), "{from} to {to}: {arrived:?}");
        let [joined, slow, fast, damaged] = errors;
        assert!(slow == fast, "{from} to {to}: {errors:?}");
        assert!(fast < joined && damaged < 3.0 * joined, "{from} to {to}: {errors:?}");
    }
}

/// Encodes seven frames of a clip in which a scene begins at frame `cut`; also returns the eighth picture.
fn two_renditions_of_seven_frames(cut: usize) -> (VideoRenditions, Picture) {
    let size = Size::new(96, 64).expect("a valid size");
    let mut clip = clip(size, 8, cut);
    let next = clip.pop().expect("eight frames");
    let bits = 240.0 * size.pixels() as f64;
    let population = Population::log_uniform(Bitrate::rounded(0.02 * bits)..=Bitrate::rounded(0.32 * bits));
    let settings = VideoSettings { size, rate: RATE, population, threads: 1 };
    let mut encoder = VideoRenditions::new(&VideoModel::built_in(), settings, 2).expect("two loops");
    for picture in &clip {
        encoder.encode(picture).expect("a frame");
    }
    (encoder, next)
}

/// At 128 bytes the head's length changes with its numbers.
#[test]
fn frames_of_who_joins_or_changes_are_all_base_however_long_they_are() {
    let (mut encoder, next) = two_renditions_of_seven_frames(99);
    let leaves = |encoder: &VideoRenditions| encoder.switch_from(0).expect("there is such a loop");
    let mut switches: Vec<_> = (0..220).map(|most| (most, leaves(&encoder))).collect();
    encoder.encode(&next).expect("a frame");
    for (most, switch) in &mut switches {
        let frame = encoder.switch_to(1, switch, *most).expect("no scene begins");
        assert_eq!(frame.base, frame.bytes.len(), "{most}");
        assert!(frame.bytes.len() <= (*most).max(frame.side), "{most}");
    }
    for most in 20..220 {
        let frame = encoder.join(1, most).expect("there is such a loop");
        assert!(frame.base == frame.bytes.len(), "{most}: {frame:?}");
        // The vectors that the next frame can copy come first, and half of the bytes are the picture's at least.
        assert!(frame.bytes.len() <= most.max(frame.side + most / 2 + 14), "{most}: {frame:?}");
        let mut decoder = decoder(next.size());
        assert_eq!(decoder.decode(&frame.bytes).expect("a frame"), DecodedPart::EnhancementReference, "{most}");
    }
}

#[test]
fn a_scene_that_begins_is_for_those_too_who_change_loops() {
    let (mut encoder, next) = two_renditions_of_seven_frames(7);
    let mut switch = encoder.switch_from(0).expect("there is such a loop");
    assert!(encoder.switch_from(2).is_err() && encoder.switch_to(2, &mut switch, 900).is_none() && !switch.arrived());
    assert!(encoder.encode(&next).expect("a frame")[1].key);
    assert!(encoder.switch_to(1, &mut switch, 900).is_none() && switch.arrived());
}

#[test]
fn a_loop_branches_from_what_its_receivers_have_and_outlives_the_other() {
    let size = Size::new(96, 64).expect("a valid size");
    let clip = clip(size, 36, 99);
    let bits = 240.0 * size.pixels() as f64;
    let [slow, fast] = [0.02, 0.3].map(|share| Population::new([(Bitrate::rounded(share * bits), 1.0)]));
    let [few, many] = [0.02, 0.3].map(|share| Bitrate::rounded(share * bits).bytes_per_frame(RATE));
    let cut = |frame: &CodedFrame, count: usize| frame.bytes[..count.clamp(frame.base, frame.bytes.len())].to_vec();
    let settings = VideoSettings { size, rate: RATE, population: fast.clone(), threads: 1 };
    let new = || VideoRenditions::new(&VideoModel::built_in(), settings.clone(), 1).expect("one loop");
    let (mut alone, mut several) = (new(), new());
    let (mut stayed, mut went, mut joined) = (decoder(size), decoder(size), decoder(size));
    let mut errors = [[0.0; 3]; 2];
    for (number, picture) in clip.iter().enumerate() {
        if number == 10 {
            several.branch(0).expect("a second loop");
            alone.set_population(0, slow.clone(), few);
            several.set_population(1, slow.clone(), few);
        }
        let expected = alone.encode(picture).expect("a frame").remove(0);
        let frames = several.encode(picture).expect("a frame");
        let own = frames.last().expect("a frame for each loop");
        // The slowest rendition equals one that was encoded alone from the start.
        assert_eq!(*own, expected, "frame {number}");
        assert_eq!(frames.len(), if (10..28).contains(&number) { 2 } else { 1 });
        assert!(number == 0 || !own.key, "frame {number}");
        assert!(went.decode(&cut(own, few)).expect("a frame") >= DecodedPart::Base);
        if number < 28 {
            assert!(stayed.decode(&cut(&frames[0], many)).expect("a frame") >= DecodedPart::Base);
        }
        let for_joined = match number {
            0..14 => cut(&frames[0], many),
            14 => {
                // The next frame also serves receivers that joined.
                alone.join(0, 1500).expect("there is such a loop");
                several.join(1, 1500).expect("there is such a loop").bytes.to_vec()
            }
            _ => cut(own, few),
        };
        joined.decode(&for_joined).expect("a frame");
        let shown = [&mut stayed, &mut went, &mut joined].map(|decoder| error(&render(decoder), picture));
        // The first frames do not count.
        let sums = if number < 28 { &mut errors[0] } else { &mut errors[1] };
        if number >= 20 {
            sums.iter_mut().zip(shown).for_each(|(sum, error)| *sum += error);
        }
        if number == 27 {
            remove_all_but_one_of_two(&mut several);
        }
    }
    let [[stayed, went, joined], [_, late, late_joined]] = errors;
    assert!(stayed < went && joined < 1.5 * went && late_joined < 1.2 * late, "{errors:?}");
    branches_of_what_is_there_are_made(&mut several);
}

fn remove_all_but_one_of_two(several: &mut VideoRenditions) {
    assert!(several.join(2, 1500).is_none());
    several.remove(0);
    several.remove(0); // the last one stays
    assert_eq!(several.count(), 1);
}

fn branches_of_what_is_there_are_made(several: &mut VideoRenditions) {
    let refused = |several: &mut VideoRenditions, at| several.branch(at).expect_err("it is refused").to_string();
    assert!(refused(several, 1).contains("name one by its place, below their count"));
    several.branch(0).and_then(|()| several.branch(0)).expect("two more");
    assert!(refused(several, 0).contains("remove one before another branches"));
    assert_eq!(several.count(), 3);
}
