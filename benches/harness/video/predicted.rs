//! nestcast with prediction between frames: one stream, or one for each rendition. Every receiver gets the longest
//! prefix of each frame that fits.

use std::sync::Arc;

use anyhow::{Context, Result};
use nestcast_codec::{
    Bitrate, Picture, Population, Restoration, Switch, VideoDecoder, VideoModel, VideoRenditions, VideoSettings,
};
use nestcast_lab::video::Frame;
use nestcast_models::{Runtime, VideoPackage};

use super::{Clip, Embedded, Run, Scheme, Screen, embedded::bytes_of_frames, scheme::RENEWING_SCHEMES};

/// Threads of encoder and decoders; the results do not depend on them.
const THREAD_COUNT: usize = 2;

/// Predicts frames from earlier ones, in 1 to 3 renditions. A receiver gets the rendition of its rate. When it changes,
/// it first gets switching frames with all the bytes that its link has. All receivers are there from the first frame
/// on, and the encoder knows that nobody joins.
pub(super) struct Predicted(pub(super) usize);

impl Predicted {
    /// Returns the encoder for receivers of the rates `kbps` in kbit/s.
    pub(super) fn encoder(&self, clip: &Clip, kbps: &[f64], threads: usize) -> Result<VideoRenditions> {
        let settings = VideoSettings { threads, ..settings(clip, kbps) };
        Ok(VideoRenditions::new(&VideoModel::built_in(), settings, self.0)?.with_known_receivers(true))
    }

    /// Codes for receivers of the rates `kbps`. Returns what receivers show whose links carry `frame_bytes`, and whose
    /// decoders have a `network` or none.
    fn serve(
        &self,
        clip: &Clip,
        kbps: &[f64],
        frame_bytes: &[Vec<usize>],
        network: Option<&Arc<dyn Restoration>>,
        screen: Screen<'_>,
    ) -> Result<Vec<Run>> {
        let encoder = self.encoder(clip, kbps, THREAD_COUNT)?;
        Self::serve_by(encoder, clip, frame_bytes, network, screen)
    }

    /// As [`Self::serve`], by this encoder.
    fn serve_by(
        mut encoder: VideoRenditions,
        clip: &Clip,
        frame_bytes: &[Vec<usize>],
        network: Option<&Arc<dyn Restoration>>,
        screen: Screen<'_>,
    ) -> Result<Vec<Run>> {
        let renditions = encoder.rates();
        let decoder = || {
            let linear = VideoDecoder::new(VideoModel::built_in(), clip.size, THREAD_COUNT);
            match network {
                Some(network) => linear.with_restoration(Arc::clone(network)),
                None => linear,
            }
        };
        let receivers = frame_bytes.iter().map(|frame_bytes| Receiver {
            frame_bytes,
            // The bytes of frames are whole, rounded down.
            renditions: frame_bytes.iter().map(|bytes| renditions.serving(rate(clip, bytes + 1))).collect(),
            left: 0,
            switch: None,
            decoder: decoder(),
            run: Run { frames: Vec::with_capacity(clip.frames.len()) },
        });
        let mut receivers: Vec<Receiver<'_>> = receivers.collect();
        for (n, original) in clip.frames.iter().enumerate() {
            for receiver in receivers.iter_mut().filter(|receiver| receiver.changes(n) && receiver.switch.is_none()) {
                receiver.switch = Some(encoder.switch_from(receiver.renditions[n - 1])?);
            }
            let frames = encoder.encode(original)?;
            for (index, receiver) in receivers.iter_mut().enumerate() {
                let (at, most) = (receiver.renditions[n], receiver.allowance(n));
                let switching = receiver.switch.as_mut().and_then(|switch| encoder.switch_to(at, switch, most));
                receiver.switch = receiver.switch.take().filter(|switch| !switch.arrived());
                let frame = switching.as_ref().unwrap_or(&frames[at]);
                screen(index, &receiver.take(n, &frame.bytes, frame.base, original)?)?;
            }
        }
        Ok(receivers.into_iter().map(|receiver| receiver.run).collect())
    }
}

/// Streams in which every frame renews a part of the picture, as in a stored video, or in a broadcast that somebody
/// joins every few seconds. It has this many renditions, 1 or 3.
pub(super) struct Renewing(pub(super) usize);

