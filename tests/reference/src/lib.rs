//! The slow, obvious twin of the codec's decoder, written from `spec/bitstream.md` alone. Sections named are its.
//!
//! Nothing of the decoder is shared with the codec ([`probe`] compares them) and nothing is clever. What a prefix determines is found by decoding it twice,
//! with a tail of `00` and with a tail of `ff`; contexts are gathered from the neighbours anew for every symbol; the
//! synthesis is in doubles. One thing is kept for speed: the decoder of a slice notes, each time its bytes so far
//! determine no more, what it knew then. So one run over a whole stream answers for every prefix of it.

mod coder;
mod contexts;
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

/// A decoded stream, which can be asked for every prefix of it.
#[derive(Debug)]
pub struct Reference {
    tables: Tables,
    header: Header,
    stream: Vec<u8>,
    slices: Vec<Journal>,
}

/// What a prefix says.
#[derive(Clone, Debug)]
pub struct Prefix {
    /// All 57 subbands, those of absent components without coefficients.
    pub subbands: Vec<Levels>,
    /// The rotations of all regions, as far as they are known.
    pub regions: Regions,
    /// Section 14: how far the stream has come, in 2^-20 of a bit plane.
    pub t: u64,
    /// Whether the prefix holds a corrupt segment length (section 6). There is a picture even so.
    pub corrupt: bool,
}

/// One subband of the whole picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// The signed Levels as far as they are known, row by row.
    pub levels: Vec<i32>,
    /// The plane each is known to, -1 for those that are zero so far.
    pub known: Vec<i32>,
}

impl Reference {
    /// Decodes a stream. `None`: it ends inside its header.
    pub fn decode(tables: &[u8], stream: &[u8]) -> Result<Option<Self>, Fault> {
        let tables = Tables::read(tables)?;
        let Some(header) = Header::read(stream)? else {
            return Ok(None);
        };
        if header.model != tables.id {
            return Err(Fault::Unsupported);
        }
        let borders = borders(header.width, header.height);
        let payloads = Payloads::of(&stream[header.bytes..], borders.len() - 1);
        let slices = borders.windows(2).zip(&payloads.of_slices).map(|(rows, payload)| {
            let area = slice::Area { width: header.width, height: rows[1] - rows[0], kind: header.kind() };
            Journal::of(&tables, area, header.planes, payload)
        });
        let slices = slices.collect();
        Ok(Some(Self { tables, header, stream: stream.to_vec(), slices }))
    }

    /// The stream's header.
    pub fn header(&self) -> Header {
        self.header
    }

    /// What the first `bytes` bytes of the stream say; at least the header, at most the stream.
    pub fn at(&self, bytes: usize) -> Prefix {
        let header = self.header;
        let borders = borders(header.width, header.height);
        let payloads = Payloads::of(&self.stream[header.bytes..bytes], borders.len() - 1);
        let subbands = known(header.kind(), [header.width, header.height], &self.slices, &payloads);
        let mut rotations = Vec::new();
        let (mut sum, mut rows) = (0, 0);
        for (index, journal) in self.slices.iter().enumerate() {
            let arrived = payloads.of_slices[index].len();
            let mut own = vec![[0; 3]; self.regions(borders[index + 1] - borders[index])];
            for &(region, angles) in journal.rotations_within(arrived) {
                own[region] = angles;
            }
            rotations.push(own);
            let height = (borders[index + 1] - borders[index]) as u64;
            sum += journal.at(arrived) * height;
            rows += height;
        }
        let regions = Regions { width: header.width, borders, rotations };
        Prefix { subbands, regions, t: sum.div_ceil(rows), corrupt: payloads.corrupt }
    }

    /// The picture that the linear synthesis makes of a prefix: samples row by row, red, green, blue or grey.
    pub fn picture(&self, prefix: &Prefix) -> Vec<u8> {
        synthesis::picture(&self.tables, &self.header, prefix, &self.planes(prefix))
    }

    /// The planes of a prefix before the post-filter: by component, row by row.
    pub fn planes(&self, prefix: &Prefix) -> Vec<Vec<f64>> {
        synthesis::planes(&self.tables, &self.header, prefix)
    }

    /// As [`Reference::picture`], of planes that another decoder has before the post-filter.
    pub fn picture_of(&self, prefix: &Prefix, planes: &[Vec<f64>]) -> Vec<u8> {
        synthesis::picture(&self.tables, &self.header, prefix, planes)
    }

    /// Regions of a slice of so many rows.
    fn regions(&self, rows: usize) -> usize {
        if self.header.colour { self.header.width.div_ceil(32) * rows.div_ceil(32) } else { 0 }
    }
}

/// All 57 subbands as far as the payloads of all slices tell; those that are not coded have no coefficients.
fn known(kind: Kind, [width, height]: [usize; 2], slices: &[Journal], payloads: &Payloads) -> Vec<Levels> {
    let mut all = vec![Levels::default(); 57];
    for subband in subbands(kind) {
        let (width, height) = subband_size(subband, width, height);
        all[subband] = Levels { width, height, levels: vec![0; width * height], known: vec![-1; width * height] };
    }
    let first_rows = borders(width, height);
    for ((journal, payload), first) in slices.iter().zip(&payloads.of_slices).zip(first_rows) {
        for change in journal.changes_within(payload.len()) {
            let subband = &mut all[change.subband];
            let at = ((first >> level(change.subband)) + change.y) * subband.width + change.x;
            subband.levels[at] = change.level;
            subband.known[at] = change.plane;
        }
    }
    all
}
