//! The slow, obvious twin of the codec's decoder, written only from `spec/bitstream.md`, whose sections the comments
//! name.
//!
//! The decoder shares nothing with the codec ([`probe`] compares them), and nothing is clever. It finds what a prefix
//! determines by decoding it twice, with a tail of `00` and with a tail of `ff`. It computes contexts from the
//! neighbours for every symbol, and the synthesis in doubles. It has one optimisation: whenever the bytes so far
//! determine no more, the decoder of a slice records what it knows. So one run over a whole stream answers for all of
//! its prefixes.

mod coder;
mod contexts;
mod gains;
mod header;
mod layout;
mod motion;
mod post_filter;
mod prediction;
pub mod probe;
mod regions;
mod residual;
mod scan;
mod slice;
mod stored;
mod synthesis;
mod tables;
mod video;

pub use header::Header;
pub use layout::{band, component, level, subband_size};
pub use regions::Regions;
pub use stored::StoredVideo;
pub use tables::Tables;
pub use video::{Head, VideoReference};

use layout::{Kind, Payloads, borders, subbands};
use slice::Journal;

/// Why bytes are refused (section 15).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The bytes break the document.
    Corrupt,
    /// They need another version or another model.
    Unsupported,
    /// Too large for the format.
    Limit,
}

/// A decoded stream that answers for each of its prefixes.
#[derive(Debug)]
pub struct Reference {
    tables: Tables,
    header: Header,
    stream: Vec<u8>,
    slices: Vec<Journal>,
    /// The slices of the opacity.
    alpha: Vec<Journal>,
}

/// What a prefix determines.
#[derive(Clone, Debug)]
pub struct Prefix {
    /// All 57 subbands, those of absent components without coefficients.
    pub subbands: Vec<Levels>,
    /// The rotations and gains of all regions, as far as they are known.
    pub regions: Regions,
    /// Section 14: how far the stream is, in 2^-20 of a bit plane.
    pub t: i64,
    /// Bit planes below the finest step.
    pub fine: i32,
    /// The opacity, as a grey picture.
    pub alpha: Option<Box<Self>>,
    /// Whether the prefix contains a corrupt segment length (section 6). It gives a picture even so.
    pub corrupt: bool,
}

/// One subband of the whole picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// The signed Levels as far as they are known, row by row, in the steps of the last plane.
    pub levels: Vec<i32>,
    /// The plane to which each is known, -1 for those that are zero so far.
    pub known: Vec<i32>,
}

impl Reference {
    /// Decodes a stream. `None` if it ends inside its header.
    pub fn decode(tables: &[u8], stream: &[u8]) -> Result<Option<Self>, Fault> {
        let tables = Tables::read(tables)?;
        let Some(header) = Header::read(stream)? else {
            return Ok(None);
        };
        if header.model != tables.id {
            return Err(Fault::Unsupported);
        }
        let borders = borders(header.width, header.height);
        let payloads = payloads(&header, &stream[header.bytes..]);
        let of = |header: &Header, payloads: &[Vec<u8>]| {
            let slices = borders.windows(2).zip(payloads).map(|(rows, payload)| {
                let (width, height, kind, gains) = (header.width, rows[1] - rows[0], header.kind(), header.gains);
                let area = slice::Area { width, height, kind, gains, fine: header.fine };
                Journal::of(&tables, area, header.planes, payload)
            });
            slices.collect()
        };
        let slices = of(&header, &payloads.of_slices);
        let alpha = header.of_alpha().map(|own| of(&own, &payloads.of_slices[borders.len() - 1..])).unwrap_or_default();
        Ok(Some(Self { tables, header, stream: stream.to_vec(), slices, alpha }))
    }

    /// Returns the stream's header.
    pub fn header(&self) -> Header {
        self.header
    }

    /// Returns what the first `bytes` bytes of the stream determine; `bytes` is at least the header, at most the
    /// stream.
    pub fn at(&self, bytes: usize) -> Prefix {
        let header = self.header;
        let payloads = payloads(&header, &self.stream[header.bytes..bytes]);
        let (colours, alpha) = payloads.of_slices.split_at(self.slices.len());
        let alpha = header.of_alpha().map(|own| Box::new(prefix(&own, &self.alpha, alpha, payloads.corrupt)));
        Prefix { alpha, ..prefix(&header, &self.slices, colours, payloads.corrupt) }
    }

