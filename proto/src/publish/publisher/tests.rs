//! The publisher, driven by hand: what it opens, writes, finishes and sends again.

use bytes::BytesMut;

use super::*;
use crate::wire::bases::Bases;
use crate::wire::frame::{FrameHeader, RandomAccessFrame};
use crate::wire::stream::StreamHead;

const INTERVAL: Duration = Duration::from_millis(40);
const BASE: usize = 100;

fn frame(id: u64) -> Frame {
    let bytes = Bytes::from(vec![1; 1000]);
    let join = (id == 0).then(|| RandomAccessFrame { base: BASE, bytes: bytes.clone() });
    Frame { id, skipped: 0, captured: 0, since: id, base: BASE, bytes, join }
}

fn due(publisher: &mut Publisher, id: u64, rate_drops: u64) {
    let path = PathStats { rate_drops, rtt: INTERVAL, ..PathStats::default() };
    publisher.handle_frame(INTERVAL * u32::try_from(id).expect("few"), &frame(id), &path);
}

/// Makes a frame due that is the same picture as frame `since`.
fn due_again(publisher: &mut Publisher, id: u64, since: u64) {
    let frame = Frame { since, ..frame(id) };
    publisher.handle_frame(INTERVAL * u32::try_from(id).expect("few"), &frame, &PathStats::default());
}

/// Writes up to `room` bytes; returns what `read` finds in the finished streams.
fn finished<T>(publisher: &mut Publisher, open: &mut Vec<u8>, mut room: usize, read: impl Fn(&[u8]) -> T) -> Vec<T> {
    let mut streams = Vec::new();
    while let Some(step) = publisher.poll() {
        match step {
            Step::Open { .. } | Step::BaseRetransmission { .. } => open.clear(),
            Step::Write => {
                let offered = publisher.unwritten().concat();
                let taken = offered.len().min(room);
                if taken == 0 {
                    break;
                }
                open.extend_from_slice(&offered[..taken]);
                room -= taken;
                publisher.handle_written(Duration::ZERO, taken, &PathStats::default());
            }
            Step::Finish => streams.push(read(open)),
        }
    }
    streams
}

/// Writes up to `room` bytes; returns the heads of the finished streams, and how many bytes followed each.
fn streams(publisher: &mut Publisher, open: &mut Vec<u8>, room: usize) -> Vec<(StreamHead, usize)> {
    finished(publisher, open, room, |stream| {
        let (head, length) = StreamHead::parse(stream).expect("a head").expect("all of it");
        (head, stream.len() - length)
    })
}

#[test]
fn while_a_picture_stays_what_was_not_sent_of_it_follows_and_a_new_one_ends_that() {
    let mut publisher = Publisher::new(INTERVAL, None);
    let mut open = Vec::new();
    due(&mut publisher, 0, 0);
    assert_eq!(streams(&mut publisher, &mut open, 300), []);
    for id in 1..4 {
        due_again(&mut publisher, id, 0);
    }
    let sent = streams(&mut publisher, &mut open, 200);
    let [(StreamHead::Frame(first), length)] = sent[..] else { panic!("{sent:?}") };
    assert_eq!((first.id, first.full), (0, 1000));
    due(&mut publisher, 4, 0);
    let sent = streams(&mut publisher, &mut open, 10_000);
    let [(StreamHead::Late(late), more), (StreamHead::Frame(next), whole)] = sent[..] else { panic!("{sent:?}") };
    assert_eq!((late.id, late.offset, late.full), (0, length as u64, 1000));
    assert!(more > 150 && length + more < 500, "{length} and {more}");
    assert_eq!((next.id, next.skipped, whole), (4, 3, 1000), "those that were not sent are not waited for");
    let stats = publisher.stats();
    assert_eq!((stats.frames, stats.skipped, stats.cut, stats.full), (2, 0, 1, 2000));
}

