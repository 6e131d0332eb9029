//! The order of the stream is right: what comes first saves most distortion for its bytes, and other orders are worse.
//!
//! A stream is decoded byte by byte and taken apart into its pieces: how many bytes each took, and what the unit's coefficients are
//! behind it. Then the pieces are put into other orders, each unit's own in their order as they must be, and pictures are made of
//! what the first so many bytes would hold. Pictures are exact; a piece keeps the bytes that it took in the stream. No region is
//! rotated, so that a unit's coefficients are its own.

use std::collections::{BTreeMap, BTreeSet};

use nestcast_codec::{
    Channels, Coefficients, Cut, Decoder, Encoder, Linear, Picture, Progress, Size, Synthesis, UNITS,
};
use nestcast_lab::metrics::psnr;
use nestcast_models::Package;

/// Budgets at which orders are compared, in equal ratios.
const BUDGETS: usize = 24;
const FIRST_BUDGET: f64 = 200.0;

/// What a single budget may contradict: an order is compared at whole pieces.
const TOLERANCE_DB: f64 = 0.05;

/// A part of the bundled photo, small enough to be one stripe and for byte after byte.
const PART: (u32, u32, u32, u32) = (192, 160, 384, 256);

/// One unit's coefficients got better, or several units' within one byte.
struct Piece {
    bytes: usize,
    /// By unit: its coefficients behind the piece.
    after: BTreeMap<usize, Vec<f32>>,
    /// Distortion of the picture that it saved in the stream's order, mean squared error.
    saved: f64,
}

struct Taken {
    original: Picture,
    linear: Linear,
    empty: Coefficients,
    header: usize,
    pieces: Vec<Piece>,
}

fn photo() -> Picture {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/assets/spiral_firework.png");
    let photo = image::open(&path).expect("the bundled photo").into_rgb8();
    let (x, y, width, height) = PART;
    let part = image::imageops::crop_imm(&photo, x, y, width, height).to_image();
    Picture::new(Size::new(width, height).expect("a valid size"), Channels::Rgb, part.into_raw()).expect("RGB")
}

fn mse(original: &Picture, decoded: &Picture) -> f64 {
    255.0 * 255.0 / 10_f64.powf(psnr(original, decoded) / 10.0)
}

/// The place of the piece that is being decoded, counted from the end of the stream (spec, section 14): in every plane each
/// unit has one in each of three passes.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 15 planes of 171 pieces")]
fn left(decoder: &Decoder) -> usize {
    match decoder.progress() {
        Progress::NeedMore(_) => usize::MAX,
        Progress::Whole => 0,
        Progress::Picture(Cut(cut)) => (f64::from(cut) * (3 * UNITS) as f64 - 1e-3).ceil() as usize,
    }
}

/// The unit of a piece, counted from the end of the stream.
fn unit(piece: usize) -> usize {
    let of_plane = 3 * UNITS;
    (of_plane - 1 - (piece - 1) % of_plane) % UNITS
}

/// Decodes a stream byte after byte and takes it apart where one piece ends and the next begins.
fn taken() -> Taken {
    let package = Package::builtin("photo").unwrap_or_else(|error| panic!("{error}"));
    let (original, linear) = (photo(), package.linear(2));
    let stream =
        Encoder::new(package.tables().clone()).with_rotations(false).encode(&original, &linear).expect("a stream");
    let mut decoder = Decoder::new(package.tables().clone());
    let axes = stream.header().axes;
    let empty = Coefficients { axes, ..Coefficients::zero(original.size(), Channels::Rgb) };
    let mut taken = Taken { original, linear, empty: empty.clone(), header: 0, pieces: Vec::new() };
    let (mut known, mut distortion) = (empty, 0.0);
    let (mut place, mut since) = (usize::MAX, 0);
    for (at, &byte) in stream.bytes().iter().enumerate() {
        decoder.push(&[byte]).expect("a prefix is no error");
        let now = left(&decoder);
        if now == place {
            continue;
        }
        let (coefficients, cut) = decoder.coefficients().expect("a whole header");
        let error = mse(&taken.original, &taken.linear.synthesise(coefficients.clone(), cut).expect("linear"));
        if place == usize::MAX {
            taken.header = at + 1;
        } else {
            // The next unit's first symbols may be in the same byte: they count with its own piece.
            let passed: BTreeSet<usize> = (now + 1..=place).map(unit).collect();
            for other in (0..UNITS).filter(|other| !passed.contains(other) && (now == 0 || *other != unit(now))) {
                let what = "a unit changes in its own pieces only: are pieces where the specification says?";
                assert!(coefficients.units[other] == known.units[other], "{what} (unit {other})");
            }
            let changed = passed.into_iter().filter(|&unit| coefficients.units[unit] != known.units[unit]);
            let after = changed.map(|unit| (unit, coefficients.units[unit].clone())).collect();
            taken.pieces.push(Piece { bytes: at + 1 - since, after, saved: distortion - error });
        }
        (place, since, distortion, known) = (now, at + 1, error, coefficients);
    }
    taken
}

