//! Puts the groups of a frame together again, to the streams that a session expects, and says when to cut a frame.
//!
//! A relay delivers a frame in two groups, in any order and of any length. The assembly turns them into one stream: the
//! base track's object, then the enhancement track's objects. It ends the stream, and with it the enhancement group,
//! when the base layer of a later frame is there.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;

use crate::mapping::Track;

/// The most frames whose groups are open: a second's, at the rates of cameras.
const MAX_OPEN_FRAMES: usize = 64;
/// The most bytes of a frame's groups that wait for its base layer, or for a random-access frame before it.
const MAX_WAITING_BYTES: usize = 256 * 1024;
/// The shortest time after its base layer at which a frame is cut, if no later frame comes.
const MIN_CUT_TIME: Duration = Duration::from_millis(100);
/// The longest time for a base layer or a random-access frame, from its first bytes. A session waits no longer.
const MAX_BASE_TIME: Duration = Duration::from_secs(1);

/// What a driver does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Report that the sender opened this stream.
    Open(u64),
    /// Pass bytes of this stream to the session, which begin at this offset.
    Bytes(u64, u64, Bytes),
    /// Report that this stream ended.
    End(u64),
    /// Stop the enhancement groups of lower numbers (RFC 9000, section 3.5), also those that come later.
    StopBefore(u64),
}

/// Whether frames are passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    /// Until a random-access frame. It is new enough if its group's number is at least that of the first base layer
    /// that came since, because all later ones are here then.
    WaitsForJoin { first: Option<u64>, join: Option<u64> },
    /// From the random-access frame in the group of this number, if there was any.
    Open { join: Option<u64> },
}

/// The groups of one frame.
#[derive(Debug)]
struct Open {
    /// When its first bytes came, and when all of its base layer was here.
    begun: Duration,
    based: Option<Duration>,
    /// Its stream and the bytes passed on.
    stream: Option<(u64, u64)>,
    /// Bytes that wait, by track.
    waiting: BTreeMap<Track, Vec<Bytes>>,
    waiting_bytes: usize,
    /// The tracks whose group ended.
    ended: Vec<Track>,
}

/// The groups of a broadcast that are being read. Times are since any origin and never go back.
#[derive(Debug)]
pub struct Assembly {
    interval: Duration,
    gate: Gate,
    open: BTreeMap<u64, Open>,
    /// The newest frame that is finished, and the newest that was passed on.
    finished: Option<u64>,
    passed: Option<u64>,
    /// Streams opened so far.
    streams: u64,
    steps: VecDeque<Step>,
}

/// Input.
impl Assembly {
    /// Assembles frames that come every `interval`. Video begins with a random-access frame.
    #[must_use]
    pub const fn new(interval: Duration, is_video: bool) -> Self {
        let gate = if is_video { Gate::WaitsForJoin { first: None, join: None } } else { Gate::Open { join: None } };
        Self { interval, gate, open: BTreeMap::new(), finished: None, passed: None, streams: 0, steps: VecDeque::new() }
    }

    /// Holds frames back until a random-access frame, because later ones cannot be decoded.
    pub fn wait_for_join(&mut self) {
        if matches!(self.gate, Gate::WaitsForJoin { .. }) {
            return;
        }
        self.gate = Gate::WaitsForJoin { first: None, join: None };
        let open: Vec<_> = self.open.keys().copied().collect();
        open.into_iter().for_each(|group| self.finish(group));
    }

    /// Processes bytes of a group, in order.
    pub fn handle_bytes(&mut self, now: Duration, track: Track, group: u64, bytes: Bytes) {
        if !self.is_wanted(track, group) {
            return;
        }
        self.make_room(group);
        let open = self.open.entry(group).or_insert_with(|| Open::new(now));
        if open.waiting_bytes.saturating_add(bytes.len()) > MAX_WAITING_BYTES {
            return;
        }
        open.waiting_bytes += bytes.len();
        open.waiting.entry(track).or_default().push(bytes);
        self.handle_begun(track, group);
        self.pass_on(now, group);
    }

    /// Notes the end of a group.
    pub fn handle_end(&mut self, now: Duration, track: Track, group: u64) {
        if track == Track::Base && matches!(self.gate, Gate::WaitsForJoin { .. }) {
            self.steps.push_back(Step::StopBefore(group.saturating_add(1)));
        }
        if let Some(open) = self.open.get_mut(&group) {
            open.ended.push(track);
            self.pass_on(now, group);
        }
    }