#[test]
fn late_bytes_keep_within_the_cap_and_end_with_the_picture() {
    let cap = Some(Bitrate::of(400, INTERVAL).expect("a rate"));
    let mut publisher = Publisher::new(INTERVAL, cap);
    let mut open = Vec::new();
    due(&mut publisher, 0, 0);
    let mut sent = vec![streams(&mut publisher, &mut open, 10_000)];
    for id in 1..6 {
        due_again(&mut publisher, id, 0);
        sent.push(streams(&mut publisher, &mut open, 10_000));
    }
    assert!(sent.iter().flatten().all(|(_, bytes)| *bytes <= 400), "{sent:?}");
    let bytes: usize = sent.iter().flatten().map(|(_, bytes)| bytes).sum();
    assert_eq!(bytes, 1000, "all of it, once: {sent:?}");
    assert!(sent[5].is_empty() && publisher.poll().is_none(), "nothing is left");
    let said = (6..600).filter(|&id| {
        due_again(&mut publisher, id, 0);
        let sent = streams(&mut publisher, &mut open, 10_000);
        sent.iter().any(|(head, bytes)| matches!(head, StreamHead::Late(late) if late.offset == 1000 && *bytes == 0))
    });
    assert_eq!(said.count(), 2, "that it stays, every ten seconds of 24");
}

#[test]
fn of_a_picture_that_stays_more_bytes_may_be_made() {
    let mut publisher = Publisher::new(INTERVAL, None);
    let mut open = Vec::new();
    due(&mut publisher, 0, 0);
    streams(&mut publisher, &mut open, 10_000);
    let longer = Frame { since: 0, bytes: vec![1; 1700].into(), ..frame(1) };
    publisher.handle_frame(INTERVAL, &longer, &PathStats::default());
    publisher.handle_end();
    assert_eq!(streams(&mut publisher, &mut open, 10_000).len(), 1, "what was begun ends");
    publisher.handle_frame(2 * INTERVAL, &Frame { id: 2, ..longer }, &PathStats::default());
    let sent = streams(&mut publisher, &mut open, 10_000);
    let [(StreamHead::Late(late), bytes)] = sent[..] else { panic!("{sent:?}") };
    assert_eq!((late.offset, late.full, bytes), (1000, 1700, 700));
}

/// Writes up to `room` bytes; returns the frames on the finished streams with the bytes of each without its head. For a
/// stream of base layers it lists their frames.
fn drive(publisher: &mut Publisher, open: &mut Vec<u8>, room: usize) -> Vec<(Vec<u64>, usize)> {
    finished(publisher, open, room, carried)
}

fn carried(stream: &[u8]) -> (Vec<u64>, usize) {
    match StreamHead::parse(stream).expect("a sound head").expect("a whole head") {
        (StreamHead::Frame(FrameHeader { id, .. }), length) => (vec![id], stream.len() - length),
        (_, length) => {
            let mut bases = Bases::default();
            bases.handle_bytes(&stream[length..]);
            let ids = std::iter::from_fn(|| bases.poll().expect("sound bases")).map(|(header, _)| header.id);
            (ids.collect(), stream.len() - length)
        }
    }
}

#[test]
fn of_video_no_base_is_left_out_and_all_go_in_order_before_anything_else() {
    let mut publisher = Publisher::new(INTERVAL, None).of_video(INTERVAL);
    let mut open = Vec::new();
    for id in 0..4 {
        due(&mut publisher, id, 0);
        assert_eq!(drive(&mut publisher, &mut open, 10), []);
    }
    let bases = drive(&mut publisher, &mut open, 1_000_000);
    assert_eq!(bases, [(vec![0], BASE), (vec![1], BASE), (vec![2], BASE), (vec![3], 1000)]);
    assert_eq!((publisher.stats().frames, publisher.stats().skipped, publisher.stats().cut), (4, 0, 3));
}

#[test]
fn of_video_a_fall_of_the_rate_brings_the_bases_on_the_way_again_and_then_those_that_wait() {
    let mut publisher = Publisher::new(INTERVAL, None).of_video(INTERVAL);
    let mut open = Vec::new();
    for id in 0..10 {
        due(&mut publisher, id, 0);
        drive(&mut publisher, &mut open, 1_000_000);
    }
    // Part of the base layer of frame 10 is written; frame 11 waits.
    due(&mut publisher, 10, 0);
    drive(&mut publisher, &mut open, 20);
    due(&mut publisher, 11, 0);
    publisher.handle_arrived(7);
    due(&mut publisher, 12, 1);
    assert_eq!(
        publisher.poll(),
        Some(Step::BaseRetransmission { first: 8 }),
        "from the first that is not known to have arrived"
    );
    open.clear();
    let streams = drive(&mut publisher, &mut open, 1_000_000);
    let ids: Vec<_> = streams.iter().map(|(ids, _)| ids.clone()).collect();
    assert_eq!(ids, [vec![8, 9, 10], vec![11], vec![12]]);
    assert_eq!((streams[1].1, streams[2].1), (BASE, 1000));
}

