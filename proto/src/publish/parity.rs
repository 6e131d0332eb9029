//! Forward error correction: how much parity follows a frame, and the parity itself (spec, "Parity").
//!
//! Parity is sent in two cases. First, if the path loses packets so often that parity pays, and a repaired packet
//! arrives too late. Second, while a probe exceeds the known rate: nobody misses lost parity, and it makes up for
//! losses of the frame.

use std::time::Duration;

use bytes::{Bytes, BytesMut};

use crate::path::round::whole;
use crate::path::stats::{PathStats, repaired_in_time};
use crate::publish::fec_controller::LossyIntervals;
use crate::publish::stream::{Kind, Stream};
use crate::wire::limits::{MAX_HEAD_BYTES, MAX_PARITY_BLOCK, MAX_PIECES};
use crate::wire::parity::ParityHeader;
use crate::wire::stream::StreamHead;

/// The least overhead of a packet in bytes: its header, its authentication tag, and a STREAM frame's header.
const PACKET_OVERHEAD: u64 = 20;

/// The state that decides how much parity a frame has.
#[derive(Debug)]
pub(super) struct Parity {
    /// Whether the receiver can tell to which stream a parity belongs.
    is_of_use: bool,
    interval: Duration,
    /// How often packets are lost, and how long they are.
    fec_controller: LossyIntervals,
    mtu: u64,
    /// Whether lost packets are repaired before their frame is shown.
    repairs_in_time: bool,
    /// Bytes of parity for each byte of a frame, from the probe rate.
    probe_rate: f64,
}

impl Parity {
    /// Makes a state for frames that are due every `interval`.
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            is_of_use: true,
            interval,
            fec_controller: LossyIntervals::default(),
            mtu: PathStats::default().mtu,
            repairs_in_time: true,
            probe_rate: 0.0,
        }
    }

    /// Stops all parity from now on.
    pub(super) const fn leave_out(&mut self) {
        self.is_of_use = false;
    }

    /// Processes a frame that is due.
    pub(super) fn handle_frame(&mut self, path: &PathStats) {
        self.fec_controller.handle_frame(path.lost);
        self.mtu = path.mtu;
        self.repairs_in_time = repaired_in_time(path.rtt, self.interval).is_some();
        self.probe_rate = path.policer_rate.map_or(0.0, |policer_rate| {
            let known = policer_rate.bits().saturating_sub(path.probe_rate.bits());
            path.probe_rate.bits() as f64 / known.max(1) as f64
        });
    }

    /// Returns whether the path lost packets again and again.
    pub(super) const fn is_lossy(&self) -> bool {
        self.fec_controller.is_lossy()
    }

    /// Returns the most bytes of parity for a stream of `length` bytes.
    pub(super) fn most_bytes(&self, length: u64) -> u64 {
        let pieces = self.pieces(length);
        if pieces == 0 { 0 } else { pieces * self.block_bytes() + MAX_HEAD_BYTES as u64 }
    }

    /// Returns the parity of a frame's finished stream, its head first; `None` for other streams, or if parity does not
    /// pay. It is written to `out`, whose memory is reused.
    pub(super) fn protect(&self, sent: &Stream, out: &mut BytesMut) -> Option<Bytes> {
        if sent.kind != Kind::Frame {
            return None;
        }
        let stream = sent.number?;
        let [head, body] = &sent.whole;
        let written = [head.clone(), body.slice(..sent.written)];
        let length = (head.len() + sent.written) as u64;
        let pieces = self.pieces(length);
        if pieces == 0 {
            return None;
        }
        let header = ParityHeader { stream, length, pieces, block: self.block_bytes() };
        StreamHead::Parity(header).write(out);
        header.protect(&written, out);
        Some(out.split().freeze())
    }

    /// Returns the number of pieces into which a stream of `length` bytes is cut for its parity.
    fn pieces(&self, length: u64) -> u64 {
        if !self.is_of_use {
            return 0;
        }
        let packets = length.div_ceil(self.block_bytes());
        let pays = if self.repairs_in_time { 0 } else { self.fec_controller.pieces(packets) };
        let probe_rate = whole(packets as f64 * self.probe_rate).min(MAX_PIECES).min(packets / 2);
        pays.max(probe_rate)
    }

    /// Returns the bytes of a block: as many as a packet carries.
    fn block_bytes(&self) -> u64 {
        self.mtu.saturating_sub(PACKET_OVERHEAD).clamp(1, MAX_PARITY_BLOCK)
    }
}
