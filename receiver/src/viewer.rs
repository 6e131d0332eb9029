//! The trait of a viewer, and the arguments of its methods.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use nestcast_player::{Announcement, Decoding, Picture, PlayStats, SoundBlock, SoundMode, SoundStats};
use nestcast_proto::{Bitrate, ReceiveStats, Sound};

/// A picture to show.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// The frame's number; the same as before if more of a picture that stays has arrived.
    pub id: u64,
    /// The frame's capture time, in microseconds since 1970-01-01 UTC.
    pub captured: u64,
    /// Bytes that arrived in time.
    pub bytes: usize,
    /// Bytes of the whole frame.
    pub full: u64,
    /// The time from capture until it is shown, by the sender's clock, accurate to half of a round trip. For a picture
    /// that stays it is the picture's age.
    pub latency: Duration,
    /// The time from the first byte to the last that the first picture used.
    pub receiving: Duration,
    /// The decoding time.
    pub decoding: Duration,
    /// The picture.
    pub picture: &'a Picture,
}

/// A picture for a frame of video that is missing when it is due: the last picture, moved by its own motion. The frame
/// may still arrive; the player then shows it unless the screen already shows a later one.
#[derive(Debug, Clone, Copy)]
pub struct Concealed<'a> {
    /// The frame's number.
    pub id: u64,
    /// The picture.
    pub picture: &'a Picture,
}

/// Everything that arrived on all connections so far, and what happened to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Frames as they arrived from the network.
    pub received: ReceiveStats,
    /// Counts of the frames that were shown, and of those that were not.
    pub played: PlayStats,
    /// Connections that showed a picture, after the first of these.
    pub reconnects: u64,
    /// How long pictures were shown: the time from the first of each connection to its last.
    pub watched: Duration,
}

/// One line: how many pictures were shown for how long at which rate, and what was not as it should be.
impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReceiveStats { shown, bytes, missing_bases, .. } = self.received;
        let PlayStats { shown: pictures, corrupt, concealed, repeated, late, .. } = self.played;
        let s = if pictures == 1 { "" } else { "s" };
        let SoundStats { packets, lost, .. } = self.played.sound;
        write!(f, "{pictures} picture{s}{}", if packets > 0 { " with sound" } else { "" })?;
        match Bitrate::of(bytes, self.watched).filter(|_| pictures > 1) {
            Some(rate) => write!(f, " in {:.1} s, {} kbit/s", self.watched.as_secs_f64(), rate.bits() / 1000)?,
            None => write!(f, ", {bytes} bytes")?,
        }
        for (count, what) in [
            (shown.saturating_sub(pictures + corrupt), "came too late to be shown"),
            (missing_bases, "did not arrive"),
            (corrupt, "could not be decoded"),
            (concealed, "concealed"),
            (repeated, "repeated"),
            (late, "shown late"),
            (lost, "of the sound's packets lost"),
        ] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        if self.reconnects > 0 {
            write!(f, ", connected {} times", self.reconnects + 1)?;
        }
        self.write_evenness(f)
    }
}

impl Totals {
    /// Writes how even motion was, and what that cost.
    fn write_evenness(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(p95) = self.played.unevenness.percentile(95) else { return Ok(()) };
        match p95 {
            Duration::MAX => write!(f, "; motion is uneven by over 100 ms")?,
            bound => write!(f, "; motion is even to {} ms", bound.as_secs_f64() * 1e3)?,
        }
        match self.played.mean_wait().as_millis() {
            0 => Ok(()),
            delay => write!(f, " with {delay} ms of delay"),
        }
    }
}

