//! The rival: a ladder of three x264 renditions. Every receiver gets the best one that fits its link, at once and never
//! late.

use std::ops::Range;

use anyhow::Result;
use nestcast_codec::{Bitrate, Picture};

use super::schedule::LENGTH_SECONDS;
use crate::clip::Clip;
use crate::metrics;
use crate::progress::Progress;
use crate::x264::X264;

/// Bits a second of the rungs: 85 % of the links' rates, to leave room for headers and changes of the rate.
const RUNG_BITS_PER_SECOND: [u32; 3] = [255_000, 850_000, 3_400_000];

/// How the rungs are encoded; a page shows it.
pub(super) const LADDER_DESCRIPTION: &str = "a ladder of three renditions of 0.255, 0.85 and 3.4 Mbit/s by x264 (medium, zerolatency, a rate buffer of 1.5 frames, a \
     keyframe every two seconds); every link has the highest that it carries, changes to another at no cost, and none of it is late or lost";

/// The three renditions of a clip.
pub(super) struct Ladder(Vec<Rung>);

/// One rendition.
pub(super) struct Rung {
    /// Bits a second.
    pub(super) rate: u32,
    /// PSNR of luma in dB, by frame.
    psnr: Vec<f64>,
    kept: Range<u64>,
    /// The pictures of the frames that are kept.
    pictures: Vec<Picture>,
}

impl Ladder {
    /// Encodes the broadcast's frames, and keeps the pictures of some.
    pub(super) fn new(clip: &Clip, x264: &X264, kept: &Range<u64>) -> Result<Self> {
        let progress = Progress::of("x264, three rungs", Some(RUNG_BITS_PER_SECOND.len() as u64));
        let rungs = RUNG_BITS_PER_SECOND.into_iter().map(|rate| {
            let rung = Rung::new(clip, x264, rate, kept.clone());
            progress.step();
            rung
        });
        Ok(Self(rungs.collect::<Result<_>>()?))
    }

    /// Returns the best rung for a link of a rate.
    pub(super) fn best(&self, link: u64) -> Option<&Rung> {
        self.0.iter().rfind(|rung| u64::from(rung.rate) <= link)
    }
}

impl Rung {
    fn new(clip: &Clip, x264: &X264, rate: u32, kept: Range<u64>) -> Result<Self> {
        let ids = 0..clip.frames_in(LENGTH_SECONDS);
        let units = x264.encode(ids.map(|id| clip.at(id)), clip.rate(), Bitrate::from_bits(rate.into()))?;
        let mut rung = Self { rate, psnr: Vec::new(), kept, pictures: Vec::new() };
        x264.decode(units.iter().map(|unit| &unit.bytes[..]), |place, picture| {
            let id = place as u64;
            rung.psnr.push(metrics::luma_psnr(clip.at(id), picture));
            if rung.kept.contains(&id) {
                rung.pictures.push(picture.clone());
            }
            Ok(())
        })?;
        Ok(rung)
    }

    /// Returns the PSNR of luma in dB of a frame of the broadcast.
    pub(super) fn psnr(&self, id: u64) -> Option<f64> {
        self.psnr.get(usize::try_from(id).ok()?).copied()
    }

    /// Returns the picture of a frame that is kept.
    pub(super) fn picture(&self, id: u64) -> Option<&Picture> {
        self.pictures.get(usize::try_from(id.checked_sub(self.kept.start)?).ok()?)
    }
}
