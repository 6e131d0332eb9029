//! Section 3: a model's tables.

use sha2::{Digest, Sha256};

use super::Fault;

/// A model's tables.
#[derive(Clone, Debug)]
pub struct Tables {
    /// First 6 bytes of the SHA-256 of the file.
    pub id: [u8; 6],
    /// Level 1..6 less 1, step, near then far: 48 in file order.
    pub(super) taps: Vec<f64>,
    pub(super) subbands: Vec<Record>,
    pub(super) priors: Vec<u16>,
    /// The part after the priors, if there is one.
    pub(super) filter: Option<Filter>,
}

/// Section 3, "Post-filter".
#[derive(Clone, Debug)]
pub(super) struct Filter {
    pub(super) step: u32,
    /// The taps by component; then by cut, class, phase, tap.
    pub(super) taps: [Vec<i32>; 3],
}

/// One subband's record.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) step: f64,
    pub(super) offsets: Vec<f64>,
    /// The weights of side, above, diagonal, parent, from luma, from U.
    pub(super) weights: Vec<u32>,
}

impl Tables {
    /// Reads a tables file.
    pub fn read(bytes: &[u8]) -> Result<Self, Fault> {
        if bytes.len() < 5 || &bytes[..4] != b"NSTM" {
            return Err(Fault::Corrupt);
        }
        if bytes[4] != 1 {
            return Err(Fault::Unsupported);
        }
        if ![18754, 105_156].contains(&bytes.len()) || bytes[5..8] != [0, 0, 0] {
            return Err(Fault::Corrupt);
        }
        let hash = Sha256::digest(bytes);
        let small = |from: usize, count: usize| floats(bytes, from, count, |value| value.abs() < 10000.0);
        let subbands = (0..57).map(|subband| record(bytes, 200 + 70 * subband));
        Ok(Self {
            id: std::array::from_fn(|index| hash[index]),
            taps: small(8, 48)?,
            subbands: subbands.collect::<Result<_, _>>()?,
            priors: bytes[4190..18754].chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect(),
            filter: if bytes.len() > 18754 { Some(filter(&bytes[18754..])?) } else { None },
        })
    }

    /// Returns the near and the far tap of a lifting step.
    pub(super) fn tap(&self, level: usize, step: usize) -> (f64, f64) {
        let at = 8 * (level - 1) + 2 * step;
        (self.taps[at], self.taps[at + 1])
    }
}

fn filter(bytes: &[u8]) -> Result<Filter, Fault> {
    let step = u32::from(bytes[0]) + 256 * u32::from(bytes[1]);
    let taps: Vec<i32> = bytes[2..].iter().map(|&byte| i32::from(byte.cast_signed())).collect();
    let (luma, chroma) = taps.split_at(3 * 720 * 12);
    let (blue, red) = chroma.split_at(3 * 720 * 14);
    let tame =
        |taps: &[i32]| taps.iter().all(|&tap| tap != -128) && taps.iter().map(|tap| tap.abs()).sum::<i32>() <= 511;
    let filters = luma.chunks(12).chain(blue.chunks(14)).chain(red.chunks(14));
    if !(1..=8191).contains(&step) || !filters.into_iter().all(tame) {
        return Err(Fault::Corrupt);
    }
    Ok(Filter { step, taps: [luma.to_vec(), blue.to_vec(), red.to_vec()] })
}

fn record(bytes: &[u8], at: usize) -> Result<Record, Fault> {
    Ok(Record {
        step: floats(bytes, at, 1, |step| (0.001_f32..10000.0).contains(&step))?[0],
        offsets: floats(bytes, at + 4, 15, |offset| offset.abs() < 10000.0)?,
        weights: bytes[at + 64..at + 70].iter().map(|&weight| u32::from(weight)).collect(),
    })
}

fn floats(bytes: &[u8], from: usize, count: usize, allowed: impl Fn(f32) -> bool) -> Result<Vec<f64>, Fault> {
    let of = |at: usize| f32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let values = (0..count).map(|index| of(from + 4 * index));
    values.map(|value| if allowed(value) { Ok(f64::from(value)) } else { Err(Fault::Corrupt) }).collect()
}
