//! Replayed videos: what receivers get, who joins late, what is damaged.

use std::io::Cursor;

use nestcast_codec::{
    DecodedPart, Display, Format, FrameRate, Picture, Population, Size, VideoDecoder, VideoRenditions, VideoSettings,
    VideoWriter, Ycbcr,
};
use nestcast_media::stored::{RecordedFrame, Recording};
use nestcast_proto::ReceiverDemand;

use super::*;
use crate::repeated::Again;

pub(super) fn size() -> Size {
    Size::new(64, 48).expect("a size")
}

pub(super) const RATE: FrameRate = match FrameRate::new(25, 1) {
    Ok(rate) => rate,
    Err(_) => panic!("a rate"),
};

/// Returns a pattern that moves.
pub(super) fn picture(number: usize) -> Picture {
    let samples = (0..size().pixels() * 3 / 2).map(|at| {
        let (x, y) = (at % 64 + number / 2, at / 64);
        u8::try_from((x * 5 + y * 3) % 160 + (x * x / 7 + y) % 40).expect("below 200")
    });
    Picture::new(size(), Format::Ycbcr420(Ycbcr::BT601), samples.collect()).expect("a picture")
}

/// Returns the header and the frames of a video that moves, in all its renditions.
pub(super) fn encoded(count: usize, renditions: usize) -> (VideoHeader, Vec<Vec<Bytes>>) {
    encoded_of((0..count).map(picture), renditions, false)
}

/// As [`encoded`], of these pictures. `knows_receivers`: as the encoder of a broadcast that was recorded.
pub(super) fn encoded_of(
    pictures: impl Iterator<Item = Picture>,
    renditions: usize,
    knows_receivers: bool,
) -> (VideoHeader, Vec<Vec<Bytes>>) {
    let population = Population::log_uniform(Bitrate::from_bits(60_000)..=Bitrate::from_bits(960_000));
    let settings = VideoSettings { size: size(), rate: RATE, population, threads: 1 };
    let encoder = VideoRenditions::new(&VideoModel::built_in(), settings, renditions).expect("few renditions");
    let mut encoder = encoder.with_known_receivers(knows_receivers);
    let header = VideoHeader {
        size: size(),
        rate: RATE,
        colours: Ycbcr::BT601,
        bits: 8,
        display: Display::default(),
        models: VideoModel::built_in().ids(),
        renditions: encoder.rates(),
    };
    let mut frames = |picture| encoder.encode(&picture).expect("its size").into_iter().map(|frame| frame.bytes);
    let frames = pictures.map(|picture| frames(picture).collect()).collect();
    (header, frames)
}

pub(super) fn stored(header: &VideoHeader, frames: &[Vec<Bytes>]) -> Vec<u8> {
    let (mut writer, mut bytes) = VideoWriter::new(header);
    for (at, frame) in frames.iter().enumerate() {
        for (rendition, frame) in frame.iter().enumerate() {
            bytes.extend(writer.frame(frame, at == 0 && rendition == 0));
        }
    }
    bytes.extend(writer.finish());
    bytes
}

pub(super) fn replay(bytes: Vec<u8>) -> Replay<Cursor<Vec<u8>>> {
    Replay::new("film.nst", u64::MAX, Cursor::new(bytes), None).expect("a stored video")
}

/// Reads and takes the next frame, as a driver with time for everything does. Returns it with the time at which it is
/// due, in milliseconds.
pub(super) fn next<R: Read + Send>(replay: &mut Replay<R>, demand: &Demand) -> Option<(u128, BroadcastFrame)> {
    let due = replay.read().expect("a whole video")?;
    while replay.prepare(demand) {}
    Some((due.as_millis(), replay.take(9, demand).expect("it was read")))
}

pub(super) fn shown(decoder: &mut VideoDecoder) -> Picture {
    let mut shown = Picture::zero(size(), Format::Ycbcr420(Ycbcr::BT601));
    decoder.render_into(&mut shown).expect("its size");
    shown
}

pub(super) fn decoder() -> VideoDecoder {
    VideoDecoder::new(VideoModel::built_in(), size(), 1)
}

