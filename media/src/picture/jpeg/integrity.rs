//! Checks that a JPEG file is whole. The decoder paints missing parts grey, decodes on after damage, and reports
//! neither.
//!
//! This walks over the Huffman codes of every scan (ITU-T T.81, annexes F and G) and keeps no coefficients. A hole, a
//! cut file with an end marker, and a lost restart marker shift all bits that follow. Then bits are missing at the end
//! of a scan, or are left over, or are no code, or coefficients are more than samples of 8 bits can have. Some damage
//! that shifts no bits stays unnoticed.

use super::energy::{Energy, MAX_MEAN_SIZE, MAX_SIZE, value};
use super::frame::{BLOCK_COEFFICIENTS, Band, Coded, Frame, Settings};
use super::huffman::{Bits, Table};
use super::segments::{END_OF_IMAGE, START_OF_SCAN, next_marker, segment};

/// Bytes that may follow a scan: some writers pad.
const MAX_LEFT: usize = 1;

/// Returns where the data of the first damaged scan begin; `None` if all are whole, and for files that are neither
/// sequential nor progressive with Huffman codes. The caller has checked the size, because a progressive file needs 8
/// bytes of memory for each block.
pub(crate) fn damaged_scan(bytes: &[u8]) -> Option<usize> {
    let mut settings = Settings::default();
    let mut at = 2;
    while let Some((marker, start)) = next_marker(bytes, at) {
        if marker == END_OF_IMAGE {
            return None;
        }
        let Some(body) = segment(bytes, start) else { return Some(at) };
        at = start + 2 + body.len();
        settings.set(marker, body);
        if marker == START_OF_SCAN {
            // Without a frame and tables this cannot check the scan.
            let (coded, band) = settings.scan(body)?;
            let frame = settings.frame.as_mut()?;
            let means = vec![0; coded.len()];
            let walk = Walk { bits: Bits::new(bytes, at), zero_blocks: 0, frame, coded, means, band };
            let Some(end) = walk.run(settings.restart) else { return Some(at) };
            // Data of blocks that do not exist.
            let rest = &bytes[end..];
            let left = rest.array_windows().position(|[a, b]| *a == 0xFF && !matches!(b, 0 | 0xFF));
            let is_restart = left.is_some_and(|left| matches!(rest[left + 1], 0xD0..=0xD7));
            if left.unwrap_or(rest.len()) > MAX_LEFT || is_restart {
                return Some(at);
            }
            at = end;
        }
    }
    // The end marker is missing, but every scan was whole.
    settings.frame.is_none().then_some(at)
}

/// Returns the file without its end marker, if that follows the damaged scan whose data begin at `scan`. The decoder
/// reads on after an end marker inside a progressive scan, and spoils the rest of the picture; at the end of the file
/// it stops.
pub(crate) fn without_end(bytes: &[u8], scan: usize) -> &[u8] {
    match next_marker(bytes, scan) {
        Some((END_OF_IMAGE, after)) => &bytes[..after - 2],
        _ => bytes,
    }
}

/// A walk over the blocks of a scan.
struct Walk<'a> {
    bits: Bits<'a>,
    /// The number of following blocks without codes.
    zero_blocks: u32,
    frame: &'a mut Frame,
    coded: Vec<Coded>,
    /// For each part of `coded`, the mean of the block before, in steps.
    means: Vec<i32>,
    band: Band,
}

impl Walk<'_> {
    /// Returns where the data end; `None` if they are not whole.
    fn run(mut self, restart: usize) -> Option<usize> {
        let alone = match &self.coded[..] {
            [coded] => Some(self.frame.components[coded.component].blocks),
            _ => None,
        };
        let [across, down] = alone.unwrap_or(self.frame.units);
        for unit in 0..across.checked_mul(down)? {
            if restart > 0 && unit > 0 && unit.is_multiple_of(restart) {
                self.restart(unit / restart - 1)?;
            }
            let [x, y] = [unit % across, unit / across];
            if alone.is_some() {
                self.block(0, [x, y])?;
                continue;
            }
            for part in 0..self.coded.len() {
                let [wide, high] = self.frame.components[self.coded[part].component].share;
                for row in 0..high {
                    for column in 0..wide {
                        self.block(part, [x * wide + column, y * high + row])?;
                    }
                }
            }
        }
        Some(self.bits.end())
    }

    /// Skips the marker that ends this interval; `None` if it does not follow.
    fn restart(&mut self, interval: usize) -> Option<()> {
        let (bytes, end) = (self.bits.bytes(), self.bits.end());
        let rest = bytes.get(end..)?;
        let filled = rest.iter().take_while(|byte| **byte == 0xFF).count();
        let marker = *rest.get(filled)?;
        let expected = 0xD0 + (interval % 8).to_le_bytes()[0];
        if filled == 0 || marker != expected || self.zero_blocks > 0 {
            return None;
        }
        self.bits = Bits::new(bytes, end + filled + 1);
        self.means.fill(0);
        Some(())
    }

    fn block(&mut self, part: usize, [x, y]: [usize; 2]) -> Option<()> {
        let Self { bits, zero_blocks, frame, coded, means, band } = self;
        let coded = &coded[part];
        let mut energy = Energy::new(&coded.steps, band.shift);
        if band.first == 0 {
            if band.refines {
                bits.number(1)?;
                return Some(());
            }
            mean(bits, coded.dc.as_ref()?, &mut means[part], &mut energy)?;
            if band.last == 0 {
                return energy.fits().then_some(());
            }
        }
        let table = coded.ac.as_ref()?;
        if !frame.progressive {
            return sequential(bits, table, &mut energy);
        }
        let component = &mut frame.components[coded.component];
        let nonzero = component.nonzero.get_mut(y * component.stride + x)?;
        match band.refines {
            false => first(bits, table, (band, energy), zero_blocks, nonzero),
            true => refine(bits, table, band, zero_blocks, nonzero),
        }
    }
}

