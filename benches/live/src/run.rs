//! One broadcast over one link: nestcast or a rival.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nestcast_codec::{Decoder, Encoder, Picture};
use nestcast_lab::clip::{Clip, FRAMES_PER_SECOND};
use nestcast_lab::link::{Passage, Relay};
use nestcast_lab::motion_jpeg::MotionJpeg;
use nestcast_models::Package;
use nestcast_proto::PackageHash;
use nestcast_receiver::receive;
use nestcast_sender::{Broadcast, Config, EncodedPictures, Encoding, FrameSource, Identity, Pictures};
use nestcast_tests::broadcasts;

use crate::clip_sink::{ClipSink, Seen};
use crate::jpeg_frames::{self, Choice, JpegFrames, LOWEST, Ladder};
use crate::links::Scenario;

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
    let count = u64::from(scenario.seconds * FRAMES_PER_SECOND);
    if scheme == Scheme::Nestcast {
        return nestcast(scenario, clip, count).await;
    }
    let time = Duration::from_secs(scenario.seconds.into());
    let jpegs = Arc::new(MotionJpeg::new(Arc::clone(clip)));
    let mean = scenario.link.capacity(Duration::ZERO, time) / time.as_secs_f64();
    let choice = match scheme {
        Scheme::Fixed => Choice::fixed(&jpegs, whole(mean))?,
        _ => Choice::Ladder(Ladder::default()),
    };
    prepare(clip, &jpegs, &choice)?;
    let source = JpegFrames::new(Arc::clone(clip), Arc::clone(&jpegs), choice, count);
    let decode = |id: u64, prefix: &[u8]| {
        let index = clip.index(id);
        let quality = jpegs.fitting(index, prefix.len()).ok()?.unwrap_or(LOWEST);
        jpegs.picture(index, quality).ok()
    };
    broadcast(source, scenario, ClipSink::new(Arc::clone(clip), decode)).await
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates of links are small and positive")]
fn whole(rate: f64) -> u64 {
    rate as u64
}

/// A rival encodes ahead, so that it is measured without its encoder.
fn prepare(clip: &Clip, jpegs: &MotionJpeg, choice: &Choice) -> Result<()> {
    for index in 0..clip.pictures().len() {
        let rungs = || jpeg_frames::RUNGS.iter().map(|&rung| jpegs.fitting(index, jpeg_frames::bytes_of(rung)));
        let qualities: Vec<u8> = match choice {
            Choice::Fixed(quality) => vec![*quality],
            Choice::Ladder(_) => rungs().map(|found| Ok(found?.unwrap_or(LOWEST))).collect::<Result<_>>()?,
        };
        // The receiver finds each again by its length.
        qualities.iter().try_for_each(|&quality| jpegs.fitting(index, jpegs.bytes(index, quality)?).map(drop))?;
    }
    Ok(())
}

async fn nestcast(scenario: &Scenario, clip: &Arc<Clip>, count: u64) -> Result<Outcome> {
    let package = Package::builtin("photo")?;
    let encoder = Encoder::new(package.linear(2)).with_max_bytes(MAX_FRAME);
    let encoding = Encoding::new(PackageHash(package.hash()), encoder);
    let (playing, mut ids) = (Arc::clone(clip), 0..count);
    let next = move || Ok(ids.next().map(|id| playing.at(id).clone()));
    let pictures = Pictures::new(clip.size(), clip.rate(), next);
    let decode = |_id: u64, prefix: &[u8]| {
        let mut decoder = Decoder::new(package.linear(1));
        decoder.push(prefix).ok()?;
        decoder.render().ok()
    };
    let sink = ClipSink::new(Arc::clone(clip), decode);
    broadcast(EncodedPictures::new(pictures, encoding), scenario, sink).await
}

async fn broadcast<D>(source: impl FrameSource, scenario: &Scenario, mut sink: ClipSink<D>) -> Result<Outcome>
where
    D: FnMut(u64, &[u8]) -> Option<Picture> + Send,
{
    let identity = Identity::generate()?;
    let fingerprint = identity.fingerprint().to_string();
    let broadcast = Broadcast::listen(Config::new(([127, 0, 0, 1], 0).into(), identity), source)?;
    let relay = Relay::start(broadcast.address().context("it listens")?, scenario.link.clone()).await?;
    let began = Instant::now();
    let sending = tokio::spawn(broadcast.run(std::future::pending()));
    let time = Duration::from_secs(scenario.seconds.into());
    let config = broadcasts::pinned(relay.address(), &fingerprint);
    receive(config, &mut sink, tokio::time::sleep(time)).await?;
    sending.abort();
    let first = began.saturating_duration_since(relay.began());
    Ok(Outcome { seen: sink.into_seen(), passages: relay.take_passages(), first })
}
