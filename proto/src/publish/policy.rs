//! The differences between pictures and video. The writer (`writer.rs`) treats them alike otherwise.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;

use crate::path::stats::PathStats;
use crate::publish::bandwidth_estimate::CarriedRate;
use crate::publish::stream::Stream;
use crate::publish::writer::Writer;
use crate::wire::frame::Frame;
use crate::wire::message::RandomAccessRequest;

/// Chooses the next frame, and what the current one must give way to.
pub(super) trait Policy: fmt::Debug + Send + Sync {
    /// Processes a frame that is due.
    fn handle_frame(&mut self, writer: &mut Writer, frame: &Frame, path: &PathStats);

    /// Processes `body` written bytes of a frame.
    fn handle_written(&mut self, writer: &mut Writer, now: Duration, body: usize, path: &PathStats);

    /// Processes a finished stream: a waiting frame may begin, unless the stream's parity comes first.
    fn handle_finished(&mut self, writer: &mut Writer);

    /// Returns the bytes of the stream to write next.
    fn unwritten(&self, writer: &Writer, stream: &Stream) -> [Bytes; 2];

    /// Returns the most bytes that the transport should hold on a slow path without loss, unless a base layer is
    /// unwritten.
    fn slow_window(&self, path: &PathStats) -> u64;

    /// Returns how many packets may exceed the window.
    fn packets_beyond(&self, writer: &Writer, carried: &CarriedRate, path: &PathStats) -> u64;

    /// Returns how many frames were due but not begun.
    fn owed_frames(&self) -> u64;

    /// Returns whether the next frame must have a random-access frame.
    fn needs_random_access(&self) -> bool {
        false
    }

    /// Processes the request of a receiver that lacks a frame for good.
    fn handle_random_access_request(&mut self, _writer: &mut Writer, _now: Duration, _request: RandomAccessRequest) {}

    /// Notes that the next frame is not predicted from the earlier ones.
    fn handle_other_rendition(&mut self, _writer: &mut Writer) {}

    /// Notes that the receiver could show nothing written so far.
    fn handle_unseen(&mut self, writer: &mut Writer);

    /// Notes that `count` frames were due but never came.
    fn handle_missed(&mut self, writer: &mut Writer, count: u64) {
        writer.skip(count);
    }

    /// Notes that no more frames come.
    fn handle_end(&mut self, _writer: &mut Writer) {}
}
