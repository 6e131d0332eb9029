//! Measures how networks for shown frames of video look: `cargo run --release -p nestcast-lab --features
//! motion-jpeg,perceptual,search --example video_look -- EVERY PACKAGE,... CLIP.y4m...`.
//!
//! It encodes the clips at the fifteen rates of `models/examples/video_frames.rs`. For one of EVERY frames and each
//! receiver it prints a line of CSV for the frame after the post-filter, named `filter`, and one for each package. If
//! the variable `SHOWN` names a folder, all frames are written there as raw samples: `CLIP,POPULATION,original.yuv` and
//! `CLIP,POPULATION,RECEIVER,NUMBER.yuv`, number 0 after the post-filter.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, bail};
use nestcast_codec::{
    Bitrate, Budget, DecodedFrame, Format, Picture, Population, Restoration, TransformError, VideoDecoder,
    VideoEncoder, VideoModel, VideoSettings, ViewMut, Ycbcr,
};
use nestcast_lab::clip::Clip;
use nestcast_lab::eval::video::rates;
use nestcast_lab::metrics::{Perceptual, ycbcr_psnr};
use nestcast_models::{DeepFrames, Runtime, VideoPackage};

/// Rates of the slowest receiver of each population, in bits a pixel and frame.
const SLOWEST_RATES: [f64; 3] = [0.015, 0.045, 0.135];
/// The fastest receiver's rate over the slowest one's.
const RATE_SPREAD: f64 = 16.0;
/// Frames of a clip, at most.
const MAX_FRAMES: usize = 32;
/// What the lines of the frame after the post-filter are named.
const FILTER: &str = "filter";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [every, packages, clips @ ..] = arguments.as_slice() else {
        bail!("usage: video_look EVERY PACKAGE,... CLIP.y4m...");
    };
    let runtime = Runtime::open()?;
    let networks = packages.split(',').map(|name| Ok(VideoPackage::open(name)?.deep(&runtime, 1)?));
    let shown = Arc::new(Shown { networks: networks.collect::<Result<_>>()?, pictures: Mutex::default() });
    let names = [FILTER].into_iter().chain(packages.split(',')).collect();
    let look = Look { every: every.parse()?, names, shown, folder: std::env::var_os("SHOWN").map(PathBuf::from) };
    println!("clip,population,receiver,frame,variant,y,cb,cr,ssimulacra2,butteraugli");
    for path in clips {
        let clip = Clip::read(File::open(path)?, u64::MAX).with_context(|| path.clone())?;
        let name = Path::new(path).file_stem().context("a clip is a file")?.to_string_lossy();
        for population in 0..SLOWEST_RATES.len() {
            look.measure(&name, &clip, population)?;
        }
        eprintln!("{path}");
    }
    Ok(())
}

/// What is measured.
struct Look<'a> {
    every: usize,
    names: Vec<&'a str>,
    shown: Arc<Shown>,
    folder: Option<PathBuf>,
}

