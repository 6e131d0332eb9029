//! What pictures and video do differently. A writer (`writer.rs`) does all else alike.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;

use crate::path::stats::PathStats;
use crate::publish::carried_rate::CarriedRate;
use crate::publish::stream::Stream;
use crate::publish::writer::Writer;
use crate::wire::frame::Frame;
use crate::wire::message::JoinRequest;

/// Says which frame is begun next, and what the one that is being written must give way to.
pub(super) trait Policy: fmt::Debug + Send + Sync {
    /// A frame is due.
    fn handle_frame(&mut self, writer: &mut Writer, frame: &Frame, path: &PathStats);

    /// `body` bytes of a frame were written.
    fn handle_written(&mut self, writer: &mut Writer, now: Duration, body: usize, path: &PathStats);

    /// A stream was finished: what waits may begin, unless its parity comes first.
    fn handle_finished(&mut self, writer: &mut Writer);

    /// What of the stream is to be written next.
    fn unwritten(&self, writer: &Writer, stream: &Stream) -> [Bytes; 2];

    /// Bytes that the transport should hold at most on a slow path that loses nothing, unless a base is owed.
    fn slow_window(&self, path: &PathStats) -> u64;

    /// Packets that may go beyond the window.
    fn packets_beyond(&self, writer: &Writer, carried: &CarriedRate, path: &PathStats) -> u64;

    /// Frames that were due and are not begun.
    fn owed_frames(&self) -> u64;

    /// Whether the next frame must have a join.
    fn needs_join(&self) -> bool {
        false
    }

    /// The receiver lacks a frame for good.
    fn handle_join_request(&mut self, _writer: &mut Writer, _now: Duration, _request: JoinRequest) {}

    /// The next frame is not predicted from those before.
    fn handle_other_loop(&mut self, _writer: &mut Writer) {}

    /// The receiver could show nothing of what was written so far.
    fn handle_unseen(&mut self, writer: &mut Writer);

    /// `count` frames were due and never handed over.
    fn handle_missed(&mut self, writer: &mut Writer, count: u64) {
        writer.skip(count);
    }

    /// No frame comes any more.
    fn handle_end(&mut self, _writer: &mut Writer) {}
}
