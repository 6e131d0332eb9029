//! Codes residuals and decodes them: every prefix gives the same integers, in whatever chunks it arrives.

use allocation_counter::measure;
use proptest::prelude::*;

use super::{naive, synthesis};
use crate::model::Model;
use crate::parallel::Threads;
use crate::picture::Size;
use crate::residual::decoder::{ResidualDecoder, keep};
use crate::residual::encoder::ResidualEncoder;
use crate::residual::planes::Planes420;
use crate::residual::synthesis::Memory;
use crate::scratch::{Arena, Scratch};
use crate::stream::slice_decoder::SliceDecoder;
use crate::subband::coefficients;
use crate::subband::layout::{ChromaFormat, Subband};
use crate::subband::sparse::SparseBands;
#[cfg(feature = "training")]
use crate::training::tally::{Receiver, Tally};
use crate::wavelet::synthesis::{Component, Source};

const MAX_PLANES: u8 = 15;

fn size(width: u32, height: u32) -> Size {
    Size::new(width, height).expect("a valid size")
}

fn random(state: &mut u32) -> u32 {
    *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    *state >> 8
}

/// Slopes with grain, at most about `amplitude` sample steps.
fn residual(size: Size, amplitude: i16) -> Planes420<i16> {
    let mut planes = Planes420::new(size);
    let mut state = 7;
    for plane in planes.planes_mut() {
        for (at, value) in plane.iter_mut().enumerate() {
            let grain = i16::try_from(random(&mut state) % 17).expect("small") - 8;
            let slope = i16::try_from(at / 7 % 17).expect("small") - 8;
            *value = (grain + slope) * amplitude / 2;
        }
    }
    planes
}

/// The residual of a bitstream that arrives in pushes of about `chunk` bytes.
fn decoded(size: Size, planes: u8, string: &[u8], chunk: usize, threads: usize) -> Planes420<i16> {
    let model = Model::photo();
    let mut decoder = ResidualDecoder::new(&Threads::new(threads));
    let mut out = Planes420::default();
    decoder.start(size, planes);
    string.chunks(chunk.max(1)).for_each(|bytes| decoder.push(&model, bytes).expect("a valid string"));
    decoder.residual_into(&model, &mut out);
    out
}

/// The mean squared difference, in sample steps.
fn mean_square(a: &Planes420<i16>, b: &Planes420<i16>) -> f64 {
    let samples: usize = a.planes().iter().map(Vec::len).sum();
    let pairs = a.planes().iter().flatten().zip(b.planes().iter().flatten());
    let sum: u32 = pairs.map(|(a, b)| u32::from(a.abs_diff(*b)).pow(2)).sum();
    f64::from(sum) / 64.0 / f64::from(u32::try_from(samples).expect("few"))
}

/// Compares the synthesis with its naive twin. `value` makes a coefficient of a random number, its subband, and its
/// place.
fn check_synthesis(size: Size, value: impl Fn(u32, usize, [usize; 2]) -> i32, threads: usize) {
    let model = Model::photo();
    let mut state = 5;
    let mut plain = Vec::new();
    coefficients::resize(&mut plain, |index| coefficients::count(index, size, ChromaFormat::Half));
    let mut sparse = SparseBands::default();
    sparse.reset(size, ChromaFormat::Half);
    let mut rows = sparse.slices_mut(size, std::iter::once(0..size.height())).next().expect("one slice");
    for (index, values) in plain.iter_mut().enumerate() {
        let width = Subband::at(index).size(size.width(), 1).0;
        for (at, to) in values.iter_mut().enumerate() {
            let place = [at % width, at / width];
            *to = value(random(&mut state), index, place) >> (index / 9);
            if *to != 0 {
                rows[index].set(place, *to);
            }
        }
    }
    let [mut slow, mut fast] = [Planes420::new(size), Planes420::new(size)];
    naive::synthesise(&model.integer_wavelet.taps, &plain, &mut slow);
    let threads = Threads::new(threads);
    let memory = (&threads, &Memory::default());
    fast.planes_mut().into_iter().for_each(|plane| plane.fill(7));
    synthesis::synthesise(&model.integer_wavelet, &sparse, size, memory, keep(&mut fast));
    assert!(slow == fast, "{size:?}, {threads:?}");
}

