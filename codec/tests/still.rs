//! Tests a picture that does not change: what it costs, how good it becomes, and what follows.

mod harness;

use harness::{FORMAT, RATE, clip, decoder, error, render};
use nestcast_codec::{
    Bitrate, Budget, CodedFrame, DecodedPart, Effort, Picture, Population, Size, VideoDecoder, VideoEncoder,
    VideoModel, VideoSettings,
};

/// Frames until nothing is left to code, in all tests here.
const SETTLES: usize = 400;

fn size() -> Size {
    Size::new(112, 80).expect("a valid size")
}

/// Returns an encoder that knows its receivers, and the rates of the slowest, a middle and the fastest.
fn encoder(threads: usize) -> (VideoEncoder, [Bitrate; 3]) {
    let rates = [200, 800, 3200].map(|bytes| Bitrate::from_bits(bytes * 8 * 30));
    let population = Population::log_uniform(rates[0]..=rates[2]);
    let settings = VideoSettings { size: size(), rate: RATE, population, threads };
    let encoder = VideoEncoder::new(VideoModel::built_in(), settings).with_effort(Effort::Fast);
    (encoder.with_known_receivers(true), rates)
}

/// A receiver of some rate.
struct Receiver {
    budget: Budget,
    decoder: VideoDecoder,
}

impl Receiver {
    fn new(rate: Bitrate) -> Self {
        Self { budget: Budget::new(rate, RATE), decoder: decoder(size()) }
    }

    /// Decodes what it gets of a frame, and returns the mean squared error of what it shows.
    fn take(&mut self, frame: &CodedFrame, original: &Picture) -> f64 {
        let cut = self.budget.cut(&frame.bytes, 0).expect("a frame");
        assert!(self.decoder.decode(&frame.bytes[..cut]).expect("a frame") >= DecodedPart::Base);
        error(&render(&mut self.decoder), original)
    }
}

/// Squared error at 48 dB.
const NEARLY_EXACT: f64 = 1.03;

#[test]
fn a_picture_that_stays_becomes_nearly_exact_for_everybody_and_then_costs_four_bytes() {
    let moving = clip(size(), 12, 99);
    let last = moving.last().expect("twelve");
    let (mut encoder, rates) = encoder(1);
    let mut receivers = rates.map(Receiver::new);
    for original in &moving {
        let frame = encoder.encode(original).expect("a frame");
        assert!(!frame.stays);
        receivers.iter_mut().for_each(|receiver| _ = receiver.take(&frame, original));
    }
    let mut least = [f64::INFINITY; 3];
    let mut errors = [0.0; 3];
    let mut bytes = Vec::new();
    for number in 0..SETTLES {
        let frame = encoder.encode(last).expect("a frame");
        assert!(frame.stays, "frame {number}");
        for (at, receiver) in receivers.iter_mut().enumerate() {
            errors[at] = receiver.take(&frame, last);
            // What is refreshed is for a while as good as the base-layer reference and one frame's bytes.
            let allowed = (2.0 * least[at]).max(2.0 * NEARLY_EXACT);
            assert!(errors[at] <= allowed, "frame {number}, receiver {at}: {} after {}", errors[at], least[at]);
            least[at] = least[at].min(errors[at]);
        }
        bytes.push(frame.bytes.len());
    }
    println!("{errors:?}, {:?} frames", bytes.iter().position(|bytes| *bytes == 4));
    assert!(errors.iter().all(|error| *error < NEARLY_EXACT), "{errors:?}");
    assert_eq!(bytes[SETTLES - 20..], [4; 20]);
}

#[test]
fn receivers_that_join_while_a_picture_stays_have_it_after_a_cycle() {
    let original = &clip(size(), 1, 99)[0];
    let (mut encoder, rates) = encoder(1);
    for _ in 0..SETTLES {
        encoder.encode(original).expect("a frame");
    }
    let mut receiver = Receiver::new(rates[1]);
    let join = encoder.join(400);
    assert!(receiver.decoder.decode(&join.bytes).expect("a frame") >= DecodedPart::Base);
    let first = error(&render(&mut receiver.decoder), original);
    let mut settled = 0;
    let mut last = first;
    for _ in 0..SETTLES {
        let frame = encoder.encode(original).expect("a frame");
        assert!(frame.stays);
        last = receiver.take(&frame, original);
        settled = if frame.bytes.len() == 4 { settled + 1 } else { 0 };
    }
    assert!(first > 4.0 * NEARLY_EXACT && last < NEARLY_EXACT, "{first} at first, {last} at last");
    assert!(settled > 20, "it settles again: {settled}");
}

