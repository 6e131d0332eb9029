//! Rewrites a sequential JPEG file as one scan of all components, from its sound parts.
//!
//! The decoder reads a file with a scan for each component wrongly (zune-jpeg 0.5.15, its issue 422), and loses
//! everything after a lost restart marker. This copies the codes of every block, except the code of its mean, which
//! depends on the order of blocks. Restart markers show where a block belongs. A missing block gets the mean of the
//! block before it.

use super::energy::Energy;
use super::frame::{Coded, Component, Frame, Settings};
use super::huffman::{Bits, Copied, Table};
use super::integrity::{mean, sequential};
use super::segments::{END_OF_IMAGE, START_OF_IMAGE, START_OF_SCAN, next_marker, segment};

/// Segments that the new file replaces: tables, restart intervals.
const REPLACED_MARKERS: [u8; 2] = [0xC4, 0xDD];
const QUANTISER_MARKER: u8 = 0xDB;
/// The bits of the largest difference between two means of samples of 8 bits.
const MAX_SIZE: u8 = 12;
/// The number of restart markers, `FF D0` to `FF D7`, which then repeat.
const MAX_MARKERS: usize = 8;
/// Bytes at the end of an interval that are too few for another interval.
const MAX_LEFT: usize = 2;

/// A block's mean, and the place of the codes of its other coefficients.
#[derive(Clone, Copy)]
struct Block {
    mean: i32,
    start: u64,
    bits: u16,
}

/// A component's blocks, and the table of their codes.
struct Plane {
    blocks: Vec<Option<Block>>,
    table: Option<Table>,
}

/// Returns the new file; `None` if the file is not sequential, or lacks a component.
pub(crate) fn rebuild(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut settings = Settings::default();
    let mut out = vec![0xFF, START_OF_IMAGE];
    let mut planes: Vec<Plane> = Vec::new();
    let mut copied = Copied::default();
    let mut at = 2;
    while let Some((marker, start)) = next_marker(bytes, at) {
        let Some(body) = segment(bytes, start).filter(|_| marker != END_OF_IMAGE) else { break };
        at = start + 2 + body.len();
        settings.set(marker, body);
        if marker != START_OF_SCAN {
            if marker == QUANTISER_MARKER && !planes.is_empty() {
                return None;
            }
            if !REPLACED_MARKERS.contains(&marker) {
                out.extend([0xFF, marker]);
                out.extend(&bytes[start..at]);
            }
            continue;
        }
        let (coded, _) = settings.scan(body)?;
        let frame = settings.frame.as_ref().filter(|frame| !frame.progressive)?;
        if planes.is_empty() {
            let plane = |component: &Component| Plane {
                blocks: vec![None; component.stride * frame.units[1] * component.share[1]],
                table: None,
            };
            planes = frame.components.iter().map(plane).collect();
        }
        for coded in &coded {
            planes[coded.component].table.clone_from(&coded.ac);
        }
        let mut collector = Collector { frame, coded: &coded, planes: &mut planes, copied, restart: settings.restart };
        at = collector.scan(bytes, at);
        copied = collector.copied;
    }
    write(out, settings.frame.as_ref()?, &planes, &copied)
}

/// Collects the blocks of a scan.
struct Collector<'a> {
    frame: &'a Frame,
    coded: &'a [Coded],
    planes: &'a mut [Plane],
    copied: Copied,
    restart: usize,
}

impl Collector<'_> {
    /// Collects the intervals of the scan that begins here. Returns where it ends.
    fn scan(&mut self, bytes: &[u8], mut at: usize) -> usize {
        let mut interval = 0;
        loop {
            let end = end_of_data(bytes, at);
            let marker = bytes.get(end + 1).copied();
            let restart = marker.and_then(restart_number);
            // The number of missing markers before this one; MAX_MARKERS - 1 means that the marker is repeated.
            let lost = restart.map_or(0, |number| (number + MAX_MARKERS - interval % MAX_MARKERS) % MAX_MARKERS);
            // The next marker shows whether the number of this one is damaged.
            let is_wrong = lost > 0 && next_restart(bytes, end + 2) == Some((interval + 1) % MAX_MARKERS);
            let lost = if lost == MAX_MARKERS - 1 || is_wrong { 0 } else { lost };
            for more in 0..=lost {
                at = self.interval(&bytes[..end], at, interval + more);
                if end.saturating_sub(at) <= MAX_LEFT {
                    break;
                }
            }
            interval += lost + 1;
            if restart.is_none() {
                return end;
            }
            at = end + 2;
        }
    }

    /// Collects the blocks of an interval as far as they are sound. Returns where they end.
    fn interval(&mut self, bytes: &[u8], at: usize, interval: usize) -> usize {
        let alone = if let [coded] = self.coded { Some(self.frame.components[coded.component].blocks) } else { None };
        let [across, down] = alone.unwrap_or(self.frame.units);
        let all = across * down;
        let units = if self.restart > 0 { self.restart } else { all };
        let first = interval.saturating_mul(units);
        let mut bits = Bits::new(bytes, at).copying(std::mem::take(&mut self.copied));
        let mut means = vec![0; self.coded.len()];
        for unit in first..first.saturating_add(units).min(all) {
            let [x, y] = [unit % across, unit / across];
            if self.unit(&mut bits, &mut means, [x, y], alone.is_some()).is_none() {
                break;
            }
        }
        let end = bits.end();
        self.copied = bits.into_copied();
        end
    }

    fn unit(&mut self, bits: &mut Bits<'_>, means: &mut [i32], [x, y]: [usize; 2], alone: bool) -> Option<()> {
        for (coded, mean) in self.coded.iter().zip(means) {
            let component = &self.frame.components[coded.component];
            let [wide, high] = if alone { [1, 1] } else { component.share };
            for place in 0..wide * high {
                let [column, row] = [x * wide + place % wide, y * high + place / wide];
                let block = block(bits, coded, mean)?;
                *self.planes[coded.component].blocks.get_mut(row * component.stride + column)? = Some(block);
            }
        }
        Some(())
    }
}

