//! Times of every stage on one picture; the rivals' near the same rate are taken by `rivals`, in the same run of
//! `cargo bench`. A whole encode and decode use two threads, single stages one.

mod timed;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use nestcast_codec::{Analysis, Decoder, Encoder, Model, Position, Synthesis};
use nestcast_lab::metrics::budget;
use nestcast_models::{Package, Runtime};
use timed::{RATE_BPP, group, photo};

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Threads of a whole encode and decode.
const THREADS: usize = 2;
/// The cut told to the deep synthesis; its time does not depend on it.
const CUT: Position = Position(3.0);

fn decoder(model: &Model, threads: usize, bytes: &[u8]) -> Decoder {
    let mut decoder = Decoder::new(model.clone()).with_threads(threads);
    decoder.push(bytes).expect("a stream that was just encoded");
    decoder
}

/// One thread: colour and wavelet, networks, quantiser with entropy coder, and back.
fn single_stages(criterion: &mut Criterion) {
    let package = Package::builtin("photo").expect("the shipped model");
    let runtime = Runtime::open().expect("ONNX Runtime: run `cargo xtask runtime` and set ORT_DYLIB_PATH");
    let (picture, model, linear) = (photo(), package.tables(), package.linear(1));
    let deep = package.deep(&runtime, 1).expect("the shipped networks load");
    let coefficients = linear.analyse(&picture).expect("linear analysis cannot fail");
    let encoder = Encoder::new(model.clone()).with_max_bytes(budget(RATE_BPP, picture.size()));
    let stream = encoder.encode_coefficients(coefficients.clone()).expect("the coefficients fit");
    let arrived = decoder(model, 1, stream.bytes());
    let (known, _) = arrived.coefficients().expect("the header arrived");

    let mut group = group(criterion, "stage", &picture);
    group.bench_function("linear analysis", |b| b.iter(|| linear.analyse(black_box(&picture))));
    group.bench_function("deep analysis", |b| b.iter(|| deep.analyse(black_box(&picture))));
    group.bench_function("quantise and entropy encode", |b| {
        b.iter_batched(|| coefficients.clone(), |c| encoder.encode_coefficients(c), criterion::BatchSize::LargeInput);
    });
    group.bench_function("entropy decode", |b| b.iter(|| decoder(model, 1, black_box(stream.bytes()))));
    group.bench_function("dequantise", |b| b.iter(|| arrived.coefficients()));
    group.bench_function("linear synthesis", |b| {
        b.iter_batched(|| known.clone(), |c| linear.synthesise(c, CUT), criterion::BatchSize::LargeInput);
    });
    group.bench_function("deep synthesis", |b| {
        b.iter_batched(|| known.clone(), |c| deep.synthesise(c, CUT), criterion::BatchSize::LargeInput);
    });
    group.finish();
}

/// What a user waits for, on two threads.
fn whole(criterion: &mut Criterion) {
    let package = Package::builtin("photo").expect("the shipped model");
    let runtime = Runtime::open().expect("ONNX Runtime: run `cargo xtask runtime` and set ORT_DYLIB_PATH");
    let (picture, model, linear) = (photo(), package.tables(), package.linear(THREADS));
    let deep = package.deep(&runtime, THREADS).expect("the shipped networks load");
    let encoder = Encoder::new(model.clone()).with_threads(THREADS).with_max_bytes(budget(RATE_BPP, picture.size()));
    let stream = encoder.encode(&picture, &deep).expect("the picture encodes");

    let mut group = group(criterion, "nestcast", &picture);
    let analyses: [(_, &dyn Analysis); 2] = [("linear", &linear), ("deep", &deep)];
    for (name, analysis) in analyses {
        group.bench_function(BenchmarkId::new("encode", name), |b| {
            b.iter(|| encoder.encode(black_box(&picture), analysis))
        });
    }
    let syntheses: [(_, &dyn Synthesis); 2] = [("linear", &linear), ("deep", &deep)];
    for (name, synthesis) in syntheses {
        group.bench_function(BenchmarkId::new("decode", name), |b| {
            b.iter(|| decoder(model, THREADS, black_box(stream.bytes())).render(synthesis));
        });
    }
    group.finish();
}

criterion_group!(stages, single_stages, whole);
criterion_main!(stages);
