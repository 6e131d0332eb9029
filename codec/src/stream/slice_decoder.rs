//! Decodes one bitstream, as far as it arrived, into the known state of every slice.

use std::ops::Range;

use crate::bitplane::scan::{self, Cursor};
use crate::bitplane::slice::Slice;
use crate::entropy::range_coder::RangeDecoder;
use crate::model::Model;
use crate::parallel::{self, Threads};
use crate::picture::Size;
use crate::stream::interleave::{Deinterleaver, Followed};
use crate::subband::coefficients;
use crate::subband::layout::{self, BitPlanes, ChromaFormat, SUBBAND_COUNT};
use crate::subband::quantise::MAX_PLANES;
use crate::subband::sparse::{SparseBands, SparseRows};
use crate::subband::zone::Zone;
use crate::transform::Position;

/// From this many new bytes on, several threads save time.
const MIN_PARALLEL_BYTES: usize = 4096;

/// Decodes the slices of pictures, one picture after another in the same memory.
#[derive(Debug)]
pub(crate) struct SliceDecoder {
    size: Size,
    chroma: ChromaFormat,
    deinterleaver: Deinterleaver,
    /// The slices of the colours, then those of the opacity, if there is some.
    parts: Vec<Part>,
    /// The number of the former.
    colours: usize,
}

/// How slices are coded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Coding {
    pub(crate) chroma: ChromaFormat,
    pub(crate) planes: BitPlanes,
    /// Whether regions have gains.
    pub(crate) gains: bool,
}

/// A slice, as far as it arrived.
#[derive(Debug)]
struct Part {
    /// The pixel rows of the slice.
    rows: Range<usize>,
    coding: Coding,
    slice: Slice,
    /// Components, width and rows that the slice has memory for.
    shape: Option<(ChromaFormat, usize, usize)>,
    /// Whether bytes of this picture arrived; if so, `slice` belongs to this picture.
    begun: bool,
    cursor: Cursor,
    coder: RangeDecoder,
    /// Followed bytes, and the symbols that they determine.
    bytes: usize,
    symbols: usize,
}

impl Part {
    /// Returns a slice without memory, until [`SliceDecoder::start`].
    fn new() -> Self {
        let coding = Coding { chroma: ChromaFormat::None, planes: BitPlanes::default(), gains: false };
        Self {
            rows: 0..1,
            coding,
            slice: Slice::default(),
            shape: None,
            begun: false,
            cursor: Cursor::default(),
            coder: RangeDecoder::default(),
            bytes: 0,
            symbols: 0,
        }
    }

    /// Begins a slice with these components, width and rows, of which nothing is known.
    fn begin(&mut self, model: &Model, (chroma, width, rows): (ChromaFormat, usize, usize)) {
        self.slice.reset(model, chroma, width, rows);
        self.slice.set_planes(self.coding.planes);
        if self.coding.gains {
            self.slice.gains.start(width, rows);
        }
        self.begun = true;
    }

    /// Allocates the memory of a slice that has its first bytes, unless there is some. The thread that fills it does
    /// not do that: its memory returns to the system when it ends.
    fn prepare(&mut self, model: &Model, width: usize) {
        let shape = (self.coding.chroma, width, self.rows.len());
        if !self.begun && self.shape.replace(shape) != Some(shape) {
            self.begin(model, shape);
        }
    }

    /// Begins the slice, unless it has begun.
    fn begin_once(&mut self, model: &Model) {
        if let (false, Some(shape)) = (self.begun, self.shape) {
            self.begin(model, shape);
        }
    }

    fn write_significance(&self, blocks: &Blocks<'_>, out: &mut [&mut [u8]; 3]) {
        if self.begun && out.iter().any(|marks| !marks.is_empty()) {
            self.slice.write_significance(blocks.chroma, blocks.across(), out);
        }
    }
}

impl SliceDecoder {
    /// Returns the decoder of a grey picture of one pixel without planes, until [`SliceDecoder::start`].
    pub(crate) fn new() -> Self {
        let parts = vec![Part::new()];
        Self { size: Size::ONE, chroma: ChromaFormat::None, deinterleaver: Deinterleaver::new(1), parts, colours: 1 }
    }

    /// Begins a picture of which only the size, the components, the number of bit planes, and whether regions have
    /// gains are known.
    pub(crate) fn start(&mut self, size: Size, chroma: ChromaFormat, planes: u8, gains: bool) {
        let planes = BitPlanes { usual: planes, fine: 0 };
        self.start_all(size, Coding { chroma, planes, gains }, None);
    }

