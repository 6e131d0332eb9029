//! The sink that decodes frames and shows them to a viewer, on its own thread.
//!
//! The network never waits for the decoder. A late decoder gets only the newest picture; it decodes all frames of
//! video, and shows the newest. Frames that come in time are shown by the player's clock.

use std::future::Future;
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use nestcast_player::Latency;
use nestcast_proto::{More, ReceiveStats, ReceivedFrame, Sound, SoundPacket, Welcome};

use crate::config::ReceiverConfig;
use crate::error::Error;
use crate::mailbox::{CloseOnDrop, Mailbox};
use crate::playback::Playback;
use crate::receive::receive;
use crate::sender_clock;
use crate::sink::{FrameSink, Readiness};
use crate::view_error::ViewError;
use crate::viewer::Viewer;

/// Receives pictures for `viewer`, as [`receive`] does for a sink.
///
/// # Errors
/// Why it cannot continue.
pub async fn view(
    config: ReceiverConfig,
    viewer: impl Viewer,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Error> {
    let mut player = Player::start_with_latency(viewer, config.latency);
    let outcome = receive(config, &mut player, shutdown).await;
    // The viewer's error is closer to the cause than the connection's.
    player.finish().await.map_err(Error::sink).and(outcome)
}

/// Decodes frames and shows them on a thread, which ends when this is dropped.
#[derive(Debug)]
pub struct Player {
    mailbox: Mailbox,
    plays_sound: bool,
    close: CloseOnDrop,
    thread: JoinHandle<Result<(), ViewError>>,
}

impl Player {
    /// Starts a thread that shows frames to `viewer`.
    pub fn start(viewer: impl Viewer) -> Self {
        Self::start_with_latency(viewer, Latency::default())
    }

    /// Starts a thread that shows frames to `viewer`, delayed as `latency` says.
    pub fn start_with_latency(viewer: impl Viewer, latency: Latency) -> Self {
        let mailbox = Mailbox::default();
        let of_thread = mailbox.clone();
        let plays_sound = viewer.sound_mode().is_some();
        let thread = std::thread::spawn(move || {
            let _end = of_thread.end_on_drop();
            Playback::new(viewer, &of_thread, latency).run()
        });
        Self { close: mailbox.close_on_drop(), mailbox, plays_sound, thread }
    }

    /// Shows the remaining frames and ends the thread.
    ///
    /// # Errors
    /// Why the thread ended earlier, if it did.
    pub async fn finish(self) -> Result<(), ViewError> {
        let Self { close, thread, .. } = self;
        drop(close);
        let joined = tokio::task::spawn_blocking(move || thread.join()).await;
        joined.ok().and_then(Result::ok).unwrap_or(Err(ViewError::Panicked))
    }
}

impl FrameSink for Player {
    type Error = ViewError;

    fn handle_connection(&mut self) {
        self.mailbox.connected();
    }

    fn handle_disconnection(&mut self) {
        self.mailbox.disconnected();
    }

    fn handle_clock(&mut self, now: Duration) {
        self.mailbox.set_ahead(sender_clock::ahead(now));
    }

    async fn handle_welcome(&mut self, welcome: &Welcome) -> Result<Readiness, ViewError> {
        self.mailbox.welcome(welcome.clone()).await.map_err(|_| ViewError::Ended)
    }

    async fn handle_package(&mut self, package: Bytes) -> Result<(), ViewError> {
        self.mailbox.package(package).await.map_err(|_| ViewError::Ended)
    }

    fn handle_frame(&mut self, frame: ReceivedFrame, stats: ReceiveStats) -> Result<(), ViewError> {
        self.mailbox.frame(frame, stats);
        Ok(())
    }

    fn handle_more(&mut self, more: More, stats: ReceiveStats) -> Result<(), ViewError> {
        self.mailbox.more(more, stats);
        Ok(())
    }

    fn handle_sound_announced(&mut self, sound: Sound) -> bool {
        if self.plays_sound {
            self.mailbox.sound_announced(sound);
        }
        self.plays_sound
    }

    fn handle_sound(&mut self, packet: SoundPacket) -> Result<(), ViewError> {
        self.mailbox.sound(packet);
        Ok(())
    }

    fn lost(&mut self) -> Option<u64> {
        self.mailbox.lost()
    }

    async fn failed(&mut self) -> ViewError {
        self.mailbox.ended().await;
        ViewError::Ended
    }

    fn useful_for(&self, _handed_over: Option<Duration>) -> Option<Duration> {
        self.mailbox.useful_for()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use nestcast_player::{Announcement, Decoding};
    use nestcast_proto::{FrameHeader, FrameRate, PackageHash, Video};

    use super::*;
    use crate::viewer::Shown;

    type Failure = Box<dyn std::error::Error + Send + Sync>;

    /// A viewer that waits for a message at each announcement.
    struct Slow(mpsc::Receiver<()>);

    impl Viewer for Slow {
        type Error = Failure;

        fn handle_announcement(&mut self, _announced: &Announcement) -> Result<Option<Decoding>, Failure> {
            self.0.recv()?;
            Ok(None)
        }

        fn handle_package(&mut self, _announced: &Announcement, package: Bytes) -> Result<Option<Decoding>, Failure> {
            Err(format!("a package of {} bytes came", package.len()).into())
        }

        fn show(&mut self, _shown: &Shown<'_>) -> Result<(), Failure> {
            Ok(())
        }
    }

    fn welcome() -> Welcome {
        Welcome {
            model: [0; 6],
            package: PackageHash([7; 32]),
            width: 16,
            height: 16,
            rate: FrameRate::new(30, 1).expect("a rate"),
            video: None,
        }
    }

    fn frame() -> ReceivedFrame {
        let header = FrameHeader { id: 0, skipped: 0, captured: 0, full: 4, base: 4 };
        ReceivedFrame { header, prefix: Bytes::from_static(b"junk"), first: Duration::ZERO, shown: Duration::ZERO }
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
        assert_eq!((counts.received.shown, counts.reconnects), (2, 0), "both arrived, and none was shown");
        let refused = player.handle_package(Bytes::from_static(b"model")).await;
        assert!(matches!(refused, Err(ViewError::Ended)), "{refused:?}");
        player.failed().await;
        assert!(player.handle_welcome(&welcome()).await.is_err(), "nobody is there to answer");
        let ended = player.finish().await.expect_err("it gave up").to_string();
        assert!(ended.contains("5 bytes"), "{ended}");
    }

    /// A viewer that lacks every model, and panics if it hears of video.
    struct Unready;

    impl Viewer for Unready {
        type Error = Failure;

        fn handle_announcement(&mut self, announced: &Announcement) -> Result<Option<Decoding>, Failure> {
            assert!(announced.video.is_none(), "this viewer knows no video");
            Ok(None)
        }

        fn show(&mut self, _shown: &Shown<'_>) -> Result<(), Failure> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_viewer_without_a_model_that_no_package_has_is_told_so() {
        let mut player = Player::start(Unready);
        let without = Welcome { package: PackageHash([0; 32]), ..welcome() };
        assert!(player.handle_welcome(&without).await.is_err(), "there is nothing to ask for");
        let ended = player.finish().await.expect_err("it has no model");
        assert!(matches!(ended, ViewError::NoPackage), "{ended}");
    }

    #[tokio::test]
    async fn a_panic_of_the_viewer_is_not_said_to_be_the_decoders() {
        let mut player = Player::start(Unready);
        let video = Welcome { video: Some(Video::new([0; 6])), ..welcome() };
        assert!(player.handle_welcome(&video).await.is_err(), "it panics");
        let ended = player.finish().await.expect_err("it panicked");
        assert!(matches!(ended, ViewError::Panicked) && ended.to_string().contains("viewer"), "{ended}");
    }
}
