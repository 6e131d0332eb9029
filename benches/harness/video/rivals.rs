//! Encoders of ffmpeg with one frame of latency: x264, libvpx, libaom, SVT-AV1.
//!
//! | rival | encoder | setting |
//! |---|---|---|
//! | `x264` | x264, preset medium | zerolatency, VBV of 1.5 frames, a keyframe every 60 frames |
//! | `x264-once` | the same | no keyframe after the first, unless x264 finds a new scene |
//! | `x264-psnr`, `x264-psnr-once` | the same two | tuned for PSNR |
//! | `x264-refresh` | the same | tuned for PSNR, columns of intra blocks that roll instead of keyframes |
//! | `x264-free` | the same | tuned for PSNR, without VBV: a keyframe takes many frame times |
//! | `vp9` | libvpx, realtime, speed 5 | constant rate with a buffer of 1 s, as in calls |
//! | `aom` | libaom (AV1), realtime, speed 7 | the same |
//! | `aom-tight` | the same | a buffer of 1.5 frames, keyframes of at most 1.5 mean frames |
//! | `svt-av1` | SVT-AV1, preset 8 | low delay, constant rate with a buffer of 1 s |
//!
//! x264 with 1.5 frames has nestcast's latency. `x264-free`, `vp9`, `aom` and `svt-av1` may take longer, and so may
//! `aom-tight`, which keeps to its buffer only in the mean; the tables show the largest frame of each run. SVT-AV1 1.4
//! itself calls its low delay unfinished. Each uses one thread. Only the bytes of coded frames count, without x264's
//! notes on its own settings (SEI) and without containers.

use std::path::Path;

use anyhow::{Context, Result};
use nestcast_codec::{Bitrate, Picture};
use nestcast_lab::{
    ffmpeg::Ffmpeg,
    x264::{self, KEYFRAME_INTERVAL, WITHOUT_NOTES},
};

use super::{Clip, Run, Scheme, Screen, clip::pictures};

/// An encoder with its setting.
#[derive(Clone, Debug)]
pub(super) struct Rival {
    id: &'static str,
    muxer: &'static str,
    setting: Setting,
    ffmpeg: Ffmpeg,
}

#[derive(Clone, Copy, Debug)]
enum Setting {
    X264 { tune: &'static str, vbv: bool, intra: Intra },
    Vp9,
    Aom { tight: bool },
    SvtAv1,
}

/// What x264 codes alone after the first frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Intra {
    /// A frame after every [`KEYFRAME_INTERVAL`].
    Keyframes,
    /// Columns of blocks that roll over the picture as often.
    Refresh,
    Nothing,
}

/// An interval that no clip reaches.
const NO_KEYFRAME: usize = 100_000;

/// The buffer of `aom-tight`, in frames.
const TIGHT_FRAMES: f64 = 1.5;

impl Rival {
    /// Returns the x264 that the goals name, which also codes the ladder's renditions.
    pub(super) fn x264(ffmpeg: &Ffmpeg) -> Self {
        let intra = Intra::Keyframes;
        Self::new("x264", "h264", Setting::X264 { tune: "zerolatency", vbv: true, intra }, ffmpeg)
    }

    /// Returns all of them, in the order of tables and plots.
    pub(super) fn all(ffmpeg: &Ffmpeg) -> Vec<Self> {
        let x264 = |id, tune, vbv, intra| Self::new(id, "h264", Setting::X264 { tune, vbv, intra }, ffmpeg);
        let tuned = "psnr,zerolatency";
        vec![
            Self::x264(ffmpeg),
            x264("x264-once", "zerolatency", true, Intra::Nothing),
            x264("x264-psnr", tuned, true, Intra::Keyframes),
            x264("x264-psnr-once", tuned, true, Intra::Nothing),
            x264("x264-refresh", tuned, true, Intra::Refresh),
            x264("x264-free", tuned, false, Intra::Keyframes),
            Self::new("vp9", "ivf", Setting::Vp9, ffmpeg),
            Self::new("aom", "ivf", Setting::Aom { tight: false }, ffmpeg),
            Self::new("aom-tight", "ivf", Setting::Aom { tight: true }, ffmpeg),
            Self::new("svt-av1", "ivf", Setting::SvtAv1, ffmpeg),
        ]
    }

    fn new(id: &'static str, muxer: &'static str, setting: Setting, ffmpeg: &Ffmpeg) -> Self {
        Self { id, muxer, setting, ffmpeg: ffmpeg.clone() }
    }

