//! One photograph encoded once: cuts of its stream beside JPEG of the same size.

mod ladder;
mod measure;
mod page;
mod sheet;

use std::fmt::Write;

use anyhow::{Context, Result};
use nestcast_codec::{Decoder, Encoder, Picture};
use nestcast_media::picture::{decode, encode_png};

use self::measure::Report;
use super::{File, Setup, Shown};
use crate::thumbnail::thumbnail;

/// `assets/README.md` says where it is from.
const BUILTIN: &[u8] = include_bytes!("../../../assets/spiral_firework.png");
/// Longest side that is shown; the page holds every picture several times.
const MAX_SIDE: usize = 1024;

/// What is encoded.
#[derive(Debug)]
pub struct Photo {
    name: String,
    credit: Option<&'static str>,
    picture: Picture,
    scaled: bool,
}

impl Photo {
    /// A picture with a name; it is scaled down where it is larger than a page needs it.
    ///
    /// # Errors
    /// Those of [`thumbnail`].
    pub fn new(name: String, picture: Picture) -> Result<Self> {
        let scaled = picture.size().width().max(picture.size().height()) > MAX_SIDE;
        let picture = if scaled { thumbnail(&picture, u32::try_from(MAX_SIDE)?)? } else { picture };
        Ok(Self { name, credit: None, picture, scaled })
    }

    /// What is built in.
    ///
    /// # Errors
    /// None: it is sound.
    pub fn builtin() -> Result<Self> {
        const CREDIT: &str = "Photograph: Spiral Firework from the wallpapers of the Budgie desktop, CC0.";
        let picture = decode(BUILTIN, u64::MAX).context("the built-in photograph")?.picture;
        Ok(Self { credit: Some(CREDIT), ..Self::new("Spiral Firework".to_owned(), picture)? })
    }
}

/// What the photo is encoded and decoded with.
pub struct Coders {
    /// Encodes it once.
    pub encoder: Encoder,
    /// Decoders with their names, in the order of columns; one at least.
    pub decoders: Vec<(&'static str, Decoder)>,
}

/// Encodes a photo once and shows cuts of its stream.
///
/// # Errors
/// Those of the coders.
pub fn run(setup: &Setup<'_>, photo: &Photo, coders: Coders) -> Result<Shown> {
    if photo.scaled {
        let (width, height) = (photo.picture.size().width(), photo.picture.size().height());
        let name = &photo.name;
        (setup.note)(&format!("{name} is scaled to {width}x{height} for the demo; `nestcast eval` measures all of it"));
    }
    let report = measure::measure(setup, photo, coders)?;
    let files = vec![
        File { what: "page", name: "picture.html", bytes: page::write(&report)?.into_bytes() },
        File { what: "contact sheet", name: "picture-sheet.png", bytes: encode_png(&sheet::draw(&report)?)? },
        File { what: "stream", name: "picture.nst", bytes: report.stream.to_vec() },
    ];
    Ok(Shown { summary: describe(&report), files })
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
