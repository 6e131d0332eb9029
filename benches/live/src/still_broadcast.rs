//! A broadcast without an encoder: one frame of 2 Mbit/s, 30 times a second.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use nestcast_sender::{Broadcast, Config, Identity};
use nestcast_tests::still_frames::{RATE, StillFrames};

/// Bytes of a frame: 2 Mbit/s.
pub const FRAME_BYTES: usize = 2_000_000 / 8 / RATE as usize;
/// Of these the base, as pictures of 128x128 have it.
const BASE_BYTES: usize = 102;
/// The names of the files of an identity.
pub(crate) const CERTIFICATE: &str = "certificate.pem";
const KEY: &str = "key.pem";

/// Writes a certificate and its key into a folder.
pub fn write_identity(folder: &Path) -> Result<()> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    fs::write(folder.join(CERTIFICATE), made.cert.pem())?;
    fs::write(folder.join(KEY), made.signing_key.serialize_pem())?;
    Ok(())
}

/// Reads them back.
pub fn identity(folder: &Path) -> Result<Identity> {
    Ok(Identity::from_pem(&folder.join(CERTIFICATE), &folder.join(KEY))?)
}

/// Broadcasts until the process is ended; says its address on standard output.
pub fn send(identity: &Path, workers: usize) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
    runtime.block_on(async {
        let broadcast = listen(identity, FRAME_BYTES)?;
        println!("{}", broadcast.address().context("it listens")?);
        Ok(broadcast.run(std::future::pending()).await?)
    })
}

/// A broadcast of frames of so many bytes. Call it within a tokio runtime.
pub(crate) fn listen(identity: &Path, bytes: usize) -> Result<Broadcast<StillFrames>> {
    let everyone = usize::MAX >> 4;
    let config = Config {
        max_receivers: everyone,
        max_receivers_per_address: everyone,
        ..Config::new(([127, 0, 0, 1], 0).into(), self::identity(identity)?)
    };
    Ok(Broadcast::listen(config, StillFrames::new(bytes, BASE_BYTES, Duration::MAX))?)
}
