//! Learns the tables of video, priors and reconstruction points, by coding clips with those so far:
//! `cargo run --release -p nestcast-models --example video_tables -- KEY.bin RESIDUAL.bin WEIGHT:CLIP.y4m...` rewrites both
//! and prints what the priors of the side information should be.

use std::error::Error;
use std::sync::Arc;

use nestcast_codec::{
    Budget, Format, FrameRate, Model, MotionTally, Picture, Population, Range, Size, Tally, VideoEncoder, VideoModel,
    VideoSettings,
};

type Failure = Box<dyn Error + Send + Sync>;

/// Rates of the slowest receiver of each population, in bits a pixel and frame.
const SLOWEST: [f64; 2] = [0.03, 0.12];
/// The fastest receiver's rate, by the slowest one's.
const SPREAD: f64 = 16.0;
/// Receivers of a population.
const RECEIVERS: u32 = 5;
/// Every so many frames one is coded as a key frame too.
const KEY_EVERY: usize = 10;

/// What all clips met.
#[derive(Default)]
struct Met {
    key: Tally,
    residual: Tally,
    motion: MotionTally,
}

/// Frames of planar YCbCr 4:2:0.
struct Clip {
    size: Size,
    rate: FrameRate,
    frames: Vec<Picture>,
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [key, residual, clips @ ..] = arguments.as_slice() else {
        return Err("usage: video_tables KEY.bin RESIDUAL.bin WEIGHT:CLIP.y4m...".into());
    };
    let tables = [std::fs::read(key)?, std::fs::read(residual)?];
    let model = VideoModel::new(Arc::new(Model::from_bytes(&tables[0])?), Arc::new(Model::from_bytes(&tables[1])?));
    let mut met = Met::default();
    for clip in clips {
        let (weight, path) = clip.split_once(':').ok_or("a clip is WEIGHT:FILE")?;
        let (weight, clip) = (weight.parse()?, read(path)?);
        for slowest in SLOWEST {
            let pixels_a_second =
                clip.size.pixels() as f64 * f64::from(clip.rate.frames) / f64::from(clip.rate.seconds);
            encode(&clip, &model, slowest * pixels_a_second, weight, &mut met)?;
        }
        eprintln!("{path}");
    }
    println!("bits: key {:.0}, residual {:.0}, motion {:.0}", met.key.bits, met.residual.bits, met.motion.bits);
    println!("side information: {:?}", met.motion.better_priors());
    std::fs::write(key, met.key.better_tables(&tables[0])?)?;
    std::fs::write(residual, met.residual.better_tables(&tables[1])?)?;
    Ok(())
}

/// Encodes a clip for receivers from `slowest` bits a second on.
fn encode(clip: &Clip, model: &VideoModel, slowest: f64, weight: f64, met: &mut Met) -> Result<(), Failure> {
    let rates: Vec<f64> =
        (0..RECEIVERS).map(|at| slowest * SPREAD.powf(f64::from(at) / f64::from(RECEIVERS - 1))).collect();
    let population = Population::new(rates.iter().map(|rate| (*rate, 1.0)));
    let settings = VideoSettings { size: clip.size, rate: clip.rate, population, threads: 1 };
    let mut encoder = VideoEncoder::new(model.clone(), settings.clone());
    let mut budgets: Vec<Budget> = rates.iter().map(|rate| Budget::new(*rate, clip.rate)).collect();
    for (number, picture) in clip.frames.iter().enumerate() {
        let frame = encoder.encode(picture)?;
        let cuts = budgets.iter_mut().map(|budget| budget.cut(&frame.bytes, 0)).collect::<Result<Vec<_>, _>>()?;
        let tally = encoder.tally(&frame, &cuts)?;
        if frame.key { &mut met.key } else { &mut met.residual }.add(&tally, weight);
        if !frame.key {
            met.motion.meet(&mut encoder, weight);
        }
        if number > 0 && number % KEY_EVERY == 0 {
            let mut first = VideoEncoder::new(model.clone(), settings.clone());
            let frame = first.encode(picture)?;
            let cuts: Vec<usize> = rates.iter().map(|rate| clip.rate.bytes(*rate)).collect();
            met.key.add(&first.tally(&frame, &cuts)?, weight);
        }
    }
    Ok(())
}

/// Reads a clip of YUV4MPEG2 whose frames have no parameters.
fn read(path: &str) -> Result<Clip, Failure> {
    const FRAME: &[u8] = b"FRAME\n";
    let bytes = std::fs::read(path)?;
    let end = bytes.iter().position(|byte| *byte == b'\n').ok_or("the file has no header")?;
    let header = std::str::from_utf8(&bytes[..end])?;
    let tag = |name: char| header.split(' ').skip(1).find_map(|tag| tag.strip_prefix(name)).ok_or("a tag is missing");
    let (frames, seconds) = tag('F')?.split_once(':').ok_or("the frame rate is no fraction")?;
    let size = Size::new(tag('W')?.parse()?, tag('H')?.parse()?)?;
    let rate = FrameRate { frames: frames.parse()?, seconds: seconds.parse()? };
    let [width, height] = [size.width(), size.height()];
    let samples = width * height + 2 * width.div_ceil(2) * height.div_ceil(2);
    let frames = bytes[end + 1..].chunks_exact(FRAME.len() + samples).map(|frame| frame[FRAME.len()..].to_vec());
    let pictures = frames.map(|samples| Picture::new(size, Format::Ycbcr420(Range::Limited), samples));
    Ok(Clip { size, rate, frames: pictures.collect::<Result<_, _>>()? })
}
