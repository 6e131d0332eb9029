//! What a search found: as lines, for programs, and drawn.

use std::cmp::Reverse;
use std::fmt::{self, Display, Formatter};
use std::iter;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use nestcast_codec::Picture;
use nestcast_retrieval::{Error, Index, Nearest, nearest_of};
use serde::Serialize;

use super::{Coder, Query};
use crate::rate_distortion::rounded;
use crate::sheet::{self, Cell, Row};
use crate::thumbnail::thumbnail;

/// The most pixels of a picture on the sheet, each way; pictures in a row; and letters of a name.
const CELL_PIXELS: u32 = 180;
const SHEET_COLUMNS: usize = 5;
const NAME_LETTERS: usize = 18;

/// The pictures of an index nearest to one, among those that share its first bits.
#[derive(Debug, Serialize)]
pub struct Report {
    index: String,
    query: String,
    /// Pictures in the index.
    pictures: usize,
    /// Bits of a code.
    bits: usize,
    /// First bits that the query's own code shares with all of its neighbourhood.
    depth: usize,
    /// Pictures in that neighbourhood; the nearest of it and of the neighbourhoods of `uncropped` are shown.
    neighbourhood: usize,
    /// The number of further codes searched for, of pictures that the query may be a crop of.
    uncropped: usize,
    /// The time of the search for all of these codes.
    microseconds: f64,
    found: Vec<Found>,
}

#[derive(Debug, Serialize)]
struct Found {
    picture: String,
    /// First bits that the picture shares with the nearest of the searched codes.
    shared_bits: usize,
    /// Bits in which the picture differs from that code.
    hamming_distance: u32,
    /// Whether that code is of a picture that the query may be a crop of.
    as_crop: bool,
}

impl Report {
    /// Searches an index for the `top` pictures nearest by all bits, among the `among` or more that share a query's
    /// first bits. The names are those of the index and of the picture searched for.
    ///
    /// # Errors
    /// If the index is damaged, or its codes have another length than the query's.
    pub fn new<B: AsRef<[u8]>>(
        [index_name, query_name]: [String; 2],
        index: &Index<B>,
        query: &Query,
        [top, among]: [NonZeroUsize; 2],
    ) -> Result<Self, Error> {
        let start = Instant::now();
        // The query's own code is first, so that it is named among codes that are equally near.
        let codes = iter::once(&query.whole).chain(&query.uncropped);
        let near: Vec<_> = codes.map(|code| index.neighbourhood(code, among)).collect::<Result<_, _>>()?;
        let microseconds = start.elapsed().as_secs_f64() * 1e6;
        Ok(Self {
            index: index_name,
            query: query_name,
            pictures: index.len(),
            bits: index.bits(),
            depth: near[0].depth(),
            neighbourhood: near[0].len(),
            uncropped: near.len() - 1,
            microseconds: rounded(microseconds, 3),
            found: nearest_of(&near, top.get()).iter().map(Found::new).collect(),
        })
    }

    /// Returns how many of the found pictures have no file where the index names it, and how many were found.
    #[must_use]
    pub fn missing(&self) -> (usize, usize) {
        (self.found.iter().filter(|found| !Path::new(&found.picture).is_file()).count(), self.found.len())
    }

    /// Draws the picture searched for and those found, read as for their codes. A file that is missing leaves an empty
    /// cell.
    ///
    /// # Errors
    /// If the sheet is larger than a picture may be.
    pub fn sheet(&self, query: &Query, coder: &Coder) -> Result<Picture> {
        let cell = |picture: Option<&Picture>, path: &str, figures: String| {
            let picture = picture.and_then(|picture| thumbnail(picture, CELL_PIXELS).ok());
            let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
            Cell { picture, name: name.chars().take(NAME_LETTERS).collect(), figures }
        };
        let found =
            |found: &Found| cell(coder.read(Path::new(&found.picture)).ok().as_ref(), &found.picture, found.figures());
        let searched = vec![cell(Some(&query.picture), &self.query, format!("{} bits", self.bits))];
        let mut rows = vec![Row { heading: "searched".to_owned(), cells: searched }];
        for (number, row) in self.found.chunks(SHEET_COLUMNS).enumerate() {
            let cells = row.iter().map(found).collect();
            rows.push(Row { heading: if number == 0 { "found".to_owned() } else { String::new() }, cells });
        }
        let side = CELL_PIXELS as usize;
        Ok(sheet::draw("", &rows, (side, side))?)
    }
}

impl Found {
    fn new(near: &Nearest<'_>) -> Self {
        let &Nearest { hamming_distance, query, shared_bits: Reverse(shared_bits), name } = near;
        Self { picture: String::from_utf8_lossy(name).into_owned(), shared_bits, hamming_distance, as_crop: query > 0 }
    }

    fn figures(&self) -> String {
        format!("{} shared, {} differ{}", self.shared_bits, self.hamming_distance, self.note())
    }

    const fn note(&self) -> &'static str {
        if self.as_crop { ", as its crop" } else { "" }
    }
}

/// Names may hold control characters that a terminal obeys; they become `?`.
impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { query, pictures, bits, depth, neighbourhood, uncropped, microseconds, .. } = self;
        write!(
            f,
            "{query}: {neighbourhood} of {pictures} pictures have codes with its first {depth} of {bits} bits, and these are the \
             nearest of them; tried too: {uncropped} codes of larger pictures that it may be a part of; {microseconds:.1} us\n\n  \
             shared  differ  picture\n"
        )?;
        self.found.iter().try_for_each(|found| {
            let name: String = found.picture.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
            writeln!(f, "  {:>6}  {:>6}  {name}{}", found.shared_bits, found.hamming_distance, found.note())
        })
    }
}
