//! The picture's demo: one photograph encoded once, cuts of its stream beside JPEG of the same size.

mod chart;
mod ladder;
mod measure;
mod page;
mod sheet;

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};
use nestcast_codec::Picture;
use nestcast_media::picture;

use super::save;
use crate::args::Demo;
use crate::demo::thumbnail::thumbnail;
use crate::files;
use crate::pictures;
use crate::transforms::Model;
use measure::Report;

/// The picture that is shown unless another is named; `assets/README.md` says where it is from.
const PHOTO: &[u8] = include_bytes!("../../../assets/spiral_firework.png");
const PHOTO_NAME: &str = "Spiral Firework";
const PHOTO_CREDIT: &str = "Photograph: Spiral Firework from the wallpapers of the Budgie desktop, CC0.";
/// Longest side that is shown; the page holds every picture several times.
const MAX_SIDE: u32 = 1024;

const STREAM: &str = "picture.nst";
const SHEET: &str = "picture-sheet.png";
const PAGE: &str = "picture.html";

/// Shows `image`, or the built-in photograph; gives what to tell the user.
pub(super) fn run(options: &Demo, image: Option<&Path>, model: &Model) -> Result<String> {
    let (picture, name) = picture(options, image)?;
    let mut report = measure::measure(&picture, model, options.decoder.list())?;
    report.name = name;
    report.credit = image.is_none().then_some(PHOTO_CREDIT);
    let files = [
        (STREAM, report.stream.to_vec()),
        (SHEET, picture::encode_png(&sheet::draw(&report)?)?),
        (PAGE, page::write(&report)?.into_bytes()),
    ];
    save(options, &files)?;
    Ok(describe(&report, &options.output))
}

/// The picture to show, no larger than a page needs it, and its name.
fn picture(options: &Demo, image: Option<&Path>) -> Result<(Picture, String)> {
    let Some(path) = image else {
        let picture = picture::decode(PHOTO, u64::MAX).context("the built-in photograph")?.picture;
        return Ok((picture, PHOTO_NAME.to_owned()));
    };
    let picture = pictures::read(path, options.common.max_pixels)?;
    let name = path.file_name().map_or_else(|| files::name(path), |name| name.to_string_lossy().into_owned());
    let size = picture.size();
    if size.width().max(size.height()) <= MAX_SIDE as usize {
        return Ok((picture, name));
    }
    let smaller = thumbnail(&picture, MAX_SIDE)?;
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
