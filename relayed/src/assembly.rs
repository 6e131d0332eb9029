//! Puts the groups of a frame together again, to the streams that a session expects, and says when to cut a frame.
//!
//! A relay delivers a frame in two groups, in any order and of any length. The assembly turns them into one stream: the
//! base track's object, then the enhancement track's objects. It ends the stream, and with it the enhancement group,
//! after the base layer of a later frame: a relay fills the packet in which that one ends with the rest of this frame.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::StreamHead;

use crate::by_number::ByNumber;
use crate::event::Piece;
use crate::track::Track;

/// The most frames whose groups are open: a second's, at the rates of cameras.
const MAX_OPEN_FRAMES: usize = 64;
/// The most bytes of a frame's groups that wait for its base layer, or for a random-access frame before it.
const MAX_WAITING_BYTES: usize = 256 * 1024;
/// More than the bytes of a frame's head.
const MAX_HEAD_BYTES: usize = 64;
/// The shortest time after its base layer at which a frame is cut, if no later frame comes.
const MIN_CUT_TIME: Duration = Duration::from_millis(100);
/// How long a frame is open after the base layer of a later one, as a part of an interval.
const GRACE_PART: u32 = 4;
/// The longest time for a base layer or a random-access frame, from its first bytes. A session waits no longer.
const MAX_BASE_TIME: Duration = Duration::from_secs(1);

/// What a driver does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// Report that the sender opened this stream.
    Open(u64),
    /// Pass bytes of this stream to the session, which begin at this offset.
    Bytes(u64, u64, Bytes),
    /// Report that this stream ended.
    End(u64),
    /// Stop the groups of this track with lower numbers (RFC 9000, section 3.5), also those that come later.
    StopBefore(Track, u64),
    /// All base layers up to this group are here.
    Complete(u64),
}

/// Whether frames are passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    /// Until a random-access frame. It is new enough if its group's number is at least that of the first base layer
    /// that came since, or of the newest group of base layers, because all later ones are here or come.
    WaitsForJoin { first: Option<u64>, join: Option<u64> },
    /// From the random-access frame in the group of this number.
    Open { join: u64 },
}

/// The groups of one frame.
#[derive(Debug)]
struct Open {
    /// When its first bytes came, and when all of its base layer was here.
    begun: Duration,
    based: Option<Duration>,
    /// When it is cut because the base layer of a later frame is here.
    closes: Option<Duration>,
    /// Its stream and the bytes passed on.
    stream: Option<(u64, u64)>,
    /// The first bytes of a random-access frame.
    head: Vec<u8>,
    /// Bytes that wait, by track.
    waiting: [Vec<Bytes>; Track::ALL.len()],
    waiting_bytes: usize,
    /// How many bytes of each track were taken. They have no gaps: what follows one is of no use.
    taken: [u64; Track::ALL.len()],
    /// The tracks whose group ended.
    ended: Vec<Track>,
}

/// The groups of a broadcast that are being read. Times are since any origin and never go back.
#[derive(Debug)]
pub(crate) struct Assembly {
    interval: Duration,
    gate: Gate,
    /// The frame of the last random-access frame that was passed on, by its head.
    joined: Option<u64>,
    open: ByNumber<Open>,
    /// The newest frame without an earlier one whose base layer is missing, and later ones with a base layer.
    complete: Option<u64>,
    early: ByNumber<()>,
    /// The newest frame that is finished, and the newest that was passed on.
    finished: Option<u64>,
    passed: Option<u64>,
    /// Streams opened so far.
    streams: u64,
    steps: VecDeque<Step>,
}

/// Input.
impl Assembly {
    /// Assembles video whose frames come every `interval`. It begins with a random-access frame.
    pub(crate) fn new(interval: Duration) -> Self {
        Self {
            interval,
            gate: Gate::WaitsForJoin { first: None, join: None },
            joined: None,
            open: ByNumber::default(),
            complete: None,
            early: ByNumber::default(),
            finished: None,
            passed: None,
            streams: 0,
            steps: VecDeque::new(),
        }
    }

    /// Holds frames back until a random-access frame, because frame `lost` and later ones cannot be decoded. It ignores
    /// what was lost before the last random-access frame.
    pub(crate) fn wait_for_join(&mut self, lost: u64) {
        let is_replaced = self.joined.is_some_and(|joined| lost < joined);
        if is_replaced || matches!(self.gate, Gate::WaitsForJoin { .. }) {
            return;
        }
        self.gate = Gate::WaitsForJoin { first: None, join: None };
        self.complete = None;
        self.early.clear();
        let open: Vec<_> = self.open.iter().map(|(group, _)| group).collect();
        open.into_iter().for_each(|group| self.finish(group));
    }

    /// Notes that a group of base layers began at the relay, perhaps with a random-access frame. Before one is shown,
    /// older base layers are of no use: they would only take its room.
    pub(crate) fn handle_base_group(&mut self, group: u64) {
        let Gate::WaitsForJoin { first, .. } = &mut self.gate else { return };
        if first.is_none_or(|first| first < group) {
            *first = Some(group);
            self.open.drop_before(group);
            self.steps.push_back(Step::StopBefore(Track::Base, group));
        }
    }

