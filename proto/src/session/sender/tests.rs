use nestcast_units::FrameRate;

use super::*;
use crate::wire::broadcast_name::BroadcastName;
use crate::wire::frame::Frame;
use crate::wire::message::{DecoderKind, Hello, ModelRequest, PackageHash, RandomAccessRequest, SoundRequest, Video};

const PACKAGE: PackageHash = PackageHash([9; 32]);
const INTERVAL: Duration = Duration::from_millis(100);
const SECOND: Duration = Duration::from_secs(1);
const DONE: Close = Close { code: Code::Done, why: "the broadcast ended" };

fn offer(video: Option<Video>) -> Offer {
    let welcome = Welcome {
        model: [1; 6],
        package: PACKAGE,
        width: 64,
        height: 48,
        rate: FrameRate::new(10, 1).expect("a rate"),
        video,
    };
    Offer { welcome, package: Some(Bytes::from(vec![7; 10_000])), sound: None }
}

fn hello(max_bitrate: Option<Bitrate>) -> Message {
    let versions = VersionRange::SPOKEN;
    Message::Hello(Hello {
        versions,
        token: Bytes::from_static(b"secret"),
        max_bitrate,
        decoder: DecoderKind::Linear,
        broadcast: BroadcastName::default(),
        start: None,
    })
}

/// A driver over a transport that accepts everything: its actions, and the bytes of every stream.
struct Driver {
    session: SenderSession,
    path: PathStats,
    did: Vec<SenderOutput>,
    streams: Vec<Vec<u8>>,
    /// Whether the transport accepts anything.
    is_open: bool,
    /// The cap that the driver grants.
    cap: Option<Bitrate>,
}

impl Driver {
    fn new(offer: Offer) -> Self {
        let session = SenderSession::new(Arc::new(offer), 5);
        Self { session, path: PathStats::default(), did: Vec::new(), streams: Vec::new(), is_open: true, cap: None }
    }

    /// Returns the driver of an admitted receiver.
    fn admitted(offer: Offer, max_bitrate: Option<Bitrate>) -> Self {
        let mut driver = Self::new(offer);
        driver.say(Duration::ZERO, &hello(max_bitrate));
        driver.did.clear();
        driver
    }

    fn say(&mut self, now: Duration, message: &Message) {
        self.session.handle_control_bytes(now, &message.encode());
        self.drive(now);
    }

    fn frame(&mut self, id: u64, length: usize) {
        self.frame_since(id, id, length);
    }

    /// Sends a frame of a picture that stays since frame `since`.
    fn frame_since(&mut self, id: u64, since: u64, length: usize) {
        let now = INTERVAL * u32::try_from(id).expect("few");
        let bytes = Bytes::from(vec![7; length]);
        let join = (id == 0).then(|| crate::RandomAccessFrame { base: 10, bytes: bytes.clone() });
        let frame = Frame { id, skipped: 0, captured: 0, since, base: 10, bytes, join };
        self.session.handle_frame(now, &frame.into(), &self.path);
        self.drive(now);
    }

    fn drive(&mut self, now: Duration) {
        while let Some(output) = self.session.poll(now) {
            match &output {
                SenderOutput::Hello(_) => self.session.handle_admitted(now, 77, self.cap),
                SenderOutput::Open(_) => {
                    self.streams.push(Vec::new());
                    self.session.handle_opened(self.streams.len() as u64 - 1);
                }
                SenderOutput::Write if !self.is_open => break,
                SenderOutput::Write => {
                    let chunks = self.session.unwritten();
                    let room = self.session.room(&self.path).pending.unwrap_or(u64::MAX);
                    let most = usize::try_from(room).unwrap_or(usize::MAX);
                    let bytes: Vec<u8> = chunks.concat().into_iter().take(most).collect();
                    self.streams.last_mut().expect("it was opened").extend_from_slice(&bytes);
                    self.session.handle_written(now, bytes.len(), &self.path);
                    continue;
                }
                _ => {}
            }
            self.did.push(output);
        }
    }

    fn close(&self) -> Option<SenderEnd> {
        self.did.iter().find_map(|output| if let SenderOutput::Close(end) = output { Some(*end) } else { None })
    }

    fn refused(&self) -> Option<Code> {
        self.close().map(|end| match end {
            SenderEnd::Refused(close) => close.code,
            SenderEnd::Over(close) => panic!("{close}"),
        })
    }
}

