//! Learns the tables of video by coding clips with those so far:
//! `cargo run --release -p nestcast-models --example video_tables -- WHAT KEY.bin RESIDUAL.bin WEIGHT:CLIP.y4m...` rewrites both.
//! WHAT is `priors`, with reconstruction points, which also prints what the priors of the side information should be, or, when these are
//! done, `filters`: the post-filters.

mod clip;

use std::sync::Arc;

use nestcast_codec::{
    Bitrate, Budget, FilterFit, Model, MotionTally, Population, Tally, VideoDecoder, VideoEncoder, VideoModel,
    VideoSettings,
};

use clip::{Clip, Failure};

/// Rates of the slowest receiver of each population, in bits a pixel and frame.
const SLOWEST_RATES: [f64; 2] = [0.03, 0.12];
/// The fastest receiver's rate over the slowest one's.
const RATE_SPREAD: f64 = 16.0;
/// Receivers of a population.
const RECEIVER_COUNT: u32 = 5;
/// One of this many frames is also coded as a key frame.
const KEY_EVERY: usize = 10;

/// The filters learn from one of this many frames, from `LOOK_FROM` on: the first are better than those that follow.
const LOOK_EVERY: usize = 3;
const LOOK_FROM: usize = 4;
/// The clip of differences to neighbours where the string ends, in 1/64: the best of 16, 32, 64.
const CLIP_STEP: u16 = 32;

/// What all clips met.
struct Met {
    /// The filters are learned, not the priors.
    filters: bool,
    key: Tally,
    residual: Tally,
    motion: MotionTally,
    key_filter: FilterFit,
    residual_filter: FilterFit,
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [what @ ("priors" | "filters"), key, residual, clips @ ..] = arguments.as_slice() else {
        return Err("usage: video_tables priors|filters KEY.bin RESIDUAL.bin WEIGHT:CLIP.y4m...".into());
    };
    let tables = [std::fs::read(key)?, std::fs::read(residual)?];
    let model = VideoModel::new(Arc::new(Model::from_bytes(&tables[0])?), Arc::new(Model::from_bytes(&tables[1])?));
    let mut met = Met {
        filters: *what == "filters",
        key: Tally::default(),
        residual: Tally::default(),
        motion: MotionTally::default(),
        key_filter: FilterFit::new(CLIP_STEP),
        residual_filter: FilterFit::new(CLIP_STEP),
    };
    for clip in clips {
        let (weight, path) = clip.split_once(':').ok_or("a clip is WEIGHT:FILE")?;
        let (weight, clip) = (weight.parse()?, Clip::read(path)?);
        for slowest in SLOWEST_RATES {
            let pixels_a_second = clip.size.pixels() as f64 * clip.rate.per_second();
            encode(&clip, &model, slowest * pixels_a_second, weight, &mut met)?;
        }
        eprintln!("{path}");
    }
    if met.filters {
        std::fs::write(key, met.key_filter.with_post_filter(&tables[0])?)?;
        std::fs::write(residual, met.residual_filter.with_post_filter(&tables[1])?)?;
        return Ok(());
    }
    println!("bits: key {:.0}, residual {:.0}, motion {:.0}", met.key.bits, met.residual.bits, met.motion.bits);
    println!("side information: {:?}", met.motion.better_priors());
    std::fs::write(key, met.key.better_tables(&tables[0])?)?;
    std::fs::write(residual, met.residual.better_tables(&tables[1])?)?;
    Ok(())
}

/// Encodes a clip for receivers from `slowest` bits a second on.
fn encode(clip: &Clip, model: &VideoModel, slowest: f64, weight: f64, met: &mut Met) -> Result<(), Failure> {
    let rate = |at: u32| slowest * RATE_SPREAD.powf(f64::from(at) / f64::from(RECEIVER_COUNT - 1));
    let rates: Vec<Bitrate> = (0..RECEIVER_COUNT).map(|at| Bitrate::rounded(rate(at))).collect();
    let population = Population::new(rates.iter().map(|rate| (*rate, 1.0)));
    let settings = VideoSettings { size: clip.size, rate: clip.rate, population, threads: 1 };
    let mut encoder = VideoEncoder::new(model.clone(), settings.clone());
    let decoder = || VideoDecoder::new(model.clone(), clip.size, 1);
    let mut decoders: Vec<VideoDecoder> = rates.iter().map(|_| decoder()).collect();
    let mut budgets: Vec<Budget> = rates.iter().map(|rate| Budget::new(*rate, clip.rate)).collect();
    for (number, picture) in clip.frames.iter().enumerate() {
        let frame = encoder.encode(picture)?;
        let cuts = budgets.iter_mut().map(|budget| budget.cut(&frame.bytes, 0)).collect::<Result<Vec<_>, _>>()?;
        if met.filters {
            for (decoder, cut) in decoders.iter_mut().zip(&cuts) {
                decoder.decode(&frame.bytes[..*cut])?;
                if !frame.key && number >= LOOK_FROM && number % LOOK_EVERY == 0 {
                    met.residual_filter.add_frame(decoder, picture, weight)?;
                }
            }
        } else {
            let tally = encoder.tally(&frame, &cuts)?;
            if frame.key { &mut met.key } else { &mut met.residual }.add(&tally, weight);
            if !frame.key {
                met.motion.meet(&mut encoder, weight);
            }
        }
        if number % KEY_EVERY == 0 && (number > 0 || met.filters) {
            let mut first = VideoEncoder::new(model.clone(), settings.clone());
            let frame = first.encode(picture)?;
            let cuts = rates.iter().map(|rate| rate.bytes_per_frame(clip.rate));
            if met.filters {
                for cut in cuts {
                    let mut decoder = decoder();
                    decoder.decode(&frame.bytes[..cut.clamp(frame.base, frame.bytes.len())])?;
                    met.key_filter.add_frame(&mut decoder, picture, weight)?;
                }
            } else {
                met.key.add(&first.tally(&frame, &cuts.collect::<Vec<_>>())?, weight);
            }
        }
    }
    Ok(())
}