/// Reads a block's mean, by its difference from the one before; `None` if it is no mean of samples.
pub(super) fn mean(bits: &mut Bits<'_>, table: &Table, mean: &mut i32, energy: &mut Energy<'_>) -> Option<()> {
    let size = bits.symbol(table)?;
    if size > MAX_MEAN_SIZE {
        return None;
    }
    let size = size.into();
    *mean = mean.checked_add(value(bits.number(size)?, size))?;
    energy.add(0, mean.unsigned_abs().into());
    energy.fits().then_some(())
}

/// Walks over a block's coefficients after its mean; `None` if they are damaged. They are if all 63 are the same, as a
/// hole of zeros decodes in usual tables, or if no block of samples has so much energy.
pub(super) fn sequential(bits: &mut Bits<'_>, table: &Table, energy: &mut Energy<'_>) -> Option<()> {
    let mut at = 1;
    let mut same = None;
    while at < BLOCK_COEFFICIENTS {
        let symbol = bits.symbol(table)?;
        let [run, size] = [u32::from(symbol >> 4), u32::from(symbol & 15)];
        match (run, size) {
            (0, 0) => return energy.fits().then_some(()),
            (15, 0) => (at, same) = (at + 16, None),
            (_, 1..=MAX_SIZE) => {
                at += run;
                if at >= BLOCK_COEFFICIENTS {
                    return None;
                }
                let coefficient = (symbol, bits.number(size)?);
                energy.add(at, value(coefficient.1, size).unsigned_abs().into());
                same = if at == 1 { Some(coefficient) } else { same.filter(|same| *same == coefficient) };
                at += 1;
            }
            _ => return None,
        }
    }
    (same.is_none() && energy.fits()).then_some(())
}

/// Reads how many blocks after this one have no codes.
fn run_of_blocks(bits: &mut Bits<'_>, exponent: u32) -> Option<u32> {
    Some((1 << exponent) - 1 + bits.number(exponent)?)
}

/// Walks over the first bits of a band's coefficients.
fn first(
    bits: &mut Bits<'_>,
    table: &Table,
    (band, mut energy): (&Band, Energy<'_>),
    zero_blocks: &mut u32,
    nonzero: &mut u64,
) -> Option<()> {
    if *zero_blocks > 0 {
        *zero_blocks -= 1;
        return Some(());
    }
    let mut at = band.first;
    while at <= band.last {
        let symbol = bits.symbol(table)?;
        let [run, size] = [u32::from(symbol >> 4), u32::from(symbol & 15)];
        match (run, size) {
            (15, 0) => at += 16,
            (exponent, 0) => {
                *zero_blocks = run_of_blocks(bits, exponent)?;
                return energy.fits().then_some(());
            }
            (_, 1..=MAX_SIZE) => {
                at += run;
                if at > band.last {
                    return None;
                }
                energy.add(at, value(bits.number(size)?, size).unsigned_abs().into());
                *nonzero |= 1 << at;
                at += 1;
            }
            _ => return None,
        }
    }
    energy.fits().then_some(())
}

/// Walks over one more bit of a band's coefficients.
fn refine(bits: &mut Bits<'_>, table: &Table, band: &Band, zero_blocks: &mut u32, nonzero: &mut u64) -> Option<()> {
    let mut at = band.first;
    if *zero_blocks == 0 {
        while at <= band.last {
            let symbol = bits.symbol(table)?;
            let [mut run, size] = [u32::from(symbol >> 4), u32::from(symbol & 15)];
            if size > 1 {
                return None;
            }
            if size == 0 && run < 15 {
                *zero_blocks = 1 + run_of_blocks(bits, run)?;
                break;
            }
            bits.number(size)?;
            while at <= band.last {
                if *nonzero >> at & 1 == 1 {
                    bits.number(1)?;
                } else if run == 0 {
                    if size == 1 {
                        *nonzero |= 1 << at;
                    }
                    at += 1;
                    break;
                } else {
                    run -= 1;
                }
                at += 1;
            }
        }
    }
    if *zero_blocks > 0 {
        for at in at..=band.last {
            bits.number(u32::from(*nonzero >> at & 1 == 1))?;
        }
        *zero_blocks -= 1;
    }
    Some(())
}
