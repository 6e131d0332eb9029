//! Frames that are made elsewhere, served over an endpoint of the caller's: a network in virtual time, a benchmark.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use nestcast_proto::{Frame, Welcome};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::demand::Demand;
use crate::feed::{self, DONE, Shared};
use crate::frames;
use crate::quic::Listener;
use crate::statistics::Counters;

/// Serves `frames`, one every `interval`, to everyone who connects to `endpoint`, which must have been made with `config`,
/// that of [`crate::measured::server_config`]. Ends when there are no more frames and all receivers have been told.
pub async fn serve(
    (endpoint, config): (quinn::Endpoint, quinn::ServerConfig),
    welcome: Welcome,
    interval: Duration,
    mut frames: mpsc::Receiver<Frame>,
) {
    let counters: Arc<Counters> = Arc::default();
    let listener = Listener::on(endpoint, config, Arc::clone(&counters));
    let demand = Demand::default();
    let shared = Shared { token: None, welcome, interval, package: None, counters, demand, end: OnceLock::from(DONE) };
    let shared = Arc::new(shared);
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
            knock = listener.accept() => {
                let Some(knock) = knock else { break };
                number += 1;
                let (shared, inlet) = (Arc::clone(&shared), inlet.clone());
                feeds.spawn(async move {
                    match knock.answer().await {
                        Ok(peer) => feed::run(peer, number, shared, inlet).await,
                        Err(error) => tracing::debug!("handshake failed: {error}"),
                    }
                });
            }
        }
    }
    drop((outlet, inlet));
    while feeds.join_next().await.is_some() {}
    listener.close(DONE).await;
}
