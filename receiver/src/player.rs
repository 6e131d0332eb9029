//! The sink that decodes frames and shows them to a viewer, on a thread of its own.
//!
//! The network never waits for the decoder: of pictures one that is late finds the newest and skips what came before, of video
//! it decodes all and shows the newest.

use std::error::Error as StdError;
use std::future::Future;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use nestcast_codec::{ModelId, Picture, Range, Size};
use nestcast_proto::{Arrived, PackageHash, ReceiveStats, Welcome};

use crate::decoding::Decoding;
use crate::error::Error;
use crate::latency::{self, LatencyHistogram};
use crate::mailbox::{Answer, CloseOnDrop, Mailbox};
use crate::receive::{Config, receive};
use crate::sink::{FrameSink, Readiness};

/// Between two reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// Frames in a row that may fail to decode before their sender is given up: three seconds of them.
const MAX_CORRUPT_FRAMES: u32 = 100;

pub(crate) type Cause = Box<dyn StdError + Send + Sync>;

/// What the sender announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Announcement {
    /// The tables that the frames were encoded with, of video those of frames predicted from nothing: who decodes without
    /// networks needs no more.
    pub model: ModelId,
    /// The package with these tables and the networks that go with them.
    pub package: PackageHash,
    /// The size of every picture.
    pub size: Size,
    /// Frames in so many seconds.
    pub rate: (u32, u32),
    /// Of video.
    pub video: Option<AnnouncedVideo>,
}

/// What the sender of a video announced besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnnouncedVideo {
    /// The tables of predicted frames.
    pub residual: ModelId,
    /// The values that samples take.
    pub range: Range,
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
    /// From capture to the end of decoding, by the sender's clock as the session knows it: to within half of a round trip.
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
    /// From capture to shown.
    pub latency: LatencyHistogram,
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

    /// Nothing came for as long as a frame takes: shows the last picture again.
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
}

/// Why pictures are shown no longer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlayError {
    /// The viewer cannot go on.
    #[error(transparent)]
    View(Cause),
    /// The sender announces a size that no picture has.
    #[error("the sender's pictures cannot be shown: {0}")]
    Size(#[source] Cause),
    /// The model package that was asked for is not taken.
    #[error("the sender's model package is not taken")]
    PackageRefused,
    /// The sender's frames are no pictures.
    #[error("none of the sender's last {MAX_CORRUPT_FRAMES} frames can be decoded: {0}")]
    Undecodable(#[source] Cause),
    /// The thread ended; [`Player::finish`] tells why.
    #[error("the viewer ended")]
    Ended,
    /// The thread broke off.
    #[error("the decoder stopped unexpectedly: please report this")]
    Panicked,
}

/// Receives pictures for `viewer`, as [`receive`] does for a sink.
///
/// # Errors
/// Why it cannot go on.
pub async fn view(config: Config, viewer: impl Viewer, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
    let mut player = Player::start(viewer);
    let outcome = receive(config, &mut player, shutdown).await;
    // What the viewer says is nearer to the cause than what the connection does.
    player.finish().await.map_err(Error::sink).and(outcome)
}

/// Decodes frames and shows them on a thread, which ends when this is dropped.
#[derive(Debug)]
pub struct Player {
    mailbox: Mailbox,
    close: CloseOnDrop,
    thread: JoinHandle<Result<(), PlayError>>,
}

impl Player {
    /// Starts a thread that shows to `viewer`.
    pub fn start(viewer: impl Viewer) -> Self {
        let mailbox = Mailbox::default();
        let of_thread = mailbox.clone();
        let thread = std::thread::spawn(move || {
            let _end = of_thread.end_on_drop();
            Playback::new(viewer, &of_thread).run()
        });
        Self { close: mailbox.close_on_drop(), mailbox, thread }
    }

    /// Shows what is there and ends the thread.
    ///
    /// # Errors
    /// Why it ended before, if it did.
    pub async fn finish(self) -> Result<(), PlayError> {
        let Self { close, thread, .. } = self;
        drop(close);
        let joined = tokio::task::spawn_blocking(move || thread.join()).await;
        joined.ok().and_then(Result::ok).unwrap_or(Err(PlayError::Panicked))
    }
}

impl FrameSink for Player {
    type Error = PlayError;

    fn handle_connection(&mut self) {
        self.mailbox.connected();
    }

    fn handle_clock(&mut self, now: Duration) {
        self.mailbox.set_ahead(latency::ahead(now));
    }

    async fn handle_welcome(&mut self, welcome: &Welcome) -> Result<Readiness, PlayError> {
        self.mailbox.welcome(welcome.clone()).await.map_err(|_| PlayError::Ended)
    }

    async fn handle_package(&mut self, package: Bytes) -> Result<(), PlayError> {
        self.mailbox.package(package).await.map_err(|_| PlayError::Ended)
    }

    fn handle_frame(&mut self, frame: Arrived, stats: ReceiveStats) -> Result<(), PlayError> {
        self.mailbox.frame(frame, stats);
        Ok(())
    }

    fn lost(&mut self) -> Option<u64> {
        self.mailbox.lost()
    }

    async fn failed(&mut self) -> PlayError {
        self.mailbox.ended().await;
        PlayError::Ended
    }

    fn useful_for(&self, _handed_over: Option<Duration>) -> Option<Duration> {
        self.mailbox.useful_for()
    }
}

/// What the thread works with.
struct Playback<'a, V> {
    viewer: V,
    mailbox: &'a Mailbox,
    announced: Option<Announcement>,
    /// The time from one frame to the next.
    interval: Duration,
    decoding: Option<Decoding>,
    /// The picture that was shown last; the next is decoded into it.
    picture: Option<Picture>,
    totals: Totals,
    corrupt: Corrupt,
    reported: Instant,
}

