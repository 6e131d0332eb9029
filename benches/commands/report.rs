//! `report`: draws curves, tables and the page from the measurements, into the same folder.

use std::{collections::BTreeSet, ffi::OsStr, path::Path};

use anyhow::{Context, Result};
use nestcast_benches::{
    charts::{self, Growth},
    page::Page,
    perceptual,
    population::{self, INTERVALS_MS},
    published, receivers,
    report::Report,
    series::{self, Series},
    table, video,
};
use nestcast_lab::rate_distortion::Row;

pub(crate) fn run(results: &Path) -> Result<()> {
    let report = rate_distortion(&results.join("kodak"))?;
    report.write(&results.join("kodak"))?;
    print!("{}", report.markdown());
    let look = perceptual::Table::of(&table::read_if_there(&results.join("kodak/perceptual.csv"))?);
    if !look.is_empty() {
        std::fs::write(results.join("kodak/perceptual.md"), look.markdown())?;
        std::fs::write(results.join("kodak/ssimulacra2.svg"), look.chart().svg()?)?;
    }
    let folder = results.join("population");
    let outcomes = match (
        table::read_if_there::<Row>(&folder.join("nestcast.csv"))?,
        table::read_if_there(&folder.join("candidates.csv"))?,
    ) {
        (cuts, candidates) if !cuts.is_empty() && !candidates.is_empty() => {
            population::outcomes(&cuts, &candidates, &receivers::read(Path::new(super::BANDWIDTHS_FILE))?)?
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
    let scaling = table::read_if_there(&results.join("scaling.csv"))?;
    if !scaling.is_empty() {
        std::fs::write(results.join("scaling-time.svg"), charts::scaling(&scaling, Growth::Time).svg()?)?;
        std::fs::write(results.join("scaling-memory.svg"), charts::scaling(&scaling, Growth::Memory).svg()?)?;
    }
    let timings = table::read_if_there(&results.join("timing.csv"))?;
    let layers: Vec<video::layers::Row> = table::read_if_there(&results.join("video/layers.csv"))?;
    if !layers.is_empty() {
        video::layers::report::write(&layers, &results.join("video"))?;
    }
    let video_look: Vec<video::perceptual::Row> = table::read_if_there(&results.join("video/perceptual.csv"))?;
    if !video_look.is_empty() {
        std::fs::write(results.join("video/perceptual.md"), video::perceptual::markdown(&video_look))?;
    }
    let video = video(&results.join("video"))?;
    let (sheets, decoders) = (names_in(&results.join("sheets"))?, names_in(&results.join("decoders"))?);
    let page = Page { video, video_look, layers, report, look, outcomes, sheets, decoders, timings, scaling };
    let path = results.join("report.html");
    std::fs::write(&path, page.html()).with_context(|| path.display().to_string())
}

fn video(folder: &Path) -> Result<video::report::Report> {
    let report = video::report::Report {
        rows: table::read_if_there(&folder.join("rates.csv"))?,
        frames: table::read_if_there(&folder.join("frames.csv"))?,
        outcomes: table::read_if_there(&folder.join("population.csv"))?,
        steps: table::read_if_there(&folder.join("steps.csv"))?,
    };
    if !report.rows.is_empty() {
        report.write(folder)?;
    }
    Ok(report)
}

fn rate_distortion(folder: &Path) -> Result<Report> {
    let rows: Vec<Row> = table::read_if_there(&folder.join("rivals.csv"))?;
    let pictures = names(&rows);
    let mut ours = Vec::new();
    for path in super::files(folder, "csv")? {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let Some(model) = stem.strip_prefix("nestcast") else { continue };
        let rows: Vec<Row> = table::read(&path)?;
        if names(&rows) != pictures {
            eprintln!("warning: {} is of other pictures than the rivals", path.display());
        }
        ours.extend(series::average(&rows)?.into_iter().map(|series| named(series, model)));
    }
    let published: Vec<published::Line> = table::read_if_there(&folder.join("published.csv"))?;
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

/// Returns the pictures of some rows, without folder and extension.
fn names(rows: &[Row]) -> BTreeSet<&OsStr> {
    rows.iter().filter_map(|row| Path::new(&row.image).file_stem()).collect()
}

/// Returns the names of a folder's JPEG files.
fn names_in(folder: &Path) -> Result<Vec<String>> {
    Ok(super::files(folder, "jpg")?.iter().map(|path| super::name(path)).collect())
}
