//! The broadcast's contact sheet: a row for each receiver, with one frame as the receiver showed it and as the rivals
//! give it.

use anyhow::{Context, Result};
use nestcast_codec::Picture;

use super::measure::Report;
use crate::sheet::{self, Row};

pub(super) fn draw(report: &Report<'_>) -> Result<Picture> {
    let still = report.columns.iter().find_map(|column| column.played.stills.first());
    let size = still.context("no receiver saw the frames that the page plays")?.size();
    let row = |column: &super::measure::Column| Row {
        heading: format!("{}, {} bytes a frame", column.name, column.bytes_a_frame()),
        cells: column.played.cells().collect(),
    };
    let rows: Vec<Row> = report.columns.iter().map(row).collect();
    let title = format!("{}: encoded once, three receivers at once", report.video.name);
    Ok(sheet::draw(&title, &rows, (size.width(), size.height()))?)
}
