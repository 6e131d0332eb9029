//! Tests of stored videos: written and read, cut at every byte, refused.

use super::*;
use crate::video::sound_block::MAX_PACKET;

fn header() -> VideoHeader {
    let size = Size::new(320, 240).expect("a valid size");
    let rate = FrameRate::new(30_000, 1001).expect("a rate");
    VideoHeader {
        size,
        rate,
        colours: Ycbcr::BT601,
        bits: 8,
        display: Display::default(),
        models: [ModelId([1; 6]), ModelId([2; 6])],
        renditions: RenditionRates::ONE,
    }
}

fn renditions_from(bits: &[u64]) -> RenditionRates {
    let rates: Vec<_> = bits.iter().copied().map(Bitrate::from_bits).collect();
    RenditionRates::new(&rates).expect("they rise")
}

fn stored() -> Bytes {
    let (mut writer, mut bytes) = VideoWriter::new(&header());
    for (number, frame) in [&b"key"[..], b"", &[7; 300], b"key too"].iter().enumerate() {
        bytes.extend(writer.frame(frame, number % 3 == 0));
    }
    bytes.extend(writer.finish());
    bytes.into()
}

#[test]
fn frames_come_back_and_keys_are_found() {
    let mut file = VideoFile::new(stored()).expect("a video");
    assert_eq!(*file.header(), header());
    let mut lengths = Vec::new();
    while let Some(frame) = file.next_frame().expect("whole") {
        lengths.push(frame.len());
    }
    assert_eq!(lengths, [3, 0, 300, 7]);
    for (frame, key, first) in [(0, 0, "key"), (2, 0, "key"), (3, 3, "key too"), (99, 3, "key too")] {
        assert_eq!(file.seek(frame), Ok(key));
        assert_eq!(file.next_frame(), Ok(Some(Bytes::from(first))));
    }
}

#[test]
fn several_renditions_are_in_the_header_and_wrong_ones_are_refused() {
    let one = header().to_bytes();
    for rates in [&[64_000, 256_000][..], &[1, 300, 1 << 34]] {
        let renditions = renditions_from(rates);
        let bytes = VideoHeader { renditions, ..header() }.to_bytes();
        assert!(bytes.len() <= VideoHeader::MAX_BYTES && VideoHeader::is_video(&bytes));
        assert_eq!(VideoHeader::parse(&bytes), Ok((VideoHeader { renditions, ..header() }, bytes.len())));
        for cut in 0..bytes.len() {
            assert_eq!(VideoHeader::parse(&bytes[..cut]), Err(corrupt("it ends inside its header")));
        }
    }
    let parse = |renditions: &[u8]| {
        let mut bytes = [&one[..], renditions].concat();
        bytes[4] = RENDITIONS_KIND;
        VideoHeader::parse(&bytes).expect_err("no header").to_string()
    };
    for count in [0, 1, 4, 255] {
        assert!(parse(&[&[count][..], &[1; 255]].concat()).contains("number of renditions"), "{count}");
    }
    assert!(parse(&[2, 7, 7]).contains("do not rise"));
    assert!(parse(&[2, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]).contains("five bytes"));
}

#[test]
fn capture_times_come_with_their_frames_and_unknown_blocks_are_skipped() {
    for renditions in [RenditionRates::ONE, renditions_from(&[64_000, 256_000])] {
        let each = renditions.count();
        let (mut writer, mut bytes) = VideoWriter::new(&VideoHeader { renditions, ..header() });
        for (number, time) in [Some(1 << 60), None, Some(7)].into_iter().enumerate() {
            bytes.extend([0, 9, 3, 9, 9, 9]); // a block that this build does not know
            writer.length += 6;
            bytes.extend(writer.sound(&SoundRecord { channels: 1, packet: Some((5, &[7; 9])) }));
            time.into_iter().for_each(|time| writer.captured(time));
            for rendition in 0..each {
                bytes.extend(writer.frame(&[number.to_le_bytes()[0]], number == 2 && rendition == 0));
            }
        }
        bytes.extend(writer.finish());
        let mut file = VideoFile::new(bytes.into()).expect("a video");
        let mut read = Vec::new();
        while let Some(frame) = file.next_frame().expect("whole") {
            read.push((frame[0], file.captured()));
        }
        let expected = [(0, Some(1 << 60)), (1, None), (2, Some(7))];
        assert_eq!(read, expected.into_iter().flat_map(|frame| vec![frame; each]).collect::<Vec<_>>());
        assert_eq!(file.seek(u64::MAX), Ok(2 * each as u64));
        assert_eq!((file.next_frame(), file.captured()), (Ok(Some(Bytes::from_static(&[2]))), Some(7)));
    }
    let times = [7, 8, 9].map(|length| RecordHead::time(&[1; 9][..length]));
    assert_eq!(times, [None, Some(0x0101_0101_0101_0101), Some(0x0101_0101_0101_0101)]);
    let long = RecordHead::parse(&[0, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]);
    assert!(long.is_err_and(|error| error.to_string().contains("five bytes")));
}

#[test]
fn a_video_without_frames_begins_at_its_end() {
    let mut video = VideoFile::new(header().to_bytes().into()).expect("a header");
    assert_eq!((video.seek(0), video.next_frame()), (Ok(0), Ok(None)));
}

#[test]
fn every_prefix_is_a_video_of_fewer_bytes() {
    let bytes = stored();
    let (_, first) = VideoHeader::parse(&bytes).expect("a header");
    for cut in 0..bytes.len() {
        let file = VideoFile::new(bytes.slice(..cut));
        assert_eq!(file.is_ok(), cut >= first);
        let Ok(mut file) = file else { continue };
        let mut count = 0;
        while let Some(frame) = file.next_frame().expect("it is only short") {
            count += frame.len();
        }
        assert!(count <= cut);
        assert!(file.seek(3).is_ok());
    }
}

