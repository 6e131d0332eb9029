//! A broadcast through both halves of the viewer, as the page drives them: sender, network, mail, screen. Also tests
//! what a hostile sender can do to them.

use std::time::Duration;

use bytes::Bytes;
use nestcast_codec::{
    Bitrate, CodedFrame, Format, FrameRate, FrameResiduals, Picture, Population, Size, VideoDecoder, VideoEncoder,
    VideoModel, VideoSettings, Ycbcr, tables,
};
use nestcast_proto::{
    BroadcastName, Clock, Code, FrameHeader, MAX_FRAME, Message, PackageHash, RandomAccessRequest, StreamHead, Video,
    Welcome,
};
use nestcast_web::{Network, Presented, ResidualWorker, Screen, Step, Tables, Wanted};

const NOW: f64 = 1_795_000_000_000.0;
const FORMAT: Format = Format::Ycbcr420(Ycbcr::BT601);

fn size() -> Size {
    Size::new(96, 64).expect("a valid size")
}

fn welcome(size: Size) -> Welcome {
    let [key, residual] = VideoModel::built_in().ids();
    let video = Some(Video::new(residual.0));
    let side = |pixels: usize| u32::try_from(pixels).expect("a side");
    let (width, height) = (side(size.width()), side(size.height()));
    Welcome {
        model: key.0,
        package: PackageHash([0; 32]),
        width,
        height,
        rate: FrameRate::new(30, 1).expect("a rate"),
        video,
    }
}

/// Returns frames of a moving bar.
fn frames(count: usize) -> Vec<CodedFrame> {
    let rate = FrameRate::new(30, 1).expect("a rate");
    let settings = VideoSettings {
        size: size(),
        rate,
        population: Population::log_uniform(Bitrate::from_bits(100_000)..=Bitrate::from_bits(1_600_000)),
        threads: 1,
    };
    let mut encoder = VideoEncoder::new(VideoModel::built_in(), settings);
    let picture = |at: usize| {
        let luma = |x: usize| if (at..at + 20).contains(&x) { 200 } else { 40 };
        let mut samples: Vec<u8> = (0..64).flat_map(|_| (0..96).map(luma)).collect();
        samples.resize(FORMAT.bytes(size()), 128);
        Picture::new(size(), FORMAT, samples).expect("the shape fits")
    };
    (0..count).map(|number| encoder.encode(&picture(3 * number)).expect("a frame")).collect()
}

/// Returns a viewer that has its welcome and all tables.
fn welcomed(size: Size) -> (Network, Screen) {
    let (mut network, mut screen) =
        (Network::new(NOW, Network::hello(b"", 0, BroadcastName::default())), Screen::default());
    let tables = [tables::VIDEO_KEY, tables::VIDEO_RESIDUAL].concat();
    screen.handle_tables(Wanted::Video, &tables).expect("tables of this build");
    network.handle_control_bytes(&Message::Welcome { version: 1, welcome: welcome(size) }.encode());
    network.handle_control_bytes(&Message::Clock(Clock { micros: 1_795_000_000_000_000 }).encode());
    let welcomed = std::iter::from_fn(|| network.poll(NOW)).any(|step| matches!(step, Step::Welcome(_)));
    assert!(welcomed, "the sender is heard");
    (network, screen)
}

/// Returns the first `length` bytes of a frame's stream.
fn stream(id: u64, frame: &CodedFrame, length: usize) -> Vec<u8> {
    let header = FrameHeader {
        id,
        skipped: 0,
        captured: 1_795_000_000_000_000 + 33_333 * id,
        full: frame.bytes.len() as u64,
        base: frame.base as u64,
    };
    [&StreamHead::Frame(header).encode()[..], &frame.bytes[..length]].concat()
}

