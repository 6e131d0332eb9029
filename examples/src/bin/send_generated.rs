//! Broadcasts a bright bar that moves over grey, until Ctrl-C: `send_generated [ADDRESS]`.

use std::net::SocketAddr;

use nestcast_codec::{Format, FrameRate, Picture, Size, Ycbcr};
use nestcast_encode::{PictureFormat, Pictures, RenditionLimit, VideoEncoding};
use nestcast_sender::{Broadcast, Identity, LiveSource, SenderConfig};

const FRAME_WIDTH: usize = 320;
const FRAME_HEIGHT: usize = 240;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address: SocketAddr = std::env::args().nth(1).as_deref().unwrap_or("127.0.0.1:4433").parse()?;
    let (size, samples) =
        (Size::new(FRAME_WIDTH.try_into()?, FRAME_HEIGHT.try_into()?)?, Format::Ycbcr420(Ycbcr::BT601));
    let format = PictureFormat::new(size, samples, FrameRate::new(30, 1)?);
    let mut number = 0;
    let pictures = Pictures::from_fn(format, move |spent| {
        let mut picture = spent.unwrap_or_else(|| Picture::zero(size, samples));
        draw(picture.samples_mut(), number);
        number += 1;
        Ok(Some(picture))
    });
    let encoding = VideoEncoding::new(pictures.format(), 1, RenditionLimit::AsNeeded)?;

    let identity = Identity::generate()?;
    let fingerprint = identity.fingerprint();
    let broadcast = Broadcast::listen(SenderConfig::new(address, identity), LiveSource::new(pictures, encoding))?;
    println!("{} {fingerprint}", broadcast.address().ok_or("no address")?);
    broadcast.run(async { _ = tokio::signal::ctrl_c().await }).await?;
    Ok(())
}

/// Draws frame `number`: luma first, row by row, then the colour differences, which stay grey.
fn draw(samples: &mut [u8], number: usize) {
    let (luma, differences) = samples.split_at_mut(FRAME_WIDTH * FRAME_HEIGHT);
    for row in luma.chunks_exact_mut(FRAME_WIDTH) {
        for (x, sample) in row.iter_mut().enumerate() {
            *sample = if (x + FRAME_WIDTH - 4 * number % FRAME_WIDTH) % FRAME_WIDTH < 40 { 200 } else { 90 };
        }
    }
    differences.fill(128);
}
