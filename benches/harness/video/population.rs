//! The population figure: one stream for all receivers, against ladders of 1, 3 and 5 renditions.
//!
//! Receivers have the bandwidths of the committed table, which is derived from public traces, scaled so that the
//! receiver in the middle has the middle rate of the clip. Those below the lowest measured rate are left out; those
//! above the highest get what it gives. Every open choice favours the ladders: an exact search chooses the renditions
//! with the receivers known, out of two an octave. A receiver for whom no rendition is small enough sees the clip's
//! mean colour.

use anyhow::{Context, Result};
use nestcast_codec::Picture;
use nestcast_lab::{rate_distortion::rounded, video::Frame};
use serde::{Deserialize, Serialize};

use super::{Clip, Rates, Row, Run, scheme::EMBEDDED_SCHEMES};
use crate::{
    ladder::{self, Encode},
    receivers::Receiver,
};

/// Numbers of renditions.
const RUNG_COUNTS: [usize; 3] = [1, 3, 5];
/// Id of the row for the clip's mean colour.
pub const MEAN_COLOUR: &str = "mean-colour";
/// Id of the rows of the ladders' renditions.
const RENDITION_ID: &str = "x264";
/// The time over which bytes are compared with bandwidths.
const SECOND_MS: f64 = 1000.0;
/// Bytes a second in a kbit/s.
const BYTES_PER_KBIT: f64 = 125.0;

/// The result of one way to serve everybody.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Name of the clip.
    pub clip: String,
    /// Id of the scheme.
    pub scheme: String,
    /// The number of times that the clip is encoded.
    pub encodes: usize,
    /// Mean over the receivers of the mean PSNR of luma, in dB.
    pub mean_db: f64,
    /// Fraction of the receivers for whom no rendition is small enough.
    pub unserved: f64,
}

/// Returns the row of a clip of which nothing is received: every frame has its mean colour.
///
/// # Errors
/// If the frames have several shapes.
pub fn mean_colour(clip: &Clip) -> Result<Row> {
    let blank = clip.frames.iter().map(flat).collect::<Result<Vec<_>>>()?;
    let frames = clip.frames.iter().zip(&blank).map(|(original, blank)| Frame::new(0, original, blank));
    Row::new(clip, MEAN_COLOUR, f64::MIN_POSITIVE, &Run { frames: frames.collect() })
}

/// Returns a frame whose planes have their mean everywhere.
fn flat(frame: &Picture) -> Result<Picture> {
    let (size, format) = (frame.size(), frame.format());
    let mut samples = Vec::with_capacity(frame.samples().len());
    for plane in 0..format.planes() {
        let [bytes, rows] = format.plane(size, plane);
        let of = &frame.samples()[samples.len()..][..bytes * rows];
        let sum: usize = of.iter().map(|&sample| usize::from(sample)).sum();
        samples.resize(samples.len() + of.len(), u8::try_from((sum + of.len() / 2) / of.len())?);
    }
    Ok(Picture::new(size, format, samples)?)
}

