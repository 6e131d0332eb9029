//! The population benchmark: one stream cut to each receiver, against ladders of a few encodes.
//!
//! Measures equation 16 of Rippel, Gelbart and Adams (2014): the expected distortion over the receivers' bandwidths. A
//! picture is sent once an interval, so a receiver's budget is its bandwidth times the interval.
//!
//! Every open choice favours the rivals. An exact search over all candidates chooses their ladders for every picture
//! and interval separately, with the receivers known. Both chroma samplings are candidates on every rung. A receiver
//! for whom no rung is small enough counts as one that sees the picture's mean colour, which no codec gives for
//! nothing.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use nestcast_codec::{MAX_HEADER, Picture};
use nestcast_lab::metrics::{bpp, psnr};
use nestcast_lab::rate_distortion::{Row, rounded};
use serde::{Deserialize, Serialize};

use crate::{
    ladder::{self, Encode},
    ours::{Kind, Ours},
    picture::{RGB_CHANNELS, from_rgb},
    receivers::Receiver,
    rivals::{Avif, Baseline, Lossy, Rival, Sampling},
};

/// Milliseconds from one picture to the next: a frame of a broadcast at 25 a second, and a picture that someone waits
/// for, where more than a quarter of a second feels like waiting.
pub const INTERVALS_MS: [f64; 2] = [40.0, 250.0];

/// The numbers of encodes in a ladder.
pub const RUNG_COUNTS: [usize; 3] = [1, 3, 7];

/// The name of the row for a picture's mean colour.
const MEAN_COLOUR_ROW: &str = "mean-colour";

/// A codec of the ladders: its name and the rivals whose files it may use.
const LADDER_CODECS: [(&str, &[&str]); 3] =
    [("JPEG", &["jpeg-420", "jpeg-444"]), ("WebP", &["webp-m6"]), ("AVIF", &["avif-420", "avif-444"])];

/// One line of the results: the average result of a way to serve everybody.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Milliseconds for a picture.
    pub interval_ms: f64,
    /// A codec of the ladders, or nestcast's decoder.
    pub codec: String,
    /// The number of times that a picture is encoded.
    pub encodes: usize,
    /// Bytes stored for a picture: all encodes together, or the longest prefix that any receiver gets.
    pub stored_bytes: f64,
    /// Fraction of receivers that get no picture.
    pub unserved: f64,
    /// The expected squared error, as PSNR in dB.
    pub expected_db: f64,
    /// The expected PSNR in dB; the ladder is chosen again for it.
    pub mean_db: f64,
}

/// Returns candidates for the rungs of ladders: every rival over a fine grid, and the picture's mean colour.
pub fn candidates(image: &str, picture: &Picture) -> Result<Vec<Row>> {
    let flat = mean_colour(picture)?;
    let mut rows = vec![row(image, MEAN_COLOUR_ROW, 0, picture, &flat)];
    let grids: [(&dyn Rival, u8, usize); 5] = [
        (&Baseline(Sampling::S420), 2, 3),
        (&Baseline(Sampling::S444), 2, 3),
        (&Lossy { method: 6 }, 0, 4),
        (&Avif(Sampling::S420), 2, 4),
        (&Avif(Sampling::S444), 2, 4),
    ];
    for (rival, first, step) in grids {
        for quality in (first..=100).step_by(step) {
            let bytes = rival.encode(picture, f32::from(quality))?;
            let decoded = rival.decode(&bytes)?;
            rows.push(row(image, rival.name(), bytes.len(), picture, &decoded));
        }
    }
    Ok(rows)
}

/// Returns nestcast's stream at every receiver's budget, and whole.
pub fn cuts(ours: &Ours, image: &str, picture: &Picture, receivers: &[Receiver]) -> Result<Vec<Row>> {
    let stream = ours.encode(picture, usize::MAX)?;
    let whole = stream.bytes().len();
    let budgets = INTERVALS_MS.iter().flat_map(|ms| receivers.iter().map(|receiver| receiver.budget(*ms)));
    let mut lengths: Vec<usize> = budgets.filter(|bytes| (MAX_HEADER..whole).contains(bytes)).collect();
    lengths.push(whole);
    lengths.sort_unstable();
    lengths.dedup();
    let mut rows = Vec::new();
    for kind in Kind::ALL {
        for &bytes in &lengths {
            let decoded = ours.decode(&stream.prefix(bytes), kind)?;
            rows.push(row(image, kind.name(), bytes, picture, &decoded));
        }
    }
    Ok(rows)
}

