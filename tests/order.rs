//! The order of the stream is right: earlier bytes reduce distortion most, and other orders are worse.
//!
//! The test decodes a stream byte by byte and splits it into its passes: the bytes of each, and the subband's
//! coefficients after it. Then it puts the passes into other orders, in which each subband's passes keep their own
//! order, and makes pictures of what the first bytes would hold at each budget. Pictures are exact; a pass keeps the
//! bytes that it had in the stream. No region is rotated, so each subband's coefficients are its own.

use std::collections::{BTreeMap, BTreeSet};

use nestcast_codec::{
    Channels, Coefficients, Decoder, Encoder, Linear, Picture, Position, Progress, SUBBAND_COUNT, Size, Synthesis,
};
use nestcast_lab::metrics::psnr;
use nestcast_models::Package;

/// Budgets at which orders are compared, in equal ratios.
const BUDGET_COUNT: usize = 24;
const FIRST_BUDGET: f64 = 200.0;

/// The contradiction that one budget may show, because an order is compared at whole passes.
const TOLERANCE_DB: f64 = 0.05;

/// A part of the bundled photo, small enough for one slice and for decoding after every byte.
const PART: (u32, u32, u32, u32) = (192, 160, 384, 256);

/// An improvement of one subband's coefficients, or of several subbands' within one byte.
struct CodingPass {
    bytes: usize,
    /// The coefficients after the pass, by subband.
    after: BTreeMap<usize, Vec<f32>>,
    /// The reduction of the picture's distortion in the stream's order, as mean squared error.
    saved: f64,
}

struct Taken {
    original: Picture,
    linear: Linear,
    empty: Coefficients,
    header: usize,
    passes: Vec<CodingPass>,
}

fn photo() -> Picture {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/assets/spiral_firework.png");
    let photo = image::open(&path).expect("the bundled photo").into_rgb8();
    let (x, y, width, height) = PART;
    let part = image::imageops::crop_imm(&photo, x, y, width, height).to_image();
    Picture::new(Size::new(width, height).expect("a valid size"), Channels::Rgb, part.into_raw()).expect("RGB")
}

fn mse(original: &Picture, decoded: &Picture) -> f64 {
    255.0 * 255.0 / 10_f64.powf(psnr(original, decoded) / 10.0)
}

/// Returns the place of the pass that is being decoded, counted from the end of the stream (spec, section 14): in every
/// plane each subband has one in each of three passes.
/// subband has one in each of three passes.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 15 planes of 171 passes")]
fn left(decoder: &Decoder) -> usize {
    match decoder.progress() {
        Progress::NeedMore(_) => usize::MAX,
        Progress::Complete => 0,
        Progress::Picture(Position(cut)) => (f64::from(cut) * (3 * SUBBAND_COUNT) as f64 - 1e-3).ceil() as usize,
    }
}

/// Returns the subband of a pass, counted from the end of the stream.
fn subband(pass: usize) -> usize {
    let of_plane = 3 * SUBBAND_COUNT;
    (of_plane - 1 - (pass - 1) % of_plane) % SUBBAND_COUNT
}

