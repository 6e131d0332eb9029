//! One receiver: its rendition and its settled rate.

/// What an encoder knows of a receiver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receiver {
    pub(crate) number: u64,
    /// The rate at which its path carries frames, in bits a second.
    pub(crate) rate: f64,
    /// See [`ReceiverDemand::owed_frames`](nestcast_proto::ReceiverDemand::owed_frames).
    pub(crate) owed_frames: u64,
    /// See [`ReceiverDemand::needs_random_access`](nestcast_proto::ReceiverDemand::needs_random_access).
    pub(crate) needs_random_access: bool,
}

/// Until a rate has been known for its settling time, it settles over one part in this many of the time that it has
/// been known.
const RATE_BEGIN_SHARE: f64 = 4.0;

/// A receiver in a rendition.
#[derive(Debug)]
pub(super) struct Member {
    /// The number of its rendition.
    pub(super) rendition: u64,
    pub(super) rate: f64,
    pub(super) owed_frames: u64,
    pub(super) needs_random_access: bool,
    /// Whether it is on its way to this rendition, or arrives in it with this frame: it then changes to no other.
    pub(super) comes: bool,
    /// The natural logarithm of its rate, settled.
    pub(super) settled: f64,
    /// Frames since its rate has been known.
    pub(super) known: u32,
    /// Frames since it connected or changed renditions.
    pub(super) stayed: u32,
    /// Consecutive frames in which its path did not carry the base layers.
    pub(super) starved: u32,
    /// Consecutive comparisons in which it was nearer to another rendition's receivers.
    pub(super) stray: u32,
}

impl Member {
    /// Makes a member of a new receiver.
    pub(super) fn new(receiver: Receiver, rendition: u64) -> Self {
        let Receiver { rate, owed_frames, needs_random_access, .. } = receiver;
        let settled = logarithm(rate);
        Self {
            rendition,
            rate,
            owed_frames,
            needs_random_access,
            comes: false,
            settled,
            known: 0,
            stayed: 0,
            starved: 0,
            stray: 0,
        }
    }

    /// Updates it for the next frame; `weight` is the weight of the newest rate once it has settled.
    pub(super) fn handle_frame(&mut self, receiver: Receiver, weight: f64) {
        let Receiver { rate, owed_frames, needs_random_access, .. } = receiver;
        (self.rate, self.owed_frames, self.needs_random_access, self.comes) =
            (rate, owed_frames, needs_random_access, false);
        // A path without measurements has no rate.
        if rate >= 1.0 {
            self.known = self.known.saturating_add(1);
            // At first the newest rate has more weight: a connection starts slowly.
            let weight = weight.max(RATE_BEGIN_SHARE / f64::from(self.known)).min(1.0);
            self.settled += (logarithm(rate) - self.settled) * weight;
        }
        self.stayed = self.stayed.saturating_add(1);
    }

    /// Moves it to another rendition.
    pub(super) const fn enter(&mut self, rendition: u64) {
        self.rendition = rendition;
        self.stayed = 0;
        self.stray = 0;
    }
}

fn logarithm(rate: f64) -> f64 {
    rate.max(1.0).ln()
}
