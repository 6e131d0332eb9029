//! Frames that are made elsewhere, served over an endpoint of the caller's: a network in virtual time, a benchmark.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use nestcast_proto::{Frame, Welcome};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::admission::Admission;
use crate::broadcast;
use crate::demand::Demand;
use crate::feed::{DONE, Shared};
use crate::frames;
use crate::places::Places;
use crate::quic::Listener;

/// Serves `frames`, one every `interval`, to everyone who connects to `endpoint`, which must have been made with `config`,
/// that of [`crate::measured::server_config`]. Ends when there are no more frames and all receivers have been told.
pub async fn serve(
    (endpoint, config): (quinn::Endpoint, quinn::ServerConfig),
    welcome: Welcome,
    interval: Duration,
    mut frames: mpsc::Receiver<Frame>,
) {
    let everyone = usize::MAX >> 4;
    let shared = Arc::new(Shared {
        token: None,
        welcome,
        interval,
        package: None,
        counters: Arc::default(),
        demand: Demand::default(),
        places: Arc::new(Places::new(everyone, everyone)),
        end: OnceLock::from(DONE),
        cut_off: watch::Sender::new(false),
    });
    let mut admission = Admission::new(Listener::on(endpoint, config), Arc::clone(&shared.counters));
    let (outlet, inlet) = frames::channel();
    let mut feeds = JoinSet::new();
    let mut number = 0;
    loop {
        tokio::select! {
            biased;
            frame = frames.recv() => match frame {
                Some(frame) => outlet.put(Arc::new(frame)),
                None => break,
            },
            begun = admission.next() => {
                let Some((handshake, ticket)) = begun else { break };
                number += 1;
                feeds.spawn(broadcast::serve(handshake, ticket, number, Arc::clone(&shared), inlet.clone()));
            }
        }
    }
    drop((outlet, inlet));
    while feeds.join_next().await.is_some() {}
    admission.close(DONE).await;
}
