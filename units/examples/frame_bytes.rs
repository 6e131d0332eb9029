//! Prints how many bytes each frame may have: `frame_bytes BITRATE FRAME_RATE`, for example `300k 30000/1001`.

use nestcast_units::{Bitrate, FrameRate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let bitrate: Bitrate = arguments.next().unwrap_or_else(|| "300k".to_owned()).parse()?;
    let rate: FrameRate = arguments.next().unwrap_or_else(|| "30000/1001".to_owned()).parse()?;
    let bytes = bitrate.bytes_per_frame(rate);
    println!("{bitrate} at {rate} frames a second: {bytes} bytes a frame, one every {:?}", rate.interval());
    Ok(())
}
