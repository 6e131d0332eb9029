//! Writes one stream after another for one receiver: frames, their parity, late bytes, and base layers that are sent
//! again.
//!
//! A stream is written until `cut.rs` ends it; then its parity follows, and then a policy (`pictures.rs` or `video.rs`)
//! begins the next one.

use std::time::Duration;

use bytes::{Bytes, BytesMut};

use crate::path::stats::{PathStats, payload};
use crate::publish::cap::Cap;
use crate::publish::cut::{Extent, Situation, cut};
use crate::publish::parity::Parity;
use crate::publish::recent::Recent;
use crate::publish::stats::SendStats;
use crate::publish::step::Step;
use crate::publish::stream::{Kind, Stream};
use crate::wire::frame::Frame;
use crate::wire::limits::MAX_HEAD_BYTES;
use crate::wire::stream::{LateHeader, StreamHead};
use nestcast_units::Bitrate;

/// Room for the heads of about 30 frames, more than a transport holds.
const HEADS_BYTES: usize = 1024;
/// The most growth from one frame's bytes to the next that a receiver may use.
const USEFUL_GROWTH: u64 = 2;

/// The writer for one receiver, for pictures and video alike.
#[derive(Debug)]
pub(super) struct Writer {
    interval: Duration,
    /// When the last frame was due.
    due: Duration,
    cap: Cap,
    /// The stream that is being written.
    stream: Option<Stream>,
    /// The size in bytes of the last frame as written.
    last_bytes: u64,
    /// The stream bytes of a whole packet.
    packet_bytes: u64,
    parity: Parity,
    /// The frames in flight, whose base layers may be sent again.
    pub(super) recent: Recent,
    stats: SendStats,
    /// The buffer for heads, reused after the transport has released earlier ones.
    heads: BytesMut,
}

impl Writer {
    /// See [`Publisher::new`](crate::Publisher::new).
    pub(super) fn new(interval: Duration, cap: Option<Bitrate>) -> Self {
        Self {
            interval,
            due: Duration::ZERO,
            cap: Cap::new(interval, cap),
            stream: None,
            last_bytes: 0,
            packet_bytes: PathStats::default().payload(),
            parity: Parity::new(interval),
            recent: Recent::new(interval),
            stats: SendStats::default(),
            heads: BytesMut::new(),
        }
    }

    /// Stops all parity from now on.
    pub(super) const fn leave_parity_out(&mut self) {
        self.parity.leave_out();
    }

    /// Returns the time from one frame to the next.
    pub(super) const fn interval(&self) -> Duration {
        self.interval
    }

    /// Returns when the last frame was due.
    pub(super) const fn due(&self) -> Duration {
        self.due
    }

    /// Returns the stream that is being written.
    pub(super) const fn stream(&self) -> Option<&Stream> {
        self.stream.as_ref()
    }

    /// Returns what this receiver was sent so far.
    pub(super) const fn stats(&self) -> SendStats {
        self.stats
    }

    /// Returns the size in bytes of the last frame as written.
    pub(super) const fn last_bytes(&self) -> u64 {
        self.last_bytes
    }

    /// Returns the stream bytes of a whole packet.
    pub(super) const fn packet_bytes(&self) -> u64 {
        self.packet_bytes
    }

    /// Returns whether the path lost packets again and again.
    pub(super) const fn is_lossy(&self) -> bool {
        self.parity.is_lossy()
    }

    /// Returns the unwritten bytes of a base layer, or of another stream's head.
    pub(super) fn base_left(&self) -> u64 {
        self.stream.as_ref().map_or(0, |stream| stream.base_left as u64)
    }

    /// Returns the most bytes of the next frame that this receiver can use.
    pub(super) fn useful_bytes(&self) -> u64 {
        let written = self.stream.as_ref().map_or(0, |stream| stream.written as u64);
        let unwritten = self.stream.as_ref().map_or(0, |stream| stream.unwritten_bytes() as u64);
        written.max(self.last_bytes).saturating_mul(USEFUL_GROWTH).min(self.cap.useful_bytes(unwritten))
    }