impl Scheme for Renewing {
    fn id(&self) -> &'static str {
        RENEWING_SCHEMES[usize::from(self.0 > 1)]
    }

    fn run(&self, clip: &Clip, kbps: &[f64]) -> Result<Vec<Run>> {
        self.show(clip, kbps, &mut |_, _| Ok(()))
    }

    fn show(&self, clip: &Clip, kbps: &[f64], screen: Screen<'_>) -> Result<Vec<Run>> {
        let encoder = Predicted(self.0).encoder(clip, kbps, THREAD_COUNT)?.with_known_receivers(false);
        Predicted::serve_by(encoder, clip, &frames_at(clip, kbps), None, screen)
    }
}

/// Serves the same streams to receivers with the deep decoder.
pub(super) struct Deep {
    /// Renditions, 1 to 3.
    pub(super) count: usize,
    pub(super) network: Arc<dyn Restoration>,
}

/// Loads the network of the deep decoder.
///
/// # Errors
/// If there is no ONNX Runtime; `cargo xtask` sets it up.
pub fn network() -> Result<Arc<dyn Restoration>> {
    let runtime = Runtime::open().context("run this through `cargo xtask measure`, which fetches ONNX Runtime")?;
    Ok(Arc::new(VideoPackage::built_in()?.deep(&runtime, THREAD_COUNT)?))
}

impl Scheme for Deep {
    fn id(&self) -> &'static str {
        ["nestcast-deep", "nestcast-2-deep", "nestcast-3-deep"][self.count - 1]
    }

    fn run(&self, clip: &Clip, kbps: &[f64]) -> Result<Vec<Run>> {
        self.show(clip, kbps, &mut |_, _| Ok(()))
    }

    fn show(&self, clip: &Clip, kbps: &[f64], screen: Screen<'_>) -> Result<Vec<Run>> {
        Predicted(self.count).serve(clip, kbps, &frames_at(clip, kbps), Some(&self.network), screen)
    }
}

impl Embedded for Predicted {
    fn id(&self) -> &'static str {
        ["nestcast", "nestcast-2", "nestcast-3"][self.0 - 1]
    }

    fn has_renditions(&self) -> bool {
        self.0 > 1
    }

    fn watch(&self, clip: &Clip, kbps: &[f64], frame_bytes: &[Vec<usize>], screen: Screen<'_>) -> Result<Vec<Run>> {
        self.serve(clip, kbps, frame_bytes, None, screen)
    }
}

/// Returns the bytes of each frame at each of these rates.
fn frames_at(clip: &Clip, kbps: &[f64]) -> Vec<Vec<usize>> {
    kbps.iter().map(|&kbps| bytes_of_frames(clip, kbps)).collect()
}

fn settings(clip: &Clip, kbps: &[f64]) -> VideoSettings {
    let population = Population::new(kbps.iter().map(|kbps| (Bitrate::rounded(1000.0 * kbps), 1.0)));
    VideoSettings { size: clip.size, rate: clip.rate, population, threads: THREAD_COUNT }
}

/// Returns the bitrate of frames of `bytes`.
fn rate(clip: &Clip, bytes: usize) -> Bitrate {
    Bitrate::rounded(8.0 * bytes as f64 * clip.rate.per_second())
}

/// One receiver of the stream.
struct Receiver<'a> {
    /// The receiver's rendition, by frame.
    renditions: Vec<usize>,
    /// Bytes that its link carries, by frame.
    frame_bytes: &'a [usize],
    /// Bytes that its link has left; below zero if bases needed more than there was.
    left: i64,
    /// The change to another rendition that is under way.
    switch: Option<Switch>,
    decoder: VideoDecoder,
    run: Run,
}