fn row(image: &str, decoder: &str, bytes: usize, original: &Picture, decoded: &Picture) -> Row {
    Row {
        image: image.to_owned(),
        decoder: decoder.to_owned(),
        bytes,
        bpp: rounded(bpp(bytes, original.size()), 6),
        psnr_db: rounded(psnr(original, decoded), 4),
        ..Row::default()
    }
}

/// Returns the picture with every pixel at the mean of all.
fn mean_colour(picture: &Picture) -> Result<Picture> {
    let samples = picture.samples();
    let pixels = picture.size().pixels();
    let mean = |channel: usize| {
        let sum: usize = samples.iter().skip(channel).step_by(RGB_CHANNELS).map(|&sample| usize::from(sample)).sum();
        u8::try_from((sum + pixels / 2) / pixels)
    };
    let colour = [mean(0)?, mean(1)?, mean(2)?];
    from_rgb(picture.size().width().try_into()?, picture.size().height().try_into()?, colour.repeat(pixels))
}

/// Two ways to average: over squared errors, and over dB.
#[derive(Clone, Copy)]
enum Scale {
    SquaredError,
    Decibel,
}

impl Scale {
    /// Returns the distortion, which grows as quality falls.
    fn distortion(self, psnr_db: f64) -> f64 {
        match self {
            Self::SquaredError => 255.0 * 255.0 / 10_f64.powf(psnr_db / 10.0),
            Self::Decibel => -psnr_db,
        }
    }

    fn db(self, distortion: f64) -> f64 {
        match self {
            Self::SquaredError => 10.0 * (255.0 * 255.0 / distortion).log10(),
            Self::Decibel => -distortion,
        }
    }
}

/// A picture's measurements by decoder or rival.
type Measured<'a> = BTreeMap<&'a str, Vec<&'a Row>>;

/// Makes the table of results from [`cuts`] and [`candidates`] of the same pictures.
pub fn outcomes(ours: &[Row], candidates: &[Row], receivers: &[Receiver]) -> Result<Vec<Outcome>> {
    let mut pictures: BTreeMap<&str, Measured<'_>> = BTreeMap::new();
    for row in ours.iter().chain(candidates) {
        pictures.entry(&row.image).or_default().entry(&row.decoder).or_default().push(row);
    }
    let pictures: Vec<Measured<'_>> = pictures.into_values().collect();
    let mut outcomes = Vec::new();
    for interval_ms in INTERVALS_MS {
        let population = Population { receivers, interval_ms };
        for kind in Kind::ALL {
            outcomes.push(population.stream(&pictures, kind)?);
        }
        for (codec, rivals) in LADDER_CODECS {
            for encodes in RUNG_COUNTS {
                outcomes.push(population.ladder(&pictures, codec, rivals, encodes)?);
            }
        }
    }
    Ok(outcomes)
}

struct Population<'a> {
    receivers: &'a [Receiver],
    interval_ms: f64,
}