/// Decodes a stream byte by byte and splits it where one pass ends and the next begins.
fn taken() -> Taken {
    let package = Package::builtin("photo").unwrap_or_else(|error| panic!("{error}"));
    let (original, linear) = (photo(), package.linear(2));
    let stream = Encoder::new(linear.clone()).with_rotations(false).encode(&original).expect("a stream");
    let mut decoder = Decoder::new(linear.clone());
    let header = stream.header();
    let mut empty = Coefficients::default();
    empty.reset_to_zero(header.model, header.size, header.channels, header.axes);
    let mut taken = Taken { original, linear, empty: empty.clone(), header: 0, passes: Vec::new() };
    let (mut known, mut distortion) = (empty, 0.0);
    let (mut place, mut since) = (usize::MAX, 0);
    for (at, &byte) in stream.bytes().iter().enumerate() {
        decoder.push(&[byte]).expect("a prefix is no error");
        let now = left(&decoder);
        if now == place {
            continue;
        }
        let (coefficients, position) = decoder.coefficients().expect("a whole header");
        let mut coefficients = coefficients.clone();
        // In the other orders below, this would be wrong information for the post-filter.
        coefficients.significance.clear();
        let error = mse(&taken.original, &taken.linear.picture_of(coefficients.clone(), position).expect("linear"));
        if place == usize::MAX {
            taken.header = at + 1;
        } else {
            // The next subband's first symbols may be in the same byte; they count with its own pass.
            let passed: BTreeSet<usize> = (now + 1..=place).map(subband).collect();
            for other in
                (0..SUBBAND_COUNT).filter(|other| !passed.contains(other) && (now == 0 || *other != subband(now)))
            {
                let what = "a subband changes in its own passes only: are passes where the specification says?";
                assert!(coefficients.subbands[other] == known.subbands[other], "{what} (subband {other})");
            }
            let changed =
                passed.into_iter().filter(|&subband| coefficients.subbands[subband] != known.subbands[subband]);
            let after = changed.map(|subband| (subband, coefficients.subbands[subband].clone())).collect();
            taken.passes.push(CodingPass { bytes: at + 1 - since, after, saved: distortion - error });
        }
        (place, since, distortion, known) = (now, at + 1, error, coefficients);
    }
    taken
}

impl Taken {
    /// Returns PSNR at each budget for this order of passes. The first pass that does not fit whole, and all later
    /// ones, are left out.
    fn quality(&self, order: &[usize]) -> Vec<f64> {
        let whole: usize = self.passes.iter().map(|pass| pass.bytes).sum();
        let ratio = whole as f64 / FIRST_BUDGET;
        let budget = |n: usize| FIRST_BUDGET * ratio.powf(n as f64 / BUDGET_COUNT as f64);
        // How far each subband is: a pass of several subbands may take one of them further than the next pass in order.
        let (mut known, mut reached) = (self.empty.clone(), [0; SUBBAND_COUNT]);
        let (mut next, mut spent) = (0, 0);
        let mut quality = Vec::new();
        for budget in (0..BUDGET_COUNT).map(budget) {
            while let Some(&pass) = order.get(next).filter(|&&pass| (spent + self.passes[pass].bytes) as f64 <= budget)
            {
                spent += self.passes[pass].bytes;
                next += 1;
                for (&subband, coefficients) in &self.passes[pass].after {
                    if reached[subband] <= pass {
                        reached[subband] = pass;
                        known.subbands[subband].clone_from(coefficients);
                    }
                }
            }
            let picture = self.linear.picture_of(known.clone(), Position(0.0)).expect("linear");
            quality.push(psnr(&self.original, &picture));
        }
        quality
    }

    /// Returns the order by a key that must not fall along any one subband's passes.
    fn by<K: PartialOrd>(&self, key: impl Fn(usize, usize) -> K) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.passes.len()).collect();
        let subband = |pass: usize| self.passes[pass].after.keys().next().copied().unwrap_or(0);
        order.sort_by(|&a, &b| key(a, subband(a)).partial_cmp(&key(b, subband(b))).expect("keys are numbers"));
        order
    }

    /// Returns the order by measured reduction of distortion for each byte, highest first, as far as the subbands' own
    /// orders allow.
    fn greedy(&self) -> Vec<usize> {
        let mut queues: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, pass) in self.passes.iter().enumerate() {
            queues.entry(pass.after.keys().next().copied().unwrap_or(0)).or_default().push(index);
        }
        let mut order = Vec::new();
        // A run of passes of one subband is worth the best average of any of its starts.
        let best = |queue: &[usize]| {
            let (mut saved, mut bytes, mut best) = (0.0, 0, (f64::NEG_INFINITY, 0));
            for (n, &pass) in queue.iter().enumerate() {
                saved += self.passes[pass].saved;
                bytes += self.passes[pass].bytes;
                if saved / bytes as f64 > best.0 {
                    best = (saved / bytes as f64, n + 1);
                }
            }
            best
        };
        let mut heads: BTreeMap<usize, (f64, usize)> =
            queues.iter().map(|(&subband, queue)| (subband, best(queue))).collect();
        while let Some((&subband, &(_, count))) = heads.iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0)) {
            let queue = queues.get_mut(&subband).expect("every head has a queue");
            order.extend(queue.drain(..count));
            if queue.is_empty() {
                heads.remove(&subband);
            } else {
                heads.insert(subband, best(queue));
            }
        }
        order
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the dB by which `shipped` exceeds `other`: the average over the budgets, and the least.
fn above(shipped: &[f64], other: &[f64]) -> (f64, f64) {
    let gains: Vec<f64> = shipped.iter().zip(other).map(|(a, b)| a - b).collect();
    (mean(&gains), gains.iter().copied().fold(f64::INFINITY, f64::min))
}

