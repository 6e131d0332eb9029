//! Sections 21, 26 and 27: frames, the two pictures that they are predicted from, and the shown picture.

use std::ops::Range;

use super::motion::{self, Field, Vector};
use super::post_filter::Planes;
use super::prediction::{Plane, predict};
use super::residual::Residual;
use super::tables::Filter;
use super::{Fault, Tables};

/// The gains by a block's age, in 1/256.
const GAINS: [i64; 8] = [201, 215, 231, 247, 265, 284, 304, 326];

/// Three planes: luma, blue and red difference.
type Picture = [Plane; 3];

/// Decodes the frames of one video.
#[derive(Debug)]
pub struct VideoReference {
    key: Tables,
    residual: Tables,
    size: [usize; 2],
    base_reference: Picture,
    enhancement_reference: Picture,
    /// The enhancement reference and the base-layer reference that the last frame was predicted from; `None` if it was
    /// predicted from nothing.
    before: Option<[Picture; 2]>,
    /// The phase of the last frame that was decoded, and the vectors that it left; `None` if it left none at all.
    last: Option<(usize, Option<Vec<Option<Vector>>>)>,
    /// The shown picture in 1/64 of a step, less 128.
    shown: Picture,
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The place in the refresh cycle, 0..127.
    pub phase: usize,
    /// Whether it is predicted from nothing.
    pub key: bool,
    /// Bit planes of the string.
    pub planes: i32,
    /// Whether blocks may be predicted from two pictures.
    pub bipredicts: bool,
    /// Whether it leads to another loop.
    pub switches: bool,
    /// Whether the picture is the one before.
    pub stays: bool,
    /// Whether some of its blocks are predicted from nothing, though it is not as a whole.
    pub renews: bool,
    /// Bytes of side information.
    pub side: usize,
    /// Bytes of the string for the base-layer reference: f.
    pub base_reference: usize,
    /// Bytes of the string for the enhanced picture: p.
    pub enhancement_reference: usize,
    /// Bytes of the head.
    pub bytes: usize,
}

impl Head {
    /// Reads the start of a frame. `None` if it ends inside its head and its bytes break no rule.
    pub fn read(frame: &[u8]) -> Result<Option<Self>, Fault> {
        let [first, planes, ..] = *frame else { return Ok(None) };
        let key = first >= 128;
        let [bipredicts, switches, stays, renews] = [4, 5, 6, 7].map(|bit| planes >> bit & 1 == 1);
        if [key, bipredicts, switches, stays].into_iter().filter(|flag| *flag).count() > 1 || (renews && key) {
            return Err(Fault::Corrupt);
        }
        let planes = planes % 16;
        let mut left = frame[2..].iter().copied();
        let mut numbers = [0; 3];
        for number in &mut numbers[usize::from(stays)..] {
            let Some(value) = varint(&mut left, 4)? else { return Ok(None) };
            *number = value;
        }
        let [side, base_reference, more] = numbers;
        let (phase, planes, bytes) = (usize::from(first % 128), planes.into(), frame.len() - left.len());
        Ok(Some(Self {
            phase,
            key,
            planes,
            bipredicts,
            switches,
            stays,
            renews,
            side,
            base_reference,
            enhancement_reference: base_reference + more,
            bytes,
        }))
    }
}

/// Reads a number of at most `most` bytes. `None` if the bytes end in it.
pub(super) fn varint(left: &mut impl Iterator<Item = u8>, most: usize) -> Result<Option<usize>, Fault> {
    let mut value = 0;
    for group in 0..most {
        let Some(byte) = left.next() else { return Ok(None) };
        value += usize::from(byte % 128) << (7 * group);
        if byte < 128 {
            return Ok(Some(value));
        }
    }
    Err(Fault::Corrupt)
}

impl VideoReference {
    /// Decodes frames of this size, with the tables of key frames and of residuals.
    pub fn new(key: &[u8], residual: &[u8], width: usize, height: usize) -> Result<Self, Fault> {
        let grey = grey(width, height);
        Ok(Self {
            key: Tables::read(key)?,
            residual: Tables::read(residual)?,
            size: [width, height],
            base_reference: grey.clone(),
            enhancement_reference: grey.clone(),
            before: None,
            last: None,
            shown: grey,
        })
    }