#[test]
fn of_video_a_frame_ends_when_the_queue_is_busy_until_the_next_is_due() {
    let queue = Duration::from_millis(15);
    let path = PathStats { rtt: INTERVAL + queue, min_rtt: INTERVAL, ..PathStats::default() };
    for (video, late, ends) in [(true, 24, false), (true, 25, true), (false, 25, false)] {
        let mut publisher = Publisher::new(INTERVAL, None);
        if video {
            publisher = publisher.of_video(INTERVAL);
        }
        publisher.handle_frame(INTERVAL, &frame(0), &path);
        assert_eq!(publisher.poll(), Some(Step::Open { frame: 0 }));
        publisher.handle_written(INTERVAL, publisher.unwritten().concat().len(), &path);
        publisher.handle_written(INTERVAL + Duration::from_millis(late), 50, &path);
        let next = if ends { Step::Finish } else { Step::Write };
        assert_eq!(publisher.poll(), Some(next), "video {video}, {late} ms later");
    }
}

#[test]
fn of_video_a_frame_that_waits_for_room_ends_with_the_packet_that_the_next_one_follows() {
    let mut publisher = Publisher::new(INTERVAL, None).of_video(INTERVAL);
    let bytes = Bytes::from(vec![1; 10_000]);
    let join = Some(RandomAccessFrame { base: BASE, bytes: bytes.clone() });
    // A packet takes 30 ms, and waits for 20.
    let rtt = Duration::from_millis(60);
    let min_rtt = Duration::from_millis(40);
    let path = PathStats { window: 2400, in_flight: 2400, rtt, min_rtt, ..PathStats::default() };
    let frame = Frame { id: 0, skipped: 0, captured: 0, since: 0, base: BASE, bytes, join };
    publisher.handle_frame(Duration::ZERO, &frame, &path);
    assert!(matches!(publisher.poll(), Some(Step::Open { frame: 0 })));
    let mut written = 0;
    while publisher.poll() == Some(Step::Write) {
        let count = publisher.unwritten().concat().len();
        written += count;
        publisher.handle_written(Duration::ZERO, count, &PathStats { unsent: written as u64, ..path });
    }
    let payload = path.payload();
    assert_eq!(written as u64, payload, "one packet, and not what the window has no room for");
    assert_eq!(publisher.room(&path).held, 2 * payload);
    assert_eq!(publisher.room(&PathStats { window: 2500, ..path }).held, 3 * payload, "the next one waits whole");
    let fast = PathStats { window: 9600, ..path };
    assert_eq!(publisher.room(&fast).pending, Some(9600), "a packet takes 7.5 ms: none waits");
}

#[test]
fn of_video_a_frame_is_written_in_one_where_the_path_has_room_for_all_of_it() {
    let path = PathStats { window: 12_000, rtt: INTERVAL, min_rtt: INTERVAL, ..PathStats::default() };
    let queue = PathStats { window: 120_000, in_flight: 60_000, rtt: INTERVAL * 8, ..path };
    let cases = [
        ("room", path, true),
        ("none, since packets are on the way", PathStats { in_flight: 11_000, ..path }, false),
        ("none, since bytes are unsent", PathStats { unsent: 11_000, ..path }, false),
        ("a slow path", PathStats { window: 3000, ..path }, false),
        ("a queue that keeps it busy", queue, false),
    ];
    for (what, path, whole) in cases {
        let mut publisher = Publisher::new(INTERVAL, None).of_video(INTERVAL);
        publisher.handle_frame(Duration::ZERO, &frame(0), &path);
        assert_eq!(publisher.poll(), Some(Step::Open { frame: 0 }));
        let [head, body] = publisher.unwritten();
        assert_eq!(body.len(), if whole { 1000 } else { BASE }, "{what}");
        // The bytes that the transport left are written as usual.
        publisher.handle_written(Duration::ZERO, head.len() + 1, &path);
        assert_eq!(publisher.unwritten()[1].len(), BASE - 1, "{what}");
        publisher.handle_written(Duration::ZERO, BASE - 1, &path);
        assert!(!publisher.owes_base(), "{what}");
    }
}

