//! A broadcast whose frames are given: one picture, encoded once, cut to 2 Mbit/s, sent 30 times a second.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use nestcast_codec::{Channels, Encoder, Picture, Size};
use nestcast_media::y4m::Rate;
use nestcast_models::Package;
use nestcast_proto::PackageHash;
use nestcast_sender::{Broadcast, Config, Encoding, Identity, Source};

/// Frames a second.
pub const FRAMES: u32 = 30;
/// Bytes of a frame: 2 Mbit/s.
pub const FRAME_BYTES: usize = 2_000_000 / 8 / FRAMES as usize;
/// The names of the files of an identity.
pub(crate) const CERTIFICATE: &str = "certificate.pem";
const KEY: &str = "key.pem";
const SIDE: usize = 128;

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
pub(crate) fn listen(identity: &Path, bytes: usize) -> Result<Broadcast> {
    let identity = self::identity(identity)?;
    let package = Package::builtin("photo")?;
    let encoder = Encoder::new(package.linear(1)).with_max_bytes(bytes);
    let encoding = Encoding::new(PackageHash(package.hash()), encoder);
    let source = Source::still(noise()?, Rate::new(FRAMES, 1)?);
    let listen = ([127, 0, 0, 1], 0).into();
    let config = Config {
        listen,
        identity,
        token: None,
        max_receivers: usize::MAX >> 4,
        max_receivers_per_address: usize::MAX >> 4,
        qlog: None,
    };
    Ok(Broadcast::listen(config, source, encoding)?)
}

/// A picture whose stream has more bytes than are sent.
fn noise() -> Result<Picture> {
    let mut state = 1_u32;
    let samples = (0..SIDE * SIDE * 3).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    });
    let side = u32::try_from(SIDE)?;
    Ok(Picture::new(Size::new(side, side)?, Channels::Rgb, samples.collect())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_the_bytes_that_it_should() {
        let package = Package::builtin("photo").expect("it is built in");
        let mut encoder = Encoder::new(package.linear(1)).with_max_bytes(FRAME_BYTES);
        let stream = encoder.encode(&noise().expect("a picture")).expect("encodes");
        assert_eq!(stream.bytes().len(), FRAME_BYTES);
    }
}