    /// Cuts the frames that had their time.
    pub fn handle_time(&mut self, now: Duration) {
        let is_due = |(_, open): &(&u64, &Open)| self.due(open) <= now;
        let due: Vec<_> = self.open.iter().filter(is_due).map(|(group, _)| *group).collect();
        for group in due {
            self.finish(group);
            self.steps.push_back(Step::StopBefore(group.saturating_add(1)));
        }
    }
}

/// Output.
impl Assembly {
    /// Returns what to do next.
    pub fn poll(&mut self) -> Option<Step> {
        self.steps.pop_front()
    }

    /// Returns when to call [`Assembly::handle_time`].
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.open.values().map(|open| self.due(open)).min()
    }

    /// Returns whether the first frame was passed on: before that the enhancement track is of no use.
    #[must_use]
    pub const fn has_begun(&self) -> bool {
        self.passed.is_some()
    }

    /// Returns whether it needs the track of random-access frames. Read that track only while it does.
    #[must_use]
    pub fn needs_join(&self) -> bool {
        match self.gate {
            Gate::WaitsForJoin { .. } => true,
            Gate::Open { join } => join.is_some_and(|join| self.open.contains_key(&join)),
        }
    }
}

impl Assembly {
    /// Returns when a frame is cut.
    fn due(&self, open: &Open) -> Duration {
        open.based.map_or(open.begun + MAX_BASE_TIME, |based| based + MIN_CUT_TIME.max(self.interval))
    }

    /// Returns whether a group's bytes are of any use.
    fn is_wanted(&self, track: Track, group: u64) -> bool {
        match (self.gate, track) {
            (_, Track::Catalog) | (Gate::WaitsForJoin { .. }, Track::More) => false,
            (Gate::WaitsForJoin { .. }, _) => true,
            (_, Track::More) if self.finished.is_some_and(|finished| group <= finished) => {
                self.open.contains_key(&group)
            }
            (Gate::Open { join }, Track::Join) => join == Some(group) && self.open.contains_key(&group),
            (Gate::Open { join }, _) => join.is_none_or(|join| group > join),
        }
    }

    /// Drops the oldest frame if too many are open.
    fn make_room(&mut self, group: u64) {
        if self.open.len() < MAX_OPEN_FRAMES || self.open.contains_key(&group) {
            return;
        }
        let Some((&oldest, _)) = self.open.first_key_value() else { return };
        self.finish(oldest);
        if let Gate::WaitsForJoin { first, .. } = &mut self.gate {
            *first = first.map(|first| first.max(oldest.saturating_add(1)));
        }
    }

    /// Opens the gate if a random-access frame is new enough.
    fn handle_begun(&mut self, track: Track, group: u64) {
        let Gate::WaitsForJoin { first, join } = &mut self.gate else { return };
        match track {
            Track::Base => *first = Some(first.map_or(group, |first| first.min(group))),
            Track::Join => *join = Some(join.map_or(group, |join| join.max(group))),
            Track::Catalog | Track::More => {}
        }
        let (Some(first), Some(join)) = (*first, *join) else { return };
        // Of a frame that was passed on the session knows the other form.
        if join < first || self.passed >= Some(join) {
            return;
        }
        self.gate = Gate::Open { join: Some(join) };
        // They were not passed on: nobody knows them.
        self.open = self.open.split_off(&join);
        for (group, open) in &mut self.open {
            let other = if *group == join { Track::Base } else { Track::Join };
            open.waiting.remove(&other);
            open.ended.retain(|track| *track != other);
        }
        // Later frames came earlier than this one.
        let later: Vec<_> = self.open.range(join..).map(|(group, open)| (*group, open.begun)).collect();
        later.into_iter().for_each(|(group, begun)| self.pass_on(begun, group));
    }

