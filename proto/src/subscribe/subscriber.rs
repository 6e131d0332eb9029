//! The receiver's frames: reassembles them and decides when to show each.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use crate::path::stats::repaired_in_time;
use crate::subscribe::late::{Late, More};
use crate::wire::close::Close;
use crate::wire::frame::FrameHeader;
use crate::wire::limits::{MAX_OPEN_FRAMES, MAX_OPEN_VIDEO_FRAMES, RANDOM_ACCESS_REQUEST_INTERVAL};
use crate::wire::message::RandomAccessRequest;
use crate::wire::stream::LateHeader;

/// How long a receiver waits for a missing base layer while later ones come, or two frames if that is longer. A path
/// whose rate falls to a tenth drops base layers, and the sender learns of it only after the queue has drained.
const BASE_WAIT: Duration = Duration::from_millis(400);
/// The most frames that it waits for, so that those which came meanwhile have room.
const BASE_WAIT_FRAMES: u32 = 12;
/// How long it waits for a base layer of video, which every later frame needs, while there is room for that many
/// frames.
const BASE_WAIT_OF_VIDEO: Duration = Duration::from_secs(1);

/// The most later frames of video that may be here while frames are still shown one by one.
const MAX_LAG_FRAMES: usize = 2;
/// The most buffers kept for reuse: one frame is decoded while another waits.
const MAX_SPARES: usize = 2;

/// A frame to show: the prefix that came in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedFrame {
    /// The frame's header.
    pub header: FrameHeader,
    /// The bytes that came, at least the base layer.
    pub prefix: Bytes,
    /// When the first bytes came.
    pub first: Duration,
    /// When it was returned.
    pub shown: Duration,
}

/// What came so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceiveStats {
    /// Frames returned.
    pub shown: u64,
    /// Frames with a missing base: they were encoded, but the base layer or the whole frame did not come in time.
    pub missing_bases: u64,
    /// Bytes of frames, in time or not.
    pub bytes: u64,
    /// Bytes that came in time.
    pub useful: u64,
}

/// Reassembles the frames of one connection.
#[derive(Debug)]
pub struct Subscriber {
    interval: Duration,
    /// Whether frames depend on earlier ones.
    video: bool,
    /// The most bytes kept of a frame.
    max_frame: u64,
    open: BTreeMap<u64, Open>,
    /// For pictures: the progressive refinement of the picture that is shown.
    late: Late,
    /// The picture that is shown, while its own stream continues, and how many of its bytes came.
    coming: Option<(u64, u64)>,
    /// Buffers of returned frames, which may still be in use.
    spares: Vec<BytesMut>,
    /// The last frame returned or dropped: its number, and how many pictures were skipped before it.
    last: Option<(u64, u64)>,
    /// For video: whether a frame may have begun before all that are here, while none was returned.
    may_lack_first: bool,
    /// When the last frame was returned.
    shown: Option<Duration>,
    /// The path's round-trip time.
    rtt: Duration,
    /// For video, the newest dropped frame, until it is reported.
    lost: Option<u64>,
    /// When a dropped frame was last reported.
    told: Option<Duration>,
    /// Whether the connection has ended.
    closed: bool,
    stats: ReceiveStats,
}

#[derive(Debug)]
struct Open {
    header: FrameHeader,
    /// Bytes that came, and those of them that are kept.
    came: u64,
    bytes: BytesMut,
    /// The most bytes that are kept.
    most: usize,
    first: Duration,
    /// When its base layer was complete.
    based: Option<Duration>,
    finished: bool,
    /// Whether it has the base layer that was sent again; other bytes of the frame are then ignored.
    again: bool,
}