#[test]
fn of_video_a_queue_that_has_left_on_a_long_path_ends_no_frame() {
    // Everything in flight has left since the last round trip began, except a part.
    let rtt = INTERVAL * 4;
    let min_rtt = INTERVAL * 3;
    for (in_flight, ends) in [(12_000, true), (6000, false)] {
        let path = PathStats { window: 12_000, in_flight, rtt, min_rtt, ..PathStats::default() };
        let mut publisher = Publisher::new(INTERVAL, None).of_video(INTERVAL);
        publisher.handle_frame(Duration::ZERO, &frame(0), &path);
        assert_eq!(publisher.poll(), Some(Step::Open { frame: 0 }));
        publisher.handle_written(Duration::ZERO, publisher.unwritten().concat().len(), &path);
        publisher.handle_written(Duration::from_millis(1), 50, &path);
        assert_eq!(publisher.poll(), Some(if ends { Step::Finish } else { Step::Write }), "{in_flight} in flight");
    }
}

#[test]
fn of_video_bases_that_go_again_do_not_fill_the_queue_at_once_and_what_is_silent_is_slow() {
    let mut publisher = Publisher::new(INTERVAL, None).of_video(INTERVAL);
    let mut path = PathStats { rtt: INTERVAL * 4, delivered: 1, in_flight: 5000, ..PathStats::default() };
    let long = |id| Frame { base: 900, ..frame(id) };
    for id in 0..10 {
        publisher.handle_frame(INTERVAL * u32::try_from(id).expect("few"), &long(id), &path);
        drive(&mut publisher, &mut Vec::new(), 1_000_000);
        path.delivered += 1;
    }
    assert_eq!(publisher.bandwidth_estimate(&path), path.target_rate());
    path.delivered -= 1;
    for (id, most) in [(10, 240_000), (11, 120_000), (12, 80_000)] {
        publisher.handle_frame(INTERVAL * id, &long(id.into()), &path);
        assert_eq!(
            publisher.bandwidth_estimate(&path),
            Bitrate::from_bits(most),
            "one packet of 1200 bytes in that time"
        );
        let fast = PathStats { window: 10 * path.window, ..path };
        assert_eq!(publisher.bandwidth_estimate(&fast), Bitrate::from_bits(600_000), "a quarter of what it was");
        drive(&mut publisher, &mut Vec::new(), 1_000_000);
    }
    let probed = PathStats { rate_before_probe: Some(Bitrate::from_bits(400_000)), in_flight: 0, ..path };
    assert_eq!(publisher.bandwidth_estimate(&probed), Bitrate::from_bits(400_000), "a probe says nothing");
    (path.rate_drops, path.window, path.delivered) = (1, 2400, path.delivered + 1);
    publisher.handle_frame(INTERVAL * 13, &long(13), &path);
    assert_eq!(publisher.packets_beyond(&path), 3, "a window's worth of twelve frames' bases");
    drive(&mut publisher, &mut Vec::new(), 20);
    path.delivered += 1;
    publisher.handle_frame(INTERVAL * 14, &long(14), &path);
    assert_eq!(publisher.packets_beyond(&path), 0);
}

#[test]
fn after_a_picture_that_stayed_a_round_trip_without_acknowledgements_is_no_silence() {
    let mut publisher = Publisher::new(INTERVAL, None).of_video(INTERVAL);
    let rtt = INTERVAL * 4;
    let mut path = PathStats { rtt, min_rtt: rtt, delivered: 1, ..PathStats::default() };
    publisher.handle_frame(INTERVAL, &frame(0), &path);
    // Ten seconds later something moves, and its bytes are on the way.
    publisher.handle_frame(INTERVAL * 300, &frame(1), &path);
    path.in_flight = 5000;
    for id in 301..306 {
        publisher.handle_frame(INTERVAL * id, &frame(id.into()), &path);
        assert_eq!(publisher.bandwidth_estimate(&path), path.target_rate(), "frame {id}");
    }
    publisher.handle_frame(INTERVAL * 306, &frame(306), &path);
    assert!(publisher.bandwidth_estimate(&path) < path.target_rate(), "now it is one");
}

