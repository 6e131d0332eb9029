//! The subscriber, fed by hand: which frames it returns, in which order, and what it refuses.

use super::*;
use crate::wire::limits::MAX_FRAME;

const INTERVAL: Duration = Duration::from_millis(40);

fn header(id: u64) -> FrameHeader {
    FrameHeader { id, skipped: 0, captured: 0, full: 10, base: 4 }
}

fn at(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn ids(subscriber: &mut Subscriber, now: u64) -> Vec<(u64, usize)> {
    std::iter::from_fn(|| subscriber.poll(at(now))).map(|shown| (shown.header.id, shown.prefix.len())).collect()
}

fn arrive(subscriber: &mut Subscriber, now: u64, id: u64, bytes: usize) {
    subscriber.handle_head(at(now), header(id)).expect("a new frame");
    subscriber.handle_bytes(at(now), id, &vec![0; bytes]).expect("within its length");
}

#[test]
fn a_frame_is_shown_when_it_ends_or_is_due_or_the_next_one_is_there() {
    let mut subscriber = Subscriber::new(INTERVAL, MAX_FRAME);
    arrive(&mut subscriber, 0, 0, 10);
    subscriber.handle_end(0);
    assert_eq!(ids(&mut subscriber, 1), [(0, 10)]);
    arrive(&mut subscriber, 1, 1, 5);
    assert_eq!(ids(&mut subscriber, 2), []);
    arrive(&mut subscriber, 2, 2, 4);
    assert_eq!(ids(&mut subscriber, 7), [], "the one before was not seen for long");
    assert_eq!(subscriber.poll_timeout(), Some(at(21)));
    assert_eq!(ids(&mut subscriber, 21), [(1, 5)], "the next base is there");
    assert_eq!(subscriber.poll_timeout(), Some(at(102)));
    assert_eq!(ids(&mut subscriber, 102), [(2, 4)], "its time is over");
    assert_eq!(subscriber.stats(), ReceiveStats { shown: 3, missing_bases: 0, bytes: 19, useful: 19 });
}

#[test]
fn of_a_picture_that_stays_more_is_given_out_until_a_newer_one_is_there() {
    let mut subscriber = Subscriber::new(INTERVAL, MAX_FRAME);
    arrive(&mut subscriber, 0, 0, 6);
    subscriber.handle_end(0);
    assert_eq!(ids(&mut subscriber, 1), [(0, 6)]);
    let late = |offset| LateHeader { id: 0, offset, full: 30 };
    subscriber.handle_late(late(6), &[0; 8]).expect("of pictures");
    assert_eq!((subscriber.poll_more(at(2)), subscriber.poll_timeout()), (None, Some(at(41))));
    subscriber.handle_late(late(14), &[0; 4]).expect("of pictures");
    let more = subscriber.poll_more(at(41)).expect("an interval passed");
    assert_eq!((more.frame, more.bytes.len(), more.full), (0, 12, 30));
    subscriber.handle_late(late(18), &[0; 12]).expect("of pictures");
    arrive(&mut subscriber, 50, 5, 4);
    assert_eq!(subscriber.poll_more(at(90)), None, "a newer one is there");
    assert_eq!(subscriber.stats().useful, 18);
}

#[test]
fn a_sender_may_say_that_a_picture_stays_and_video_has_no_late_bytes() {
    let mut subscriber = Subscriber::new(INTERVAL, MAX_FRAME);
    let late = LateHeader { id: 0, offset: 6, full: 6 };
    assert_eq!(subscriber.handle_late(late, &[]), Ok(false), "nothing is shown yet");
    arrive(&mut subscriber, 0, 0, 6);
    subscriber.handle_end(0);
    assert_eq!(ids(&mut subscriber, 1), [(0, 6)]);
    assert_eq!(subscriber.handle_late(late, &[]), Ok(true));
    assert_eq!((subscriber.poll_more(at(41)), subscriber.poll_timeout()), (None, None));
    let mut video = Subscriber::new(INTERVAL, MAX_FRAME).of_video();
    assert!(video.handle_late(late, &[0; 2]).is_err());
}

#[test]
fn a_frame_waits_for_older_ones_as_long_as_it_may() {
    let mut subscriber = Subscriber::new(INTERVAL, MAX_FRAME);
    for id in [5, 7] {
        arrive(&mut subscriber, 0, id, 4);
        subscriber.handle_end(id);
    }
    assert_eq!(ids(&mut subscriber, 1), [(5, 4)]);
    assert_eq!(ids(&mut subscriber, 30), []);
    arrive(&mut subscriber, 30, 6, 4);
    subscriber.handle_end(6);
    assert_eq!(ids(&mut subscriber, 30), [(6, 4)], "it was lost once");
    assert_eq!(subscriber.poll_timeout(), Some(at(50)));
    assert_eq!(ids(&mut subscriber, 50), [(7, 4)], "each is seen for half an interval");
    arrive(&mut subscriber, 40, 8, 3);
    arrive(&mut subscriber, 50, 9, 4);
    arrive(&mut subscriber, 50, 11, 4);
    assert_eq!(ids(&mut subscriber, 449), []);
    assert_eq!(ids(&mut subscriber, 450), [(9, 4)], "the base of 8 did not come");
    assert_eq!(ids(&mut subscriber, 470), [(11, 4)], "nor did 10");
    assert_eq!(subscriber.stats(), ReceiveStats { shown: 5, missing_bases: 2, bytes: 23, useful: 20 });
}

#[test]
fn a_base_that_does_not_come_costs_no_other_frame_at_high_frame_rates() {
    for interval in [4, 8, 16, 33] {
        let mut subscriber = Subscriber::new(at(interval), MAX_FRAME);
        for id in (0..100).filter(|&id| id != 8) {
            arrive(&mut subscriber, id * interval, id, 4);
            subscriber.handle_end(id);
            for step in 0..4 {
                ids(&mut subscriber, id * interval + step * interval / 4);
            }
        }
        subscriber.handle_close();
        ids(&mut subscriber, 100 * interval);
        let ReceiveStats { shown, missing_bases, .. } = subscriber.stats();
        assert_eq!((shown, missing_bases), (99, 1), "every {interval} ms");
    }
}

#[test]
fn pictures_that_were_not_encoded_are_not_waited_for() {
    let mut subscriber = Subscriber::new(INTERVAL, MAX_FRAME);
    for (id, skipped) in [(5, 2), (8, 4), (10, 5)] {
        subscriber.handle_head(at(0), FrameHeader { skipped, ..header(id) }).expect("a new frame");
        subscriber.handle_bytes(at(0), id, &[0; 4]).expect("within its length");
        subscriber.handle_end(id);
    }
    assert_eq!(ids(&mut subscriber, 0), [(5, 4)]);
    assert_eq!(ids(&mut subscriber, 20), [(8, 4)]);
    assert_eq!(ids(&mut subscriber, 40), [(10, 4)]);
    subscriber.handle_head(at(1), header(6)).expect("late, but no offence");
    subscriber.handle_head(at(1), FrameHeader { skipped: 5, ..header(11) }).expect("a new frame");
    subscriber.handle_end(11);
    assert_eq!(ids(&mut subscriber, 2), []);
    assert_eq!(
        subscriber.stats(),
        ReceiveStats { shown: 3, missing_bases: 0, bytes: 12, useful: 12 },
        "it may come again"
    );
    subscriber.handle_close();
    assert_eq!(ids(&mut subscriber, 3), []);
    assert_eq!(subscriber.stats(), ReceiveStats { shown: 3, missing_bases: 1, bytes: 12, useful: 12 });
}

#[test]
fn a_base_that_comes_again_counts_where_the_frames_own_stream_has_not_brought_it() {
    let mut subscriber = Subscriber::new(INTERVAL, MAX_FRAME);
    arrive(&mut subscriber, 0, 0, 10);
    subscriber.handle_end(0);
    assert_eq!(ids(&mut subscriber, 0), [(0, 10)]);
    // Three bytes of frame 1 came, the base layer and more of frame 2, and nothing of frame 3; their streams were
    // reset.
    arrive(&mut subscriber, 40, 1, 3);
    subscriber.handle_end(1);
    arrive(&mut subscriber, 40, 2, 6);
    subscriber.handle_end(2);
    assert_eq!(ids(&mut subscriber, 41), []);
    (0..=3).for_each(|id| subscriber.handle_base(at(60), header(id), &[0; 4]));
    assert_eq!(ids(&mut subscriber, 60), [(1, 4)]);
    assert_eq!(ids(&mut subscriber, 80), [(2, 6)]);
    assert_eq!(ids(&mut subscriber, 100), [(3, 4)]);
    assert_eq!(subscriber.stats(), ReceiveStats { shown: 4, missing_bases: 0, bytes: 35, useful: 24 });
    // A stream that its base layer overtook is not a second one.
    subscriber.handle_base(at(100), header(4), &[0; 4]);
    arrive(&mut subscriber, 101, 4, 10);
    assert_eq!(ids(&mut subscriber, 120), [(4, 4)]);
}

#[test]
fn a_packet_that_was_lost_is_waited_for_if_it_comes_again_soon() {
    for (rtt, shown) in [(20, 70), (300, 45)] {
        let mut subscriber = Subscriber::new(INTERVAL, MAX_FRAME);
        subscriber.handle_round_trip(at(rtt));
        arrive(&mut subscriber, 0, 0, 5);
        arrive(&mut subscriber, 40, 1, 4);
        assert_eq!(subscriber.poll_timeout(), Some(at(shown)), "round trip {rtt} ms");
        assert_eq!(ids(&mut subscriber, shown), [(0, 5)]);
    }
}

#[test]
fn what_is_there_at_the_end_is_shown() {
    let mut subscriber = Subscriber::new(INTERVAL, MAX_FRAME);
    arrive(&mut subscriber, 0, 3, 5);
    arrive(&mut subscriber, 0, 4, 3);
    arrive(&mut subscriber, 0, 5, 6);
    assert_eq!(ids(&mut subscriber, 1), []);
    subscriber.handle_close();
    assert_eq!(ids(&mut subscriber, 1), [(3, 5), (5, 6)]);
}

#[test]
fn of_video_a_base_is_waited_for_and_what_was_held_up_is_given_out_at_once() {
    let mut subscriber = Subscriber::new(INTERVAL, MAX_FRAME).of_video();
    for id in (0..12).filter(|&id| id != 1) {
        arrive(&mut subscriber, id * 40, id, 5);
        subscriber.handle_end(id);
        ids(&mut subscriber, id * 40);
    }
    assert_eq!(subscriber.poll_timeout(), Some(at(1080)), "a second after the first that needs it");
    assert_eq!(ids(&mut subscriber, 900), []);
    subscriber.handle_base(at(900), header(1), &[0; 4]);
    let all_but_three: Vec<_> = (1..9).map(|id| (id, if id == 1 { 4 } else { 5 })).collect();
    assert_eq!(ids(&mut subscriber, 900), all_but_three);
    assert_eq!(subscriber.poll_timeout(), Some(at(920)), "the last are seen");
    assert_eq!(subscriber.stats().missing_bases, 0);
}

#[test]
fn a_base_is_waited_for_as_long_as_there_is_room_and_none_is_lost_for_another() {
    for (interval, video) in [(33, true), (16, true), (16, false)] {
        let mut subscriber = Subscriber::new(at(interval), MAX_FRAME);
        if video {
            subscriber = subscriber.of_video();
        }
        let mut shown = Vec::new();
        for id in (0..40).filter(|&id| id != 1) {
            arrive(&mut subscriber, id * interval, id, 5);
            subscriber.handle_end(id);
            shown.extend(ids(&mut subscriber, id * interval));
        }
        subscriber.handle_close();
        shown.extend(ids(&mut subscriber, 40 * interval));
        assert!(shown.iter().map(|(id, _)| *id).eq((0..40).filter(|&id| id != 1)), "{interval} ms: {shown:?}");
        assert_eq!(subscriber.stats().missing_bases, 1, "{interval} ms");
    }
}

#[test]
fn where_there_is_no_room_the_oldest_frame_makes_it_unless_the_new_one_is_older_still() {
    let mut subscriber = Subscriber::new(INTERVAL, MAX_FRAME);
    let most = MAX_OPEN_FRAMES as u64;
    for id in 2..2 + most {
        arrive(&mut subscriber, 0, id, 4);
    }
    arrive(&mut subscriber, 0, 1, 4);
    subscriber.handle_close();
    assert_eq!(ids(&mut subscriber, 0).len(), MAX_OPEN_FRAMES, "frame 1 comes too late, frame 2 is not lost for it");
}

#[test]
fn of_video_a_base_may_come_while_a_second_of_later_frames_waits() {
    let mut subscriber = Subscriber::new(INTERVAL, MAX_FRAME).of_video();
    arrive(&mut subscriber, 0, 0, 4);
    subscriber.handle_end(0);
    assert_eq!(ids(&mut subscriber, 0), [(0, 4)]);
    for id in 2..=30 {
        arrive(&mut subscriber, id * 33, id, 4);
        subscriber.handle_end(id);
        assert_eq!(ids(&mut subscriber, id * 33), [], "frame 1 may still come");
    }
    arrive(&mut subscriber, 1000, 1, 4);
    subscriber.handle_end(1);
    let mut shown = Vec::new();
    while let Some(due) = subscriber.poll_timeout() {
        shown.extend(subscriber.poll(due).map(|frame| frame.header.id));
    }
    assert_eq!(shown, (1..=30).collect::<Vec<_>>());
    assert_eq!(subscriber.stats(), ReceiveStats { shown: 31, missing_bases: 0, bytes: 124, useful: 124 });
}

#[test]
fn of_video_no_base_is_waited_for_once_there_is_no_room() {
    let mut subscriber = Subscriber::new(INTERVAL, MAX_FRAME).of_video();
    arrive(&mut subscriber, 0, 0, 4);
    subscriber.handle_end(0);
    assert_eq!(ids(&mut subscriber, 0), [(0, 4)]);
    let last = 1 + MAX_OPEN_VIDEO_FRAMES as u64;
    for id in 2..=last {
        arrive(&mut subscriber, 0, id, 4);
        subscriber.handle_end(id);
        assert_eq!(subscriber.poll(at(0)).is_some(), id == last, "frame {id}");
    }
    assert_eq!(subscriber.stats().missing_bases, 1);
}

#[test]
fn of_video_a_join_is_asked_for_when_a_frame_is_given_up_once_a_second() {
    let mut subscriber = Subscriber::new(INTERVAL, MAX_FRAME).of_video();
    for id in [0, 1, 3, 4] {
        arrive(&mut subscriber, id * 40, id, 4);
        subscriber.handle_end(id);
        ids(&mut subscriber, id * 40);
    }
    assert_eq!(subscriber.poll_random_access_request(at(1000)), None, "frame 2 may still come");
    assert_eq!(ids(&mut subscriber, 1120), [(3, 4)]);
    assert_eq!(subscriber.poll_random_access_request(at(1120)), Some(RandomAccessRequest { lost: 2 }));
    assert_eq!(subscriber.poll_random_access_request(at(3000)), None, "once for what was lost");
    subscriber.handle_undecoded(4);
    assert_eq!(subscriber.poll_random_access_request(at(2100)), None);
    assert_eq!(subscriber.poll_random_access_request(at(2120)), Some(RandomAccessRequest { lost: 4 }));
    let mut pictures = Subscriber::new(INTERVAL, MAX_FRAME);
    pictures.handle_undecoded(4);
    assert_eq!(pictures.poll_random_access_request(at(0)), None, "pictures need none before");
}

#[test]
fn lies_close_the_connection() {
    let mut subscriber = Subscriber::new(INTERVAL, MAX_FRAME);
    subscriber.handle_head(Duration::ZERO, header(0)).expect("a new frame");
    assert!(subscriber.handle_head(Duration::ZERO, header(0)).is_err());
    assert!(subscriber.handle_bytes(Duration::ZERO, 0, &[0; 11]).is_err());
}

#[test]
fn no_more_of_a_frame_is_kept_than_is_wanted_and_the_rest_still_counts() {
    let mut subscriber = Subscriber::new(INTERVAL, 6);
    subscriber.handle_head(at(0), header(0)).expect("a new frame");
    for _ in 0..5 {
        subscriber.handle_bytes(at(0), 0, &[7; 2]).expect("within its length");
    }
    subscriber.handle_end(0);
    assert_eq!(ids(&mut subscriber, 0), [(0, 6)]);
    subscriber.handle_head(at(1), FrameHeader { base: 10, ..header(1) }).expect("a new frame");
    subscriber.handle_bytes(at(1), 1, &[7; 10]).expect("within its length");
    subscriber.handle_end(1);
    assert_eq!(ids(&mut subscriber, 60), [(1, 6)], "its base came, though not all of it is kept");
    assert_eq!(subscriber.stats(), ReceiveStats { shown: 2, missing_bases: 0, bytes: 20, useful: 12 });
    subscriber.handle_head(at(61), header(2)).expect("a new frame");
    assert!(subscriber.handle_bytes(at(61), 2, &[7; 11]).is_err(), "more than announced");
}

#[test]
fn what_comes_all_at_once_behind_an_outage_makes_room_for_the_newest() {
    let mut subscriber = Subscriber::new(INTERVAL, MAX_FRAME);
    let count = MAX_OPEN_FRAMES as u64 + 4;
    for id in 0..count {
        arrive(&mut subscriber, 0, id, 4);
        subscriber.handle_end(id);
    }
    subscriber.handle_head(at(0), header(3)).expect("late, but no offence");
    for id in 4..count {
        let at = (id - 4) * 20;
        assert_eq!(ids(&mut subscriber, at), [(id, 4)], "from the oldest that there is room for, one by one");
    }
    assert_eq!(subscriber.stats(), ReceiveStats { shown: 16, missing_bases: 4, bytes: 80, useful: 64 });
}