fn block(bits: &mut Bits<'_>, coded: &Coded, last_mean: &mut i32) -> Option<Block> {
    let mut energy = Energy::new(&coded.steps, 0);
    mean(bits, coded.dc.as_ref()?, last_mean, &mut energy)?;
    let start = bits.copied();
    sequential(bits, coded.ac.as_ref()?, &mut energy)?;
    let bits = u16::try_from(bits.copied() - start).ok()?;
    Some(Block { mean: *last_mean, start, bits })
}

/// Returns where the data of a scan or an interval end.
fn end_of_data(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let end = rest.array_windows().position(|[a, b]| *a == 0xFF && !matches!(b, 0 | 0xFF));
    end.map_or(bytes.len(), |end| at + end)
}

/// Returns the number of a restart marker.
fn restart_number(marker: u8) -> Option<usize> {
    matches!(marker, 0xD0..=0xD7).then(|| usize::from(marker - 0xD0))
}

/// Returns the number of the restart marker that ends the data here.
fn next_restart(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(end_of_data(bytes, at) + 1).copied().and_then(restart_number)
}

/// Appends all blocks as one scan.
fn write(mut out: Vec<u8>, frame: &Frame, planes: &[Plane], copied: &Copied) -> Option<Vec<u8>> {
    // All codes of means have four bits.
    let mut means = vec![0; 16];
    means[3] = MAX_SIZE + 1;
    means.extend(0..=MAX_SIZE);
    put_segment(&mut out, 0xC4, &[&[0], &means[..]].concat())?;
    let tables: Vec<&Table> = planes.iter().map(|plane| plane.table.as_ref()).collect::<Option<_>>()?;
    let places = 0..4;
    if tables.is_empty() || tables.len() > places.len() {
        return None;
    }
    for (place, table) in places.zip(&tables) {
        put_segment(&mut out, 0xC4, &[&[0x10 | place], &table.source()[..]].concat())?;
    }
    let mut scan = vec![tables.len().to_le_bytes()[0]];
    (0..).zip(&frame.components).for_each(|(place, component)| scan.extend([component.name, place]));
    scan.extend([0, 63, 0]);
    put_segment(&mut out, START_OF_SCAN, &scan)?;

    let mut data = Data::default();
    let mut before = vec![0; planes.len()];
    let alone = planes.len() == 1;
    let [across, down] = if alone { frame.components[0].blocks } else { frame.units };
    for unit in 0..across * down {
        let [x, y] = [unit % across, unit / across];
        for (at, (plane, component)) in planes.iter().zip(&frame.components).enumerate() {
            let [wide, high] = if alone { [1, 1] } else { component.share };
            for place in 0..wide * high {
                let [column, row] = [x * wide + place % wide, y * high + place / wide];
                let block = plane.blocks[row * component.stride + column];
                let mean = block.map_or(before[at], |block| block.mean);
                data.mean(mean - before[at]);
                before[at] = mean;
                match block {
                    Some(block) => data.copy(copied, block),
                    None => data.put(tables[at].code(0)?),
                }
            }
        }
    }
    out.extend(data.finish());
    out.extend([0xFF, END_OF_IMAGE]);
    Some(out)
}

fn put_segment(out: &mut Vec<u8>, marker: u8, body: &[u8]) -> Option<()> {
    out.extend([0xFF, marker]);
    out.extend(u16::try_from(body.len() + 2).ok()?.to_be_bytes());
    out.extend(body);
    Some(())
}

/// Writes a scan's data.
#[derive(Default)]
struct Data {
    bytes: Vec<u8>,
    buffer: u64,
    count: u32,
}

impl Data {
    /// Appends a number and its length in bits, at most 32.
    fn put(&mut self, (number, bits): (u32, u32)) {
        self.buffer = self.buffer << bits | u64::from(number);
        self.count += bits;
        while self.count >= 8 {
            self.count -= 8;
            let byte = (self.buffer >> self.count).to_le_bytes()[0];
            self.bytes.push(byte);
            if byte == 0xFF {
                self.bytes.push(0);
            }
        }
    }

    /// Appends the difference between a mean and the one before.
    fn mean(&mut self, difference: i32) {
        let size = i32::BITS - difference.unsigned_abs().leading_zeros();
        self.put((size, 4));
        let number = if difference < 0 { difference + (1 << size) - 1 } else { difference };
        self.put((number.unsigned_abs(), size));
    }

    fn copy(&mut self, copied: &Copied, block: Block) {
        const PART_BITS: u16 = 32;
        let (mut at, mut left) = (block.start, block.bits);
        while left > 0 {
            let part = left.min(PART_BITS);
            self.put((copied.bits(at, part.into()), part.into()));
            at += u64::from(part);
            left -= part;
        }
    }

    fn finish(mut self) -> Vec<u8> {
        // Ones pad the last byte.
        if self.count > 0 {
            let fill = 8 - self.count;
            self.put(((1 << fill) - 1, fill));
        }
        self.bytes
    }
}
