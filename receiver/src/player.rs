//! The sink that decodes frames and shows them to a viewer, on a thread of its own.
//!
//! The network never waits for the decoder: of pictures one that is late finds the newest and skips what came before, of video
//! it decodes all and shows the newest.

use std::error::Error as StdError;
use std::future::Future;
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::{Arrived, More, ReceiveStats, Welcome};

use crate::error::Error;
use crate::latency;
use crate::mailbox::{CloseOnDrop, Mailbox};
use crate::playback::Playback;
use crate::receive::{Config, receive};
use crate::sink::{FrameSink, Readiness};
use crate::viewer::Viewer;

/// Frames in a row that may fail to decode before their sender is given up: three seconds of them.
pub(crate) const MAX_CORRUPT_FRAMES: u32 = 100;

pub(crate) type Cause = Box<dyn StdError + Send + Sync>;

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

    fn handle_more(&mut self, more: More, stats: ReceiveStats) -> Result<(), PlayError> {
        self.mailbox.more(more, stats);
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use nestcast_codec::Codec;
    use nestcast_proto::{FrameHeader, PackageHash, Video};

    use super::*;
    use crate::decoding::Decoding;
    use crate::viewer::{Announcement, Shown};

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
