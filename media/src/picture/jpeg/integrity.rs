//! Whether all that a JPEG file codes is there: the decoder paints grey what is missing, decodes on over what is damaged, and says
//! nothing of either.
//!
//! Walks over the Huffman codes of every scan (ITU-T T.81, annexes F and G) without keeping coefficients. A hole, a cut
//! with an end marker put behind it and a lost restart marker shift all that follows: bits are missing at the end of a scan
//! or left over, or make no code.

use super::huffman::{Bits, Table};
use super::{END_OF_IMAGE, START_OF_SCAN, next_marker, segment};

const DEFINE_TABLES: u8 = 0xC4;
const DEFINE_RESTART: u8 = 0xDD;
const SEQUENTIAL: [u8; 2] = [0xC0, 0xC1];
const PROGRESSIVE: u8 = 0xC2;
/// Bytes that may be left behind a scan: some writers fill up.
const MAX_LEFT: usize = 8;
/// Coefficients of a block.
const COEFFICIENTS: u32 = 64;

/// A component of the frame.
struct Component {
    name: u8,
    /// Blocks of a unit: across and down.
    share: [usize; 2],
    /// Blocks across and down, as a scan of it alone has them.
    blocks: [usize; 2],
    /// Blocks from one row to the next.
    stride: usize,
    /// By block: coefficients that are not 0 so far. Of progressive files alone.
    nonzero: Vec<u64>,
}

struct Frame {
    progressive: bool,
    /// Units across and down, of a scan of several components.
    units: [usize; 2],
    components: Vec<Component>,
}

impl Frame {
    fn read(marker: u8, body: &[u8]) -> Option<Self> {
        let &[8, h1, h0, w1, w0, _, ref rest @ ..] = body else { return None };
        let [width, height] = [[w1, w0], [h1, h0]].map(|side| usize::from(u16::from_be_bytes(side)));
        let (fields, _) = rest.as_chunks::<3>();
        let share = |sampling: u8| [usize::from(sampling >> 4), usize::from(sampling & 15)];
        let shares: Vec<[usize; 2]> = fields.iter().map(|field| share(field[1])).collect();
        let most = |side: usize| shares.iter().map(|share| share[side]).max().filter(|most| *most > 0);
        let most = [most(0)?, most(1)?];
        let sides = [width, height];
        let units = [0, 1].map(|side| sides[side].div_ceil(8 * most[side]));
        let progressive = marker == PROGRESSIVE;
        let component = |(field, share): (&[u8; 3], [usize; 2])| {
            let blocks = [0, 1].map(|side| (sides[side] * share[side]).div_ceil(most[side]).div_ceil(8));
            let [stride, rows] = [0, 1].map(|side| units[side] * share[side]);
            let nonzero = if progressive { vec![0; stride * rows] } else { Vec::new() };
            Component { name: field[0], share, blocks, stride, nonzero }
        };
        let components = fields.iter().zip(shares.iter().copied()).map(component).collect();
        Some(Self { progressive, units, components })
    }
}

/// Codes of a component in a scan.
struct Coded {
    component: usize,
    dc: Option<Table>,
    ac: Option<Table>,
}

/// The part of every block that a scan codes.
struct Band {
    first: u32,
    last: u32,
    /// Whether bits are added to coefficients of scans before.
    refines: bool,
}

/// Tables and whatever else segments set for the scans behind them.
#[derive(Default)]
struct Settings {
    dc: [Option<Table>; 4],
    ac: [Option<Table>; 4],
    restart: usize,
}

/// Whether all of a file's scans are whole, as far as that can be told: of what is neither sequential nor progressive with Huffman
/// codes it cannot. The caller has checked the size: a progressive file takes 8 bytes of memory for each block.
pub(in super::super) fn is_whole(bytes: &[u8]) -> bool {
    let mut settings = Settings::default();
    let mut frame = None;
    let mut at = 2;
    while let Some((marker, start)) = next_marker(bytes, at) {
        if marker == END_OF_IMAGE {
            return true;
        }
        let Some(body) = segment(bytes, start) else { return false };
        at = start + 2 + body.len();
        match marker {
            DEFINE_TABLES => settings.define(body),
            DEFINE_RESTART => settings.restart = body.try_into().map_or(0, |count| u16::from_be_bytes(count).into()),
            PROGRESSIVE => frame = Frame::read(marker, body),
            marker if SEQUENTIAL.contains(&marker) => frame = Frame::read(marker, body),
            START_OF_SCAN => {
                // Without a frame or tables that are known nothing can be told.
                let Some(frame) = &mut frame else { return true };
                let Some((coded, band)) = scan(frame, &settings, body) else { return true };
                let walked = Walk { bits: Bits::new(bytes, at), zero_blocks: 0, frame, coded, band }.run(settings.restart);
                let Some(end) = walked else { return false };
                // Data of blocks that there are not.
                let rest = &bytes[end..];
                let left = rest.array_windows().position(|[a, b]| *a == 0xFF && !matches!(b, 0 | 0xFF));
                let is_restart = left.is_some_and(|left| matches!(rest[left + 1], 0xD0..=0xD7));
                if left.unwrap_or(rest.len()) > MAX_LEFT || is_restart {
                    return false;
                }
                at = end;
            }
            _ => {}
        }
    }
    // No end marker: the data before it are there, or a scan was short.
    frame.is_some()
}

