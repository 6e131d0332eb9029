//! One photograph encoded once: cuts of its stream next to JPEG of the same size.

mod ladder;
mod measure;
mod page;
mod photo;
mod sheet;
mod slider;

use std::fmt::Write;

use anyhow::Result;
use nestcast_media::picture::encode_png;
use nestcast_sender::PageFile;

use self::measure::Report;
use super::{File, Setup, Shown};

pub use self::photo::{Coders, Photo};

/// A photo that was encoded once, and what its cuts and JPEG show of it.
pub struct Demonstration<'a>(Report<'a>);

/// Encodes a photo once and measures cuts of its stream.
///
/// # Errors
/// Those of the coders.
pub fn run<'a>(setup: &Setup<'_>, photo: &'a Photo, coders: Coders) -> Result<Demonstration<'a>> {
    if photo.scaled {
        let width = photo.picture.size().width();
        let height = photo.picture.size().height();
        let name = &photo.name;
        (setup.note)(&format!("{name} is scaled to {width}x{height} for the demo; `nestcast eval` measures all of it"));
    }
    Ok(Demonstration(measure::measure(setup, photo, coders)?))
}

impl Demonstration<'_> {
    /// Returns a table, a page and a contact sheet of four cuts, and the stream.
    ///
    /// # Errors
    /// Those of drawing.
    pub fn show(&self) -> Result<Shown> {
        let report = &self.0;
        let files = vec![
            File { what: "page", name: "picture.html", bytes: page::write(report)?.into_bytes() },
            File { what: "contact sheet", name: "picture-sheet.png", bytes: encode_png(&sheet::draw(report)?)? },
            File { what: "stream", name: "picture.nst", bytes: report.stream.to_vec() },
        ];
        Ok(Shown { summary: describe(report), files })
    }

    /// Returns the files of a page on which the reader cuts the stream at any byte, next to the JPEG of the same bytes.
    /// It needs the browser viewer's files beside its own, and a server.
    ///
    /// # Errors
    /// Those of the JPEG decoder, and of the PNG encoder.
    pub fn slider(&self) -> Result<Vec<PageFile>> {
        slider::files(&self.0)
    }
}

fn describe(report: &Report<'_>) -> String {
    let size = report.photo.picture.size();
    let mut text = format!(
        "{}, {}x{}, encoded once: {} bytes, {:.2} bpp\n\n   cut       bytes      bpp",
        report.photo.name,
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
    text + "\nPSNR over red, green and blue. JPEG: the best that fits into the same bytes; - where none does.\n"
}