    /// As [`SliceDecoder::start`], with planes below the finest step, and with opacity, which is coded as `alpha` says.
    pub(crate) fn start_all(&mut self, size: Size, colours: Coding, alpha: Option<Coding>) {
        let slices = layout::slices(size);
        (self.size, self.chroma, self.colours) = (size, colours.chroma, slices.len());
        let all = if alpha.is_some() { 2 * slices.len() } else { slices.len() };
        self.deinterleaver = Deinterleaver::new(all);
        self.parts.resize_with(all, Part::new);
        for (number, (part, rows)) in self.parts.iter_mut().zip(slices.chain(layout::slices(size))).enumerate() {
            let coding = alpha.filter(|_| number >= self.colours).unwrap_or(colours);
            (part.rows, part.begun, part.coding) = (rows, false, coding);
            part.cursor = Cursor::new(coding.planes.all());
            part.coder.restart();
            (part.bytes, part.symbols) = (0, 0);
        }
    }

    /// Takes the next bytes, any number of them, and decodes all symbols that they determine.
    ///
    /// # Errors
    /// If a length in them is corrupt; the bytes before it are decoded all the same.
    pub(crate) fn push(&mut self, model: &Model, bytes: &[u8], threads: &Threads) -> Result<(), &'static str> {
        let Self { size, deinterleaver, parts, .. } = self;
        let given = deinterleaver.push(bytes, |slice, bytes| {
            if parts[slice].cursor.planes > 0 {
                parts[slice].coder.push(bytes);
            }
        });
        for part in parts.iter_mut().filter(|part| part.coder.has_news()) {
            part.prepare(model, size.width());
        }
        let waiting = parts.iter().filter(|part| part.coder.has_news()).count();
        let threads = threads.at_most(if bytes.len() < MIN_PARALLEL_BYTES { 1 } else { waiting });
        parallel::for_each(&threads, parts.iter_mut().filter(|part| part.coder.has_news()), |part| {
            part.begin_once(model);
            // A decoder that starves goes on from here when more bytes arrive.
            let _ = scan::run(&mut part.slice, &mut part.cursor, &mut part.coder, |_| true);
            part.coder.wait();
        });
        given
    }

    /// As [`SliceDecoder::push`], of bytes that an encoder made of `coded`: it reads the symbols that the encoder
    /// recorded, and decodes none.
    ///
    /// # Errors
    /// As [`SliceDecoder::push`], which does not happen.
    pub(crate) fn follow<'a>(
        &mut self,
        model: &Model,
        coded: impl ExactSizeIterator<Item = &'a Followed> + Send,
        bytes: &[u8],
        threads: &Threads,
    ) -> Result<(), &'static str> {
        let Self { size, deinterleaver, parts, .. } = self;
        deinterleaver.push(bytes, |slice, bytes| parts[slice].bytes += bytes.len())?;
        for part in parts.iter_mut().filter(|part| part.bytes > 0) {
            part.prepare(model, size.width());
        }
        let begun = parts.iter_mut().zip(coded).filter(|(part, _)| part.bytes > 0);
        parallel::for_each(threads, begun, |(part, coded)| {
            part.begin_once(model);
            let symbols = coded.record.determined(&coded.bytes[..part.bytes], &mut part.coder);
            let mut replay = coded.record.replay(part.symbols, symbols);
            let _ = scan::run(&mut part.slice, &mut part.cursor, &mut replay, |_| true);
            part.symbols = symbols;
        });
        Ok(())
    }

    /// Whether all symbols are known.
    pub(crate) fn is_complete(&self) -> bool {
        self.parts.iter().all(|part| part.cursor.planes == 0)
    }

    /// The depth that all slices of the colours have reached (spec, "Position").
    pub(crate) fn position(&self) -> Position {
        self.colours().position()
    }

    /// The slices of the colours.
    pub(crate) fn colours(&self) -> Layer<'_> {
        Layer { size: self.size, chroma: self.chroma, parts: &self.parts[..self.colours] }
    }

    /// The slices of the opacity; none if there is none.
    pub(crate) fn alpha(&self) -> Layer<'_> {
        Layer { size: self.size, chroma: ChromaFormat::None, parts: &self.parts[self.colours..] }
    }
}

/// The slices of a picture's colours, or of its opacity.
#[derive(Clone, Copy)]
pub(crate) struct Layer<'a> {
    size: Size,
    chroma: ChromaFormat,
    parts: &'a [Part],
}

