//! Frames from the mailbox to a viewer, on the thread that decodes.

use std::time::{Duration, Instant};

use bytes::Bytes;
use nestcast_codec::{ModelId, Picture, Range, Size};
use nestcast_proto::{Arrived, FrameHeader, More, Welcome};

use crate::decoding::Decoding;
use crate::latency;
use crate::mailbox::{Answer, Mailbox};
use crate::player::{Cause, MAX_CORRUPT_FRAMES, PlayError};
use crate::sink::Readiness;
use crate::viewer::{AnnouncedVideo, Announcement, Shown, Totals, Viewer};

/// Between two reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// What the thread works with.
pub(crate) struct Playback<'a, V> {
    viewer: V,
    mailbox: &'a Mailbox,
    announced: Option<Announcement>,
    /// The time from one frame to the next.
    interval: Duration,
    decoding: Option<Decoding>,
    /// The frame that was decoded last, while more of it may come.
    last: Option<Last>,
    /// The picture that was shown last; the next is decoded into it.
    picture: Option<Picture>,
    totals: Totals,
    corrupt: Corrupt,
    reported: Instant,
}

impl<'a, V: Viewer> Playback<'a, V> {
    pub(crate) fn new(viewer: V, mailbox: &'a Mailbox) -> Self {
        let (totals, interval, reported) = (Totals::default(), REPORT_INTERVAL, Instant::now());
        Self {
            viewer,
            mailbox,
            announced: None,
            interval,
            decoding: None,
            last: None,
            picture: None,
            totals,
            corrupt: Corrupt(0),
            reported,
        }
    }

    /// Shows until the last mail came or the viewer cannot go on.
    pub(crate) fn run(mut self) -> Result<(), PlayError> {
        let mut patience = self.interval * 3 / 2;
        loop {
            let mail = self.mailbox.take(patience);
            // What is held is shown as often as frames are.
            patience = if mail.is_empty() { self.interval } else { self.interval * 3 / 2 };
            self.count();
            if mail.is_empty() {
                if mail.last {
                    return self.viewer.report(&self.totals).map_err(failed);
                }
                self.hold()?;
            }
            self.show(mail.frames)?;
            if let Some(more) = mail.more {
                self.show_more(&more)?;
            }
            if let Some((welcome, answer)) = mail.welcome {
                self.announce(&welcome, answer)?;
            }
            if let Some((package, answer)) = mail.package {
                self.package(package, answer)?;
            }
            if self.reported.elapsed() >= REPORT_INTERVAL {
                self.reported = Instant::now();
                self.viewer.report(&self.totals).map_err(failed)?;
            }
        }
    }

    fn count(&mut self) {
        let counts = self.mailbox.counts();
        let Totals { held, corrupt, latency, .. } = self.totals;
        let (received, undecoded, reconnects) = (counts.received, counts.replaced, counts.reconnects);
        self.totals = Totals { received, undecoded, held, corrupt, reconnects, latency };
    }

    fn hold(&mut self) -> Result<(), PlayError> {
        if self.decoding.is_some()
            && let Some(picture) = &self.picture
        {
            self.totals.held += 1;
            self.viewer.hold(picture).map_err(failed)?;
        }
        Ok(())
    }

    fn announce(&mut self, welcome: &Welcome, answer: Answer<Readiness>) -> Result<(), PlayError> {
        let size = Size::new(welcome.width, welcome.height).map_err(|error| PlayError::Size(error.into()))?;
        let (model, package, rate) = (ModelId(welcome.model), welcome.package, welcome.rate);
        let video = welcome.video.map(|video| AnnouncedVideo {
            residual: ModelId(video.residual),
            range: if video.full_range { Range::Full } else { Range::Limited },
        });
        let announced = Announcement { model, package, size, rate, video };
        (self.announced, self.interval) = (Some(announced), welcome.interval());
        self.last = None;
        self.decoding = self.viewer.handle_announcement(&announced).map_err(failed)?;
        // Whoever asked may have gone with its connection.
        let _ = answer.send(if self.decoding.is_some() { Readiness::Ready } else { Readiness::NeedsPackage });
        Ok(())
    }

