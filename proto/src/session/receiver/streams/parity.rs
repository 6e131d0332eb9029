//! Streams that come whole though packets were lost, where the sender sent their parity (spec, "Parity").

use bytes::{Bytes, BytesMut};

use crate::subscribe::repair::Repair;
use crate::wire::close::Close;
use crate::wire::parity::ParityHeader;

/// Streams of which all that came is kept at once, for their parity: more than lack something in a round trip of 200 ms.
pub(super) const MAX_KEPT_STREAMS: usize = 4;

/// What a stream keeps for its parity, and what follows from that.
#[derive(Debug, Default)]
pub(super) struct Parity {
    state: State,
    /// Its parity came: another is of no use.
    pub(super) came: bool,
}

#[derive(Debug, Default)]
enum State {
    /// Nothing is kept.
    #[default]
    Unkept,
    /// All that came in order, from the stream's begin.
    Kept(BytesMut),
    /// The parity came, and bytes come in any order.
    Repairing(Repair),
}

impl Parity {
    /// Bytes of the stream came in order, `offset` others before them. They are kept if those before are, or if they are the first
    /// and there is a place, up to `most` bytes in all.
    pub(super) fn keep(&mut self, offset: u64, bytes: &[u8], most: usize, has_place: bool) {
        if self.came {
            return;
        }
        if offset == 0 && has_place && matches!(self.state, State::Unkept) {
            self.state = State::Kept(BytesMut::new());
        }
        if let State::Kept(kept) = &mut self.state {
            if kept.len() + bytes.len() > most {
                self.state = State::Unkept;
            } else {
                kept.extend_from_slice(bytes);
            }
        }
    }

    /// Whether the stream's bytes are of use in any order.
    pub(super) const fn is_repairing(&self) -> bool {
        matches!(self.state, State::Repairing(_))
    }

    /// Bytes of the stream came in any order, `offset` others stand before them.
    pub(super) fn handle_scattered(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Close> {
        match &mut self.state {
            State::Repairing(repair) => repair.handle_bytes(offset, bytes),
            _ => Ok(()),
        }
    }

    /// What fills the holes of the stream, once its parity came.
    pub(super) const fn repair(&mut self) -> Option<&mut Repair> {
        match &mut self.state {
            State::Repairing(repair) => Some(repair),
            _ => None,
        }
    }

    /// Whether it takes one of the places.
    pub(super) const fn takes_place(&self) -> bool {
        !matches!(self.state, State::Unkept)
    }

    /// The stream's parity came. What is missing may follow from it, if all is kept that came before.
    pub(super) fn begin(&mut self, came: u64, header: ParityHeader, parity: Bytes, has_place: bool) {
        self.came = true;
        let kept = match std::mem::take(&mut self.state) {
            State::Kept(kept) => kept,
            _ if came == 0 && has_place => BytesMut::new(),
            _ => return,
        };
        self.state = Repair::new(header, parity, kept).map_or(State::Unkept, State::Repairing);
    }
}