#[test]
fn the_screen_asks_for_tables_once_and_shows_what_the_native_decoder_does() {
    let (mut network, _) = welcomed(size());
    let mut screen = Screen::default();
    assert!(screen.set_latency("soon").is_err() && screen.set_latency("min").is_ok());
    let mail = network.take_mail();
    let presented = screen.handle_mail(NOW, mail, false).expect("mail");
    assert_eq!((presented, screen.poll_readiness()), (Presented::Wants(Wanted::Video), None));
    let tables = [tables::VIDEO_KEY, tables::VIDEO_RESIDUAL].concat();
    screen.handle_tables(Wanted::Video, &tables).expect("tables");
    assert_eq!(screen.resume(NOW).expect("a welcome"), Presented::Nothing);
    assert_eq!(screen.poll_readiness(), Some(true));
    network.handle_ready(NOW);
    let mut native = VideoDecoder::new(VideoModel::built_in(), size(), 1);
    let mut expected = Picture::zero(size(), FORMAT);
    let mut now = NOW;
    for (id, frame) in frames(6).iter().enumerate() {
        let length = frame.bytes.len().min(frame.base + 300);
        let number = network.handle_opened();
        for piece in stream(id as u64, frame, length).chunks(200) {
            network.handle_stream_bytes(now, number, Bytes::copy_from_slice(piece));
        }
        network.handle_stream_end(now, number, true);
        assert_eq!(network.poll(now), None);
        assert_eq!(screen.handle_mail(now, network.take_mail(), false).expect("a frame"), Presented::Nothing);
        assert!(!screen.has_mail());
        let presented = screen.handle_time(now).expect("a frame");
        let Presented::Picture(shown) = presented else { panic!("{presented:?}") };
        assert_eq!((shown.id, shown.bytes), (Some(id as u64), [length as u64, frame.bytes.len() as u64]));
        native.decode(&frame.bytes[..length]).expect("a frame");
        native.render_into(&mut expected).expect("the shape fits");
        assert_eq!(screen.picture(), Some(&expected));
        now += 1e3 / 30.0;
    }
    // At this time, JavaScript's numbers have a resolution of a quarter of a microsecond.
    let due = screen.poll_timeout().expect("a picture is on the screen") + 0.01;
    let Presented::Picture(concealed) = screen.handle_time(due).expect("it goes on") else {
        panic!("nothing is shown")
    };
    assert!(concealed.is_concealed && concealed.id == Some(6), "{concealed:?}");
    assert_eq!((screen.played().shown, screen.played().concealed), (6, 1));
}

