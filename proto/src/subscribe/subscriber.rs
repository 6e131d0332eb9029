//! A receiver's side: puts frames together and says when to show what came of them.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use crate::path::stats::repaired_in_time;
use crate::subscribe::late::{Late, More};
use crate::wire::close::Close;
use crate::wire::frame::FrameHeader;
use crate::wire::limits::{JOIN_REQUEST_INTERVAL, MAX_OPEN_FRAMES};
use crate::wire::message::JoinRequest;
use crate::wire::stream::LateHeader;

/// How long a receiver waits for a base that did not come while later ones did, if that is longer than two frames. A
/// path that falls to a tenth drops bases, and the sender learns of it from behind what stands in the queue.
const BASE_WAIT: Duration = Duration::from_millis(400);
/// It waits for no more frames than this, so that those which came meanwhile have room.
const BASE_WAIT_FRAMES: u32 = 12;
/// How long it waits for a base of video, which every later frame needs, if there is room for so many frames.
const BASE_WAIT_OF_VIDEO: Duration = Duration::from_secs(1);

/// Frames of video that are behind a shown one before they are no longer shown one by one.
const MAX_BEHIND: usize = 2;
/// Frames whose memory is kept to be used again: one that is decoded, and one that waits for that.
const MAX_SPARES: usize = 2;

/// A frame to show: the prefix that came in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    /// What the frame said of itself.
    pub header: FrameHeader,
    /// As much of it as came; at least its base.
    pub prefix: Bytes,
    /// When its first bytes came.
    pub first: Duration,
    /// When it was given out.
    pub shown: Duration,
}

/// What came so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceiveStats {
    /// Frames that were given out.
    pub shown: u64,
    /// Frames that were encoded and not given out: the base did not come in time, or nothing did.
    pub blank: u64,
    /// Bytes of frames, in time or not.
    pub bytes: u64,
    /// Those that came in time.
    pub useful: u64,
}

/// Puts the frames of one connection together.
#[derive(Debug)]
pub struct Subscriber {
    interval: Duration,
    /// Frames need those before.
    video: bool,
    /// Most bytes that are kept of a frame.
    max_frame: u64,
    open: BTreeMap<u64, Open>,
    /// Of pictures: more of the one that is shown.
    late: Late,
    /// That one, while its own stream goes on, and how many of its bytes came.
    coming: Option<(u64, u64)>,
    /// The memory of frames that were given out, which may be in use.
    spares: Vec<BytesMut>,
    /// The last frame that was given out or given up: its number, and pictures that were skipped before it.
    last: Option<(u64, u64)>,
    /// When the last frame was given out.
    shown: Option<Duration>,
    /// The path's.
    rtt: Duration,
    /// Of video, the newest frame that was given up, until it is told.
    lost: Option<u64>,
    /// When that was last told.
    told: Option<Duration>,
    /// Nothing more comes.
    closed: bool,
    stats: ReceiveStats,
}

#[derive(Debug)]
struct Open {
    header: FrameHeader,
    /// Bytes that came, and those of them that are kept.
    came: u64,
    bytes: BytesMut,
    /// Most bytes that are kept.
    most: usize,
    first: Duration,
    /// When its base was there.
    based: Option<Duration>,
    finished: bool,
    /// It has the base that came again: what else comes of it is not put together with that.
    again: bool,
}

impl Subscriber {
    /// For frames that come every `interval`, of which no more than the first `max_frame` bytes are kept: of
    /// [`MAX_OPEN_FRAMES`] so many are held at most.
    #[must_use]
    pub fn new(interval: Duration, max_frame: u64) -> Self {
        Self {
            interval,
            video: false,
            max_frame,
            open: BTreeMap::new(),
            late: Late::new(max_frame),
            coming: None,
            spares: Vec::with_capacity(MAX_SPARES),
            last: None,
            shown: None,
            rtt: Duration::ZERO,
            lost: None,
            told: None,
            closed: false,
            stats: ReceiveStats::default(),
        }
    }

    /// For video, whose frames need those before: bases are waited for longer, and what was held up is given out at once.
    #[must_use]
    pub const fn of_video(mut self) -> Self {
        self.video = true;
        self
    }

    /// What came so far.
    #[must_use]
    pub const fn stats(&self) -> ReceiveStats {
        self.stats
    }

    /// A stream began with this head. If too many frames are open, as when a path that was down carries again, the oldest
    /// is given up.
    ///
    /// # Errors
    /// If the frame is on the way already.
    pub fn handle_head(&mut self, now: Duration, header: FrameHeader) -> Result<(), Close> {
        if self.last.is_some_and(|(last, _)| header.id <= last) {
            return Ok(());
        }
        match self.open.get(&header.id) {
            // Its base came again, and overtook it.
            Some(open) if open.again => return Ok(()),
            Some(_) => return Err(Close::violation("a frame came on two streams")),
            None => self.open(now, header),
        }
        Ok(())
    }

