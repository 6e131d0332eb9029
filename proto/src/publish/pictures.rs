//! Independent pictures: the newest counts, and a picture that stays is refined while nothing newer is due.
//!
//! At most one frame waits, the newest, until the base layer before it is written; it goes next. `still.rs` decides
//! whether more of a picture is sent, and `cut.rs` where a frame ends.

use std::time::Duration;

use bytes::Bytes;

use crate::path::stats::{PathStats, payload};
use crate::publish::bandwidth_estimate::CarriedRate;
use crate::publish::cut::{Next, Situation};
use crate::publish::policy::Policy;
use crate::publish::room::packets_of;
use crate::publish::still::Still;
use crate::publish::stream::{Kind, Stream};
use crate::publish::writer::Writer;
use crate::wire::frame::Frame;
use crate::wire::limits::STAYS_EVERY;

/// What one receiver has of the last picture, and the waiting frame.
#[derive(Debug, Default)]
pub(super) struct Pictures {
    /// The frame that waits for the base layer of the one before it.
    waiting: Option<Frame>,
    /// The picture that is being sent, or was sent last.
    still: Still,
    /// When a frame or late bytes last began.
    began: Duration,
}

impl Pictures {
    /// Begins the waiting frame, or ends the stream before it.
    fn admit(&mut self, writer: &mut Writer) {
        if writer.stream().is_some() {
            writer.cut(self.situation());
        } else if let Some(frame) = self.waiting.take() {
            let allowed = writer.begin(&frame);
            self.began = writer.due();
            self.still.begin(frame, allowed);
        }
    }

    fn situation(&self) -> Situation {
        let next = if self.waiting.is_some() { Next::Frame } else { Next::Nothing };
        Situation { next, ..Situation::default() }
    }

    /// Continues the same picture, which is due again: its frame ends like any other, and the rest follows.
    fn go_on(&mut self, writer: &mut Writer) {
        if writer.late().is_some() {
            writer.count_late_bytes();
        } else if writer.stream().is_some() {
            writer.cut(Situation { next: Next::SamePicture, ..Situation::default() });
        } else {
            self.begin_late(writer);
        }
    }

    /// Begins a stream of late bytes if none is open. It begins one without bytes if it is time to say that the picture
    /// stays.
    fn begin_late(&mut self, writer: &mut Writer) {
        if writer.stream().is_some() {
            return;
        }
        let Some((header, body)) = self.still.late() else { return };
        let is_soon = writer.due() < self.began + STAYS_EVERY;
        if body.is_empty() && is_soon {
            return;
        }
        self.began = writer.due();
        writer.begin_late(header, body);
    }

    /// Sends the base layers in flight again, if the path's rate fell.
    fn send_again(&mut self, writer: &mut Writer, path: &PathStats) {
        if let Some(bases) = writer.recent.handle_path(writer.due(), path) {
            self.still.handle_reset();
            writer.begin_again(0, bases);
        }
    }
}

impl Policy for Pictures {
    fn handle_frame(&mut self, writer: &mut Writer, frame: &Frame, path: &PathStats) {
        self.send_again(writer, path);
        if self.waiting.is_none() && self.still.repeats(frame, writer.late_bytes_allowed()) {
            return self.go_on(writer);
        }
        self.still.end();
        // The receiver does not wait for frames that were not sent because the picture stayed.
        if let Some(frame) = frame.for_receiver(self.still.repeated(), false) {
            writer.recent.handle_frame(writer.due(), &frame);
            let before = self.waiting.replace(frame);
            writer.skip(u64::from(before.is_some()));
        }
        self.admit(writer);
    }

    fn handle_written(&mut self, writer: &mut Writer, _now: Duration, body: usize, _path: &PathStats) {
        self.still.handle_written(body);
        writer.cut(self.situation());
    }

    fn handle_finished(&mut self, writer: &mut Writer) {
        self.admit(writer);
        self.begin_late(writer);
    }

    /// Returns the base layer alone, then the rest.
    fn unwritten(&self, _writer: &Writer, stream: &Stream) -> [Bytes; 2] {
        if stream.owes_nothing() { stream.unwritten.clone() } else { stream.unwritten_base() }
    }

    /// Without loss, waiting bytes fill the packet of the next base layer, which would otherwise leave with a base
    /// layer alone.
    fn slow_window(&self, path: &PathStats) -> u64 {
        let fills = path.window / path.mtu.max(1) * path.mtu.saturating_sub(payload(path.mtu));
        path.window + if path.retransmitted_bytes == 0 { fills } else { 0 }
    }

    fn packets_beyond(&self, writer: &Writer, carried: &CarriedRate, path: &PathStats) -> u64 {
        if writer.stream().is_some_and(|stream| matches!(stream.kind, Kind::Late | Kind::Parity)) {
            return 0;
        }
        let base = writer.base_left();
        let is_silent = carried.is_silent();
        let has_no_room = path.in_flight + base.min(path.mtu) > path.window;
        if has_no_room || is_silent { packets_of(base, path).max(u64::from(is_silent)) } else { 0 }
    }

    fn owed_frames(&self) -> u64 {
        u64::from(self.waiting.is_some())
    }

    fn handle_unseen(&mut self, _writer: &mut Writer) {
        self.still.forget();
    }

    fn handle_end(&mut self, writer: &mut Writer) {
        self.still.end();
        if let Some(late) = writer.late() {
            late.leave_rest();
            writer.cut(Situation { next: Next::End, ..Situation::default() });
        }
    }
}