impl Layer<'_> {
    /// The depth that all slices have reached.
    #[expect(clippy::cast_possible_truncation, reason = "at most 21 planes, in 2^-20")]
    pub(crate) fn position(&self) -> Position {
        let passes = 3 * layout::subbands(self.chroma).count() as u64;
        let left = |part: &Part| {
            let whole = u64::from(part.cursor.planes) << 20;
            if part.cursor.planes == 0 || !part.begun {
                return whole;
            }
            let [done, blocks] = part.cursor.passes_done(&part.slice);
            whole - (done << 20) / (passes * blocks)
        };
        let mut sum = 0;
        let mut rows = 0;
        for part in self.parts {
            sum += left(part) * part.rows.len() as u64;
            rows += part.rows.len() as u64;
        }
        let below = self.parts.first().map_or(0, |part| i32::from(part.coding.planes.fine) << 20);
        Position::of_fixed_point(sum.div_ceil(rows.max(1)) as i32 - below)
    }

    /// Marks, by component, the blocks of 4 x 4 samples at which coefficients of the finest levels are significant, as
    /// [`Slice::write_significance`] does. `out` must have all blocks of the components, each marked with zero.
    pub(crate) fn write_significance(&self, out: &mut [Vec<u8>], threads: &Threads) {
        let parts = self.parts.iter();
        let blocks = self.blocks();
        parallel::for_each(threads, parts.zip(blocks.rows(out)), |(part, mut own)| {
            part.write_significance(&blocks, &mut own);
        });
    }

    /// Calls `write` for each slice that has received bytes, with its rows of these subbands. Sets the rows of the
    /// other slices to zero, except in subbands that are not `used`, which are zero already. Marks `significance` as
    /// [`SliceDecoder::write_significance`] does, unless it is `None`.
    pub(crate) fn write_to<T: Send + Copy + Default>(
        &self,
        subbands: &mut [Vec<T>],
        used: &[bool; SUBBAND_COUNT],
        significance: &mut [Vec<u8>],
        threads: &Threads,
        write: impl Fn(&Slice, &mut [&mut [T]; SUBBAND_COUNT]) + Sync,
    ) {
        let blocks = self.blocks();
        let rows = coefficients::slices_mut(subbands, self.size, self.parts.iter().map(|part| part.rows.clone()));
        let jobs = self.parts.iter().zip(rows).zip(blocks.rows(significance));
        parallel::for_each(threads, jobs, |((part, mut rows), mut marks)| {
            if part.begun {
                write(&part.slice, &mut rows);
                part.write_significance(&blocks, &mut marks);
            } else {
                let used = rows.iter_mut().zip(used).filter(|(_, used)| **used);
                used.for_each(|(rows, _)| rows.fill(T::default()));
            }
        });
    }

    /// Sets the subbands to the known values: calls `write` for each slice that has received bytes, with its rows of
    /// every subband, all of which are zero.
    pub(crate) fn write_sparse<T: Send + Copy + Default>(
        &self,
        subbands: &mut SparseBands<T>,
        threads: &Threads,
        write: impl Fn(&Slice, &mut [SparseRows<'_, T>; SUBBAND_COUNT]) + Sync,
    ) {
        subbands.reset(self.size, self.chroma);
        let rows = subbands.slices_mut(self.size, self.parts.iter().map(|part| part.rows.clone()));
        parallel::for_each(threads, self.parts.iter().zip(rows), |(part, mut rows)| {
            rows.iter_mut().for_each(SparseRows::clear);
            if part.begun {
                write(&part.slice, &mut rows);
            }
        });
    }

    /// Fills `out` with the limits of a zone's coefficients, as [`Slice::write_limits`] does, and with zeros where slices
    /// have received no bytes.
    pub(crate) fn write_limits(
        &self,
        zone: &Zone,
        limits: impl Fn(usize) -> [i16; MAX_PLANES as usize + 1] + Sync,
        (threads, out): (&Threads, &mut [i16]),
    ) {
        parallel::for_each(threads, zone.split(out), |(index, out)| {
            out.fill(0);
            let limits = limits(index);
            for part in self.parts.iter().filter(|part| part.begun) {
                part.slice.write_limits((zone, index), (part.rows.start, part.cursor.planes), &limits, out);
            }
        });
    }

    fn blocks(&self) -> Blocks<'_> {
        Blocks { width: self.size.width(), chroma: self.chroma, parts: self.parts }
    }
}

/// The blocks of 4 x 4 samples of a picture's components.
struct Blocks<'a> {
    width: usize,
    chroma: ChromaFormat,
    parts: &'a [Part],
}

impl<'a> Blocks<'a> {
    /// The blocks that cover this many pixels.
    fn count(&self, pixels: usize, component: usize) -> usize {
        let samples = pixels.div_ceil(1 << (self.chroma.finest_level(component).min(2) - 1));
        samples.div_ceil(4)
    }

    /// The blocks in a row, by component.
    fn across(&self) -> [usize; 3] {
        [0, 1, 2].map(|component| self.count(self.width, component))
    }

    /// Splits `all` into each slice's blocks, by component; empty for a missing component.
    fn rows<'b>(&self, all: &'b mut [Vec<u8>]) -> impl Iterator<Item = [&'b mut [u8]; 3]> + use<'_, 'a, 'b> {
        let (across, mut rest): (_, [&mut [u8]; 3]) = (self.across(), coefficients::as_slices(all));
        self.parts.iter().map(move |part| {
            std::array::from_fn(|component| {
                let count = self.count(part.rows.len(), component) * across[component];
                rest[component].split_off_mut(..count).unwrap_or_default()
            })
        })
    }
}