/// A viewer of a broadcast. One thread makes all calls; any error ends the reception.
pub trait Viewer: Send + 'static {
    /// Why the viewer cannot continue.
    type Error: Into<Box<dyn StdError + Send + Sync>>;

    /// Handles a sender's announcement. Return `None` if the model is missing: the receiver then asks for it, and
    /// [`Viewer::handle_package`] gets it. Video has no package, which is 32 zeros in [`Announcement::package`]: return an
    /// error if you cannot decode it.
    ///
    /// # Errors
    /// If this viewer cannot show such pictures.
    fn handle_announcement(&mut self, announced: &Announcement) -> Result<Option<Decoding>, Self::Error>;

    /// Handles the requested model package, unchecked. Return `None` to refuse it.
    ///
    /// # Errors
    /// If the package is the wrong one, or is damaged.
    fn handle_package(&mut self, announced: &Announcement, package: Bytes) -> Result<Option<Decoding>, Self::Error> {
        let _ = (announced, package);
        Ok(None)
    }

    /// Shows a picture.
    ///
    /// # Errors
    /// If it cannot be shown.
    fn show(&mut self, shown: &Shown<'_>) -> Result<(), Self::Error>;

    /// Shows a picture for a frame of video that is missing when it is due. At most four frames after the last decoded
    /// one are concealed.
    ///
    /// # Errors
    /// If it cannot be shown.
    fn conceal(&mut self, concealed: &Concealed<'_>) -> Result<(), Self::Error> {
        let _ = concealed;
        Ok(())
    }

    /// Shows the last picture again, because no frame arrived in a frame's time and nothing moves. It is not called while
    /// there is no connection, and before a connection's first frame.
    ///
    /// # Errors
    /// If it cannot be shown.
    fn hold(&mut self, picture: &Picture) -> Result<(), Self::Error> {
        let _ = picture;
        Ok(())
    }

    /// Notes that a connection ended, after everything that it brought was shown. It is not called if the receiver ends
    /// the connection because it stops.
    ///
    /// # Errors
    /// If the viewer cannot continue.
    fn handle_disconnection(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Returns what the viewer does with sound; `None` if it plays none, which is the default. Asked once, before all
    /// other calls.
    fn sound_mode(&self) -> Option<SoundMode> {
        None
    }

    /// Learns the sound of the broadcast that was announced last; `None` if that has none. Called after each announcement if
    /// the viewer plays sound.
    ///
    /// # Errors
    /// If it cannot be played.
    fn handle_sound_announced(&mut self, sound: Option<Sound>) -> Result<(), Self::Error> {
        let _ = sound;
        Ok(())
    }

    /// Plays the next block of sound.
    ///
    /// # Errors
    /// If it cannot be played.
    fn play(&mut self, block: &SoundBlock) -> Result<(), Self::Error> {
        let _ = block;
        Ok(())
    }

    /// Reports what arrived so far; called about once a second, and at the end.
    ///
    /// # Errors
    /// If the report cannot be made.
    fn report(&mut self, totals: &Totals) -> Result<(), Self::Error> {
        let _ = totals;
        Ok(())
    }

    /// Ends the view, after all other calls: the broadcast is over, or the receiver stops. It is called once, unless an
    /// error occurred before.
    ///
    /// # Errors
    /// If what was shown cannot be saved.
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
    fn a_summary_has_time_and_rate_and_counts_what_there_was() {
        let played = PlayStats { shown: 4, corrupt: 1, undecoded: 2, ..PlayStats::default() };
        let received = ReceiveStats { shown: 9, bytes: 50_000, ..ReceiveStats::default() };
        let totals = Totals { received, played, reconnects: 1, watched: Duration::from_secs(2) };
        let said = totals.to_string();
        assert_eq!(
            said,
            "4 pictures in 2.0 s, 200 kbit/s, 4 came too late to be shown, 1 could not be decoded, connected 2 times"
        );
        let received = ReceiveStats { shown: 1, bytes: 700, ..ReceiveStats::default() };
        let one = Totals { received, played: PlayStats { shown: 1, ..PlayStats::default() }, ..Totals::default() };
        assert_eq!(one.to_string(), "1 picture, 700 bytes");
    }
}
