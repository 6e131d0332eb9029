//! Section 28: stored videos.

use super::Fault;
use super::video::varint;

/// A stored video, or a prefix of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredVideo {
    /// The byte that states what samples mean and how to show frames.
    pub signal: u8,
    /// Bits of a sample in the source.
    pub bits: u8,
    /// Width and height of a pixel, in proportion.
    pub aspect: [usize; 2],
    /// Samples of a luma row.
    pub width: usize,
    /// Rows of luma.
    pub height: usize,
    /// Frames in `seconds`.
    pub frames_in: usize,
    /// Seconds.
    pub seconds: usize,
    /// The ids of the tables: key frames, residuals.
    pub models: [[u8; 6]; 2],
    /// Bits a second of every rendition's slowest receiver, if there are several.
    pub renditions: Vec<usize>,
    /// Every record's bytes, the last perhaps cut; with several renditions, one record of each for every frame.
    pub frames: Vec<Vec<u8>>,
    /// When each record's frame was captured, in microseconds since 1970, where a block says so.
    pub times: Vec<Option<u64>>,
}

impl StoredVideo {
    /// Reads header and records.
    pub fn read(bytes: &[u8]) -> Result<Self, Fault> {
        let [b'n', b's', b't', version, kind, signal, ..] = *bytes else { return Err(Fault::Corrupt) };
        if !(1..=2).contains(&version) {
            return Err(Fault::Unsupported);
        }
        let (siting, reserved) = (signal >> 2 & 3, signal >> 7);
        if !(2..=3).contains(&kind) || siting == 3 || reserved > 0 {
            return Err(Fault::Corrupt);
        }
        let mut left = bytes[6..].iter().copied();
        let mut numbers = [0; 4];
        for number in &mut numbers {
            *number = varint(&mut left, 5)?.ok_or(Fault::Corrupt)?;
        }
        let [width, height, frames_in, seconds] = numbers;
        if [frames_in, seconds].iter().any(|part| !(1..1 << 32).contains(part)) {
            return Err(Fault::Corrupt);
        }
        if frames_in.max(seconds) > 1_000_000 || frames_in > 1000 * seconds {
            return Err(Fault::Limit);
        }
        let mut models = [[0; 6]; 2];
        for byte in models.iter_mut().flatten() {
            *byte = left.next().ok_or(Fault::Corrupt)?;
        }
        let mut renditions = Vec::new();
        if kind == 3 {
            let count @ 2..=3 = left.next().ok_or(Fault::Corrupt)? else { return Err(Fault::Corrupt) };
            for _ in 0..count {
                renditions.push(varint(&mut left, 5)?.ok_or(Fault::Corrupt)?);
            }
            if renditions.windows(2).any(|pair| pair[0] >= pair[1]) {
                return Err(Fault::Corrupt);
            }
        }
        let mut aspect = [1, 1];
        if signal & 0x40 > 0 {
            for side in &mut aspect {
                *side = varint(&mut left, 5)?.ok_or(Fault::Corrupt)?;
            }
            if aspect[0] == aspect[1] || aspect.iter().any(|side| !(1..=65535).contains(side)) {
                return Err(Fault::Corrupt);
            }
        }
        let mut bits = 8;
        if version == 2 {
            let beyond @ 1..=8 = left.next().ok_or(Fault::Corrupt)? else { return Err(Fault::Corrupt) };
            bits += beyond;
        }
        let [width, height] = [width + 1, height + 1];
        if width.max(height) > 16384 {
            return Err(Fault::Limit);
        }
        let (mut frames, mut times): (Vec<Vec<u8>>, Vec<_>) = Default::default();
        let (mut stated, mut time) = (None, None);
        while let Some(length) = varint(&mut left, 5)? {
            if length > 0 {
                if frames.len() % renditions.len().max(1) == 0 {
                    time = stated.take();
                }
                frames.push(left.by_ref().take(length - 1).collect());
                times.push(time);
                continue;
            }
            let Some(block) = varint(&mut left, 5)? else { break };
            let Some(length) = varint(&mut left, 5)? else { break };
            if block == 0 {
                break;
            }
            let body: Vec<u8> = left.by_ref().take(length).collect();
            if block == 1 {
                let eight = body.get(..8).and_then(|bytes| bytes.try_into().ok());
                stated = eight.map(u64::from_le_bytes);
            }
        }
        Ok(Self { signal, bits, aspect, width, height, frames_in, seconds, models, renditions, frames, times })
    }

    /// Returns the frames of one loop, from 0.
    pub fn of_loop(&self, number: usize) -> Vec<Vec<u8>> {
        self.frames.iter().skip(number).step_by(self.renditions.len().max(1)).cloned().collect()
    }
}