    /// Passes on what waits of a frame, if the gate is open, and finishes it if it is whole.
    fn pass_on(&mut self, now: Duration, group: u64) {
        let Gate::Open { join } = self.gate else { return };
        let main = if join == Some(group) { Track::Join } else { Track::Base };
        let Self { open, passed, steps, streams, .. } = self;
        let Some(frame) = open.get_mut(&group) else { return };
        if frame.waiting.contains_key(&main) || frame.stream.is_some() {
            let stream = *frame.stream.get_or_insert_with(|| {
                *streams += 1;
                // The numbers of streams that a server opens (RFC 9000, section 2.1).
                let stream = 4 * *streams + 3;
                steps.push_back(Step::Open(stream));
                (stream, 0)
            });
            let is_based = frame.ended.contains(&main);
            let tracks = if is_based { &[main, Track::More][..] } else { &[main] };
            let (number, mut offset) = stream;
            for bytes in tracks.iter().filter_map(|track| frame.waiting.remove(track)).flatten() {
                let length = bytes.len();
                frame.waiting_bytes -= length;
                steps.push_back(Step::Bytes(number, offset, bytes));
                offset += length as u64;
            }
            frame.stream = Some((number, offset));
            *passed = (*passed).max(Some(group));
        }
        if !frame.ended.contains(&main) {
            return;
        }
        let is_new = frame.based.is_none();
        frame.based.get_or_insert(now);
        let is_whole = main == Track::Join || frame.ended.contains(&Track::More);
        if is_new {
            self.cut_before(group);
        }
        let is_late = self.finished.is_some_and(|finished| finished > group);
        if is_whole || is_late {
            self.finish(group);
        }
    }

    /// Cuts earlier frames, as far as their base layers are here.
    fn cut_before(&mut self, group: u64) {
        let earlier = self.open.range(..group).filter(|(_, open)| open.based.is_some());
        let earlier: Vec<_> = earlier.map(|(group, _)| *group).collect();
        earlier.into_iter().for_each(|group| self.finish(group));
        self.steps.push_back(Step::StopBefore(group));
    }

    fn finish(&mut self, group: u64) {
        let ended = self.open.remove(&group).and_then(|open| open.stream);
        self.steps.extend(ended.map(|(stream, _)| Step::End(stream)));
        self.finished = self.finished.max(Some(group));
    }
}

