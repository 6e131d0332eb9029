//! Several encodes of one clip by a rival: one for each group of receivers, or simulcast at full or at growing sizes.

use std::path::Path;

use anyhow::{Context, Result};
use nestcast_codec::Size;
use nestcast_lab::ffmpeg::Ffmpeg;

use super::super::{Clip, Run, clip::pictures, rivals::Rival};
use super::{Offer, Scheme, receivers::slowest_of_groups, scaling, serving::Stream, time::timed};

/// The parts of width and height of spatial layers and of scaled renditions, from the lowest: 1/4, 1/2, 1.
pub(super) const SHRINK_FACTORS: [u32; 3] = [4, 2, 1];

/// A number of encodes by one rival.
pub(super) struct Renditions {
    pub(super) id: &'static str,
    pub(super) rival: Rival,
    pub(super) ffmpeg: Ffmpeg,
    /// The number of encodes.
    pub(super) count: usize,
    /// Whether the lower renditions are smaller, by [`SHRINK_FACTORS`].
    pub(super) scaled: bool,
}

impl Scheme for Renditions {
    fn id(&self) -> &'static str {
        self.id
    }

    fn offer(&self, clip: &Clip, kbps: &[f64]) -> Result<Offer> {
        let folder = tempfile::tempdir()?;
        let rates = slowest_of_groups(kbps, self.count);
        let mut streams = Vec::new();
        let mut seconds = 0.0;
        for (n, &rate) in rates.iter().enumerate() {
            let factor = if self.scaled { SHRINK_FACTORS[n] } else { 1 };
            let name = || format!("{} by {} at {rate:.1} kbit/s", clip.name, self.id);
            let (run, spent) = self.code(clip, folder.path(), rate, factor).with_context(name)?;
            streams.push(Stream { kbps: rate, run });
            seconds += spent;
        }
        Ok(Offer::shared(streams, kbps.len(), seconds))
    }
}

impl Renditions {
    /// Codes a clip, scaled down by a factor, at one rate; returns what a receiver shows at full size, and the seconds.
    fn code(&self, clip: &Clip, folder: &Path, kbps: f64, factor: u32) -> Result<(Run, f64)> {
        let small = if factor == 1 { clip.clone() } else { self.scaled_down(clip, folder, factor)? };
        let (raw, coded) = (folder.join("raw"), folder.join("coded"));
        small.write_raw(&raw)?;
        let ((), seconds) = timed(|| self.rival.encode(&small, &raw, &coded, kbps))?;
        let decoded = scaling::decoded(&self.ffmpeg, &[], &coded, clip, factor > 1)?;
        Ok((Run::new(clip, &self.rival.sizes(&coded)?, &decoded)?, seconds))
    }

    /// Returns a smaller clip. Its sizes are even, which encoders need.
    fn scaled_down(&self, clip: &Clip, folder: &Path, factor: u32) -> Result<Clip> {
        let part = |length: usize| u32::try_from(length).map(|length| (length / factor).next_multiple_of(2));
        let size = Size::new(part(clip.size.width())?, part(clip.size.height())?)?;
        let raw = folder.join("full");
        clip.write_raw(&raw)?;
        let samples = scaling::scaled(&self.ffmpeg, clip, &raw, size)?;
        Clip::new(clip.name.clone(), clip.rate, pictures(size, clip.frames[0].format(), &samples)?)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::super::clip::tests::moving, *};

    #[test]
    fn simulcast_is_three_encodes_for_everybody() {
        let Ok(ffmpeg) = Ffmpeg::find() else { return println!("skipped: no ffmpeg") };
        let clip = moving(176, 144, 30);
        let of = |scaled| {
            let rival = Rival::x264(&ffmpeg);
            let renditions = Renditions { id: "simulcast", rival, ffmpeg: ffmpeg.clone(), count: 3, scaled };
            renditions.offer(&clip, &[75.0, 150.0, 300.0, 600.0, 1200.0]).expect("codes")
        };
        let (full, scaled) = (of(false), of(true));
        for offer in [&full, &scaled] {
            assert_eq!(offer.streams.len(), 5);
            let rates: Vec<f64> = offer.streams[4].iter().map(|stream| stream.kbps).collect();
            assert_eq!(rates, [75.0, 300.0, 1200.0]);
            let used = |stream: &Stream| stream.run.frames.iter().map(|frame| frame.bytes).sum::<usize>();
            assert_eq!(offer.bytes, offer.streams[0].iter().map(used).sum::<usize>());
        }
        // The top rendition is the same; half of the width and height loses the clip's fine pattern.
        assert_eq!(full.streams[0][2].run, scaled.streams[0][2].run);
        let luma = |offer: &Offer| offer.streams[0][1].run.frames[20].luma_db;
        assert!(luma(&scaled) < luma(&full) && luma(&scaled) > 15.0, "{} {}", luma(&scaled), luma(&full));
    }
}
