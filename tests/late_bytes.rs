//! Slides over a slow link, in virtual time: while a picture stays, its remaining bytes arrive, and they do not delay a
//! new one.

use std::time::Duration;

use bytes::Bytes;
use nestcast_codec::{Channels, Codec, Decoder, Error, FrameRate, Picture, Progress};
use nestcast_lab::bottleneck::Bottleneck;
use nestcast_lab::link::Link;
use nestcast_lab::metrics::psnr;
use nestcast_lab::pace::{Pace, microseconds};
use nestcast_proto::{
    Bitrate, BroadcastFrame, Demand, Frame, More, PackageHash, ReceiveStats, ReceivedFrame, SourceError, Welcome,
};
use nestcast_receiver::FrameSink;
use nestcast_sender::FrameSource;
use nestcast_tests::network::{INTERVAL, Outcome, Scenario, Viewer, broadcast_from};
use nestcast_tests::pictures::{self, Content};

const SIZE: (u32, u32) = (512, 384);
const BASE_BYTES: usize = 400;
/// Bytes of a packet with all headers on a slow link.
const PACKET_BYTES: f64 = 1280.0;

/// Returns the picture of a slide.
fn slide(number: usize) -> Picture {
    let seed = u32::try_from(number).expect("few slides");
    pictures::picture(Content::Photo, SIZE.0, SIZE.1, Channels::Rgb, seed)
}

/// Slides, each from a moment on, 30 times a second.
struct Slides {
    slides: Vec<(Duration, Bytes)>,
    /// The first frame of the current slide.
    since: u64,
    id: u64,
    pace: Pace,
}

impl Slides {
    fn new(begin: &[Duration], pictures: &[Picture]) -> Self {
        let codec = Codec::photo();
        let bytes = |picture| codec.encode(picture).expect("a picture").bytes().clone();
        let slides = begin.iter().zip(pictures).map(|(&at, picture)| (at, bytes(picture))).collect();
        Self { slides, since: 0, id: 0, pace: Pace::new(INTERVAL) }
    }

    fn length(&self, slide: usize) -> usize {
        self.slides[slide].1.len()
    }
}

impl FrameSource for Slides {
    fn welcome(&self) -> Welcome {
        let (width, height) = SIZE;
        Welcome {
            model: [1; 6],
            package: PackageHash([1; 32]),
            width,
            height,
            rate: FrameRate::new(30, 1).expect("a rate"),
            video: None,
        }
    }

    async fn next(&mut self, _demand: &Demand) -> Result<Option<BroadcastFrame>, SourceError> {
        let at = self.pace.next().await;
        let (id, captured) = (self.id, microseconds(at));
        self.id += 1;
        if self.slides.get(1).is_some_and(|(begins, _)| *begins <= at) {
            self.slides.remove(0);
            self.since = id;
        }
        let bytes = self.slides[0].1.clone();
        Ok(Some(Frame { id, skipped: 0, captured, since: self.since, base: BASE_BYTES, bytes, join: None }.into()))
    }
}

/// The state of a slide at a moment.
#[derive(Debug, Clone, Copy)]
struct Look {
    at: Duration,
    slide: usize,
    bytes: usize,
    psnr: f64,
    whole: bool,
}

/// Decodes received frames, and compares each with its slide.
struct Audience {
    network: Bottleneck,
    /// When each slide begins, and its picture.
    slides: Vec<(Duration, Picture)>,
    decoder: Decoder,
    bytes: usize,
    slide: usize,
    looks: Vec<Look>,
    received: ReceiveStats,
}

impl Audience {
    fn new(network: &Bottleneck, slides: Vec<(Duration, Picture)>) -> Self {
        let (decoder, looks, received) = (Codec::photo().decoder(), Vec::new(), ReceiveStats::default());
        Self { network: network.clone(), slides, decoder, bytes: 0, slide: 0, looks, received }
    }

    fn look(&mut self, bytes: &Bytes) -> Result<(), Error> {
        self.bytes += bytes.len();
        let whole = self.decoder.push(bytes)? == Progress::Complete;
        let picture = self.decoder.render().expect("its header is there");
        let (at, slide) = (self.network.now(), self.slide);
        let psnr = psnr(&self.slides[slide].1, &picture);
        self.looks.push(Look { at, slide, bytes: self.bytes, psnr, whole });
        Ok(())
    }

    fn of(&self, slide: usize) -> Vec<Look> {
        self.looks.iter().filter(|look| look.slide == slide).copied().collect()
    }
}

impl FrameSink for Audience {
    type Error = Error;

    fn handle_frame(&mut self, frame: ReceivedFrame, stats: ReceiveStats) -> Result<(), Error> {
        self.decoder.reset();
        let captured = Duration::from_micros(frame.header.captured);
        self.slide = self.slides.iter().rposition(|(begins, _)| *begins <= captured).expect("the first begins at once");
        (self.bytes, self.received) = (0, stats);
        self.look(&frame.prefix)
    }

    fn handle_more(&mut self, more: More, stats: ReceiveStats) -> Result<(), Error> {
        self.received = stats;
        self.look(&more.bytes)
    }
}

