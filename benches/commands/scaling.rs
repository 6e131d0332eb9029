//! `scaling`: how time and memory grow with the picture.
//!
//! A picture of each size repeats a photo in mirrored tiles, so that every pixel has as much to code. Each figure comes
//! from a process of its own, whose peak resident set Linux reports as `VmHWM`. It includes the picture, the program
//! and, for the deep transforms, ONNX Runtime. On other systems the memory stays empty.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use nestcast_benches::{
    ours::{Kind, Ours},
    picture,
    scaling::Row,
    table,
};
use nestcast_lab::{metrics::budget, rate_distortion::rounded};
use serde::{Deserialize, Serialize};

/// Widths and heights: 0.1 to 33 megapixels, with 4K and 8K among them.
const PICTURE_SIZES: [(u32, u32); 8] =
    [(384, 256), (768, 512), (1224, 816), (2048, 1365), (3840, 2160), (4240, 2832), (6000, 4000), (7680, 4320)];

/// A figure is the least of this many runs, or of as many as fit into the time.
const MAX_RUNS: usize = 5;
const MAX_SECONDS: f64 = 1.0;

#[derive(Args)]
pub(crate) struct Options {
    /// Picture to tile.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/assets/spiral_firework.png"))]
    image: PathBuf,
    /// Rate of the streams, bits per pixel.
    #[arg(long, default_value_t = 1.0)]
    bpp: f64,
    /// Threads.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Measure only this operation, on one size, and print it; a run starts its processes with this.
    #[arg(long, hide = true, requires_all = ["width", "height", "stream"])]
    one: Option<Operation>,
    #[arg(long, hide = true)]
    width: Option<u32>,
    #[arg(long, hide = true)]
    height: Option<u32>,
    /// Path of the stream: encoding writes it, decoding reads it.
    #[arg(long, hide = true)]
    stream: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Operation {
    EncodeLinear,
    EncodeDeep,
    DecodeLinear,
    DecodeDeep,
}

impl Operation {
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    const fn is_encode(self) -> bool {
        matches!(self, Self::EncodeLinear | Self::EncodeDeep)
    }

    const fn kind(self) -> Kind {
        if matches!(self, Self::EncodeDeep | Self::DecodeDeep) { Kind::Deep } else { Kind::Linear }
    }
}

/// The output of a process that measures one figure.
#[derive(Serialize, Deserialize)]
struct Figure {
    bytes: usize,
    ms: f64,
    peak_mib: Option<f64>,
}

pub(crate) fn run(options: &Options, results: &Path) -> Result<()> {
    if let (Some(one), Some(width), Some(height), Some(stream)) =
        (options.one, options.width, options.height, &options.stream)
    {
        let figure = measured(options, one, (width, height), stream)?;
        println!("{}", serde_json::to_string(&figure)?);
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let mut rows = Vec::new();
    for (width, height) in PICTURE_SIZES {
        for operation in Operation::value_variants() {
            let stream = folder.path().join(format!("{width}x{height}.nst"));
            let Figure { bytes, ms, peak_mib } = in_process(options, *operation, (width, height), &stream)?;
            let pixels = f64::from(width) * f64::from(height);
            eprintln!("{width}x{height} {}: {ms:.1} ms, {:.0} MiB", operation.name(), peak_mib.unwrap_or(f64::NAN));
            rows.push(Row {
                machine: super::timings::machine(),
                threads: options.threads,
                width,
                height,
                megapixels: rounded(pixels / 1e6, 3),
                operation: operation.name(),
                bytes,
                ms: rounded(ms, 2),
                peak_mib: peak_mib.map(|mib| rounded(mib, 1)),
            });
        }
    }
    table::write(&results.join("scaling.csv"), &rows)
}

fn in_process(options: &Options, one: Operation, (width, height): (u32, u32), stream: &Path) -> Result<Figure> {
    let output = Command::new(std::env::current_exe()?)
        .args(["scaling", "--one", &one.name(), "--width", &width.to_string(), "--height", &height.to_string()])
        .args(["--bpp", &options.bpp.to_string(), "--threads", &options.threads.to_string()])
        .arg("--image")
        .arg(&options.image)
        .arg("--stream")
        .arg(stream)
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "{} of {width}x{height} failed", one.name());
    serde_json::from_slice(&output.stdout).context("a process printed no figure")
}

fn measured(options: &Options, one: Operation, size: (u32, u32), path: &Path) -> Result<Figure> {
    let ours = match one.kind() {
        Kind::Linear => Ours::linear(options.threads)?,
        Kind::Deep => Ours::open(options.threads)?,
    };
    if one.is_encode() {
        let picture = picture::tiled(&picture::open(&options.image)?, size)?;
        let max_bytes = budget(options.bpp, picture.size());
        let (stream, ms, peak_mib) = timed(|| ours.encode(&picture, max_bytes))?;
        std::fs::write(path, stream.bytes())?;
        Ok(Figure { bytes: stream.bytes().len(), ms, peak_mib })
    } else {
        let stream = std::fs::read(path)?;
        let (_, ms, peak_mib) = timed(|| ours.decode(&stream, one.kind()))?;
        Ok(Figure { bytes: stream.len(), ms, peak_mib })
    }
}

/// Returns the least time of some runs, and the peak after the first.
fn timed<T>(work: impl Fn() -> Result<T>) -> Result<(T, f64, Option<f64>)> {
    let began = Instant::now();
    let mut result = work()?;
    let mut least = began.elapsed().as_secs_f64();
    let peak = peak_mib();
    for _ in 1..MAX_RUNS {
        if began.elapsed().as_secs_f64() + least > MAX_SECONDS {
            break;
        }
        let start = Instant::now();
        result = work()?;
        least = least.min(start.elapsed().as_secs_f64());
    }
    Ok((result, least * 1e3, peak))
}

/// Returns the largest resident set of this process so far, where Linux reports it.
fn peak_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib / 1024.0)
}
