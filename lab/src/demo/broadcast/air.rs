//! Runs the broadcast in virtual time: the product's sender, QUIC and receivers, with a simulated link for each of
//! three bandwidths. The machine's load does not change the results; runs differ by some tenths of a decibel.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use nestcast_encode::{PictureFormat, RenditionLimit};
use nestcast_receiver::{Trust, receive_over};
use nestcast_sender::{Broadcast, Identity, Statistics};
use tokio::runtime::Builder;

use super::schedule::{FALL_SECONDS, LENGTH_SECONDS};
use super::watch::{Seen, Watcher};
use crate::bottleneck::{Bottleneck, Passage};
use crate::clip::Clip;
use crate::demo::Setup;
use crate::link::Link;
use crate::progress::Progress;
use crate::video_frames::VideoFrames;

const SLOW_BITS_PER_SECOND: u64 = 300_000;
const MIDDLE_BITS_PER_SECOND: u64 = 1_000_000;
const FAST_BITS_PER_SECOND: u64 = 4_000_000;
/// How long the last frames may take to arrive.
const LAST_FRAMES_WAIT: Duration = Duration::from_millis(500);

/// One receiver, its link, and what it showed.
pub(super) struct Receiver {
    pub(super) name: &'static str,
    pub(super) link: Link,
    pub(super) seen: Vec<Seen>,
    /// The time that decoding took, on this machine.
    pub(super) decode: Duration,
    /// Packets on the link.
    pub(super) passages: Vec<Passage>,
}

/// The results of a broadcast.
pub(super) struct Outcome {
    pub(super) receivers: Vec<Receiver>,
    pub(super) sent: Statistics,
}

/// Returns the links, with their names.
fn links() -> [(&'static str, Link); 3] {
    let fall = Duration::from_secs(FALL_SECONDS.0);
    let rise = Duration::from_secs(FALL_SECONDS.1);
    let changing = Link::varying(vec![
        (Duration::ZERO, FAST_BITS_PER_SECOND),
        (fall, MIDDLE_BITS_PER_SECOND),
        (rise, FAST_BITS_PER_SECOND),
    ]);
    [
        ("0.3 Mbit/s", Link::constant(SLOW_BITS_PER_SECOND)),
        ("1 Mbit/s", Link::constant(MIDDLE_BITS_PER_SECOND)),
        ("4 Mbit/s", changing),
    ]
}

/// Broadcasts `clip` for [`LENGTH_SECONDS`].
pub(super) fn broadcast(setup: &Setup<'_>, clip: &Arc<Clip>) -> Result<Outcome> {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build()?;
    runtime.block_on(on_air(setup.threads, clip))
}

async fn on_air(threads: usize, clip: &Arc<Clip>) -> Result<Outcome> {
    let links = links();
    let network = Bottleneck::new(&links.clone().map(|(_, link)| link));
    let identity = Identity::generate()?;
    let trust = Trust::fingerprint(&identity.fingerprint().to_string()).context("a fingerprint is 64 digits")?;
    let (socket, seed) = network.server();
    let address = socket.local_addr()?;
    let socket = nestcast_sender::SenderSocket::simulated(socket, seed)?;
    let config = nestcast_sender::SenderConfig::new(address, identity);
    let broadcast = Broadcast::over(socket, config, source(threads, clip))?;
    let monitor = broadcast.monitor();
    let sending = tokio::spawn(broadcast.run(std::future::pending()));
    let mut receiving = Vec::new();
    for (place, (name, link)) in links.into_iter().enumerate() {
        let (socket, seed) = network.client(place);
        let socket = nestcast_receiver::ReceiverSocket::simulated(socket, seed);
        let config = nestcast_receiver::ReceiverConfig::new(address, trust.clone());
        let mut watcher = Watcher::new(clip, &network);
        let end = tokio::time::sleep(Duration::from_secs(LENGTH_SECONDS.into()) + LAST_FRAMES_WAIT);
        let ended = tokio::spawn(async move {
            receive_over(socket, config, &mut watcher, end).await?;
            anyhow::Ok(watcher)
        });
        receiving.push((place, name, link, ended));
    }
    let mut receivers = Vec::new();
    for (place, name, link, ended) in receiving {
        let Watcher { seen, decode, .. } =
            ended.await.context("a receiver stopped unexpectedly: please report this")??;
        let passages = network.passages().into_iter().filter(|passage| passage.link == place).collect();
        receivers.push(Receiver { name, link, seen, decode, passages });
    }
    sending.abort();
    Ok(Outcome { receivers, sent: monitor.read() })
}

/// Returns the clip as a camera would deliver it.
fn source(threads: usize, clip: &Arc<Clip>) -> VideoFrames {
    let playing = Arc::clone(clip);
    let progress = Progress::of("on air", Some(clip.frames_in(LENGTH_SECONDS)));
    let format = PictureFormat::of(clip.at(0), clip.rate());
    VideoFrames::new(format, (threads, RenditionLimit::default()), move |id| {
        progress.step();
        playing.at(id).clone()
    })
}