impl<'a, V: Viewer> Playback<'a, V> {
    fn new(viewer: V, mailbox: &'a Mailbox) -> Self {
        let (totals, interval, reported) = (Totals::default(), REPORT_INTERVAL, Instant::now());
        Self {
            viewer,
            mailbox,
            announced: None,
            interval,
            decoding: None,
            picture: None,
            totals,
            corrupt: Corrupt(0),
            reported,
        }
    }

    /// Shows until the last mail came or the viewer cannot go on.
    fn run(mut self) -> Result<(), PlayError> {
        loop {
            let mail = self.mailbox.take(self.interval * 3 / 2);
            self.count();
            if mail.is_empty() {
                if mail.last {
                    return self.viewer.report(&self.totals).map_err(failed);
                }
                self.hold()?;
            }
            self.show(mail.frames)?;
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
        let picture = match decoding.draw(announced.size, &mut self.picture) {
            Ok(picture) => picture,
            Err(why) => return self.corrupt.note(&mut self.totals, why),
        };
        self.corrupt = Corrupt(0);
        self.mailbox.was_useful();
        let latency = latency::since(arrived.header.captured, self.mailbox.ahead());
        self.totals.latency.note(latency);
        let shown = Shown {
            id: arrived.header.id,
            bytes: arrived.prefix.len(),
            full: arrived.header.full,
            latency,
            receiving: arrived.shown.saturating_sub(arrived.first),
            decoding: start.elapsed(),
            picture,
        };
        self.viewer.show(&shown).map_err(failed)
    }
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use nestcast_codec::Codec;
    use nestcast_proto::{FrameHeader, Video};

    use super::*;

    /// Looks at nothing until it is told to, once for each announcement.
    struct Slow(mpsc::Receiver<()>);

    impl Viewer for Slow {
        type Error = Cause;

        fn handle_announcement(&mut self, _announced: &Announcement) -> Result<Option<Decoding>, Cause> {
            self.0.recv()?;
            Ok(None)
        }

        fn handle_package(&mut self, _announced: &Announcement, package: Bytes) -> Result<Option<Decoding>, Cause> {
            Err(format!("a package of {} bytes came", package.len()).into())
        }

        fn show(&mut self, _shown: &Shown<'_>) -> Result<(), Cause> {
            Ok(())
        }
    }

    fn welcome() -> Welcome {
        Welcome { model: [0; 6], package: PackageHash([0; 32]), width: 16, height: 16, rate: (30, 1), video: None }
    }

    fn frame() -> Arrived {
        let header = FrameHeader { id: 0, skipped: 0, captured: 0, full: 4, base: 4 };
        Arrived { header, prefix: Bytes::from_static(b"junk"), first: Duration::ZERO, shown: Duration::ZERO }
    }

    #[tokio::test]
    async fn a_player_that_is_dropped_ends_its_thread() {
        let (_look, looking) = mpsc::channel();
        let player = Player::start(Slow(looking));
        let mailbox = player.mailbox.clone();
        drop(player);
        mailbox.ended().await;
    }

    #[tokio::test]
    async fn a_slow_viewer_loses_frames_but_neither_a_sender_nor_a_model() {
        let (look, looking) = mpsc::channel();
        let mut player = Player::start(Slow(looking));
        let mailbox = player.mailbox.clone();
        for _ in 0..2 {
            player.handle_connection();
            let fill = async {
                (0..100).for_each(|_| mailbox.frame(frame(), ReceiveStats { shown: 1, ..ReceiveStats::default() }));
                look.send(()).expect("it runs");
            };
            let welcome = welcome();
            let (ready, ()) = tokio::join!(player.handle_welcome(&welcome), fill);
            assert_eq!(ready.expect("it is not lost"), Readiness::NeedsPackage);
        }
        let counts = mailbox.counts();
        assert!(counts.replaced >= 2 * 98, "one waits, and one may be looked at: {counts:?}");
        assert_eq!((counts.received.shown, counts.reconnects), (2, 1), "the counts of both connections");
        let refused = player.handle_package(Bytes::from_static(b"model")).await;
        assert!(matches!(refused, Err(PlayError::Ended)), "{refused:?}");
        player.failed().await;
        assert!(player.handle_welcome(&welcome()).await.is_err(), "nobody is there to answer");
        let ended = player.finish().await.expect_err("it gave up").to_string();
        assert!(ended.contains("5 bytes"), "{ended}");
    }

    /// Knows every model.
    struct Eager;

    impl Viewer for Eager {
        type Error = Cause;

        fn handle_announcement(&mut self, announced: &Announcement) -> Result<Option<Decoding>, Cause> {
            let pictures = || Decoding::new(Codec::photo().decoder());
            Ok(Some(Decoding::video(announced, 1).unwrap_or_else(pictures)))
        }

        fn show(&mut self, _shown: &Shown<'_>) -> Result<(), Cause> {
            Err("a picture is shown".into())
        }
    }

    #[tokio::test]
    async fn frames_that_cannot_be_decoded_are_not_looked_at_for_ever() {
        let [key, residual] = nestcast_codec::VideoModel::built_in().ids();
        let video = Video { residual: residual.0, full_range: false };
        for welcome in [welcome(), Welcome { model: key.0, video: Some(video), ..welcome() }] {
            let mut player = Player::start(Eager);
            player.handle_connection();
            assert_eq!(player.handle_welcome(&welcome).await.expect("it runs"), Readiness::Ready);
            while tokio::time::timeout(Duration::from_millis(1), player.failed()).await.is_err() {
                player.handle_frame(frame(), ReceiveStats::default()).expect("it takes all");
            }
            assert_eq!(player.useful_for(None), None);
            let ended = player.finish().await.expect_err("it gave up").to_string();
            assert!(ended.contains("can be decoded"), "{ended}");
        }
    }
}