/// Returns the outcomes of one clip. They come from the rows of its receivers and of those in between, and from its
/// candidates for ladders.
///
/// # Errors
/// If rows are missing.
pub fn outcomes(clip: &str, rows: &[Row], candidates: &[Row], receivers: &[Receiver]) -> Result<Vec<Outcome>> {
    let receivers = scaled(receivers, &Rates::of(clip)?);
    let rows_of = |scheme: &str| rows.iter().filter(|row| row.clip == clip && row.scheme == scheme).collect::<Vec<_>>();
    let outcome = |scheme: &str, encodes, mean_db, unserved: f64| Outcome {
        clip: clip.to_owned(),
        scheme: scheme.to_owned(),
        encodes,
        mean_db: rounded(mean_db, 3),
        // Rounding may put a sum of shares a little below 0.
        unserved: rounded(unserved.max(0.0), 4),
    };
    let mut outcomes = Vec::new();
    for scheme in EMBEDDED_SCHEMES {
        let all =
            rows_of(scheme).into_iter().chain(candidates.iter().filter(|row| row.clip == clip && row.scheme == scheme));
        let mut curve: Vec<(f64, f64)> = all.map(|row| (row.kbps, row.luma_db)).collect();
        curve.sort_by(|a, b| a.0.total_cmp(&b.0));
        if curve.is_empty() {
            continue;
        }
        let mean: f64 = receivers.iter().map(|receiver| receiver.share * between(&curve, receiver.kbps)).sum();
        outcomes.push(outcome(scheme, 1, mean, 0.0));
    }
    let candidates: Vec<&Row> = candidates.iter().filter(|row| row.clip == clip).collect();
    let nothing = candidates.iter().find(|row| row.scheme == MEAN_COLOUR).context("no mean colour")?.luma_db;
    let renditions: Vec<Encode> =
        candidates.iter().filter(|row| row.scheme == RENDITION_ID).map(|row| rendition(row)).collect();
    for rungs in RUNG_COUNTS {
        let ladder = ladder::best(&renditions, rungs, -nothing, &receivers, SECOND_MS);
        outcomes.push(outcome("x264-ladder", rungs, -ladder.expected, ladder.unserved));
    }
    Ok(outcomes)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and saturates")]
fn rendition(row: &Row) -> Encode {
    Encode { bytes: (row.link_kbps() * BYTES_PER_KBIT) as usize, distortion: -row.luma_db }
}

/// Returns the receivers of a clip: the measured ones, with their bandwidth scaled to the clip's rates.
fn scaled(receivers: &[Receiver], rates: &Rates) -> Vec<Receiver> {
    let mut below = 0.0;
    let middle = receivers.iter().find(|receiver| {
        below += receiver.share;
        below >= 0.5
    });
    let scale = middle.map_or(1.0, |receiver| rates.middle() / receiver.kbps);
    let all = receivers.iter().map(|receiver| Receiver { kbps: receiver.kbps * scale, ..*receiver });
    let mut served: Vec<Receiver> = all.filter(|receiver| receiver.kbps >= rates.receivers[0]).collect();
    let share: f64 = served.iter().map(|receiver| receiver.share).sum();
    served.iter_mut().for_each(|receiver| receiver.share /= share);
    served
}

/// Interpolates a curve at a rate, linearly over the rate's logarithm, and clamps at its ends.
fn between(curve: &[(f64, f64)], kbps: f64) -> f64 {
    let above = curve.partition_point(|point| point.0 <= kbps);
    match (above.checked_sub(1).and_then(|below| curve.get(below)), curve.get(above)) {
        (Some(low), Some(high)) => {
            let part = (kbps / low.0).ln() / (high.0 / low.0).ln();
            low.1 + part * (high.1 - low.1)
        }
        (Some(end), None) | (None, Some(end)) => end.1,
        (None, None) => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::clip::tests::moving, *};

    fn row(scheme: &str, kbps: f64, luma_db: f64) -> Row {
        let clip = moving(16, 8, 30);
        let frames = vec![Frame { bytes: 0, luma_db, ycbcr_db: luma_db }; 30];
        let row = Row::new(&clip, scheme, kbps, &Run { frames }).expect("enough frames");
        Row { clip: "foreman_qcif_150f".to_owned(), ..row }
    }

    #[test]
    fn one_stream_fills_the_gaps_of_a_ladder() {
        let rates = Rates::of("foreman_qcif_150f").expect("in the table");
        let at = |scheme: &'static str, rates: &[f64]| -> Vec<Row> {
            rates.iter().map(|&kbps| row(scheme, kbps, 20.0 + 4.0 * (kbps / 75.0).log2())).collect()
        };
        let mut candidates = at("x264", &rates.renditions);
        candidates.push(row(MEAN_COLOUR, 1.0, 10.0));
        // A fifth each at 75, 150, ... 1200 kbit/s and above, after scaling by three.
        let receivers = [25.0, 50.0, 100.0, 200.0, 800.0].map(|kbps| Receiver { kbps, share: 0.2 });
        let all = outcomes("foreman_qcif_150f", &at("intra", &rates.receivers), &candidates, &receivers).expect("rows");
        let db: Vec<(usize, f64)> = all.iter().map(|outcome| (outcome.encodes, outcome.mean_db)).collect();
        assert_eq!(db[0], (1, (20.0 + 24.0 + 28.0 + 32.0 + 36.0) / 5.0));
        // One rendition: 24 dB for four and nothing for one is better than 20 dB for all, as is 28 dB for three.
        assert_eq!(db[1], (1, 21.2));
        assert_eq!(db[3], (5, 28.0));
        assert!(db[2].1 > 26.0 && db[2].1 < 28.0, "{db:?}");
        assert!((all[1].unserved - 0.2).abs() < 1e-9 || (all[1].unserved - 0.4).abs() < 1e-9, "{all:?}");
    }

    #[test]
    fn receivers_that_were_not_measured_are_left_out() {
        let rates = Rates::of("foreman_qcif_150f").expect("in the table");
        let given = [(1.0, 0.25), (100.0, 0.5), (9999.0, 0.25)].map(|(kbps, share)| Receiver { kbps, share });
        let left = scaled(&given, &rates);
        assert_eq!(left.iter().map(|receiver| receiver.kbps).collect::<Vec<_>>(), [300.0, 29_997.0]);
        assert!((left[0].share - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(between(&[(100.0, 30.0), (400.0, 34.0)], 200.0), 32.0);
        assert_eq!([50.0, 500.0].map(|kbps| between(&[(100.0, 30.0), (400.0, 34.0)], kbps)), [30.0, 34.0]);
    }

    #[test]
    fn a_mean_colour_is_worse_than_any_stream() {
        let row = mean_colour(&moving(48, 32, 30)).expect("one shape");
        assert!(row.luma_db > 8.0 && row.luma_db < 25.0, "{row:?}");
    }
}
