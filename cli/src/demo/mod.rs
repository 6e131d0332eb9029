//! `nestcast demo`: one photograph encoded once, cuts of its stream beside JPEG of the same size.

mod chart;
mod ladder;
mod measure;
mod page;
mod sheet;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use nestcast_codec::Picture;

use crate::args::Demo;
use crate::files::{self, Output};
use crate::pictures;
use crate::transforms::Model;
use measure::Report;

/// The picture that is shown unless another is named; `assets/README.md` says where it is from.
const PHOTO: &[u8] = include_bytes!("../../assets/spiral_firework.png");
const PHOTO_NAME: &str = "Spiral Firework";
const PHOTO_CREDIT: &str = "Photograph: Spiral Firework from the wallpapers of the Budgie desktop, CC0.";
/// Longest side that is shown; the page holds every picture several times.
const MAX_SIDE: u32 = 1024;

const STREAM: &str = "picture.nst";
const SHEET: &str = "contact-sheet.png";
const PAGE: &str = "index.html";

pub(crate) fn run(options: &Demo) -> Result<()> {
    let folder = &options.output;
    ensure!(!files::is_standard(folder), "the demo writes several files: name a folder with -o");
    ensure!(!folder.exists() || folder.is_dir(), "{} is a file: name a folder with -o", folder.display());
    let model = Model::open(&options.common)?;
    let (picture, name) = picture(options)?;
    let decoders = options.decoder.list();
    let mut report = measure::measure(&picture, &model, decoders)?;
    report.name = name;
    report.credit = options.image.is_none().then_some(PHOTO_CREDIT);
    let files = [
        (STREAM, report.stream.to_vec()),
        (SHEET, pictures::png(&sheet::draw(&report)?)?),
        (PAGE, page::write(&report)?.into_bytes()),
    ];
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be created", folder.display()))?;
    for (name, bytes) in files {
        Output::new(&folder.join(name), &options.image.iter().map(AsRef::as_ref).collect::<Vec<&Path>>())?
            .write(&bytes)?;
    }
    files::print(&describe(&report, folder))
}

/// The picture to show, no larger than a page needs it, and its name.
fn picture(options: &Demo) -> Result<(Picture, String)> {
    let Some(path) = &options.image else {
        let picture = pictures::decode(PHOTO, u64::MAX, &mut Vec::new()).context("the built-in photograph")?;
        return Ok((picture, PHOTO_NAME.to_owned()));
    };
    let picture = pictures::read(path, options.common.max_pixels)?;
    let name = path.file_name().map_or_else(|| files::name(path), |name| name.to_string_lossy().into_owned());
    let size = picture.size();
    if size.width().max(size.height()) <= MAX_SIDE as usize {
        return Ok((picture, name));
    }
    let smaller = pictures::thumbnail(&picture, MAX_SIDE)?;
    let (width, height) = (smaller.size().width(), smaller.size().height());
    files::note(&format!("{name} is scaled to {width}x{height} for the demo; `nestcast eval` measures all of it"));
    Ok((smaller, name))
}

fn describe(report: &Report, folder: &Path) -> String {
    let size = report.size;
    let mut text = format!(
        "{}, {}x{}, encoded once: {} bytes, {:.2} bpp\n\n   cut       bytes      bpp",
        report.name,
        size.width(),
        size.height(),
        report.stream.len(),
        report.rows[report.rows.len() - 1].bpp
    );
    for column in &report.columns {
        let _ = write!(text, "  {:>9}", format!("{column} dB"));
    }
    text.push('\n');
    for row in &report.rows {
        let _ = write!(text, " {:>3} %  {:>10}  {:>7.3}", row.percent, row.bytes, row.bpp);
        for cell in &row.cells {
            let quality = cell.as_ref().map_or_else(|| "-".to_owned(), |cell| format!("{:.2}", cell.psnr));
            let _ = write!(text, "  {quality:>9}");
        }
        text.push('\n');
    }
    let place = |file: &str| folder.join(file).display().to_string();
    let _ = write!(
        text,
        "\nPSNR over red, green and blue. JPEG: the best that fits into the same bytes; - where none does.\n\n\
         page           {}\ncontact sheet  {}\nstream         {}\n",
        place(PAGE),
        place(SHEET),
        place(STREAM)
    );
    text
}
