//! A broadcast: a source, an encoder, and a feed for each receiver that comes.

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::Welcome;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::admission::{self, Admission};
use crate::demand::Demand;
use crate::encoding::Encoding;
use crate::error::Error;
use crate::feed::{self, DONE, Shared};
use crate::frames::Frames;
use crate::identity::Identity;
use crate::pipeline::Pipeline;
use crate::places::Places;
use crate::quic::{Handshake, Listener};
use crate::source::Source;
use crate::statistics::{Counters, Statistics};
use crate::unadmitted::Ticket;

/// How long receivers have, after the last frame, to take what is left of it.
const LAST_FRAME_TIMEOUT: Duration = Duration::from_millis(500);

/// How to broadcast.
#[derive(Debug)]
pub struct Config {
    /// Where receivers find it.
    pub listen: SocketAddr,
    /// Its certificate.
    pub identity: Identity,
    /// What receivers must know; nothing lets everyone in.
    pub token: Option<Bytes>,
    /// Most receivers at once.
    pub max_receivers: usize,
    /// Most receivers at once at one address (of IPv6: in one network of 64 bits).
    pub max_receivers_per_address: usize,
    /// Where to write a qlog file of each connection, if anywhere.
    pub qlog: Option<PathBuf>,
}

/// A broadcast that listens already.
#[derive(Debug)]
pub struct Broadcast {
    listener: Listener,
    source: Source,
    encoding: Encoding,
    shared: Arc<Shared>,
}

/// Reads the figures of a broadcast that runs.
#[derive(Debug, Clone)]
pub struct Monitor(Arc<Counters>);

impl Monitor {
    /// The figures of now.
    #[must_use]
    pub fn read(&self) -> Statistics {
        self.0.read()
    }
}

impl Broadcast {
    /// Listens; nothing is read of the source yet. Call it within a tokio runtime.
    ///
    /// # Errors
    /// [`Error::Listen`] if the address cannot be had, [`Error::Tls`] if the identity cannot be used.
    pub fn listen(config: Config, source: Source, encoding: Encoding) -> Result<Self, Error> {
        let Config { listen, identity, token, max_receivers, max_receivers_per_address, qlog } = config;
        let counters: Arc<Counters> = Arc::default();
        let places = Arc::new(Places::new(max_receivers, max_receivers_per_address));
        let listener = Listener::bind(listen, identity, qlog)?;
        let side = |length: usize| u32::try_from(length).expect("a side fits");
        let welcome = Welcome {
            model: encoding.model.0,
            package: encoding.hash,
            width: side(source.size.width()),
            height: side(source.size.height()),
            rate: (source.rate.frames(), source.rate.seconds()),
        };
        let (interval, package) = (source.rate.interval(), encoding.package.clone());
        let (demand, end, cut_off) = (Demand::default(), OnceLock::new(), watch::Sender::new(false));
        let shared = Shared { token, welcome, interval, package, counters, demand, places, end, cut_off };
        Ok(Self { listener, source, encoding, shared: Arc::new(shared) })
    }

    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.address()
    }

    /// Reads its figures while it runs and after.
    #[must_use]
    pub fn monitor(&self) -> Monitor {
        Monitor(Arc::clone(&self.shared.counters))
    }

    /// Broadcasts until the source ends or `shutdown` is ready; then the frame in flight is finished and receivers are
    /// told.
    ///
    /// # Errors
    /// [`Error::Source`] if the source breaks off, [`Error::Encode`] if a picture cannot be encoded.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
        let Self { listener, source, encoding, shared } = self;
        let mut admission = Admission::new(listener, Arc::clone(&shared.counters));
        let (pipeline, mut frames) = Pipeline::start(source, encoding, Arc::clone(&shared));
        let mut feeds = JoinSet::new();
        let mut shutdown = std::pin::pin!(shutdown);
        let mut number = 0;
        let stopped = loop {
            tokio::select! {
                () = &mut shutdown => break true,
                () = frames.clone().ended() => break false,
                Some(ended) = feeds.join_next() => {
                    if let Err(error) = ended {
                        tracing::error!("a receiver's feed failed, please report this: {error}");
                    }
                }
                begun = admission.next() => {
                    let Some((handshake, ticket)) = begun else { break true };
                    number += 1;
                    feeds.spawn(serve(handshake, ticket, number, Arc::clone(&shared), frames.clone()));
                }
            }
        };
        if stopped {
            // A source that breaks off from now on, as a pipe does whose writer was stopped too, is no failure.
            let _ = shared.end.set(DONE);
            pipeline.stop();
            // The frame that is being encoded still goes out, if it comes soon.
            let _ = tokio::time::timeout(shared.interval.min(LAST_FRAME_TIMEOUT), frames.changed()).await;
        }
        drop(frames);
        let outcome = pipeline.join().await;
        if tokio::time::timeout(LAST_FRAME_TIMEOUT, ended(&mut feeds)).await.is_err() {
            shared.cut_off.send_replace(true);
            ended(&mut feeds).await;
        }
        admission.close(shared.end()).await;
        outcome
    }
}

/// Waits until all feeds ended.
async fn ended(feeds: &mut JoinSet<()>) {
    while feeds.join_next().await.is_some() {}
}

/// One peer, from its handshake on.
pub(crate) async fn serve(handshake: Handshake, ticket: Ticket, number: u64, shared: Arc<Shared>, frames: Frames) {
    let mut time_is_up = Box::pin(admission::time_is_up(ticket));
    let performed = tokio::select! {
        performed = handshake.perform() => performed.map_err(|error| error.to_string()),
        close = &mut time_is_up => Err(close.to_string()),
        () = shared.is_cut_off() => return,
    };
    match performed {
        Ok(peer) => feed::run(peer, time_is_up, number, shared, frames).await,
        Err(error) => {
            shared.counters.refuse("handshake");
            tracing::debug!("handshake failed: {error}");
        }
    }
}