    fn package(&mut self, package: Bytes, answer: Answer<()>) -> Result<(), PlayError> {
        let Some(announced) = &self.announced else { return Ok(()) };
        let decoding = self.viewer.handle_package(announced, package).map_err(failed)?;
        self.decoding = Some(decoding.ok_or(PlayError::PackageRefused)?);
        let _ = answer.send(());
        Ok(())
    }

    /// Decodes all frames, in their order, and shows the last one that can be decoded.
    fn show(&mut self, frames: impl IntoIterator<Item = Arrived>) -> Result<(), PlayError> {
        let (Some(decoding), Some(announced)) = (&mut self.decoding, &self.announced) else { return Ok(()) };
        let start = Instant::now();
        let mut last = None;
        for arrived in frames {
            let decoded = decoding.decode(announced.size, &arrived.prefix);
            let Err(why) = decoded else {
                last = Some(arrived);
                continue;
            };
            tracing::debug!(frame = arrived.header.id, "not shown: {why}");
            self.corrupt.note(&mut self.totals, why)?;
        }
        let Some(arrived) = last else { return Ok(()) };
        let receiving = arrived.shown.saturating_sub(arrived.first);
        let FrameHeader { id, captured, full, .. } = arrived.header;
        let last = Last { id, captured, full, bytes: arrived.prefix.len(), receiving };
        self.last = Some(last);
        if self.draw(last, start)? {
            self.totals.latency.note(latency::since(captured, self.mailbox.ahead()));
        }
        Ok(())
    }

    /// Takes more of the picture that is shown, and shows it anew.
    fn show_more(&mut self, more: &More) -> Result<(), PlayError> {
        let start = Instant::now();
        let (Some(decoding), Some(last)) = (&mut self.decoding, &mut self.last) else { return Ok(()) };
        if last.id != more.frame {
            return Ok(());
        }
        if let Err(why) = decoding.append(&more.bytes) {
            self.last = None;
            return self.corrupt.note(&mut self.totals, why);
        }
        (last.bytes, last.full) = (last.bytes + more.bytes.len(), more.full.max(last.full));
        let last = *last;
        self.draw(last, start).map(drop)
    }

    /// Draws what was decoded and shows it; gives whether it could be drawn. `start`: when decoding began.
    fn draw(&mut self, last: Last, start: Instant) -> Result<bool, PlayError> {
        let (Some(decoding), Some(announced)) = (&mut self.decoding, &self.announced) else { return Ok(false) };
        let picture = match decoding.draw(announced.size, &mut self.picture) {
            Ok(picture) => picture,
            Err(why) => return self.corrupt.note(&mut self.totals, why).map(|()| false),
        };
        self.corrupt = Corrupt(0);
        self.mailbox.was_useful();
        let Last { id, captured, full, bytes, receiving } = last;
        let latency = latency::since(captured, self.mailbox.ahead());
        let shown = Shown { id, bytes, full, latency, receiving, decoding: start.elapsed(), picture };
        self.viewer.show(&shown).map_err(failed).map(|()| true)
    }
}

/// A frame that was decoded, as [`Shown`] has it.
#[derive(Debug, Clone, Copy)]
struct Last {
    id: u64,
    captured: u64,
    full: u64,
    bytes: usize,
    receiving: Duration,
}

/// Frames since the last picture that could not be decoded.
struct Corrupt(u32);

impl Corrupt {
    /// Another one: fails if they are too many.
    fn note(&mut self, totals: &mut Totals, why: Cause) -> Result<(), PlayError> {
        totals.corrupt += 1;
        self.0 += 1;
        if self.0 >= MAX_CORRUPT_FRAMES { Err(PlayError::Undecodable(why)) } else { Ok(()) }
    }
}

fn failed(error: impl Into<Cause>) -> PlayError {
    PlayError::View(error.into())
}