#[test]
fn receivers_get_every_frame_as_it_is_in_the_file_at_the_video_s_rate() {
    let (header, frames) = encoded(8, 1);
    let mut replay = replay(stored(&header, &frames));
    let welcome = replay.welcome();
    assert_eq!((welcome.width, welcome.height, welcome.rate), (64, 48, RATE));
    assert_eq!(welcome.video.map(|video| video.residual), Some(header.models[1].0));
    let demand = Demand::default();
    for (number, expected) in frames.iter().enumerate() {
        let (due, BroadcastFrame { frame, renditions, .. }) = next(&mut replay, &demand).expect("a frame");
        assert_eq!((due, frame.id, frame.skipped, frame.captured), (40 * number as u128, number as u64, 0, 9));
        assert!(frame.bytes == expected[0] && renditions.is_none());
        let head = FrameHead::parse(&frame.bytes).expect("valid").expect("whole");
        assert_eq!((frame.base, frame.join.is_some()), (head.base, head.key));
    }
    assert!(next(&mut replay, &demand).is_none() && replay.take_fault().is_none());
    assert!(replay.take(0, &demand).is_none(), "nothing was read");
}

#[test]
fn who_joins_late_gets_a_frame_made_of_base_layers_and_nothing_is_decoded_before() {
    let (header, frames) = encoded(60, 1);
    let mut replay = replay(stored(&header, &frames));
    let (demand, mut whole, mut joiner) = (Demand::default(), decoder(), None);
    let entry = demand.register();
    let mut differences = Vec::new();
    for number in 0..60 {
        if number == 40 {
            entry.set(ReceiverDemand {
                bandwidth: Bitrate::from_bits(800_000),
                needs_random_access: true,
                ..ReceiverDemand::default()
            });
        }
        let (_, BroadcastFrame { frame, .. }) = next(&mut replay, &demand).expect("a frame");
        whole.decode(&frame.bytes).expect("a frame");
        assert_eq!(frame.join.is_some(), [0, 40].contains(&number), "{number}");
        assert_eq!(replay.base_layers[0].waiting(), if number < 40 { number + 1 } else { number - 40 });
        if let Some(join) = frame.join.filter(|_| number == 40) {
            // What 720 kbit/s carry in two frames.
            assert!(join.base <= 7200 && join.base == join.bytes.len().min(7200));
            let decoder = joiner.insert(decoder());
            assert!(decoder.decode(&join.bytes).expect("a frame") >= DecodedPart::Base);
        } else if let Some(joiner) = &mut joiner {
            joiner.decode(&frame.bytes).expect("a frame");
        }
        if let Some(joiner) = &mut joiner {
            let both = [shown(joiner), shown(&mut whole)];
            let squares =
                both[0].samples().iter().zip(both[1].samples()).map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2));
            differences.push(squares.sum::<u64>());
        }
    }
    assert!(differences.last() < Some(&(differences[0] / 2)), "{differences:?}");
}

/// Joins with the last of these frames. Returns the mean squared difference from what a decoder of all of them shows, and
/// whether base layers were decoded before.
fn late_join((header, frames): &(VideoHeader, Vec<Vec<Bytes>>)) -> (f64, bool) {
    let mut replay = replay(stored(header, frames));
    let (demand, mut whole, mut joiner) = (Demand::default(), decoder(), decoder());
    for _ in 1..frames.len() {
        whole.decode(&next(&mut replay, &demand).expect("a frame").1.frame.bytes).expect("a frame");
    }
    assert_eq!(replay.base_layers[0].waiting(), base_layers::WINDOW_FRAMES);
    let was_decoding = replay.base_layers[0].is_decoding();
    let bandwidth = Bitrate::from_bits(800_000);
    let entry = demand.register();
    entry.set(ReceiverDemand { bandwidth, needs_random_access: true, ..ReceiverDemand::default() });
    let (_, BroadcastFrame { frame, .. }) = next(&mut replay, &demand).expect("a frame");
    whole.decode(&frame.bytes).expect("a frame");
    joiner.decode(&frame.join.expect("it was asked for").bytes).expect("a frame");
    let [joined, whole] = [&mut joiner, &mut whole].map(shown);
    let pairs = joined.samples().iter().zip(whole.samples());
    let squares: u64 = pairs.map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2)).sum();
    (squares as f64 / whole.samples().len() as f64, was_decoding)
}

