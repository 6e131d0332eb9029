//! Measures the rivals over a folder of pictures and compares our decoders with them.
//!
//! Writes `rivals.csv` (a row a picture, rival and parameter), `rd.csv` (means over pictures), `bd.md` (BD-rates) and the
//! plots `psnr.svg` and `ms-ssim.svg`.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Result, ensure};
use clap::Parser;
use nestcast_benches::{
    measure, picture,
    report::{Report, TABLED_ANCHORS},
    rivals,
    series::{self, Row, Series},
};

/// Rate and distortion of nestcast and its rivals.
#[derive(Parser)]
struct Options {
    /// Folder of PNG or JPEG pictures to measure the rivals on.
    #[arg(long, required_unless_present = "rivals")]
    images: Option<PathBuf>,
    /// Folder for the results; made if it is not there.
    #[arg(long)]
    out: PathBuf,
    /// Published curves (JSON).
    #[arg(long)]
    anchors: Option<PathBuf>,
    /// List every published curve, not only the chosen ones.
    #[arg(long)]
    all_anchors: bool,
    /// Our measurements: CSV files as `nestcast eval` writes them.
    #[arg(long)]
    ours: Vec<PathBuf>,
    /// Take the rivals from an earlier `rivals.csv` instead of measuring them.
    #[arg(long, conflicts_with = "images")]
    rivals: Option<PathBuf>,
    /// Measure only this rival (may be repeated).
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
}

fn main() -> Result<()> {
    let options = Options::parse();
    std::fs::create_dir_all(&options.out)?;
    let rows = rival_rows(&options)?;
    let pictures = names(&rows);
    let mut ours = Vec::new();
    for path in &options.ours {
        let rows = series::read_rows(path)?;
        if names(&rows) != pictures {
            eprintln!("warning: {} is of other pictures than the rivals", path.display());
        }
        ours.extend(series::average(&rows)?);
    }
    let report =
        Report { ours, rivals: series::average(&rows)?, anchors: anchors(&options)?, pictures: pictures.len() };
    report.write(&options.out)?;
    print!("{}", report.markdown());
    Ok(())
}

/// The pictures of some rows, without folder and extension.
fn names(rows: &[Row]) -> BTreeSet<&OsStr> {
    rows.iter().filter_map(|row| Path::new(&row.image).file_stem()).collect()
}

fn rival_rows(options: &Options) -> Result<Vec<Row>> {
    match (&options.rivals, &options.images) {
        (Some(path), _) => series::read_rows(path),
        (None, Some(folder)) => {
            let rows = measured(&measure::pictures(folder)?, &options.only)?;
            series::write_rows(&options.out.join("rivals.csv"), &rows)?;
            Ok(rows)
        }
        (None, None) => Ok(Vec::new()),
    }
}

fn measured(paths: &[PathBuf], only: &[String]) -> Result<Vec<Row>> {
    let mut chosen = rivals::all();
    chosen.retain(|rival| only.is_empty() || only.iter().any(|name| name == rival.name()));
    ensure!(!chosen.is_empty(), "no rival of that name: {}", only.join(", "));
    let mut rows = Vec::new();
    for (n, path) in paths.iter().enumerate() {
        let picture = picture::open(path)?;
        let image = path.file_name().unwrap_or_default().to_string_lossy();
        for rival in &chosen {
            let start = Instant::now();
            rows.extend(measure::sweep(rival.as_ref(), &image, &picture)?);
            let seconds = start.elapsed().as_secs_f64();
            eprintln!("{}/{} {image} {} ({seconds:.1} s)", n + 1, paths.len(), rival.name());
        }
    }
    Ok(rows)
}

fn anchors(options: &Options) -> Result<Vec<Series>> {
    let Some(path) = &options.anchors else {
        return Ok(Vec::new());
    };
    let mut all = series::read_anchors(path)?;
    if !options.all_anchors {
        all.retain(|anchor| TABLED_ANCHORS.contains(&anchor.name.as_str()));
        all.sort_by_key(|anchor| TABLED_ANCHORS.iter().position(|name| *name == anchor.name));
    }
    Ok(all)
}
