//! Replayed videos: what receivers get, who joins late, what is damaged.

use std::io::Cursor;
use std::sync::Arc;

use nestcast_codec::{
    DecodedPart, Display, Format, FrameRate, Picture, Population, Size, VideoDecoder, VideoRenditions, VideoSettings,
    VideoWriter, Ycbcr,
};
use nestcast_media::stored::{RecordedFrame, Recording};
use nestcast_proto::ReceiverDemand;

use super::archive::StoredArchive;
use super::*;
use crate::repeated::Again;

fn size() -> Size {
    Size::new(64, 48).expect("a size")
}

const RATE: FrameRate = match FrameRate::new(25, 1) {
    Ok(rate) => rate,
    Err(_) => panic!("a rate"),
};

/// Returns a pattern that moves.
fn picture(number: usize) -> Picture {
    let samples = (0..size().pixels() * 3 / 2).map(|at| {
        let (x, y) = (at % 64 + number / 2, at / 64);
        u8::try_from((x * 5 + y * 3) % 160 + (x * x / 7 + y) % 40).expect("below 200")
    });
    Picture::new(size(), Format::Ycbcr420(Ycbcr::BT601), samples.collect()).expect("a picture")
}

/// Returns the header and the frames of a video that moves, in all its renditions.
fn encoded(count: usize, renditions: usize) -> (VideoHeader, Vec<Vec<Bytes>>) {
    encoded_of((0..count).map(picture), renditions, false)
}

/// As [`encoded`], of these pictures. `knows_receivers`: as the encoder of a broadcast that was recorded.
fn encoded_of(
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

fn stored(header: &VideoHeader, frames: &[Vec<Bytes>]) -> Vec<u8> {
    let (mut writer, mut bytes) = VideoWriter::new(header);
    for (at, frame) in frames.iter().enumerate() {
        for (rendition, frame) in frame.iter().enumerate() {
            bytes.extend(writer.frame(frame, at == 0 && rendition == 0));
        }
    }
    bytes.extend(writer.finish());
    bytes
}

fn replay(bytes: Vec<u8>) -> Replay<Cursor<Vec<u8>>> {
    Replay::new("film.nst", u64::MAX, Cursor::new(bytes), None).expect("a stored video")
}

/// Reads and takes the next frame, as a driver with time for everything does. Returns it with the time at which it is
/// due, in milliseconds.
fn next<R: Read + Send>(replay: &mut Replay<R>, demand: &Demand) -> Option<(u128, BroadcastFrame)> {
    let due = replay.read().expect("a whole video")?;
    while replay.prepare(demand) {}
    Some((due.as_millis(), replay.take(9, demand).expect("it was read")))
}

fn shown(decoder: &mut VideoDecoder) -> Picture {
    let mut shown = Picture::zero(size(), Format::Ycbcr420(Ycbcr::BT601));
    decoder.render_into(&mut shown).expect("its size");
    shown
}

fn decoder() -> VideoDecoder {
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
    assert_eq!(replay.base_layers[0].waiting(), 384);
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
    let (difference, was_decoding) = late_join(&encoded_of(slide(500, 390), 1, true));
    assert!(difference < 100.0 && was_decoding, "{difference}: nobody joined, so no frame renews its part");
    let (difference, was_decoding) = late_join(&encoded_of(slide(500, 390), 1, false));
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

#[test]
fn a_receiver_begins_anywhere_in_a_file_and_ends_that_are_passed_are_the_nearest_frames() {
    use nestcast_proto::{Archive as _, Start};

    let (header, frames) = encoded(60, 1);
    let bytes = stored(&header, &frames);
    let archive = StoredArchive::new(&replay(bytes.clone()), move || Ok(Cursor::new(bytes.clone())));
    let stays = Arc::default();
    let demand = Demand::default();
    let mut whole = decoder();
    let mut all: Vec<Picture> = Vec::new();
    for frame in &frames {
        whole.decode(&frame[0]).expect("a frame");
        all.push(shown(&mut whole));
    }
    for (asked, granted) in [(0, 0), (1210, 30), (2360, 59), (3_600_000, 59)] {
        let start = Start::AfterBeginning(Duration::from_millis(asked));
        let (mut stream, start) = archive.open(start, &stays).expect("it reads").expect("it is there");
        assert_eq!(start, Start::AfterBeginning(Duration::from_millis(granted * 40)), "{asked}");
        let mut joiner = decoder();
        for number in granted..60 {
            let due = stream.read().expect("a whole video").expect("a frame");
            let frame = stream.take(9, &demand).expect("it was read").frame;
            assert_eq!((due.as_millis(), frame.id), (u128::from(40 * (number - granted)), number));
            assert_eq!(frame.join.is_some(), number == granted, "{number}");
            joiner.decode(&frame.join.map_or(frame.bytes, |join| join.bytes)).expect("a frame");
        }
        assert!(stream.read().expect("a whole video").is_none());
        let [mine, theirs] = [shown(&mut joiner), all[59].clone()];
        let error: u64 =
            mine.samples().iter().zip(theirs.samples()).map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2)).sum();
        assert!(error < 300 * mine.samples().len() as u64, "{asked}: {error}");
    }
    let left = Arc::new(AtomicBool::new(true));
    let start = Start::AfterBeginning(Duration::from_secs(1));
    assert!(archive.open(start, &left).expect("it reads").is_none(), "it decodes nothing for who has left");
}

