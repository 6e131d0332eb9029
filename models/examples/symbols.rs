//! Writes every symbol of photos, for `research/nestcast_research/measuring/guesses.py`:
//! `cargo run --release -p nestcast-models --example symbols -- TABLES.bin OUT PHOTO...` writes two files a photo into
//! the folder OUT, at full size and at half, each cropped to sides of a multiple of 64.
//!
//! A file is width and height (32 bits, lowest byte first, as all numbers), then for each slice: number of regions (32
//! bits) and their rotations (three signed bytes each), the Levels of every subband (16 bits each), number of symbols
//! (32 bits), and for each symbol its context, probability of a one in 1/32768 (16 bits each), bit, plane, subband or
//! 255, 0 (8 bits each), column and row (16 bits each).

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use image::RgbImage;
use image::imageops::{self, FilterType};
use nestcast_codec::{Analysis, Channels, Encoder, Linear, Model, Picture, Size, SliceSymbols};

/// Photos are used whole, and shrunk to one over this, which removes the traces of their own compression.
const SHRINK_FACTORS: [u32; 2] = [1, 2];
const SIDE_PIXELS: u32 = 64;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(tables), Some(out)) = (arguments.next(), arguments.next()) else {
        return Err("usage: symbols TABLES.bin OUT PHOTO...".into());
    };
    let linear = Linear::new(Arc::new(Model::from_bytes(&std::fs::read(tables)?)?));
    let mut encoder = Encoder::new(linear.clone());
    for photo in arguments {
        let full = image::open(&photo)?.to_rgb8();
        let name = Path::new(&photo).file_stem().unwrap_or_default().to_string_lossy();
        for shrink in SHRINK_FACTORS {
            let photo = cropped(&full, shrink);
            let size = Size::new(photo.width(), photo.height())?;
            let picture = Picture::new(size, Channels::Rgb, photo.into_raw())?;
            let slices = encoder.symbols(&linear.coefficients_of((&picture).into())?)?;
            let mut bytes = [size.width(), size.height()].map(number).concat();
            slices.iter().for_each(|slice| write(slice, &mut bytes));
            std::fs::write(Path::new(&out).join(format!("{name}-{shrink}.symbols")), bytes)?;
        }
        eprintln!("{photo}");
    }
    Ok(())
}

fn cropped(full: &RgbImage, by: u32) -> RgbImage {
    let shrunk = imageops::resize(full, full.width() / by, full.height() / by, FilterType::Lanczos3);
    let [width, height] = [shrunk.width(), shrunk.height()].map(|side| side / SIDE_PIXELS * SIDE_PIXELS);
    imageops::crop_imm(&shrunk, (shrunk.width() - width) / 2, (shrunk.height() - height) / 2, width, height).to_image()
}

#[expect(clippy::cast_possible_truncation, reason = "counts in one picture")]
fn number(count: usize) -> [u8; 4] {
    (count as u32).to_le_bytes()
}

fn write(slice: &SliceSymbols, out: &mut Vec<u8>) {
    out.extend(number(slice.rotations.len()));
    out.extend(slice.rotations.iter().flatten().map(|angle| angle.cast_unsigned()));
    out.extend(slice.levels.iter().flatten().flat_map(|level| level.to_le_bytes()));
    out.extend(number(slice.symbols.len()));
    for symbol in &slice.symbols {
        let (subband, [x, y]) = symbol.coefficient.unwrap_or((u8::MAX, [0; 2]));
        out.extend([symbol.context, symbol.one].map(u16::to_le_bytes).concat());
        out.extend([u8::from(symbol.bit), symbol.plane, subband, 0]);
        out.extend([x, y].map(u16::to_le_bytes).concat());
    }
}
