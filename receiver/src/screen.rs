//! The thread that decodes and shows: always the newest prefix.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use nestcast_codec::{Decoder, Header, Parsed, Picture, Size};
use nestcast_proto::Arrived;

use crate::player::{Answer, Player};
use crate::view::{Announcement, Decoding, Shown, Totals, Viewer};

/// Between two reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// A sender none of whose last frames can be decoded is not waited for any longer: three seconds of them.
const MAX_CORRUPT_FRAMES: u32 = 100;

/// What the thread works with.
pub(crate) struct Screen<'a, V> {
    viewer: V,
    player: &'a Player,
    announced: Option<Announcement>,
    decoding: Option<Decoding>,
    /// The picture that was shown last, to be decoded into.
    picture: Option<Picture>,
    totals: Totals,
    /// Frames since the last picture that could not be decoded.
    corrupt: u32,
    reported: Instant,
}

impl<'a, V: Viewer> Screen<'a, V> {
    pub(crate) fn new(viewer: V, player: &'a Player) -> Self {
        let (totals, reported) = (Totals::default(), Instant::now());
        Self { viewer, player, announced: None, decoding: None, picture: None, totals, corrupt: 0, reported }
    }

    /// Shows until the last mail came or the viewer cannot go on.
    pub(crate) fn run(mut self) -> Result<(), String> {
        loop {
            let patience = self.announced.map_or(REPORT_INTERVAL, |announced| announced.interval() * 3 / 2);
            let mail = self.player.take(patience);
            let Totals { held, corrupt, .. } = self.totals;
            self.totals = Totals { held, corrupt, ..self.player.totals() };
            if mail.is_empty() {
                if mail.last {
                    return self.viewer.report(&self.totals);
                }
                self.hold()?;
            }
            if let Some(arrived) = mail.frame {
                self.show(&arrived)?;
            }
            if let Some((announced, answer)) = mail.announced {
                self.announce(announced, answer)?;
            }
            if let Some((package, answer)) = mail.package {
                self.package(package, answer)?;
            }
            if self.reported.elapsed() >= REPORT_INTERVAL {
                self.reported = Instant::now();
                self.viewer.report(&self.totals)?;
            }
        }
    }

    fn hold(&mut self) -> Result<(), String> {
        if self.decoding.is_some() && self.totals.received.shown > 0 {
            self.totals.held += 1;
            self.viewer.hold()?;
        }
        Ok(())
    }

    fn announce(&mut self, announced: Announcement, answer: Answer<bool>) -> Result<(), String> {
        self.announced = Some(announced);
        let decoding = self.viewer.handle_announcement(&announced);
        // Whoever asked may have gone with its connection.
        let _ = answer.send(decoding.as_ref().map(Option::is_some).map_err(Clone::clone));
        self.decoding = decoding?;
        Ok(())
    }

    fn package(&mut self, package: Bytes, answer: Answer<()>) -> Result<(), String> {
        let Some(announced) = &self.announced else { return Ok(()) };
        let decoding = self.viewer.handle_package(announced, package);
        let _ = answer.send(decoding.as_ref().map(drop).map_err(Clone::clone));
        self.decoding = Some(decoding?);
        Ok(())
    }

    fn show(&mut self, arrived: &Arrived) -> Result<(), String> {
        let (Some(decoding), Some(announced)) = (&mut self.decoding, &self.announced) else { return Ok(()) };
        let start = Instant::now();
        let picture = match decode(&mut decoding.decoder, announced.size, &arrived.prefix, self.picture.take()) {
            Ok(picture) => self.picture.insert(picture),
            Err(why) => {
                tracing::debug!(frame = arrived.header.id, "not shown: {why}");
                self.totals.corrupt += 1;
                self.corrupt += 1;
                let given_up = self.corrupt >= MAX_CORRUPT_FRAMES;
                let why = format!("none of the sender's last {MAX_CORRUPT_FRAMES} frames can be decoded: {why}");
                return if given_up { Err(why) } else { Ok(()) };
            }
        };
        self.corrupt = 0;
        self.player.decoded();
        let shown = Shown {
            id: arrived.header.id,
            bytes: arrived.prefix.len(),
            full: arrived.header.full,
            latency: since(arrived.header.captured),
            receiving: arrived.shown.saturating_sub(arrived.first),
            decoding: start.elapsed(),
            picture,
        };
        self.viewer.show(&shown)
    }
}

/// Decodes a frame if its header has the size that was announced: no memory is taken for another. The picture before is decoded into.
fn decode(decoder: &mut Decoder, size: Size, prefix: &[u8], before: Option<Picture>) -> Result<Picture, String> {
    if let Parsed::Complete(header, _) = Header::parse(prefix).map_err(|error| error.to_string())?
        && header.size != size
    {
        return Err("it has another size than announced".to_owned());
    }
    decoder.reset();
    decoder.push(prefix).map_err(|error| error.to_string())?;
    let channels = decoder.header().map(|header| header.channels);
    match before.filter(|before| before.size() == size && Some(before.channels()) == channels) {
        Some(mut picture) => decoder.render_into(&mut picture).map(|()| picture),
        None => decoder.render(),
    }
    .map_err(|error| error.to_string())
}

/// How long ago a moment was, in microseconds since 1970.
fn since(captured: u64) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(Duration::from_micros(captured))
}