#[test]
fn what_samples_mean_and_the_aspect_of_pixels_are_in_the_header_and_wrong_ones_are_refused() {
    let display = Display { aspect: [16, 11], ..Display::of_signal(0x24).expect("known").1 };
    for renditions in [RenditionRates::ONE, renditions_from(&[64_000, 256_000])] {
        let header = VideoHeader { colours: Ycbcr::BT709, display, renditions, ..header() };
        let bytes = header.to_bytes();
        assert_eq!(bytes[5], 0x66);
        assert_eq!(VideoHeader::parse(&bytes), Ok((header, bytes.len())));
        for cut in 0..bytes.len() {
            assert_eq!(VideoHeader::parse(&bytes[..cut]), Err(corrupt("it ends inside its header")));
        }
    }
    let parse = |signal: u8, rest: &[u8]| {
        let mut bytes = [&header().to_bytes(), rest].concat();
        bytes[5] = signal;
        VideoHeader::parse(&bytes).expect_err("no header").to_string()
    };
    for reserved in [0x0C, 0x80, 0xFF] {
        assert!(parse(reserved, &[]).contains("reserved"), "{reserved:x}");
    }
    for aspect in [&[0, 1][..], &[1, 1], &[0x80, 0x80, 0x04, 1]] {
        assert!(parse(0x40, aspect).contains("aspect"), "{aspect:?}");
    }
}

#[test]
fn bits_over_eight_are_in_version_two_and_wrong_ones_are_refused() {
    let usual = header().to_bytes();
    let display = Display { aspect: [16, 11], ..Display::default() };
    for (bits, display, renditions) in [
        (9, Display::default(), RenditionRates::ONE),
        (10, display, renditions_from(&[64_000, 256_000])),
        (16, display, renditions_from(&[1, 300, 1 << 34])),
    ] {
        let header = VideoHeader { bits, display, renditions, ..header() };
        let bytes = header.to_bytes();
        assert!(bytes.len() <= VideoHeader::MAX_BYTES && VideoHeader::is_video(&bytes));
        assert_eq!((bytes[3], bytes.last()), (2, Some(&(bits - 8))));
        assert_eq!(VideoHeader::parse(&bytes), Ok((header, bytes.len())));
        for cut in 0..bytes.len() {
            assert_eq!(VideoHeader::parse(&bytes[..cut]), Err(corrupt("it ends inside its header")));
        }
    }
    assert_eq!(usual[3], 1, "8 bits need no other version");
    for reserved in [0, 9, 255] {
        let mut bytes = [&usual[..], &[reserved]].concat();
        bytes[3] = 2;
        assert_eq!(VideoHeader::parse(&bytes), Err(corrupt("what it says of its samples is reserved")));
        bytes[3] = 3;
        assert_eq!(VideoHeader::parse(&bytes), Err(Error::Version { what: "video", version: 3, known: 2 }));
    }
}

#[test]
fn frame_rates_beyond_this_build_are_over_its_limit_and_others_corrupt() {
    let sound = header().to_bytes();
    let at = STREAM_MAGIC.len() + 3 + 2 + 2;
    let mut terms = Vec::new();
    [30_000, 1001].into_iter().for_each(|term| write_varint(&mut terms, term));
    let (before, after) = sound.split_at(at);
    let after = after.strip_prefix(&terms[..]).expect("the rate");
    let parse = |frames: u64, seconds: u64| {
        let mut bytes = before.to_vec();
        [frames, seconds].into_iter().for_each(|term| write_varint(&mut bytes, term));
        VideoHeader::parse(&[&bytes, after].concat()).map(|(header, _)| header.rate)
    };
    assert_eq!(parse(1_000_000, 1000).map(FrameRate::per_second), Ok(1000.0));
    let max = 1_000_000;
    assert!(
        matches!(parse(1 << 31, 1 << 31), Err(Error::Limit { given, max: most, .. }) if (given, most) == (1 << 31, max))
    );
    assert!(matches!(parse(1, max + 1), Err(Error::Limit { given, .. }) if given == max + 1));
    assert!(matches!(parse(1001, 1), Err(Error::Limit { given: 1001, max: 1000, .. })));
    for (frames, seconds) in [(0, 1), (1, 0), (1 << 32, 1), (1, 1 << 32)] {
        assert!(matches!(parse(frames, seconds), Err(Error::Corrupt { .. })), "{frames}/{seconds}");
    }
}

#[test]
fn blocks_of_sound_come_back_and_wrong_ones_are_none() {
    let (mut writer, start) = VideoWriter::new(&header());
    let longest = [7; MAX_PACKET];
    for packet in [None, Some((1 << 60, &longest[..1])), Some((u64::MAX, &longest[..]))] {
        let sound = SoundRecord { channels: 2, packet };
        let bytes = writer.sound(&sound);
        let (head, length) = RecordHead::parse(&bytes).expect("a block").expect("whole");
        assert_eq!(head, RecordHead::Block(BlockKind::Sound, (bytes.len() - length) as u64));
        assert!(bytes.len() - length <= SoundRecord::MAX_BYTES);
        assert_eq!(SoundRecord::parse(&bytes[length..]), Some(sound));
    }
    assert!(writer.length > start.len() as u64 + 1276, "the index counts them");
    for (channels, length) in [(0, 12), (3, 12), (1, 2), (1, 8), (1, 9), (1, SoundRecord::MAX_BYTES + 1)] {
        let mut body = vec![7; length];
        body[0] = channels;
        assert_eq!(SoundRecord::parse(&body), None, "{channels} channels, {length} bytes");
    }
    assert_eq!(SoundRecord::parse(&[]), None);
}
