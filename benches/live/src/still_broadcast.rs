//! A broadcast of video without an encoder: one frame of 2 Mbit/s, 30 times a second, or a stored video.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use nestcast_encode::Replay;
use nestcast_proto::Sound;
use nestcast_sender::{
    Broadcast, Browsers, FrameSource, Identity, PacedSource, SenderConfig, SoundFanout, clock_micros,
};
use nestcast_tests::still_frames::{RATE, StillFrames};

/// Bytes of a frame: 2 Mbit/s.
pub const FRAME_BYTES: usize = 2_000_000 / 8 / RATE as usize;
/// Bytes of a packet of sound, and the time between two: 64 kbit/s.
const PACKET_BYTES: usize = 160;
const PACKET_TIME: Duration = Duration::from_millis(20);
/// Bytes of the base: four tenths of what a receiver of 0.6 Mbit/s gets.
const BASE_BYTES: usize = 1000;

/// Broadcasts until the process ends, a stored video again and again if there is one, or frames, perhaps with sound; prints
/// its address on standard output.
pub fn send(workers: usize, film: Option<PathBuf>, has_sound: bool) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
    runtime.block_on(async {
        match film {
            Some(film) => run(listen_to(replay(&film)?, None)?).await,
            None if has_sound => {
                let broadcast = listen_to(frames(FRAME_BYTES), Some(Sound::Mono))?;
                tokio::spawn(speak(broadcast.sound()));
                run(broadcast).await
            }
            None => run(listen(FRAME_BYTES)?).await,
        }
    })
}

async fn run<S: FrameSource>(broadcast: Broadcast<S>) -> Result<()> {
    println!("{}", broadcast.address().context("it listens")?);
    Ok(broadcast.run(std::future::pending()).await?)
}

fn replay(film: &Path) -> Result<PacedSource> {
    let again = film.to_owned();
    let again = Box::new(move || File::open(&again));
    Ok(PacedSource::new(Replay::new("the film", u64::MAX, File::open(film)?, Some(again))?))
}

/// Broadcasts frames of this many bytes. Call it in a tokio runtime.
pub(crate) fn listen(bytes: usize) -> Result<Broadcast<StillFrames>> {
    listen_to(frames(bytes), None)
}

fn frames(bytes: usize) -> StillFrames {
    StillFrames::new(bytes, BASE_BYTES, Duration::MAX).of_video()
}

/// Hands on 50 packets of sound a second.
async fn speak(sound: SoundFanout) {
    let packet = Bytes::from(vec![7; PACKET_BYTES]);
    let mut due = tokio::time::interval(PACKET_TIME);
    loop {
        due.tick().await;
        sound.send(clock_micros(), packet.clone());
    }
}

fn listen_to<S: FrameSource>(source: S, sound: Option<Sound>) -> Result<Broadcast<S>> {
    let everyone = usize::MAX >> 4;
    let config = SenderConfig {
        sound,
        max_receivers: everyone,
        max_receivers_per_address: everyone,
        browsers: Some(Browsers::default()),
        ..SenderConfig::new(([127, 0, 0, 1], 0).into(), Identity::generate()?)
    };
    Ok(Broadcast::listen(config, source)?)
}
