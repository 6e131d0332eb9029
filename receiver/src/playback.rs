//! The playback thread: from the mailbox through the player to a viewer.

use std::time::{Duration, Instant};

use bytes::Bytes;
use nestcast_player::{Announcement, PlayStats, Playout, Present};
use nestcast_proto::{Arrived, More, Welcome};

use crate::mailbox::{Answer, Counts, Mail, Mailbox};
use crate::sender_clock;
use crate::sink::Readiness;
use crate::view_error::ViewError;
use crate::viewer::{Concealed, Shown, Totals, Viewer};

/// The time between two reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// The state of the playback thread.
pub(crate) struct Playback<'a, V> {
    viewer: V,
    mailbox: &'a Mailbox,
    playout: Playout,
    announced: Option<Announcement>,
    /// The origin of the player's times.
    epoch: Instant,
    reported: Instant,
}

impl<'a, V: Viewer> Playback<'a, V> {
    pub(crate) fn new(viewer: V, mailbox: &'a Mailbox) -> Self {
        let now = Instant::now();
        Self { viewer, mailbox, playout: Playout::new(), announced: None, epoch: now, reported: now }
    }

    /// Plays until the last mail has arrived or the viewer cannot continue.
    pub(crate) fn run(mut self) -> Result<(), ViewError> {
        let mut patience = REPORT_INTERVAL;
        loop {
            let mail = self.mailbox.take(patience);
            let counts = self.mailbox.counts();
            // The player's clock stands still while this mail is processed, so that the wait for the next frame begins
            // after decoding and showing, however long they take.
            let now = self.epoch.elapsed();
            if mail.is_empty() && mail.last {
                self.report(&counts)?;
                return self.viewer.finish().map_err(failed);
            }
            self.handle_mail(now, mail)?;
            if self.reported.elapsed() >= REPORT_INTERVAL {
                self.reported = Instant::now();
                self.report(&counts)?;
            }
            patience = self.playout.poll_timeout().map_or(REPORT_INTERVAL, |due| due.saturating_sub(now));
        }
    }

    fn handle_mail(&mut self, now: Duration, mail: Mail) -> Result<(), ViewError> {
        if mail.is_empty() {
            self.present(now, Instant::now())?;
        }
        if !mail.frames.is_empty() {
            self.handle_frames(now, mail.frames)?;
        }
        if let Some(more) = mail.more {
            self.handle_more(now, more)?;
        }
        if let Some((welcome, answer)) = mail.welcome {
            self.handle_welcome(now, &welcome, answer)?;
        }
        if let Some((package, answer)) = mail.package {
            self.handle_package(now, package, answer)?;
        }
        Ok(())
    }

    fn report(&mut self, counts: &Counts) -> Result<(), ViewError> {
        let played = self.playout.totals();
        let played = PlayStats { undecoded: played.undecoded + counts.replaced, ..played };
        let totals = Totals { received: counts.received, played, reconnects: counts.reconnects };
        self.viewer.report(&totals).map_err(failed)
    }

    fn handle_frames(&mut self, now: Duration, frames: impl IntoIterator<Item = Arrived>) -> Result<(), ViewError> {
        let start = Instant::now();
        for frame in frames {
            self.playout.handle_frame(now, frame)?;
            self.log_corrupt();
        }
        self.present(now, start)
    }

    fn handle_more(&mut self, now: Duration, more: More) -> Result<(), ViewError> {
        let start = Instant::now();
        self.playout.handle_more(now, more)?;
        self.present(now, start)
    }

    fn handle_welcome(&mut self, now: Duration, welcome: &Welcome, answer: Answer<Readiness>) -> Result<(), ViewError> {
        let announced = self.playout.handle_welcome(welcome)?;
        self.announced = Some(announced);
        let decoding = self.viewer.handle_announcement(&announced).map_err(failed)?;
        let readiness = if decoding.is_some() { Readiness::Ready } else { Readiness::NeedsPackage };
        if let Some(decoding) = decoding {
            self.playout.handle_decoding(now, decoding);
        }
        // The connection that asked may have ended.
        let _ = answer.send(readiness);
        Ok(())
    }

    fn handle_package(&mut self, now: Duration, package: Bytes, answer: Answer<()>) -> Result<(), ViewError> {
        let Some(announced) = &self.announced else { return Ok(()) };
        let decoding = self.viewer.handle_package(announced, package).map_err(failed)?;
        self.playout.handle_decoding(now, decoding.ok_or(ViewError::PackageRefused)?);
        let _ = answer.send(());
        Ok(())
    }

    /// Shows what the player returns, if anything. `start` is when decoding began.
    fn present(&mut self, now: Duration, start: Instant) -> Result<(), ViewError> {
        let Some(present) = self.playout.handle_time(now)? else {
            self.log_corrupt();
            return Ok(());
        };
        match present {
            Present::Show { id, captured, bytes, full, receiving, picture } => {
                self.mailbox.was_useful();
                let latency = sender_clock::since(captured, self.mailbox.ahead());
                let decoding = start.elapsed();
                let shown = Shown { id, bytes, full, latency, receiving, decoding, picture };
                self.viewer.show(&shown).map_err(failed)?;
                self.playout.handle_shown(sender_clock::since(captured, self.mailbox.ahead()));
                Ok(())
            }
            Present::Conceal { id, picture } => self.viewer.conceal(&Concealed { id, picture }).map_err(failed),
            Present::Hold { picture } => self.viewer.hold(picture).map_err(failed),
        }
    }

    fn log_corrupt(&mut self) {
        if let Some(frame) = self.playout.poll_corrupt() {
            tracing::debug!(frame = frame.id, "not shown: {}", frame.why);
        }
    }
}

fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> ViewError {
    ViewError::View(error.into())
}
