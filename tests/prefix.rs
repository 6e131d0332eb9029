//! Every prefix decodes to exactly what the specification says, and more bytes are never worse.

use nestcast_codec::{Decoder, Format, Linear, MAX_HEADER, Picture, Synthesis as _};
use nestcast_tests::reference::Reference;
use nestcast_tests::vectors::{self, Vector};
use nestcast_tests::{furthest, mse, probe};

/// Returns a vector for the probe tables, and what the reference says of it.
fn probed(vector: &Vector) -> (Vec<u8>, Vec<u8>, Reference) {
    let tables = probe::tables(&vectors::tables());
    let stream = probe::stream(&vector.stream, &tables);
    let reference = Reference::decode(&tables, &stream).expect("a valid stream").expect("a whole header");
    (tables, stream, reference)
}

/// Returns the cuts after the header: all of the first, then every 97th, and the last.
fn cuts(header: usize, first: usize, bytes: usize) -> Vec<usize> {
    let mut cuts: Vec<usize> = (header..(header + first).min(bytes)).collect();
    cuts.extend((header + first..bytes).step_by(97));
    cuts.push(bytes);
    cuts
}

/// Checks that a decoder that gets byte after byte always knows what the reference does.
fn levels_at_every_byte(vector: &Vector) {
    let (tables, stream, reference) = probed(vector);
    let header = reference.header().bytes;
    let mut decoder = probe::decoder(&tables);
    decoder.push(&stream[..header]).expect("a header");
    for bytes in header..=stream.len() {
        probe::assert_same(&mut decoder, &reference.at(bytes), &format!("{}, {bytes} bytes", vector.recipe.name));
        decoder.push(stream.get(bytes..bytes + 1).unwrap_or_default()).expect("valid bytes");
    }
}

/// Checks as many cuts as time allows, each decoded separately.
fn levels_at_cuts(vector: &Vector, first: usize) {
    let (tables, stream, reference) = probed(vector);
    for bytes in cuts(reference.header().bytes, first, stream.len()) {
        let mut decoder = probe::decoder(&tables);
        decoder.push(&stream[..bytes]).expect("a prefix is no error");
        probe::assert_same(
            &mut decoder,
            &reference.at(bytes),
            &format!("{}, {bytes} bytes at once", vector.recipe.name),
        );
    }
}

fn vector(name: &str) -> Vector {
    vectors::read().into_iter().find(|vector| vector.recipe.name == name).expect("a vector of this name")
}

#[test]
fn levels_of_small_vectors_at_every_byte() {
    for vector in vectors::read().iter().filter(|vector| vector.recipe.is_small()) {
        levels_at_every_byte(vector);
    }
}

#[test]
fn levels_of_small_vectors_at_once() {
    for vector in vectors::read().iter().filter(|vector| vector.recipe.is_small()) {
        levels_at_cuts(vector, 300);
    }
}

#[test]
fn levels_of_the_photo() {
    levels_at_every_byte(&vector("photo"));
    levels_at_cuts(&vector("photo"), 300);
}

#[test]
fn levels_of_the_longest_line() {
    levels_at_cuts(&vector("longest"), 300);
}

#[test]
fn levels_of_slices() {
    levels_of_slices_of("slices");
    levels_of_slices_of("slices-gains");
    levels_of_slices_of("slices-deep-alpha");
}

fn levels_of_slices_of(name: &str) {
    let vector = vector(name);
    let (tables, stream, reference) = probed(&vector);
    let mut decoder = probe::decoder(&tables);
    let mut before = 0;
    for bytes in cuts(reference.header().bytes, 40, stream.len()) {
        decoder.push(&stream[before..bytes]).expect("a prefix is no error");
        before = bytes;
        probe::assert_same(&mut decoder, &reference.at(bytes), &format!("{name}, {bytes} bytes"));
    }
}

/// A run over a whole stream answers for its prefixes: the reference's only optimisation.
#[test]
fn the_reference_agrees_with_itself() {
    for (name, step) in [("tiny", 1), ("line", 7), ("grey", 1), ("photo", 501), ("slices", 7001), ("gains", 13)] {
        let vector = vector(name);
        let tables = vectors::tables();
        let whole = Reference::decode(&tables, &vector.stream).expect("valid").expect("whole");
        for bytes in (whole.header().bytes..=vector.stream.len()).step_by(step) {
            let prefix = Reference::decode(&tables, &vector.stream[..bytes]).expect("valid").expect("whole");
            let (one, other) = (whole.at(bytes), prefix.at(bytes));
            assert!(one.subbands == other.subbands && one.t == other.t, "{name}, {bytes} bytes");
        }
    }
}

