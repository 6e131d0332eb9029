//! Contact sheets of the low end: nestcast beside its rivals at equal bytes.

use anyhow::Result;
use nestcast_codec::Picture;
use nestcast_lab::canvas::{Canvas, Colour, Style};
use nestcast_lab::metrics::{bpp, budget, psnr};

use crate::{
    ours::{Kind, Ours},
    picture::{Part, shown},
    rivals::{self, Avif, Baseline, Lossy, Rival, Sampling, SingleRate},
};

/// Rates shown, bits per pixel.
const RATES_BPP: [f64; 4] = [0.05, 0.1, 0.2, 0.4];
/// The share of the stream in the first row.
const FIRST_SHARE: f64 = 0.005;

/// Pixels of a picture on the sheet; the part shown one to one has this size too.
const CELL: (u32, u32) = (336, 224);
const MARGIN: usize = 24;
const GAP: usize = 14;
/// Between a text and what belongs to it.
const CLOSE: usize = 6;

const PAPER: Colour = [250, 250, 248];
const INK: Colour = [28, 28, 30];
const FAINT: Colour = [96, 96, 100];
const EMPTY: Colour = [232, 232, 230];

/// A column of the sheet.
struct Column {
    name: &'static str,
    make: Make,
}

enum Make {
    /// The best of these rivals' files that fits.
    Rivals(Vec<Box<dyn Rival>>),
    Ours(Kind),
}

fn columns() -> [Column; 6] {
    let column = |name, make| Column { name, make };
    let [linear, deep] = Kind::ALL.map(Make::Ours);
    [
        column("JPEG", Make::Rivals(vec![Box::new(Baseline(Sampling::S420))])),
        column("WebP", Make::Rivals(vec![Box::new(Lossy { method: 6 })])),
        column("JPEG 2000", Make::Rivals(vec![Box::new(SingleRate)])),
        column("AVIF", Make::Rivals(vec![Box::new(Avif(Sampling::S420)), Box::new(Avif(Sampling::S444))])),
        column("nestcast linear", linear),
        column("nestcast deep", deep),
    ]
}

/// A picture of at most some bytes.
struct Cell {
    bytes: usize,
    picture: Picture,
}

/// Draws the sheet of one picture.
pub fn draw(ours: &Ours, name: &str, original: &Picture) -> Result<Picture> {
    let stream = ours.encode(original, usize::MAX)?;
    let whole = stream.bytes().len();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a length")]
    let first = (whole as f64 * FIRST_SHARE) as usize;
    let columns = columns();
    let (cell_width, cell_height) = (CELL.0 as usize, CELL.1 as usize);
    let row_height = 2 * (Style::Heading.height() + CLOSE) + cell_height + Style::Caption.height();
    let rows = RATES_BPP.len() + 2;
    let (width, height) =
        (2 * MARGIN + columns.len() * (cell_width + GAP) - GAP, 2 * MARGIN + rows * (row_height + GAP) - GAP);
    let mut canvas = Canvas::new(width, height, PAPER);

    let mut budgets = vec![(first, Part::Whole)];
    budgets.extend(RATES_BPP.map(|rate| (budget(rate, original.size()), Part::Middle)));
    for (row, (bytes, part)) in budgets.into_iter().enumerate() {
        let y = MARGIN + row * (row_height + GAP);
        canvas.write((MARGIN, y), &heading(name, original, (bytes, whole), part), Style::Heading, INK);
        let y = y + Style::Heading.height() + CLOSE;
        for (index, column) in columns.iter().enumerate() {
            let x = MARGIN + index * (cell_width + GAP);
            let cell = match &column.make {
                Make::Rivals(rivals) => best(rivals, original, bytes)?,
                Make::Ours(kind) => Some(Cell { bytes, picture: ours.decode(&stream.prefix(bytes), *kind)? }),
            };
            match &cell {
                Some(cell) => canvas.place((x, y), &shown(&cell.picture, part, CELL)?),
                None => canvas.fill((x, y), (cell_width, cell_height), EMPTY),
            }
            captions(&mut canvas, (x, y + cell_height + CLOSE), column.name, original, cell.as_ref());
        }
    }

    let y = MARGIN + (rows - 1) * (row_height + GAP);
    canvas.write((MARGIN, y), "Original: all of it, and the part shown above", Style::Heading, INK);
    let y = y + Style::Heading.height() + CLOSE;
    for (index, part) in [Part::Whole, Part::Middle].into_iter().enumerate() {
        canvas.place((MARGIN + index * (cell_width + GAP), y), &shown(original, part, CELL)?);
    }
    Ok(canvas.finish()?)
}

fn heading(name: &str, original: &Picture, (bytes, whole): (usize, usize), part: Part) -> String {
    let size = original.size();
    match part {
        Part::Whole => format!(
            "{name}, {}x{}. The first {} % of the stream, {bytes} of {whole} bytes: the whole frame, scaled",
            size.width(),
            size.height(),
            FIRST_SHARE * 100.0
        ),
        Part::Middle => format!("At most {bytes} bytes, {:.2} bpp: the middle, pixel by pixel", bpp(bytes, size)),
    }
}

fn captions(canvas: &mut Canvas, (x, y): (usize, usize), name: &str, original: &Picture, cell: Option<&Cell>) {
    canvas.write((x, y), name, Style::Caption, INK);
    let figures = cell.map_or_else(
        || "no file is this small".to_owned(),
        |cell| format!("{} B {:.2} dB", cell.bytes, psnr(original, &cell.picture)),
    );
    canvas.write((x, y + Style::Caption.height() + 2), &figures, Style::Caption, FAINT);
}

/// The file of these rivals that fits and is nearest to the original.
fn best(rivals: &[Box<dyn Rival>], original: &Picture, max_bytes: usize) -> Result<Option<Cell>> {
    let mut best: Option<(f64, Cell)> = None;
    for rival in rivals {
        let Some(bytes) = rivals::largest(rival.as_ref(), original, max_bytes)? else { continue };
        let picture = rival.decode(&bytes)?;
        let quality = psnr(original, &picture);
        if best.as_ref().is_none_or(|(least, _)| quality > *least) {
            best = Some((quality, Cell { bytes: bytes.len(), picture }));
        }
    }
    Ok(best.map(|(_, cell)| cell))
}
