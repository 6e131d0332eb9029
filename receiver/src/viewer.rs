//! The trait of those who look at a broadcast, and what its methods get.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use nestcast_player::{Announcement, Decoding, Picture, PlayStats};
use nestcast_proto::ReceiveStats;

/// A picture to show.
#[derive(Debug)]
pub struct Shown<'a> {
    /// The frame's number; the same as before where more came of a picture that stays.
    pub id: u64,
    /// Bytes that came in time, and those that the frame has.
    pub bytes: usize,
    /// See `bytes`.
    pub full: u64,
    /// From capture to the end of decoding, and so the age of a picture that stays, by the sender's clock as the session knows it: to within half of a round trip.
    pub latency: Duration,
    /// From the first byte to the last that was used at first.
    pub receiving: Duration,
    /// What decoding took.
    pub decoding: Duration,
    /// The picture.
    pub picture: &'a Picture,
}

/// A picture for a frame of video that is not there when it is due: what the last one looks like if its motion goes on. The frame may
/// still come; it is shown then unless a later one stands on the screen.
#[derive(Debug)]
pub struct Concealed<'a> {
    /// The frame's number.
    pub id: u64,
    /// The picture.
    pub picture: &'a Picture,
}

/// All that came on all connections so far, and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Frames as they came from the network.
    pub received: ReceiveStats,
    /// What was shown of them, and what was not.
    pub played: PlayStats,
    /// Connections after the first.
    pub reconnects: u64,
}

/// In a line: the pictures that were shown, and what became of the others.
impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReceiveStats { shown, bytes, blank, .. } = self.received;
        let PlayStats { shown: pictures, corrupt, concealed, .. } = self.played;
        let skipped = shown.saturating_sub(pictures + corrupt);
        let s = if pictures == 1 { "" } else { "s" };
        write!(f, "{pictures} picture{s} from {bytes} bytes, {skipped} skipped for want of time, {blank} never came")?;
        if concealed > 0 {
            write!(f, ", {concealed} concealed while they were missing")?;
        }
        if self.reconnects > 0 {
            write!(f, ", {} reconnections", self.reconnects)?;
        }
        Ok(())
    }
}

/// Whoever looks. All calls come from one thread of its own; the error of any ends the receiving.
pub trait Viewer: Send + 'static {
    /// Why it can go on no longer.
    type Error: Into<Box<dyn StdError + Send + Sync>>;

    /// A sender announced itself. Nothing if its model is missing: then it is asked for, and
    /// [`Viewer::handle_package`] gets it.
    ///
    /// # Errors
    /// If this viewer cannot show such pictures.
    fn handle_announcement(&mut self, announced: &Announcement) -> Result<Option<Decoding>, Self::Error>;

    /// The model package that was asked for, as the sender gave it: not checked yet. Nothing if it is not taken.
    ///
    /// # Errors
    /// If it is not the right one, or is not sound.
    fn handle_package(&mut self, announced: &Announcement, package: Bytes) -> Result<Option<Decoding>, Self::Error> {
        let _ = (announced, package);
        Ok(None)
    }

    /// Shows a picture.
    ///
    /// # Errors
    /// If it cannot be shown.
    fn show(&mut self, shown: &Shown<'_>) -> Result<(), Self::Error>;

    /// A frame of video is not there when it is due: shows where motion goes on. No more than
    /// four frames behind the last one decoded are concealed.
    ///
    /// # Errors
    /// If it cannot be shown.
    fn conceal(&mut self, concealed: &Concealed<'_>) -> Result<(), Self::Error> {
        let _ = concealed;
        Ok(())
    }

    /// Nothing came for as long as a frame takes, and nothing moves on: shows the last picture again.
    ///
    /// # Errors
    /// If it cannot be shown.
    fn hold(&mut self, picture: &Picture) -> Result<(), Self::Error> {
        let _ = picture;
        Ok(())
    }

    /// What came so far; called about once a second, and at the end.
    ///
    /// # Errors
    /// If it cannot be told.
    fn report(&mut self, totals: &Totals) -> Result<(), Self::Error> {
        let _ = totals;
        Ok(())
    }

    /// The broadcast is over, or nobody looks any more: called once, behind everything else, unless an error came before.
    ///
    /// # Errors
    /// If what was shown cannot be kept.
    fn finish(self) -> Result<(), Self::Error>
    where
        Self: Sized,
    {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_counts_pictures_that_were_shown_and_all_others_that_came_as_skipped() {
        let played = PlayStats { shown: 4, corrupt: 1, undecoded: 2, ..PlayStats::default() };
        let received = ReceiveStats { shown: 9, ..ReceiveStats::default() };
        let said = Totals { received, played, reconnects: 0 }.to_string();
        assert!(said.starts_with("4 pictures from 0 bytes, 4 skipped for want of time, 0 never came"), "{said}");
    }
}
