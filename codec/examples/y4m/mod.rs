//! The frames of a clip, for examples of video.

use std::error::Error;

use nestcast_codec::{Format, FrameRate, Picture, Size, Ycbcr};

/// Frames of one size, and their rate.
pub(crate) struct Clip {
    pub(crate) size: Size,
    pub(crate) rate: FrameRate,
    pub(crate) pictures: Vec<Picture>,
}

/// Reads frames of a y4m file, 4:2:0 of 8 bits or of more, such as `C420p10`; from its last one it goes back and forth.
pub(crate) fn read(path: &str, count: usize) -> Result<Clip, Box<dyn Error>> {
    let bytes = std::fs::read(path)?;
    let end = |bytes: &[u8]| bytes.iter().position(|byte| *byte == b'\n').ok_or("it breaks off");
    let (head, mut rest) = bytes.split_at(end(&bytes)?);
    let head = str::from_utf8(head)?.strip_prefix("YUV4MPEG2 ").ok_or("it is no y4m file")?;
    let word = |name: char| {
        head.split(' ').find_map(|word| word.strip_prefix(name)).ok_or_else(|| format!("its head lacks {name}"))
    };
    let size = Size::new(word('W')?.parse()?, word('H')?.parse()?)?;
    let (frames, seconds) = word('F')?.split_once(':').ok_or("its frame rate is no fraction")?;
    let rate = FrameRate::new(frames.parse()?, seconds.parse()?)?;
    let bits = word('C').ok().and_then(|samples| samples.strip_prefix("420p")?.parse().ok()).unwrap_or(8);
    let format = Format::planar(Ycbcr::BT601, bits);
    let mut there = Vec::new();
    while rest.len() > 1 && there.len() < count {
        rest = &rest[1..];
        let (frame, after) = rest[end(rest)? + 1..].split_at_checked(format.bytes(size)).ok_or("it breaks off")?;
        there.push(Picture::new(size, format, frame.to_vec())?);
        // As if a line's end came before the next frame, as after the head.
        rest = &bytes[bytes.len() - after.len() - 1..];
    }
    let last = there.len().checked_sub(1).ok_or("it has no frames")?;
    let turn = |number: usize| if last == 0 { 0 } else { last - last.abs_diff(number % (2 * last)) };
    Ok(Clip { size, rate, pictures: (0..count).map(|number| there[turn(number)].clone()).collect() })
}
