//! The broadcast's contact sheet: a column for each receiver, two rows for each moment, nestcast over JPEG.

use anyhow::Result;
use nestcast_codec::Picture;

use super::measure::{Cell, Moment, Report};
use crate::demo::thumbnail::thumbnail;
use nestcast_lab::canvas::{Canvas, Colour, Style};

/// Longest side of a picture on the sheet.
const PICTURE: u32 = 480;
const MARGIN: usize = 28;
const GAP: usize = 16;
/// Between a text and what belongs to it.
const CLOSE: usize = 8;

const PAPER: Colour = [250, 250, 248];
const INK: Colour = [28, 28, 30];
const FAINT: Colour = [96, 96, 100];
const EMPTY: Colour = [232, 232, 230];

pub(super) fn draw(report: &Report<'_>) -> Result<Picture> {
    let first = thumbnail(report.clip.at(0), PICTURE)?.size();
    let columns = report.columns.len();
    let captions = report.moments.iter().flat_map(|moment| &moment.cells).flat_map(|cell| [ours(cell), theirs(cell)]);
    let title = format!("{}: encoded once, three receivers at once", report.clip.name);
    let words = captions.map(|caption| Style::Caption.width(&caption)).max().unwrap_or(0);
    let column = first.width().max(words).max((Style::Heading.width(&title) + GAP).div_ceil(columns) - GAP);
    let picture = first.height() + CLOSE + Style::Caption.height() + GAP;
    let moment = Style::Heading.height() + CLOSE + 2 * picture + GAP;

    let width = 2 * MARGIN + columns * (column + GAP) - GAP;
    let top = MARGIN + Style::Heading.height() + GAP;
    let mut canvas = Canvas::new(width, top + report.moments.len() * moment + MARGIN - GAP, PAPER);
    canvas.write((MARGIN, MARGIN), &title, Style::Heading, FAINT);
    for (index, one) in report.moments.iter().enumerate() {
        let y = top + index * moment;
        for (index, cell) in one.cells.iter().enumerate() {
            let x = MARGIN + index * (column + GAP);
            canvas.write((x, y), &heading(report, one, index), Style::Heading, INK);
            let mut y = y + Style::Heading.height() + CLOSE;
            let pictures = [Some(&cell.picture), cell.jpeg.as_ref().map(|jpeg| &jpeg.picture)];
            for (picture_of, caption) in pictures.into_iter().zip([ours(cell), theirs(cell)]) {
                match picture_of {
                    Some(shown) => canvas.place((x, y), &thumbnail(shown, PICTURE)?),
                    None => canvas.fill((x, y), (first.width(), first.height()), EMPTY),
                }
                canvas.write((x, y + first.height() + CLOSE), &caption, Style::Caption, FAINT);
                y += picture;
            }
        }
    }
    Ok(canvas.finish()?)
}

fn heading(report: &Report<'_>, moment: &Moment, column: usize) -> String {
    let link = super::link_at(&report.columns[column], moment.seconds);
    format!("{link}, {:.1} s", moment.seconds)
}

fn ours(cell: &Cell) -> String {
    format!("nestcast  {:.2} dB, {} bytes", cell.psnr, cell.bytes)
}

fn theirs(cell: &Cell) -> String {
    match &cell.jpeg {
        Some(jpeg) => format!("JPEG  {:.2} dB, quality {}", jpeg.psnr, jpeg.quality),
        None => "no JPEG is this small".to_owned(),
    }
}
