//! Video, whose frames depend on earlier ones: every base layer is sent, in order, from a random-access frame on.
//!
//! The next frame is the oldest of the backlog (`owed.rs`). After the path's rate fell, the base layers in flight are
//! sent again (`recent.rs`). One write has a part of a frame, so that the frame may end at the end of a packet; it has
//! all of the frame if nothing waits and the path has room. `cut.rs` decides where a frame ends.

use std::time::Duration;

use bytes::Bytes;

use crate::path::stats::{PathStats, payload};
use crate::publish::bandwidth_estimate::CarriedRate;
use crate::publish::cut::{Next, Situation};
use crate::publish::owed::Owed;
use crate::publish::pace::{busy_time, carries_two_packets, is_slow};
use crate::publish::policy::Policy;
use crate::publish::room::packets_of;
use crate::publish::stream::{Kind, Stream};
use crate::publish::writer::Writer;
use crate::wire::frame::Frame;
use crate::wire::limits::MIN_RANDOM_ACCESS_INTERVAL;
use crate::wire::message::RandomAccessRequest;

/// A frame is written in at least four parts, if it has that many packets.
const MIN_PARTS_PER_FRAME: u64 = 4;

/// The backlog of one receiver.
#[derive(Debug)]
pub(super) struct Video {
    owed: Owed,
    /// When the receiver's last answered request for a random-access frame came.
    asked: Option<Duration>,
    /// Whether the last frame is written at once, because nothing waits and the path has room for all of it.
    at_once: bool,
    /// Whether bytes after the base layer are written in parts, because the frame may have to end soon.
    in_parts: bool,
}

impl Video {
    /// Makes a policy for frames that are due every `interval`.
    pub(super) fn new(interval: Duration) -> Self {
        Self { owed: Owed::new(interval), asked: None, at_once: false, in_parts: true }
    }

    /// Begins the oldest frame of the backlog, or ends the stream before it.
    fn admit(&mut self, writer: &mut Writer) {
        if writer.stream().is_some() {
            writer.cut(Situation { next: self.next(), ..Situation::default() });
        } else if let Some(frame) = self.owed.take() {
            writer.begin(&frame);
            writer.recent.handle_frame(writer.due(), &frame);
        }
    }

    fn next(&self) -> Next {
        if self.owed.is_empty() { Next::Nothing } else { Next::Frame }
    }

    /// Sends again the base layers of all frames not known to have arrived, if the path's rate fell.
    fn send_again(&self, writer: &mut Writer, path: &PathStats) {
        // Nothing is lost of a frame that is not begun.
        let unfinished = writer.stream().map(|stream| stream.first);
        if let Some((first, bases)) = writer.recent.owed_again(path, unfinished) {
            writer.begin_again(first, bases);
        }
    }

    /// Returns whether a frame was just begun for which the path has room in full.
    fn takes_whole(&self, writer: &Writer, path: &PathStats) -> bool {
        let interval = writer.interval();
        let Some(stream) = writer.stream() else { return false };
        let was_just_begun = stream.kind == Kind::Frame && stream.open.is_some();
        let pending = path.stream_bytes(path.in_flight) + path.unsent;
        let has_room = pending + stream.unwritten_bytes() as u64 <= path.stream_bytes(path.window);
        was_just_begun
            && has_room
            && self.owed.is_empty()
            && carries_two_packets(path, interval)
            && !is_slow(path, interval)
            && !keeps_busy(writer, writer.due(), path)
    }
}

/// Returns whether written bytes keep the path busy until the next frame is due. More bytes of this frame would delay
/// the next one, and without them this frame's end arrives sooner.
fn keeps_busy(writer: &Writer, now: Duration, path: &PathStats) -> bool {
    let next_due = writer.due() + writer.interval();
    now + busy_time(path, writer.interval()) >= next_due
}

impl Policy for Video {
    fn handle_frame(&mut self, writer: &mut Writer, frame: &Frame, path: &PathStats) {
        self.send_again(writer, path);
        let given_up = self.owed.put(frame);
        writer.skip(given_up);
        self.admit(writer);
        self.at_once = self.takes_whole(writer, path);
    }

    fn handle_written(&mut self, writer: &mut Writer, now: Duration, _body: usize, path: &PathStats) {
        let owes_nothing = writer.base_left() == 0;
        let path_busy = owes_nothing && keeps_busy(writer, now, path);
        self.at_once = false;
        // A path that carries more than a packet in an interval shows before the next frame is due whether it is busy.
        self.in_parts = path_busy || !carries_two_packets(path, writer.interval());
        writer.cut(Situation { path_busy, next: self.next(), rate_fell: false });
    }

    fn handle_finished(&mut self, writer: &mut Writer) {
        self.admit(writer);
    }

    /// Returns the base layer alone, then the rest, in parts; both at once if the path has room for both.
    fn unwritten(&self, writer: &Writer, stream: &Stream) -> [Bytes; 2] {
        if self.at_once {
            return stream.unwritten.clone();
        }
        if !stream.owes_nothing() {
            return stream.unwritten_base();
        }
        if self.in_parts { next_part(writer, stream) } else { stream.unwritten.clone() }
    }

    /// The transport sends only whole packets: one frame fills the next packet while it waits.
    fn slow_window(&self, path: &PathStats) -> u64 {
        path.window.div_ceil(path.mtu.max(1)) * payload(path.mtu)
    }

    /// Base layers of video are long: sent all at once, a path that became slow would lose them again. The first window
    /// of them reveals which earlier data is lost; the others go as these arrive.
    fn packets_beyond(&self, writer: &Writer, carried: &CarriedRate, path: &PathStats) -> u64 {
        let is_silent = carried.is_silent() && carried.silence() >= path.rtt;
        let news = u64::from(is_silent);
        let goes_again = |stream: &Stream| stream.kind == Kind::BaseRetransmission && stream.open.is_some();
        if writer.stream().is_some_and(goes_again) {
            packets_of(writer.base_left().min(path.window), path).max(news)
        } else {
            news
        }
    }

    fn owed_frames(&self) -> u64 {
        self.owed.len() as u64
    }

    fn needs_random_access(&self) -> bool {
        self.owed.needs_random_access()
    }

    fn handle_random_access_request(&mut self, writer: &mut Writer, now: Duration, request: RandomAccessRequest) {
        let asked_lately = self.asked.is_some_and(|asked| now.saturating_sub(asked) < MIN_RANDOM_ACCESS_INTERVAL);
        if asked_lately || !self.owed.may_lack(request.lost) {
            return;
        }
        self.asked = Some(now);
        writer.skip(self.owed.give_up());
    }

    fn handle_other_rendition(&mut self, writer: &mut Writer) {
        writer.skip(self.owed.give_up());
    }

    fn handle_unseen(&mut self, writer: &mut Writer) {
        self.handle_other_rendition(writer);
    }

    fn handle_missed(&mut self, writer: &mut Writer, count: u64) {
        writer.skip(count + self.owed.miss(count));
    }
}

/// Returns unwritten bytes up to the end of a packet, so that the frame may end there.
fn next_part(writer: &Writer, stream: &Stream) -> [Bytes; 2] {
    let [head, body] = stream.unwritten.clone();
    let packets = writer.last_bytes() / writer.packet_bytes() / MIN_PARTS_PER_FRAME;
    let part = usize::try_from(packets.max(1) * writer.packet_bytes()).unwrap_or(usize::MAX);
    let left = part - stream.written_bytes() % part;
    let body = body.slice(..left.saturating_sub(head.len()).min(body.len()));
    [head, body]
}
