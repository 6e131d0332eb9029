//! Receivers that change from one rendition to another by switching frames, which are predicted from their own frames.

/// Receivers that change renditions with the same frames.
#[derive(Debug)]
pub(crate) struct Switching {
    /// A number from the sequence of rendition numbers: receivers that are changing are in no rendition.
    pub(crate) number: u64,
    /// The rendition that they leave with this frame, if they do.
    pub(crate) from: Option<u64>,
    /// The rendition that they change to.
    pub(crate) to: u64,
    /// Their numbers, in ascending order.
    pub(crate) receivers: Vec<u64>,
    /// Whether they continue in the other rendition with the next frame.
    arrived: bool,
}

impl Switching {
    /// Begins the change of a receiver with the next frame.
    pub(super) fn new(number: u64, receiver: u64, from: u64, to: u64) -> Self {
        Self { number, from: Some(from), to, receivers: vec![receiver], arrived: false }
    }

    /// Adds a receiver if it leaves and enters the same renditions with the same frame; returns whether it does.
    pub(super) fn admit(&mut self, receiver: u64, from: u64, to: u64) -> bool {
        let same = (self.from, self.to) == (Some(from), to);
        if let Err(at) = self.receivers.binary_search(&receiver)
            && same
        {
            self.receivers.insert(at, receiver);
        }
        same
    }

    /// Notes that they arrive with this frame.
    pub(super) const fn arrive(&mut self) {
        self.arrived = true;
    }

    pub(super) const fn has_arrived(&self) -> bool {
        self.arrived
    }

    /// Continues with the next frame, for the receivers that still need one.
    pub(super) fn go_on(&mut self, takes: impl Fn(u64) -> bool) {
        self.from = None;
        self.receivers.retain(|receiver| takes(*receiver));
    }
}