impl Settings {
    fn define(&mut self, mut body: &[u8]) {
        while let [head, rest @ ..] = body {
            let Some((table, length)) = Table::read(rest) else { return };
            let place = usize::from(head & 3);
            let tables = if head >> 4 == 0 { &mut self.dc } else { &mut self.ac };
            tables[place] = Some(table);
            body = &rest[length..];
        }
    }
}

/// What a scan's header says; nothing if that is not known.
fn scan(frame: &Frame, settings: &Settings, body: &[u8]) -> Option<(Vec<Coded>, Band)> {
    let (&count, rest) = body.split_first()?;
    let (named, rest) = (rest.as_chunks::<2>().0.get(..usize::from(count))?, rest.get(2 * usize::from(count)..)?);
    let &[first, last, bits, ..] = rest else { return None };
    let coded = |&[name, tables]: &[u8; 2]| {
        let component = frame.components.iter().position(|component| component.name == name)?;
        let table = |tables: &[Option<Table>; 4], place: u8| tables[usize::from(place & 3)].clone();
        Some(Coded { component, dc: table(&settings.dc, tables >> 4), ac: table(&settings.ac, tables) })
    };
    let coded: Vec<Coded> = named.iter().map(coded).collect::<Option<_>>()?;
    let [first, last] = if frame.progressive { [first, last] } else { [0, 63] };
    let band = Band { first: first.into(), last: last.into(), refines: frame.progressive && bits >> 4 > 0 };
    let in_order = band.first <= band.last && band.last < COEFFICIENTS;
    let alone = !frame.progressive || (band.first == 0) == (band.last == 0);
    let sound = in_order && alone && (band.first == 0 || coded.len() == 1);
    let tables = |coded: &Coded| (band.first > 0 || band.refines || coded.dc.is_some()) && (band.last == 0 || coded.ac.is_some());
    (sound && !coded.is_empty() && coded.iter().all(tables)).then_some((coded, band))
}

/// A walk over the blocks of a scan.
struct Walk<'a> {
    bits: Bits<'a>,
    /// Blocks to come of which nothing is coded.
    zero_blocks: u32,
    frame: &'a mut Frame,
    coded: Vec<Coded>,
    band: Band,
}

impl Walk<'_> {
    /// Where the data end; nothing if they are not whole.
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

    /// Goes over the marker that ends this interval, if it is the next byte's.
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
        Some(())
    }

    fn block(&mut self, part: usize, [x, y]: [usize; 2]) -> Option<()> {
        let Self { bits, zero_blocks, frame, coded, band } = self;
        let coded = &coded[part];
        if band.first == 0 {
            if band.refines {
                bits.number(1)?;
                return Some(());
            }
            let size = bits.symbol(coded.dc.as_ref()?)?;
            if size > 16 {
                return None;
            }
            bits.number(size.into())?;
            if band.last == 0 {
                return Some(());
            }
        }
        let table = coded.ac.as_ref()?;
        if !frame.progressive {
            return sequential(bits, table);
        }
        let component = &mut frame.components[coded.component];
        let nonzero = component.nonzero.get_mut(y * component.stride + x)?;
        match band.refines {
            false => first(bits, table, band, zero_blocks, nonzero),
            true => refine(bits, table, band, zero_blocks, nonzero),
        }
    }
}

/// The coefficients of a block but its mean.
fn sequential(bits: &mut Bits<'_>, table: &Table) -> Option<()> {
    let mut at = 1;
    while at < COEFFICIENTS {
        let symbol = bits.symbol(table)?;
        let [run, size] = [u32::from(symbol >> 4), u32::from(symbol & 15)];
        match (run, size) {
            (0, 0) => return Some(()),
            (15, 0) => at += 16,
            _ => {
                at += run;
                if at >= COEFFICIENTS {
                    return None;
                }
                bits.number(size)?;
                at += 1;
            }
        }
    }
    Some(())
}

/// A run of blocks of which nothing more is coded: this one and so many more.
fn run_of_blocks(bits: &mut Bits<'_>, exponent: u32) -> Option<u32> {
    Some((1 << exponent) - 1 + bits.number(exponent)?)
}

/// The first bits of a band's coefficients.
fn first(bits: &mut Bits<'_>, table: &Table, band: &Band, zero_blocks: &mut u32, nonzero: &mut u64) -> Option<()> {
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
                return Some(());
            }
            _ => {
                at += run;
                if at > band.last {
                    return None;
                }
                bits.number(size)?;
                *nonzero |= 1 << at;
                at += 1;
            }
        }
    }
    Some(())
}

/// One more bit of a band's coefficients.
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
