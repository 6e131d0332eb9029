//! nestcast, x264, scalable coding and Motion JPEG over simulated links, in virtual time: quality, latency, and how much
//! of the link is used.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use clap::{Parser, value_parser};
use nestcast_lab::clip::Clip;
use nestcast_lab::plot::{Axis, Chart, Curve, Stroke};
use nestcast_live_benches::figures::{Row, TABLE_HEADING};
use nestcast_live_benches::links::Scenario;
use nestcast_live_benches::run::{Outcome, Scheme, Studio};
use nestcast_live_benches::steps::Step;

/// The link in the plot.
const DRAWN_LINK: &str = "norway-metro";
/// The strokes by [`Scheme::ALL`].
const SCHEME_STROKES: [Stroke; 6] =
    [Stroke::strong(0), Stroke::dashed(5), Stroke::strong(5), Stroke::strong(1), Stroke::strong(3), Stroke::dashed(2)];

/// Runs one broadcast to one receiver for every link and scheme, in virtual time, over the product's own QUIC. It needs
/// ffmpeg, and for layers example programs of libaom and libvpx.
#[derive(Parser)]
struct Options {
    /// Only this link (may be repeated), by its name in the table.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Only this scheme (may be repeated), by its name in the table.
    #[arg(long, value_name = "NAME")]
    scheme: Vec<String>,
    /// This link too: a trace with two columns, seconds and Mbit/s, or mahimahi's (may be repeated).
    #[arg(long, value_name = "FILE")]
    trace: Vec<PathBuf>,
    /// Instead of the table's links, one link with these rates, four seconds each.
    #[arg(
        long,
        value_name = "KBIT/S",
        value_delimiter = ',',
        value_parser = value_parser!(u64).range(1..=1_000_000),
        conflicts_with_all = ["only", "trace", "plot"]
    )]
    steps: Vec<u64>,
    /// Each change of `--steps` is this much later, up to 100, and hits another moment of a frame.
    #[arg(long, value_name = "MS", default_value_t = 0, requires = "steps", value_parser = value_parser!(u64).range(..=100))]
    later: u64,
    /// This y4m video in place of the built-in one; of a long one, its first frames.
    #[arg(long, value_name = "CLIP.y4m")]
    clip: Option<PathBuf>,
    /// All links, and rivals' rungs, have this many times their rates: a larger video needs more.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..=100))]
    times: u32,
    /// The table to write.
    #[arg(long, value_name = "OUT.csv")]
    csv: Option<PathBuf>,
    /// PSNR over time on the recorded link by metro.
    #[arg(long, value_name = "OUT.svg")]
    plot: Option<PathBuf>,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let mut scenarios = Scenario::all()?;
    scenarios.extend(Scenario::impaired());
    scenarios.extend(Scenario::fast());
    for path in &options.trace {
        scenarios.push(Scenario::open(path)?);
    }
    if !options.steps.is_empty() {
        scenarios = vec![Scenario::steps(&options.steps, Duration::from_millis(options.later))];
    }
    scenarios.retain(|scenario| options.only.is_empty() || options.only.contains(&scenario.name));
    let scenarios: Vec<_> = scenarios.into_iter().map(|scenario| scenario.times(options.times)).collect();
    ensure!(!scenarios.is_empty(), "no link of that name");
    let mut studios = BTreeMap::new();
    let (mut table, mut curves, mut steps) = (csv::Writer::from_writer(Vec::new()), Vec::new(), Vec::new());
    let mut missing = BTreeSet::new();
    println!("{TABLE_HEADING}");
    for scenario in &scenarios {
        let studio = match studios.entry(scenario.frames_per_second) {
            Entry::Occupied(studio) => studio.into_mut(),
            Entry::Vacant(studio) => {
                let clip = clip(options.clip.as_deref())?;
                studio.insert(Studio::new(clip, scenario.frames_per_second, options.times)?)
            }
        };
        for (scheme, stroke) in Scheme::ALL.into_iter().zip(SCHEME_STROKES) {
            if !options.scheme.is_empty() && !options.scheme.iter().any(|name| name == scheme.name()) {
                continue;
            }
            if let Some(program) = studio.missing(scheme) {
                missing.insert(program);
                continue;
            }
            let outcome = studio.run(scheme, scenario)?;
            if scenario.name.ends_with(DRAWN_LINK) {
                curves.push(curve(scheme, &outcome, stroke));
            }
            let row = Row::new(scheme.name(), scenario, &outcome);
            println!("{row}");
            let followed = Step::of(scenario, &outcome.seen);
            steps.extend(followed.iter().map(|step| format!("{}, {}: {step}", scenario.name, scheme.name())));
            table.serialize(row)?;
        }
    }
    for program in missing {
        eprintln!("without the rows of {program}: it is not on the PATH; benches/README.md says how to build it");
    }
    steps.iter().for_each(|step| println!("{step}"));
    if let Some(path) = &options.csv {
        std::fs::write(path, table.into_inner()?)?;
    }
    if let Some(path) = &options.plot {
        std::fs::write(path, chart(curves).svg()?)?;
    }
    Ok(())
}

/// Reads the video of this file, or the built-in one.
fn clip(path: Option<&Path>) -> Result<Clip> {
    let Some(path) = path else { return Clip::builtin() };
    let failed = || format!("{} cannot be used", path.display());
    Clip::read(BufReader::new(File::open(path).with_context(failed)?), u64::MAX).with_context(failed)
}

fn curve(scheme: Scheme, outcome: &Outcome, stroke: Stroke) -> Curve {
    let points = outcome.seen.iter().map(|seen| (seen.captured.as_secs_f64(), seen.psnr));
    Curve { name: scheme.name().to_owned(), points: points.collect(), stroke, labels: Vec::new() }
}

fn chart(curves: Vec<Curve>) -> Chart {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let x = Axis::linear("seconds", (1.0, points().map(|point| point.0).fold(2.0, f64::max)));
    let y = Axis::fitting("PSNR of luma (dB)", points().filter(|point| point.0 >= 1.0).map(|point| point.1));
    Chart { title: "What stands on the screen, by metro".to_owned(), x, y, marks: Vec::new(), curves }
}
