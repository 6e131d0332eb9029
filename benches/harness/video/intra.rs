//! nestcast with every frame coded alone: one stream a frame, cut to the frame's share of every rate.

use anyhow::Result;
use nestcast_codec::{Codec, Picture};

use super::{Clip, Frame, Run, Scheme};

/// Every frame alone, by the linear transforms.
pub(super) struct Intra;

impl Scheme for Intra {
    fn id(&self) -> &'static str {
        "intra"
    }

    fn run(&self, clip: &Clip, kbps: &[f64]) -> Result<Vec<Run>> {
        let codec = Codec::photo();
        let shares: Vec<Vec<usize>> = kbps.iter().map(|&kbps| shares(clip, kbps)).collect();
        let mut runs = vec![Run { frames: Vec::with_capacity(clip.frames.len()) }; kbps.len()];
        let mut decoder = codec.decoder();
        for (n, frame) in clip.frames.iter().enumerate() {
            let most = shares.iter().map(|shares| shares[n]).max().unwrap_or(0);
            let stream = codec.encoder().with_max_bytes(most).encode(frame)?;
            let mut decoded = Picture::zero(frame.size(), frame.format());
            for (run, shares) in runs.iter_mut().zip(&shares) {
                let prefix = stream.prefix(shares[n]);
                decoder.reset();
                decoder.push(&prefix)?;
                decoder.render_into(&mut decoded)?;
                run.frames.push(Frame::new(prefix.len(), frame, &decoded)?);
            }
        }
        Ok(runs)
    }
}

/// Whole bytes for every frame at a rate: what is due by its end and was not given before.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and saturates")]
pub(super) fn shares(clip: &Clip, kbps: f64) -> Vec<usize> {
    let due = |frames: usize| (clip.frame_bytes(kbps) * frames as f64 + 1e-6) as usize;
    (0..clip.frames.len()).map(|n| due(n + 1) - due(n)).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::clip::tests::moving, *};

    #[test]
    fn a_rate_is_used_to_the_byte() {
        let clip = moving(48, 32, 30);
        let shares = shares(&clip, 75.1);
        assert_eq!(shares.iter().sum::<usize>(), 9387);
        assert!(shares.iter().all(|&bytes| bytes == 312 || bytes == 313), "{shares:?}");
    }

    #[test]
    fn one_stream_gives_every_rate() {
        let clip = moving(48, 32, 30);
        let runs = Intra.run(&clip, &[24.0, 96.0]).expect("codes");
        assert_eq!(runs[0].frames.iter().map(|frame| frame.bytes).collect::<Vec<_>>(), [100; 30]);
        assert!(runs[0].frames.iter().zip(&runs[1].frames).all(|(low, high)| low.luma_db < high.luma_db));
    }
}
