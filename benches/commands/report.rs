//! `report`: draws curves, tables and the page from what was measured, beside it.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use nestcast_benches::{
    charts::{self, Growth},
    page::Page,
    population::{self, INTERVALS_MS},
    published, receivers,
    report::Report,
    series::{self, Series},
    table,
};
use nestcast_lab::rate_distortion::Row;
use serde::de::DeserializeOwned;

pub(crate) fn run(results: &Path) -> Result<()> {
    let report = rate_distortion(&results.join("kodak"))?;
    report.write(&results.join("kodak"))?;
    print!("{}", report.markdown());
    let folder = results.join("population");
    let outcomes = match (optional::<Row>(&folder.join("nestcast.csv"))?, optional(&folder.join("candidates.csv"))?) {
        (cuts, candidates) if !cuts.is_empty() && !candidates.is_empty() => {
            population::outcomes(&cuts, &candidates, &receivers::read(Path::new(super::BANDWIDTHS))?)?
        }
        _ => Vec::new(),
    };
    if !outcomes.is_empty() {
        table::write(&folder.join("expected.csv"), &outcomes)?;
        for interval in INTERVALS_MS {
            let svg = charts::population(&outcomes, interval).svg()?;
            std::fs::write(folder.join(format!("expected-{interval}ms.svg")), svg)?;
        }
    }
    let scaling = optional(&results.join("scaling.csv"))?;
    if !scaling.is_empty() {
        std::fs::write(results.join("scaling-time.svg"), charts::scaling(&scaling, Growth::Time).svg()?)?;
        std::fs::write(results.join("scaling-memory.svg"), charts::scaling(&scaling, Growth::Memory).svg()?)?;
    }
    let timings = optional(&results.join("timing.csv"))?;
    let page = Page { report, outcomes, sheets: sheets(&results.join("sheets"))?, timings, scaling };
    let path = results.join("report.html");
    std::fs::write(&path, page.html()).with_context(|| path.display().to_string())
}

/// Rows of a table that need not be there.
fn optional<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    if path.exists() { table::read(path) } else { Ok(Vec::new()) }
}

fn rate_distortion(folder: &Path) -> Result<Report> {
    let rows: Vec<Row> = optional(&folder.join("rivals.csv"))?;
    let pictures = names(&rows);
    let mut ours = Vec::new();
    for path in files(folder, "csv")? {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let Some(model) = stem.strip_prefix("nestcast") else { continue };
        let rows: Vec<Row> = table::read(&path)?;
        if names(&rows) != pictures {
            eprintln!("warning: {} is of other pictures than the rivals", path.display());
        }
        ours.extend(series::average(&rows)?.into_iter().map(|series| named(series, model)));
    }
    let published: Vec<published::Line> = optional(&folder.join("published.csv"))?;
    Ok(Report {
        ours,
        rivals: series::average(&rows)?,
        anchors: published::series(&published),
        pictures: pictures.len(),
    })
}

/// `nestcast-ssim.csv` holds the decoders `ssim linear` and `ssim deep`.
fn named(series: Series, model: &str) -> Series {
    match model.trim_start_matches('-') {
        "" => series,
        model => Series { name: format!("{model} {}", series.name), ..series },
    }
}

/// The pictures of some rows, without folder and extension.
fn names(rows: &[Row]) -> BTreeSet<&OsStr> {
    rows.iter().filter_map(|row| Path::new(&row.image).file_stem()).collect()
}

/// Names of the contact sheets' files.
fn sheets(folder: &Path) -> Result<Vec<String>> {
    let name = |path: PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(files(folder, "jpg")?.into_iter().map(name).collect())
}

/// The files of a folder with an extension, by name; none if there is no folder.
fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|found| found == extension) {
            paths.push(path);
        }
    }
    // By stem: `nestcast` comes before `nestcast-ssim`.
    paths.sort_by(|a, b| a.file_stem().cmp(&b.file_stem()));
    Ok(paths)
}
