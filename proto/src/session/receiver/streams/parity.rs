//! Repair of streams with lost packets, for which the sender sent parity (spec, "Parity").

use bytes::{Bytes, BytesMut};

use crate::subscribe::repair::Repair;
use crate::wire::close::Close;
use crate::wire::parity::ParityHeader;

/// The most streams kept whole at once for their parity: more than are incomplete in a round trip of 200 ms.
pub(super) const MAX_KEPT_STREAMS: usize = 4;

/// What a stream keeps for its parity, and its repair.
#[derive(Debug, Default)]
pub(super) struct Parity {
    state: State,
    /// Its parity came: another one is useless.
    pub(super) came: bool,
}

#[derive(Debug, Default)]
enum State {
    /// Nothing is kept.
    #[default]
    Unkept,
    /// All bytes from the stream's beginning, in order.
    Kept(BytesMut),
    /// The parity came; bytes may now come in any order.
    Repairing(Repair),
}

impl Parity {
    /// Keeps bytes that came in order at `offset`, up to `most` bytes in all. It does so if it has kept all before
    /// them, or if they are the first and there is a place.
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

    /// Returns whether the stream's bytes are useful in any order.
    pub(super) const fn is_repairing(&self) -> bool {
        matches!(self.state, State::Repairing(_))
    }

    /// Adds bytes of the stream at `offset`, in any order.
    pub(super) fn handle_scattered(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Close> {
        match &mut self.state {
            State::Repairing(repair) => repair.handle_bytes(offset, bytes),
            _ => Ok(()),
        }
    }

    /// Returns the repair of the stream, once its parity came.
    pub(super) const fn repair(&mut self) -> Option<&mut Repair> {
        match &mut self.state {
            State::Repairing(repair) => Some(repair),
            _ => None,
        }
    }

    /// Returns whether it takes one of the places.
    pub(super) const fn takes_place(&self) -> bool {
        !matches!(self.state, State::Unkept)
    }

    /// Begins the repair with the stream's parity, if everything that came before is kept.
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
