//! Runs the broadcast: one sender, a link and a receiver for each of three bandwidths, real QUIC in between.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use nestcast_codec::Encoder;
use nestcast_models::Package;
use nestcast_proto::PackageHash;
use nestcast_receiver::Trust;
use nestcast_sender::{Broadcast, EncodedPictures, Encoding, Identity, Pictures, Statistics};
use tokio::sync::oneshot;

use super::table::Table;
use super::watch::{self, Notebook, Seen, Watcher};
use crate::clip::Clip;
use crate::demo::Setup;
use crate::link::{Link, Passage, Relay};

/// How long it lasts.
pub(super) const SECONDS: u32 = 12;
/// The third link's rate falls to that of the second, and rises again, at these seconds.
pub(super) const FALL: (u64, u64) = (5, 8);
const SLOW: u64 = 300_000;
const MIDDLE: u64 = 1_000_000;
const FAST: u64 = 4_000_000;
/// The moments whose pictures are shown, in seconds: long after the start, during the fall, after it.
pub(super) const MOMENTS: [f64; 3] = [4.0, 6.5, 10.5];
/// Frames from a moment on of which one is shown that all receivers have.
const AROUND: f64 = 9.0;
/// How long the last frames may be on their way.
const LAST: Duration = Duration::from_millis(500);
/// Between two states of the live table.
const REFRESH: Duration = Duration::from_millis(250);

/// One receiver, its link, and what it saw.
pub(super) struct Receiver {
    pub(super) name: &'static str,
    pub(super) link: Link,
    pub(super) seen: Vec<Seen>,
    /// Packets on the link.
    pub(super) passages: Vec<Passage>,
}

/// All that came of a broadcast.
pub(super) struct Outcome {
    pub(super) receivers: Vec<Receiver>,
    pub(super) sent: Statistics,
}

/// The links, with their names.
fn links() -> [(&'static str, Link); 3] {
    let (fall, rise) = (Duration::from_secs(FALL.0), Duration::from_secs(FALL.1));
    let changing = Link::varying(vec![(Duration::ZERO, FAST), (fall, MIDDLE), (rise, FAST)]);
    [("0.3 Mbit/s", Link::constant(SLOW)), ("1 Mbit/s", Link::constant(MIDDLE)), ("4 Mbit/s", changing)]
}

/// Broadcasts `clip` for [`SECONDS`], frames of at most `max_frame` bytes. Call it within a tokio runtime.
pub(super) async fn broadcast(setup: &Setup<'_>, clip: &Arc<Clip>, max_frame: usize) -> Result<Outcome> {
    let identity = Identity::generate()?;
    let package = setup.package;
    let encoder = Encoder::new(package.linear(setup.threads)).with_max_bytes(max_frame);
    let encoding = Encoding::new(PackageHash(package.hash()), encoder);
    let trust = Trust::fingerprint(&identity.fingerprint().to_string()).context("a fingerprint is 64 digits")?;
    let config = nestcast_sender::Config::new(([127, 0, 0, 1], 0).into(), identity);
    let broadcast = Broadcast::listen(config, EncodedPictures::new(pictures(clip), encoding))?;
    let address = broadcast.address().context("the sender has no address")?;
    let monitor = broadcast.monitor();
    let mut receiving = Vec::new();
    for (name, link) in links() {
        let relay = Relay::start(address, link.clone()).await.context("no free port for a simulated link")?;
        let notebook = Notebook::default();
        let (stop, stopped) = oneshot::channel();
        let config = receiver(relay.address(), trust.clone());
        let watcher = watcher(clip, package, &notebook);
        let ended = tokio::spawn(nestcast_receiver::view(config, watcher, async { drop(stopped.await) }));
        receiving.push((name, link, relay, notebook, stop, ended));
    }
    let mut table =
        Table::new(setup.note, receiving.iter().map(|(name, _, _, notebook, ..)| (*name, Arc::clone(notebook))));
    let mut ticks = tokio::time::interval(REFRESH);
    let mut run = std::pin::pin!(broadcast.run(std::future::pending()));
    loop {
        tokio::select! {
            ended = &mut run => break ended?,
            _ = ticks.tick() => table.refresh(clip),
        }
    }
    drop(table);
    let mut receivers = Vec::new();
    tokio::time::sleep(LAST).await;
    for (name, link, relay, notebook, stop, ended) in receiving {
        // The word that the broadcast ended may be lost on a link that is full.
        let _ = stop.send(());
        ended.await.context("a receiver stopped unexpectedly: please report this")??;
        let seen = std::mem::take(&mut watch::open(&notebook).seen);
        receivers.push(Receiver { name, link, seen, passages: relay.take_passages() });
    }
    Ok(Outcome { receivers, sent: monitor.read() })
}

fn pictures(clip: &Arc<Clip>) -> Pictures {
    let (playing, mut ids) = (Arc::clone(clip), 0..clip.frames_in(SECONDS));
    let next = move || Ok(ids.next().map(|id| playing.at(id).clone()));
    Pictures::new(clip.size(), clip.rate(), next)
}

fn receiver(address: SocketAddr, trust: Trust) -> nestcast_receiver::Config {
    nestcast_receiver::Config { retry: Duration::from_secs(5), ..nestcast_receiver::Config::new(address, trust) }
}

fn watcher(clip: &Arc<Clip>, package: &Package, notebook: &Notebook) -> Watcher {
    Watcher { clip: Arc::clone(clip), package: package.clone(), keep: is_kept, notebook: Arc::clone(notebook) }
}

/// Whether a frame's picture may be shown.
fn is_kept(clip: &Clip, id: u64) -> bool {
    MOMENTS.iter().any(|moment| {
        let frames = (clip.seconds(id) - moment) / clip.rate().interval().as_secs_f64();
        (0.0..AROUND).contains(&frames)
    })
}