    /// The base of a frame came again, on a stream for such. It counts where the frame's own stream has not brought it.
    pub fn handle_base(&mut self, now: Duration, header: FrameHeader, base: &[u8]) {
        self.stats.bytes += base.len() as u64;
        if base.is_empty() || self.last.is_some_and(|(last, _)| header.id <= last) {
            return;
        }
        if !self.open.contains_key(&header.id) {
            self.open(now, header);
        }
        let honest = |open: &&mut Open| open.header == header && open.based.is_none();
        if let Some(open) = self.open.get_mut(&header.id).filter(honest) {
            open.bytes.clear();
            open.bytes.extend_from_slice(&base[..base.len().min(open.most)]);
            (open.based, open.finished, open.again) = (Some(now), true, true);
        }
    }

    fn open(&mut self, now: Duration, header: FrameHeader) {
        if self.open.len() >= MAX_OPEN_FRAMES
            && let Some(oldest) = self.open.first_entry()
        {
            // One that is older still would be given up next.
            if header.id < *oldest.key() {
                return;
            }
            let oldest = oldest.remove();
            self.pass(&oldest.header);
            self.stats.blank += 1;
            self.lost = Some(oldest.header.id);
        }
        // All that may be kept of it, at once: what grows leaves as much behind again.
        let most = usize::try_from(header.full.min(self.max_frame)).unwrap_or(usize::MAX);
        let bytes = self.memory(most);
        let open = Open { header, came: 0, bytes, most, first: now, based: None, finished: false, again: false };
        self.open.insert(header.id, open);
    }

    /// Memory for `most` bytes, used again if whoever was given a frame has let go of it.
    fn memory(&mut self, most: usize) -> BytesMut {
        let free = self.spares.iter_mut().position(|spare| spare.try_reclaim(most));
        free.map_or_else(|| BytesMut::with_capacity(most), |free| self.spares.swap_remove(free))
    }

    /// More bytes came of a picture whose own stream ended, behind `header`; none where the sender says no more than that it
    /// stays. Gives whether it is the one that was given out last.
    ///
    /// # Errors
    /// Of video, whose frames have no late bytes.
    pub fn handle_late(&mut self, header: LateHeader, bytes: &[u8]) -> Result<bool, Close> {
        if self.video {
            return Err(Close::violation("late bytes came of video"));
        }
        self.stats.bytes += bytes.len() as u64;
        if self.last.is_none_or(|(last, _)| header.id >= last) {
            self.late.handle_bytes(header.id, header.offset, bytes, Some(header.full));
        }
        Ok(self.late.is_shown(header.id))
    }

    /// More bytes of frame `id` came, in their order. Those of a frame that was dropped are only counted, and of one that was
    /// shown they come with [`Subscriber::poll_more`] if the sender sends late bytes of it.
    ///
    /// # Errors
    /// If they are more than the head announced.
    pub fn handle_bytes(&mut self, now: Duration, id: u64, bytes: &[u8]) -> Result<(), Close> {
        self.stats.bytes += bytes.len() as u64;
        if let Some((shown, came)) = self.coming.filter(|(shown, _)| *shown == id) {
            self.late.handle_bytes(id, came, bytes, None);
            self.coming = Some((shown, came + bytes.len() as u64));
            return Ok(());
        }
        let Some(open) = self.open.get_mut(&id).filter(|open| !open.again) else { return Ok(()) };
        open.came += bytes.len() as u64;
        if open.came > open.header.full {
            return Err(Close::violation("a frame has more bytes than it announced"));
        }
        let kept = bytes.len().min(open.most - open.bytes.len());
        open.bytes.extend_from_slice(&bytes[..kept]);
        if open.based.is_none() && open.came >= open.header.base && open.came > 0 {
            open.based = Some(now);
        }
        Ok(())
    }

    /// The stream of frame `id` ended: no more of it comes.
    pub fn handle_end(&mut self, id: u64) {
        if let Some(open) = self.open.get_mut(&id) {
            open.finished = true;
        }
    }

    /// The path's round trip is this now.
    pub const fn handle_round_trip(&mut self, rtt: Duration) {
        self.rtt = rtt;
    }

    /// The connection ended: what is there is not waited for.
    pub const fn handle_close(&mut self) {
        self.closed = true;
    }

    /// The next frame to show, in order; `None` until more comes or [`Subscriber::poll_timeout`].
    pub fn poll(&mut self, now: Duration) -> Option<Arrived> {
        while let Some((&id, open)) = self.open.first_key_value() {
            if self.due(id, open).is_none_or(|due| now < due) {
                return None;
            }
            let Open { header, mut bytes, first, based, came, again, .. } = self.open.remove(&id)?;
            self.pass(&header);
            let prefix = bytes.split().freeze();
            if self.spares.len() == MAX_SPARES {
                self.spares.remove(0);
            }
            self.spares.push(bytes);
            if based.is_some() {
                self.stats.shown += 1;
                self.stats.useful += prefix.len() as u64;
                self.shown = Some(now);
                if !self.video {
                    self.late.handle_shown(now, id, prefix.len() as u64);
                    self.coming = (!again).then_some((id, came));
                }
                return Some(Arrived { header, prefix, first, shown: now });
            }
            self.stats.blank += 1;
            self.lost = Some(id);
        }
        None
    }

