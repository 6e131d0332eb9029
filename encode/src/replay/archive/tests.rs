//! Tests of receivers that begin somewhere in a stored video.

use std::io::Cursor;

use nestcast_codec::{
    Bitrate, Format, Picture, Population, Size, VideoModel, VideoRenditions, VideoSettings, VideoWriter, Ycbcr,
};
use nestcast_proto::Demand;

use super::*;
use crate::repeated::Again;
use crate::replay::tests::{RATE, decoder, encoded, encoded_of, next, picture, replay, shown, size, stored};

#[test]
fn a_receiver_begins_anywhere_in_a_file_and_ends_that_are_passed_are_the_nearest_frames() {
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
        assert!(error < 100.0, "{error}, the encoder knows its receivers: {knows_receivers}");
    }
}

#[test]
fn a_file_that_changed_is_looked_through_again_and_another_video_is_refused() {
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
