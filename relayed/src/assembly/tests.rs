use nestcast_proto::FrameHeader;

use super::*;

const FRAME_TIME: Duration = Duration::from_millis(33);

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn bytes(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

/// The first bytes of a group.
fn first(track: Track, number: u64, text: &'static str) -> Piece {
    after(0, track, number, text)
}

/// The bytes of a group after others.
fn after(offset: u64, track: Track, number: u64, text: &'static str) -> Piece {
    Piece { track, number, offset, bytes: bytes(text) }
}

/// Returns an assembly that passes frames on.
fn begun(interval: Duration) -> Assembly {
    Assembly { gate: Gate::Open { join: 0 }, ..Assembly::new(interval) }
}

/// Writes the steps as words.
fn steps(assembly: &mut Assembly) -> Vec<String> {
    let word = |step| match step {
        Step::Open(stream) => format!("open {stream}"),
        Step::Bytes(stream, at, bytes) => format!("{stream}+{at} {}", String::from_utf8_lossy(&bytes)),
        Step::End(stream) => format!("end {stream}"),
        Step::StopBefore(track, group) => format!("stop {} <{group}", track.name()),
        Step::Complete(group) => format!("all <={group}"),
    };
    std::iter::from_fn(|| assembly.poll()).map(word).collect()
}

/// Brings a whole base layer.
fn base(assembly: &mut Assembly, now: Duration, group: u64, text: &'static str) {
    assembly.handle_bytes(now, first(Track::Base, group, text));
    assembly.handle_end(now, Track::Base, group, text.len() as u64);
}

#[test]
fn a_frame_is_cut_when_the_rest_of_the_next_one_is_there() {
    let mut it = begun(FRAME_TIME);
    base(&mut it, ms(0), 5, "base5");
    assert_eq!(steps(&mut it), ["open 7", "7+0 base5"]);
    it.handle_bytes(ms(1), first(Track::More, 5, "abc"));
    it.handle_bytes(ms(2), after(3, Track::More, 5, "de"));
    assert_eq!(steps(&mut it), ["7+5 abc", "7+8 de"]);
    base(&mut it, ms(33), 6, "base6");
    it.handle_bytes(ms(34), after(5, Track::More, 5, "in the same packet"));
    assert_eq!(steps(&mut it), ["open 11", "11+0 base6", "7+10 in the same packet"]);
    it.handle_bytes(ms(35), first(Track::More, 6, "x"));
    assert_eq!(steps(&mut it), ["end 7", "stop more <6", "11+5 x"]);
    it.handle_bytes(ms(35), after(23, Track::More, 5, "late"));
    assert_eq!(steps(&mut it), [""; 0], "the rest of a cut frame");
    it.handle_end(ms(36), Track::More, 6, 1);
    assert_eq!(steps(&mut it), ["end 11"], "a whole frame");
    assert_eq!(it.poll_timeout(), None);
}

#[test]
fn a_frame_is_cut_a_little_after_the_next_base_layer() {
    let mut it = begun(ms(40));
    base(&mut it, ms(0), 5, "base5");
    base(&mut it, ms(40), 6, "base6");
    steps(&mut it);
    assert_eq!(it.poll_timeout(), Some(ms(50)));
    base(&mut it, ms(45), 7, "base7");
    steps(&mut it);
    it.handle_time(ms(50));
    assert_eq!(steps(&mut it), ["end 7", "stop more <6"]);
    assert_eq!(it.poll_timeout(), Some(ms(55)));
}

#[test]
fn enhancement_waits_for_its_base_layer_and_a_late_base_layer_for_nothing() {
    let mut it = begun(FRAME_TIME);
    it.handle_bytes(ms(0), first(Track::More, 5, "abc"));
    assert_eq!(steps(&mut it), [""; 0]);
    it.handle_bytes(ms(1), first(Track::Base, 5, "ba"));
    assert_eq!(steps(&mut it), ["open 7", "7+0 ba"]);
    base(&mut it, ms(33), 6, "base6");
    it.handle_end(ms(34), Track::More, 6, 0);
    assert_eq!(steps(&mut it), ["open 11", "11+0 base6", "end 11"], "frame 5 has no base layer to end at");
    it.handle_bytes(ms(35), after(2, Track::Base, 5, "se"));
    it.handle_end(ms(36), Track::Base, 5, 4);
    assert_eq!(steps(&mut it), ["7+2 se", "7+4 abc", "end 7"], "all of it, at once");
}

#[test]
fn a_frame_without_a_successor_is_cut_by_time() {
    let mut it = begun(FRAME_TIME);
    base(&mut it, ms(10), 5, "base5");
    it.handle_bytes(ms(11), first(Track::Base, 6, "stalls"));
    steps(&mut it);
    assert_eq!(it.poll_timeout(), Some(ms(110)));
    it.handle_time(ms(109));
    assert_eq!(steps(&mut it), [""; 0]);
    it.handle_time(ms(110));
    assert_eq!(steps(&mut it), ["end 7", "stop more <6"]);
    assert_eq!(it.poll_timeout(), Some(ms(1011)));
    it.handle_time(ms(1011));
    assert_eq!(steps(&mut it), ["end 11", "stop more <7"]);
    assert_eq!(begun(ms(400)).due(&Open { based: Some(ms(1)), ..Open::new(ms(0)) }), ms(401));
}

#[test]
fn video_begins_with_a_random_access_frame_that_all_later_base_layers_follow() {
    let mut it = Assembly::new(FRAME_TIME);
    assert!(it.needs_join());
    it.handle_base_group(2);
    base(&mut it, ms(0), 2, "old");
    it.handle_base_group(5);
    base(&mut it, ms(0), 3, "old");
    assert_eq!(steps(&mut it), ["stop base <2", "stop more <3", "stop base <5", "stop more <4"]);
    it.handle_bytes(ms(0), first(Track::Join, 3, "old"));
    it.handle_end(ms(0), Track::Join, 3, 3);
    for group in 5..8 {
        base(&mut it, ms(group), group, "base");
        it.handle_bytes(ms(group), first(Track::More, group, "more"));
    }
    let held = ["stop join <5", "stop more <6", "stop more <7", "stop more <8"];
    assert_eq!(steps(&mut it), held, "frame 4 never came");
    it.handle_bytes(ms(9), first(Track::Join, 6, "jo"));
    assert!(it.needs_join(), "its rest comes on that track");
    it.handle_bytes(ms(9), after(2, Track::Join, 6, "in"));
    it.handle_end(ms(9), Track::Join, 6, 4);
    let begun = ["open 7", "7+0 jo", "open 11", "11+0 base", "7+2 in", "all <=7", "end 7"];
    assert_eq!(steps(&mut it), begun);
    assert!(!it.needs_join());
    it.handle_bytes(ms(10), first(Track::Base, 6, "replaced"));
    it.handle_bytes(ms(10), first(Track::Join, 7, "not needed"));
    assert_eq!(steps(&mut it), [""; 0]);
    it.wait_for_join(7);
    it.wait_for_join(8);
    assert_eq!(steps(&mut it), ["end 11"]);
    it.handle_bytes(ms(39), first(Track::Base, 7, "again"));
    it.handle_bytes(ms(39), first(Track::Join, 7, "passed on"));
    assert_eq!(steps(&mut it), ["stop join <8"]);
    base(&mut it, ms(40), 8, "base");
    it.handle_bytes(ms(41), first(Track::Join, 8, "join"));
    assert_eq!(steps(&mut it), ["stop more <9", "open 15", "15+0 join"]);
}

#[test]
fn what_was_lost_before_a_random_access_frame_needs_no_other_one() {
    let mut it = Assembly::new(FRAME_TIME);
    let header = FrameHeader { id: 40, skipped: 0, captured: 1, full: 9000, base: 3000 };
    let head = StreamHead::Frame(header).encode();
    it.handle_bytes(ms(0), first(Track::Base, 1040, "replaced"));
    for (offset, bytes) in [(0, head.slice(..2)), (2, head.slice(2..))] {
        it.handle_bytes(ms(1), Piece { track: Track::Join, number: 1040, offset, bytes });
    }
    it.handle_end(ms(2), Track::Join, 1040, head.len() as u64);
    assert!(!it.needs_join());
    it.wait_for_join(39);
    assert!(!it.needs_join(), "the frames up to 39 are not shown any more");
    it.wait_for_join(40);
    assert!(it.needs_join());
}

#[test]
fn sound_does_not_wait_for_pictures() {
    let mut it = Assembly::new(FRAME_TIME);
    it.handle_sound(bytes("packet"));
    assert_eq!(steps(&mut it), ["open 7", "7+0 packet", "end 7"]);
}

#[test]
fn it_knows_up_to_where_no_base_layer_is_missing() {
    let mut it = Assembly::new(FRAME_TIME);
    base(&mut it, ms(0), 5, "base");
    it.handle_bytes(ms(1), first(Track::Join, 6, "join"));
    base(&mut it, ms(2), 8, "base");
    let mut known = || {
        let all = steps(&mut it);
        all.into_iter().filter(|step| step.starts_with("all")).collect::<Vec<_>>()
    };
    assert_eq!(known(), [""; 0], "it has not begun");
    it.handle_end(ms(3), Track::Join, 6, 4);
    base(&mut it, ms(4), 10, "base");
    let mut known = || {
        let all = steps(&mut it);
        all.into_iter().filter(|step| step.starts_with("all")).collect::<Vec<_>>()
    };
    assert_eq!(known(), ["all <=6"]);
    base(&mut it, ms(5), 7, "base");
    base(&mut it, ms(6), 9, "base");
    let known = steps(&mut it);
    assert_eq!(known.iter().filter(|step| step.starts_with("all")).collect::<Vec<_>>(), ["all <=8", "all <=10"]);
}

#[test]
fn what_a_relay_makes_it_hold_is_bounded() {
    let mut it = Assembly::new(FRAME_TIME);
    let bytes = Bytes::from(vec![7; 100 * 1024]);
    for number in 0..1000 {
        for at in 0..5 {
            let piece = Piece { track: Track::Base, number, offset: at * 100 * 1024, bytes: bytes.clone() };
            it.handle_bytes(ms(number), piece);
        }
    }
    assert_eq!(it.open.len(), MAX_OPEN_FRAMES);
    let held: usize = it.open.iter().map(|(_, open)| open.waiting_bytes).sum();
    assert!(held <= MAX_OPEN_FRAMES * MAX_WAITING_BYTES, "{held}");
    it.handle_bytes(ms(1001), first(Track::Join, 900, "too old"));
    let stopped = steps(&mut it);
    assert!(stopped.iter().all(|step| step.starts_with("stop join")), "base layers after it were dropped: {stopped:?}");
    it.handle_bytes(ms(1002), first(Track::Base, u64::MAX, "a number"));
    it.handle_end(ms(1002), Track::Base, u64::MAX, 8);
    it.handle_bytes(ms(1002), first(Track::Join, u64::MAX, "a number"));
    it.handle_time(ms(9000));
    assert_eq!(it.poll_timeout(), None);
}

#[test]
fn a_group_of_which_too_much_waits_has_no_gap() {
    const LENGTH: u64 = 200 * 1024;
    let mut it = begun(FRAME_TIME);
    let whole = Bytes::from(vec![7; 200 * 1024]);
    let piece = |track, number, at: u64| Piece { track, number, offset: at * LENGTH, bytes: whole.clone() };
    it.handle_bytes(ms(0), piece(Track::More, 5, 0));
    it.handle_bytes(ms(0), piece(Track::More, 5, 1));
    it.handle_bytes(ms(0), after(2 * LENGTH, Track::More, 5, "after the gap"));
    it.handle_bytes(ms(1), piece(Track::Base, 5, 0));
    it.handle_bytes(ms(1), piece(Track::Base, 5, 1));
    it.handle_end(ms(1), Track::Base, 5, 2 * LENGTH);
    it.handle_end(ms(1), Track::More, 5, 2 * LENGTH + 13);
    let at = |index: u64| Step::Bytes(7, index * LENGTH, whole.clone());
    let all: Vec<_> = std::iter::from_fn(|| it.poll()).collect();
    assert_eq!(all, [Step::Open(7), at(0), at(1), at(2), Step::End(7)], "what is passed on at once has no limit");
    let mut it = Assembly::new(FRAME_TIME);
    (0..2).for_each(|at| it.handle_bytes(ms(0), piece(Track::Base, 6, at)));
    it.handle_bytes(ms(0), after(2 * LENGTH, Track::Base, 6, "after the gap"));
    it.handle_end(ms(0), Track::Base, 6, 2 * LENGTH + 13);
    assert!(it.open.get(6).is_some_and(|open| open.ended.is_empty()), "it never ends");
    it.handle_time(ms(1000));
    assert_eq!(it.open.len(), 0);
}

#[test]
fn a_base_layer_that_was_given_up_does_not_begin_in_its_middle() {
    let mut it = begun(FRAME_TIME);
    it.handle_bytes(ms(0), first(Track::Base, 5, "ba"));
    it.handle_time(ms(1000));
    assert_eq!(steps(&mut it), ["open 7", "7+0 ba", "end 7", "stop more <6"]);
    it.handle_bytes(ms(1001), after(2, Track::Base, 5, "se"));
    it.handle_end(ms(1001), Track::Base, 5, 4);
    assert_eq!((steps(&mut it), it.open.len()), (Vec::new(), 0));
    base(&mut it, ms(1002), 6, "base");
    assert_eq!(steps(&mut it), ["open 11", "11+0 base"]);
}

#[test]
fn a_random_access_frame_that_was_given_up_does_not_begin_in_its_middle() {
    let mut it = Assembly::new(FRAME_TIME);
    base(&mut it, ms(0), 5, "base");
    it.handle_bytes(ms(1), first(Track::Join, 5, "jo"));
    base(&mut it, ms(2), 6, "base");
    it.wait_for_join(6);
    steps(&mut it);
    it.handle_bytes(ms(3), after(2, Track::Join, 5, "in"));
    it.handle_end(ms(3), Track::Join, 5, 4);
    base(&mut it, ms(4), 7, "base");
    assert!(it.needs_join() && !steps(&mut it).iter().any(|step| step.starts_with("open")));
    it.handle_bytes(ms(5), first(Track::Join, 7, "join"));
    it.handle_end(ms(5), Track::Join, 7, 4);
    assert_eq!(steps(&mut it), ["open 15", "15+0 join", "all <=7", "end 15"]);
}

#[test]
fn the_rest_of_a_frame_whose_beginning_was_not_wanted_is_not_wanted_either() {
    let mut it = Assembly::new(FRAME_TIME);
    base(&mut it, ms(0), 6, "base");
    it.handle_bytes(ms(0), first(Track::More, 6, "before"));
    it.handle_bytes(ms(1), first(Track::Join, 5, "join"));
    base(&mut it, ms(1), 5, "base");
    it.wait_for_join(9);
    it.handle_bytes(ms(2), first(Track::Join, 6, "join"));
    it.handle_end(ms(2), Track::Join, 6, 4);
    base(&mut it, ms(3), 7, "base");
    steps(&mut it);
    it.handle_bytes(ms(4), after(6, Track::More, 7, "a gap before this"));
    it.handle_end(ms(5), Track::More, 7, 23);
    assert_eq!(steps(&mut it), ["end 11"], "a cut frame");
}
