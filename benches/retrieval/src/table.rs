//! The table of measured queries.

use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// One method on one database.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// `ordered`, `semantic`, `linear` or one of FAISS.
    pub(crate) method: String,
    /// R of ordered retrieval, the radius of semantic hashing, FAISS's setting; empty for the others.
    pub(crate) parameter: String,
    /// Bits of a code.
    pub(crate) bits: usize,
    /// Codes in the database.
    pub(crate) count: usize,
    /// `indexed` where the queries are codes of the database, else `new`.
    pub(crate) queries: String,
    /// Processor time of a query, microseconds, the median of several rounds.
    pub(crate) us: f64,
    /// Mean number of codes that a query finds.
    pub(crate) found: f64,
    /// Bytes of the whole structure divided by those of the codes, where measured.
    pub(crate) memory: Option<f64>,
    /// Whether only a part of the query was measured, and the time scaled to the whole.
    pub(crate) scaled: bool,
    /// For an inexact rival, the fraction of the 32 nearest codes by Hamming distance that it finds.
    pub(crate) recall: Option<f64>,
}

impl Row {
    /// Returns whether a row has this method and parameter.
    pub(crate) fn is(&self, method: &str, parameter: &str) -> bool {
        self.method == method && self.parameter == parameter
    }
}

/// Rounds to four digits.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// Returns the median.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

pub(crate) fn write(path: &Path, rows: &[Row]) -> Result<()> {
    let mut writer = csv::Writer::from_path(path).with_context(|| path.display().to_string())?;
    rows.iter().try_for_each(|row| writer.serialize(row))?;
    Ok(writer.flush()?)
}

pub(crate) fn read(path: &Path) -> Result<Vec<Row>> {
    let mut reader = csv::Reader::from_path(path).with_context(|| path.display().to_string())?;
    reader.deserialize().map(|row| Ok(row?)).collect()
}
