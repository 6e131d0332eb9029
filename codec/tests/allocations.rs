//! After the first picture or frame, encoding and decoding on one thread allocate nothing: a test counts allocations.

use allocation_counter::measure;
use nestcast_codec::{Bitrate, Codec, Decoder, Effort, Encoder, Format, FrameRate, Picture, Population, Size, Ycbcr};
use nestcast_codec::{VideoDecoder, VideoEncoder, VideoModel, VideoSettings};

/// A slope with grain, whose colours differ from region to region, so that regions are rotated.
fn picture(format: Format, seed: u32) -> Picture {
    let size = Size::new(700, 640).expect("a valid size");
    let mut state = seed;
    let samples = (0..format.bytes(size)).map(|at| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let grain = state >> if at % 2100 < 900 && at % 3 == 0 { 26 } else { 28 };
        u8::try_from(at / 9000 + at % 50 + grain as usize).unwrap_or(u8::MAX)
    });
    Picture::new(size, format, samples.collect()).expect("all samples")
}

/// Encodes one picture and decodes half of its stream, then all; returns the allocations of both.
fn frame(encoder: &mut Encoder, decoder: &mut Decoder, picture: &Picture, out: &mut Picture) -> [u64; 2] {
    let mut stream = None;
    let encoding = measure(|| stream = Some(encoder.encode(picture).expect("a stream")));
    let stream = stream.expect("it was encoded");
    let decoding = measure(|| {
        decoder.reset();
        let (half, rest) = stream.bytes().split_at(stream.bytes().len() / 2);
        for bytes in [half, rest] {
            decoder.push(bytes).expect("a valid stream");
            decoder.render_into(&mut *out).expect("a picture");
        }
    });
    [encoding.count_total, decoding.count_total]
}

#[test]
fn frames_after_the_first_take_no_memory() {
    for format in [Format::Rgb, Format::Grey, Format::Ycbcr420(Ycbcr::BT601)] {
        for (limit, masking) in [(usize::MAX, 0.0), (20_000, 0.0), (usize::MAX, 1.0)] {
            let codec = Codec::photo();
            let encoder = codec.encoder().with_max_bytes(limit).with_activity_masking(masking);
            let (mut encoder, mut decoder) = (encoder, codec.decoder());
            let (picture, mut out) = (picture(format, 1), picture(format, 2));
            let first = frame(&mut encoder, &mut decoder, &picture, &mut out);
            assert!(first.iter().all(|&count| count > 0), "the counter counts");
            for _ in 0..3 {
                let later = frame(&mut encoder, &mut decoder, &picture, &mut out);
                assert_eq!(later, [0, 0], "{format:?}, at most {limit} bytes, masking {masking}");
            }
            assert_eq!(decoder.header().map(|header| header.gains), Some(masking > 0.0));
        }
    }
}

/// A frame that moves, with grain.
fn moved(size: Size, format: Format, number: usize) -> Picture {
    let sample = |at: usize| (at % 64 * 5 + at / 64 * 3 + number * 3 + at * at % 7) % 200;
    let samples = (0..format.bytes(size)).map(|at| u8::try_from(sample(at)).expect("less than 256"));
    Picture::new(size, format, samples.collect()).expect("all samples")
}

#[test]
fn a_thousand_frames_of_video_take_no_memory_after_the_first() {
    count_frames(Effort::Normal, 1000);
    count_frames(Effort::Fast, 300);
    count_frames(Effort::Realtime, 300);
}

/// `cargo test --locked -p nestcast-codec --test allocations -- --ignored`
#[test]
#[ignore = "it takes a minute"]
fn ten_thousand_frames_of_video_take_no_memory_after_the_first() {
    count_frames(Effort::Normal, 10_000);
}

fn count_frames(effort: Effort, count: usize) {
    let (size, format) = (Size::new(64, 48).expect("a valid size"), Format::Ycbcr420(Ycbcr::BT601));
    let rate = FrameRate::new(30, 1).expect("a rate");
    let population = Population::log_uniform(Bitrate::from_bits(24_000)..=Bitrate::from_bits(384_000));
    let settings = VideoSettings { size, rate, population, threads: 1 };
    let mut encoder = VideoEncoder::new(VideoModel::built_in(), settings).with_effort(effort);
    let mut decoder = VideoDecoder::new(VideoModel::built_in(), size, 1);
    let mut out = Picture::zero(size, format);
    let mut run = |numbers: std::ops::Range<usize>| {
        let mut both = [0; 2];
        for number in numbers {
            // Every second picture stays.
            let (picture, mut frame) = (moved(size, format, number / 2), None);
            let encoding = measure(|| frame = Some(encoder.encode(&picture).expect("a frame")));
            let frame = frame.expect("it was encoded");
            let cut = frame.base + (frame.bytes.len() - frame.base) * (number % 3) / 2;
            let taken = measure(|| {
                decoder.decode(&frame.bytes[..cut]).expect("a valid frame");
                decoder.render_into(&mut out).expect("its size and format");
                decoder.conceal_into(&mut out, 1).expect("its size and format");
            });
            both[0] += encoding.count_total;
            both[1] += taken.count_total;
        }
        both
    };
    assert!(run(0..100).iter().all(|count| *count > 0), "the counter counts");
    let mut later = [0; 2];
    let held = measure(|| later = run(100..count)).bytes_current;
    // A buffer can still grow for a frame that needs more of it than all before.
    assert!(later.iter().all(|count| *count <= 8), "encoding and decoding took memory {later:?} times");
    assert!(held <= 4096, "{held} bytes more");
}
