//! Tables with which the codec's public values reveal Levels and planes exactly.
//!
//! The codec returns coefficients as floats. With a step of 1 and an offset of `(p + 1) / 32` steps for plane `p`, the
//! float of a Level `l` known to plane `p` is `sign * (|l| + (p + 1) / 32)`: 20 bits, exact, and both can be recovered.
//! Steps and offsets do not change the meaning of bits, so a stream for one set of tables is a stream for the other
//! once its header names them.

use std::sync::Arc;

use nestcast_codec::{Decoder, Linear, Model};
use sha2::{Digest as _, Sha256};

use crate::{Levels, Prefix};

/// Returns the same weights and priors, with steps and offsets that reveal Levels.
pub fn tables(tables: &[u8]) -> Vec<u8> {
    let mut probe = tables.to_vec();
    for subband in 0..57 {
        let at = 200 + 70 * subband;
        probe[at..at + 4].copy_from_slice(&1_f32.to_le_bytes());
        for (plane, offset) in probe[at + 4..at + 64].chunks_mut(4).enumerate() {
            let value = (plane as f32 + 1.0) / 32.0 / (1 << plane) as f32;
            offset.copy_from_slice(&value.to_le_bytes());
        }
    }
    probe
}

/// Returns a stream with another model's id in its header.
///
/// # Panics
/// If the header is incomplete.
pub fn stream(stream: &[u8], tables: &[u8]) -> Vec<u8> {
    let mut renamed = stream.to_vec();
    let side = |at: usize| if stream[at] < 0x80 { 1 } else { 2 };
    let height = 5 + side(5);
    let model = height + side(height);
    renamed[model..model + 6].copy_from_slice(&Sha256::digest(tables)[..6]);
    renamed
}

/// Returns a decoder for streams of the probe tables.
///
/// # Panics
/// If the tables are refused.
pub fn decoder(tables: &[u8]) -> Decoder {
    let model = Model::from_bytes(tables).unwrap_or_else(|error| panic!("tables: {error}"));
    Decoder::new(Linear::new(Arc::new(model)))
}

/// Compares the Levels, planes and `t` that a decoder knows with those of the reference.
///
/// # Panics
/// If they differ, with the first difference.
pub fn assert_same(decoder: &mut Decoder, expected: &Prefix, what: &str) {
    let (coefficients, cut) = decoder.coefficients().unwrap_or_else(|error| panic!("{what}: {error}"));
    let exact = |levels: &Levels| (0..levels.levels.len()).map(|at| exact(levels, expected.fine, at)).collect();
    let mut all: Vec<Vec<f64>> = expected.subbands.iter().map(exact).collect();
    expected.regions.undo(&mut all);
    // After rotations and gains are undone they are no longer exact; a wrong Level or plane moves one by at least
    // 0.018, which gains scale.
    let tolerance = if expected.regions.change() { 0.01 } else { 0.0 };
    let mut tolerances: Vec<Vec<f64>> = all.iter().map(|values| vec![tolerance; values.len()]).collect();
    expected.regions.undo_gains(&mut tolerances);
    for (subband, ((values, expected), all)) in
        coefficients.subbands.iter().zip(&expected.subbands).zip(&all).enumerate()
    {
        assert_eq!(values.len(), expected.levels.len(), "{what}: size of subband {subband}");
        for (at, value) in values.iter().enumerate() {
            let exact = all[at];
            let tolerance = tolerances[subband][at];
            assert!(
                (f64::from(*value) - exact).abs() <= tolerance,
                "{what}: subband {subband} ({} wide), coefficient {at}: value {value}, the reference says {exact} \
                 (Level {}, known to plane {})",
                expected.width,
                expected.levels[at],
                expected.known[at],
            );
        }
    }
    let (t, expected) = (f64::from(cut.0) * 1_048_576.0, expected.t);
    assert!(t == expected as f64, "{what}: the position is {t} / 2^20, the reference says {expected}");
}

fn exact(expected: &Levels, fine: i32, at: usize) -> f64 {
    let level = f64::from(expected.levels[at]) / f64::from(1 << fine);
    let plane = expected.known[at] - fine;
    let offset = if plane < 0 { 2_f64.powi(plane) / 2.0 } else { f64::from(plane + 1) / 32.0 };
    if level == 0.0 { 0.0 } else { level + level.signum() * offset }
}
