//! Contact sheets at low rates: nestcast next to its rivals at equal bytes.

use anyhow::{Context, Result};
use nestcast_codec::Picture;
use nestcast_lab::{
    metrics::{Perceptual, bpp, budget},
    sheet::{self, Cell, Row},
};

use crate::{
    ours::{Kind, Ours},
    picture::{Part, shown},
    rivals::{self, Avif, Baseline, Jxl, Lossy, Rival, Sampling},
};

/// The rates, in bits per pixel.
const RATES_BPP: [f64; 3] = [0.1, 0.2, 0.3];
/// The fraction of the stream in the first row.
const FIRST_SHARE: f64 = 0.005;

/// Pixels of a picture on the sheet; the part at original size has this size too.
const CELL_PIXELS: (u32, u32) = (336, 224);

/// A column of the sheet.
struct Column {
    name: &'static str,
    make: Make,
}

enum Make {
    /// The best file of these rivals that fits.
    Rivals(Vec<Box<dyn Rival>>),
    Ours(Kind),
}

/// Returns the columns, without JPEG XL where its programs are missing.
fn columns() -> Vec<Column> {
    let column = |name, make| Column { name, make };
    let mut columns = vec![
        column("JPEG", Make::Rivals(vec![Box::new(Baseline(Sampling::S420))])),
        column("WebP", Make::Rivals(vec![Box::new(Lossy { method: 6 })])),
    ];
    columns.extend(Jxl::find().map(|jxl| column("JPEG XL", Make::Rivals(vec![Box::new(jxl)]))));
    let avif: Vec<Box<dyn Rival>> = vec![Box::new(Avif(Sampling::S420)), Box::new(Avif(Sampling::S444))];
    let [linear, deep] = Kind::ALL.map(Make::Ours);
    columns.extend([
        column("AVIF", Make::Rivals(avif)),
        column("nestcast linear", linear),
        column("nestcast deep", deep),
    ]);
    columns
}

/// A picture coded in a limited number of bytes.
struct Coded {
    bytes: usize,
    ssimulacra2: f64,
    picture: Picture,
}

/// Draws the sheet of one picture.
pub fn draw(ours: &Ours, name: &str, original: &Picture) -> Result<Picture> {
    let stream = ours.encode(original, usize::MAX)?;
    let look = Perceptual::new(original).with_context(|| format!("{name} is too small"))?;
    let whole = stream.bytes().len();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a length")]
    let first = (whole as f64 * FIRST_SHARE) as usize;
    let columns = columns();
    let mut budgets = vec![(first, Part::Whole)];
    budgets.extend(RATES_BPP.map(|rate| (budget(rate, original.size()), Part::Middle)));
    let mut rows = Vec::new();
    for (bytes, part) in budgets {
        let mut cells = Vec::new();
        for column in &columns {
            let coded = match &column.make {
                Make::Rivals(rivals) => best(rivals, original, &look, bytes)?,
                Make::Ours(kind) => {
                    let picture = ours.decode(&stream.prefix(bytes), *kind)?;
                    Some(Coded { bytes, ssimulacra2: look.compare(&picture).ssimulacra2, picture })
                }
            };
            cells.push(cell(column.name, coded, part)?);
        }
        rows.push(Row { heading: heading(name, original, (bytes, whole), part), cells });
    }
    let parts = [("all of it", Part::Whole), ("the part shown above", Part::Middle)];
    let cells = parts.map(|(name, part)| {
        let picture = Some(shown(original, part, CELL_PIXELS)?);
        Ok(Cell { picture, name: name.to_owned(), figures: String::new() })
    });
    rows.push(Row { heading: "Original".to_owned(), cells: cells.into_iter().collect::<Result<_>>()? });
    Ok(sheet::draw("", &rows, (CELL_PIXELS.0 as usize, CELL_PIXELS.1 as usize))?)
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

fn cell(name: &str, coded: Option<Coded>, part: Part) -> Result<Cell> {
    let figures = coded.as_ref().map_or_else(
        || "no file is this small".to_owned(),
        |coded| format!("{} B, SSIMULACRA2 {:.1}", coded.bytes, coded.ssimulacra2),
    );
    let picture = coded.map(|coded| shown(&coded.picture, part, CELL_PIXELS)).transpose()?;
    Ok(Cell { picture, name: name.to_owned(), figures })
}

/// Returns the file of these rivals that fits and looks best.
fn best(rivals: &[Box<dyn Rival>], original: &Picture, look: &Perceptual, max_bytes: usize) -> Result<Option<Coded>> {
    let mut best: Option<Coded> = None;
    for rival in rivals {
        let Some(bytes) = rivals::largest(rival.as_ref(), original, max_bytes)? else { continue };
        let picture = rival.decode(&bytes)?;
        let ssimulacra2 = look.compare(&picture).ssimulacra2;
        if best.as_ref().is_none_or(|best| ssimulacra2 > best.ssimulacra2) {
            best = Some(Coded { bytes: bytes.len(), ssimulacra2, picture });
        }
    }
    Ok(best)
}