impl Receiver<'_> {
    /// Returns whether the rendition differs from the one before.
    fn changes(&self, n: usize) -> bool {
        n > 0 && self.renditions[n - 1] != self.renditions[n]
    }

    /// Returns the bytes that its link has for a frame.
    fn allowance(&self, n: usize) -> usize {
        usize::try_from(self.left + i64::try_from(self.frame_bytes[n]).unwrap_or(i64::MAX)).unwrap_or(0)
    }

    /// Takes the bytes of a frame that the link carries, and at least its base. Later frames save the excess. Returns the
    /// frame that is shown.
    fn take(&mut self, n: usize, bytes: &[u8], base: usize, original: &Picture) -> Result<Picture> {
        let count = self.allowance(n).max(base).min(bytes.len());
        self.left += i64::try_from(self.frame_bytes[n])?;
        // Bytes that are left are lost: a frame has only its own time.
        self.left = (self.left - i64::try_from(count)?).min(0);
        self.decoder.decode(&bytes[..count])?;
        let mut shown = Picture::zero(original.size(), original.format());
        self.decoder.render_into(&mut shown)?;
        self.run.frames.push(Frame::new(count, original, &shown));
        Ok(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::clip::tests::moving, *};

    #[test]
    fn who_rises_and_falls_goes_on_in_the_loop_of_its_rate() {
        let clip = moving(48, 32, 30);
        let (low, high) = (vec![100; 30], vec![1600; 30]);
        let (risen, fallen) = ([&low[..15], &high[15..]].concat(), [&high[..15], &low[15..]].concat());
        let kbps = [24.0, 48.0, 96.0, 192.0, 384.0];
        let runs =
            Predicted(2).watch(&clip, &kbps, &[low, high, risen, fallen], &mut |_, _| Ok(())).expect("four runs");
        let luma = |run: usize, n: usize| runs[run].frames[n].luma_db;
        assert_eq!((luma(2, 14), luma(3, 14)), (luma(0, 14), luma(1, 14)));
        assert!(luma(2, 29) > luma(2, 14) && luma(3, 29) < luma(3, 14));
        // After the switching frames they have the frames of their rate's rendition.
        let bytes = |run: usize, n: usize| runs[run].frames[n].bytes;
        assert!((18..30).all(|n| bytes(2, n) == bytes(1, n) && bytes(3, n) == bytes(0, n)));
        // They need no more than the link has.
        assert!(bytes(3, 15) <= 100 && bytes(2, 15) <= 1600, "{} and {}", bytes(3, 15), bytes(2, 15));
    }

    #[test]
    fn the_deep_decoder_shows_other_pictures_of_the_same_bytes() {
        let Ok(network) = network() else { return println!("skipped: no ONNX Runtime") };
        let clip = moving(48, 32, 30);
        let kbps = [24.0, 96.0];
        let linear = <dyn Embedded>::at_rates(&Predicted(1), &clip, &kbps, &kbps).expect("two runs");
        let deep = Deep { count: 1, network }.run(&clip, &kbps).expect("two runs");
        for (linear, deep) in linear.iter().zip(&deep) {
            let both = || linear.frames.iter().zip(&deep.frames);
            assert!(both().all(|(linear, deep)| linear.bytes == deep.bytes));
            assert!(both().any(|(linear, deep)| linear.luma_db != deep.luma_db));
        }
    }

    #[test]
    fn a_base_that_is_too_large_is_saved_at_the_frames_behind_it() {
        let clip = moving(32, 16, 30);
        let frame_bytes = vec![100; 30];
        let decoder = VideoDecoder::new(VideoModel::built_in(), clip.size, 1);
        let mut receiver = Receiver {
            renditions: vec![0; 30],
            frame_bytes: &frame_bytes,
            left: 0,
            switch: None,
            decoder,
            run: Run { frames: Vec::new() },
        };
        let settings = settings(&clip, &[12.0, 24.0, 48.0]);
        let mut encoder = VideoRenditions::new(&VideoModel::built_in(), settings, 1).expect("one loop");
        let bases = [250, 10, 10, 10, 10];
        for (n, base) in bases.into_iter().enumerate() {
            let frames = encoder.encode(&clip.frames[n]).expect("encodes");
            let bytes = [&frames[0].bytes[..], &[0; 300]].concat();
            receiver.take(n, &bytes, base, &clip.frames[n]).expect("decodes");
        }
        let taken: Vec<usize> = receiver.run.frames.iter().map(|frame| frame.bytes).collect();
        // The base exceeds the budget by 150, of which later frames save 90 and 60.
        assert_eq!(taken, [250, 10, 40, 100, 100]);
    }
}