    /// Returns the header that the opacity would have as a grey picture.
    pub fn alpha_header(&self) -> Option<Header> {
        self.header.of_alpha()
    }

    /// Returns the samples of the opacity of a prefix, in 16 bits.
    pub fn alpha(&self, prefix: &Prefix) -> Option<Vec<u16>> {
        let (header, prefix) = (self.header.of_alpha()?, prefix.alpha.as_deref()?);
        let planes = synthesis::planes(&self.tables, &header, prefix);
        Some(synthesis::deep_picture(&self.tables, &header, prefix, &planes))
    }

    /// Does the same as [`Reference::picture_of`] in 16 bits.
    pub fn deep_picture_of(&self, prefix: &Prefix, planes: &[Vec<f64>]) -> Vec<u16> {
        synthesis::deep_picture(&self.tables, &self.header, prefix, planes)
    }

    /// Returns the linear synthesis of a prefix: samples row by row, red, green, blue or grey.
    pub fn picture(&self, prefix: &Prefix) -> Vec<u8> {
        synthesis::picture(&self.tables, &self.header, prefix, &self.planes(prefix))
    }

    /// Returns the planes of a prefix before the post-filter: by component, row by row.
    pub fn planes(&self, prefix: &Prefix) -> Vec<Vec<f64>> {
        synthesis::planes(&self.tables, &self.header, prefix)
    }

    /// Does the same as [`Reference::picture`] with another decoder's planes before the post-filter.
    pub fn picture_of(&self, prefix: &Prefix, planes: &[Vec<f64>]) -> Vec<u8> {
        synthesis::picture(&self.tables, &self.header, prefix, planes)
    }
}

/// Returns the payloads of a body: of all slices, then of the slices of the opacity.
fn payloads(header: &Header, body: &[u8]) -> Payloads {
    let slices = borders(header.width, header.height).len() - 1;
    Payloads::of(body, if header.alpha.is_some() { 2 * slices } else { slices })
}

/// Returns what these payloads determine of a picture with such a header, or of an opacity.
fn prefix(header: &Header, journals: &[Journal], payloads: &[Vec<u8>], corrupt: bool) -> Prefix {
    let borders = borders(header.width, header.height);
    let subbands = known(header.kind(), [header.width, header.height], journals, payloads);
    let (mut rotations, mut gains) = (Vec::new(), Vec::new());
    let (mut sum, mut rows) = (0, 0);
    for (index, journal) in journals.iter().enumerate() {
        let arrived = payloads[index].len();
        let mut own = vec![[0; 3]; regions(header, borders[index + 1] - borders[index])];
        for &(region, angles) in journal.rotations_within(arrived) {
            own[region] = angles;
        }
        rotations.push(own);
        gains.push(journal.gains_within(arrived).to_vec());
        let height = (borders[index + 1] - borders[index]) as u64;
        sum += journal.at(arrived) * height;
        rows += height;
    }
    let regions = Regions { width: header.width, borders, rotations, gains };
    let t = sum.div_ceil(rows).cast_signed() - (i64::from(header.fine) << 20);
    Prefix { subbands, regions, t, fine: header.fine, alpha: None, corrupt }
}

/// Returns the regions of a slice of `rows` rows.
fn regions(header: &Header, rows: usize) -> usize {
    if header.colour { header.width.div_ceil(32) * rows.div_ceil(32) } else { 0 }
}

/// Returns all 57 subbands as far as the payloads of all slices determine them; uncoded ones have no coefficients.
fn known(kind: Kind, [width, height]: [usize; 2], slices: &[Journal], payloads: &[Vec<u8>]) -> Vec<Levels> {
    let mut all = vec![Levels::default(); 57];
    for subband in subbands(kind) {
        let (width, height) = subband_size(subband, width, height);
        all[subband] = Levels { width, height, levels: vec![0; width * height], known: vec![-1; width * height] };
    }
    let first_rows = borders(width, height);
    for ((journal, payload), first) in slices.iter().zip(payloads).zip(first_rows) {
        for change in journal.changes_within(payload.len()) {
            let subband = &mut all[change.subband];
            let at = ((first >> level(change.subband)) + change.y) * subband.width + change.x;
            subband.levels[at] = change.level;
            subband.known[at] = change.plane;
        }
    }
    all
}