#[test]
fn of_video_a_receiver_that_lacks_a_frame_gets_a_join_but_not_one_after_another() {
    let mut publisher = Publisher::new(INTERVAL, None).of_video(INTERVAL);
    let ask = |publisher: &mut Publisher, id: u32, lost| {
        publisher.handle_random_access_request(INTERVAL * id, RandomAccessRequest { lost });
        publisher.needs_random_access()
    };
    let joined = |publisher: &mut Publisher, id: u64| {
        let frame = Frame { join: Some(RandomAccessFrame { base: 7, bytes: vec![2; 7].into() }), ..frame(id) };
        let path = PathStats { rtt: INTERVAL, ..PathStats::default() };
        publisher.handle_frame(INTERVAL * u32::try_from(id).expect("few"), &frame, &path);
        drive(publisher, &mut Vec::new(), 1_000_000)
    };
    assert!(ask(&mut publisher, 0, 0), "it begins with one");
    assert_eq!(joined(&mut publisher, 0), [(vec![0], 7)]);
    assert_eq!(joined(&mut publisher, 1), [(vec![1], 1000)]);
    assert!(ask(&mut publisher, 2, 1));
    assert_eq!(joined(&mut publisher, 2), [(vec![2], 7)]);
    assert!(!ask(&mut publisher, 40, 1), "the one after frame 1 was sent");
    assert_eq!(joined(&mut publisher, 40), [(vec![40], 1000)]);
    assert!(ask(&mut publisher, 40, 39));
    joined(&mut publisher, 41);
    assert!(!ask(&mut publisher, 42, 41), "half a second was not over");
    assert!(ask(&mut publisher, 60, 41));
}

#[test]
fn of_video_no_second_fall_loses_bases_that_go_again() {
    let mut publisher = Publisher::new(INTERVAL, None).of_video(INTERVAL);
    let mut open = Vec::new();
    for id in 0..10 {
        due(&mut publisher, id, 0);
        drive(&mut publisher, &mut open, 1_000_000);
    }
    publisher.handle_arrived(5);
    due(&mut publisher, 10, 1);
    drive(&mut publisher, &mut open, 20);
    (11..16).for_each(|id| due(&mut publisher, id, 1));
    due(&mut publisher, 16, 2);
    assert_eq!(publisher.poll(), Some(Step::BaseRetransmission { first: 6 }));
    open.clear();
    let mut ids: Vec<_> = drive(&mut publisher, &mut open, 1_000_000).into_iter().flat_map(|(ids, _)| ids).collect();
    ids.dedup();
    assert_eq!(ids, (6..=16).collect::<Vec<_>>());
}

/// Sends frames of 20 packets over a path with this round trip and cap; one interval in five loses a packet. Returns
/// the heads of the streams that follow the last of 60 frames, with the bytes after each.
fn on_a_lossy_path(rtt: Duration, cap: Option<Bitrate>) -> Vec<(StreamHead, Vec<u8>)> {
    behind_long_frames(cap, |id| PathStats { rtt, lost: id / 5 * 1200, ..PathStats::default() })
}

/// Does the same on any path.
fn behind_long_frames(cap: Option<Bitrate>, path: impl Fn(u64) -> PathStats) -> Vec<(StreamHead, Vec<u8>)> {
    streams_of(Publisher::new(INTERVAL, cap), path)
}

/// Does the same for a given publisher.
fn streams_of(mut publisher: Publisher, path: impl Fn(u64) -> PathStats) -> Vec<(StreamHead, Vec<u8>)> {
    let mut open = Vec::new();
    let mut streams = Vec::new();
    for id in 0..60 {
        let path = path(id);
        let bytes: Vec<u8> = (0..24_000_u32).map(|at| at.wrapping_mul(at).to_le_bytes()[1]).collect();
        publisher.handle_frame(
            INTERVAL * u32::try_from(id).expect("few"),
            &Frame { bytes: bytes.into(), ..frame(id) },
            &path,
        );
        streams.clear();
        while let Some(step) = publisher.poll() {
            match step {
                Step::Open { .. } | Step::BaseRetransmission { .. } => {
                    open.clear();
                    publisher.handle_opened(3 + 4 * id);
                }
                Step::Write => {
                    let offered = publisher.unwritten().concat();
                    open.extend_from_slice(&offered);
                    publisher.handle_written(Duration::ZERO, offered.len(), &path);
                }
                Step::Finish => {
                    let (head, length) = StreamHead::parse(&open).expect("a head").expect("all of it");
                    streams.push((head, open[length..].to_vec()));
                }
            }
        }
    }
    streams
}

