//! Receivers that change from one rendition to another with frames that are predicted from theirs.

/// Receivers that change renditions with the same frames.
#[derive(Debug)]
pub(crate) struct Switching {
    /// A number among those of renditions: receivers that are changing are in none of these.
    pub(crate) number: u64,
    /// The number of the rendition that they leave with this frame, if they do.
    pub(crate) from: Option<u64>,
    /// The number of the rendition that they change to.
    pub(crate) to: u64,
    /// Their numbers, which rise.
    pub(crate) receivers: Vec<u64>,
    /// They go on in the other rendition with the next frame.
    arrived: bool,
}

impl Switching {
    /// A receiver begins to change with the next frame.
    pub(super) fn new(number: u64, receiver: u64, from: u64, to: u64) -> Self {
        Self { number, from: Some(from), to, receivers: vec![receiver], arrived: false }
    }

    /// Adds a receiver if it leaves and enters the same renditions with the same frame; tells whether it does.
    pub(super) fn admit(&mut self, receiver: u64, from: u64, to: u64) -> bool {
        let same = (self.from, self.to) == (Some(from), to);
        if let Err(at) = self.receivers.binary_search(&receiver)
            && same
        {
            self.receivers.insert(at, receiver);
        }
        same
    }

    /// They arrive with this frame.
    pub(super) const fn arrive(&mut self) {
        self.arrived = true;
    }

    pub(super) const fn has_arrived(&self) -> bool {
        self.arrived
    }

    /// The next frame is due, for the receivers that still take one.
    pub(super) fn go_on(&mut self, takes: impl Fn(u64) -> bool) {
        self.from = None;
        self.receivers.retain(|receiver| takes(*receiver));
    }
}
