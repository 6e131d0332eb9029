//! Times of one call on one picture: the rivals near 1 bpp, so that ratios can be read within a run.
//!
//! The picture is the file that `NESTCAST_BENCH_IMAGE` names, else the bundled budgie; figures are quoted for 768x512.

use std::{hint::black_box, path::PathBuf, time::Duration};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use nestcast_benches::{
    picture::Picture,
    rivals::{self, Baseline, Lossy, Rival, Sampling, SingleRate},
};

/// The rate at which rivals are timed, bits per pixel.
const RATE_BPP: f64 = 1.0;

fn picture() -> Picture {
    let path = std::env::var_os("NESTCAST_BENCH_IMAGE").map_or_else(
        || {
            [
                env!("CARGO_MANIFEST_DIR"),
                "..",
                "tests",
                "assets",
                "budgie.png",
            ]
            .iter()
            .collect()
        },
        PathBuf::from,
    );
    Picture::open(&path)
        .expect("NESTCAST_BENCH_IMAGE must name a picture where the bundled one is missing")
}

fn rivals(criterion: &mut Criterion) {
    let picture = picture();
    let timed: [&dyn Rival; 3] = [&Baseline(Sampling::S420), &Lossy { method: 4 }, &SingleRate];
    let mut group = criterion.benchmark_group("rivals");
    group.throughput(Throughput::Elements(picture.pixels() as u64));
    group
        .sample_size(20)
        .measurement_time(Duration::from_secs(3));
    for rival in timed {
        let (parameter, bytes) =
            rivals::nearest(rival, &picture, RATE_BPP).expect("the rival encodes");
        let setting = format!(
            "{} {parameter} ({:.2} bpp)",
            rival.name(),
            picture.bpp(bytes.len())
        );
        group.bench_function(BenchmarkId::new("encode", &setting), |bencher| {
            bencher.iter(|| {
                rival
                    .encode(black_box(&picture), parameter)
                    .expect("the rival encodes")
            });
        });
        group.bench_function(BenchmarkId::new("decode", &setting), |bencher| {
            bencher.iter(|| rival.decode(black_box(&bytes)).expect("the rival decodes"));
        });
    }
    group.finish();
}

criterion_group!(stages, rivals);
criterion_main!(stages);