#[test]
fn where_what_is_lost_comes_again_too_late_parity_follows_a_frame_and_makes_up_for_a_packet() {
    let streams = on_a_lossy_path(Duration::from_millis(100), None);
    let [(frame, body), (StreamHead::Parity(header), parity)] = &streams[..] else { panic!("{streams:?}") };
    let mut stream = frame.encode().to_vec();
    stream.extend_from_slice(body);
    assert_eq!((header.stream, header.length), (3 + 4 * 59, stream.len() as u64));
    for lost in [0, 1180, 5000, stream.len() - 1180] {
        let mut repair = crate::Repair::new(*header, parity.clone().into(), BytesMut::new()).expect("it fits");
        repair.handle_bytes(0, &stream[..lost]).expect("within");
        repair.handle_bytes(lost as u64 + 1180, &stream[lost + 1180..]).expect("within");
        let came: Vec<u8> = std::iter::from_fn(|| repair.poll()).flatten().collect();
        assert!(came == stream, "without the packet at {lost}");
    }
}

#[test]
fn a_receiver_that_learns_no_numbers_of_streams_gets_no_parity() {
    let fec_controller = |id| PathStats { lost: id * 1200, rtt: Duration::from_millis(100), ..PathStats::default() };
    let has_parity =
        |streams: &[(StreamHead, Vec<u8>)]| streams.iter().any(|(head, _)| matches!(head, StreamHead::Parity(_)));
    let path = |id: u64| fec_controller(id / 5);
    assert!(has_parity(&behind_long_frames(None, path)));
    assert!(!has_parity(&streams_of(Publisher::new(INTERVAL, None).without_parity(), path)));
}

#[test]
fn parity_counts_against_the_cap() {
    let cap = Bitrate::from_bits(3_000_000);
    let streams = on_a_lossy_path(Duration::from_millis(100), Some(cap));
    assert!(matches!(streams[..], [_, (StreamHead::Parity(_), _)]), "{streams:?}");
    let bytes: usize = streams.iter().map(|(head, body)| head.encode().len() + body.len()).sum();
    assert!(bytes as u64 <= cap.bytes_in(INTERVAL) && bytes > 12_000, "{bytes}");
}

#[test]
fn no_parity_is_sent_where_what_is_lost_comes_again_in_time() {
    let streams = on_a_lossy_path(Duration::from_millis(20), None);
    assert!(matches!(streams[..], [(StreamHead::Frame(_), _)]), "{streams:?}");
}

#[test]
fn what_is_only_tried_is_parity_beside_what_the_path_is_known_to_carry() {
    let [policer_rate, probe_rate] = [2_500_000, 500_000].map(Bitrate::from_bits);
    let path = PathStats {
        policer_rate: Some(policer_rate),
        probe_rate,
        rtt: Duration::from_millis(20),
        ..PathStats::default()
    };
    let [known, more] =
        [PathStats { policer_rate: Some(Bitrate::from_bits(2_000_000)), probe_rate: Bitrate::default(), ..path }, path]
            .map(|path| behind_long_frames(None, |_| path));
    let [(StreamHead::Frame(_), known)] = &known[..] else { panic!("{known:?}") };
    let [(StreamHead::Frame(_), body), (StreamHead::Parity(header), parity)] = &more[..] else { panic!("{more:?}") };
    assert_eq!((header.pieces, parity.len()), (2, 2 * 1180), "a quarter of nine packets");
    let all = (body.len() + parity.len()) as u64;
    assert!(
        body.len() + 100 >= known.len() && all <= policer_rate.bytes_in(INTERVAL),
        "{} {} {all}",
        body.len(),
        known.len()
    );
}