#[test]
fn two_workers_that_share_frames_show_what_the_native_decoder_does() {
    let (mut network, mut screen) = welcomed(size());
    screen.set_latency("min").expect("a latency");
    screen.handle_mail(NOW, network.take_mail(), false).expect("a welcome");
    network.handle_ready(NOW);
    let (mut worker, mut made, mut taken) =
        (ResidualWorker::default(), FrameResiduals::default(), FrameResiduals::default());
    worker.open(VideoModel::built_in(), [96, 64]);
    let mut native = VideoDecoder::new(VideoModel::built_in(), size(), 1);
    let mut expected = Picture::zero(size(), FORMAT);
    let mut now = NOW;
    for (id, frame) in frames(9).iter().enumerate() {
        let (id, length) = (id as u64, frame.bytes.len().min(frame.base + 200 * (id % 3)));
        let number = network.handle_opened();
        network.handle_stream_bytes(now, number, Bytes::from(stream(id, frame, length)));
        network.handle_stream_end(now, number, true);
        assert_eq!(network.poll(now), None);
        let mail = network.take_mail();
        worker.handle_mail(mail.clone()).expect("a frame");
        assert_eq!(screen.handle_mail(now, mail, true).expect("a frame"), Presented::WantsResiduals(id));
        // Before it is complete, no time has anything to show.
        assert_eq!(screen.handle_time(now + 1e3).expect("it waits"), Presented::Nothing);
        assert_eq!((worker.poll(&mut made), worker.poll(&mut taken)), (Some(id), None));
        // Once the other worker does nothing, and once the residuals are of another frame.
        if id != 5 {
            taken.room(made.numbers().len()).copy_from_slice(made.numbers());
        }
        let are_used = screen.complete(Some(&mut taken).filter(|_| id != 3));
        assert_eq!(are_used, ![3, 5].contains(&id), "frame {id}");
        let presented = screen.handle_time(now).expect("a frame");
        let Presented::Picture(shown) = presented else { panic!("frame {id}: {presented:?}") };
        assert_eq!((shown.id, shown.bytes[0]), (Some(id), length as u64));
        native.decode(&frame.bytes[..length]).expect("a frame");
        native.render_into(&mut expected).expect("the shape fits");
        assert_eq!(screen.picture(), Some(&expected), "frame {id}");
        now += 1e3 / 30.0;
    }
    // It decodes nothing if frames are too large to show.
    let (mut network, _) = welcomed(Size::new(16384, 16384).expect("a valid size"));
    let welcome = network.take_mail();
    worker.handle_mail(welcome).expect("a welcome");
    assert_eq!(worker.poll(&mut made), None);
    network.handle_ready(NOW);
    let (frame, number) = (&frames(1)[0], network.handle_opened());
    network.handle_stream_bytes(NOW, number, Bytes::from(stream(0, frame, frame.bytes.len())));
    network.handle_stream_end(NOW, number, true);
    assert_eq!(network.poll(NOW), None);
    worker.handle_mail(network.take_mail()).expect("a frame");
    assert_eq!(worker.poll(&mut made), None);
}

#[test]
fn a_frame_that_cannot_be_decoded_lets_the_viewer_ask_for_one_to_begin_with() {
    let (mut network, mut screen) = welcomed(size());
    screen.handle_mail(NOW, network.take_mail(), false).expect("a welcome");
    network.handle_ready(NOW);
    let frames = frames(3);
    let mut now = NOW;
    // The first is predicted from one that did not come, and the fourth ends inside its head.
    for (id, frame, length, is_lost) in [(0, 1, 900, true), (1, 0, 900, false), (2, 1, 900, false), (3, 2, 3, true)] {
        let CodedFrame { bytes, base, .. } = &frames[frame];
        let length = bytes.len().min(length);
        let frame = CodedFrame { bytes: bytes.slice(..length), base: (*base).min(length), ..frames[frame].clone() };
        let number = network.handle_opened();
        network.handle_stream_bytes(now, number, Bytes::from(stream(id, &frame, length)));
        network.handle_stream_end(now, number, true);
        assert_eq!(network.poll(now), None);
        screen.handle_mail(now, network.take_mail(), false).expect("a frame");
        screen.handle_time(now).expect("it goes on");
        let undecoded = screen.poll_undecoded();
        assert_eq!((undecoded, screen.poll_undecoded()), (Some(id).filter(|_| is_lost), None), "frame {id}");
        if let Some(lost) = undecoded {
            network.handle_undecoded(lost);
            let request = Message::RandomAccessRequest(RandomAccessRequest { lost }).encode();
            assert_eq!(network.poll(now), Some(Step::Say(request)));
            network.handle_said();
        }
        // It asks once a second at most.
        now += 600.0;
    }
}