impl Look<'_> {
    /// Encodes a clip for the receivers of a population, and measures what they show.
    fn measure(&self, name: &str, clip: &Clip, population: usize) -> Result<()> {
        let (size, rate) = (clip.size(), clip.rate());
        let bits = SLOWEST_RATES[population] * size.pixels() as f64 * rate.per_second();
        let rates = rates([bits, bits * RATE_SPREAD].map(Bitrate::rounded));
        let receivers = Population::new(rates.iter().map(|bitrate| (*bitrate, 1.0)));
        let settings = VideoSettings { size, rate, population: receivers, threads: 1 };
        let mut encoder = VideoEncoder::new(VideoModel::built_in(), settings);
        let decoder = || VideoDecoder::new(VideoModel::built_in(), size, 1).with_restoration(self.shown.clone());
        let mut receivers: Vec<_> = rates.iter().map(|bitrate| (decoder(), Budget::new(*bitrate, rate))).collect();
        let label = format!("{name},{population}");
        let mut original = self.file(&format!("{label},original"))?;
        let mut files: Vec<_> = (0..receivers.len())
            .flat_map(|receiver| (0..self.names.len()).map(move |number| (receiver, number)))
            .map(|(receiver, number)| self.file(&format!("{label},{receiver},{number}")))
            .collect::<Result<_>>()?;
        let mut unused = Picture::zero(size, Format::Ycbcr420(Ycbcr::BT601));
        for (number, picture) in clip.pictures().iter().take(MAX_FRAMES).enumerate() {
            let frame = encoder.encode(picture)?;
            if let Some(file) = &mut original {
                file.write_all(picture.samples())?;
            }
            for (receiver, (decoder, budget)) in receivers.iter_mut().enumerate() {
                let cut = budget.cut(&frame.bytes, 0)?;
                decoder.decode(&frame.bytes[..cut])?;
                let is_measured = (number + receiver).is_multiple_of(self.every);
                if !is_measured && self.folder.is_none() {
                    continue;
                }
                decoder.render_into(&mut unused)?;
                let shown = self.shown.take();
                let files = &mut files[receiver * self.names.len()..];
                for (file, picture) in files.iter_mut().zip(&shown) {
                    file.as_mut().map_or(Ok(()), |file| file.write_all(picture.samples()))?;
                }
                if is_measured {
                    self.compare(&format!("{label},{receiver},{number}"), picture, &shown)?;
                }
            }
        }
        files.iter_mut().chain([&mut original]).flatten().try_for_each(|file| file.flush())?;
        Ok(())
    }

    /// A file of raw samples, if a folder is named.
    fn file(&self, name: &str) -> Result<Option<BufWriter<File>>> {
        let file = |folder: &PathBuf| Ok(BufWriter::new(File::create(folder.join(format!("{name}.yuv")))?));
        self.folder.as_ref().map(file).transpose()
    }

    /// Prints a line for each picture that is shown.
    fn compare(&self, label: &str, original: &Picture, shown: &[Picture]) -> Result<()> {
        let look = Perceptual::new(original).context("the clip is too small")?;
        for (name, picture) in self.names.iter().zip(shown) {
            let (psnr, scores) = (ycbcr_psnr(original, picture), look.compare(picture));
            let [blue, red] = psnr.differences;
            println!(
                "{label},{name},{:.4},{blue:.4},{red:.4},{:.4},{:.5}",
                psnr.luma, scores.ssimulacra2, scores.butteraugli
            );
        }
        Ok(())
    }
}

/// Shows nothing, and keeps the frame after the post-filter and as each network restores it.
struct Shown {
    networks: Vec<DeepFrames>,
    pictures: Mutex<Vec<Picture>>,
}

impl Shown {
    fn take(&self) -> Vec<Picture> {
        std::mem::take(&mut self.pictures.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Restoration for Shown {
    fn restore(&self, frame: &DecodedFrame<'_>, out: ViewMut<'_>) -> Result<(), TransformError> {
        let mut filtered = Picture::zero(out.size(), out.format());
        let rows = (0..3).flat_map(|plane| (0..frame.plane(plane)[1]).map(move |y| frame.filtered(plane, y)));
        for (sample, value) in filtered.samples_mut().iter_mut().zip(rows.flatten()) {
            *sample = in_bytes(*value);
        }
        let mut pictures = vec![filtered];
        for network in &self.networks {
            let mut picture = Picture::zero(out.size(), out.format());
            network.restore(frame, (&mut picture).into())?;
            pictures.push(picture);
        }
        *self.pictures.lock().unwrap_or_else(PoisonError::into_inner) = pictures;
        Ok(())
    }
}

/// The nearest sample of a value less 128.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped")]
fn in_bytes(value: f32) -> u8 {
    (value + 128.5).clamp(0.0, 255.0) as u8
}