#[test]
fn who_joins_while_the_picture_moves_has_the_others_when_it_has_moved_for_long_and_when_it_stays() {
    let moving = clip(size(), 30, 99);
    let (mut encoder, _) = encoder(1);
    let [mut old, mut new] = [(); 2].map(|()| decoder(size()));
    let mut apart = Vec::new();
    // There and back again, and then it stays.
    let numbers = (0..30).chain((1..29).rev()).cycle().take(420).chain(std::iter::repeat_n(0, 150));
    for (frame, number) in numbers.enumerate() {
        let coded = encoder.encode(&moving[number]).expect("a frame");
        // Both have base layers alone, which show the base-layer reference.
        old.decode(&coded.bytes[..coded.base]).expect("a frame");
        match frame {
            0..10 => continue,
            10 => new.decode(&encoder.join(400).bytes).expect("a frame"),
            _ => new.decode(&coded.bytes[..coded.base]).expect("a frame"),
        };
        apart.push(error(&render(&mut old), &render(&mut new)));
    }
    println!("{:?}", [0, 127, 255, 383, 408, 420, 450, 559].map(|at| apart[at]));
    assert!(apart[0] > 10.0 && apart[383] < 0.05 * apart[0], "{apart:?}");
    assert_eq!(apart.last(), Some(&0.0), "{apart:?}");
}

#[test]
fn an_encoder_that_does_not_know_its_receivers_heals_those_that_lost_a_base() {
    let original = &clip(size(), 1, 99)[0];
    let (known, rates) = encoder(1);
    let mut encoder = known.with_known_receivers(false);
    let [mut lossy, mut whole] = [0, 1].map(|_| Receiver::new(rates[1]));
    for number in 0..SETTLES {
        let frame = encoder.encode(original).expect("a frame");
        whole.take(&frame, original);
        // It lacks the first frames, and some of the others.
        if number > 5 && number != 20 {
            lossy.take(&frame, original);
        }
    }
    let [lossy, whole] = [lossy, whole].map(|mut receiver| error(&render(&mut receiver.decoder), original));
    assert!((lossy - whole).abs() < 0.1 * NEARLY_EXACT, "{lossy} and {whole}");
}

#[test]
fn motion_that_begins_again_is_coded_as_after_any_frame_and_threads_change_nothing() {
    let moving = clip(size(), 30, 99);
    let pictures: Vec<_> = moving[..10].iter().chain([&moving[9]; 40]).chain(&moving[10..]).collect();
    let encoded = |threads| -> Vec<CodedFrame> {
        let (mut encoder, _) = encoder(threads);
        pictures.iter().map(|picture| encoder.encode(*picture).expect("a frame")).collect()
    };
    let frames = encoded(1);
    assert_eq!(frames, encoded(2));
    assert_eq!(frames, encoded(3));
    let flags: Vec<_> = frames.iter().map(|frame| frame.stays).collect();
    assert!(flags[..10].iter().all(|stays| !stays) && flags[10..50].iter().all(|stays| *stays));
    assert!(flags[50..].iter().all(|stays| !stays) && frames.iter().skip(1).all(|frame| !frame.key));
    let (mut plain, rates) = encoder(1);
    let [mut after_stillness, mut without] = [0, 1].map(|_| Receiver::new(rates[1]));
    for original in &moving[..10] {
        without.take(&plain.encode(original).expect("a frame"), original);
    }
    for (frame, original) in frames[..50].iter().zip(&pictures) {
        after_stillness.take(frame, original);
    }
    for (frame, original) in frames[50..].iter().zip(&moving[10..]) {
        let of_plain = without.take(&plain.encode(original).expect("a frame"), original);
        let errors = [after_stillness.take(frame, original), of_plain];
        assert!(errors[0] < 1.1 * errors[1], "{errors:?}");
    }
}

#[test]
fn one_sample_ends_the_stillness() {
    let original = clip(size(), 1, 99).swap_remove(0);
    for at in [0, size().pixels() - 1, size().pixels(), FORMAT.bytes(size()) - 1] {
        let mut samples = original.samples().to_vec();
        samples[at] ^= 1;
        let other = Picture::new(size(), FORMAT, samples).expect("as many samples");
        let (mut encoder, _) = encoder(1);
        let flags = [&original, &original, &other, &other, &original]
            .map(|picture| encoder.encode(picture).expect("a frame").stays);
        assert_eq!(flags, [false, true, false, true, false], "sample {at}");
    }
}

#[test]
fn frames_of_a_picture_that_stays_can_be_cut_anywhere() {
    let original = &clip(size(), 1, 99)[0];
    let (mut encoder, _) = encoder(1);
    let frames: Vec<_> = (0..12).map(|_| encoder.encode(original).expect("a frame")).collect();
    for frame in 1..frames.len() {
        let mut before = f64::INFINITY;
        for cut in (frames[frame].base..frames[frame].bytes.len()).step_by(97) {
            let mut decoder = decoder(size());
            for earlier in &frames[..frame] {
                decoder.decode(&earlier.bytes).expect("a frame");
            }
            assert!(decoder.decode(&frames[frame].bytes[..cut]).expect("a frame") >= DecodedPart::Base);
            let shown = error(&render(&mut decoder), original);
            assert!(shown < 1.25 * before, "frame {frame}, {cut} bytes: {shown} after {before}");
            before = before.min(shown);
        }
    }
}
