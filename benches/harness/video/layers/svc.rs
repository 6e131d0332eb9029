//! Scalable coding: three layers of quality or of size in one encode, by the example programs of libvpx and libaom.
//!
//! | program | setting |
//! |---|---|
//! | `vp9_spatial_svc_encoder` | speed 5, constant rate, a buffer of 1 s, keyframes of at most 9 mean frames |
//! | `svc_encoder_rtc` | speed 7, constant rate, a buffer of 1 s, keyframes of at most 3 mean frames |
//!
//! Both use one thread, a keyframe every 60 frames, no temporal layers, no adaptive quantisation (its PSNR is less) and
//! quantisers from 2 to 63. Buffer and keyframes are the programs' own and have no option. Each program writes one file
//! for a layer with all layers below it; a decoder reads that file, and its frames' bytes count.
//!
//! A picture of libaom's lowest spatial layer lies one pixel of the full size too far to the right and down. Nobody would
//! see it, but it costs two decibels; so the picture is moved back.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use nestcast_codec::Picture;
use nestcast_lab::{ffmpeg::Ffmpeg, x264::KEYFRAME_INTERVAL};

use super::super::{Clip, Run};
use super::{
    Offer, Scheme, ivf::Ivf, receivers::slowest_of_groups, renditions::SHRINK_FACTORS, scaling, serving::Stream,
    time::timed,
};

/// The number of layers.
const LAYER_COUNT: usize = 3;
/// A low priority, so that other programs stay responsive.
const NICE_ARGUMENTS: [&str; 2] = ["-n", "10"];

/// An example program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// VP9, of libvpx.
    Vp9,
    /// AV1, of libaom.
    Av1,
}

/// Layers of one program.
pub(super) struct Svc {
    pub(super) program: Program,
    pub(super) path: PathBuf,
    pub(super) ffmpeg: Ffmpeg,
    /// Whether lower layers are smaller, by [`SHRINK_FACTORS`], or coarser at full size.
    pub(super) spatial: bool,
}

impl Program {
    /// Returns the program's name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Vp9 => "vp9_spatial_svc_encoder",
            Self::Av1 => "svc_encoder_rtc",
        }
    }

    /// Finds the program in the folders of a search path.
    pub(super) fn find(self, search: Option<&OsStr>) -> Option<PathBuf> {
        std::env::split_paths(search?).map(|folder| folder.join(self.name())).find(|path| path.is_file())
    }

    /// Returns the arguments for layers of these rates in kbit/s, each without those of the layers below it.
    fn arguments(self, clip: &Clip, layers: &[u64], spatial: bool) -> String {
        let list = |value: &dyn Fn(usize) -> String| (0..LAYER_COUNT).map(value).collect::<Vec<_>>().join(",");
        let rates = list(&|layer| layers[layer].to_string());
        let scales = list(&|layer| format!("1/{}", if spatial { SHRINK_FACTORS[layer] } else { 1 }));
        let (width, height) = (clip.size.width(), clip.size.height());
        let [frames, seconds] = [clip.rate.frames(), clip.rate.seconds()];
        let total: u64 = layers.iter().sum();
        let common = format!(
            "-w {width} -h {height} -t {seconds}/{frames} -sl {LAYER_COUNT} -tl 1 -k {KEYFRAME_INTERVAL} -th 1 \
             -r {scales} -b {total} -bl {rates}"
        );
        match self {
            Self::Vp9 => {
                let (least, most) = (list(&|_| "2".to_owned()), list(&|_| "63".to_owned()));
                format!(
                    "{common} -sp 5 -aq 0 -rcstat 1 --rc-end-usage=1 --lag-in-frames=0 --drop-frame=0 \
                     --min-q={least} --max-q={most}"
                )
            }
            Self::Av1 => {
                format!("{common} -sp 7 -aq 0 -lm 6 --min-q=2 --max-q=63 --drop-frame=0 --test-decode=0 --output-obu=0")
            }
        }
    }

    /// Returns the file of a layer with all layers below it.
    fn file(self, output: &Path, layer: usize) -> PathBuf {
        let suffix = match self {
            Self::Vp9 => format!("_s{layer}.ivf"),
            Self::Av1 => format!("_{layer}.av1"),
        };
        let mut name = output.as_os_str().to_owned();
        name.push(suffix);
        name.into()
    }

    /// Returns ffmpeg's options for a decoder that shows only the highest layer of each picture.
    const fn decoder(self) -> [&'static str; 2] {
        match self {
            Self::Vp9 => ["-c:v", "libvpx-vp9"],
            Self::Av1 => ["-c:v", "libdav1d"],
        }
    }
}