fn below(random: u32, count: u32) -> i32 {
    (random % count).cast_signed()
}

#[test]
fn every_small_size_is_as_the_whole_array() {
    for (width, height) in (1..=40).flat_map(|height| (1..=40).map(move |width| (width, height))) {
        check_synthesis(size(width, height), |random, _, _| below(random, 4096) - 2048, 1);
    }
}

#[test]
fn subbands_may_be_zero() {
    let zeros: [fn(usize) -> bool; 5] =
        [|index| index >= 48, |index| index >= 12, |_| true, |index| index % 3 != 1, |index| index < 3];
    for zero in zeros {
        for (width, height) in [(1, 1), (2, 1), (1, 9), (64, 3), (131, 77)] {
            let value = |random, index, _: [usize; 2]| if zero(index) { 0 } else { below(random, 512) - 256 };
            check_synthesis(size(width, height), value, 1);
        }
    }
}

#[test]
fn a_few_coefficients_anywhere_are_as_the_whole_array() {
    for (width, height) in [(131, 77), (640, 90), (4160, 70), (705, 300)] {
        for (finest, one_in) in [(57, 40), (57, 1500), (40, 300), (12, 9)] {
            // Beside a column that moves from row to row, and elsewhere by chance.
            let value = |random: u32, index: usize, [x, y]: [usize; 2]| {
                let near = x / 9 == (7 * y + index) % 23;
                let filled = index < finest && (near || (random >> 12).is_multiple_of(one_in));
                if filled && y % 40 < 25 { below(random, 4096) - 2048 } else { 0 }
            };
            check_synthesis(size(width, height), value, 2);
        }
    }
}

#[test]
fn the_largest_coefficients_are_as_the_whole_array() {
    for most in [1 << 10, 1 << 13, 1 << 16, 1 << 30] {
        let value = |random: u32, _, _: [usize; 2]| (below(random, 3) - 1) * most;
        check_synthesis(size(150, 66), value, 1);
    }
}

/// Decodes a bitstream with the float quantiser and synthesis of pictures, in sample steps.
fn decoded_in_floats(size: Size, planes: u8, string: &[u8]) -> Planes420<f32> {
    let model = Model::photo();
    let mut decoder = SliceDecoder::new();
    let mut subbands = Vec::new();
    decoder.start(size, ChromaFormat::Half, planes, false);
    decoder.push(&model, string, &Threads::new(1)).expect("a valid string");
    let used = coefficients::resize(&mut subbands, |index| coefficients::count(index, size, ChromaFormat::Half));
    decoder
        .colours()
        .write_to(&mut subbands, &used, &mut [], &Threads::new(1), |slice, rows| slice.write_to(&model, rows, &used));
    let mut out = Planes420::new(size);
    for (component, plane) in out.planes_mut().into_iter().enumerate() {
        let finest = ChromaFormat::Half.finest_level(component);
        let source = Source { taps: &model.taps, subbands: &subbands, occupied: None, size, component, finest };
        Scratch::default().lend(Component::numbers(&source), |floats| {
            let mut component = Component::new(source, 0, &mut Arena(floats));
            let width = if finest == 1 { size.width() } else { size.halved().width() };
            plane.chunks_mut(width).enumerate().for_each(|(y, row)| component.row(y, row));
        });
    }
    out
}

#[test]
fn a_string_gives_its_residual_back() {
    for (width, height) in [(1, 1), (1, 50), (50, 1), (2, 2), (129, 77), (700, 600)] {
        let residual = residual(size(width, height), 30);
        let (planes, string) = ResidualEncoder::new(&Threads::new(1)).encode(&Model::photo(), &residual, usize::MAX);
        let back = decoded(residual.size(), planes, &string, usize::MAX, 1);
        let rough = decoded(residual.size(), planes, &string[..string.len() / 8], usize::MAX, 1);
        let [error, rough] = [back, rough].map(|other| mean_square(&residual, &other));
        assert!(error < 1.0 && error <= rough, "{width} x {height}: {error} of the whole string, {rough} of an eighth");
    }
}