#[test]
fn other_tables_and_pictures_that_are_too_large_are_refused_before_memory_is_taken() {
    let photo = Tables::default();
    assert!(nestcast_web::File::open(Bytes::from_static(b"nst"), &photo).is_err_and(|wanted| wanted == Wanted::Photo));
    let (mut network, mut screen) = welcomed(Size::new(16384, 16384).expect("a valid size"));
    let refused = screen.handle_mail(NOW, network.take_mail(), false).expect_err("too large").to_string();
    assert!(refused.contains("268435456 pixels"), "{refused}");
    let (mut network, mut screen) =
        (Network::new(NOW, Network::hello(b"", 0, BroadcastName::default())), Screen::default());
    let mut other = welcome(size());
    other.model = [7; 6];
    let tables = [tables::VIDEO_KEY, tables::VIDEO_RESIDUAL].concat();
    screen.handle_tables(Wanted::Video, &tables).expect("tables");
    network.handle_control_bytes(&Message::Welcome { version: 1, welcome: other }.encode());
    network.handle_control_bytes(&Message::Clock(Clock { micros: 1 }).encode());
    while network.poll(NOW).is_some() {}
    screen.handle_mail(NOW, network.take_mail(), false).expect("a welcome");
    assert_eq!(screen.poll_readiness(), Some(false));
}

/// Pseudorandom numbers, the same at every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

#[test]
fn damaged_frames_and_hostile_streams_break_neither_half() {
    let frames = frames(4);
    let mut random = Random(1);
    let mut violations = 0;
    for round in 0..60 {
        let (mut network, mut screen) = welcomed(size());
        let (mut worker, mut residuals) = (ResidualWorker::default(), FrameResiduals::default());
        worker.open(VideoModel::built_in(), [96, 64]);
        screen.handle_mail(NOW, network.take_mail(), false).expect("a welcome");
        network.handle_ready(NOW);
        let mut now = NOW;
        for id in 0..30 {
            let frame = &frames[usize::try_from(random.below(4)).expect("an index")];
            let mut bytes = stream(id, frame, frame.bytes.len());
            for _ in 0..random.below(4) {
                let at = usize::try_from(random.below(bytes.len() as u64)).expect("an index");
                bytes[at] = random.below(256).to_le_bytes()[0];
            }
            let number = network.handle_opened();
            network.handle_stream_bytes(now, number, Bytes::from(bytes));
            if random.below(8) > 0 {
                network.handle_stream_end(now, number, true);
            }
            while let Some(step) = network.poll(now) {
                violations += usize::from(matches!(step, Step::Close { code: Code::Violation, .. }));
            }
            // An error may end it; a panic must not.
            let (mail, is_shared) = (network.take_mail(), round % 2 == 1);
            worker.handle_mail(mail.clone()).expect("mail");
            let mut presented = screen.handle_mail(now, mail, is_shared);
            loop {
                if matches!(presented, Ok(Presented::WantsResiduals(_))) {
                    let is_there = worker.poll(&mut residuals).is_some();
                    screen.complete(Some(&mut residuals).filter(|_| is_there));
                }
                if presented.is_err() || !screen.has_mail() {
                    break;
                }
                presented = screen.resume(now);
            }
            let is_broken = presented.is_err();
            if is_broken || screen.handle_time(now).is_err() {
                break;
            }
            now += 20.0;
        }
    }
    assert!(violations > 0, "some of it breaks rules");
}

#[test]
fn a_flood_of_bytes_keeps_no_more_than_a_session_may_hold() {
    let (mut network, _) = welcomed(size());
    network.handle_ready(NOW);
    network.take_mail();
    let mut held = 0;
    for id in 0..200 {
        let header = FrameHeader { id, skipped: 0, captured: 0, full: MAX_FRAME, base: 10 };
        let number = network.handle_opened();
        let head = StreamHead::Frame(header).encode();
        network.handle_stream_bytes(NOW, number, head);
        for _ in 0..20 {
            network.handle_stream_bytes(NOW, number, Bytes::from(vec![1; 65_536]));
        }
        while network.poll(NOW + Duration::from_millis(5 * id).as_secs_f64() * 1e3).is_some() {}
        held = held.max(network.take_mail().len());
    }
    // 65536 bytes for each frame and 4 for each pixel; at most 17 frames come at once here.
    let most = 17 * (65_536 + 4 * size().pixels() + 100);
    assert!((1..most).contains(&held), "{held} bytes of mail, where {most} are the most");
}
