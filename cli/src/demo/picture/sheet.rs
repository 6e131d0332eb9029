//! The contact sheet: a row for each cut, a column for each decoder and JPEG.

use anyhow::Result;
use nestcast_codec::Picture;
use nestcast_lab::canvas::{Canvas, Colour, Style};

use super::measure::{Cell, Report, Row};
use crate::demo::thumbnail::thumbnail;

/// Longest side of a picture on the sheet.
const PICTURE: u32 = 512;
const MARGIN: usize = 28;
const GAP: usize = 16;
/// Between a text and what belongs to it.
const CLOSE: usize = 8;

const PAPER: Colour = [250, 250, 248];
const INK: Colour = [28, 28, 30];
const FAINT: Colour = [96, 96, 100];
const EMPTY: Colour = [232, 232, 230];

pub(super) fn draw(report: &Report) -> Result<Picture> {
    let first = report.rows[0].cells.iter().flatten().next().expect("a decoder is shown");
    let shape = thumbnail(&first.picture, PICTURE)?.size();
    let columns = report.columns.len();
    let captions = report
        .rows
        .iter()
        .flat_map(|row| (0..columns).map(|column| Style::Caption.width(&caption(report, row, column))));
    let title = title(report);
    let headings = report.rows.iter().map(|row| Style::Heading.width(&heading(row)));
    let widest = headings.chain([Style::Heading.width(&title)]).max().unwrap_or(0);
    // Narrow pictures leave room for the words.
    let column = shape.width().max(captions.max().unwrap_or(0)).max((widest + GAP).div_ceil(columns) - GAP);
    let row = Style::Heading.height() + CLOSE + shape.height() + CLOSE + Style::Caption.height();

    let width = 2 * MARGIN + columns * (column + GAP) - GAP;
    let top = MARGIN + Style::Heading.height() + GAP;
    let height = top + report.rows.len() * (row + 2 * GAP) - 2 * GAP + MARGIN;
    let mut canvas = Canvas::new(width, height, PAPER);
    canvas.write((MARGIN, MARGIN), &title, Style::Heading, FAINT);
    for (index, cut) in report.rows.iter().enumerate() {
        let y = top + index * (row + 2 * GAP);
        canvas.write((MARGIN, y), &heading(cut), Style::Heading, INK);
        let y = y + Style::Heading.height() + CLOSE;
        for (index, cell) in cut.cells.iter().enumerate() {
            let x = MARGIN + index * (column + GAP);
            match cell {
                Some(cell) => canvas.place((x, y), &thumbnail(&cell.picture, PICTURE)?),
                None => canvas.fill((x, y), (shape.width(), shape.height()), EMPTY),
            }
            let below = y + shape.height() + CLOSE;
            canvas.write((x, below), &caption(report, cut, index), Style::Caption, FAINT);
        }
    }
    Ok(canvas.finish()?)
}

fn title(report: &Report) -> String {
    let size = report.size;
    format!("{}, {}x{}: one stream, encoded once", report.name, size.width(), size.height())
}

fn heading(row: &Row) -> String {
    format!("{} % of the stream: {} bytes, {:.3} bpp", row.percent, row.bytes, row.bpp)
}

fn caption(report: &Report, row: &Row, column: usize) -> String {
    let name = report.columns[column];
    match &row.cells[column] {
        None => "no JPEG is this small".to_owned(),
        Some(Cell { psnr, jpeg: None, .. }) => format!("{name}  {psnr:.2} dB"),
        Some(Cell { psnr, jpeg: Some(step), .. }) => {
            let (sampling, quality) = (step.sampling.name(), step.quality);
            format!("{name}  {psnr:.2} dB, {sampling} q{quality}, {} bytes", step.file.len())
        }
    }
}