impl Open {
    const fn new(now: Duration) -> Self {
        let waiting = BTreeMap::new();
        Self { begun: now, based: None, stream: None, waiting, waiting_bytes: 0, ended: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME_TIME: Duration = Duration::from_millis(33);

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn bytes(text: &'static str) -> Bytes {
        Bytes::from_static(text.as_bytes())
    }

    /// Writes the steps as words.
    fn steps(assembly: &mut Assembly) -> Vec<String> {
        let word = |step| match step {
            Step::Open(stream) => format!("open {stream}"),
            Step::Bytes(stream, at, bytes) => format!("{stream}+{at} {}", String::from_utf8_lossy(&bytes)),
            Step::End(stream) => format!("end {stream}"),
            Step::StopBefore(group) => format!("stop <{group}"),
        };
        std::iter::from_fn(|| assembly.poll()).map(word).collect()
    }

    /// Brings a whole base layer.
    fn base(assembly: &mut Assembly, now: Duration, group: u64, text: &'static str) {
        assembly.handle_bytes(now, Track::Base, group, bytes(text));
        assembly.handle_end(now, Track::Base, group);
    }

    #[test]
    fn a_frame_is_cut_when_the_next_base_layer_is_there() {
        let mut it = Assembly::new(FRAME_TIME, false);
        base(&mut it, ms(0), 5, "base5");
        assert_eq!(steps(&mut it), ["open 7", "7+0 base5", "stop <5"]);
        it.handle_bytes(ms(1), Track::More, 5, bytes("abc"));
        it.handle_bytes(ms(2), Track::More, 5, bytes("de"));
        assert_eq!(steps(&mut it), ["7+5 abc", "7+8 de"]);
        base(&mut it, ms(33), 6, "base6");
        assert_eq!(steps(&mut it), ["open 11", "11+0 base6", "end 7", "stop <6"]);
        it.handle_bytes(ms(34), Track::More, 5, bytes("late"));
        assert_eq!(steps(&mut it), [""; 0], "the rest of a cut frame");
        it.handle_bytes(ms(35), Track::More, 6, bytes("x"));
        it.handle_end(ms(36), Track::More, 6);
        assert_eq!(steps(&mut it), ["11+5 x", "end 11"], "a whole frame");
        assert_eq!(it.poll_timeout(), None);
    }

    #[test]
    fn enhancement_waits_for_its_base_layer_and_a_late_base_layer_for_nothing() {
        let mut it = Assembly::new(FRAME_TIME, false);
        it.handle_bytes(ms(0), Track::More, 5, bytes("abc"));
        assert_eq!(steps(&mut it), [""; 0]);
        it.handle_bytes(ms(1), Track::Base, 5, bytes("ba"));
        assert_eq!(steps(&mut it), ["open 7", "7+0 ba"]);
        base(&mut it, ms(33), 6, "base6");
        it.handle_end(ms(34), Track::More, 6);
        assert_eq!(
            steps(&mut it),
            ["open 11", "11+0 base6", "stop <6", "end 11"],
            "frame 5 has no base layer to end at"
        );
        it.handle_bytes(ms(35), Track::Base, 5, bytes("se"));
        it.handle_end(ms(36), Track::Base, 5);
        assert_eq!(steps(&mut it), ["7+2 se", "7+4 abc", "stop <5", "end 7"], "all of it, at once");
    }

    #[test]
    fn a_frame_without_a_successor_is_cut_by_time() {
        let mut it = Assembly::new(FRAME_TIME, false);
        base(&mut it, ms(10), 5, "base5");
        it.handle_bytes(ms(11), Track::Base, 6, bytes("stalls"));
        steps(&mut it);
        assert_eq!(it.poll_timeout(), Some(ms(110)));
        it.handle_time(ms(109));
        assert_eq!(steps(&mut it), [""; 0]);
        it.handle_time(ms(110));
        assert_eq!(steps(&mut it), ["end 7", "stop <6"]);
        assert_eq!(it.poll_timeout(), Some(ms(1011)));
        it.handle_time(ms(1011));
        assert_eq!(steps(&mut it), ["end 11", "stop <7"]);
        assert_eq!(Assembly::new(ms(400), false).due(&Open { based: Some(ms(1)), ..Open::new(ms(0)) }), ms(401));
    }

    #[test]
    fn video_begins_with_a_random_access_frame_that_all_later_base_layers_follow() {
        let mut it = Assembly::new(FRAME_TIME, true);
        assert!(it.needs_join());
        it.handle_bytes(ms(0), Track::Join, 3, bytes("old"));
        it.handle_end(ms(0), Track::Join, 3);
        for group in 5..8 {
            base(&mut it, ms(group), group, "base");
            it.handle_bytes(ms(group), Track::More, group, bytes("more"));
        }
        assert_eq!(steps(&mut it), ["stop <6", "stop <7", "stop <8"], "frame 4 never came");
        it.handle_bytes(ms(9), Track::Join, 6, bytes("jo"));
        assert!(it.needs_join(), "its rest comes on that track");
        it.handle_bytes(ms(9), Track::Join, 6, bytes("in"));
        it.handle_end(ms(9), Track::Join, 6);
        let begun = ["open 7", "7+0 jo", "open 11", "11+0 base", "stop <7", "7+2 in", "stop <6", "end 7"];
        assert_eq!(steps(&mut it), begun);
        assert!(!it.needs_join());
        it.handle_bytes(ms(10), Track::Base, 6, bytes("replaced"));
        it.handle_bytes(ms(10), Track::Join, 7, bytes("not needed"));
        assert_eq!(steps(&mut it), [""; 0]);
        it.wait_for_join();
        it.wait_for_join();
        assert_eq!(steps(&mut it), ["end 11"]);
        it.handle_bytes(ms(39), Track::Base, 7, bytes("again"));
        it.handle_bytes(ms(39), Track::Join, 7, bytes("passed on"));
        assert_eq!(steps(&mut it), [""; 0]);
        base(&mut it, ms(40), 8, "base");
        it.handle_bytes(ms(41), Track::Join, 8, bytes("join"));
        assert_eq!(steps(&mut it), ["stop <9", "open 15", "15+0 join"]);
    }

    #[test]
    fn what_a_relay_makes_it_hold_is_bounded() {
        let mut it = Assembly::new(FRAME_TIME, true);
        let piece = Bytes::from(vec![7; 100 * 1024]);
        for group in 0..1000 {
            for _ in 0..5 {
                it.handle_bytes(ms(group), Track::Base, group, piece.clone());
            }
        }
        assert_eq!(it.open.len(), MAX_OPEN_FRAMES);
        let held: usize = it.open.values().map(|open| open.waiting_bytes).sum();
        assert!(held <= MAX_OPEN_FRAMES * MAX_WAITING_BYTES, "{held}");
        it.handle_bytes(ms(1001), Track::Join, 900, bytes("too old"));
        assert_eq!(steps(&mut it), [""; 0], "base layers after it were dropped");
        it.handle_bytes(ms(1002), Track::Base, u64::MAX, bytes("a number"));
        it.handle_end(ms(1002), Track::Base, u64::MAX);
        it.handle_bytes(ms(1002), Track::Join, u64::MAX, bytes("a number"));
        it.handle_time(ms(9000));
        assert_eq!(it.poll_timeout(), None);
    }
}
