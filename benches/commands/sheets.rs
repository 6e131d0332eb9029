//! `sheets`: contact sheets, and one stream and its rivals to switch between, as JPEG files.

use std::{
    fs::File,
    io::{self, BufWriter},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use clap::Args;
use image::{ExtendedColorType, codecs::jpeg::JpegEncoder};
use nestcast_benches::{
    decoders::{self, Shown},
    ours::Ours,
    picture, sheet,
};
use nestcast_codec::Picture;

/// Quality of the JPEG files, high enough that the sheet adds no visible errors.
const JPEG_QUALITY: u8 = 88;

/// The pictures in the repository: three photos, all CC0, and a screen.
const BUNDLED_PICTURES: [&str; 4] =
    ["../lab/assets/spiral_firework.png", "pictures/budgie_branch.png", "pictures/mai_island.png", SCREEN_PICTURE];
/// The screen, which has no contact sheet.
const SCREEN_PICTURE: &str = "../docs/viewer.png";

#[derive(Args)]
pub(crate) struct Options {
    /// Pictures of at least 480x320 pixels; without names, those in the repository.
    images: Vec<PathBuf>,
}

pub(crate) fn run(options: &Options, results: &Path) -> Result<()> {
    let bundled = || BUNDLED_PICTURES.iter().map(|path| Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).collect();
    let images: Vec<PathBuf> = if options.images.is_empty() { bundled() } else { options.images.clone() };
    let (sheets, switched) = (results.join("sheets"), results.join("decoders"));
    for folder in [&sheets, &switched] {
        std::fs::create_dir_all(folder)?;
    }
    let ours = Ours::of(decoders::MODEL_NAME, 2)?;
    for path in images {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        eprintln!("{name}");
        let picture = picture::open(&path)?;
        if !path.ends_with(SCREEN_PICTURE) {
            write(&sheets, &name, &sheet::draw(&ours, &name, &picture)?)?;
        }
        let shown = decoders::draw(&ours, &name, &picture)?;
        remove_shown(&switched, &name)?;
        for (name, shown) in shown {
            write(&switched, &name, &shown)?;
        }
    }
    Ok(())
}

/// Removes what an earlier run drew of a picture, because a rival may not reach all of its rates again.
fn remove_shown(folder: &Path, picture: &str) -> Result<()> {
    for rate in decoders::RATES_BPP {
        for shown in Shown::ALL {
            match std::fs::remove_file(folder.join(format!("{}.jpg", shown.file(picture, rate)))) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Writes a picture as JPEG.
fn write(folder: &Path, name: &str, picture: &Picture) -> Result<()> {
    let out = folder.join(format!("{name}.jpg"));
    let file = BufWriter::new(File::create(&out).with_context(|| out.display().to_string())?);
    let (width, height) = (u32::try_from(picture.size().width())?, u32::try_from(picture.size().height())?);
    JpegEncoder::new_with_quality(file, JPEG_QUALITY).encode(
        picture.samples(),
        width,
        height,
        ExtendedColorType::Rgb8,
    )?;
    Ok(())
}
