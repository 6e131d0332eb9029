//! Fits a post-filter on photos, coded at full and half size and cut anywhere: `cargo run --release -p nestcast-models
//! --example filters -- TABLES.bin PHOTO...` rewrites that of the tables. With a package's folder in place of the
//! tables it writes `post_filter.bin`, fitted after the network; then run `nestcast_train.export.manifest`.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use image::RgbImage;
use image::imageops::FilterType;
use nestcast_codec::{Channels, Codec, FilterFit, Linear, Model, Picture, Size};
use nestcast_models::{Composed, DeepSynthesis, Package, Runtime};

/// The clip of differences to neighbours where the stream ends, in 1/64: the quantiser's step for a coefficient of norm
/// 1.
const CLIP_STEP: u16 = 256;
/// Cuts of each picture, in equal ratios of bytes with a random start.
const PICTURE_CUTS: u32 = 4;
/// Least and greatest rate of a cut, in bits a pixel.
const CUT_RATES: [f64; 2] = [0.08, 2.0];
/// Photos are used whole, and shrunk to one over this, which removes the traces of their own compression.
const SHRINK_FACTORS: [u32; 2] = [1, 2];
/// The step to the next random start: the golden section spreads them evenly.
const START_STEP: f64 = 0.618_033_988_749_895;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let path: PathBuf = arguments.next().ok_or("usage: filters TABLES.bin|PACKAGE PHOTO...")?.into();
    let behind_network = path.is_dir();
    let file = if behind_network { path.join("tables.bin") } else { path.clone() };
    let mut fit = FilterFit::new(CLIP_STEP);
    // Filters that add nothing: decoders then report the inputs of their filters.
    let tables = fit.with_post_filter(&std::fs::read(&file)?)?;
    let linear = Linear::new(Arc::new(Model::from_bytes(&tables)?));
    let network = behind_network.then(|| synthesis(&path)).transpose()?;
    let mut start = 0.0;
    for photo in arguments {
        let full = image::open(&photo)?.to_rgb8();
        for shrink in SHRINK_FACTORS {
            add(&mut fit, (&linear, network.as_ref()), &shrunk(&full, shrink), start)?;
            start = (start + START_STEP) % 1.0;
        }
        eprintln!("{photo}");
    }
    if behind_network {
        std::fs::write(path.join("post_filter.bin"), fit.post_filter())?;
    } else {
        std::fs::write(&file, fit.with_post_filter(&tables)?)?;
    }
    Ok(())
}

fn synthesis(package: &Path) -> Outcome<DeepSynthesis> {
    Ok(Package::open(package)?.deep_synthesis(&Runtime::open()?, 1))
}

fn shrunk(full: &RgbImage, by: u32) -> RgbImage {
    if by == 1 {
        return full.clone();
    }
    image::imageops::resize(full, full.width() / by, full.height() / by, FilterType::Lanczos3)
}

/// Adds a photo at all its cuts, the first of them at `start`, 0..1, between the least rate and the next.
fn add(
    fit: &mut FilterFit,
    (linear, network): (&Linear, Option<&DeepSynthesis>),
    photo: &RgbImage,
    start: f64,
) -> Outcome<()> {
    let size = Size::new(photo.width(), photo.height())?;
    let picture = Picture::new(size, Channels::Rgb, photo.clone().into_raw())?;
    let codec = Codec::with(linear.clone());
    let stream = codec.encode(&picture)?;
    let mut decoder = codec.decoder();
    let mut done = 0;
    for cut in 0..PICTURE_CUTS {
        let rate =
            CUT_RATES[0] * (CUT_RATES[1] / CUT_RATES[0]).powf((f64::from(cut) + start) / f64::from(PICTURE_CUTS));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive number of bytes")]
        let bytes = ((rate * size.pixels() as f64 / 8.0) as usize).clamp(done, stream.bytes().len());
        decoder.push(&stream.bytes()[done..bytes])?;
        done = bytes;
        let (coefficients, position) = decoder.coefficients()?;
        let Some(network) = network else {
            fit.add(linear, (coefficients, position), &picture)?;
            continue;
        };
        let mut composed = Composed::new(linear, &mut coefficients.clone(), position)?;
        network.correct(&mut composed)?;
        fit.add_planes(linear, &composed.planes, (&composed.significance, position), &picture)?;
    }
    Ok(())
}
