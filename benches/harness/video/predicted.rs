//! nestcast with prediction between frames: one stream, or one of each loop, of which every receiver has the longest prefix
//! of each frame.

use anyhow::Result;
use nestcast_codec::{FrameRate, Picture, Population, VideoDecoder, VideoLoops, VideoModel, VideoSettings};
use nestcast_lab::video::Frame;

use super::{Clip, Embedded, Run};

/// Threads of encoder and decoders; what they give does not depend on it.
const THREADS: usize = 2;

/// Frames predicted from those before, in so many loops, 1 to 3.
pub(super) struct Predicted(pub(super) usize);

impl Embedded for Predicted {
    fn id(&self) -> &'static str {
        ["nestcast", "nestcast-2", "nestcast-3"][self.0 - 1]
    }

    fn watch(&self, clip: &Clip, kbps: &[f64], frame_bytes: &[Vec<usize>]) -> Result<Vec<Run>> {
        let model = VideoModel::built_in();
        let mut encoder = VideoLoops::new(&model, settings(clip, kbps), self.0)?;
        let loops = encoder.rates();
        let receivers = frame_bytes.iter().map(|frame_bytes| Receiver {
            frame_bytes,
            // Bytes of frames are whole, rounded down.
            of: loops.serving(rate(clip, frame_bytes.iter().min().map_or(0, |bytes| bytes + 1))),
            left: 0,
            decoder: VideoDecoder::new(model.clone(), clip.size, THREADS),
            run: Run { frames: Vec::with_capacity(clip.frames.len()) },
        });
        let mut receivers: Vec<Receiver<'_>> = receivers.collect();
        for (n, original) in clip.frames.iter().enumerate() {
            let frames = encoder.encode(original)?;
            for receiver in &mut receivers {
                let frame = &frames[receiver.of];
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

/// Bits a second of so many bytes a frame.
fn rate(clip: &Clip, bytes: usize) -> f64 {
    8.0 * bytes as f64 * clip.frames_per_second()
}

/// One receiver of the stream.
struct Receiver<'a> {
    /// The loop that it is in.
    of: usize,
    /// What its link carries, by frame.
    frame_bytes: &'a [usize],
    /// Bytes that its link has left; below zero where bases took more than there was.
    left: i64,
    decoder: VideoDecoder,
    run: Run,
}

impl Receiver<'_> {
    /// Takes of a frame what the link carries, but its base in any case, which is saved at the frames behind it.
    fn take(&mut self, n: usize, bytes: &[u8], base: usize, original: &Picture) -> Result<()> {
        self.left += i64::try_from(self.frame_bytes[n])?;
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
        let frame_bytes = vec![100; 30];
        let decoder = VideoDecoder::new(VideoModel::built_in(), clip.size, 1);
        let mut receiver =
            Receiver { of: 0, frame_bytes: &frame_bytes, left: 0, decoder, run: Run { frames: Vec::new() } };
        let settings = settings(&clip, &[12.0, 24.0, 48.0]);
        let mut encoder = VideoLoops::new(&VideoModel::built_in(), settings, 1).expect("one loop");
        let bases = [250, 10, 10, 10, 10];
        for (n, base) in bases.into_iter().enumerate() {
            let frames = encoder.encode(&clip.frames[n]).expect("encodes");
            let bytes = [&frames[0].bytes[..], &[0; 300]].concat();
            receiver.take(n, &bytes, base, &clip.frames[n]).expect("decodes");
        }
        let taken: Vec<usize> = receiver.run.frames.iter().map(|frame| frame.bytes).collect();
        // 150 over, of which 90 and 60 are saved.
        assert_eq!(taken, [250, 10, 40, 100, 100]);
    }
}
