//! The broadcast's contact sheet: two rows for each moment, nestcast over JPEG, a column for each receiver.

use anyhow::Result;
use nestcast_codec::Picture;

use super::link_at;
use super::measure::{Moment, Report};
use crate::sheet::{self, Cell, Row};
use crate::thumbnail::thumbnail;

/// Longest side of a picture on the sheet.
const PICTURE: u32 = 480;

pub(super) fn draw(report: &Report<'_>) -> Result<Picture> {
    let size = thumbnail(report.video.clip.at(0), PICTURE)?.size();
    let mut rows = Vec::new();
    for moment in &report.moments {
        rows.extend([ours(report, moment)?, theirs(moment)?]);
    }
    let title = format!("{}: encoded once, three receivers at once", report.video.name);
    Ok(sheet::draw(&title, &rows, (size.width(), size.height()))?)
}

fn ours(report: &Report<'_>, moment: &Moment) -> Result<Row> {
    let cells = report.columns.iter().zip(&moment.cells).map(|(column, cell)| {
        let name = format!("nestcast at {}", link_at(column, moment.seconds));
        let figures = format!("{:.2} dB, {} bytes", cell.psnr, cell.bytes);
        Ok(Cell { picture: Some(thumbnail(&cell.picture, PICTURE)?), name, figures })
    });
    let heading = format!("{:.1} s: one frame, as each receiver saw it", moment.seconds);
    Ok(Row { heading, cells: cells.collect::<Result<_>>()? })
}

fn theirs(moment: &Moment) -> Result<Row> {
    let cells = moment.cells.iter().map(|cell| {
        let figures = match &cell.jpeg {
            Some(jpeg) => format!("{:.2} dB, quality {}", jpeg.psnr, jpeg.quality),
            None => "no JPEG is this small".to_owned(),
        };
        let picture = cell.jpeg.as_ref().map(|jpeg| thumbnail(&jpeg.picture, PICTURE)).transpose()?;
        Ok(Cell { picture, name: "JPEG of the same bytes".to_owned(), figures })
    });
    Ok(Row { heading: String::new(), cells: cells.collect::<Result<_>>()? })
}
