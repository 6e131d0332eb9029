//! x264 for live video: no picture waits for a later one, and the rate buffer holds 1.5 frames. The program `ffmpeg`
//! runs it.

use std::fs;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use nestcast_codec::{Bitrate, FrameRate, Picture};
use nestcast_media::y4m::Writer;

use crate::ffmpeg::Ffmpeg;

/// Frames from one keyframe to the next.
pub const KEYFRAME_INTERVAL: usize = 60;
/// The rate buffer, in frames at x264's target rate.
const BUFFER_FRAMES: f64 = 1.5;

/// Arguments that make `ffmpeg` leave out x264's notes on its own settings (SEI).
pub const WITHOUT_NOTES: [&str; 2] = ["-bsf:v", "filter_units=remove_types=6"];

/// A coded picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessUnit {
    /// H.264, as a byte stream.
    pub bytes: Bytes,
    /// Whether a decoder may begin here.
    pub key: bool,
}

/// x264, run by `ffmpeg`.
#[derive(Clone, Debug)]
pub struct X264 {
    ffmpeg: Ffmpeg,
}

impl X264 {
    /// Finds `ffmpeg` on the search path.
    ///
    /// # Errors
    /// Those of [`Ffmpeg::find`].
    pub fn find() -> Result<Self> {
        Ok(Self { ffmpeg: Ffmpeg::find()? })
    }

    /// Encodes pictures of one size, planar YCbCr 4:2:0, at a rate; returns an access unit for each.
    ///
    /// # Errors
    /// If `ffmpeg` fails.
    pub fn encode<'a>(
        &self,
        pictures: impl IntoIterator<Item = &'a Picture>,
        rate: FrameRate,
        bitrate: Bitrate,
    ) -> Result<Vec<AccessUnit>> {
        let folder = tempfile::tempdir()?;
        let coded = folder.path().join("coded.h264");
        let keyframes = KEYFRAME_INTERVAL.to_string();
        let mut words: Vec<String> = ["-i", "-"].map(Into::into).into();
        words.extend(arguments("zerolatency", bitrate, Some(rate)));
        words.extend(WITHOUT_NOTES.map(Into::into));
        words.extend(["-g", &keyframes, "-threads", "1", "-f", "h264"].map(Into::into));
        words.push(coded.display().to_string());
        let mut child = self.ffmpeg.start(words)?;
        let mut input = Writer::new(child.stdin.take().context("a pipe")?, rate);
        let given: Result<usize, _> =
            pictures.into_iter().try_fold(0, |count, picture| input.write(picture).map(|()| count + 1));
        drop(input);
        ensure!(child.wait()?.success(), "ffmpeg failed to run x264");
        let mut bytes = Bytes::from(fs::read(&coded)?);
        let packets = self.ffmpeg.packets(&coded)?;
        let sizes: usize = packets.iter().map(|(size, _)| size).sum();
        ensure!((packets.len(), sizes) == (given?, bytes.len()), "x264 gave not one access unit for each picture");
        Ok(packets.into_iter().map(|(size, key)| AccessUnit { bytes: bytes.split_to(size), key }).collect())
    }

    /// Decodes access units that begin with a keyframe, and passes each picture and its number to `show`.
    ///
    /// # Errors
    /// If `ffmpeg` fails or returns another number of pictures than units; those of `show`.
    pub fn decode<'a>(
        &self,
        units: impl IntoIterator<Item = &'a [u8]>,
        show: impl FnMut(usize, &Picture) -> Result<()>,
    ) -> Result<()> {
        let folder = tempfile::tempdir()?;
        let coded = folder.path().join("coded.h264");
        let units: Vec<&[u8]> = units.into_iter().collect();
        fs::write(&coded, units.concat())?;
        let count = self.ffmpeg.show(&[], &coded, show)?;
        ensure!(count == units.len(), "{count} pictures of {} access units", units.len());
        Ok(())
    }
}

/// Returns the arguments for x264: `tune`, a rate, and a buffer of 1.5 frames if the frame rate is given.
#[must_use]
pub fn arguments(tune: &str, bitrate: Bitrate, frame_rate: Option<FrameRate>) -> Vec<String> {
    let rate = bitrate.bits();
    let words = format!("-c:v libx264 -preset medium -tune {tune} -b:v {rate}");
    let buffer = frame_rate.map(|frame_rate| {
        // x264 counts in whole kbit.
        let buffer = (rate as f64 / 1000.0 * BUFFER_FRAMES / frame_rate.per_second()).round().max(1.0) * 1000.0;
        format!(" -maxrate {rate} -bufsize {buffer}")
    });
    (words + &buffer.unwrap_or_default()).split(' ').map(str::to_owned).collect()
}

#[cfg(all(test, feature = "motion-jpeg"))]
mod tests {
    use super::*;
    use crate::clip::Clip;

    #[test]
    fn every_picture_is_an_access_unit_and_any_part_from_a_keyframe_on_decodes() -> Result<()> {
        let Ok(x264) = X264::find() else {
            println!("skipped: no ffmpeg");
            return Ok(());
        };
        let clip = Clip::builtin()?;
        let pictures = || (0..70).map(|id| clip.at(id));
        let units = x264.encode(pictures(), clip.rate(), Bitrate::from_bits(500_000))?;
        let keys: Vec<usize> = (0..units.len()).filter(|&at| units[at].key).collect();
        assert_eq!((units.len(), &keys[..]), (70, &[0, KEYFRAME_INTERVAL][..]));
        for from in keys {
            let mut shown = 0;
            x264.decode(units[from..].iter().map(|unit| &unit.bytes[..]), |count, picture| {
                shown = count + 1;
                let psnr = crate::metrics::luma_psnr(clip.at((from + count) as u64), picture);
                ensure!(psnr > 30.0, "{psnr} dB");
                Ok(())
            })?;
            assert_eq!(shown, 70 - from);
        }
        Ok(())
    }

    #[test]
    fn a_buffer_is_of_one_and_a_half_frames() {
        let words = arguments("zerolatency", Bitrate::from_bits(300_000), FrameRate::new(30, 1).ok()).join(" ");
        assert!(words.ends_with("-b:v 300000 -maxrate 300000 -bufsize 15000"), "{words}");
        assert!(!arguments("psnr", Bitrate::from_bits(300_000), None).join(" ").contains("bufsize"));
    }
}
