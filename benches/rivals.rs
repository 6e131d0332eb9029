//! Times of the rivals on one picture, near the rate at which `stages` times nestcast. They run on one thread, because
//! they support no more, and use the system's allocator: OpenJPEG's port allocates with one allocator and frees with
//! the other.

mod timed;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use nestcast_benches::rivals::{self, Avif, Baseline, Lossy, Rival, Sampling, SingleRate};
use nestcast_lab::metrics::bpp;
use timed::{RATE_BPP, group, photo};

fn single_thread(criterion: &mut Criterion) {
    let picture = photo();
    let timed: [&dyn Rival; 4] = [&Baseline(Sampling::S420), &Lossy { method: 4 }, &SingleRate, &Avif(Sampling::S420)];
    let mut group = group(criterion, "rival", &picture);
    for rival in timed {
        let (parameter, bytes) = rivals::nearest(rival, &picture, RATE_BPP).expect("the rival encodes");
        let setting = format!("{} {parameter} ({:.2} bpp)", rival.name(), bpp(bytes.len(), picture.size()));
        group.bench_function(BenchmarkId::new("encode", &setting), |b| {
            b.iter(|| rival.encode(black_box(&picture), parameter).expect("the rival encodes"));
        });
        group.bench_function(BenchmarkId::new("decode", &setting), |b| {
            b.iter(|| rival.decode(black_box(&bytes)).expect("the rival decodes"));
        });
    }
    group.finish();
}

criterion_group!(all, single_thread);
criterion_main!(all);