impl Population<'_> {
    fn stream(&self, pictures: &[Measured<'_>], kind: Kind) -> Result<Outcome> {
        let expected = |scale: Scale| -> Result<f64> {
            mean(pictures, |picture| {
                let cuts = encodes(picture, &[kind.name()], scale)?;
                Ok(ladder::cut(&cuts, nothing(picture, scale)?, self.receivers, self.interval_ms))
            })
        };
        let most = self.receivers.iter().map(|receiver| receiver.budget(self.interval_ms)).max().unwrap_or(0);
        let stored_bytes = mean(pictures, |picture| {
            let cuts = encodes(picture, &[kind.name()], Scale::Decibel)?;
            Ok(cuts.iter().map(|cut| cut.bytes).filter(|&bytes| bytes <= most).max().unwrap_or(0) as f64)
        })?;
        let unserved = self.receivers.iter().filter(|r| r.budget(self.interval_ms) < MAX_HEADER).map(|r| r.share);
        self.outcome(kind.name(), 1, (stored_bytes, unserved.sum()), expected)
    }

    fn ladder(&self, pictures: &[Measured<'_>], codec: &str, rivals: &[&str], rungs: usize) -> Result<Outcome> {
        let best = |picture: &Measured<'_>, scale: Scale| -> Result<ladder::Ladder> {
            let candidates = encodes(picture, rivals, scale)?;
            Ok(ladder::best(&candidates, rungs, nothing(picture, scale)?, self.receivers, self.interval_ms))
        };
        let squared = |picture: &Measured<'_>| best(picture, Scale::SquaredError);
        let stored_bytes = mean(pictures, |picture| Ok(squared(picture)?.rungs.iter().sum::<usize>() as f64))?;
        let unserved = mean(pictures, |picture| Ok(squared(picture)?.unserved))?;
        let expected = |scale| mean(pictures, |picture| Ok(best(picture, scale)?.expected));
        self.outcome(codec, rungs, (stored_bytes, unserved), expected)
    }

    fn outcome(
        &self,
        codec: &str,
        encodes: usize,
        (stored_bytes, unserved): (f64, f64),
        expected: impl Fn(Scale) -> Result<f64>,
    ) -> Result<Outcome> {
        let db = |scale: Scale| Ok::<f64, anyhow::Error>(rounded(scale.db(expected(scale)?), 3));
        Ok(Outcome {
            interval_ms: self.interval_ms,
            codec: codec.to_owned(),
            encodes,
            stored_bytes: stored_bytes.round(),
            unserved: rounded(unserved, 4),
            expected_db: db(Scale::SquaredError)?,
            mean_db: db(Scale::Decibel)?,
        })
    }
}

fn encodes(picture: &Measured<'_>, decoders: &[&str], scale: Scale) -> Result<Vec<Encode>> {
    let mut all = Vec::new();
    for decoder in decoders {
        let rows = picture.get(decoder).with_context(|| format!("a picture was not measured with {decoder}"))?;
        all.extend(rows.iter().map(|row| Encode { bytes: row.bytes, distortion: scale.distortion(row.psnr_db) }));
    }
    Ok(all)
}

fn nothing(picture: &Measured<'_>, scale: Scale) -> Result<f64> {
    let rows = picture.get(MEAN_COLOUR_ROW).context("a picture's mean colour was not measured")?;
    Ok(scale.distortion(rows[0].psnr_db))
}

fn mean(pictures: &[Measured<'_>], of: impl Fn(&Measured<'_>) -> Result<f64>) -> Result<f64> {
    let sum: f64 = pictures.iter().map(of).sum::<Result<f64>>()?;
    Ok(sum / pictures.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(decoder: &str, bytes: usize, psnr_db: f64) -> Row {
        let (image, decoder) = ("a.png".to_owned(), decoder.to_owned());
        Row { image, decoder, bytes, bpp: 0.0, psnr_db, ..Row::default() }
    }

    #[test]
    fn one_stream_and_ladders_are_told_apart() {
        let receivers = [(0.0, 0.25), (80.0, 0.25), (800.0, 0.5)].map(|(kbps, share)| Receiver { kbps, share });
        let ours = ["linear", "deep"].map(|decoder| [measured(decoder, 400, 20.0), measured(decoder, 4000, 30.0)]);
        let mut rivals = vec![measured(MEAN_COLOUR_ROW, 0, 10.0)];
        for rival in LADDER_CODECS.iter().flat_map(|codec| codec.1) {
            rivals.extend([measured(rival, 400, 19.0), measured(rival, 4000, 30.0)]);
        }
        let all = outcomes(&ours.concat(), &rivals, &receivers).expect("all were measured");
        let find = |codec: &str, encodes| {
            all.iter().find(|o| o.interval_ms == 40.0 && o.codec == codec && o.encodes == encodes).expect("a line")
        };
        assert_eq!(find("deep", 1).stored_bytes, 4000.0);
        assert_eq!((find("deep", 1).unserved, find("deep", 1).mean_db), (0.25, 22.5));
        // One encode: the large one leaves half of the receivers with nothing, but is better in dB than the small one
        // for all.
        assert_eq!((find("JPEG", 1).unserved, find("JPEG", 1).mean_db), (0.25, 20.0));
        assert_eq!((find("AVIF", 3).stored_bytes, find("AVIF", 3).mean_db), (4400.0, 22.25));
        assert!((find("deep", 1).expected_db - 15.528).abs() < 1e-3, "{:?}", find("deep", 1));
    }
}