#[test]
fn integers_are_the_floats_of_pictures_but_for_their_rounding() {
    for (width, height) in [(1, 1), (129, 77), (700, 600)] {
        let residual = residual(size(width, height), 30);
        let (planes, string) = ResidualEncoder::new(&Threads::new(1)).encode(&Model::photo(), &residual, usize::MAX);
        for string in [&string, &string[..string.len() / 8]] {
            let integers = decoded(residual.size(), planes, string, usize::MAX, 1);
            let floats = decoded_in_floats(residual.size(), planes, string);
            let pairs = integers.planes().iter().flatten().zip(floats.planes().iter().flatten());
            let most = pairs.map(|(integer, float)| (f32::from(*integer) - 8.0 * float).abs()).fold(0.0, f32::max);
            assert!(most < 4.0, "{width} x {height}: {most} eighths");
        }
    }
}

#[cfg(feature = "training")]
#[test]
fn a_tally_measures_the_string_and_gives_tables_that_shorten_it() {
    let bytes = crate::tables::PHOTO;
    let size = size(129, 77);
    let mut encoder = ResidualEncoder::new(&Threads::new(1));
    let residual = residual(size, 30);
    let model = Model::from_bytes(bytes).expect("shipped");
    let mut tally = Tally::default();
    let (_, string) = encoder.encode(&model, &residual, usize::MAX);
    let (slices, planes, passes) = encoder.uncoded(&model);
    tally.meet_symbols(slices, planes, passes, &[Receiver { string: string.len() + 8, weight: 1.0 }]);
    let length = |bits: f64| (8.0 * string.len() as f64 - bits).abs();
    assert!(length(tally.bits) < 64.0, "{} bits, {} bytes", tally.bits, string.len());
    tally.meet_points(&model, encoder.bands(), planes, &string).expect("no length in it");

    let better = Model::from_bytes(&tally.better_tables(bytes).expect("shipped")).expect("tables");
    let (_, shorter) = encoder.encode(&better, &residual, usize::MAX);
    assert!(shorter.len() < string.len(), "{} of {} bytes", shorter.len(), string.len());
    // Noise is spread evenly within the finest bins.
    assert!((better.subbands[50].offsets[0] - 0.5).abs() < 0.1);
}

#[cfg(feature = "training")]
#[test]
fn tables_for_who_gets_an_eighth_shorten_the_eighth_most() {
    let bytes = crate::tables::PHOTO;
    let mut encoder = ResidualEncoder::new(&Threads::new(1));
    let residual = residual(size(129, 77), 30);
    let model = Model::from_bytes(bytes).expect("shipped");
    let (_, string) = encoder.encode(&model, &residual, usize::MAX);
    let learned = |encoder: &mut ResidualEncoder, receiver: usize| {
        let mut tally = Tally::default();
        let (slices, planes, passes) = encoder.uncoded(&model);
        tally.meet_symbols(slices, planes, passes, &[Receiver { string: receiver, weight: 1.0 }]);
        Model::from_bytes(&tally.better_tables(bytes).expect("shipped")).expect("tables")
    };
    let eighth = string.len() / 8;
    let models = [eighth, string.len() + 8, 0].map(|receiver| learned(&mut encoder, receiver));
    assert_eq!(models[2].priors, model.priors, "nobody gets a symbol");
    let errors = models.map(|model| {
        let (planes, string) = encoder.encode(&model, &residual, eighth);
        let mut decoder = ResidualDecoder::new(&Threads::new(1));
        let mut out = Planes420::default();
        decoder.start(residual.size(), planes);
        decoder.push(&model, &string).expect("a valid string");
        decoder.residual_into(&model, &mut out);
        mean_square(&residual, &out)
    });
    assert!(errors[0] < errors[1] && errors[1] < errors[2], "{errors:?}");
}

