//! One receiver: its rendition, and its rate as it settled.

/// What an encoder knows of a receiver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receiver {
    pub(crate) number: u64,
    /// Bits a second that its path carries of frames.
    pub(crate) rate: f64,
    /// As [`ReceiverDemand::owed_frames`](nestcast_proto::ReceiverDemand::owed_frames).
    pub(crate) owed_frames: u64,
    /// As [`ReceiverDemand::needs_join`](nestcast_proto::ReceiverDemand::needs_join).
    pub(crate) needs_join: bool,
}

/// A rate that is known for less than the time over which it settles does so over one part in this many of that time.
const RATE_BEGIN_SHARE: f64 = 4.0;

/// A receiver in a rendition.
#[derive(Debug)]
pub(super) struct Member {
    /// The number of its rendition.
    pub(super) rendition: u64,
    pub(super) rate: f64,
    pub(super) owed_frames: u64,
    pub(super) needs_join: bool,
    /// It is on its way to this rendition, or arrives in it with this frame: it changes to no other.
    pub(super) comes: bool,
    /// The natural logarithm of its rate, as it settled.
    pub(super) settled: f64,
    /// Frames since its rate is known.
    pub(super) known: u32,
    /// Frames since it came or changed renditions.
    pub(super) stayed: u32,
    /// Frames in a row in which its path did not carry the bases.
    pub(super) starved: u32,
    /// Comparisons in a row in which it was nearer to another rendition's receivers.
    pub(super) stray: u32,
}

impl Member {
    /// A receiver that comes.
    pub(super) fn new(receiver: Receiver, rendition: u64) -> Self {
        let Receiver { rate, owed_frames, needs_join, .. } = receiver;
        let settled = logarithm(rate);
        Self {
            rendition,
            rate,
            owed_frames,
            needs_join,
            comes: false,
            settled,
            known: 0,
            stayed: 0,
            starved: 0,
            stray: 0,
        }
    }

    /// The next frame is due, and this is known of it. `weight` is what the newest rate counts for once it has settled.
    pub(super) fn handle_frame(&mut self, receiver: Receiver, weight: f64) {
        let Receiver { rate, owed_frames, needs_join, .. } = receiver;
        (self.rate, self.owed_frames, self.needs_join, self.comes) = (rate, owed_frames, needs_join, false);
        // A path of which nothing is known yet has no rate.
        if rate >= 1.0 {
            self.known = self.known.saturating_add(1);
            // At first the newest rate counts for more: a connection begins slowly.
            let weight = weight.max(RATE_BEGIN_SHARE / f64::from(self.known)).min(1.0);
            self.settled += (logarithm(rate) - self.settled) * weight;
        }
        self.stayed = self.stayed.saturating_add(1);
    }

    /// It is in another rendition from now on.
    pub(super) const fn enter(&mut self, rendition: u64) {
        self.rendition = rendition;
        self.stayed = 0;
        self.stray = 0;
    }
}

fn logarithm(rate: f64) -> f64 {
    rate.max(1.0).ln()
}
