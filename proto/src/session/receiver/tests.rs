use bytes::BytesMut;
use nestcast_units::FrameRate;

use super::*;
use crate::wire::broadcast_name::BroadcastName;
use crate::wire::frame::{Frame, FrameHeader};
use crate::wire::limits::MAX_MODEL;
use crate::wire::message::{Clock, DecoderKind, RandomAccessRequest, Video};
use crate::wire::parity::ParityHeader;
use crate::wire::sound::SoundPacket;
use crate::wire::stream::{ModelHeader, StreamHead};
use crate::wire::version::VersionRange;

const PACKAGE: PackageHash = PackageHash([9; 32]);
const SECOND: Duration = Duration::from_secs(1);

fn hello() -> Hello {
    Hello {
        versions: VersionRange::SPOKEN,
        token: Bytes::new(),
        max_bitrate: None,
        decoder: DecoderKind::Linear,
        broadcast: BroadcastName::default(),
        start: None,
    }
}

fn welcome(video: Option<Video>) -> Welcome {
    Welcome {
        model: [1; 6],
        package: PACKAGE,
        width: 64,
        height: 48,
        rate: FrameRate::new(10, 1).expect("a rate"),
        video,
    }
}

/// Returns a sender's greeting on the control stream.
fn greeting(video: Option<Video>) -> Bytes {
    let clock = Message::Clock(Clock { micros: 7 });
    [Message::Welcome { version: 1, welcome: welcome(video) }.encode(), clock.encode()].concat().into()
}

fn outputs(session: &mut ReceiverSession, now: Duration) -> Vec<ReceiverOutput> {
    std::iter::from_fn(|| session.poll(now)).collect()
}

/// Returns a session that was welcomed and is ready, without pending messages.
fn ready(video: Option<Video>) -> ReceiverSession {
    let mut session = ReceiverSession::new(hello(), true);
    session.handle_control_bytes(&greeting(video));
    session.handle_ready(Duration::ZERO);
    session.handle_said();
    outputs(&mut session, Duration::ZERO);
    session
}

/// Returns a frame's head and `length` bytes, the first of which is the base layer.
fn frame(id: u64, length: u8) -> Bytes {
    let header = FrameHeader { id, skipped: 0, captured: 0, full: length.into(), base: 1 };
    let body: Vec<u8> = (0..length).collect();
    [&StreamHead::Frame(header).encode()[..], &body].concat().into()
}

/// Returns the next frame that is shown.
fn shown(session: &mut ReceiverSession, now: Duration) -> Option<(u64, usize)> {
    outputs(session, now).into_iter().find_map(|output| match output {
        ReceiverOutput::Frame(frame) => Some((frame.header.id, frame.prefix.len())),
        _ => None,
    })
}

fn end(session: &mut ReceiverSession, now: Duration) -> Option<ReceiverEnd> {
    outputs(session, now).into_iter().find_map(|output| match output {
        ReceiverOutput::Close(end) => Some(end),
        _ => None,
    })
}