    /// Processes bytes of a group. It may have given up what was before them, and then they are dropped.
    pub(crate) fn handle_bytes(&mut self, now: Duration, piece: Piece) {
        let Piece { track, number: group, offset, bytes } = piece;
        if !self.is_wanted(track, group) {
            return;
        }
        if track == Track::More {
            self.cut_before(group);
        }
        if offset != self.open.get(group).map_or(0, |open| open.taken[track as usize]) {
            return;
        }
        self.make_room(group);
        let open = self.open.get_or_insert(group, || Open::new(now));
        let length = bytes.len();
        open.waiting_bytes += length;
        open.waiting[track as usize].push(bytes);
        open.taken[track as usize] += length as u64;
        self.handle_begun(track, group);
        self.pass_on(now, group);
        if let Some(open) = self.open.get_mut(group).filter(|open| open.waiting_bytes > MAX_WAITING_BYTES) {
            open.waiting[track as usize].pop();
            open.waiting_bytes -= length;
            open.taken[track as usize] -= length as u64;
        }
    }

    /// Passes on a packet of sound, as the stream that it is in a session. Sound does not wait for pictures.
    pub(crate) fn handle_sound(&mut self, packet: Bytes) {
        self.streams += 1;
        let stream = stream_number(self.streams);
        self.steps.extend([Step::Open(stream), Step::Bytes(stream, 0, packet), Step::End(stream)]);
    }

    /// Notes the end of a group of this many bytes.
    pub(crate) fn handle_end(&mut self, now: Duration, track: Track, group: u64, length: u64) {
        if track == Track::Base && matches!(self.gate, Gate::WaitsForJoin { .. }) {
            self.steps.push_back(Step::StopBefore(Track::More, group.saturating_add(1)));
        }
        // A base layer or a random-access frame that lacks bytes never ends, and is dropped in time.
        let ends = |open: &&mut Open| track == Track::More || open.taken[track as usize] == length;
        if let Some(open) = self.open.get_mut(group).filter(ends) {
            open.ended.push(track);
            self.pass_on(now, group);
        }
    }

    /// Cuts the frames that had their time.
    pub(crate) fn handle_time(&mut self, now: Duration) {
        let is_due = |(_, open): &(u64, &Open)| self.due(open) <= now;
        let due: Vec<_> = self.open.iter().filter(is_due).map(|(group, _)| group).collect();
        for group in due {
            self.finish(group);
            self.steps.push_back(Step::StopBefore(Track::More, group.saturating_add(1)));
        }
    }
}

/// Output.
impl Assembly {
    /// Returns what to do next.
    pub(crate) fn poll(&mut self) -> Option<Step> {
        self.steps.pop_front()
    }

    /// Returns when to call [`Assembly::handle_time`].
    pub(crate) fn poll_timeout(&self) -> Option<Duration> {
        self.open.iter().map(|(_, open)| self.due(open)).min()
    }

    /// Returns whether it needs the track of random-access frames. Read that track only while it does.
    pub(crate) fn needs_join(&self) -> bool {
        match self.gate {
            Gate::WaitsForJoin { .. } => true,
            Gate::Open { join } => self.open.contains(join),
        }
    }
}

impl Assembly {
    /// Returns when a frame is cut.
    fn due(&self, open: &Open) -> Duration {
        let cut = open.based.map_or(open.begun + MAX_BASE_TIME, |based| based + MIN_CUT_TIME.max(self.interval));
        open.closes.map_or(cut, |closes| closes.min(cut))
    }

    /// Returns whether a group's bytes are of any use.
    fn is_wanted(&self, track: Track, group: u64) -> bool {
        match (self.gate, track) {
            (_, Track::Catalog | Track::Sound) | (Gate::WaitsForJoin { .. }, Track::More) => false,
            (Gate::WaitsForJoin { first, .. }, Track::Base) => first.is_none_or(|first| group >= first),
            (Gate::WaitsForJoin { .. }, Track::Join) => true,
            (_, Track::More) if self.finished.is_some_and(|finished| group <= finished) => self.open.contains(group),
            (Gate::Open { join }, Track::Join) => join == group && self.open.contains(group),
            (Gate::Open { join }, _) => group > join,
        }
    }

    /// Drops the oldest frame if too many are open.
    fn make_room(&mut self, group: u64) {
        if self.open.len() < MAX_OPEN_FRAMES || self.open.contains(group) {
            return;
        }
        let Some(oldest) = self.open.first() else { return };
        self.finish(oldest);
        if let Gate::WaitsForJoin { first, .. } = &mut self.gate {
            *first = first.map(|first| first.max(oldest.saturating_add(1)));
        }
    }