#[test]
fn what_is_zero_takes_no_bytes() {
    let model = Model::photo();
    let residual = Planes420::new(size(300, 200));
    let (planes, string) = ResidualEncoder::new(&Threads::new(1)).encode(&model, &residual, usize::MAX);
    assert_eq!((planes, string.len()), (0, 0));
    assert!(decoded(residual.size(), planes, &string, 1, 1) == residual);
    assert!(decoded(residual.size(), planes, b"bytes that nobody reads", 1, 1) == residual);
    assert!(decoded(residual.size(), 9, &[], 1, 1) == residual);
}

#[test]
fn bytes_before_a_start_are_passed_over() {
    let model = Model::photo();
    let mut decoder = ResidualDecoder::new(&Threads::new(1));
    let mut out = Planes420::default();
    decoder.push(&model, b"bytes").expect("nothing is read of them");
    decoder.residual_into(&model, &mut out);
    assert!(out == Planes420::default());
}

#[test]
fn memory_of_another_residual_changes_nothing() {
    let model = Model::photo();
    let mut encoder = ResidualEncoder::new(&Threads::new(1));
    let mut decoder = ResidualDecoder::new(&Threads::new(1));
    let mut out = Planes420::default();
    for (width, height, amplitude) in [(129, 77, 40), (129, 77, 1), (700, 600, 20), (16, 9, 3), (129, 77, 40)] {
        let residual = residual(size(width, height), amplitude);
        let (planes, string) = encoder.encode(&model, &residual, usize::MAX);
        assert!(
            (planes, string.clone()) == ResidualEncoder::new(&Threads::new(1)).encode(&model, &residual, usize::MAX)
        );
        decoder.start(residual.size(), planes);
        for part in string.chunks(string.len() / 3 + 1) {
            decoder.push(&model, part).expect("a valid string");
            decoder.residual_into(&model, &mut out);
        }
        assert!(out == decoded(residual.size(), planes, &string, usize::MAX, 1), "{width} x {height}");
    }
}

#[test]
fn residuals_after_the_first_take_no_memory() {
    let model = Model::photo();
    let mut encoder = ResidualEncoder::new(&Threads::new(1));
    let mut decoder = ResidualDecoder::new(&Threads::new(1));
    let residual = residual(size(700, 600), 20);
    let mut out = Planes420::default();
    let mut allocations = || {
        let counted = measure(|| {
            let (planes, string) = encoder.encode(&model, &residual, 20_000);
            decoder.start(residual.size(), planes);
            for part in string.chunks(7000) {
                decoder.push(&model, part).expect("a valid string");
                decoder.residual_into(&model, &mut out);
            }
        });
        counted.count_total
    };
    assert!(allocations() > 0, "the counter counts");
    assert_eq!([allocations(), allocations()], [0, 0]);
}

#[test]
fn a_limit_holds_and_threads_change_nothing() {
    let model = Model::photo();
    let residual = residual(size(700, 600), 20);
    let (planes, whole) = ResidualEncoder::new(&Threads::new(1)).encode(&model, &residual, usize::MAX);
    for (limit, threads) in [(0, 1), (1, 2), (1000, 1), (1000, 2), (20_000, 2), (20_000, 5), (usize::MAX, 2)] {
        let (same, string) = ResidualEncoder::new(&Threads::new(threads)).encode(&model, &residual, limit);
        assert_eq!((same, string.len()), (planes, limit.min(whole.len())));
        assert!(whole.starts_with(&string), "{limit} bytes on {threads} threads");
        let once = decoded(residual.size(), planes, &string, usize::MAX, 1);
        assert!(decoded(residual.size(), planes, &string, 7777, threads) == once);
    }
}