    /// More of the picture that was given out last, an interval after what came of it before, while the sender says that it
    /// stays and nothing newer is there. To be asked behind [`Subscriber::poll`].
    pub fn poll_more(&mut self, now: Duration) -> Option<More> {
        if !self.open.is_empty() || self.late.due(self.interval).is_none_or(|due| now < due && !self.closed) {
            return None;
        }
        let more = self.late.take(now)?;
        self.stats.useful += more.bytes.len() as u64;
        Some(more)
    }

    /// Asks for a join where a frame of video was given up, and so what follows cannot be decoded as it should; once a second at
    /// most. To be asked behind [`Subscriber::poll`].
    pub fn poll_join_request(&mut self, now: Duration) -> Option<JoinRequest> {
        let soon = self.told.is_some_and(|told| now.saturating_sub(told) < JOIN_REQUEST_INTERVAL);
        if !self.video || soon {
            return None;
        }
        let lost = self.lost.take()?;
        self.told = Some(now);
        Some(JoinRequest { lost })
    }

    /// Whoever decodes lost this frame, which came: what follows cannot be decoded as it should.
    pub fn handle_undecoded(&mut self, frame: u64) {
        self.lost = self.lost.max(Some(frame));
    }

    /// A frame is given out or given up, and with it those before it that did not come.
    fn pass(&mut self, header: &FrameHeader) {
        let missing = self.last.map_or(0, |last| missing(last, header));
        self.stats.blank += missing;
        if missing > 0 {
            self.lost = Some(header.id - 1);
        }
        self.last = Some((header.id, header.skipped));
    }

    /// When to poll again even if nothing comes.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        match self.open.first_key_value() {
            Some((id, open)) => self.due(*id, open),
            None if self.closed => None,
            None => self.late.due(self.interval),
        }
    }

    /// When the oldest frame is given out, or given up.
    fn due(&self, id: u64, open: &Open) -> Option<Duration> {
        if self.closed {
            return Some(Duration::ZERO);
        }
        let turn = self.in_turn(open);
        if open.based.is_none() {
            // It may come again on another stream.
            return self.overdue();
        }
        let ready = if turn { self.whole(id, open) } else { self.overdue()? };
        if self.video && self.behind(id) > MAX_BEHIND {
            return Some(ready);
        }
        // What was held up comes several frames at a time; at once, only the last of them would be seen.
        let seen = self.shown.map_or(Duration::ZERO, |shown| shown + self.interval / 2);
        Some(ready.max(seen))
    }

    /// Frames behind this one whose base is there.
    fn behind(&self, id: u64) -> usize {
        self.open.range(id.saturating_add(1)..).filter(|(_, open)| open.based.is_some()).count()
    }

    /// When bases that did not come are no longer waited for: at once where there is no room for another frame.
    fn overdue(&self) -> Option<Duration> {
        if self.open.len() >= MAX_OPEN_FRAMES {
            return Some(Duration::ZERO);
        }
        let first = self.open.values().filter(|open| open.based.is_some()).map(|open| open.first).min();
        let wait = if self.video { BASE_WAIT_OF_VIDEO } else { BASE_WAIT.min(BASE_WAIT_FRAMES * self.interval) };
        first.map(|first| first + wait.max(2 * self.interval))
    }

    /// When no more of a frame is waited for: it ended, was overtaken, or was cut by the sender more than an interval ago,
    /// longer than the last packet takes on a link that carries one a frame.
    fn whole(&self, id: u64, open: &Open) -> Duration {
        if open.finished {
            return Duration::ZERO;
        }
        let latest = open.first + 5 * self.interval / 2;
        self.overtaken(id).map_or(latest, |at| at.min(latest))
    }

    /// How long the end of a frame is waited for when the next one is there: the two may come in one packet, and a packet that
    /// was lost comes again after a round trip, if that is soon enough.
    fn grace(&self) -> Duration {
        repaired_in_time(self.rtt, self.interval).unwrap_or(self.interval / 8)
    }

    /// When a newer frame's base will have been there for long enough.
    fn overtaken(&self, id: u64) -> Option<Duration> {
        let newer = self.open.range(id.saturating_add(1)..).filter_map(|(_, open)| open.based).min();
        newer.map(|based| based + self.grace())
    }

    /// Whether all frames before it were given out.
    fn in_turn(&self, open: &Open) -> bool {
        self.last.is_none_or(|last| missing(last, &open.header) == 0)
    }
}

/// Frames that were encoded between the one that was `last` and this one.
fn missing((id, skipped): (u64, u64), header: &FrameHeader) -> u64 {
    (header.id - id - 1).saturating_sub(header.skipped.saturating_sub(skipped))
}

#[cfg(test)]
mod tests;
