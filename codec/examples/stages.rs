//! Prints the time of every stage of video, and what more threads would gain:
//! `cargo run --release -p nestcast-codec --example stages -- CLIP.y4m [realtime|fast|normal] [FRAMES]`.
//!
//! All work is done on one thread, one item after another. The time on T threads is the critical path: the serial work,
//! and for each section the time until T threads have done its items, each thread taking the next one when it is free.
//! Waking threads and shared memory are left out.

#[path = "y4m/mod.rs"]
mod y4m;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nestcast_codec::{
    Bitrate, Budget, Effort, Moment, Observer, Population, Stage, VideoDecoder, VideoEncoder, VideoModel, VideoSettings,
};
use y4m::Clip;

const THREAD_COUNTS: [usize; 4] = [1, 2, 4, 8];
/// The frames whose times are not counted: memory is allocated in them.
const FIRST_FRAMES: usize = 3;
/// All is done this often, and of each frame's stage the least time counts, because other programs disturb.
const RUN_COUNT: usize = 3;

/// Sums the times of stages.
struct Clock {
    threads: usize,
    times: Mutex<Times>,
}

struct Times {
    last: Instant,
    /// Since the last stage ended: serial work, and all work on the critical path.
    serial: Duration,
    path: Duration,
    all: Duration,
    /// The times of the section's items, and whether one came in parts.
    items: Vec<Duration>,
    in_parts: bool,
    /// By frame.
    stages: Vec<Stages>,
}

type Stages = BTreeMap<Stage, Sums>;

#[derive(Clone, Copy, Default)]
struct Sums {
    all: Duration,
    serial: Duration,
    path: Duration,
}

impl Clock {
    fn new(threads: usize) -> Arc<Self> {
        let none = Duration::ZERO;
        let times = Times {
            last: Instant::now(),
            serial: none,
            path: none,
            all: none,
            items: Vec::new(),
            in_parts: false,
            stages: Vec::new(),
        };
        Arc::new(Self { threads, times: Mutex::new(times) })
    }

    /// Begins a frame.
    fn start(&self) {
        let mut times = self.times.lock().expect("nothing panicked");
        times.stages.push(Stages::new());
        times.last = Instant::now();
    }

    /// Returns the times of the frames that count.
    fn stages(&self) -> Vec<Stages> {
        self.times.lock().expect("nothing panicked").stages.split_off(FIRST_FRAMES)
    }
}

impl Sums {
    fn least(self, other: Self) -> Self {
        Self { all: self.all.min(other.all), serial: self.serial.min(other.serial), path: self.path.min(other.path) }
    }

    fn plus(self, other: Self) -> Self {
        Self { all: self.all + other.all, serial: self.serial + other.serial, path: self.path + other.path }
    }
}

impl Observer for Clock {
    fn handle(&self, moment: Moment) {
        let now = Instant::now();
        let times = &mut *self.times.lock().expect("nothing panicked");
        let passed = now - times.last;
        times.all += passed;
        match moment {
            Moment::Item(number) => {
                times.in_parts |= number < times.items.len();
                times.items.resize(times.items.len().max(number + 1), Duration::ZERO);
                times.items[number] += passed;
            }
            Moment::Fork | Moment::Stage(_) | Moment::Join => {
                times.serial += passed;
                times.path += passed;
            }
        }
        if moment == Moment::Join {
            let path =
                if times.in_parts { divided(&times.items, self.threads) } else { listed(&times.items, self.threads) };
            times.path += path;
            times.items.clear();
            times.in_parts = false;
        }
        if let Moment::Stage(stage) = moment {
            let sums = times.stages.last_mut().expect("a frame began").entry(stage).or_default();
            sums.all += std::mem::take(&mut times.all);
            sums.serial += std::mem::take(&mut times.serial);
            sums.path += std::mem::take(&mut times.path);
        }
        times.last = Instant::now();
    }
}

/// Returns the time until all items have ended, if each free thread takes the next one.
fn listed(items: &[Duration], threads: usize) -> Duration {
    let mut free = vec![Duration::ZERO; threads];
    for item in items {
        *free.iter_mut().min().expect("at least one thread") += *item;
    }
    free.into_iter().max().unwrap_or_default()
}