    /// Opens the gate if a random-access frame is new enough.
    fn handle_begun(&mut self, track: Track, group: u64) {
        let Gate::WaitsForJoin { first, join } = &mut self.gate else { return };
        match track {
            Track::Base => *first = first.or(Some(group)),
            Track::Join => *join = Some(join.map_or(group, |join| join.max(group))),
            Track::Catalog | Track::Sound | Track::More => {}
        }
        let (Some(first), Some(newest)) = (*first, *join) else { return };
        // The session has the frames up to this one already, in their other form.
        let least = self.passed.map_or(first, |passed| first.max(passed.saturating_add(1)));
        if newest < least {
            *join = None;
            self.steps.push_back(Step::StopBefore(Track::Join, least));
            return;
        }
        let join = newest;
        self.gate = Gate::Open { join };
        // They were not passed on: nobody knows them.
        self.open.drop_before(join);
        for (group, open) in self.open.iter_mut() {
            let other = if group == join { Track::Base } else { Track::Join };
            open.waiting_bytes -= open.waiting[other as usize].drain(..).map(|bytes| bytes.len()).sum::<usize>();
            open.ended.retain(|track| *track != other);
        }
        // Later frames came earlier than this one.
        let later: Vec<_> = self.open.iter().map(|(group, open)| (group, open.begun)).collect();
        later.into_iter().for_each(|(group, begun)| self.pass_on(begun, group));
    }

    /// Passes on what waits of a frame, if the gate is open, and finishes it if it is whole.
    fn pass_on(&mut self, now: Duration, group: u64) {
        let Gate::Open { join } = self.gate else { return };
        let main = if join == group { Track::Join } else { Track::Base };
        let Self { open, passed, steps, streams, joined, .. } = self;
        let Some(frame) = open.get_mut(group) else { return };
        if !frame.waiting[main as usize].is_empty() || frame.stream.is_some() {
            let stream = *frame.stream.get_or_insert_with(|| {
                *streams += 1;
                let stream = stream_number(*streams);
                steps.push_back(Step::Open(stream));
                (stream, 0)
            });
            let is_based = frame.ended.contains(&main);
            let tracks = if is_based { &[main, Track::More][..] } else { &[main] };
            let (number, mut offset) = stream;
            if main == Track::Join && frame.head.len() < MAX_HEAD_BYTES {
                let waiting = frame.waiting[main as usize].iter().flatten();
                frame.head.extend(waiting.take(MAX_HEAD_BYTES - frame.head.len()));
                *joined = frame_id(&frame.head);
            }
            for bytes in tracks.iter().flat_map(|track| std::mem::take(&mut frame.waiting[*track as usize])) {
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
            self.close_before(now, group);
            self.handle_base(group, main == Track::Join);
        }
        let is_late = self.finished.is_some_and(|finished| finished > group);
        if is_whole || is_late {
            self.finish(group);
        }
    }

    /// Gives earlier frames a little more time, as far as their base layers are here.
    fn close_before(&mut self, now: Duration, group: u64) {
        let closes = now + self.interval / GRACE_PART;
        let earlier = self.open.iter_mut().filter(|(number, open)| *number < group && open.based.is_some());
        for (_, open) in earlier {
            open.closes.get_or_insert(closes);
        }
    }

    /// Cuts earlier frames that would close soon: the rest of a later frame is here, and a relay sends that after
    /// theirs.
    fn cut_before(&mut self, group: u64) {
        let earlier = self.open.iter().filter(|(number, open)| *number < group && open.closes.is_some());
        let earlier: Vec<_> = earlier.map(|(group, _)| group).collect();
        if earlier.is_empty() {
            return;
        }
        earlier.into_iter().for_each(|group| self.finish(group));
        self.steps.push_back(Step::StopBefore(Track::More, group));
    }

    /// Notes that a base layer is here.
    fn handle_base(&mut self, group: u64, is_first: bool) {
        self.early.get_or_insert(group, || ());
        let before = self.complete;
        if is_first {
            self.complete = Some(group);
        }
        while let Some(next) = self.complete.and_then(|complete| complete.checked_add(1))
            && self.early.remove(next).is_some()
        {
            self.complete = Some(next);
        }
        if self.early.len() > MAX_OPEN_FRAMES {
            self.early.remove(self.early.first().unwrap_or_default());
        }
        self.steps.extend(self.complete.filter(|_| self.complete != before).map(Step::Complete));
    }

    fn finish(&mut self, group: u64) {
        let ended = self.open.remove(group).and_then(|open| open.stream);
        self.steps.extend(ended.map(|(stream, _)| Step::End(stream)));
        self.finished = self.finished.max(Some(group));
    }
}

/// Returns the number of a stream that a server opens (RFC 9000, section 2.1).
const fn stream_number(opened: u64) -> u64 {
    4 * opened + 3
}

/// Reads the number of a frame from the beginning of its stream; `None` if the head is not whole.
fn frame_id(stream: &[u8]) -> Option<u64> {
    match StreamHead::parse(stream) {
        Ok(Some((StreamHead::Frame(header), _))) => Some(header.id),
        _ => None,
    }
}

impl Open {
    fn new(now: Duration) -> Self {
        Self {
            begun: now,
            based: None,
            closes: None,
            stream: None,
            head: Vec::new(),
            waiting: Default::default(),
            waiting_bytes: 0,
            taken: [0; Track::ALL.len()],
            ended: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