#[test]
fn who_joins_a_recorded_slide_late_gets_it_and_base_layers_that_renew_the_picture_wait() {
    /// Returns a slide for some frames, and then pictures that move.
    fn slide(count: usize, moving: usize) -> impl Iterator<Item = Picture> {
        (0..count).map(|_| picture(0)).chain((1..=moving).map(|number| picture(2 * number)))
    }
    // The slide is 3090 from grey.
    let (difference, was_decoding) = late_join(&encoded_of(slide(600, 0), 1, true));
    assert!(difference < 2.0 && was_decoding, "{difference}");
    let (difference, was_decoding) = late_join(&encoded_of(slide(500, 80), 1, true));
    assert!(difference < 100.0 && was_decoding, "{difference}");
    let (difference, was_decoding) = late_join(&encoded_of(slide(500, 420), 1, true));
    assert!(difference < 100.0 && was_decoding, "{difference}: nobody joined, so no frame renews its part");
    let (difference, was_decoding) = late_join(&encoded_of(slide(500, 420), 1, false));
    assert!(difference < 100.0 && !was_decoding, "{difference}: each renews its part of the picture");
    let (difference, was_decoding) = late_join(&encoded_of(slide(600, 0), 1, false));
    assert!(difference < 2.0 && !was_decoding, "{difference}: each renews its part of the slide");
}

#[test]
fn a_crowd_that_asks_with_every_frame_gets_a_frame_to_begin_with_within_a_budget() {
    let (header, frames) = encoded(80, 1);
    let mut replay = replay(stored(&header, &frames));
    let demand = Demand::default();
    let entry = demand.register();
    let mut joins = 0;
    for _ in 0..80 {
        entry.request_random_access(None);
        joins += usize::from(next(&mut replay, &demand).expect("a frame").1.frame.join.is_some());
    }
    assert!((30..=52).contains(&joins), "{joins}");
}

#[test]
fn of_several_renditions_each_receiver_gets_the_one_for_its_rate() {
    let (header, frames) = encoded(12, 2);
    let mut replay = replay(stored(&header, &frames));
    let demand = Demand::default();
    let [slow, fast] = [80_000, 5_000_000].map(|bits| {
        let entry = demand.register();
        entry.set(ReceiverDemand { bandwidth: Bitrate::from_bits(bits), ..ReceiverDemand::default() });
        entry
    });
    for (number, expected) in frames.iter().enumerate() {
        if number == 6 {
            fast.request_random_access(Some(1));
        }
        let (_, frame) = next(&mut replay, &demand).expect("a frame");
        let [of_slow, of_fast] = [&slow, &fast].map(|entry| frame.rendition_of(entry.receiver()).expect("a rendition"));
        assert_eq!((of_slow.number, of_fast.number), (0, 1));
        assert!(of_slow.frame.bytes == expected[0] && of_fast.frame.bytes == expected[1]);
        assert_eq!(of_fast.frame.join.is_some(), [0, 6].contains(&number));
        assert_eq!(of_slow.frame.join.is_some(), number == 0);
    }
}

#[test]
fn a_recording_is_sent_by_its_capture_times_without_the_frames_that_it_lacks() {
    let (header, frames) = encoded(6, 1);
    let mut recording = Recording::begin(&header, Vec::new()).expect("memory");
    for number in [0, 1, 4, 5] {
        let captured = 70_000_000 + number * 50_000;
        let bytes = frames[usize::try_from(number).expect("few")][0].clone();
        recording.write(&RecordedFrame { number, captured, bytes, random_access: None }).expect("memory");
    }
    let mut replay = replay(recording.finish().expect("memory").0);
    let demand = Demand::default();
    let sent: Vec<_> = std::iter::from_fn(|| next(&mut replay, &demand)).collect();
    let sent: Vec<_> = sent.iter().map(|(due, frame)| (*due, frame.frame.id, frame.frame.skipped)).collect();
    assert_eq!(sent, [(0, 0, 0), (50, 1, 0), (200, 4, 2), (250, 5, 2)]);
}