#[test]
fn an_admitted_receiver_is_welcomed_and_given_frames() {
    let mut driver = Driver::new(offer(None));
    driver.say(Duration::ZERO, &hello(Some(Bitrate::from_bits(1_000_000))));
    let welcome = Message::Welcome { version: 1, welcome: offer(None).welcome }.encode();
    let said = [&welcome[..], &Message::Clock(Clock { micros: 77 }).encode()].concat();
    assert!(
        matches!(&driver.did[..], [SenderOutput::Hello(_), SenderOutput::Say(bytes), SenderOutput::FinishControl]
        if bytes[..] == said),
        "{:?}",
        driver.did
    );
    assert_eq!(driver.session.max_bitrate(), Some(Bitrate::from_bits(1_000_000)));
    driver.frame(0, 500);
    assert!(driver.streams.len() == 1 && driver.streams[0].ends_with(&[7; 500]), "{:?}", driver.streams);
    assert!(driver.did.contains(&SenderOutput::Finish(0)) && driver.session.stats().frames == 1);
    assert_eq!(driver.session.demand(&driver.path).useful_bytes, 1000);
}

#[test]
fn a_receiver_gets_no_more_than_it_asked_for_and_was_granted() {
    for (asked, granted, cap) in [
        (None, None, None),
        (Some(5), None, Some(5)),
        (None, Some(7), Some(7)),
        (Some(5), Some(7), Some(5)),
        (Some(9), Some(7), Some(7)),
    ] {
        let [asked, granted, cap] = [asked, granted, cap]
            .map(|megabits: Option<u64>| megabits.map(|megabits| Bitrate::from_bits(megabits * 1_000_000)));
        let mut driver = Driver { cap: granted, ..Driver::new(offer(None)) };
        driver.say(Duration::ZERO, &hello(asked));
        assert_eq!((driver.session.max_bitrate(), driver.session.demand(&driver.path).max_bitrate), (cap, cap));
    }
}

#[test]
fn a_receiver_that_is_not_admitted_gets_nothing() {
    let mut session = SenderSession::new(Arc::new(offer(None)), 5);
    session.handle_control_bytes(Duration::ZERO, &hello(None).encode());
    assert!(matches!(session.poll(Duration::ZERO), Some(SenderOutput::Hello(hello)) if hello.token == "secret"));
    let bytes = Bytes::from(vec![7; 500]);
    let frame = Frame { id: 0, skipped: 0, captured: 0, since: 0, base: 10, bytes, join: None };
    session.handle_frame(Duration::ZERO, &frame.into(), &PathStats::default());
    session.handle_end(DONE);
    assert_eq!(session.poll(SECOND), None);
}

#[test]
fn who_says_something_else_than_hello_first_is_refused() {
    let mut driver = Driver::new(offer(None));
    driver.say(Duration::ZERO, &Message::RandomAccessRequest(RandomAccessRequest { lost: 0 }));
    assert_eq!(driver.refused(), Some(Code::Violation));
    let mut driver = Driver::admitted(offer(None), None);
    driver.say(Duration::ZERO, &hello(None));
    assert_eq!(driver.refused(), Some(Code::Violation), "hello is said once");
    driver.frame(0, 500);
    driver.session.handle_settled(0);
    driver.drive(SECOND);
    assert!(driver.streams.is_empty() && driver.did.len() == 1, "it is over");
}

#[test]
fn a_join_is_for_receivers_of_video_alone() {
    for (video, refused) in [(None, Some(Code::Violation)), (Some(Video::new([2; 6])), None)] {
        let mut driver = Driver::admitted(offer(video), None);
        driver.frame(0, 500);
        driver.say(INTERVAL, &Message::RandomAccessRequest(RandomAccessRequest { lost: 0 }));
        assert_eq!(driver.refused(), refused);
        assert_eq!(driver.session.publisher.needs_random_access(), video.is_some());
    }
}

#[test]
fn a_package_goes_before_frames_within_the_cap_and_once() {
    let mut driver = Driver::admitted(offer(None), Some(Bitrate::from_bits(40_000)));
    driver.say(Duration::ZERO, &Message::ModelRequest(ModelRequest { package: PACKAGE }));
    assert_eq!(driver.did[0], SenderOutput::Open(Urgency::First));
    assert_eq!(driver.streams[0].len(), 5000, "a second of 40 kbit/s");
    driver.frame(0, 500);
    let turn = driver.session.poll_timeout().expect("the rest follows");
    assert!(driver.streams.len() == 1 && turn > SECOND, "{turn:?}");
    driver.drive(turn);
    driver.drive(2 * turn);
    driver.drive(3 * turn);
    assert!(driver.streams[0].ends_with(&[7; 10_000]) && driver.did.contains(&SenderOutput::Finish(0)));
    driver.frame(1, 500);
    assert_eq!((driver.streams.len(), driver.session.stats().skipped), (3, 0), "the frame that waited, and the next");
    driver.say(turn, &Message::ModelRequest(ModelRequest { package: PACKAGE }));
    assert_eq!(driver.refused(), Some(Code::Violation));
    let mut other = Driver::admitted(offer(None), None);
    other.say(Duration::ZERO, &Message::ModelRequest(ModelRequest { package: PackageHash([1; 32]) }));
    assert_eq!(other.refused(), Some(Code::Model));
}