/// As [`listed`], for items that threads do in parts, in turn.
fn divided(items: &[Duration], threads: usize) -> Duration {
    let sum: Duration = items.iter().sum();
    items.iter().copied().max().unwrap_or_default().max(sum / u32::try_from(threads).unwrap_or(1))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments.first().ok_or("usage: stages CLIP.y4m [realtime|fast|normal] [FRAMES]")?;
    let effort = match arguments.get(1).map(String::as_str) {
        Some("realtime") => Effort::Realtime,
        None | Some("fast") => Effort::Fast,
        Some("normal") => Effort::Normal,
        Some(other) => return Err(format!("no effort is called {other}: say realtime, fast or normal").into()),
    };
    let frames = arguments.get(2).map_or(Ok(40), |frames| frames.parse())?;
    let clip = y4m::read(path, FIRST_FRAMES + frames)?;
    let mut tables = [String::new(), String::new()];
    for (number, threads) in THREAD_COUNTS.into_iter().enumerate() {
        let mut least = measure(&clip, effort, threads)?;
        for _ in 1..RUN_COUNT {
            for (least, more) in least.iter_mut().zip(measure(&clip, effort, threads)?) {
                least.iter_mut().zip(more).for_each(|(least, more)| take_least(least, &more));
            }
        }
        for (table, frames) in tables.iter_mut().zip(least) {
            report(table, &clip, threads, number == 0, &sum(&frames))?;
        }
    }
    let [encoding, decoding] = tables;
    print!(
        "{path}, {effort:?}\n\nEncoding\n{encoding}\nDecoding half way between the slowest and the fastest rate\n{decoding}"
    );
    Ok(())
}

/// Keeps the least time of every stage of a frame.
fn take_least(least: &mut Stages, more: &Stages) {
    for (stage, sums) in more {
        least.entry(*stage).and_modify(|least| *least = least.least(*sums)).or_insert(*sums);
    }
}

/// Sums the stages of all frames.
fn sum(frames: &[Stages]) -> Stages {
    let mut all = Stages::new();
    for (stage, sums) in frames.iter().flatten() {
        let sum = all.entry(*stage).or_default();
        *sum = sum.plus(*sums);
    }
    all
}

/// Returns the times of the frames' encoding and decoding.
fn measure(clip: &Clip, effort: Effort, threads: usize) -> Result<[Vec<Stages>; 2], Box<dyn Error>> {
    let [encoding, decoding] = [Clock::new(threads), Clock::new(threads)];
    let [least, most] = Population::usual_bitrates(clip.size, clip.rate);
    let population = Population::log_uniform(least..=most);
    let settings = VideoSettings { size: clip.size, rate: clip.rate, population, threads };
    let model = VideoModel::built_in();
    let mut encoder = VideoEncoder::new(model.clone(), settings).with_effort(effort).with_observer(encoding.clone());
    let mut decoder = VideoDecoder::new(model, clip.size, threads).with_observer(decoding.clone());
    let mut budget = Budget::new(Bitrate::from_bits((least.bits() * most.bits()).isqrt()), clip.rate);
    let mut out = clip.pictures[0].clone();
    for picture in &clip.pictures {
        encoding.start();
        let frame = encoder.encode(picture)?;
        let cut = budget.cut(&frame.bytes, 0)?;
        decoding.start();
        decoder.decode(&frame.bytes[..cut])?;
        decoder.render_into(&mut out)?;
    }
    Ok([encoding.stages(), decoding.stages()])
}

/// Appends the sums; the stages too if `all`.
fn report(out: &mut String, clip: &Clip, threads: usize, all: bool, stages: &Stages) -> Result<(), std::fmt::Error> {
    let frames = (clip.pictures.len() - FIRST_FRAMES) as f64;
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3 / frames;
    let sum = |of: fn(&Sums) -> Duration| milliseconds(stages.values().map(of).sum());
    let whole = sum(|sums| sums.all);
    if all {
        writeln!(out, "{:<18}{:>9}{:>9}{:>9}{:>9}", "stage", "ms", "ns/pixel", "share", "serial")?;
        let mut rows: Vec<_> = stages.iter().collect();
        rows.sort_by(|a, b| if a.1.all < b.1.all { Ordering::Greater } else { Ordering::Less });
        for (stage, sums) in rows {
            let time = milliseconds(sums.all);
            let pixel = time * 1e6 / clip.size.pixels() as f64;
            let serial = milliseconds(sums.serial) / whole * 100.0;
            writeln!(out, "{:<18}{time:>9.2}{pixel:>9.2}{:>8.1}%{serial:>8.1}%", stage.name(), time / whole * 100.0)?;
        }
        let serial = sum(|sums| sums.serial) / whole * 100.0;
        let pixel = whole * 1e6 / clip.size.pixels() as f64;
        writeln!(out, "{:<18}{whole:>9.2}{pixel:>9.2}{:>8.1}%{serial:>8.1}%", "all", 100.0)?;
        return Ok(());
    }
    let path = sum(|sums| sums.path);
    let mut longest: Vec<_> = stages
        .iter()
        .map(|(stage, sums)| (stage, sums.path.as_secs_f64() - sums.all.as_secs_f64() / threads as f64))
        .collect();
    longest.sort_by(|a, b| b.1.total_cmp(&a.1));
    write!(
        out,
        "{threads} threads: all work {whole:.2} ms, critical path {path:.2} ms, {:.2} times; beyond even shares:",
        whole / path
    )?;
    for (stage, beyond) in longest.into_iter().take(6) {
        write!(out, " {} {:.2}", stage.name(), beyond * 1e3 / frames)?;
    }
    writeln!(out)
}
