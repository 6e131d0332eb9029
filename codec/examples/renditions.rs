//! Prints what each rendition of a video costs, stage by stage, and what its receivers see:
//! `cargo run --release -p nestcast-codec --example renditions -- CLIP.y4m [realtime|fast|normal] [FRAMES] [RATE] [RUNS]`.
//!
//! RATE is the slowest receiver's bitrate, by default the usual one; the fastest has 16 times as much. The encoder knows
//! five receivers. Quality is measured for nine, half an octave apart, each in the rendition that serves it, from the
//! ninth frame on. All work is done on one thread, and of each frame's stage the least time of all runs counts.

#[path = "y4m/mod.rs"]
mod y4m;

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nestcast_codec::{
    Bitrate, Budget, Effort, Moment, Observer, Picture, Population, Stage, VideoDecoder, VideoModel, VideoRenditions,
    VideoSettings,
};
use y4m::Clip;

const RENDITION_COUNTS: [usize; 3] = [1, 2, 3];
/// The frames whose quality and time are not counted.
const FIRST_FRAMES: usize = 8;
const RECEIVERS: u32 = 9;
const FASTEST_TO_SLOWEST: f64 = 16.0;

/// The times of one frame, by rendition and stage; rendition 0 is the work before the first one.
type Times = BTreeMap<(usize, Stage), Duration>;

/// Sums the times of stages.
struct Clock(Mutex<State>);

struct State {
    last: Instant,
    since_stage: Duration,
    /// The number of renditions that began in this frame.
    begun: usize,
    frames: Vec<Times>,
}

impl Clock {
    fn new() -> Arc<Self> {
        let state = State { last: Instant::now(), since_stage: Duration::ZERO, begun: 0, frames: Vec::new() };
        Arc::new(Self(Mutex::new(state)))
    }

    /// Begins a frame.
    fn start(&self) {
        let mut state = self.0.lock().expect("nothing panicked");
        state.frames.push(Times::new());
        state.begun = 0;
        state.last = Instant::now();
    }

    fn frames(&self) -> Vec<Times> {
        self.0.lock().expect("nothing panicked").frames.split_off(FIRST_FRAMES)
    }
}

