//! Animated pictures: a few seconds of video that any browser shows without a script (WebP, lossy).

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nestcast_codec::{Channels, Picture};
use webp::{AnimEncoder, AnimFrame, WebPConfig};

/// Quality, 0 to 100: high enough that only the picture's own loss is visible.
const WEBP_QUALITY: f32 = 90.0;
/// Effort, 0 to 6.
const WEBP_METHOD: i32 = 2;

/// Encodes RGB pictures of one size into a file that shows each for `interval` and repeats.
///
/// # Errors
/// If there are no pictures, or they are not RGB or differ in size.
pub fn encode(pictures: &[Picture], interval: Duration) -> Result<Vec<u8>> {
    let size = pictures.first().context("an animation without pictures")?.size();
    let alike =
        |picture: &Picture| (picture.size(), picture.format().planes(), picture.channels()) == (size, 1, Channels::Rgb);
    ensure!(pictures.iter().all(alike), "the pictures of an animation are RGB and of one size");
    let mut config = WebPConfig::new().ok().context("libwebp has another version than its header")?;
    (config.quality, config.method) = (WEBP_QUALITY, WEBP_METHOD);
    let width = u32::try_from(size.width())?;
    let height = u32::try_from(size.height())?;
    let mut encoder = AnimEncoder::new(width, height, &config);
    for (number, picture) in (0..).zip(pictures) {
        let time = i32::try_from((interval * number).as_millis())?;
        encoder.add_frame(AnimFrame::from_rgb(picture.samples(), width, height, time));
    }
    let encoded = encoder.try_encode().map_err(|error| anyhow::anyhow!("WebP cannot be encoded: {error:?}"))?;
    Ok(encoded.to_vec())
}

#[cfg(test)]
mod tests {
    use nestcast_codec::{Format, Size};

    use super::*;

    #[test]
    fn pictures_are_shown_one_after_another() -> Result<()> {
        let size = Size::new(32, 16)?;
        let flat = |value| Picture::new(size, Format::Rgb, vec![value; 3 * 32 * 16]);
        let pictures = [flat(10)?, flat(120)?, flat(240)?];
        let file = encode(&pictures, Duration::from_micros(33_333))?;
        let decoded = webp::AnimDecoder::new(&file).decode().map_err(anyhow::Error::msg)?;
        let frames: Vec<(u8, i32)> =
            decoded.into_iter().map(|frame| (frame.get_image()[0], frame.get_time_ms())).collect();
        assert_eq!(frames.len(), 3);
        for ((value, _), expected) in frames.iter().zip([10_u8, 120, 240]) {
            assert!(value.abs_diff(expected) <= 2, "{frames:?}");
        }
        assert_eq!(frames[1].1 - frames[0].1, 33, "{frames:?}");
        assert!(encode(&[], Duration::ZERO).is_err());
        assert!(encode(&[Picture::zero(size, Format::Grey)], Duration::ZERO).is_err());
        Ok(())
    }
}
