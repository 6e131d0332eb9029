//! Reads the settings that a JPEG file's segments make for the scans after them (ITU-T T.81, annex B).

use super::huffman::Table;

const DEFINE_STEPS: u8 = 0xDB;
const DEFINE_TABLES: u8 = 0xC4;
const DEFINE_RESTART: u8 = 0xDD;
const SEQUENTIAL_FRAMES: [u8; 2] = [0xC0, 0xC1];
const PROGRESSIVE_FRAME: u8 = 0xC2;
/// Coefficients of a block.
pub(super) const BLOCK_COEFFICIENTS: u32 = 64;

/// The steps of a component's coefficients, in the order of the file.
pub(super) type Steps = [u16; BLOCK_COEFFICIENTS as usize];

/// Steps of a file that has none.
pub(super) const SMALLEST_STEPS: Steps = [1; BLOCK_COEFFICIENTS as usize];

/// A component of the frame.
pub(super) struct Component {
    pub(super) name: u8,
    /// The number of its table of steps.
    steps: usize,
    /// Blocks in a unit: across and down.
    pub(super) share: [usize; 2],
    /// Blocks across and down, in a scan of this component alone.
    pub(super) blocks: [usize; 2],
    /// The number of blocks from one row to the next.
    pub(super) stride: usize,
    /// For each block, the coefficients that are not 0 so far; empty unless the file is progressive.
    pub(super) nonzero: Vec<u64>,
}

pub(super) struct Frame {
    pub(super) progressive: bool,
    /// Units across and down, in a scan of several components.
    pub(super) units: [usize; 2],
    pub(super) components: Vec<Component>,
}

impl Frame {
    pub(super) fn read(marker: u8, body: &[u8]) -> Option<Self> {
        let &[8, h1, h0, w1, w0, _, ref rest @ ..] = body else { return None };
        let [width, height] = [[w1, w0], [h1, h0]].map(|side| usize::from(u16::from_be_bytes(side)));
        let (fields, _) = rest.as_chunks::<3>();
        let share = |sampling: u8| [usize::from(sampling >> 4), usize::from(sampling & 15)];
        let shares: Vec<[usize; 2]> = fields.iter().map(|field| share(field[1])).collect();
        let most = |side: usize| shares.iter().map(|share| share[side]).max().filter(|most| *most > 0);
        let most = [most(0)?, most(1)?];
        let sides = [width, height];
        let units = [0, 1].map(|side| sides[side].div_ceil(8 * most[side]));
        let progressive = marker == PROGRESSIVE_FRAME;
        let component = |(field, share): (&[u8; 3], [usize; 2])| {
            let blocks = [0, 1].map(|side| (sides[side] * share[side]).div_ceil(most[side]).div_ceil(8));
            let [stride, rows] = [0, 1].map(|side| units[side] * share[side]);
            let nonzero = if progressive { vec![0; stride * rows] } else { Vec::new() };
            Component { name: field[0], steps: usize::from(field[2] & 3), share, blocks, stride, nonzero }
        };
        let components = fields.iter().zip(shares.iter().copied()).map(component).collect();
        Some(Self { progressive, units, components })
    }
}

/// The codes of a component in a scan.
pub(super) struct Coded {
    pub(super) component: usize,
    pub(super) dc: Option<Table>,
    pub(super) ac: Option<Table>,
    /// The steps of its coefficients.
    pub(super) steps: Steps,
}

/// The part of every block that a scan codes.
pub(super) struct Band {
    pub(super) first: u32,
    pub(super) last: u32,
    /// Whether the scan adds bits to coefficients of earlier scans.
    pub(super) refines: bool,
    /// The number of low bits of each coefficient that are left to later scans.
    pub(super) shift: u32,
}

/// The tables and other settings for the scans that follow.
#[derive(Default)]
pub(super) struct Settings {
    pub(super) dc: [Option<Table>; 4],
    pub(super) ac: [Option<Table>; 4],
    steps: [Option<Steps>; 4],
    pub(super) restart: usize,
    pub(super) frame: Option<Frame>,
}

impl Settings {
    /// Applies a segment.
    pub(super) fn set(&mut self, marker: u8, body: &[u8]) {
        match marker {
            DEFINE_STEPS => self.define_steps(body),
            DEFINE_TABLES => self.define(body),
            DEFINE_RESTART => self.restart = body.try_into().map_or(0, |count| u16::from_be_bytes(count).into()),
            PROGRESSIVE_FRAME => self.frame = Frame::read(marker, body),
            marker if SEQUENTIAL_FRAMES.contains(&marker) => self.frame = Frame::read(marker, body),
            _ => {}
        }
    }

    fn define(&mut self, mut body: &[u8]) {
        while let [head, rest @ ..] = body {
            let Some((table, length)) = Table::read(rest) else { return };
            let place = usize::from(head & 3);
            let tables = if head >> 4 == 0 { &mut self.dc } else { &mut self.ac };
            tables[place] = Some(table);
            body = &rest[length..];
        }
    }

    fn define_steps(&mut self, mut body: &[u8]) {
        while let [head, rest @ ..] = body {
            let bytes = if head >> 4 == 0 { 1 } else { 2 };
            let Some(given) = rest.get(..bytes * SMALLEST_STEPS.len()) else { return };
            let step = |step: &[u8]| step.iter().fold(0, |step, byte| step << 8 | u16::from(*byte));
            let mut steps = SMALLEST_STEPS;
            steps.iter_mut().zip(given.chunks(bytes)).for_each(|(place, given)| *place = step(given).max(1));
            self.steps[usize::from(head & 3)] = Some(steps);
            body = &rest[given.len()..];
        }
    }

    /// Reads a scan's header; `None` if it names something that the file does not have.
    pub(super) fn scan(&self, body: &[u8]) -> Option<(Vec<Coded>, Band)> {
        let frame = self.frame.as_ref()?;
        let (&count, rest) = body.split_first()?;
        let (named, rest) = (rest.as_chunks::<2>().0.get(..usize::from(count))?, rest.get(2 * usize::from(count)..)?);
        let &[first, last, bits, ..] = rest else { return None };
        let coded = |&[name, tables]: &[u8; 2]| {
            let component = frame.components.iter().position(|component| component.name == name)?;
            let table = |tables: &[Option<Table>; 4], place: u8| tables[usize::from(place & 3)].clone();
            let steps = self.steps[frame.components[component].steps].unwrap_or(SMALLEST_STEPS);
            Some(Coded { component, dc: table(&self.dc, tables >> 4), ac: table(&self.ac, tables), steps })
        };
        let coded: Vec<Coded> = named.iter().map(coded).collect::<Option<_>>()?;
        let [first, last] = if frame.progressive { [first, last] } else { [0, 63] };
        let refines = frame.progressive && bits >> 4 > 0;
        let shift = if frame.progressive { u32::from(bits & 15) } else { 0 };
        let band = Band { first: first.into(), last: last.into(), refines, shift };
        let in_order = band.first <= band.last && band.last < BLOCK_COEFFICIENTS;
        let alone = !frame.progressive || (band.first == 0) == (band.last == 0);
        let sound = in_order && alone && (band.first == 0 || coded.len() == 1);
        let tables = |coded: &Coded| {
            (band.first > 0 || band.refines || coded.dc.is_some()) && (band.last == 0 || coded.ac.is_some())
        };
        (sound && !coded.is_empty() && coded.iter().all(tables)).then_some((coded, band))
    }
}