    /// Decodes the next frame or a prefix of it. Returns false if it leaves the frame out: it ends before its string, or
    /// copies vectors of a frame that was not decoded.
    pub fn decode(&mut self, frame: &[u8]) -> Result<bool, Fault> {
        let Some(head) = Head::read(frame)? else { return Ok(false) };
        let Some(string) = frame.get(head.bytes + head.side..) else { return Ok(false) };
        let [width, height] = self.size;
        let copies = !head.key && !head.switches && !head.stays && head.phase % 32 != 0;
        let last = self.last.as_ref().filter(|(phase, _)| *phase == (head.phase + 127) % 128);
        if copies && last.is_none() {
            return Ok(false);
        }
        let side = &frame[head.bytes..head.bytes + head.side];
        let field = if head.stays || head.key && head.side == 0 {
            None
        } else {
            let left = last.and_then(|(_, left)| left.as_deref()).filter(|_| copies);
            Some(Field::read(side, self.size, head.phase, [head.bipredicts, head.renews], left)?)
        };
        let left = match &field {
            Some(field) => Some(field.blocks.iter().map(|block| block.vector(0)).collect()),
            None if head.stays => Some(vec![Some((0, 0)); width.div_ceil(16) * height.div_ceil(16)]),
            None => None,
        };
        self.last = Some((head.phase, left));
        // The second prediction of a frame that recalls something.
        let mut second = None;
        let (predicted, predicted_base_reference, tables) = if head.key {
            self.before = None;
            (grey(width, height), grey(width, height), &self.key)
        } else if head.stays {
            self.before = None;
            let mut predicted_base_reference = self.base_reference.clone();
            let mut predicted = self.enhancement_reference.clone();
            for c in 0..3 {
                for at in 0..predicted[c].samples.len() {
                    let [is_refreshed, is_renewed] = turns(self.size, c, at, head.phase);
                    if is_renewed && head.renews {
                        predicted_base_reference[c].samples[at] = 0;
                    }
                    if is_refreshed {
                        predicted[c].samples[at] = predicted_base_reference[c].samples[at];
                    }
                }
            }
            (predicted, predicted_base_reference, &self.residual)
        } else {
            let field = field.expect("it was read");
            let first = if head.switches { &self.base_reference } else { &self.enhancement_reference };
            let last = [first.clone(), self.base_reference.clone()];
            let before = self.before.take().unwrap_or_else(|| last.clone());
            let from = |which: usize, c: usize| [&last[which][c], &before[which][c]];
            let planes = [0, 1, 2];
            let predicted = planes.map(|c| predict(&field, c, from(0, c), from(1, c)));
            let predicted_base_reference = planes.map(|c| predict(&field, c, from(1, c), from(1, c)));
            if !head.switches {
                second = Some(planes.map(|c| predict(&field, c, from(0, c), from(0, c))));
            }
            self.before = Some(last).filter(|_| !head.switches);
            (predicted, predicted_base_reference, &self.residual)
        };
        let residual = Residual::decode(tables, self.size, head.planes, string);
        let recalled = second.and_then(|second| {
            let rows = zone(self.size, head.phase)?;
            Some(recall(&residual, predicted.clone(), &second, &rows, head.enhancement_reference.min(string.len())))
        });
        let predicted = recalled.unwrap_or(predicted);
        let with = |predicted: &Picture, bytes: usize, is_base: bool| {
            let of_string = residual.of(bytes.min(string.len()));
            let planes = if head.stays && is_base {
                refreshed_alone(of_string, self.size, head.phase)
            } else if head.key || head.switches || head.stays {
                of_string
            } else {
                weighed(of_string, self.size, head.phase)
            };
            let samples = |c: usize| predicted[c].samples.iter().zip(&planes[c]);
            [0, 1, 2].map(|c| Plane {
                samples: samples(c).map(|(sample, more)| (sample + more).clamp(-1024, 1016)).collect(),
                ..predicted[c].clone()
            })
        };
        self.base_reference = with(&predicted_base_reference, head.base_reference, true);
        self.enhancement_reference = with(&predicted, head.enhancement_reference, false);
        let shown = each(&with(&predicted, string.len(), false), &predicted, |sample, _| 8 * sample);
        self.shown = match &tables.filter {
            Some(filter) => filtered(filter, &shown, &residual, string.len()),
            None => shown,
        };
        Ok(true)
    }

    /// Returns the picture to show: samples of 8 bits, plane by plane, row by row.
    pub fn shown(&self) -> Vec<u8> {
        let samples = self.shown.iter().flat_map(|plane| &plane.samples);
        samples.map(|sample| u8::try_from((((sample + 32) >> 6) + 128).clamp(0, 255)).expect("clipped")).collect()
    }

    /// Returns the picture to show in samples of 9 to 16 bits, two bytes each, the lower one first, in the same order.
    pub fn shown_deep(&self, bits: u32) -> Vec<u8> {
        let (shift, most) = (16 - bits, (1 << bits) - 1);
        let samples = self.shown.iter().flat_map(|plane| &plane.samples);
        let rounded =
            samples.map(|sample| ((((4 * sample) + ((1 << shift) >> 1)) >> shift) + (1 << (bits - 1))).clamp(0, most));
        rounded.flat_map(|sample| u16::try_from(sample).expect("clipped").to_le_bytes()).collect()
    }

    /// Returns the floor's samples in 1/8 of a step, less 128, in the same order.
    pub fn floor(&self) -> Vec<i64> {
        self.base_reference.iter().flat_map(|plane| plane.samples.clone()).collect()
    }