#[test]
fn a_receiver_begins_earlier_than_where_the_broadcast_is_also_after_it_began_again() {
    use nestcast_proto::{Archive as _, Start};

    let (header, frames) = encoded(60, 1);
    let bytes = stored(&header, &frames);
    let (again, opened) = (bytes.clone(), bytes.clone());
    let again: Again<Cursor<Vec<u8>>> = Box::new(move || Ok(Cursor::new(again.clone())));
    let mut broadcast = Replay::new("film.nst", u64::MAX, Cursor::new(bytes), Some(again)).expect("a stored video");
    let archive = StoredArchive::new(&broadcast, move || Ok(Cursor::new(opened.clone())));
    let demand = Demand::default();
    for (frames, before, granted, number) in [(41, 400, 400, 30), (10, 3000, 2000, 0), (20, 400, 400, 0)] {
        (0..frames).for_each(|_| drop(next(&mut broadcast, &demand)));
        let start = Start::BeforeNow(Duration::from_millis(before));
        let (mut stream, start) = archive.open(start, &Arc::default()).expect("it reads").expect("it is there");
        assert_eq!(start, Start::BeforeNow(Duration::from_millis(granted)));
        stream.read().expect("a whole video").expect("a frame");
        assert_eq!(stream.take(9, &demand).expect("it was read").frame.id, number);
    }
}

/// Encodes a video of this number of frames as a program does, with random-access frames.
fn film(count: usize, renditions: usize) -> Vec<u8> {
    let population = Population::log_uniform(Bitrate::from_bits(60_000)..=Bitrate::from_bits(960_000));
    let settings = VideoSettings { size: size(), rate: RATE, population, threads: 1 };
    let encoder = VideoRenditions::new(&VideoModel::built_in(), settings, renditions).expect("few renditions");
    let (header, _) = encoded(0, renditions);
    let mut writer = nestcast_media::stored::Writer::new(encoder, &header, Vec::new());
    (0..count).for_each(|number| writer.write(&picture(number)).expect("memory"));
    writer.finish().expect("memory").0
}

#[test]
fn a_receiver_begins_with_a_random_access_frame_of_the_file_up_to_two_seconds_earlier() {
    use nestcast_proto::{Archive as _, Start};

    for renditions in [1, 2] {
        let (bytes, (_, frames)) = (film(130, renditions), encoded(130, renditions));
        let mut plain = replay(bytes.clone());
        for frame in &frames {
            let (_, sent) = next(&mut plain, &Demand::default()).expect("a frame");
            assert_eq!(sent.frame.bytes, frame[0], "who begins at the beginning sees what the encoder made");
        }
        let archive = StoredArchive::new(&replay(bytes.clone()), move || Ok(Cursor::new(bytes.clone())));
        for (asked, granted) in [(1_990, 0), (2_010, 50), (3_990, 50), (4_010, 100), (60_000, 100)] {
            let start = Start::AfterBeginning(Duration::from_millis(asked));
            let (mut stream, start) = archive.open(start, &Arc::default()).expect("it reads").expect("it is there");
            assert_eq!(start, Start::AfterBeginning(Duration::from_millis(granted as u64 * 40)), "{asked}");
            stream.read().expect("a whole video").expect("a frame");
            let first = stream.take(9, &Demand::default()).expect("it was read");
            let all = first
                .renditions
                .as_ref()
                .map_or_else(|| vec![&first.frame], |all| all.iter().map(|it| &it.frame).collect());
            assert_eq!(all.len(), renditions);
            for (rendition, frame) in all.iter().enumerate() {
                let join = frame.join.as_ref().expect("a frame to begin with");
                assert_eq!(join.bytes, frame.bytes, "nothing was decoded");
                assert_eq!(frame.id, granted as u64);
                let mut joiner = decoder();
                joiner.decode(&join.bytes).expect("a frame");
                let mut whole = decoder();
                frames[..=granted].iter().for_each(|frame| _ = whole.decode(&frame[rendition]).expect("a frame"));
                let [mine, theirs] = [shown(&mut joiner), shown(&mut whole)];
                let error: u64 =
                    mine.samples().iter().zip(theirs.samples()).map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2)).sum();
                assert!(error < 300 * mine.samples().len() as u64, "{asked}: {error}");
            }
        }
    }
}