#[test]
fn the_receiver_is_told_of_the_end_once_what_was_sent_arrived() {
    let mut driver = Driver::admitted(offer(None), None);
    driver.frame(0, 500);
    driver.session.handle_end(DONE);
    driver.drive(SECOND);
    assert_eq!((driver.did.last(), driver.close()), (Some(&SenderOutput::Await(0)), None));
    driver.session.handle_settled(0);
    driver.drive(SECOND);
    assert_eq!(driver.close(), Some(SenderEnd::Over(DONE)));
}

#[test]
fn streams_are_released_in_order_as_they_arrive_and_late_ones_let_go() {
    let mut driver = Driver::admitted(offer(None), None);
    (0..3).for_each(|id| driver.frame(id, 500));
    driver.did.clear();
    assert!(!driver.session.wants_arrivals(&driver.path));
    assert!(driver.session.wants_arrivals(&PathStats { retransmitted_bytes: 1200, ..driver.path }));
    driver.session.handle_settled(1);
    driver.drive(SECOND);
    assert_eq!(driver.did, [SenderOutput::Reset(1)], "its bytes are not kept for the stream before it");
    assert_eq!(driver.session.unsettled().collect::<Vec<_>>(), [0, 2]);
    driver.session.handle_settled(0);
    driver.drive(SECOND);
    assert_eq!(driver.did[1..], [SenderOutput::Release(0), SenderOutput::Release(1)]);
}

#[test]
fn when_the_rate_falls_streams_are_reset_and_their_bases_go_first() {
    let mut driver = Driver::admitted(offer(Some(Video::new([2; 6]))), None);
    (0..2).for_each(|id| driver.frame(id, 500));
    driver.is_open = false;
    driver.did.clear();
    driver.path = PathStats { rate_drops: 1, in_flight: 2000, drop_lead_time: SECOND, ..driver.path };
    driver.frame(2, 500);
    let expected = [
        SenderOutput::Reset(0),
        SenderOutput::Release(0),
        SenderOutput::Reset(1),
        SenderOutput::Release(1),
        SenderOutput::FlightReset,
        SenderOutput::Open(Urgency::First),
    ];
    let did: Vec<_> =
        driver.did.iter().filter(|output| !matches!(output, SenderOutput::AllowBeyond(_))).cloned().collect();
    assert_eq!(did, expected);
}

#[test]
fn a_picture_that_stays_is_sent_anew_to_a_receiver_that_lacked_the_model_when_it_came() {
    let mut driver = Driver::admitted(offer(None), Some(Bitrate::from_bits(400_000)));
    driver.frame_since(0, 0, 500);
    driver.say(Duration::ZERO, &Message::ModelRequest(ModelRequest { package: PACKAGE }));
    (1..4).for_each(|id| driver.frame_since(id, 0, 500));
    assert_eq!(
        driver.streams.len(),
        3,
        "the first frame, the model, and the newest frame as soon as the model is whole"
    );
    assert!(driver.streams[1].ends_with(&[7; 10_000]) && driver.streams[2].ends_with(&[7; 500]));
    driver.frame_since(4, 0, 500);
    assert_eq!(driver.streams.len(), 3, "now it stays");
}

#[test]
fn nothing_is_written_before_the_stream_is_open() {
    let mut driver = Driver::admitted(offer(None), None);
    let frame = |id| Frame { id, skipped: 0, captured: 0, since: id, base: 10, bytes: vec![7; 500].into(), join: None };
    driver.session.handle_frame(Duration::ZERO, &frame(0).into(), &driver.path);
    let outputs: Vec<_> = std::iter::from_fn(|| driver.session.poll(Duration::ZERO)).collect();
    assert_eq!(outputs.last(), Some(&SenderOutput::Open(Urgency::InTurn)));
    driver.session.handle_frame(INTERVAL, &frame(1).into(), &driver.path);
    let outputs: Vec<_> = std::iter::from_fn(|| driver.session.poll(INTERVAL)).collect();
    assert!(outputs.iter().all(|output| matches!(output, SenderOutput::AllowBeyond(_))), "{outputs:?}");
    driver.streams.push(Vec::new());
    driver.session.handle_opened(0);
    driver.drive(INTERVAL);
    assert!(driver.did.contains(&SenderOutput::Finish(0)) && driver.streams[0].len() > 10);
}