#[test]
fn an_encoder_follows_every_byte() {
    let model = Model::photo();
    let mut encoder = ResidualEncoder::new(&Threads::new(1));
    let [mut decoder, mut follower] = [0, 1].map(|_| ResidualDecoder::new(&Threads::new(1)));
    for (width, height) in [(50, 37), (40, 600)] {
        let residual = residual(size(width, height), 3);
        let (planes, string) = encoder.encode(&model, &residual, usize::MAX);
        decoder.start(residual.size(), planes);
        follower.start(residual.size(), planes);
        for byte in string.chunks(1) {
            decoder.push(&model, byte).expect("a valid string");
            follower.follow(&model, &encoder, byte).expect("a valid string");
            assert_eq!(decoder.position(), follower.position());
        }
        let [mut decoded, mut followed] = [Planes420::default(), Planes420::default()];
        decoder.residual_into(&model, &mut decoded);
        follower.residual_into(&model, &mut followed);
        assert!(decoded == followed);
    }
}

#[test]
fn a_length_that_no_encoder_writes_is_refused() {
    let model = Model::photo();
    let mut decoder = ResidualDecoder::new(&Threads::new(1));
    decoder.start(size(700, 600), 9);
    assert!(decoder.push(&model, &[0xFF; 9]).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_size_is_as_the_whole_array(width in 1..200_u32, height in 1..300_u32, threads in 1..4_usize) {
        // Any numbers, so sums overflow.
        check_synthesis(size(width, height), |random, _, _| random.wrapping_mul(0x9E37_79B9).cast_signed(), threads);
    }

    #[test]
    fn prefixes_are_the_same_byte_by_byte(width in 1..90_u32, height in 1..90_u32, cut in 0..100_usize, amplitude in 1..60_i16) {
        let residual = residual(size(width, height), amplitude);
        let (planes, string) = ResidualEncoder::new(&Threads::new(1)).encode(&Model::photo(), &residual, usize::MAX);
        let string = &string[..string.len() * cut / 100];
        let once = decoded(residual.size(), planes, string, usize::MAX, 1);
        prop_assert!(decoded(residual.size(), planes, string, 1, 1) == once);
    }

    #[test]
    fn an_encoder_follows_what_a_decoder_knows_after_any_bytes(
        width in 1..400_u32, height in 1..700_u32, amplitude in 1..60_i16, limit in 0..60_000_usize, threads in 1..4_usize,
        mut cuts in prop::collection::vec(0..1000_usize, 1..6),
    ) {
        let model = Model::photo();
        let threads = Threads::new(threads);
        let mut encoder = ResidualEncoder::new(&threads);
        let [mut decoder, mut follower] = [0, 1].map(|_| ResidualDecoder::new(&threads));
        let [mut decoded, mut followed] = [Planes420::default(), Planes420::default()];
        cuts.sort_unstable();
        // The second residual is coded in the memory of the first.
        for amplitude in [amplitude, 61 - amplitude] {
            let residual = residual(size(width, height), amplitude);
            let (planes, string) = encoder.encode(&model, &residual, if limit < 50_000 { limit } else { usize::MAX });
            decoder.start(residual.size(), planes);
            follower.start(residual.size(), planes);
            let mut from = 0;
            for cut in cuts.iter().map(|cut| (string.len() * cut).div_ceil(999).min(string.len())) {
                decoder.push(&model, &string[from..cut]).expect("a valid string");
                follower.follow(&model, &encoder, &string[from..cut]).expect("a valid string");
                from = cut;
                decoder.residual_into(&model, &mut decoded);
                follower.residual_into(&model, &mut followed);
                prop_assert!(decoded == followed);
                prop_assert_eq!(decoder.position(), follower.position());
            }
        }
    }

    #[test]
    fn any_bytes_give_some_residual(
        width in 1..700_u32, height in 1..700_u32, planes in 0..=MAX_PLANES, bytes in prop::collection::vec(any::<u8>(), 0..2000),
    ) {
        let model = Model::photo();
        let mut decoder = ResidualDecoder::new(&Threads::new(1));
        let mut out = Planes420::default();
        decoder.start(size(width, height), planes);
        let _ = decoder.push(&model, &bytes);
        decoder.residual_into(&model, &mut out);
        prop_assert!(out.planes().iter().flatten().all(|value| (-4096..=4095).contains(value)));
    }
}
