//! The thread that decodes and shows: always the newest prefix.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use nestcast_proto::{Arrived, Received};
use tokio::sync::oneshot;

use crate::error::Error;
use crate::view::{Announcement, Decoding, Shown, Totals, Viewer};

/// Tasks that may wait: half a second of frames. More frames are dropped, for a viewer that does not look.
const WAITING: usize = 16;
/// Between two attempts to hand over what must not be dropped.
const PAUSE: Duration = Duration::from_millis(10);
/// Between two reports.
const REPORT: Duration = Duration::from_secs(1);

enum Task {
    Announce(Announcement, oneshot::Sender<Result<bool, String>>),
    Package(Bytes),
    Frame(Box<Arrived>),
    Totals(Received),
    Reconnected,
}

/// The running thread.
#[derive(Debug)]
pub(crate) struct Player {
    tasks: SyncSender<Task>,
    thread: JoinHandle<Result<(), String>>,
}

impl Player {
    /// Shows to `viewer`.
    pub(crate) fn start(viewer: impl Viewer) -> Self {
        let (tasks, inbox) = mpsc::sync_channel(WAITING);
        let thread = std::thread::spawn(move || {
            let reported = Instant::now();
            Screen {
                viewer,
                announced: None,
                decoding: None,
                past: Received::default(),
                totals: Totals::default(),
                reported,
            }
            .run(&inbox)
        });
        Self { tasks, thread }
    }

    /// Tells of a sender; gives whether its model is there.
    pub(crate) async fn announce(&self, announced: Announcement) -> Result<bool, Error> {
        let (answer, answered) = oneshot::channel();
        self.insist(Task::Announce(announced, answer)).await;
        match answered.await {
            Ok(known) => known.map_err(Error::View),
            Err(_) => Err(self.closed()),
        }
    }

    /// Hands a model package over.
    pub(crate) async fn package(&self, package: Bytes) -> Result<(), Error> {
        self.insist(Task::Package(package)).await.then_some(()).ok_or_else(|| self.closed())
    }

    /// Hands a frame over.
    pub(crate) fn frame(&self, arrived: Arrived, received: Received) -> Result<(), Error> {
        let open = self.offer(Task::Frame(Box::new(arrived))) && self.offer(Task::Totals(received));
        open.then_some(()).ok_or_else(|| self.closed())
    }

    /// The next frames come on another connection.
    pub(crate) async fn reconnected(&self) {
        self.insist(Task::Reconnected).await;
    }

    /// Shows what is there and ends; gives why the viewer gave up, if it did.
    pub(crate) async fn finish(self) -> Result<(), Error> {
        drop(self.tasks);
        let thread = self.thread;
        let done = tokio::task::spawn_blocking(move || thread.join()).await;
        match done {
            Ok(Ok(shown)) => shown.map_err(Error::View),
            _ => Err(Error::View("the decoder stopped unexpectedly: please report this".to_owned())),
        }
    }

    /// Waits for room; false once the thread ended.
    async fn insist(&self, mut task: Task) -> bool {
        loop {
            match self.tasks.try_send(task) {
                Ok(()) => return true,
                Err(TrySendError::Full(back)) => task = back,
                Err(TrySendError::Disconnected(_)) => return false,
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Drops the task if there is no room; false once the thread ended.
    fn offer(&self, task: Task) -> bool {
        match self.tasks.try_send(task) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                tracing::debug!("the viewer does not keep up");
                true
            }
            Err(TrySendError::Disconnected(_)) => false,
        }
    }

    fn closed(&self) -> Error {
        let _ = &self.thread;
        Error::View("the viewer ended".to_owned())
    }
}

/// What the thread works with.
struct Screen<V> {
    viewer: V,
    announced: Option<Announcement>,
    decoding: Option<Decoding>,
    /// What came on connections before this one.
    past: Received,
    totals: Totals,
    reported: Instant,
}

impl<V: Viewer> Screen<V> {
    fn run(mut self, inbox: &Receiver<Task>) -> Result<(), String> {
        let mut current = Received::default();
        loop {
            let patience = self.announced.map_or(REPORT, |announced| interval(&announced) + interval(&announced) / 2);
            let first = match inbox.recv_timeout(patience) {
                Ok(task) => Some(task),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return self.viewer.report(&self.totals),
            };
            let nothing = first.is_none();
            let mut newest = None;
            for task in first.into_iter().chain(inbox.try_iter()) {
                match task {
                    Task::Announce(announced, answer) => self.announce(announced, answer)?,
                    Task::Package(package) => self.package(package)?,
                    Task::Frame(arrived) => self.totals.undecoded += u64::from(newest.replace(arrived).is_some()),
                    Task::Totals(received) => current = received,
                    Task::Reconnected => {
                        self.past = add(self.past, std::mem::take(&mut current));
                        self.totals.reconnects += 1;
                    }
                }
            }
            self.totals.received = add(self.past, current);
            match newest {
                Some(arrived) => self.show(&arrived)?,
                None if nothing && self.decoding.is_some() && self.totals.received.shown > 0 => {
                    self.totals.held += 1;
                    self.viewer.hold()?;
                }
                None => {}
            }
            if self.reported.elapsed() >= REPORT {
                self.reported = Instant::now();
                self.viewer.report(&self.totals)?;
            }
        }
    }

