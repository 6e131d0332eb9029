//! How a publisher begins streams: of a frame, its parity, late bytes, and bases that go again.

use bytes::Bytes;

use super::sending::{Kind, Sending};
use super::{Publisher, Step};
use crate::path::round::whole;
use crate::wire::frame::Frame;
use crate::wire::limits::MAX_HEAD_BYTES;
use crate::wire::limits::{MAX_PARITY_BLOCK, MAX_PIECES, STAYS_EVERY};
use crate::wire::parity::ParityHeader;
use crate::wire::stream::StreamHead;

/// Room for the heads of about 30 frames, more than a transport holds.
const HEADS_BYTES: usize = 1024;
/// Bytes of a packet that are no stream's: its header, its seal, and a STREAM frame's header take that many or more.
const PACKET_OVERHEAD: u64 = 20;

impl Publisher {
    /// Begins a stream of late bytes, if there are any or it is time to say that there are none, and nothing is in their way.
    pub(super) fn begin_late(&mut self) {
        if self.current.is_some() {
            return;
        }
        let Some((header, body)) = self.still.late() else { return };
        if body.is_empty() && self.now < self.began + STAYS_EVERY {
            return;
        }
        self.began = self.now;
        let (head, open, first) =
            (self.head(&StreamHead::Late(header)), Some(Step::Open { frame: header.id }), header.id);
        let base_left = head.len();
        let unwritten = [head, body];
        self.current = Some(Sending { open, base_left, first, ..Sending::new(Kind::Late, unwritten) });
    }

    /// What is being sent is given up for `bases`.
    pub(super) fn again(&mut self, first: u64, bases: Bytes) {
        if self.current.as_ref().is_some_and(|sending| sending.kind == Kind::Frame && !sending.finish) {
            self.stats.cut += 1;
        }
        self.stats.again += 1;
        let (base_left, unwritten) = (bases.len(), [bases, Bytes::new()]);
        let open = Some(Step::Again { first });
        self.current = Some(Sending { open, base_left, first, ..Sending::new(Kind::Again, unwritten) });
    }

    pub(super) fn begin(&mut self, frame: &Frame) -> Sending {
        let head = self.head(&StreamHead::Frame(frame.header()));
        self.began = self.now;
        let full = frame.bytes.len();
        let base = frame.base.min(full);
        let most = self.cap.bytes().saturating_sub(self.parity_bytes(self.cap.bytes().min(full as u64)));
        let most = usize::try_from(most).unwrap_or(usize::MAX).saturating_sub(head.len());
        let body = frame.bytes.slice(..most.clamp(base, full));
        if !self.waiting.is_video() {
            self.still.begin(frame, body.len());
        }
        self.stats.full += full as u64;
        if self.waiting.is_video() {
            self.recent.handle_frame(self.now, frame);
        }
        let (base_left, first) = (head.len() + base, frame.id);
        let open = Some(Step::Open { frame: first });
        Sending { open, base_left, first, ..Sending::new(Kind::Frame, [head, body]) }
    }

    /// The parity of a frame's stream that ended, where the path loses so much that it pays, or more is tried than it is known to
    /// carry: parity is what nobody misses, and makes up for what is lost of the frame. Like a base it is never cut.
    pub(super) fn protect(&mut self, sent: &Sending) -> Option<Sending> {
        let (Kind::Frame, Some(stream)) = (sent.kind, sent.stream) else { return None };
        let [head, body] = &sent.whole;
        let written = [head.clone(), body.slice(..sent.written)];
        let length = (head.len() + sent.written) as u64;
        let (pieces, block) = self.pieces(length);
        let header = (pieces > 0).then_some(ParityHeader { stream, length, pieces, block })?;
        StreamHead::Parity(header).write(&mut self.heads);
        header.protect(&written, &mut self.heads);
        let parity = self.heads.split().freeze();
        let (base_left, first) = (parity.len(), sent.first);
        let open = Some(Step::Open { frame: first });
        Some(Sending { open, base_left, first, ..Sending::new(Kind::Parity, [parity, Bytes::new()]) })
    }

    /// Into how many pieces a stream of so many bytes is cut for its parity, and bytes of a block: as many as a packet carries.
    fn pieces(&self, length: u64) -> (u64, u64) {
        let block = self.mtu.saturating_sub(PACKET_OVERHEAD).clamp(1, MAX_PARITY_BLOCK);
        let packets = length.div_ceil(block);
        let pays = if self.repairs_in_time { 0 } else { self.lossy.pieces(packets) };
        let tried = whole(packets as f64 * self.tried).min(MAX_PIECES).min(packets / 2);
        (pays.max(tried), block)
    }

    /// Most bytes that the parity of so many takes.
    fn parity_bytes(&self, length: u64) -> u64 {
        let (pieces, block) = self.pieces(length);
        if pieces == 0 { 0 } else { pieces * block + MAX_HEAD_BYTES as u64 }
    }

    fn head(&mut self, head: &StreamHead) -> Bytes {
        if self.heads.capacity() < MAX_HEAD_BYTES {
            self.heads.reserve(HEADS_BYTES);
        }
        head.write(&mut self.heads);
        self.heads.split().freeze()
    }
}