/// Later bytes reduce distortion less: the stretches compared grow by a third each, from the first budget on.
#[test]
fn distortion_saved_a_byte_falls() {
    const BUDGET_GROWTH: f64 = 4.0 / 3.0;
    /// The factor by which a byte may exceed one in the stretch before.
    const ERROR_SLACK: f64 = 1.25;
    let taken = taken();
    let (mut spent, mut edge) = (taken.header, FIRST_BUDGET);
    let (mut saved, mut bytes) = (0.0, 0);
    let mut slopes: Vec<f64> = Vec::new();
    for pass in &taken.passes {
        (saved, bytes, spent) = (saved + pass.saved, bytes + pass.bytes, spent + pass.bytes);
        if spent as f64 >= edge {
            slopes.push(saved / bytes as f64);
            (saved, bytes) = (0.0, 0);
            edge = spent as f64 * BUDGET_GROWTH;
        }
    }
    println!("distortion saved a byte: {slopes:.5?}");
    assert!(slopes.len() > 12, "{} stretches", slopes.len());
    let risen: Vec<_> = slopes.windows(2).filter(|pair| pair[1] > ERROR_SLACK * pair[0]).collect();
    assert!(risen.is_empty(), "a byte saves more than one before it: {risen:?}");
}

#[test]
fn permuted_orders_are_worse() {
    let taken = taken();
    let count = taken.passes.len();
    let shipped = taken.quality(&(0..count).collect::<Vec<_>>());
    let passes_a_plane = 3 * SUBBAND_COUNT;
    let late = |pass: usize, by: bool| pass + if by { passes_a_plane } else { 0 };
    let is_detail_of_odd_level = |subband: usize| subband >= 3 && (subband - 3) / 9 % 2 == 1;
    let is_chroma = |subband: usize| if subband < 3 { subband > 0 } else { (subband - 3) % 9 >= 3 };
    let orders = [
        ("subband after subband, every plane of it", taken.by(|pass, subband| (subband, pass)), 1.0),
        ("fine subbands before coarse ones", taken.by(|pass, subband| (SUBBAND_COUNT - subband, pass)), 1.0),
        (
            "every second level a plane late",
            taken.by(|pass, subband| (late(pass, is_detail_of_odd_level(subband)), 0)),
            0.3,
        ),
        ("chroma a plane late", taken.by(|pass, subband| (late(pass, is_chroma(subband)), 0)), 0.3),
        ("luma a plane late", taken.by(|pass, subband| (late(pass, !is_chroma(subband)), 0)), 0.3),
    ];
    let mut failures = Vec::new();
    for (name, order, least) in orders {
        assert_eq!(order.len(), count);
        let (mean, worst) = above(&shipped, &taken.quality(&order));
        println!("{name}: {mean:.3} dB worse than the stream on average, {worst:.3} dB where it is nearest");
        if mean < least || worst < -TOLERANCE_DB {
            failures.push(format!("{name}: only {mean:.3} dB worse, {worst:.3} dB somewhere"));
        }
    }
    let (gain, worst) = above(&taken.quality(&taken.greedy()), &shipped);
    println!("the greedy order: {gain:.3} dB better than the stream on average, {worst:.3} dB where it is least");
    assert!(failures.is_empty(), "{}", failures.join("; "));
    assert!(gain < 2.0 * TOLERANCE_DB, "an order by measured distortion would be {gain:.3} dB better");
}