    fn announce(
        &mut self,
        announced: Announcement,
        answer: oneshot::Sender<Result<bool, String>>,
    ) -> Result<(), String> {
        self.announced = Some(announced);
        let decoding = self.viewer.handle_announcement(&announced);
        let told = decoding.as_ref().map(Option::is_some).map_err(Clone::clone);
        // Whoever asked may have gone with its connection.
        let _ = answer.send(told);
        self.decoding = decoding?;
        Ok(())
    }

    fn package(&mut self, package: Bytes) -> Result<(), String> {
        if let Some(announced) = &self.announced {
            self.decoding = Some(self.viewer.handle_package(announced, package)?);
        }
        Ok(())
    }

    fn show(&mut self, arrived: &Arrived) -> Result<(), String> {
        let Some(decoding) = &self.decoding else { return Ok(()) };
        let start = Instant::now();
        let mut decoder = (decoding.decoder)();
        let pushed = decoder.push(&arrived.prefix).map_err(|error| error.to_string());
        let rendered = pushed.and_then(|_| decoder.render(&*decoding.synthesis).map_err(|error| error.to_string()));
        let picture = match rendered {
            Ok(picture) if Some(picture.size()) == self.announced.map(|announced| announced.size) => picture,
            outcome => {
                let why = outcome.err().unwrap_or_else(|| "it has another size than announced".to_owned());
                tracing::debug!(frame = arrived.header.id, "not shown: {why}");
                self.totals.corrupt += 1;
                return Ok(());
            }
        };
        let shown = Shown {
            id: arrived.header.id,
            bytes: arrived.prefix.len(),
            full: arrived.header.full,
            latency: since(arrived.header.captured),
            receiving: arrived.shown.saturating_sub(arrived.first),
            decoding: start.elapsed(),
            picture: &picture,
        };
        self.viewer.show(&shown)
    }
}

fn interval(announced: &Announcement) -> Duration {
    let (frames, seconds) = announced.rate;
    Duration::from_secs(u64::from(seconds)) / frames.max(1)
}

fn add(a: Received, b: Received) -> Received {
    Received {
        shown: a.shown + b.shown,
        blank: a.blank + b.blank,
        bytes: a.bytes + b.bytes,
        useful: a.useful + b.useful,
    }
}

/// How long ago a moment was, in microseconds since 1970.
fn since(captured: u64) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(Duration::from_micros(captured))
}

#[cfg(test)]
mod tests {
    use nestcast_codec::{ModelId, Size};
    use nestcast_proto::{FrameHeader, PackageHash};

    use super::*;

    /// Looks at nothing until it is told to, once for each announcement.
    struct Slow(Receiver<()>);

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

    #[tokio::test]
    async fn a_slow_viewer_loses_frames_but_neither_a_sender_nor_a_model() {
        let (look, looking) = mpsc::channel();
        let player = Player::start(Slow(looking));
        let size = Size::new(16, 16).expect("a valid size");
        let announced = Announcement { model: ModelId([0; 6]), package: PackageHash([0; 32]), size, rate: (30, 1) };
        let header = FrameHeader { id: 0, skipped: 0, captured: 0, full: 0, base: 0 };
        let frame = Arrived { header, prefix: Bytes::new(), first: Duration::ZERO, shown: Duration::ZERO };
        let fill = || (0..=WAITING).try_for_each(|_| player.frame(frame.clone(), Received::default()));
        let release = async {
            fill().expect("it runs");
            tokio::time::sleep(2 * PAUSE).await;
            look.send(()).expect("it runs");
        };
        let (first, ()) = tokio::join!(player.announce(announced), release);
        assert!(!first.expect("it runs"));
        look.send(()).expect("it runs");
        fill().expect("it runs");
        assert!(!player.announce(announced).await.expect("it waits for room"));
        fill().expect("it runs");
        player.package(Bytes::from_static(b"model")).await.expect("it waits for room");
        let ended = player.finish().await;
        assert!(matches!(&ended, Err(Error::View(why)) if why.contains("5 bytes")), "{ended:?}");
    }
}