impl Taken {
    /// PSNR at each budget if the pieces come in this order; pieces that do not fit whole are left out with all behind them.
    fn quality(&self, order: &[usize]) -> Vec<f64> {
        let whole: usize = self.pieces.iter().map(|piece| piece.bytes).sum();
        let ratio = whole as f64 / FIRST_BUDGET;
        let budget = |n: usize| FIRST_BUDGET * ratio.powf(n as f64 / BUDGETS as f64);
        // How far each unit has come: a piece of several units may bring one of them further than the next in order.
        let (mut known, mut reached) = (self.empty.clone(), [0; UNITS]);
        let (mut next, mut spent) = (0, 0);
        let mut quality = Vec::new();
        for budget in (0..BUDGETS).map(budget) {
            while let Some(&piece) =
                order.get(next).filter(|&&piece| (spent + self.pieces[piece].bytes) as f64 <= budget)
            {
                spent += self.pieces[piece].bytes;
                next += 1;
                for (&unit, coefficients) in &self.pieces[piece].after {
                    if reached[unit] <= piece {
                        reached[unit] = piece;
                        known.units[unit].clone_from(coefficients);
                    }
                }
            }
            let picture = self.linear.synthesise(known.clone(), Cut(0.0)).expect("linear");
            quality.push(psnr(&self.original, &picture));
        }
        quality
    }

    /// The order by a key that may not fall along any one unit's pieces.
    fn by<K: PartialOrd>(&self, key: impl Fn(usize, usize) -> K) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.pieces.len()).collect();
        let unit = |piece: usize| self.pieces[piece].after.keys().next().copied().unwrap_or(0);
        order.sort_by(|&a, &b| key(a, unit(a)).partial_cmp(&key(b, unit(b))).expect("keys are numbers"));
        order
    }

    /// The order by distortion saved for a byte, as measured: the most first, as far as units' own orders allow.
    fn greedy(&self) -> Vec<usize> {
        let mut queues: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, piece) in self.pieces.iter().enumerate() {
            queues.entry(piece.after.keys().next().copied().unwrap_or(0)).or_default().push(index);
        }
        let mut order = Vec::new();
        // A run of pieces of one unit is worth the best average that a start of it has.
        let best = |queue: &[usize]| {
            let (mut saved, mut bytes, mut best) = (0.0, 0, (f64::NEG_INFINITY, 0));
            for (n, &piece) in queue.iter().enumerate() {
                saved += self.pieces[piece].saved;
                bytes += self.pieces[piece].bytes;
                if saved / bytes as f64 > best.0 {
                    best = (saved / bytes as f64, n + 1);
                }
            }
            best
        };
        let mut heads: BTreeMap<usize, (f64, usize)> =
            queues.iter().map(|(&unit, queue)| (unit, best(queue))).collect();
        while let Some((&unit, &(_, count))) = heads.iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0)) {
            let queue = queues.get_mut(&unit).expect("every head has a queue");
            order.extend(queue.drain(..count));
            if queue.is_empty() {
                heads.remove(&unit);
            } else {
                heads.insert(unit, best(queue));
            }
        }
        order
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// dB that `shipped` is above `other`: on average over the budgets, and where it is least so.
fn above(shipped: &[f64], other: &[f64]) -> (f64, f64) {
    let gains: Vec<f64> = shipped.iter().zip(other).map(|(a, b)| a - b).collect();
    (mean(&gains), gains.iter().copied().fold(f64::INFINITY, f64::min))
}

/// Along the stream a byte saves less and less: stretches of it that grow by a third each, from the first budget on.
#[test]
fn distortion_saved_a_byte_falls() {
    const GROWTH: f64 = 4.0 / 3.0;
    /// How much more a byte may save than one in the stretch before.
    const SLACK: f64 = 1.25;
    let taken = taken();
    let (mut spent, mut edge) = (taken.header, FIRST_BUDGET);
    let (mut saved, mut bytes) = (0.0, 0);
    let mut slopes: Vec<f64> = Vec::new();
    for piece in &taken.pieces {
        (saved, bytes, spent) = (saved + piece.saved, bytes + piece.bytes, spent + piece.bytes);
        if spent as f64 >= edge {
            slopes.push(saved / bytes as f64);
            (saved, bytes) = (0.0, 0);
            edge = spent as f64 * GROWTH;
        }
    }
    println!("distortion saved a byte: {slopes:.5?}");
    assert!(slopes.len() > 12, "{} stretches", slopes.len());
    let risen: Vec<_> = slopes.windows(2).filter(|pair| pair[1] > SLACK * pair[0]).collect();
    assert!(risen.is_empty(), "a byte saves more than one before it: {risen:?}");
}

#[test]
fn permuted_orders_are_worse() {
    let taken = taken();
    let count = taken.pieces.len();
    let shipped = taken.quality(&(0..count).collect::<Vec<_>>());
    let pieces_a_plane = 3 * UNITS;
    let late = |piece: usize, by: bool| piece + if by { pieces_a_plane } else { 0 };
    let is_detail_of_odd_level = |unit: usize| unit >= 3 && (unit - 3) / 9 % 2 == 1;
    let is_chroma = |unit: usize| if unit < 3 { unit > 0 } else { (unit - 3) % 9 >= 3 };
    let orders = [
        ("unit after unit, every plane of it", taken.by(|piece, unit| (unit, piece)), 1.0),
        ("fine units before coarse ones", taken.by(|piece, unit| (UNITS - unit, piece)), 1.0),
        (
            "every second level a plane late",
            taken.by(|piece, unit| (late(piece, is_detail_of_odd_level(unit)), 0)),
            0.3,
        ),
        ("chroma a plane late", taken.by(|piece, unit| (late(piece, is_chroma(unit)), 0)), 0.3),
        ("luma a plane late", taken.by(|piece, unit| (late(piece, !is_chroma(unit)), 0)), 0.3),
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
