//! The picture, the rate and the duration that criterion uses.

use std::{path::PathBuf, time::Duration};

use criterion::{BenchmarkGroup, Criterion, Throughput, measurement::WallTime};
use nestcast_benches::picture;
use nestcast_codec::Picture;

/// The rate of all benchmarks, in bits per pixel.
pub(crate) const RATE_BPP: f64 = 1.0;

/// Reads the file that `NESTCAST_BENCH_IMAGE` names, else the bundled photo.
pub(crate) fn photo() -> Picture {
    let bundled = || [env!("CARGO_MANIFEST_DIR"), "..", "lab", "assets", "spiral_firework.png"].iter().collect();
    let path: PathBuf = std::env::var_os("NESTCAST_BENCH_IMAGE").map_or_else(bundled, PathBuf::from);
    picture::open(&path).expect("NESTCAST_BENCH_IMAGE must name a picture")
}

pub(crate) fn group<'a>(criterion: &'a mut Criterion, name: &str, picture: &Picture) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(picture.size().pixels() as u64));
    group.sample_size(20).measurement_time(Duration::from_secs(3));
    group
}