    /// Returns the enhanced picture's samples, likewise.
    pub fn enhancement_reference(&self) -> Vec<i64> {
        self.enhancement_reference.iter().flat_map(|plane| plane.samples.clone()).collect()
    }
}

/// Section 26, "Recall": returns the rows of luma in the zone, if there is one.
fn zone([width, height]: [usize; 2], phase: usize) -> Option<Range<usize>> {
    let (across, down) = (width.div_ceil(16), height.div_ceil(16));
    let refreshed = (0..across * down).filter(|block| {
        let t = phase % 8;
        (across * down * t / 8..across * down * (t + 1) / 8).contains(block)
    });
    let rows: Vec<usize> = refreshed.map(|block| block / across).collect();
    let (first, last) = (*rows.first()?, *rows.last()?);
    Some(16 * first.saturating_sub(1)..(16 * (last + 2)).min(height))
}

/// Section 26, "Recall": returns the first prediction with what is recalled of the second.
fn recall(
    residual: &Residual<'_>,
    mut predicted: Picture,
    second: &Picture,
    rows: &Range<usize>,
    bytes: usize,
) -> Picture {
    let samples = |c: usize| {
        let rows = if c == 0 { rows.clone() } else { rows.start / 2..rows.end.div_ceil(2) };
        let width = second[c].width;
        rows.start * width..rows.end * width
    };
    let differences = [0, 1, 2].map(|c| {
        let pairs = second[c].samples[samples(c)].iter().zip(&predicted[c].samples[samples(c)]);
        pairs.map(|(second, first)| second - first).collect()
    });
    for (c, corrections) in residual.recalled(differences, rows, bytes).into_iter().enumerate() {
        for (sample, correction) in predicted[c].samples[samples(c)].iter_mut().zip(corrections) {
            *sample += correction;
        }
    }
    predicted
}

/// Section 22: whether a sample's block is refreshed in a frame of this phase, and whether it is renewed if the frame
/// renews.
fn turns([width, height]: [usize; 2], c: usize, at: usize, phase: usize) -> [bool; 2] {
    let (across, down) = (width.div_ceil(16), height.div_ceil(16));
    let (width, side) = if c == 0 { (width, 16) } else { (width.div_ceil(2), 8) };
    let block = at / width / side * across + at % width / side;
    motion::blocks_in_turn(across * down, phase).map(|blocks| blocks.contains(&block))
}

/// Section 26: returns R(k) for the base-layer reference of a picture that stays, from r(k).
fn refreshed_alone(residual: [Vec<i64>; 3], size: [usize; 2], phase: usize) -> [Vec<i64>; 3] {
    let mut planes = residual;
    for (c, plane) in planes.iter_mut().enumerate() {
        for (at, sample) in plane.iter_mut().enumerate() {
            if !turns(size, c, at, phase)[0] {
                *sample = 0;
            }
        }
    }
    planes
}

/// Section 26: returns R(k) of a predicted frame, from r(k).
fn weighed(residual: [Vec<i64>; 3], [width, height]: [usize; 2], phase: usize) -> [Vec<i64>; 3] {
    let (across, down) = (width.div_ceil(16), height.div_ceil(16));
    let count = across * down;
    let mut planes = residual;
    for (c, plane) in planes.iter_mut().enumerate() {
        let (width, side) = if c == 0 { (width, 16) } else { (width.div_ceil(2), 8) };
        for (at, sample) in plane.iter_mut().enumerate() {
            let block = at / width / side * across + at % width / side;
            let turns = (0..8).filter(|t| (count * t / 8..count * (t + 1) / 8).contains(&block));
            let age = turns.map(|t| (phase + 8 - t) % 8).next().expect("every block has a turn");
            *sample = (*sample * GAINS[age] + 128) >> 8;
        }
    }
    planes
}

/// Section 27: filters luma by itself, then both differences with a luma without changes.
fn filtered(filter: &Filter, shown: &Picture, residual: &Residual, bytes: usize) -> Picture {
    [0, 1, 2].map(|c| {
        let Plane { width, height, .. } = shown[c];
        let samples = if c == 0 {
            vec![shown[0].samples.clone()]
        } else {
            vec![vec![0; width * height], shown[1].samples.clone(), shown[2].samples.clone()]
        };
        let significance = (0..samples.len()).map(|c| residual.significance(bytes, c)).collect();
        let planes = Planes { width, height, samples, significance };
        Plane { width, height, samples: planes.filtered(filter, c, residual.t(bytes)) }
    })
}

fn grey(width: usize, height: usize) -> Picture {
    let half = [width.div_ceil(2), height.div_ceil(2)];
    [[width, height], half, half].map(|[width, height]| Plane { width, height, samples: vec![0; width * height] })
}

fn each(a: &Picture, b: &Picture, of: impl Fn(i64, i64) -> i64) -> Picture {
    [0, 1, 2].map(|c| Plane {
        samples: a[c].samples.iter().zip(&b[c].samples).map(|(a, b)| of(*a, *b)).collect(),
        ..a[c].clone()
    })
}
