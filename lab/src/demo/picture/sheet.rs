//! The contact sheet: a row for each cut, a column for each decoder and JPEG.

use anyhow::{Context, Result};
use nestcast_codec::Picture;

use super::measure::{Cell, Report, Row};
use crate::sheet;
use crate::thumbnail::thumbnail;

/// Longest side of a picture on the sheet.
const PICTURE_PIXELS: u32 = 512;

pub(super) fn draw(report: &Report<'_>) -> Result<Picture> {
    let first = report.rows.first().and_then(|row| row.cells.iter().flatten().next()).context("no decoder is shown")?;
    let shape = thumbnail(&first.picture, PICTURE_PIXELS)?.size();
    let size = report.photo.picture.size();
    let title = format!("{}, {}x{}: one stream, encoded once", report.photo.name, size.width(), size.height());
    let rows: Result<Vec<sheet::Row>> = report.rows.iter().map(|row| drawn(report, row)).collect();
    Ok(sheet::draw(&title, &rows?, (shape.width(), shape.height()))?)
}

fn drawn(report: &Report<'_>, row: &Row) -> Result<sheet::Row> {
    let cells = report.columns.iter().zip(&row.cells).map(|(name, cell)| {
        let picture = cell.as_ref().map(|cell| thumbnail(&cell.picture, PICTURE_PIXELS)).transpose()?;
        Ok(sheet::Cell { picture, name: (*name).to_owned(), figures: figures(cell.as_ref()) })
    });
    let heading = format!("{} % of the stream: {} bytes, {:.3} bpp", row.percent, row.bytes, row.bpp);
    Ok(sheet::Row { heading, cells: cells.collect::<Result<_>>()? })
}

fn figures(cell: Option<&Cell>) -> String {
    match cell {
        None => "no JPEG is this small".to_owned(),
        Some(Cell { psnr, jpeg: None, .. }) => format!("{psnr:.2} dB"),
        Some(Cell { psnr, jpeg: Some(step), .. }) => {
            let sampling = step.sampling.name();
            let quality = step.quality;
            format!("{psnr:.2} dB, {sampling} q{quality}, {} bytes", step.file.len())
        }
    }
}