impl Subscriber {
    /// Reassembles frames that come every `interval`. It keeps at most the first `max_frame` bytes of each, and at most
    /// [`MAX_OPEN_FRAMES`] pictures or [`MAX_OPEN_VIDEO_FRAMES`] frames of video.
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
            may_lack_first: false,
            shown: None,
            rtt: Duration::ZERO,
            lost: None,
            told: None,
            closed: false,
            stats: ReceiveStats::default(),
        }
    }

    /// Switches to video, whose frames depend on earlier ones: base layers are waited for longer, and delayed frames
    /// come at once.
    #[must_use]
    pub const fn of_video(mut self) -> Self {
        self.video = true;
        self
    }

    /// Returns what came so far.
    #[must_use]
    pub const fn stats(&self) -> ReceiveStats {
        self.stats
    }

    /// Begins a frame with the head of its stream. If too many frames are open, as after a path was down, the oldest is
    /// dropped.
    ///
    /// # Errors
    /// If the frame has already begun on another stream.
    pub fn handle_head(&mut self, now: Duration, header: FrameHeader) -> Result<(), Close> {
        if self.last.is_some_and(|(last, _)| header.id <= last) {
            return Ok(());
        }
        match self.open.get(&header.id) {
            // Its base layer was sent again, and overtook it.
            Some(open) if open.again => return Ok(()),
            Some(_) => return Err(Close::violation("a frame came on two streams")),
            None => self.open(now, header),
        }
        Ok(())
    }

    /// Processes a base layer that was sent again. It counts unless the frame's own stream has brought the base layer.
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
        if self.open.len() >= self.room()
            && let Some(oldest) = self.open.first_entry()
        {
            // A frame older than all of them would be dropped next.
            if header.id < *oldest.key() {
                return;
            }
            let oldest = oldest.remove();
            self.pass(&oldest.header, oldest.again);
            self.stats.missing_bases += 1;
            self.lost = Some(oldest.header.id);
        }
        // Allocates all that may be kept at once: growing would leave the same amount unused again.
        let most = usize::try_from(header.full.min(self.max_frame)).unwrap_or(usize::MAX);
        let bytes = self.memory(most);
        let open = Open { header, came: 0, bytes, most, first: now, based: None, finished: false, again: false };
        self.open.insert(header.id, open);
    }

    /// Returns a buffer of `most` bytes, reused if the holder of an earlier frame has released it.
    fn memory(&mut self, most: usize) -> BytesMut {
        let free = self.spares.iter_mut().position(|spare| spare.try_reclaim(most));
        free.map_or_else(|| BytesMut::with_capacity(most), |free| self.spares.swap_remove(free))
    }

    /// Adds late bytes (progressive refinement) of a picture whose own stream ended. Without bytes, `header` only says
    /// that the picture stays. Returns whether it is the picture that was returned last.
    ///
    /// # Errors
    /// If the broadcast is video, whose frames have no late bytes.
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

    /// Adds bytes of frame `id`, in order. Bytes of a dropped frame are only counted. Bytes of a shown frame come
    /// through [`Subscriber::poll_more`] if the sender sends late bytes of it.
    ///
    /// # Errors
    /// If there are more than the head announced.
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

    /// Notes that the stream of frame `id` ended.
    pub fn handle_end(&mut self, id: u64) {
        if let Some(open) = self.open.get_mut(&id) {
            open.finished = true;
        }
    }

    /// Returns whether no frame was returned or dropped yet.
    pub(crate) const fn is_before_first(&self) -> bool {
        self.last.is_none()
    }

    /// Sets whether the transport shows that a frame may have begun before all frames that are here. Video begins with a
    /// random-access frame, so later frames wait for it as for any missing base layer.
    pub(crate) const fn set_may_lack_first(&mut self, may_lack: bool) {
        self.may_lack_first = self.video && may_lack;
    }

    /// Sets the path's round-trip time.
    pub const fn handle_round_trip(&mut self, rtt: Duration) {
        self.rtt = rtt;
    }

    /// Notes that the connection ended: frames that are here are no longer delayed.
    pub const fn handle_close(&mut self) {
        self.closed = true;
    }

    /// Returns the next frame to show, in order; `None` until more comes or [`Subscriber::poll_timeout`].
    pub fn poll(&mut self, now: Duration) -> Option<ReceivedFrame> {
        while let Some((&id, open)) = self.open.first_key_value() {
            if self.due(id, open).is_none_or(|due| now < due) {
                return None;
            }
            let Open { header, mut bytes, first, based, came, again, .. } = self.open.remove(&id)?;
            self.pass(&header, again);
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
                return Some(ReceivedFrame { header, prefix, first, shown: now });
            }
            self.stats.missing_bases += 1;
            self.lost = Some(id);
        }
        None
    }

    /// Returns more of the picture that was returned last, one interval after its last bytes, while the sender says
    /// that it stays and nothing newer is here. Call it after [`Subscriber::poll`].
    pub fn poll_more(&mut self, now: Duration) -> Option<More> {
        if !self.open.is_empty() || self.late.due(self.interval).is_none_or(|due| now < due && !self.closed) {
            return None;
        }
        let more = self.late.take(now)?;
        self.stats.useful += more.bytes.len() as u64;
        Some(more)
    }

    /// Asks for a random-access frame if a frame of video was dropped, so that later ones cannot be decoded correctly;
    /// once a second at most. Call it after [`Subscriber::poll`].
    pub fn poll_random_access_request(&mut self, now: Duration) -> Option<RandomAccessRequest> {
        let soon = self.told.is_some_and(|told| now.saturating_sub(told) < RANDOM_ACCESS_REQUEST_INTERVAL);
        if !self.video || soon {
            return None;
        }
        let lost = self.lost.take()?;
        self.told = Some(now);
        Some(RandomAccessRequest { lost })
    }

    /// Notes that the decoder lost this frame after it came, so later frames cannot be decoded correctly.
    pub fn handle_undecoded(&mut self, frame: u64) {
        self.lost = self.lost.max(Some(frame));
    }

    /// Passes a frame that is returned or dropped, and with it the missing ones before it.
    fn pass(&mut self, header: &FrameHeader, again: bool) {
        let missing = self.missing_before(header, again);
        self.stats.missing_bases += missing;
        if missing > 0 {
            self.lost = Some(header.id - 1);
        }
        self.last = Some((header.id, header.skipped));
    }

    /// Returns when to poll again even without input.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        match self.open.first_key_value() {
            Some((id, open)) => self.due(*id, open),
            None if self.closed => None,
            None => self.late.due(self.interval),
        }
    }

    /// Returns when the oldest frame is shown or dropped.
    fn due(&self, id: u64, open: &Open) -> Option<Duration> {
        if self.closed {
            return Some(Duration::ZERO);
        }
        let turn = self.in_turn(open);
        if open.based.is_none() {
            // Its base layer may come again on another stream.
            return self.overdue();
        }
        let ready = if turn { self.whole(id, open) } else { self.overdue()? };
        if self.video && self.lag(id) > MAX_LAG_FRAMES {
            return Some(ready);
        }
        // Delayed frames come several at a time; if all were shown at once, only the last would be seen.
        let seen = self.shown.map_or(Duration::ZERO, |shown| shown + self.interval / 2);
        Some(ready.max(seen))
    }

    /// Counts the frames after this one whose base layer is here.
    fn lag(&self, id: u64) -> usize {
        self.open.range(id.saturating_add(1)..).filter(|(_, open)| open.based.is_some()).count()
    }

    /// Returns how many frames may be here before they are shown.
    const fn room(&self) -> usize {
        if self.video { MAX_OPEN_VIDEO_FRAMES } else { MAX_OPEN_FRAMES }
    }

    /// Returns when missing base layers are no longer waited for: at once if there is no room for another frame.
    fn overdue(&self) -> Option<Duration> {
        if self.open.len() >= self.room() {
            return Some(Duration::ZERO);
        }
        let first = self.open.values().filter(|open| open.based.is_some()).map(|open| open.first).min();
        let wait = if self.video { BASE_WAIT_OF_VIDEO } else { BASE_WAIT.min(BASE_WAIT_FRAMES * self.interval) };
        first.map(|first| first + wait.max(2 * self.interval))
    }

    /// Returns when a frame is complete enough: its stream ended, a newer frame overtook it, or the sender must have
    /// cut it more than an interval ago. That is longer than the last packet takes on a link that carries one a frame.
    fn whole(&self, id: u64, open: &Open) -> Duration {
        if open.finished {
            return Duration::ZERO;
        }
        let latest = open.first + 5 * self.interval / 2;
        self.overtaken(id).map_or(latest, |at| at.min(latest))
    }

    /// Returns how long to wait for a frame's end once the next frame is here: one packet may carry both, and a lost
    /// packet comes again after a round trip, if that is soon enough.
    fn grace(&self) -> Duration {
        repaired_in_time(self.rtt, self.interval).unwrap_or(self.interval / 8)
    }

    /// Returns when a newer frame's base layer will have been here long enough.
    fn overtaken(&self, id: u64) -> Option<Duration> {
        let newer = self.open.range(id.saturating_add(1)..).filter_map(|(_, open)| open.based).min();
        newer.map(|based| based + self.grace())
    }

    /// Returns whether all frames before it were returned.
    fn in_turn(&self, open: &Open) -> bool {
        self.missing_before(&open.header, open.again) == 0
    }

    /// Counts the frames that are missing before this one, as far as that is known. A sender that sends base layers again
    /// begins with the oldest.
    fn missing_before(&self, header: &FrameHeader, again: bool) -> u64 {
        let lacks_first = self.may_lack_first && !again && header.id > header.skipped;
        self.last.map_or(u64::from(lacks_first), |last| missing(last, header))
    }
}

/// Counts the encoded frames between the `last` one and this one.
fn missing((id, skipped): (u64, u64), header: &FrameHeader) -> u64 {
    (header.id - id - 1).saturating_sub(header.skipped.saturating_sub(skipped))
}

#[cfg(test)]
mod tests;
