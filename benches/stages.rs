//! Times of every stage on one picture; `rivals` times the rivals near the same rate, in the same run of `cargo bench`.
//! A whole encode and decode use two threads, single stages one.

mod timed;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use nestcast_codec::{Analysis, Codec, Decoder, Encoder, Position, Synthesis};
use nestcast_lab::metrics::budget;
use nestcast_models::{Package, Runtime};
use timed::{RATE_BPP, group, photo};

/// The program's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Threads of a whole encode and decode.
const THREAD_COUNT: usize = 2;
/// The position passed to the deep synthesis; its time does not depend on it.
const SYNTHESIS_POSITION: Position = Position(3.0);

fn push(decoder: &mut Decoder, bytes: &[u8]) {
    decoder.reset();
    decoder.push(bytes).expect("a stream that was just encoded");
}

/// Times on one thread: colour and wavelet, networks, quantiser with entropy coder, and the inverses.
fn single_stages(criterion: &mut Criterion) {
    let package = Package::builtin("photo").expect("the shipped model");
    let runtime = Runtime::open().expect("ONNX Runtime: run `cargo xtask runtime` and set ORT_DYLIB_PATH");
    let (mut picture, linear) = (photo(), package.linear(1));
    let deep = package.deep(&runtime, 1).expect("the shipped networks load");
    let analysed = linear.coefficients_of((&picture).into()).expect("linear analysis cannot fail");
    let mut encoder = Encoder::new(linear.clone()).with_max_bytes(budget(RATE_BPP, picture.size()));
    let stream = encoder.encode_coefficients(&analysed).expect("the coefficients fit");
    let mut decoder = Decoder::new(linear.clone());
    push(&mut decoder, stream.bytes());
    let known = decoder.coefficients().expect("the header arrived").0.clone();

    let mut coefficients = analysed.clone();
    let mut group = group(criterion, "stage", &picture);
    let analyses: [(_, &dyn Analysis); 2] = [("linear analysis", &linear), ("deep analysis", &deep)];
    for (name, analysis) in analyses {
        group.bench_function(name, |b| b.iter(|| analysis.analyse(black_box((&picture).into()), &mut coefficients)));
    }
    group.bench_function("quantise and entropy encode", |b| {
        b.iter(|| encoder.encode_coefficients(black_box(&analysed)))
    });
    group.bench_function("entropy decode", |b| b.iter(|| push(&mut decoder, black_box(stream.bytes()))));
    group.bench_function("dequantise", |b| b.iter(|| decoder.coefficients().map(drop)));
    let syntheses: [(_, &dyn Synthesis); 2] = [("linear synthesis", &linear), ("deep synthesis", &deep)];
    for (name, synthesis) in syntheses {
        group.bench_function(name, |b| {
            b.iter_batched_ref(
                || known.clone(),
                |known| synthesis.synthesise(known, SYNTHESIS_POSITION, (&mut picture).into()),
                criterion::BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

/// Times what a user waits for, on two threads, frame after frame.
fn whole(criterion: &mut Criterion) {
    let package = Package::builtin("photo").expect("the shipped model");
    let runtime = Runtime::open().expect("ONNX Runtime: run `cargo xtask runtime` and set ORT_DYLIB_PATH");
    let mut picture = photo();
    let deep = Codec::with(package.deep(&runtime, THREAD_COUNT).expect("the shipped networks load"));
    let codecs = [("linear", Codec::with(package.linear(THREAD_COUNT))), ("deep", deep)];

    let mut group = group(criterion, "nestcast", &picture);
    for (name, codec) in codecs {
        let mut encoder = codec.encoder().with_max_bytes(budget(RATE_BPP, picture.size()));
        let stream = encoder.encode(&picture).expect("the picture encodes");
        group.bench_function(BenchmarkId::new("encode", name), |b| b.iter(|| encoder.encode(black_box(&picture))));
        let mut decoder = codec.decoder();
        group.bench_function(BenchmarkId::new("decode", name), |b| {
            b.iter(|| {
                push(&mut decoder, black_box(stream.bytes()));
                decoder.render_into(&mut picture)
            });
        });
    }
    group.finish();
}

criterion_group!(stages, single_stages, whole);
criterion_main!(stages);
