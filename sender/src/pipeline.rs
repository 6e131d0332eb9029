//! Pictures at their rate, to encoded frames: two threads that never wait for the network.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nestcast_codec::Picture;
use nestcast_proto::{Close, Code, Frame};
use tokio::sync::watch;

use crate::demand::Limit;
use crate::encoding::Encoding;
use crate::error::Error;
use crate::feed::{DONE, Shared};
use crate::frames::{self, Frames, Outlet};
use crate::source::{self, Source};
use crate::statistics::Counters;

/// A picture that waits to be encoded.
struct Captured {
    id: u64,
    /// Microseconds since 1970.
    at: u64,
    picture: Picture,
}

type Newest<T> = Option<Arc<T>>;

/// Ends the reading of pictures, and with it the encoding, once it is set or dropped.
#[derive(Debug)]
struct Stop(Arc<AtomicBool>);

impl Stop {
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.set();
    }
}

/// The running threads; frames come out of the channel that [`Pipeline::start`] gave.
#[derive(Debug)]
pub(crate) struct Pipeline {
    stop: Stop,
    reading: JoinHandle<Result<(), Error>>,
    encoding: JoinHandle<Result<(), Error>>,
}

impl Pipeline {
    /// Starts both threads; the channel closes when the source ends.
    pub(crate) fn start(source: Source, mut encoding: Encoding, shared: Arc<Shared>) -> (Self, Frames) {
        let stop = Arc::new(AtomicBool::new(false));
        let (pictures, newest) = watch::channel(None);
        let (frames, feeds) = frames::channel();
        let runtime = tokio::runtime::Handle::current();
        let reading = {
            let (stop, shared) = (Arc::clone(&stop), Arc::clone(&shared));
            thread::spawn(move || {
                let outcome = read(source, &stop, &pictures);
                if stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                if outcome.is_err() {
                    Counters::add(&shared.counters.source_failures, 1);
                    let _ = shared.end.set(Close { code: Code::Source, why: "the source broke off" });
                }
                outcome
            })
        };
        let encoding = thread::spawn(move || {
            let next = |newest: &mut watch::Receiver<_>| runtime.block_on(newest.changed()).is_ok();
            let outcome = encode(&mut encoding, &shared, newest, &frames, next);
            // Before the channel of frames closes. What broke the source off, if anything did, was said before.
            let _ = shared.end.set(match &outcome {
                Ok(()) => DONE,
                Err(_) => Close { code: Code::Failed, why: "a picture could not be encoded" },
            });
            outcome
        });
        (Self { stop: Stop(stop), reading, encoding }, feeds)
    }

    /// Reads no further picture.
    pub(crate) fn stop(&self) {
        self.stop.set();
    }

    /// Waits for the last frame; a source that still waits for its input is left behind.
    pub(crate) async fn join(self) -> Result<(), Error> {
        let stopped = self.stop.0.load(Ordering::Relaxed);
        let ended = |handle: JoinHandle<Result<(), Error>>| {
            handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        if stopped && !self.reading.is_finished() {
            return Ok(());
        }
        let both = tokio::task::spawn_blocking(move || ended(self.encoding).and(ended(self.reading)));
        both.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
    }
}

fn read(mut source: Source, stop: &AtomicBool, pictures: &watch::Sender<Newest<Captured>>) -> Result<(), Error> {
    let interval = source.rate().interval();
    let mut due = Instant::now();
    for id in 0.. {
        let Some(picture) = source.next()? else { break };
        let now = Instant::now();
        match due.checked_duration_since(now) {
            Some(early) => thread::sleep(early),
            // A live source that lags sets the pace.
            None if now - due > interval => due = now,
            None => {}
        }
        due += interval;
        if stop.load(Ordering::Relaxed) {
            break;
        }
        pictures.send_replace(Some(Arc::new(Captured { id, at: microseconds(), picture })));
    }
    Ok(())
}

fn encode(
    encoding: &mut Encoding,
    shared: &Shared,
    mut newest: watch::Receiver<Newest<Captured>>,
    frames: &Outlet,
    next: impl Fn(&mut watch::Receiver<Newest<Captured>>) -> bool,
) -> Result<(), Error> {
    let Shared { counters, demand, .. } = shared;
    let mut last: Option<(Arc<Captured>, Frame, usize)> = None;
    let mut skipped = 0;
    let mut limit = Limit::new();
    while next(&mut newest) {
        let Some(captured) = newest.borrow_and_update().clone() else { continue };
        let before = last.as_ref().map_or(0, |(last, ..)| last.id + 1);
        skipped += captured.id.saturating_sub(before);
        Counters::add(&counters.skipped, captured.id.saturating_sub(before));
        let start = Instant::now();
        let limit = encoding.most(limit.next(demand));
        let (frame, most) = match &last {
            // A still picture is encoded again only if more of it is wanted.
            Some((same, frame, most)) if *most >= limit && same.picture == captured.picture => {
                (Frame { id: captured.id, skipped, captured: captured.at, ..frame.clone() }, *most)
            }
            _ => {
                let bytes = encoding.encode(&captured.picture, limit)?.bytes().clone();
                let base = source::base_bytes(captured.picture.size(), captured.picture.channels()).min(bytes.len());
                (Frame { id: captured.id, skipped, captured: captured.at, base, bytes }, limit)
            }
        };
        let took = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Counters::add(&counters.encode_nanos, took);
        Counters::add(&counters.frames, 1);
        Counters::add(&counters.encoded_bytes, frame.bytes.len() as u64);
        frames.put(Arc::new(frame.clone()));
        last = Some((captured, frame, most));
    }
    Ok(())
}

/// Now, in microseconds since 1970.
fn microseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
