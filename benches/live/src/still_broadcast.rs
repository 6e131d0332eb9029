//! A broadcast of video without an encoder: one frame of 2 Mbit/s, 30 times a second.

use std::time::Duration;

use anyhow::{Context, Result};
use nestcast_sender::{Broadcast, Config, Identity};
use nestcast_tests::still_frames::{RATE, StillFrames};

/// Bytes of a frame: 2 Mbit/s.
pub const FRAME_BYTES: usize = 2_000_000 / 8 / RATE as usize;
/// Bytes of the base: four tenths of what a receiver of 0.6 Mbit/s gets.
const BASE_BYTES: usize = 1000;

/// Broadcasts until the process ends; prints its address on standard output.
pub fn send(workers: usize) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
    runtime.block_on(async {
        let broadcast = listen(FRAME_BYTES)?;
        println!("{}", broadcast.address().context("it listens")?);
        Ok(broadcast.run(std::future::pending()).await?)
    })
}

/// Broadcasts frames of this many bytes. Call it in a tokio runtime.
pub(crate) fn listen(bytes: usize) -> Result<Broadcast<StillFrames>> {
    let everyone = usize::MAX >> 4;
    let config = Config {
        max_receivers: everyone,
        max_receivers_per_address: everyone,
        ..Config::new(([127, 0, 0, 1], 0).into(), Identity::generate()?)
    };
    Ok(Broadcast::listen(config, StillFrames::new(bytes, BASE_BYTES, Duration::MAX).of_video())?)
}
