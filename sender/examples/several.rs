//! Broadcasts two videos at one address, each under a name of its own:
//! `cargo run --release -p nestcast-sender --example several -- [ADDRESS]`.
//!
//! It prints how to receive each. `cam1` is 64 pixels wide, and `cam2` 96. Ctrl-C ends both.

use std::error::Error;
use std::io::Write as _;
use std::net::SocketAddr;

use nestcast_codec::{Format, FrameRate, Picture, Size, Ycbcr};
use nestcast_encode::{PictureFormat, Pictures, RenditionLimit, VideoEncoding};
use nestcast_sender::{Broadcast, FrameSource, Identity, LiveSource, SenderConfig, place_of};

/// Draws stripes that move.
fn camera(width: u32, height: u32) -> Result<impl FrameSource, Box<dyn Error>> {
    let (size, samples) = (Size::new(width, height)?, Format::Ycbcr420(Ycbcr::BT601));
    let format = PictureFormat::new(size, samples, FrameRate::new(30, 1)?);
    let mut step = 0_u8;
    let pictures = Pictures::from_fn(format, move |_| {
        step = step.wrapping_add(2);
        let luma = (0..size.pixels()).map(|at| 16 + (at.to_le_bytes()[0].wrapping_add(step) & 127));
        let mut picture = vec![128; samples.bytes(size)];
        picture.iter_mut().zip(luma).for_each(|(sample, luma)| *sample = luma);
        Picture::new(size, samples, picture).map(Some).map_err(nestcast_proto::SourceError::failed)
    });
    let encoding = VideoEncoding::new(pictures.format(), 1, RenditionLimit::AsNeeded)?;
    Ok(LiveSource::new(pictures, encoding))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let listen = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:4433".to_owned());
    let listen: SocketAddr = listen.parse().map_err(|_| "usage: several [ADDRESS], an IP address and a port")?;
    let identity = Identity::generate()?;
    let fingerprint = identity.fingerprint();

    let broadcast = Broadcast::listen(SenderConfig::new(listen, identity), camera(64, 48)?)?;
    let broadcast = broadcast.named("cam1".parse()?).with_source("cam2".parse()?, camera(96, 80)?);

    let address = place_of(broadcast.address().unwrap_or(listen));
    for name in broadcast.monitors().keys() {
        println!("receive with: nestcast receive {address}/{name} --fingerprint {fingerprint} -o - | ffplay -");
    }
    std::io::stdout().flush()?;
    broadcast.run(async { _ = tokio::signal::ctrl_c().await }).await?;
    Ok(())
}