/// The planes differ little from exact arithmetic, and the linear picture made from them by at most 1 in a sample.
#[test]
fn samples_within_one_of_exact_arithmetic() {
    /// The tolerance for planes, from the specification.
    const TOLERANCE: f64 = 1.0 / 16.0;
    let (tables, model) = (vectors::tables(), vectors::model());
    let linear = Linear::new(model.clone());
    for vector in vectors::read() {
        let reference = Reference::decode(&tables, &vector.stream).expect("valid").expect("whole");
        let step = match vector.recipe.name {
            "slices" | "slices-gains" | "slices-deep-alpha" => 24_029,
            "longest" | "photo" | "noise" | "deep" => 331,
            _ => 7,
        };
        let bytes = vector.stream.len();
        for cut in (reference.header().bytes..bytes).step_by(step).chain([bytes]) {
            let mut decoder = Decoder::new(linear.clone());
            decoder.push(&vector.stream[..cut]).expect("a prefix is no error");
            let format = decoder.header().expect("a header").format();
            let picture = decoder.render_as(format).expect("a picture");
            let planes =
                linear.compose(decoder.coefficients().expect("a picture").0).expect("the picture's coefficients");
            let planes: Vec<Vec<f64>> =
                planes.components.iter().map(|plane| plane.iter().map(|&v| v.into()).collect()).collect();
            let prefix = reference.at(cut);
            let exact = reference.planes(&prefix);
            let pairs = planes.iter().flatten().zip(exact.iter().flatten());
            let off = pairs.fold(0.0_f64, |off, (value, exact)| off.max((value - exact).abs()));
            assert!(off <= TOLERANCE, "{}, {cut} bytes: a plane is off by {off}", vector.recipe.name);
            let off = if format == format.channels().into() {
                furthest(picture.samples(), &reference.picture_of(&prefix, &planes))
            } else {
                let mut colours = Picture::zero(picture.size(), Format::interleaved(format.channels(), false, true));
                let (coefficients, position) = decoder.coefficients().expect("a picture");
                linear.synthesise(coefficients, position, (&mut colours).into()).expect("the picture's coefficients");
                let off = furthest16(colours.samples(), &reference.deep_picture_of(&prefix, &planes));
                assert!(off <= 257, "{}, {cut} bytes: a sample of 16 bits is off by {off}", vector.recipe.name);
                alpha_off(&picture, reference.alpha(&prefix).as_deref())
            };
            assert!(off <= 1, "{}, {cut} bytes: a sample is off by {off}", vector.recipe.name);
        }
    }
}

/// Returns the largest difference between samples of 16 bits.
fn furthest16(one: &[u8], other: &[u16]) -> u16 {
    let samples = one.as_chunks().0.iter().map(|sample| u16::from_le_bytes(*sample));
    assert_eq!(one.len(), 2 * other.len());
    samples.zip(other).map(|(one, other)| one.abs_diff(*other)).max().expect("a sample")
}

/// Returns the largest difference between the opacity of a picture, and this one, in steps of 8 bits, rounded down.
fn alpha_off(picture: &Picture, expected: Option<&[u16]>) -> u8 {
    let Some(expected) = expected else { return 0 };
    let format = picture.format();
    let count = format.channels().count() + 1;
    let bytes = if format.is_deep() { 2 } else { 1 };
    let alphas = picture.samples().chunks(bytes * count).map(|pixel| match pixel[bytes * (count - 1)..] {
        [low, high] => u16::from_le_bytes([low, high]),
        [alpha] => 257 * u16::from(alpha),
        _ => panic!("no sample of 8 or 16 bits"),
    });
    let off = alphas.zip(expected).map(|(one, other)| one.abs_diff(*other)).max().expect("a sample");
    u8::try_from(off / 257).expect("at most 255")
}

/// More bytes do not make photos worse: the error rises by at most the tolerance from one cut to any later one.
#[test]
fn more_bytes_are_not_worse() {
    /// A coefficient's new bit moves its value to the middle of the remaining interval, which for few is a little
    /// worse.
    const TOLERANCE_DB: f64 = 0.02;
    let model = vectors::model();
    let linear = Linear::new(model.clone());
    for (name, step) in [("photo", 19), ("slices", 199), ("gains", 7), ("slices-gains", 199)] {
        let vector = vector(name);
        let original = vector.recipe.picture();
        let mut decoder = Decoder::new(linear.clone());
        let (mut best, mut worst) = (f64::INFINITY, 0.0_f64);
        let bytes = vector.stream.len();
        let mut before = 0;
        for cut in (MAX_HEADER..bytes).step_by(step).chain([bytes]) {
            decoder.push(&vector.stream[before..cut]).expect("a prefix is no error");
            before = cut;
            let mse = mse(&original, &decoder.render().expect("a picture"));
            let rise = 10.0 * (mse / best).log10();
            worst = worst.max(rise);
            assert!(rise <= TOLERANCE_DB, "{name}: at {cut} bytes the error is {rise:.4} dB above its least so far");
            best = best.min(mse);
        }
        println!("{name}: the error never rises by more than {worst:.4} dB");
    }
}

/// A symbol is refused if the tail of ones exactly reaches the bound, which noise never does.
#[test]
fn a_tail_that_just_reaches_the_bound() {
    for q in (257..32736_u32).step_by(256) {
        // All contexts begin with this probability, so the first bound is a multiple of 256 and 255.
        let mut tables = probe::tables(&vectors::tables());
        let prior = u16::try_from(2 * q).expect("16 bits").to_le_bytes();
        tables[4190..18_754].chunks_mut(2).for_each(|of| of.copy_from_slice(&prior));
        let bound = (u32::MAX >> 15) * q;
        let tiny = vector("grey");
        let mut stream = probe::stream(&tiny.stream[..14], &tables);
        for (first, determined) in [(bound - 255, false), (bound - 511, true)] {
            stream.truncate(14);
            stream.extend(&first.to_be_bytes()[..3]);
            let reference = Reference::decode(&tables, &stream).expect("valid").expect("whole");
            let cut = reference.at(stream.len());
            let start = i64::from(reference.header().planes) << 20;
            assert_eq!(cut.t < start, determined, "q {q}");
            let mut decoder = probe::decoder(&tables);
            decoder.push(&stream).expect("a prefix is no error");
            probe::assert_same(&mut decoder, &cut, &format!("q {q}"));
        }
    }
}
