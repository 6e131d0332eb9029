//! The way from the network to the thread that decodes: the newest frame alone, and what must not be lost.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use nestcast_proto::{Arrived, ReceiveStats};
use tokio::sync::{oneshot, watch};

use crate::error::Error;
use crate::screen::Screen;
use crate::view::{Announcement, Totals, Viewer};

/// Where the thread says how it went.
pub(crate) type Answer<T> = oneshot::Sender<Result<T, String>>;

/// The network's handle of the thread. It never waits for a frame to be decoded, and no more than one waits.
#[derive(Debug, Clone)]
pub(crate) struct Player(Arc<Mailbox>);

#[derive(Debug, Default)]
struct Mailbox {
    state: Mutex<State>,
    news: Condvar,
    ended: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct State {
    mail: Mail,
    /// What came on this connection, and on those before.
    current: ReceiveStats,
    past: ReceiveStats,
    connections: u64,
    undecoded: u64,
    /// When this connection's first and last picture were decoded.
    pictures: Option<(Instant, Instant)>,
    ended: bool,
}

/// What the thread finds. A frame was sent before whatever is announced beside it.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    pub(crate) frame: Option<Arrived>,
    pub(crate) announced: Option<(Announcement, Answer<bool>)>,
    pub(crate) package: Option<(Bytes, Answer<()>)>,
    /// Nothing comes after it.
    pub(crate) last: bool,
}

impl Mail {
    /// Whether nothing came.
    pub(crate) const fn is_empty(&self) -> bool {
        self.frame.is_none() && self.announced.is_none() && self.package.is_none()
    }
}

impl Player {
    /// Starts a thread that shows to `viewer`.
    pub(crate) fn start(viewer: impl Viewer) -> (Self, JoinHandle<Result<(), String>>) {
        let player = Self(Arc::default());
        let of_thread = player.clone();
        let thread = std::thread::spawn(move || {
            let _end = EndOnDrop(&of_thread);
            Screen::new(viewer, &of_thread).run()
        });
        (player, thread)
    }

    /// Another connection: what comes from now on is its.
    pub(crate) fn connected(&self) {
        let mut state = self.state();
        state.connections += 1;
        state.past = add(state.past, state.current);
        (state.current, state.pictures) = (ReceiveStats::default(), None);
    }

    /// Tells of a sender; gives whether its model is there.
    pub(crate) async fn announce(&self, announced: Announcement) -> Result<bool, Error> {
        let (answer, answered) = oneshot::channel();
        self.post(|state| state.mail.announced = Some((announced, answer)));
        answered.await.map_err(|_| viewer_ended())?.map_err(Error::View)
    }

    /// Hands a model package over; gives whether it is taken.
    pub(crate) async fn package(&self, package: Bytes) -> Result<(), Error> {
        let (answer, answered) = oneshot::channel();
        self.post(|state| state.mail.package = Some((package, answer)));
        answered.await.map_err(|_| viewer_ended())?.map_err(Error::View)
    }

    /// Hands a frame over, instead of the one before if that still waits.
    pub(crate) fn frame(&self, arrived: Arrived, received: ReceiveStats) {
        self.post(|state| {
            state.current = received;
            state.undecoded += u64::from(state.mail.frame.replace(arrived).is_some());
        });
    }

    /// Waits until the thread ended by itself: its viewer cannot go on.
    pub(crate) async fn ended(&self) -> Error {
        // The channel is open as long as this handle.
        let _ = self.0.ended.subscribe().wait_for(|ended| *ended).await;
        viewer_ended()
    }

    /// From this connection's first picture that could be decoded to the last; none if there was none.
    pub(crate) fn pictures(&self) -> Option<Duration> {
        self.state().pictures.map(|(first, last)| last - first)
    }

    /// Shows what is there and ends the thread; gives why the viewer gave up, if it did.
    pub(crate) async fn finish(&self, thread: JoinHandle<Result<(), String>>) -> Result<(), Error> {
        self.post(|state| state.mail.last = true);
        match tokio::task::spawn_blocking(move || thread.join()).await {
            Ok(Ok(shown)) => shown.map_err(Error::View),
            _ => Err(Error::View("the decoder stopped unexpectedly: please report this".to_owned())),
        }
    }

    fn post(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        // Nobody would answer.
        if !state.ended {
            change(&mut state);
            self.0.news.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread's side.
impl Player {
    /// Waits for mail, at most for `patience`.
    pub(crate) fn take(&self, patience: Duration) -> Mail {
        let state = self.state();
        let nothing = |state: &mut State| state.mail.is_empty() && !state.mail.last;
        let waited = self.0.news.wait_timeout_while(state, patience, nothing);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let last = state.mail.last;
        std::mem::replace(&mut state.mail, Mail { last, ..Mail::default() })
    }

    /// A picture of this connection was decoded.
    pub(crate) fn decoded(&self) {
        let now = Instant::now();
        let mut state = self.state();
        let first = state.pictures.map_or(now, |(first, _)| first);
        state.pictures = Some((first, now));
    }

    /// What the network counted.
    pub(crate) fn totals(&self) -> Totals {
        let state = self.state();
        Totals {
            received: add(state.past, state.current),
            undecoded: state.undecoded,
            reconnects: state.connections.saturating_sub(1),
            ..Totals::default()
        }
    }
}

/// However the thread ends, whoever waits for it learns of it.
struct EndOnDrop<'a>(&'a Player);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        (state.ended, state.mail) = (true, Mail::default());
        self.0.0.ended.send_replace(true);
    }
}