/// Shows slides over a link; returns what was shown, and the bytes of each slide.
fn show(rate: u64, loss: u32, cap: Option<u64>, begin: &[u64], time: u64) -> (Audience, Vec<usize>) {
    let begin: Vec<_> = begin.iter().map(|&second| Duration::from_secs(second)).collect();
    let pictures: Vec<_> = (0..begin.len()).map(slide).collect();
    let slides = Slides::new(&begin, &pictures);
    let lengths = (0..begin.len()).map(|slide| slides.length(slide)).collect();
    let link = Link::constant(rate).with_rtt(Duration::from_millis(50)).with_loss(loss, 1);
    let scenario = Scenario::lasting(Duration::from_secs(time));
    let outcome: Outcome<Audience> = broadcast_from(&[link], scenario, slides, |network| {
        let cap = cap.map(Bitrate::from_bits);
        let slides = begin.iter().copied().zip(pictures).collect();
        vec![Viewer { joins: Duration::ZERO, link: 0, cap, sink: Audience::new(network, slides) }]
    });
    let audience = outcome.receivers.into_iter().next().expect("one receiver");
    for slide in 0..begin.len() {
        let looks = audience.of(slide);
        let (first, last) = (looks[0], looks[looks.len() - 1]);
        println!("slide {slide}: first {first:?}, last {last:?}, {} looks", looks.len());
    }
    (audience, lengths)
}

/// Checks that each picture of a slide has more bytes than the one before, and is no worse.
fn assert_better_and_better(looks: &[Look]) {
    for pair in looks.windows(2) {
        assert!(pair[0].bytes < pair[1].bytes && pair[0].psnr <= pair[1].psnr + 0.01, "{pair:?}");
    }
}

#[test]
fn a_slide_at_100_kbit_a_second_becomes_better_until_it_is_whole() {
    let (audience, lengths) = show(100_000, 0, None, &[0, 15], 40);
    let looks = audience.of(1);
    assert_better_and_better(&looks);
    let whole = looks.iter().find(|look| look.whole).expect("all of it comes");
    let took = whole.at - Duration::from_secs(15);
    // The time to the first bytes, and then the rate of a controller with a short queue on a link that carries ten
    // packets a second.
    let bound = Duration::from_millis(300) + Duration::from_secs_f64(lengths[1] as f64 * 8.0 / 85_000.0);
    println!("{} bytes took {took:?} of {bound:?}", lengths[1]);
    assert!(took <= bound, "{took:?} for {} bytes", lengths[1]);
    assert_eq!(looks.last().map(|look| look.bytes), Some(lengths[1]), "once");
    assert_eq!(audience.received.missing_bases, 0, "pictures that stayed are not missing");
}

#[test]
fn a_new_slide_waits_for_no_more_than_a_packet_of_the_one_before() {
    // Bytes that were lost in the first second shift every later moment, so several links count.
    let rates: Vec<_> = (0..4).map(|step| 96_000 + 2_000 * step).collect();
    let (mut quiet, mut busy) = (Duration::ZERO, Duration::ZERO);
    for &rate in &rates {
        // The first slide is complete long before the second, and the second is far from complete at the third.
        let (audience, lengths) = show(rate, 0, None, &[0, 20, 22], 26);
        assert!(audience.of(0).last().is_some_and(|look| look.whole));
        assert!(audience.of(1).last().is_some_and(|look| look.bytes < lengths[1]));
        let wait = |slide, begins| audience.of(slide)[0].at - Duration::from_secs(begins);
        let waits = [wait(1, 20), wait(2, 22)];
        println!("{rate} bit/s: after a quiet link {:?}, after late bytes {:?}", waits[0], waits[1]);
        quiet += waits[0];
        busy += waits[1];
    }
    let count = u32::try_from(rates.len()).expect("few links");
    let packet = Duration::from_secs_f64(PACKET_BYTES * 8.0 / 100_000.0);
    assert!(busy <= quiet + count * packet, "{quiet:?} and {busy:?} in {count} runs, a packet takes {packet:?}");
}

#[test]
fn with_loss_and_with_a_cap_a_slide_becomes_whole_too() {
    for (loss, cap) in [(20_000, None), (0, Some(200_000))] {
        let (audience, lengths) = show(400_000, loss, cap, &[0], 20);
        let looks = audience.of(0);
        assert_better_and_better(&looks);
        assert_eq!(looks.last().map(|look| (look.bytes, look.whole)), Some((lengths[0], true)));
        let took = looks[looks.len() - 1].at;
        let most = cap.map_or(0.0, |cap| lengths[0] as f64 * 8.0 / cap as f64);
        assert!(took.as_secs_f64() >= most, "{took:?}: within the cap");
    }
}

#[test]
fn a_slide_that_stays_for_a_minute_keeps_its_receiver() {
    let (audience, _) = show(2_000_000, 0, None, &[0, 70], 75);
    assert!(audience.of(1).last().is_some_and(|look| look.whole), "the connection is the same");
    assert_eq!(audience.of(0).iter().filter(|look| look.whole).count(), 1, "nothing comes twice");
}
