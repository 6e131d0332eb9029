//! A broadcast from another moment on, for one receiver: a source, a fan-out and a schedule of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::{BroadcastFrame, Close, Code, Demand, FrameStream, Sound, SourceError, Start, Welcome};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::frames::fanout::FrameFanout;
use crate::frames::paced_source::PacedSource;
use crate::frames::sound::SoundFanout;
use crate::frames::source::FrameSource as _;
use crate::frames::source_check::FrameCheck;
use crate::shared::{BROADCAST_DONE, Elsewhere, Shared, Station};

/// The longest time to open an archive for a receiver, and to wait for those before it. If it runs out, the receiver
/// begins where all do.
const OPEN_WITHIN: Duration = Duration::from_secs(10);

/// A broadcast for one receiver.
#[derive(Debug)]
pub(crate) struct Rewound {
    pub(crate) station: Station,
    pub(crate) start: Start,
    pub(crate) playing: Playing,
}

/// The task that hands out the frames. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Playing {
    task: JoinHandle<()>,
    /// Ends the thread, also while it waits for a frame.
    _departure: Departure,
}

impl Drop for Playing {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Tells an archive, when it is dropped, that the receiver has left.
#[derive(Debug, Default)]
struct Departure(Arc<AtomicBool>);

impl Drop for Departure {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A receiver's place, for as long as a thread works for it.
type Place = Arc<OwnedSemaphorePermit>;

/// Begins the broadcast at another moment; `None` if that cannot be, or too many receivers do.
pub(crate) async fn begin(parent: &Arc<Shared>, start: Start, places: &Arc<Semaphore>) -> Option<Rewound> {
    let elsewhere = parent.elsewhere.clone()?;
    let place = Arc::new(Arc::clone(places).try_acquire_owned().ok()?);
    let departure = Departure::default();
    let opening = open(elsewhere, start, Arc::clone(&departure.0), Arc::clone(&place));
    let opened = timeout(OPEN_WITHIN, opening).await;
    let (stream, start) = opened
        .inspect_err(|_| tracing::warn!("a receiver begins where all do: its start was not found in time"))
        .ok()??;
    let shared = Arc::new(Shared {
        offer: Arc::clone(&parent.offer),
        authorizers: Vec::new(),
        max_bitrate: parent.max_bitrate,
        counters: Arc::clone(&parent.counters),
        demand: Demand::default(),
        slots: Arc::clone(&parent.slots),
        sound: SoundFanout::new(),
        end: OnceLock::new(),
        cut_off: Arc::clone(&parent.cut_off),
        origins: Vec::new(),
        elsewhere: None,
        parent: Some(Arc::clone(parent)),
    });
    let fanout = FrameFanout::new(parent.offer.welcome.interval());
    let station = Station { shared: Arc::clone(&shared), frames: fanout.subscribe() };
    let mut source = PacedSource::new(stream);
    source.attach_sound(shared.sound.clone());
    let task = tokio::spawn(play(source, fanout, shared, place));
    let playing = Playing { task, _departure: departure };
    Some(Rewound { station, start, playing })
}

/// Opens an archive on a thread, when those before have opened it. If this is dropped, the thread goes on until the
/// archive hears of it, and has the place and the turn until then.
async fn open(
    elsewhere: Elsewhere,
    start: Start,
    has_left: Arc<AtomicBool>,
    place: Place,
) -> Option<(Occupying, Start)> {
    let Elsewhere { archive, turn } = elsewhere;
    let turn = turn.acquire_owned().await.ok()?;
    let opening = move || {
        let opened = archive.open(start, &has_left);
        drop(turn);
        opened.map(|opened| opened.map(|(stream, start)| (Occupying { stream, _place: place }, start)))
    };
    let opened = tokio::task::spawn_blocking(opening).await;
    let opened = opened.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
    opened.inspect_err(|error| tracing::warn!("nothing can be rewound: {error}")).ok()?
}

/// A stream that has its receiver's place until the thread that reads it ends.
struct Occupying {
    stream: Box<dyn FrameStream>,
    _place: Place,
}

impl FrameStream for Occupying {
    fn welcome(&self) -> Welcome {
        self.stream.welcome()
    }

    fn sound(&self) -> Option<Sound> {
        self.stream.sound()
    }

    fn take_sound(&mut self) -> Option<(Duration, Bytes)> {
        self.stream.take_sound()
    }

    fn read(&mut self) -> Result<Option<Duration>, SourceError> {
        self.stream.read()
    }

    fn prepare(&mut self, demand: &Demand) -> bool {
        self.stream.prepare(demand)
    }

    fn take(&mut self, captured: u64, demand: &Demand) -> Option<BroadcastFrame> {
        self.stream.take(captured, demand)
    }

    fn take_fault(&mut self) -> Option<String> {
        self.stream.take_fault()
    }
}

/// Hands out the frames until there are no more.
async fn play(mut source: PacedSource, fanout: FrameFanout, shared: Arc<Shared>, place: Place) {
    let mut check = FrameCheck::default();
    let end = loop {
        match check.pass(source.next(&shared.demand).await) {
            Ok(Some(frame)) => fanout.send(frame),
            Ok(None) => {
                // A source that broke off or failed did so for this receiver too.
                let of_all = shared.parent.as_ref().and_then(|parent| parent.end.get().copied());
                break of_all.unwrap_or(BROADCAST_DONE);
            }
            Err(error) => {
                tracing::warn!("a receiver that began elsewhere gets no more: {error}");
                break match error {
                    SourceError::BrokenOff(_) => Close { code: Code::Source, why: "the source broke off" },
                    SourceError::Failed(_) => Close { code: Code::Failed, why: "earlier frames are lost" },
                };
            }
        }
    };
    let _ = shared.end.set(end);
    drop(place);
}
