//! nestcast with prediction between frames: one stream, of which every receiver has the longest prefix of each frame.

use anyhow::Result;
use nestcast_codec::{FrameRate, Picture, Population, VideoDecoder, VideoEncoder, VideoModel, VideoSettings};
use nestcast_lab::video::Frame;

use super::{Clip, Embedded, Run};

/// Threads of encoder and decoders; what they give does not depend on it.
const THREADS: usize = 2;

/// Frames predicted from those before.
pub(super) struct Predicted;

impl Embedded for Predicted {
    fn id(&self) -> &'static str {
        "nestcast"
    }

    fn watch(&self, clip: &Clip, kbps: &[f64], shares: &[Vec<usize>]) -> Result<Vec<Run>> {
        let model = VideoModel::built_in();
        let mut encoder = VideoEncoder::new(model.clone(), settings(clip, kbps));
        let receivers = shares.iter().map(|shares| Receiver {
            shares,
            left: 0,
            decoder: VideoDecoder::new(model.clone(), clip.size, THREADS),
            run: Run { frames: Vec::with_capacity(clip.frames.len()) },
        });
        let mut receivers: Vec<Receiver<'_>> = receivers.collect();
        for (n, original) in clip.frames.iter().enumerate() {
            let frame = encoder.encode(original)?;
            for receiver in &mut receivers {
                receiver.take(n, &frame.bytes, frame.base, original)?;
            }
        }
        Ok(receivers.into_iter().map(|receiver| receiver.run).collect())
    }
}

fn settings(clip: &Clip, kbps: &[f64]) -> VideoSettings {
    let (frames, seconds) = clip.rate;
    let population = Population::new(kbps.iter().map(|kbps| (1000.0 * kbps, 1.0)));
    VideoSettings { size: clip.size, rate: FrameRate { frames, seconds }, population, threads: THREADS }
}

/// One receiver of the stream.
struct Receiver<'a> {
    /// What its link carries, by frame.
    shares: &'a [usize],
    /// Bytes that its link has left; below zero where bases took more than there was.
    left: i64,
    decoder: VideoDecoder,
    run: Run,
}

impl Receiver<'_> {
    /// Takes of a frame what the link carries, but its base in any case, which is saved at the frames behind it.
    fn take(&mut self, n: usize, bytes: &[u8], base: usize, original: &Picture) -> Result<()> {
        self.left += i64::try_from(self.shares[n])?;
        let count = usize::try_from(self.left).unwrap_or(0).max(base).min(bytes.len());
        // What is left over is not kept: a frame has its own time and no more.
        self.left = (self.left - i64::try_from(count)?).min(0);
        self.decoder.decode(&bytes[..count])?;
        let mut shown = Picture::zero(original.size(), original.format());
        self.decoder.render_into(&mut shown)?;
        self.run.frames.push(Frame::new(count, original, &shown));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{super::clip::tests::moving, *};

    #[test]
    fn a_base_that_is_too_large_is_saved_at_the_frames_behind_it() {
        let clip = moving(32, 16, 30);
        let shares = vec![100; 30];
        let decoder = VideoDecoder::new(VideoModel::built_in(), clip.size, 1);
        let mut receiver = Receiver { shares: &shares, left: 0, decoder, run: Run { frames: Vec::new() } };
        let mut encoder = VideoEncoder::new(VideoModel::built_in(), settings(&clip, &[12.0, 24.0, 48.0]));
        let bases = [250, 10, 10, 10, 10];
        for (n, base) in bases.into_iter().enumerate() {
            let frame = encoder.encode(&clip.frames[n]).expect("encodes");
            let bytes = [&frame.bytes[..], &[0; 300]].concat();
            receiver.take(n, &bytes, base, &clip.frames[n]).expect("decodes");
        }
        let taken: Vec<usize> = receiver.run.frames.iter().map(|frame| frame.bytes).collect();
        // 150 over, of which 90 and 60 are saved.
        assert_eq!(taken, [250, 10, 40, 100, 100]);
    }
}