impl Scheme for Svc {
    fn id(&self) -> &'static str {
        match (self.program, self.spatial) {
            (Program::Vp9, false) => "vp9-quality-layers",
            (Program::Av1, false) => "av1-quality-layers",
            (Program::Vp9, true) => "vp9-spatial-layers",
            (Program::Av1, true) => "av1-spatial-layers",
        }
    }

    fn offer(&self, clip: &Clip, kbps: &[f64]) -> Result<Offer> {
        let folder = tempfile::tempdir()?;
        let (raw, output) = (folder.path().join("raw"), folder.path().join("layers"));
        clip.write_raw(&raw)?;
        let rates = slowest_of_groups(kbps, LAYER_COUNT);
        let layers = increments(&rates);
        let arguments = self.program.arguments(clip, &layers, self.spatial);
        let name = || format!("{} by {} {arguments}", clip.name, self.program.name());
        let ((), seconds) = timed(|| self.encode(&arguments, &raw, &output)).with_context(name)?;
        let mut streams = Vec::new();
        for (layer, &kbps) in rates.iter().enumerate() {
            let run = self.decode(clip, &self.program.file(&output, layer), SHRINK_FACTORS[layer]);
            let run = run.with_context(|| format!("layer {layer} of {}", name()))?;
            streams.push(Stream { kbps, run });
        }
        let top = streams.last().map_or(0, |stream| stream.run.frames.iter().map(|frame| frame.bytes).sum());
        Ok(Offer { bytes: top, ..Offer::shared(streams, kbps.len(), seconds) })
    }
}

impl Svc {
    fn encode(&self, arguments: &str, raw: &Path, output: &Path) -> Result<()> {
        let mut command = Command::new("nice");
        command.args(NICE_ARGUMENTS).arg(&self.path).args(arguments.split_whitespace()).arg(raw).arg("-o").arg(output);
        let done = command.output().with_context(|| self.path.display().to_string())?;
        let said = String::from_utf8_lossy(&done.stderr);
        ensure!(done.status.success(), "it failed: {}", said.trim().lines().last().unwrap_or("it did not say why"));
        Ok(())
    }

    /// Decodes a file of one layer with all layers below it.
    fn decode(&self, clip: &Clip, file: &Path, factor: u32) -> Result<Run> {
        let ivf = Ivf::parse(&fs::read(file)?)?.joined();
        // A decoder gets all layers of one picture together.
        fs::write(file, ivf.bytes()?)?;
        let smaller = self.spatial && factor > 1;
        let mut decoded = scaling::decoded(&self.ffmpeg, &self.program.decoder(), file, clip, smaller)?;
        if smaller && self.program == Program::Av1 && factor == SHRINK_FACTORS[0] {
            decoded = decoded.iter().map(moved_back).collect::<Result<_>>()?;
        }
        Run::new(clip, &ivf.sizes(), &decoded)
    }
}

/// Moves luma by one sample to the left and up, and repeats the last column and row.
fn moved_back(picture: &Picture) -> Result<Picture> {
    let (width, height) = (picture.size().width(), picture.size().height());
    let mut samples = picture.samples().to_vec();
    for y in 0..height {
        let from = (y + 1).min(height - 1) * width;
        samples.copy_within(from + 1..from + width, y * width);
        samples[y * width + width - 1] = samples[y * width + width.saturating_sub(2)];
    }
    Ok(Picture::new(picture.size(), picture.format(), samples)?)
}