#[test]
fn long_after_a_random_access_frame_base_layers_are_decoded_from_it_on() {
    use nestcast_proto::{Archive as _, Start};

    let (header, frames) = encoded(130, 1);
    let (mut writer, mut bytes) = VideoWriter::new(&header);
    for (at, frame) in frames.iter().enumerate() {
        if at == 10 {
            // It shows something else than the video, so that its use can be seen.
            let (_, other) = encoded_of([Picture::zero(size(), Format::Ycbcr420(Ycbcr::BT601))].into_iter(), 1, false);
            writer.random_access(&other[0][0]);
        }
        bytes.extend(writer.frame(&frame[0], at == 0));
    }
    bytes.extend(writer.finish());
    let open = |bytes: Vec<u8>, asked| {
        let archive = StoredArchive::new(&replay(bytes.clone()), move || Ok(Cursor::new(bytes.clone())));
        let start = Start::AfterBeginning(Duration::from_millis(asked));
        let (mut stream, start) = archive.open(start, &Arc::default()).expect("it reads").expect("it is there");
        stream.read().expect("a whole video").expect("a frame");
        (start, stream.take(9, &Demand::default()).expect("it was read").frame)
    };
    let (start, frame) = open(bytes.clone(), 5_010);
    assert_eq!((start, frame.id), (Start::AfterBeginning(Duration::from_secs(5)), 125));
    let (_, without) = open(stored(&header, &frames), 5_010);
    let [join, other] = [frame, without].map(|frame| frame.join.expect("a frame to begin with").bytes);
    assert_ne!(join, other, "they are made of other base layers");
    // A frame that is damaged stands for nothing.
    let at = bytes.windows(2).position(|pair| pair == [0, 3]).expect("the block");
    bytes[at + 4..at + 12].fill(0xff);
    let (start, _) = open(bytes, 1_000);
    assert_eq!(start, Start::AfterBeginning(Duration::from_millis(400)));
}

#[test]
fn a_receiver_begins_in_the_middle_of_a_recorded_broadcast_that_nobody_joined() {
    use nestcast_proto::{Archive as _, Start};

    for knows_receivers in [true, false] {
        let (header, frames) = encoded_of((0..480).map(|number| picture(number / 4)), 1, knows_receivers);
        let bytes = stored(&header, &frames);
        let archive = StoredArchive::new(&replay(bytes.clone()), move || Ok(Cursor::new(bytes.clone())));
        let start = Start::AfterBeginning(Duration::from_secs(18));
        let (mut stream, _) = archive.open(start, &Arc::default()).expect("it reads").expect("it is there");
        stream.read().expect("a whole video").expect("a frame");
        let frame = stream.take(9, &Demand::default()).expect("it was read").frame;
        assert_eq!(frame.id, 450);
        let (mut joiner, mut whole) = (decoder(), decoder());
        joiner.decode(&frame.join.expect("a frame to begin with").bytes).expect("a frame");
        frames[..=450].iter().for_each(|frame| _ = whole.decode(&frame[0]).expect("a frame"));
        let [mine, theirs] = [shown(&mut joiner), shown(&mut whole)];
        let error: u64 =
            mine.samples().iter().zip(theirs.samples()).map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2)).sum();
        let error = error as f64 / mine.samples().len() as f64;
        println!("{error}");
        assert!(error < 100.0, "{error}, the encoder knows its receivers: {knows_receivers}");
    }
}

#[test]
fn a_file_that_changed_is_looked_through_again_and_another_video_is_refused() {
    use std::sync::{Arc, Mutex};

    use nestcast_proto::{Archive as _, Start};

    let (header, frames) = encoded(20, 1);
    let whole = stored(&header, &frames);
    let file = Arc::new(Mutex::new((whole.clone(), 1)));
    let now = move |file: &Mutex<(Vec<u8>, u64)>| file.lock().expect("nobody panics").clone();
    let [opened, looked] = [Arc::clone(&file), Arc::clone(&file)];
    let archive = StoredArchive::new(&replay(whole.clone()), move || Ok(Cursor::new(now(&opened).0)))
        .with_time_of_change(move || Some(Duration::from_secs(now(&looked).1)));
    let begin = || {
        let opened = archive
            .open(Start::AfterBeginning(Duration::from_secs(60)), &Arc::default())
            .map_err(|error| error.to_string())?;
        let Some((mut stream, Start::AfterBeginning(start))) = opened else { return Err("nothing".to_owned()) };
        let _ = stream.read().map_err(|error| error.to_string())?;
        let frame = stream.take(9, &Demand::default()).ok_or("no frame")?;
        assert!(frame.frame.join.is_some());
        Ok(start.as_millis())
    };
    assert_eq!(begin(), Ok(760));
    // It grew shorter, and then it has other places in as many bytes.
    file.lock().expect("nobody panics").0 = stored(&header, &frames[..10]);
    assert_eq!(begin(), Ok(360));
    let mut as_long = stored(&header, &frames[..5]);
    as_long.resize(stored(&header, &frames[..10]).len(), 0);
    *file.lock().expect("nobody panics") = (as_long, 2);
    assert_eq!(begin(), Ok(160));
    // A video of another size, which decodes.
    let larger = VideoHeader { size: Size::new(128, 48).expect("a size"), ..header };
    *file.lock().expect("nobody panics") = (stored(&larger, &frames), 3);
    let refused = begin().expect_err("receivers know another size");
    assert_eq!(refused, "film.nst: it was replaced by another video while it was sent");
    *file.lock().expect("nobody panics") = (whole, 4);
    assert_eq!(begin(), Ok(760));
}
