//! How near concealed pictures are to the missing frames, compared with holding the last picture.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Parser;
use nestcast_codec::{Bitrate, Picture, Population, VideoDecoder, VideoEncoder, VideoModel, VideoSettings};
use nestcast_lab::clip::Clip;
use nestcast_lab::metrics::luma_psnr;

/// The numbers of successive missing frames.
const MISSING_FRAMES: [u32; 3] = [1, 2, 4];
/// The first frame that counts: before it a decoder has seen little motion.
const FIRST_FRAME: usize = 8;
/// The difference in dB from which a picture counts as worse.
const WORSE_DB: f64 = 0.1;
/// A receiver's rate over the slowest's.
const RATE_FACTORS: [f64; 2] = [1.5, 8.0];

/// Lets frames go missing after every frame of y4m clips from the eighth on: PSNR of luma of the picture moved on, less
/// that of the picture held, as receivers of 1.5 and 8 times the least rate see it.
#[derive(Parser)]
struct Options {
    /// Clips of planar YCbCr 4:2:0; `--frames` limits how many frames of each are used.
    #[arg(required = true)]
    clips: Vec<PathBuf>,
    /// Frames of each clip.
    #[arg(long, value_name = "N", default_value_t = 60)]
    frames: usize,
}

/// The gains in dB of concealment, and how many of them were losses.
#[derive(Default, Clone, Copy)]
struct Gains {
    sum: f64,
    count: f64,
    worse: f64,
}

impl Gains {
    fn note(&mut self, gain: f64) {
        self.sum += gain;
        self.count += 1.0;
        self.worse += f64::from(gain < -WORSE_DB);
    }

    fn mean(&self) -> f64 {
        self.sum / self.count.max(1.0)
    }

    fn worse_percent(&self) -> f64 {
        100.0 * self.worse / self.count.max(1.0)
    }
}

fn main() -> Result<()> {
    let options = Options::parse();
    println!(
        "| clip | 1 frame missing: dB | worse | 2: dB | worse | 4: dB | worse |\n|---|---:|---:|---:|---:|---:|---:|"
    );
    let mut all = [Gains::default(); MISSING_FRAMES.len()];
    for path in &options.clips {
        let gains = measure(path, options.frames).with_context(|| format!("{} cannot be measured", path.display()))?;
        all.iter_mut().zip(&gains).for_each(|(all, of_clip)| {
            all.sum += of_clip.mean();
            all.worse += of_clip.worse_percent() / 100.0;
            all.count += 1.0;
        });
        println!("{}", line(&path.file_stem().unwrap_or_default().to_string_lossy(), &gains));
    }
    println!("{}", line(&format!("mean of {}", options.clips.len()), &all));
    Ok(())
}

fn line(name: &str, gains: &[Gains]) -> String {
    let columns = gains.iter().map(|gains| format!(" {:+.2} | {:.0} % |", gains.mean(), gains.worse_percent()));
    format!("| {name} |{}", columns.collect::<String>())
}

fn measure(path: &Path, most: usize) -> Result<[Gains; MISSING_FRAMES.len()]> {
    let clip = Clip::read(std::fs::File::open(path)?, u64::MAX)?;
    let pictures = &clip.pictures()[..clip.pictures().len().min(most)];
    let rate = clip.rate();
    let [least, most] = Population::usual_bitrates(clip.size(), rate);
    let population = Population::log_uniform(least..=most);
    let settings = VideoSettings { size: clip.size(), rate, population, threads: 1 };
    let mut encoder = VideoEncoder::new(VideoModel::built_in(), settings);
    let frames = pictures.iter().map(|picture| encoder.encode(picture)).collect::<Result<Vec<_>, _>>()?;
    let mut gains = [Gains::default(); MISSING_FRAMES.len()];
    for factor in RATE_FACTORS {
        let bytes = Bitrate::rounded(factor * least.bits() as f64).bytes_per_frame(rate);
        let mut decoder = VideoDecoder::new(VideoModel::built_in(), clip.size(), 1);
        let mut held = Picture::zero(clip.size(), pictures[0].format());
        let mut moved = held.clone();
        for (number, frame) in frames.iter().enumerate() {
            decoder.decode(&frame.bytes[..bytes.max(frame.base).min(frame.bytes.len())])?;
            if number < FIRST_FRAME {
                continue;
            }
            decoder.render_into(&mut held)?;
            for (gains, missing) in gains.iter_mut().zip(MISSING_FRAMES) {
                let Some(original) = pictures.get(number + missing as usize) else { continue };
                if !decoder.conceal_into(&mut moved, missing)? {
                    moved.clone_from(&held);
                }
                gains.note(luma_psnr(original, &moved) - luma_psnr(original, &held));
            }
        }
    }
    Ok(gains)
}