fn viewer_ended() -> Error {
    Error::View("the viewer ended".to_owned())
}

fn add(a: ReceiveStats, b: ReceiveStats) -> ReceiveStats {
    ReceiveStats {
        shown: a.shown + b.shown,
        blank: a.blank + b.blank,
        bytes: a.bytes + b.bytes,
        useful: a.useful + b.useful,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use nestcast_codec::{Codec, ModelId, Size};
    use nestcast_proto::{FrameHeader, PackageHash};

    use super::*;
    use crate::view::{Decoding, Shown};

    /// Looks at nothing until it is told to, once for each announcement.
    struct Slow(mpsc::Receiver<()>);

    impl Viewer for Slow {
        fn handle_announcement(&mut self, _announced: &Announcement) -> Result<Option<Decoding>, String> {
            self.0.recv().map_err(|error| error.to_string())?;
            Ok(None)
        }

        fn handle_package(&mut self, _announced: &Announcement, package: Bytes) -> Result<Decoding, String> {
            Err(format!("a package of {} bytes came", package.len()))
        }

        fn show(&mut self, _shown: &Shown<'_>) -> Result<(), String> {
            Ok(())
        }

        fn hold(&mut self) -> Result<(), String> {
            Ok(())
        }

        fn report(&mut self, _totals: &Totals) -> Result<(), String> {
            Ok(())
        }
    }

    fn announced() -> Announcement {
        let size = Size::new(16, 16).expect("a valid size");
        Announcement { model: ModelId([0; 6]), package: PackageHash([0; 32]), size, rate: (30, 1) }
    }

    fn frame() -> Arrived {
        let header = FrameHeader { id: 0, skipped: 0, captured: 0, full: 4, base: 4 };
        Arrived { header, prefix: Bytes::from_static(b"junk"), first: Duration::ZERO, shown: Duration::ZERO }
    }

    #[tokio::test]
    async fn a_slow_viewer_loses_frames_but_neither_a_sender_nor_a_model() {
        let (look, looking) = mpsc::channel();
        let (player, thread) = Player::start(Slow(looking));
        for _ in 0..2 {
            player.connected();
            let fill = async {
                (0..100).for_each(|_| player.frame(frame(), ReceiveStats { shown: 1, ..ReceiveStats::default() }));
                look.send(()).expect("it runs");
            };
            let (known, ()) = tokio::join!(player.announce(announced()), fill);
            assert!(!known.expect("it is not lost"));
        }
        let totals = player.totals();
        assert!(totals.undecoded >= 2 * 98, "one waits, and one may be looked at: {totals:?}");
        assert_eq!((totals.received.shown, totals.reconnects), (2, 1), "the counts of both connections");
        let refused = player.package(Bytes::from_static(b"model")).await;
        assert!(matches!(&refused, Err(Error::View(why)) if why.contains("5 bytes")), "{refused:?}");
        player.ended().await;
        assert!(player.announce(announced()).await.is_err(), "nobody is there to answer");
        let ended = player.finish(thread).await;
        assert!(matches!(&ended, Err(Error::View(why)) if why.contains("5 bytes")), "{ended:?}");
    }

    /// Knows every model.
    struct Eager;

    impl Viewer for Eager {
        fn handle_announcement(&mut self, _announced: &Announcement) -> Result<Option<Decoding>, String> {
            Ok(Some(Decoding { decoder: Codec::photo().decoder() }))
        }

        fn handle_package(&mut self, _announced: &Announcement, _package: Bytes) -> Result<Decoding, String> {
            Err("nothing was asked for".to_owned())
        }

        fn show(&mut self, _shown: &Shown<'_>) -> Result<(), String> {
            Err("a picture is shown".to_owned())
        }

        fn hold(&mut self) -> Result<(), String> {
            Ok(())
        }

        fn report(&mut self, _totals: &Totals) -> Result<(), String> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn frames_that_cannot_be_decoded_are_not_looked_at_for_ever() {
        let (player, thread) = Player::start(Eager);
        player.connected();
        assert!(player.announce(announced()).await.expect("it runs"));
        while tokio::time::timeout(Duration::from_millis(1), player.ended()).await.is_err() {
            player.frame(frame(), ReceiveStats::default());
        }
        assert_eq!(player.pictures(), None);
        let ended = player.finish(thread).await;
        assert!(matches!(&ended, Err(Error::View(why)) if why.contains("can be decoded")), "{ended:?}");
    }
}