fn violation(session: &mut ReceiverSession) -> &'static str {
    match end(session, Duration::ZERO) {
        Some(ReceiverEnd::Violation(close)) => close.why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_session_says_hello_tells_of_the_welcome_and_gives_frames() {
    let mut session = ReceiverSession::new(hello(), false);
    assert_eq!(outputs(&mut session, Duration::ZERO), [ReceiverOutput::Say(Message::Hello(hello()).encode())]);
    session.handle_said();
    session.handle_rtt(Duration::from_micros(20));
    for byte in greeting(None) {
        session.handle_control_bytes(&[byte]);
    }
    let sender_clock = Duration::from_micros(17);
    let told = ReceiverOutput::Welcome { welcome: welcome(None), sender_clock };
    assert_eq!(outputs(&mut session, Duration::ZERO), [told]);
    session.handle_ready(Duration::ZERO);
    session.handle_opened(3);
    let bytes = frame(0, 20);
    session.handle_stream_bytes(Duration::ZERO, 3, 0, bytes.slice(..7));
    session.handle_stream_bytes(Duration::ZERO, 3, 7, bytes.slice(7..));
    assert_eq!(shown(&mut session, Duration::ZERO), None, "its stream goes on");
    session.handle_stream_end(Duration::ZERO, 3);
    assert_eq!(shown(&mut session, Duration::ZERO), Some((0, 20)));
    assert_eq!(session.stats().shown, 1);
}

#[test]
fn a_missing_package_is_asked_for_if_it_may_be_and_frames_wait_for_it() {
    let mut poor = ReceiverSession::new(hello(), false);
    poor.handle_control_bytes(&greeting(None));
    poor.handle_package_missing(Duration::ZERO);
    assert_eq!(end(&mut poor, Duration::ZERO), Some(ReceiverEnd::PackageMissing(PACKAGE)));
    poor.handle_package_missing(Duration::ZERO);
    poor.handle_stream_end(Duration::ZERO, 3);
    assert_eq!(outputs(&mut poor, SECOND), [], "it is over");
    let mut session = ReceiverSession::new(hello(), true);
    session.handle_control_bytes(&greeting(None));
    session.handle_package_missing(Duration::ZERO);
    let asks = ReceiverOutput::Say(Message::ModelRequest(ModelRequest { package: PACKAGE }).encode());
    assert!(outputs(&mut session, Duration::ZERO).contains(&asks));
    (0..2).for_each(|_| session.handle_said());
    [3, 7].into_iter().for_each(|stream| session.handle_opened(stream));
    session.handle_stream_bytes(SECOND, 3, 0, frame(0, 9));
    session.handle_stream_end(SECOND, 3);
    let head = StreamHead::Model(ModelHeader { package: PACKAGE, length: 5 }).encode();
    session.handle_stream_bytes(SECOND, 7, 0, [&head[..], b"sound"].concat().into());
    assert_eq!(outputs(&mut session, SECOND), [], "it may go on");
    session.handle_stream_end(SECOND, 7);
    assert_eq!(outputs(&mut session, SECOND), [ReceiverOutput::Package(Bytes::from_static(b"sound"))]);
    session.handle_package_taken(SECOND);
    session.handle_opened(11);
    session.handle_stream_bytes(SECOND, 11, 0, frame(1, 9));
    session.handle_stream_end(SECOND, 11);
    assert_eq!(shown(&mut session, SECOND), Some((1, 9)));
}

#[test]
fn a_model_that_was_not_asked_for_is_refused_at_its_head() {
    let mut session = ready(None);
    session.handle_opened(3);
    let head = StreamHead::Model(ModelHeader { package: PACKAGE, length: MAX_MODEL }).encode();
    session.handle_stream_bytes(Duration::ZERO, 3, 0, head);
    assert!(violation(&mut session).contains("not asked for"));
    session.handle_stream_bytes(Duration::ZERO, 3, 34, vec![0; 1000].into());
    assert_eq!((outputs(&mut session, SECOND), session.poll_timeout()), (Vec::new(), None), "it is over");
}

#[test]
fn messages_out_of_place_are_violations() {
    let clock = Message::Clock(Clock { micros: 7 }).encode();
    let welcome = Message::Welcome { version: 1, welcome: welcome(None) }.encode();
    for (said, why) in [
        (clock.to_vec(), "no welcome"),
        ([&welcome[..], &welcome].concat(), "no clock"),
        ([&welcome[..], &clock, &clock].concat(), "after the clock"),
    ] {
        let mut session = ReceiverSession::new(hello(), true);
        session.handle_control_bytes(&said);
        let told = violation(&mut session);
        assert!(told.contains(why), "{told}");
    }
}

#[test]
fn whatever_a_sender_is_late_with_ends_the_session() {
    let mut silent = ReceiverSession::new(hello(), true);
    outputs(&mut silent, Duration::ZERO);
    silent.handle_said();
    let due = silent.poll_timeout().expect("it is not waited for ever");
    assert_eq!(outputs(&mut silent, due - Duration::from_nanos(1)), []);
    assert_eq!(end(&mut silent, due), Some(ReceiverEnd::Late("no welcome came")));
    let mut idle = ready(None);
    let due = idle.poll_timeout().expect("it is not waited for ever");
    assert_eq!(end(&mut idle, due), Some(ReceiverEnd::Late("no frame came")));
    let mut deaf = ReceiverSession::new(hello(), true);
    deaf.handle_said();
    deaf.handle_control_bytes(&greeting(None));
    deaf.handle_package_missing(Duration::ZERO);
    outputs(&mut deaf, Duration::ZERO);
    let due = deaf.poll_timeout().expect("it is not waited for ever");
    assert_eq!(end(&mut deaf, due), Some(ReceiverEnd::Late("it takes no request for its model")));
}

#[test]
fn a_receiver_of_video_asks_for_a_join_when_a_frame_is_lost() {
    let mut session = ready(Some(Video::new([2; 6])));
    for (stream, id) in [(3, 0), (7, 2)] {
        session.handle_opened(stream);
        session.handle_stream_bytes(Duration::ZERO, stream, 0, frame(id, 9));
        session.handle_stream_end(Duration::ZERO, stream);
    }
    assert_eq!(shown(&mut session, Duration::ZERO), Some((0, 9)));
    let due = session.poll_timeout().expect("frame 1 is not waited for ever");
    let given = outputs(&mut session, due);
    let asks = ReceiverOutput::Say(Message::RandomAccessRequest(RandomAccessRequest { lost: 1 }).encode());
    assert!(given.contains(&asks), "{given:?}");
    session.handle_undecoded(2);
    assert!(outputs(&mut session, due + 2 * SECOND).iter().any(|output| matches!(output, ReceiverOutput::Say(_))));
}

/// Brings all of a frame that was captured a while after the source began.
fn bring(session: &mut ReceiverSession, now: Duration, stream: u64, id: u64) {
    session.handle_stream_bytes(now, stream, 0, frame(id, 9));
    session.handle_stream_end(now, stream);
}

#[test]
fn video_begins_with_the_frame_of_the_first_stream_whichever_is_read_first() {
    let mut session = ready(Some(Video::new([2; 6])));
    [3, 7, 11].into_iter().for_each(|stream| session.handle_opened(stream));
    bring(&mut session, Duration::ZERO, 7, 41);
    assert_eq!(shown(&mut session, Duration::ZERO), None, "the random-access frame is on a stream before");
    bring(&mut session, Duration::ZERO, 3, 40);
    assert_eq!(shown(&mut session, Duration::ZERO), Some((40, 9)));
    assert_eq!(shown(&mut session, SECOND), Some((41, 9)));
    assert_eq!(session.stats().missing_bases, 0);
    let mut pictures = ready(None);
    [3, 7].into_iter().for_each(|stream| pictures.handle_opened(stream));
    bring(&mut pictures, Duration::ZERO, 7, 41);
    assert_eq!(shown(&mut pictures, Duration::ZERO), Some((41, 9)), "each picture is one to begin with");
}

#[test]
fn a_first_frame_that_never_comes_is_asked_for() {
    let mut session = ready(Some(Video::new([2; 6])));
    [3, 7].into_iter().for_each(|stream| session.handle_opened(stream));
    bring(&mut session, Duration::ZERO, 7, 41);
    session.handle_stream_end(Duration::ZERO, 3);
    assert_eq!(shown(&mut session, Duration::ZERO), None, "its base layer may come again");
    let due = session.poll_timeout().expect("it is not waited for ever");
    assert!(due <= 2 * SECOND, "{due:?}");
    let given = outputs(&mut session, due);
    let asks = ReceiverOutput::Say(Message::RandomAccessRequest(RandomAccessRequest { lost: 40 }).encode());
    assert!(given.contains(&asks), "{given:?}");
}

#[test]
fn when_the_connection_ended_what_came_is_shown_and_nothing_is_said() {
    let mut session = ready(Some(Video::new([2; 6])));
    for (stream, id) in [(3, 0), (7, 4)] {
        session.handle_opened(stream);
        session.handle_stream_bytes(Duration::ZERO, stream, 0, frame(id, 9));
    }
    session.handle_close();
    let given = outputs(&mut session, Duration::ZERO);
    assert!(given.len() == 2 && given.iter().all(|output| matches!(output, ReceiverOutput::Frame(_))), "{given:?}");
    assert_eq!(session.poll_timeout(), None);
}

/// The bytes of a block.
const BLOCK: usize = 8;

/// Returns the stream of a stream's parity.
fn parity(stream: u64, protected: &Bytes) -> Bytes {
    let header = ParityHeader { stream, length: protected.len() as u64, pieces: 1, block: BLOCK as u64 };
    let mut out = BytesMut::from(&StreamHead::Parity(header).encode()[..]);
    header.protect(std::slice::from_ref(protected), &mut out);
    out.freeze()
}

/// Brings parity of a stream that is not read: from then on the session keeps streams for theirs.
fn expect_parity(session: &mut ReceiverSession) {
    session.handle_opened(1);
    session.handle_stream_bytes(Duration::ZERO, 1, 0, parity(u64::from(u32::MAX), &frame(0, 9)));
    assert_eq!(outputs(session, Duration::ZERO), [ReceiverOutput::Stop(1)], "nobody needs it");
}

#[test]
fn what_a_lost_packet_carried_follows_from_the_parity_wherever_it_stood() {
    for (begin, hole) in [(0, 0..8), (0, 4..12), (5, 5..13), (20, 30..38), (40, 40..40)] {
        let mut session = ready(None);
        expect_parity(&mut session);
        let bytes = frame(0, 60);
        [3, 7].into_iter().for_each(|stream| session.handle_opened(stream));
        if begin > 0 {
            session.handle_stream_bytes(Duration::ZERO, 3, 0, bytes.slice(..begin));
        }
        session.handle_stream_bytes(Duration::ZERO, 7, 0, parity(3, &bytes));
        let given = outputs(&mut session, Duration::ZERO);
        assert_eq!(given, [ReceiverOutput::Stop(7), ReceiverOutput::ReadUnordered(3)]);
        session.handle_stream_bytes(Duration::ZERO, 3, hole.end as u64, bytes.slice(hole.end..));
        session.handle_stream_bytes(Duration::ZERO, 3, begin as u64, bytes.slice(begin..hole.start));
        let given = outputs(&mut session, Duration::ZERO);
        assert!(given.contains(&ReceiverOutput::Stop(3)), "{begin}, {hole:?}: {given:?}");
        let whole =
            |output: &ReceiverOutput| matches!(output, ReceiverOutput::Frame(frame) if frame.prefix.len() == 60);
        assert!(given.iter().any(whole), "{begin}, {hole:?}: {given:?}");
    }
}

#[test]
fn streams_of_which_nothing_is_kept_go_on_in_order() {
    let mut session = ready(None);
    let bytes = frame(0, 60);
    [3, 7].into_iter().for_each(|stream| session.handle_opened(stream));
    session.handle_stream_bytes(Duration::ZERO, 3, 0, bytes.slice(..20));
    session.handle_stream_bytes(Duration::ZERO, 7, 0, parity(3, &bytes));
    let given = outputs(&mut session, Duration::ZERO);
    assert_eq!(given, [ReceiverOutput::Stop(7)], "bytes came before any parity");
    session.handle_stream_bytes(Duration::ZERO, 3, 30, bytes.slice(30..));
    session.handle_stream_bytes(Duration::ZERO, 3, 20, bytes.slice(20..));
    session.handle_stream_end(Duration::ZERO, 3);
    assert_eq!(shown(&mut session, Duration::ZERO), Some((0, 60)));
}

#[test]
fn of_few_streams_something_is_kept_at_once() {
    let mut session = ready(None);
    expect_parity(&mut session);
    let streams = (10..20).map(|number| 4 * number + 3);
    for (id, stream) in (0..).zip(streams.clone()) {
        session.handle_opened(stream);
        session.handle_stream_bytes(Duration::ZERO, stream, 0, frame(id, 60).slice(..20));
    }
    let mut unordered = 0;
    for (id, stream) in (0..).zip(streams) {
        session.handle_opened(stream + 1000);
        session.handle_stream_bytes(Duration::ZERO, stream + 1000, 0, parity(stream, &frame(id, 60)));
        let given = outputs(&mut session, Duration::ZERO);
        unordered += given.iter().filter(|output| matches!(output, ReceiverOutput::ReadUnordered(_))).count();
    }
    assert_eq!(unordered, 4);
}

#[test]
fn bases_that_come_again_and_late_bytes_reach_their_frames() {
    let mut session = ready(None);
    let again = Frame {
        id: 0,
        skipped: 0,
        captured: 0,
        since: 0,
        base: 3,
        bytes: Bytes::from_static(b"a whole frame"),
        join: None,
    };
    session.handle_opened(3);
    session.handle_stream_bytes(Duration::ZERO, 3, 0, crate::wire::bases::encode([&again].into_iter()));
    assert_eq!(shown(&mut session, Duration::ZERO), Some((0, 3)));
    let head = StreamHead::Late(crate::wire::stream::LateHeader { id: 0, offset: 3, full: 13 }).encode();
    session.handle_opened(7);
    session.handle_stream_bytes(SECOND, 7, 0, [&head[..], &again.bytes[3..]].concat().into());
    let more = outputs(&mut session, SECOND);
    assert!(matches!(&more[..], [ReceiverOutput::More(more)] if more.bytes == again.bytes[3..]), "{more:?}");
}

#[test]
fn a_stream_of_an_unknown_kind_is_stopped_and_the_session_goes_on() {
    let mut session = ready(None);
    [3, 7].into_iter().for_each(|stream| session.handle_opened(stream));
    session.handle_stream_bytes(Duration::ZERO, 3, 0, StreamHead::Unknown(77).encode());
    assert_eq!(outputs(&mut session, Duration::ZERO), [ReceiverOutput::Stop(3)]);
    session.handle_stream_bytes(Duration::ZERO, 3, 2, vec![0; 1000].into());
    session.handle_stream_bytes(Duration::ZERO, 7, 0, frame(0, 9));
    session.handle_stream_end(Duration::ZERO, 7);
    assert_eq!(shown(&mut session, Duration::ZERO), Some((0, 9)));
}

/// Returns the stream of a packet of sound.
fn sound_stream(number: u64, length: usize) -> Bytes {
    let bytes = Bytes::from(vec![7; length]);
    StreamHead::sound_stream(&SoundPacket { number, captured: 1000 + number, bytes })
}

/// Returns a session that was greeted by a sender with sound, and its outputs so far.
fn with_sound() -> (ReceiverSession, Vec<ReceiverOutput>) {
    let mut session = ReceiverSession::new(hello(), true);
    let said = [
        Message::Welcome { version: 1, welcome: welcome(None) },
        Message::Sound(Sound::Stereo),
        Message::Clock(Clock { micros: 7 }),
    ];
    session.handle_control_bytes(&said.map(|message| message.encode()).concat());
    session.handle_ready(Duration::ZERO);
    let did = outputs(&mut session, Duration::ZERO);
    (session, did)
}

fn packets(session: &mut ReceiverSession) -> Vec<(u64, usize)> {
    let packet = |output| match output {
        ReceiverOutput::Sound(packet) => Some((packet.number, packet.bytes.len())),
        _ => None,
    };
    outputs(session, Duration::ZERO).into_iter().filter_map(packet).collect()
}

#[test]
fn sound_is_announced_before_the_welcome_asked_for_and_handed_over_whole_as_it_comes() {
    let (mut session, did) = with_sound();
    let announced = did.iter().position(|output| *output == ReceiverOutput::SoundAnnounced(Sound::Stereo));
    let welcomed = did.iter().position(|output| matches!(output, ReceiverOutput::Welcome { .. }));
    assert!(announced.is_some() && announced < welcomed, "{did:?}");
    session.handle_sound_wanted(Duration::ZERO, true);
    let asked = Message::SoundRequest(SoundRequest { wanted: true }).encode();
    assert!(outputs(&mut session, Duration::ZERO).contains(&ReceiverOutput::Say(asked)));
    for (stream, number) in [(3, 1), (7, 0)] {
        session.handle_opened(stream);
        let bytes = sound_stream(number, 100);
        let (first, last) = (bytes.slice(..60), bytes.slice(60..));
        session.handle_stream_bytes(Duration::ZERO, stream, 0, first);
        assert_eq!(packets(&mut session), [], "a packet comes whole");
        session.handle_stream_bytes(Duration::ZERO, stream, 60, last);
        assert_eq!(packets(&mut session), [(number, 100)]);
    }
    // One that is reset is lost.
    session.handle_opened(11);
    session.handle_stream_bytes(Duration::ZERO, 11, 0, sound_stream(2, 100).slice(..60));
    session.handle_stream_end(Duration::ZERO, 11);
    assert_eq!(packets(&mut session), []);
    session.handle_opened(15);
    session.handle_stream_bytes(
        Duration::ZERO,
        15,
        0,
        [sound_stream(3, 100), Bytes::from_static(b"more")].concat().into(),
    );
    assert_eq!(violation(&mut session), "a packet of sound is longer than it announced");
}

#[test]
fn sound_that_nobody_plays_is_stopped() {
    let (mut session, _) = with_sound();
    session.handle_opened(3);
    session.handle_stream_bytes(Duration::ZERO, 3, 0, sound_stream(0, 100));
    assert!(outputs(&mut session, Duration::ZERO).contains(&ReceiverOutput::Stop(3)));
    // A broadcast without sound is not asked for any.
    let mut session = ready(None);
    session.handle_sound_wanted(Duration::ZERO, true);
    assert_eq!(outputs(&mut session, Duration::ZERO), []);
}

#[test]
fn sound_is_announced_once_and_before_the_clock() {
    let (mut session, _) = with_sound();
    session.handle_control_bytes(&Message::Sound(Sound::Mono).encode());
    assert_eq!(violation(&mut session), "a message came after the clock");
    let mut session = ReceiverSession::new(hello(), true);
    let said = [Message::Welcome { version: 1, welcome: welcome(None) }, Message::Sound(Sound::Mono)];
    session.handle_control_bytes(&said.map(|message| message.encode()).concat());
    session.handle_control_bytes(&Message::Sound(Sound::Mono).encode());
    assert_eq!(violation(&mut session), "no clock follows the welcome");
}

#[test]
fn a_receiver_that_asks_for_a_start_learns_what_it_gets_once_and_one_that_does_not_is_told_nothing() {
    let asked = Some(Start::BeforeNow(Duration::from_secs(9)));
    let greeted = |asked: Option<Start>, starts: &[Option<Start>]| {
        let mut session = ReceiverSession::new(Hello { start: asked, ..hello() }, true);
        let welcome = Message::Welcome { version: 1, welcome: welcome(None) }.encode();
        let starts: Vec<u8> = starts.iter().flat_map(|start| Message::Start(*start).encode()).collect();
        let clock = Message::Clock(Clock { micros: 7 }).encode();
        session.handle_control_bytes(&[&welcome[..], &starts, &clock].concat());
        let did = outputs(&mut session, Duration::ZERO);
        let is_closed = did.iter().any(|output| matches!(output, ReceiverOutput::Close(_)));
        let start =
            did.iter().find_map(|output| if let ReceiverOutput::Start(start) = output { Some(*start) } else { None });
        (start, is_closed)
    };
    let granted = Some(Start::BeforeNow(Duration::from_secs(5)));
    assert_eq!(greeted(asked, &[granted]), (Some(granted), false));
    assert_eq!(greeted(asked, &[None]), (Some(None), false));
    assert_eq!(greeted(asked, &[]), (Some(None), false), "a sender that does not know it");
    assert_eq!(greeted(None, &[]), (None, false));
    assert!(greeted(None, &[granted]).1 && greeted(asked, &[None, granted]).1, "what was not asked for breaks a rule");
}