#[test]
fn sound_is_due_with_its_frames_and_does_not_pile_up_if_nobody_takes_it() {
    let (header, frames) = encoded(6, 1);
    let mut recording = Recording::begin(&header, Vec::new()).expect("memory");
    recording.begin_sound(1).expect("memory");
    for number in 0..6 {
        let captured = 70_000_000 + number * 40_000;
        let bytes = frames[usize::try_from(number).expect("few")][0].clone();
        recording.write(&RecordedFrame { number, captured, bytes, random_access: None }).expect("memory");
        for captured in [captured, captured + 20_000] {
            let sound = StoredSound { captured, bytes: Bytes::from_static(b"a packet") };
            recording.write_sound(&sound).expect("memory");
        }
    }
    let mut replay = replay(recording.finish().expect("memory").0);
    assert_eq!(replay.sound().map(Sound::channels), Some(1));
    for _ in 0..4 {
        replay.read().expect("a whole video").expect("a frame");
    }
    let due: Vec<_> = std::iter::from_fn(|| replay.take_sound()).map(|(due, _)| due.as_millis()).collect();
    assert_eq!(due, [80, 100]);
    while replay.read().expect("a whole video").is_some() {}
    let due: Vec<_> = std::iter::from_fn(|| replay.take_sound()).map(|(due, _)| due.as_millis()).collect();
    assert_eq!(due, [200, 220]);
}

#[test]
fn a_video_that_breaks_off_is_sent_as_far_as_it_is_whole_and_repeats() {
    let (header, frames) = encoded(5, 1);
    let whole = stored(&header, &frames);
    let bytes = whole[..whole.len() - 40].to_vec();
    let demand = Demand::default();
    let mut once = replay(bytes.clone());
    let count = std::iter::from_fn(|| next(&mut once, &demand)).count();
    let fault = once.take_fault().expect("it has one");
    assert!(fault.starts_with("film.nst: it breaks off: nestcast sends 5 frames"), "{fault}");
    assert_eq!((count, once.take_fault()), (5, None));

    let again = bytes.clone();
    let again: Again<_> = Box::new(move || Ok(Cursor::new(again.clone())));
    let mut repeated = Replay::new("film.nst", u64::MAX, Cursor::new(bytes), Some(again)).expect("a video");
    let sent: Vec<_> = (0..12).map(|_| next(&mut repeated, &demand).expect("for ever")).collect();
    let numbers: Vec<_> = sent.iter().map(|(due, frame)| (*due, frame.frame.id)).collect();
    assert_eq!(numbers, (0..12).map(|number| (40 * number, u64::try_from(number).expect("few"))).collect::<Vec<_>>());
    assert!(sent[5].1.frame.join.is_some(), "the video begins with a key frame");
}

#[test]
fn what_cannot_be_sent_is_refused_by_its_name() {
    let (header, frames) = encoded(2, 1);
    let bytes = stored(&header, &frames);
    let refused = |bytes: &[u8], most| {
        Replay::new("film.nst", most, Cursor::new(bytes.to_vec()), None).expect_err("no video").to_string()
    };
    assert_eq!(refused(&[], u64::MAX), "film.nst: it is empty");
    assert!(refused(&bytes, 100).contains("over the limit of 100"));
    assert!(refused(b"YUV4MPEG2 W64 H48 F25:1\n", u64::MAX).starts_with("film.nst: "));
    let others = VideoHeader { models: [nestcast_codec::ModelId([7; 6]); 2], ..header };
    assert!(refused(&stored(&others, &frames), u64::MAX).contains("needs the models"));
    // A header without a frame.
    let beginning = header.to_bytes().len();
    for cut in beginning..beginning + 5 {
        let error = refused(&bytes[..cut], u64::MAX);
        assert_eq!(error, "film.nst: it contains no whole frame: it breaks off: get the video again", "{cut}");
    }
}
