//! What `nestcast eval` measures and prints: pictures on a grid of rates, a video at five.

mod grid;
pub mod pictures;
pub mod rival;
pub mod video;

use anyhow::{Context as _, Result};
pub use grid::Grid;
use serde::Serialize;

/// Formats rows as CSV, with their names in the first line.
///
/// # Errors
/// If a row cannot be a line of a table.
pub fn csv(rows: &[impl Serialize]) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row)?;
    }
    let bytes = writer.into_inner().context("the table cannot be made")?;
    Ok(String::from_utf8(bytes)?)
}