    /// Returns how many late bytes the cap allows now.
    pub(super) fn late_bytes_allowed(&self) -> usize {
        let bytes = self.cap.bytes().saturating_sub(MAX_HEAD_BYTES as u64);
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// Processes a frame that is due.
    pub(super) fn handle_frame(&mut self, now: Duration, path: &PathStats) {
        self.due = now;
        self.packet_bytes = payload(path.mtu);
        self.parity.handle_frame(path);
        self.cap.handle_frame(now, path.policer_rate);
    }

    /// Counts `count` frames that were due but are not sent.
    pub(super) const fn skip(&mut self, count: u64) {
        self.stats.skipped += count;
    }

    /// Begins the stream of a frame, in place of one that ended. Returns how many bytes of the frame it may have.
    pub(super) fn begin(&mut self, frame: &Frame) -> usize {
        let head = self.head(&StreamHead::Frame(frame.header()));
        let full = frame.bytes.len();
        let base = frame.base.min(full);
        let allowed = self.frame_bytes_allowed(head.len(), full);
        let extent = Extent { full, base, allowed, written: 0, has_base: false };
        let end = cut(&extent, Situation::default()).at;
        self.stats.full += full as u64;
        let base_left = head.len() + base;
        let open = Step::Open { frame: frame.id };
        let stream = Stream::new(Kind::Frame, frame.id, open, [head, frame.bytes.slice(..end)]);
        self.stream = Some(Stream { full, base, base_left, ..stream });
        end
    }

    /// Begins a stream of late bytes.
    pub(super) fn begin_late(&mut self, header: LateHeader, body: Bytes) {
        let head = self.head(&StreamHead::Late(header));
        let open = Step::Open { frame: header.id };
        self.stream = Some(Stream::new(Kind::Late, header.id, open, [head, body]));
    }

    /// Resets the current stream and begins one of `bases`, the oldest of which belongs to frame `first`.
    pub(super) fn begin_again(&mut self, first: u64, bases: Bytes) {
        self.cut(Situation { rate_fell: true, ..Situation::default() });
        self.stats.again += 1;
        let open = Step::BaseRetransmission { first };
        self.stream = Some(Stream::new(Kind::BaseRetransmission, first, open, [bases, Bytes::new()]));
    }

    /// Notes the number of the stream opened last.
    pub(super) const fn handle_opened(&mut self, number: u64) {
        if let Some(stream) = &mut self.stream {
            stream.number = Some(number);
        }
    }

    /// Counts `count` bytes that the transport accepted. Returns how many belong to a frame, without its head; `None`
    /// if no stream was being written.
    pub(super) fn handle_written(&mut self, count: usize) -> Option<usize> {
        let stream = self.stream.as_mut()?;
        let taken = stream.handle_written(count);
        let ends_frames_base = taken.ends_base && stream.kind == Kind::Frame;
        self.cap.handle_written(taken.head + taken.body);
        self.stats.bytes += taken.body as u64;
        self.stats.frames += u64::from(ends_frames_base);
        Some(taken.body)
    }

    /// Counts `count` bytes of sound that are sent next to the frames.
    pub(super) fn handle_sound(&mut self, count: usize) {
        self.cap.handle_sound(count);
    }

    /// Ends the stream if it must end in this situation.
    pub(super) fn cut(&mut self, situation: Situation) {
        let Some(stream) = self.stream.as_mut().filter(|stream| !stream.finish) else { return };
        let cut = cut(&stream.extent(), situation);
        if cut.ends {
            stream.finish = true;
            if stream.kind == Kind::Frame {
                self.stats.handle_cut(cut.reason);
            }
        }
    }

    /// Returns the current stream if it carries late bytes.
    pub(super) fn late(&mut self) -> Option<&mut Stream> {
        self.stream.as_mut().filter(|stream| stream.kind == Kind::Late)
    }

    /// Counts the late bytes of a frame interval, which show how much of a frame the path may carry.
    pub(super) fn count_late_bytes(&mut self) {
        if let Some(stream) = self.late() {
            let written = std::mem::take(&mut stream.written) as u64;
            self.last_bytes = self.last_bytes.max(written);
        }
    }

    /// Returns the next action for the current stream. With [`Step::Finish`] the stream's parity begins, or no stream
    /// is left.
    pub(super) fn poll(&mut self) -> Option<Step> {
        let stream = self.stream.as_mut()?;
        if let Some(step) = stream.open.take() {
            return Some(step);
        }
        if !stream.finish {
            return Some(Step::Write);
        }
        let written = stream.written as u64;
        match stream.kind {
            Kind::Frame => self.last_bytes = written,
            Kind::Late => self.last_bytes = self.last_bytes.max(written),
            Kind::BaseRetransmission | Kind::Parity => {}
        }
        self.begin_parity();
        Some(Step::Finish)
    }

    /// Begins the parity of the stream that ended, if it has any. Like a base layer it is never cut.
    fn begin_parity(&mut self) {
        let Some(sent) = self.stream.take() else { return };
        if let Some(parity) = self.parity.protect(&sent, &mut self.heads) {
            let open = Step::Open { frame: sent.first };
            self.stream = Some(Stream::new(Kind::Parity, sent.first, open, [parity, Bytes::new()]));
        }
    }

    /// Returns how many bytes of a frame of `full` bytes the cap allows now, after its stream's head and its parity.
    fn frame_bytes_allowed(&self, head: usize, full: usize) -> usize {
        let cap = self.cap.bytes();
        let parity = self.parity.most_bytes(cap.min(full as u64));
        usize::try_from(cap.saturating_sub(parity)).unwrap_or(usize::MAX).saturating_sub(head)
    }

    fn head(&mut self, head: &StreamHead) -> Bytes {
        if self.heads.capacity() < MAX_HEAD_BYTES {
            self.heads.reserve(HEADS_BYTES);
        }
        head.write(&mut self.heads);
        self.heads.split().freeze()
    }
}