    /// Returns the short name.
    pub(super) const fn name(&self) -> &'static str {
        self.id
    }

    /// Returns everything except the clip that a run depends on.
    pub(super) fn settings(&self, clip: &Clip, kbps: f64) -> String {
        format!("{} {}", self.ffmpeg.version(), self.arguments(clip, kbps).join(" "))
    }

    /// Returns the encoder's arguments.
    fn arguments(&self, clip: &Clip, kbps: f64) -> Vec<String> {
        let rate = (kbps * 1000.0).round();
        let words = match self.setting {
            Setting::X264 { tune, vbv, intra } => {
                let x264 = x264::arguments(tune, Bitrate::rounded(kbps * 1000.0), vbv.then_some(clip.rate));
                let refresh = if intra == Intra::Refresh { "-intra-refresh 1" } else { "" };
                format!("{} {refresh} {}", x264.join(" "), WITHOUT_NOTES.join(" "))
            }
            Setting::Vp9 => format!(
                "-c:v libvpx-vp9 -deadline realtime -cpu-used 5 -lag-in-frames 0 -auto-alt-ref 0 \
                 -b:v {rate} -minrate {rate} -maxrate {rate} -bufsize {rate}"
            ),
            Setting::Aom { tight } => {
                let buffer = if tight { (TIGHT_FRAMES * rate / clip.rate.per_second()).round() } else { rate };
                let keyframes = if tight { "-aom-params max-intra-rate=150" } else { "" };
                format!(
                    "-c:v libaom-av1 -usage realtime -cpu-used 7 -qmin 2 -lag-in-frames 0 -row-mt 0 \
                     -b:v {rate} -minrate {rate} -maxrate {rate} -bufsize {buffer} {keyframes}"
                )
            }
            Setting::SvtAv1 => {
                format!("-c:v libsvtav1 -preset 8 -b:v {rate} -bufsize {rate} -svtav1-params pred-struct=1:rc=2:lp=1")
            }
        };
        let is_once = matches!(self.setting, Setting::X264 { intra: Intra::Nothing, .. });
        let keyframes = if is_once { NO_KEYFRAME } else { KEYFRAME_INTERVAL }.to_string();
        let common = ["-g", &keyframes, "-threads", "1"];
        words.split_whitespace().chain(common).map(str::to_owned).collect()
    }

    /// Codes the raw samples in `raw` at one rate, into the file `coded`.
    pub(super) fn encode(&self, clip: &Clip, raw: &Path, coded: &Path, kbps: f64) -> Result<()> {
        let mut words = input(clip);
        words.extend([raw.display().to_string()]);
        words.extend(self.arguments(clip, kbps));
        words.extend(["-f", self.muxer].map(str::to_owned));
        words.push(coded.display().to_string());
        self.ffmpeg.run(words).map(|_| ())
    }

    /// Decodes a file of [`Self::encode`], and compares it with a clip of the same size. `screen` gets each frame.
    fn decode(&self, clip: &Clip, coded: &Path, screen: impl FnMut(&Picture) -> Result<()>) -> Result<Run> {
        let format = clip.frames[0].format();
        let decoded = pictures(clip.size, format, &self.ffmpeg.frames(coded)?)?;
        decoded.iter().try_for_each(screen)?;
        Run::new(clip, &self.sizes(coded)?, &decoded)
    }

    /// Returns the bytes of each coded frame of a file, without its container.
    pub(super) fn sizes(&self, coded: &Path) -> Result<Vec<usize>> {
        Ok(self.ffmpeg.packets(coded)?.into_iter().map(|(size, _)| size).collect())
    }
}

/// Returns ffmpeg's arguments for raw samples; their file's name follows.
pub(super) fn input(clip: &Clip) -> Vec<String> {
    let (width, height) = (clip.size.width(), clip.size.height());
    let [frames, seconds] = [clip.rate.frames(), clip.rate.seconds()];
    let text = format!("-f rawvideo -pix_fmt yuv420p -video_size {width}x{height} -framerate {frames}/{seconds} -i");
    text.split(' ').map(str::to_owned).collect()
}

impl Scheme for Rival {
    fn id(&self) -> &'static str {
        self.id
    }

    fn run(&self, clip: &Clip, kbps: &[f64]) -> Result<Vec<Run>> {
        self.show(clip, kbps, &mut |_, _| Ok(()))
    }

    fn show(&self, clip: &Clip, kbps: &[f64], screen: Screen<'_>) -> Result<Vec<Run>> {
        let folder = tempfile::tempdir()?;
        let (raw, coded) = (folder.path().join("raw"), folder.path().join("coded"));
        clip.write_raw(&raw)?;
        let mut run = |n: usize, kbps: f64| {
            self.encode(clip, &raw, &coded, kbps)?;
            self.decode(clip, &coded, |frame| screen(n, frame))
        };
        let name = |kbps: f64| format!("{} by {} at {kbps} kbit/s", clip.name, self.id);
        kbps.iter().enumerate().map(|(n, &kbps)| run(n, kbps).with_context(|| name(kbps))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::clip::tests::moving, *};

    #[test]
    fn every_rival_spends_more_for_more_quality() {
        let Ok(ffmpeg) = Ffmpeg::find() else { return println!("skipped: no ffmpeg") };
        let clip = moving(176, 144, 30);
        for rival in Rival::all(&ffmpeg) {
            let runs = rival.run(&clip, &[150.0, 1200.0]).expect("codes");
            let bytes = |run: &Run| run.frames.iter().map(|frame| frame.bytes).sum::<usize>();
            let quality = |run: &Run| run.frames.iter().map(|frame| frame.ycbcr_db).sum::<f64>();
            let name = rival.id();
            assert!(bytes(&runs[0]) < bytes(&runs[1]) && quality(&runs[0]) < quality(&runs[1]), "{name}");
            assert!(clip.kbps(bytes(&runs[1])) < 2400.0, "{name} takes twice its rate");
        }
    }

    #[test]
    fn settings_tell_runs_apart() {
        let Ok(ffmpeg) = Ffmpeg::find() else { return println!("skipped: no ffmpeg") };
        let clip = moving(16, 16, 30);
        let mut keys: Vec<_> = Rival::all(&ffmpeg).iter().map(|rival| rival.settings(&clip, 75.0)).collect();
        keys.push(Rival::x264(&ffmpeg).settings(&clip, 150.0));
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), Rival::all(&ffmpeg).len() + 1);
        let text = keys.into_iter().find(|key| key.contains("intra-refresh")).expect("one of them");
        assert!(text.contains("-b:v 75000 -maxrate 75000 -bufsize 4000"), "{text}");
    }
}