/// Returns the rate of each layer without those below it, in whole kbit/s, which the programs need.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and saturates")]
fn increments(kbps: &[f64]) -> Vec<u64> {
    let mut below = 0;
    let increment = |kbps: &f64| {
        let all = kbps.round() as u64;
        let own = all.saturating_sub(below);
        below = all;
        own
    };
    kbps.iter().map(increment).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::super::clip::tests::moving, *};

    #[test]
    fn rates_of_layers_add_up() {
        let clip = moving(32, 16, 30);
        assert_eq!(increments(&[75.0, 197.46, 497.6]), [75, 122, 301]);
        let words = Program::Vp9.arguments(&clip, &[75, 225, 900], true);
        assert!(words.contains("-t 1/30 ") && words.contains("-r 1/4,1/2,1/1 -b 1200 -bl 75,225,900 "), "{words}");
        let words = Program::Av1.arguments(&clip, &[75, 225, 900], false);
        assert!(words.contains("-r 1/1,1/1,1/1 ") && words.contains(" -lm 6 "), "{words}");
        assert_eq!(Program::Vp9.file(Path::new("a/b"), 1), Path::new("a/b_s1.ivf"));
        assert_eq!(Program::Av1.file(Path::new("a/b"), 2), Path::new("a/b_2.av1"));
    }

    #[test]
    fn a_picture_moves_by_one_sample() {
        let size = nestcast_codec::Size::new(3, 2).expect("a size");
        let format = moving(16, 8, 30).frames[0].format();
        let picture = Picture::new(size, format, vec![1, 2, 3, 4, 5, 6, 70, 71, 80, 81]).expect("a picture");
        let moved = moved_back(&picture).expect("the same size");
        assert_eq!(moved.samples(), [5, 6, 6, 5, 6, 6, 70, 71, 80, 81]);
    }

    #[test]
    fn a_program_is_found_on_the_path_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let search = std::env::join_paths([Path::new("/no/such/folder"), folder.path()]).expect("a path");
        assert_eq!(Program::Av1.find(Some(&search)), None);
        let path = folder.path().join("svc_encoder_rtc");
        fs::write(&path, "").expect("writes");
        assert_eq!(Program::Av1.find(Some(&search)), Some(path));
        assert_eq!((Program::Vp9.find(Some(&search)), Program::Av1.find(None)), (None, None));
    }

    #[test]
    fn higher_layers_have_more_bytes_and_quality() {
        let Ok(ffmpeg) = Ffmpeg::find() else { return println!("skipped: no ffmpeg") };
        let clip = moving(176, 144, 30);
        for program in [Program::Vp9, Program::Av1] {
            let Some(path) = program.find(std::env::var_os("PATH").as_deref()) else {
                println!("skipped: no {}", program.name());
                continue;
            };
            for spatial in [false, true] {
                let svc = Svc { program, path: path.clone(), ffmpeg: ffmpeg.clone(), spatial };
                let offer = svc.offer(&clip, &[100.0, 200.0, 400.0, 800.0, 1600.0]).expect("codes");
                let layers = &offer.streams[4];
                assert_eq!(layers.iter().map(|layer| layer.kbps).collect::<Vec<_>>(), [100.0, 400.0, 1600.0]);
                let used = |layer: &Stream| layer.run.frames.iter().map(|frame| frame.bytes).sum::<usize>();
                let luma = |layer: &Stream| layer.run.frames.iter().map(|frame| frame.luma_db).sum::<f64>();
                assert!(layers.windows(2).all(|pair| used(&pair[0]) < used(&pair[1])), "{}", svc.id());
                assert!(layers.windows(2).all(|pair| luma(&pair[0]) < luma(&pair[1])), "{}", svc.id());
                assert_eq!(offer.bytes, used(&layers[2]));
            }
        }
    }
}