impl Observer for Clock {
    fn handle(&self, moment: Moment) {
        let now = Instant::now();
        let state = &mut *self.0.lock().expect("nothing panicked");
        state.since_stage += now - state.last;
        if let Moment::Stage(stage) = moment {
            // The first stage of a rendition.
            state.begun += usize::from(stage == Stage::Quarters);
            let time = std::mem::take(&mut state.since_stage);
            *state.frames.last_mut().expect("a frame began").entry((state.begun, stage)).or_default() += time;
        }
        state.last = Instant::now();
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments.first().ok_or("usage: renditions CLIP.y4m [realtime|fast|normal] [FRAMES] [RATE] [RUNS]")?;
    let effort = match arguments.get(1).map(String::as_str) {
        Some("realtime") => Effort::Realtime,
        Some("fast") => Effort::Fast,
        None | Some("normal") => Effort::Normal,
        Some(other) => return Err(format!("no effort is called {other}: say realtime, fast or normal").into()),
    };
    let frames = arguments.get(2).map_or(Ok(40), |frames| frames.parse())?;
    let clip = y4m::read(path, frames)?;
    if clip.pictures.len() <= FIRST_FRAMES {
        return Err(format!("name a clip and a number of more than {FIRST_FRAMES} frames").into());
    }
    let usual = Population::usual_bitrates(clip.size, clip.rate)[0];
    let least = arguments.get(3).map_or(Ok(usual), |rate| rate.parse())?;
    let runs = arguments.get(4).map_or(Ok(3), |runs| runs.parse::<usize>())?;
    let mut one = Duration::ZERO;
    for count in RENDITION_COUNTS {
        let (times, qualities) = measure(&clip, effort, least, count, runs)?;
        let all: Duration = times.values().sum();
        if count == 1 {
            one = all;
        }
        report(&clip, count, &times, all.as_secs_f64() / one.as_secs_f64());
        for (rendition, kilobits, decibels) in qualities {
            println!("quality {count} {rendition} {kilobits:.3} {decibels:.4}");
        }
    }
    Ok(())
}

/// Receivers in rendition, rate in kbit/s, and mean PSNR of luma in dB.
type Qualities = Vec<(usize, f64, f64)>;

fn measure(
    clip: &Clip,
    effort: Effort,
    least: Bitrate,
    count: usize,
    runs: usize,
) -> Result<(Times, Qualities), Box<dyn Error>> {
    let mut best = Vec::new();
    let mut qualities = Qualities::new();
    for run in 0..runs {
        let clock = Clock::new();
        let receivers = if run == 0 { RECEIVERS } else { 0 };
        qualities.extend(encode(clip, effort, least, count, &clock, receivers)?);
        let frames = clock.frames();
        best.resize_with(frames.len(), Times::new);
        for (best, frame) in best.iter_mut().zip(frames) {
            for (stage, time) in frame {
                best.entry(stage).and_modify(|least: &mut Duration| *least = time.min(*least)).or_insert(time);
            }
        }
    }
    let mut sums = Times::new();
    best.iter().flatten().for_each(|(stage, time)| *sums.entry(*stage).or_default() += *time);
    Ok((sums, qualities))
}

/// Encodes the clip, and decodes it for this number of receivers.
fn encode(
    clip: &Clip,
    effort: Effort,
    least: Bitrate,
    count: usize,
    clock: &Arc<Clock>,
    receivers: u32,
) -> Result<Qualities, Box<dyn Error>> {
    let bits = |part: f64| Bitrate::rounded(least.bits() as f64 * FASTEST_TO_SLOWEST.powf(part));
    let settings = VideoSettings {
        size: clip.size,
        rate: clip.rate,
        population: Population::log_uniform(least..=bits(1.0)),
        threads: 1,
    };
    let model = VideoModel::built_in();
    let mut encoder = VideoRenditions::new(&model, settings, count)?.with_effort(effort).with_observer(clock.clone());
    let rates = encoder.rates();
    let mut viewers: Vec<_> = (0..receivers)
        .map(|at| {
            let rate = bits(f64::from(at) / f64::from(receivers - 1));
            let decoder = VideoDecoder::new(model.clone(), clip.size, 1);
            (rates.serving(rate), rate, decoder, Budget::new(rate, clip.rate), 0.0)
        })
        .collect();
    let mut out = clip.pictures[0].clone();
    for (number, picture) in clip.pictures.iter().enumerate() {
        clock.start();
        let frames = encoder.encode(picture)?;
        for (rendition, _, decoder, budget, sum) in &mut viewers {
            let frame = &frames[*rendition].bytes;
            let cut = budget.cut(frame, 0)?;
            decoder.decode(&frame[..cut])?;
            decoder.render_into(&mut out)?;
            if number >= FIRST_FRAMES {
                *sum += psnr(picture, &out);
            }
        }
    }
    let counted = (clip.pictures.len() - FIRST_FRAMES) as f64;
    let quality = |(rendition, rate, _, _, sum): &(usize, Bitrate, _, _, f64)| {
        (*rendition, rate.bits() as f64 / 1e3, sum / counted)
    };
    Ok(viewers.iter().map(quality).collect())
}

/// Returns the PSNR of luma.
fn psnr(a: &Picture, b: &Picture) -> f64 {
    let count = a.size().pixels();
    let pairs = a.samples()[..count].iter().zip(&b.samples()[..count]);
    let error: u64 = pairs.map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2)).sum();
    10.0 * (255.0_f64.powi(2) * count as f64 / error.max(1) as f64).log10()
}

/// Prints nanoseconds a pixel by stage and rendition.
fn report(clip: &Clip, count: usize, times: &Times, ratio: f64) {
    let pixels = ((clip.pictures.len() - FIRST_FRAMES) * clip.size.pixels()) as f64;
    let nanoseconds = |time: Duration| time.as_secs_f64() * 1e9 / pixels;
    println!("{count} renditions: {ratio:.3} times one; ns a pixel of the work before them, and of each");
    let mut stages: Vec<Stage> = times.keys().map(|(_, stage)| *stage).collect();
    stages.sort();
    stages.dedup();
    for stage in stages {
        let of = |at| nanoseconds(times.get(&(at, stage)).copied().unwrap_or_default());
        let all: Vec<String> = (0..=count).map(|at| format!("{:>8.2}", of(at))).collect();
        println!("{:<18}{}", stage.name(), all.concat());
    }
    let of = |at| nanoseconds(times.iter().filter(|((rendition, _), _)| *rendition == at).map(|(_, time)| *time).sum());
    let all: Vec<String> = (0..=count).map(|at| format!("{:>8.2}", of(at))).collect();
    println!("{:<18}{}", "all", all.concat());
}
