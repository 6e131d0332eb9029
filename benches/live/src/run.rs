//! One broadcast over one link: nestcast or a rival.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nestcast_codec::{Decoder, Encoder};
use nestcast_lab::link::{Passage, Relay};
use nestcast_media::y4m::Rate;
use nestcast_models::Package;
use nestcast_proto::PackageHash;
use nestcast_sender::{Broadcast, Config, Encoding, Identity, Source};

use crate::clip::{Clip, FRAMES_PER_SECOND};
use crate::jpeg::{self, Jpegs};
use crate::links::Scenario;
use crate::rival::{self, Choice, Ladder};
use crate::watch::{self, Seen};
use crate::{crowd, still_broadcast};

/// Most bytes of a frame, as `nestcast send` has it at this size.
const MAX_FRAME: usize = 320 * 240 / 2;

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// One stream, cut to the link.
    Nestcast,
    /// Motion JPEG at the best fixed quality for the link's mean rate, which it is told.
    Fixed,
    /// Motion JPEG in three rungs.
    Ladder,
}

impl Scheme {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Nestcast, Self::Fixed, Self::Ladder];

    /// For the table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nestcast => "nestcast",
            Self::Fixed => "mjpeg-fixed",
            Self::Ladder => "jpeg-ladder-3",
        }
    }
}

/// What came of it.
pub struct Outcome {
    /// Frames that were due.
    pub seen: Vec<Seen>,
    /// Packets on the link.
    pub passages: Vec<Passage>,
    /// When frame 0 was due, on the link's clock.
    pub first: Duration,
}

/// Broadcasts over the link of `scenario`. Call it within a tokio runtime.
pub async fn run(scheme: Scheme, scenario: &Scenario, clip: &Arc<Clip>) -> Result<Outcome> {
    let folder = tempfile::tempdir()?;
    still_broadcast::write_identity(folder.path())?;
    let (identity, config) = (still_broadcast::identity(folder.path())?, crowd::client(folder.path())?);
    let time = Duration::from_secs(scenario.seconds.into());
    let count = u64::from(scenario.seconds * FRAMES_PER_SECOND);
    let (seen, relay, began) = match scheme {
        Scheme::Nestcast => nestcast(identity, config, scenario, clip, time, count).await?,
        Scheme::Fixed | Scheme::Ladder => {
            let jpegs = Jpegs::new(clip);
            let mean = scenario.link.capacity(Duration::ZERO, time) / time.as_secs_f64();
            let choice = match scheme {
                Scheme::Fixed => Choice::fixed(&jpegs, whole(mean))?,
                _ => Choice::Ladder(Ladder::default()),
            };
            prepare(clip, &jpegs, &choice)?;
            jpeg(identity, config, scenario, clip, (&jpegs, choice), (time, count)).await?
        }
    };
    Ok(Outcome { seen, passages: relay.take_passages(), first: began.saturating_duration_since(relay.began()) })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates of links are small and positive")]
fn whole(rate: f64) -> u64 {
    rate as u64
}

/// A rival encodes ahead, so that it is measured without its encoder.
fn prepare(clip: &Clip, jpegs: &Jpegs<'_>, choice: &Choice) -> Result<()> {
    for index in 0..clip.pictures().len() {
        let rungs = || rival::RUNGS.iter().map(|&rung| jpegs.fitting(index, rival::bytes_of(rung)));
        let qualities: Vec<u8> = match choice {
            Choice::Fixed(quality) => vec![*quality],
            Choice::Ladder(_) => rungs().collect::<Result<_>>()?,
        };
        // The receiver finds each again by its length.
        qualities.iter().try_for_each(|&quality| jpegs.fitting(index, jpegs.bytes(index, quality)?).map(drop))?;
    }
    Ok(())
}

async fn nestcast(
    identity: Identity,
    config: quinn::ClientConfig,
    scenario: &Scenario,
    clip: &Arc<Clip>,
    time: Duration,
    count: u64,
) -> Result<(Vec<Seen>, Relay, Instant)> {
    let package = Package::builtin("photo")?;
    let encoder = Encoder::new(package.linear(2)).with_max_bytes(MAX_FRAME);
    let encoding = Encoding::new(PackageHash(package.hash()), encoder);
    let (playing, mut ids) = (Arc::clone(clip), 0..count);
    let next = move || Ok(ids.next().map(|id| playing.at(id).clone()));
    let source = Source::pictures(clip.at(0).size(), Rate::new(FRAMES_PER_SECOND, 1)?, Box::new(next));
    let listen = ([127, 0, 0, 1], 0).into();
    let sender = Config { listen, identity, token: None, max_receivers: 1, max_receivers_per_address: 1, qlog: None };
    let broadcast = Broadcast::listen(sender, source, encoding)?;
    let relay = Relay::start(broadcast.address().context("it listens")?, scenario.link.clone()).await?;
    let began = Instant::now();
    let decode = |_id: u64, prefix: &[u8]| {
        let mut decoder = Decoder::new(package.linear(1));
        decoder.push(prefix).ok()?;
        decoder.render().ok()
    };
    let sending = tokio::spawn(broadcast.run(std::future::pending()));
    let seen = watch::watch(relay.address(), config, clip, time, decode).await?;
    sending.abort();
    Ok((seen, relay, began))
}

async fn jpeg(
    identity: Identity,
    config: quinn::ClientConfig,
    scenario: &Scenario,
    clip: &Clip,
    (jpegs, choice): (&Jpegs<'_>, Choice),
    (time, count): (Duration, u64),
) -> Result<(Vec<Seen>, Relay, Instant)> {
    let endpoint = rival::listen(identity)?;
    let relay = Relay::start(endpoint.local_addr()?, scenario.link.clone()).await?;
    let began = Instant::now();
    // What was sent is found by its length: the sender sends no pixels, so that both need one set of files.
    let decode = |id: u64, prefix: &[u8]| {
        let index = clip.index(id);
        let quality = jpegs.fitting(index, prefix.len()).ok()?;
        jpeg::decode(&jpegs.file(index, quality).ok()?).ok()
    };
    let sending = rival::serve(endpoint, clip, jpegs, choice, count);
    let watching = watch::watch(relay.address(), config, clip, time, decode);
    tokio::pin!(sending, watching);
    // Whichever side ends first, the other's end says nothing.
    let mut sent = false;
    let seen = loop {
        tokio::select! {
            outcome = &mut sending, if !sent => { outcome?; sent = true; }
            seen = &mut watching => break seen?,
        }
    };
    Ok((seen, relay, began))
}