#[test]
fn sound_goes_to_who_asks_for_it_at_once_and_counts_in_the_cap() {
    let with_sound = || Offer { sound: Some(Sound::Stereo), ..offer(None) };
    let stream = Bytes::from_static(&[7; 175]);
    let sent = |driver: &mut Driver| {
        driver.did.clear();
        driver.session.handle_sound(&stream, 0);
        driver.drive(SECOND);
        driver.did.contains(&SenderOutput::Sound(stream.clone()))
    };
    let asks = |wanted| Message::SoundRequest(SoundRequest { wanted });
    let mut driver = Driver::new(with_sound());
    driver.say(Duration::ZERO, &hello(Some(Bitrate::from_bits(400_000))));
    let greeting = driver.did.iter().find_map(|output| match output {
        SenderOutput::Say(said) => Some(said.clone()),
        _ => None,
    });
    let announced = [Message::Sound(Sound::Stereo).encode(), Message::Clock(Clock { micros: 77 }).encode()].concat();
    assert!(greeting.is_some_and(|said| said.ends_with(&announced)));
    assert!(!sent(&mut driver), "it was not asked for");
    driver.say(SECOND, &asks(true));
    driver.path = PathStats { window: 10_000, rtt: INTERVAL, ..driver.path };
    let useful = driver.session.demand(&driver.path);
    assert!((0..25).all(|_| !sent(&mut driver)), "it waits for the first frame's stream, for half a second");
    assert!(sent(&mut driver));
    let left = driver.session.demand(&driver.path);
    assert_eq!(left.max_bitrate, Some(Bitrate::from_bits(330_000)));
    let rates = [useful.bandwidth, left.bandwidth].map(Bitrate::bits);
    assert_eq!(rates, [800_000, 730_000], "175 bytes every 20 ms are less for frames");
    let sound = driver.session.stats().sound;
    assert_eq!((sound.packets, sound.bytes, sound.skipped), (1, 175, 0));
    driver.say(SECOND, &asks(false));
    assert!(!sent(&mut driver), "it was muted");
    assert_eq!(driver.session.demand(&driver.path).max_bitrate, useful.max_bitrate);
}

#[test]
fn sound_follows_the_stream_of_the_first_frame() {
    let mut driver = Driver::admitted(Offer { sound: Some(Sound::Stereo), ..offer(None) }, None);
    driver.say(Duration::ZERO, &Message::SoundRequest(SoundRequest { wanted: true }));
    let stream = Bytes::from_static(&[7; 175]);
    let sent = |driver: &mut Driver| {
        driver.session.handle_sound(&stream, 0);
        driver.drive(Duration::ZERO);
        driver.did.contains(&SenderOutput::Sound(stream.clone()))
    };
    assert!(!sent(&mut driver));
    driver.frame_since(0, 0, 500);
    assert!(sent(&mut driver) && !driver.streams[0].is_empty());
}

#[test]
fn who_asks_for_sound_that_was_not_announced_breaks_a_rule() {
    let mut driver = Driver::admitted(offer(None), None);
    driver.say(SECOND, &Message::SoundRequest(SoundRequest { wanted: true }));
    let end = driver.did.iter().find_map(|output| match output {
        SenderOutput::Close(end) => Some(end.close().code),
        _ => None,
    });
    assert_eq!(end, Some(Code::Violation));
}

#[test]
fn a_receiver_that_asks_for_a_start_is_told_where_it_begins() {
    let start = Start::AfterBeginning(Duration::from_secs(90));
    for granted in [None, Some(start)] {
        let mut session = SenderSession::new(Arc::new(offer(None)), 0);
        let Message::Hello(hello) = hello(None) else { panic!("it is a hello") };
        let hello = Hello { start: Some(start), ..hello };
        session.handle_control_bytes(Duration::ZERO, &Message::Hello(hello.clone()).encode());
        assert_eq!(session.poll(Duration::ZERO), Some(SenderOutput::Hello(hello)));
        granted.into_iter().for_each(|granted| session.handle_start(granted));
        session.handle_admitted(Duration::ZERO, 77, None);
        let welcome = Message::Welcome { version: 1, welcome: offer(None).welcome };
        let said = [welcome, Message::Start(granted), Message::Clock(Clock { micros: 77 })];
        let said: Vec<u8> = said.iter().flat_map(Message::encode).collect();
        assert_eq!(session.poll(Duration::ZERO), Some(SenderOutput::Say(said.into())));
    }
}
