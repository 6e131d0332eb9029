//! A broadcast from another moment on, for one receiver: a source, a fan-out and a schedule of its own.

use std::sync::{Arc, OnceLock};

use nestcast_proto::{Close, Code, Demand, SourceError, Start};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

use crate::frames::fanout::FrameFanout;
use crate::frames::paced_source::PacedSource;
use crate::frames::sound::SoundFanout;
use crate::frames::source::FrameSource as _;
use crate::shared::{BROADCAST_DONE, Shared, Station};

/// A broadcast for one receiver.
#[derive(Debug)]
pub(crate) struct Rewound {
    pub(crate) station: Station,
    pub(crate) start: Start,
    pub(crate) playing: Playing,
}

/// The task that hands out the frames. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Playing(JoinHandle<()>);

impl Drop for Playing {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Begins the broadcast at another moment; `None` if that cannot be, or too many receivers do.
pub(crate) async fn begin(parent: &Arc<Shared>, start: Start, places: &Arc<Semaphore>) -> Option<Rewound> {
    let archive = parent.archive.clone()?;
    let place = Arc::clone(places).try_acquire_owned().ok()?;
    let opened = tokio::task::spawn_blocking(move || archive.open(start)).await;
    let opened = opened.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
    let (stream, start) = opened.inspect_err(|error| tracing::warn!("nothing can be rewound: {error}")).ok()??;
    let shared = Arc::new(Shared {
        offer: Arc::clone(&parent.offer),
        authorizers: Vec::new(),
        counters: Arc::clone(&parent.counters),
        demand: Demand::default(),
        slots: Arc::clone(&parent.slots),
        sound: SoundFanout::new(),
        end: OnceLock::new(),
        cut_off: Arc::clone(&parent.cut_off),
        origins: Vec::new(),
        archive: None,
        parent: Some(Arc::clone(parent)),
    });
    let fanout = FrameFanout::new(parent.offer.welcome.interval());
    let station = Station { shared: Arc::clone(&shared), frames: fanout.subscribe() };
    let mut source = PacedSource::new(stream);
    source.attach_sound(shared.sound.clone());
    let playing = Playing(tokio::spawn(play(source, fanout, shared, place)));
    Some(Rewound { station, start, playing })
}

/// Hands out the frames until there are no more.
async fn play(mut source: PacedSource, fanout: FrameFanout, shared: Arc<Shared>, place: OwnedSemaphorePermit) {
    let end = loop {
        match source.next(&shared.demand).await {
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
