//! Pictures for tests, each sample a function of its column, row and channel.

use nestcast_codec::{Channels, Picture, Size};

/// Fills a picture; `sides` are width and height.
pub(crate) fn picture([width, height]: [u32; 2], channels: Channels, sample: impl Fn(u32, u32, u32) -> u32) -> Picture {
    let all = (0u32..).take(channels.count());
    let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let places = places.flat_map(|(x, y)| all.clone().map(move |c| (x, y, c)));
    let samples = places.map(|(x, y, c)| u8::try_from(sample(x, y, c)).expect("a byte")).collect();
    Picture::new(Size::new(width, height).expect("a valid size"), channels, samples).expect("the shape fits")
}

pub(crate) fn pattern(x: u32, y: u32, c: u32) -> u32 {
    (x * (3 + c) + y * (5 - c) + x * y * (c + 1) / 64) % 256
}

/// Returns half the contrast of [`pattern`], with a regular noise of -11 to 11.
pub(crate) fn faded(x: u32, y: u32, c: u32) -> u32 {
    (pattern(x, y, c) / 2 + 64 + (x * 31 + y * 17) % 23 - 11).min(255)
}
