//! What a receiver shows, and to whom.

use std::time::Duration;

use bytes::Bytes;
use nestcast_codec::{Decoder, ModelId, Picture, Size};
use nestcast_proto::{PackageHash, ReceiveStats};

/// What the sender announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Announcement {
    /// The tables that the frames were encoded with: who decodes without networks needs no more.
    pub model: ModelId,
    /// The package with these tables and the networks that go with them.
    pub package: PackageHash,
    /// The size of every picture.
    pub size: Size,
    /// Frames in so many seconds.
    pub rate: (u32, u32),
}

impl Announcement {
    /// From frame to frame.
    pub(crate) fn interval(&self) -> Duration {
        let (frames, seconds) = self.rate;
        Duration::from_secs(u64::from(seconds)) / frames.max(1)
    }
}

/// A picture to show.
#[derive(Debug)]
pub struct Shown<'a> {
    /// The frame's number.
    pub id: u64,
    /// Bytes that came in time, and those that the frame has.
    pub bytes: usize,
    /// See `bytes`.
    pub full: u64,
    /// From capture to the end of decoding, by both machines' clocks; zero if those disagree.
    pub latency: Duration,
    /// From the first byte to the last that was used.
    pub receiving: Duration,
    /// What decoding took.
    pub decoding: Duration,
    /// The picture.
    pub picture: &'a Picture,
}

/// All that came on all connections so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Frames as they came from the network.
    pub received: ReceiveStats,
    /// Frames that came but were not decoded, because a newer one was there.
    pub undecoded: u64,
    /// Times that the last picture was held for an interval because nothing came.
    pub held: u64,
    /// Frames whose bytes are no picture.
    pub corrupt: u64,
    /// Connections after the first.
    pub reconnects: u64,
}

/// How to decode with one model.
pub struct Decoding {
    /// Decodes one frame after another.
    pub decoder: Decoder,
}

impl std::fmt::Debug for Decoding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoding").finish_non_exhaustive()
    }
}

/// Whoever looks. All calls come from one thread of its own; the error of any ends the receiving.
pub trait Viewer: Send + 'static {
    /// A sender announced itself. Nothing if its model is missing: then it is asked for, and
    /// [`Viewer::handle_package`] gets it.
    ///
    /// # Errors
    /// If this viewer cannot show such pictures.
    fn handle_announcement(&mut self, announced: &Announcement) -> Result<Option<Decoding>, String>;

    /// The model package that was asked for, as the sender gave it: not checked yet.
    ///
    /// # Errors
    /// If it is not the right one, or is not sound.
    fn handle_package(&mut self, announced: &Announcement, package: Bytes) -> Result<Decoding, String>;

    /// Shows a picture.
    ///
    /// # Errors
    /// If it cannot be shown.
    fn show(&mut self, shown: &Shown<'_>) -> Result<(), String>;

    /// Nothing came for as long as a frame takes: shows the last picture again.
    ///
    /// # Errors
    /// If it cannot be shown.
    fn hold(&mut self) -> Result<(), String>;

    /// What came so far; called about once a second.
    ///
    /// # Errors
    /// If it cannot be told.
    fn report(&mut self, totals: &Totals) -> Result<(), String>;
}
