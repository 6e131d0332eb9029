//! Receivers that begin elsewhere, in an archive.

use super::*;

/// How the streams of an archive end, after no frame.
#[derive(Debug, Clone, Copy)]
enum Ending {
    Ends,
    BreaksOff,
    Fails,
}

#[derive(Debug)]
struct Kept(Welcome, Ending);

impl Archive for Kept {
    fn open(&self, start: Start, _: &Arc<AtomicBool>) -> Result<Option<OpenedArchive>, SourceError> {
        Ok(Some((Box::new(Self(self.0.clone(), self.1)), start)))
    }
}

impl FrameStream for Kept {
    fn welcome(&self) -> Welcome {
        self.0.clone()
    }

    fn read(&mut self) -> Result<Option<Duration>, SourceError> {
        match self.1 {
            Ending::Ends => Ok(None),
            Ending::BreaksOff => Err(SourceError::broken_off("the file was cut")),
            Ending::Fails => Err(SourceError::failed("the disk is full")),
        }
    }

    fn prepare(&mut self, _: &Demand) -> bool {
        false
    }

    fn take(&mut self, _: u64, _: &Demand) -> Option<BroadcastFrame> {
        None
    }
}

/// Returns a broadcast with an archive.
fn archived(archive: impl Archive + 'static) -> Arc<Shared> {
    let mut shared = Arc::into_inner(shared()).expect("nobody else has it");
    shared.elsewhere = Some(Elsewhere::new(Arc::new(archive)));
    Arc::new(shared)
}

/// Says that it begins a second ago.
fn rewinding() -> Bytes {
    hello_at("", None, Some(Start::BeforeNow(Duration::from_secs(1))))
}

#[tokio::test]
async fn a_receiver_that_began_elsewhere_learns_how_its_own_frames_ended_or_those_of_all() {
    let broke_off = Close { code: Code::Source, why: "the source broke off" };
    for (ending, of_all, told) in [
        (Ending::Ends, None, Code::Done),
        (Ending::Ends, Some(broke_off), Code::Source),
        (Ending::BreaksOff, None, Code::Source),
        (Ending::Fails, Some(broke_off), Code::Failed),
    ] {
        let fanout = FrameFanout::new(INTERVAL);
        let shared = archived(Kept(shared().offer.welcome.clone(), ending));
        of_all.into_iter().for_each(|close| shared.end.set(close).expect("it goes on"));
        let taker = Taker { says: rewinding(), ..Taker::new(1e9) };
        feed(taker.clone(), &shared, &fanout.subscribe()).await;
        assert_eq!(taker.taken().closed, Some(told), "{ending:?}");
    }
}

/// An archive whose streams are never ready. It says when it is opened, and when it hears that the receiver has left; it
/// ends when it is let go.
#[derive(Debug)]
struct Stuck {
    says: tokio::sync::mpsc::UnboundedSender<&'static str>,
    let_go: Mutex<std::sync::mpsc::Receiver<()>>,
}

impl Stuck {
    fn new() -> (Self, tokio::sync::mpsc::UnboundedReceiver<&'static str>, std::sync::mpsc::Sender<()>) {
        let ((says, said), (release, let_go)) = (tokio::sync::mpsc::unbounded_channel(), std::sync::mpsc::channel());
        (Self { says, let_go: let_go.into() }, said, release)
    }
}

impl Archive for Stuck {
    fn open(&self, _: Start, has_left: &Arc<AtomicBool>) -> Result<Option<OpenedArchive>, SourceError> {
        let _ = self.says.send("opened");
        while !has_left.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = self.says.send("left");
        let _ = self.let_go.lock().unwrap_or_else(PoisonError::into_inner).recv();
        Ok(None)
    }
}

#[tokio::test]
async fn who_leaves_while_an_archive_is_opened_has_its_place_until_its_thread_is_free() {
    let (archive, mut said, release) = Stuck::new();
    let shared = archived(archive);
    let directory = directory(&shared, &FrameFanout::new(INTERVAL).subscribe());
    let places = || directory.rewound.available_permits();
    let begin = || {
        let taker = Taker { says: rewinding(), ..Taker::new(1e9) };
        let entry = shared.demand.register();
        (Arc::clone(&taker.gone), tokio::spawn(run(taker, pending(), entry, Arc::clone(&directory))))
    };
    let (gone, first) = begin();
    assert_eq!(said.recv().await, Some("opened"));
    let (others_gone, others): (Vec<_>, Vec<_>) = (0..3).map(|_| begin()).unzip();
    while places() > MAX_REWOUND - 4 {
        tokio::task::yield_now().await;
    }
    gone.notify_one();
    first.await.expect("it ends at once");
    assert_eq!(said.recv().await, Some("left"));
    assert_eq!(places(), MAX_REWOUND - 4, "its thread is not free yet");
    others_gone.iter().for_each(|gone| gone.notify_one());
    for other in others {
        other.await.expect("it ends at once");
    }
    assert_eq!(places(), MAX_REWOUND - 1, "they only waited for their turn");
    release.send(()).expect("it waits");
    while places() < MAX_REWOUND {
        tokio::task::yield_now().await;
    }
    assert!(said.try_recv().is_err(), "it was opened once");
}

#[tokio::test(start_paused = true)]
async fn an_archive_that_takes_longer_than_a_hello_may_still_lets_the_receiver_in_and_one_that_is_stuck_too() {
    let (archive, mut said, release) = Stuck::new();
    let (shared, fanout) = (archived(archive), FrameFanout::new(INTERVAL));
    let taker = Taker { says: rewinding(), ..Taker::new(1e9) };
    let time_is_up = async {
        sleep(Duration::from_secs(3)).await;
        Close { code: Code::Slow, why: "no hello came in time" }
    };
    let entry = shared.demand.register();
    let feed = tokio::spawn(run(taker.clone(), time_is_up, entry, directory(&shared, &fanout.subscribe())));
    assert_eq!(said.recv().await, Some("opened"));
    // While a thread works, paused time does not move by itself.
    tokio::time::advance(Duration::from_secs(5)).await;
    tokio::task::yield_now().await;
    assert!(taker.taken().closed.is_none() && shared.counters.read().accepted == 0);
    tokio::time::advance(Duration::from_secs(6)).await;
    assert_eq!(said.recv().await, Some("left"));
    release.send(()).expect("it waits");
    send(&fanout, 0);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(taker.streams().len(), 1, "it begins where all do");
    feed.abort();
}
