//! A receiver whose rate rises or falls sixteenfold in the middle of a clip.

use anyhow::{Context, Result};
use nestcast_lab::rate_distortion::rounded;
use serde::{Deserialize, Serialize};

use super::{Clip, Embedded, Rates, Run, embedded::bytes_of_frames};

/// The difference in dB at which a receiver counts as level with one that always had the high rate.
const NEAR_DB: f64 = 1.5;

/// One clip by one scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Name of the clip.
    pub clip: String,
    /// Id of the scheme.
    pub scheme: String,
    /// The first frame after the rise, counted from 1, that is within 1.5 dB of the receiver that always had the high
    /// rate; `None` if no frame of the clip is.
    pub rise_frames: Option<usize>,
    /// The least PSNR after the fall minus that of the receiver that always had the low rate, in dB: negative where the
    /// receiver that fell is worse.
    pub fall_db: f64,
}

impl Step {
    /// Measures one scheme on one clip.
    ///
    /// # Errors
    /// If encoder or decoder fails.
    pub fn new(clip: &Clip, rates: &Rates, scheme: &dyn Embedded) -> Result<Self> {
        let ends = rates.receivers.first().zip(rates.receivers.last()).context("no rates")?;
        let (low, high) = (bytes_of_frames(clip, *ends.0), bytes_of_frames(clip, *ends.1));
        let at = clip.frames.len() / 2;
        let changed = |from: &[usize], to: &[usize]| [&from[..at], &to[at..]].concat();
        let (risen, fallen) = (changed(&low, &high), changed(&high, &low));
        let runs = scheme.watch(clip, &rates.receivers, &[low, high, risen, fallen], &mut |_, _| Ok(()))?;
        let [low, high, risen, fallen] = &runs[..] else { anyhow::bail!("a scheme gave not every run") };
        let difference = |run: &Run, other: &Run| -> Vec<f64> {
            let pairs = run.frames[at..].iter().zip(&other.frames[at..]);
            pairs.map(|(a, b)| a.luma_db - b.luma_db).collect()
        };
        let near = difference(risen, high).iter().position(|db| *db >= -NEAR_DB);
        Ok(Self {
            clip: clip.name.clone(),
            scheme: scheme.id().to_owned(),
            rise_frames: near.map(|frame| frame + 1),
            // Avoids -0.
            fall_db: rounded(difference(fallen, low).into_iter().fold(f64::INFINITY, f64::min), 2) + 0.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use nestcast_lab::video::Frame;

    use super::{
        super::{Screen, clip::tests::moving},
        *,
    };

    /// Gains 2 dB with every frame after a change, up to 40 dB at the high rate, and has 30 dB at the low one.
    struct Slow;

    impl Embedded for Slow {
        fn id(&self) -> &'static str {
            "slow"
        }

        fn watch(&self, _: &Clip, kbps: &[f64], frame_bytes: &[Vec<usize>], _: Screen<'_>) -> Result<Vec<Run>> {
            assert_eq!(kbps, Rates::from(24.0).receivers);
            let run = |frame_bytes: &Vec<usize>| {
                let mut luma_db: f64 = 28.0;
                let frame = |&bytes: &usize| {
                    luma_db = if bytes > 100 { (luma_db + 2.0).min(40.0) } else { 30.0 - 0.5 * (luma_db - 30.0) };
                    Frame { bytes, luma_db, ycbcr_db: luma_db }
                };
                Run { frames: frame_bytes.iter().map(frame).collect() }
            };
            Ok(frame_bytes.iter().map(run).collect())
        }
    }

    #[test]
    fn rises_and_falls_are_measured_beside_receivers_that_never_changed() {
        let clip = moving(16, 8, 40);
        let step = Step::new(&clip, &Rates::from(24.0), &Slow).expect("four runs");
        // 32, 34, ... 40 dB: the fifth is near enough.
        assert_eq!(step.rise_frames, Some(5));
        assert!(step.fall_db < -4.0 && step.fall_db > -6.0, "{step:?}");
        assert_eq!(step.scheme, "slow");
    }
}
