//! Low rates look whole, with either decoder: from the first bytes a frame has no holes, and at low rates no blocks.

use nestcast_codec::{Channels, Decoder, Encoder, Picture, Size, Stream};
use nestcast_lab::metrics::budget;
use nestcast_models::{Package, Runtime};

/// The first part of the stream that shows the whole frame.
const FIRST_SHARE: f64 = 0.005;
/// Side of the tiles in which a hole would show, pixels.
const TILE_SAMPLES: usize = 64;
/// A tile without any data shows the middle of the range; the photo's tiles differ from it by up to 100 levels.
const MOST_LEVELS_OFF: f64 = 24.0;

/// The rates checked for blocks, in bits per pixel.
const LOW_BPP: [f64; 3] = [0.05, 0.1, 0.2];
/// Sides of blocks that transforms and slices might leave.
const GRIDS: [usize; 4] = [8, 16, 32, 64];
/// Steps across a grid's lines relative to steps elsewhere: 1 without blocks.
const MOST_BLOCKY: f64 = 1.15;

fn photo() -> Picture {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/assets/spiral_firework.png");
    let photo = image::open(&path).expect("the bundled photo").into_rgb8();
    rgb(photo.width(), photo.height(), photo.into_raw())
}

fn rgb(width: u32, height: u32, samples: Vec<u8>) -> Picture {
    Picture::new(Size::new(width, height).expect("a valid size"), Channels::Rgb, samples)
        .expect("three samples a pixel")
}

/// Returns the mean colour of every tile, row by row.
fn tiles(picture: &Picture) -> Vec<[f64; 3]> {
    let (width, height) = (picture.size().width(), picture.size().height());
    let (pixels, _) = picture.samples().as_chunks::<3>();
    let across = width.div_ceil(TILE_SAMPLES);
    let mut sums = vec![([0.0; 3], 0.0); across * height.div_ceil(TILE_SAMPLES)];
    for (at, pixel) in pixels.iter().enumerate() {
        let (sum, count) = &mut sums[at / width / TILE_SAMPLES * across + at % width / TILE_SAMPLES];
        for (sum, &sample) in sum.iter_mut().zip(pixel) {
            *sum += f64::from(sample);
        }
        *count += 1.0;
    }
    sums.into_iter().map(|(sum, count)| sum.map(|sum| sum / count)).collect()
}

/// Returns the largest difference of a tile's mean colour, in levels.
fn furthest_tile(a: &Picture, b: &Picture) -> f64 {
    let pairs = tiles(a).into_iter().zip(tiles(b));
    pairs.flat_map(|(a, b)| (0..3).map(move |c| (a[c] - b[c]).abs())).fold(0.0, f64::max)
}

/// Returns the mean step between neighbours across the lines of a grid, divided by the mean step elsewhere; in both
/// directions.
fn blockiness(picture: &Picture, grid: usize) -> f64 {
    let (width, height) = (picture.size().width(), picture.size().height());
    let luma = |x: usize, y: usize| f64::from(picture.samples()[(y * width + x) * 3 + 1]);
    let (mut on, mut off) = ((0.0, 0.0), (0.0, 0.0));
    let mut step = |at: usize, step: f64| {
        let sum = if at.is_multiple_of(grid) { &mut on } else { &mut off };
        *sum = (sum.0 + step, sum.1 + 1.0);
    };
    for (x, y) in (1..height).flat_map(|y| (1..width).map(move |x| (x, y))) {
        step(x, (luma(x, y) - luma(x - 1, y)).abs());
        step(y, (luma(x, y) - luma(x, y - 1)).abs());
    }
    (on.0 / on.1) / (off.0 / off.1)
}

fn stream(package: &Package, photo: &Picture) -> Stream {
    Encoder::new(package.linear(2)).encode(photo).expect("a stream")
}

fn decoded(decoder: &mut Decoder, prefix: &[u8]) -> Picture {
    decoder.reset();
    decoder.push(prefix).expect("a prefix is no error");
    decoder.render().unwrap_or_else(|error| panic!("{error}"))
}

fn whole_and_smooth(mut decoder: Decoder, package: &Package, name: &str) {
    let photo = photo();
    let stream = stream(package, &photo);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a length")]
    let first = (stream.bytes().len() as f64 * FIRST_SHARE) as usize;
    let early = decoded(&mut decoder, &stream.prefix(first));
    let off = furthest_tile(&photo, &early);
    println!("{name}: after {first} bytes no tile is further than {off:.1} levels from its colour");
    assert!(off < MOST_LEVELS_OFF, "{name}: a tile is {off:.1} levels off after {first} bytes");
    for rate in LOW_BPP {
        let picture = decoded(&mut decoder, &stream.prefix(budget(rate, photo.size())));
        for grid in GRIDS {
            let (found, own) = (blockiness(&picture, grid), blockiness(&photo, grid));
            println!("{name}: at {rate} bpp, grid of {grid}: {found:.3} (the photo {own:.3})");
            assert!(
                found / own < MOST_BLOCKY,
                "{name}: blocks of {grid} at {rate} bpp: {found:.3}, the photo {own:.3}"
            );
        }
    }
}

#[test]
fn linear_synthesis() {
    let package = Package::builtin("photo").unwrap_or_else(|error| panic!("{error}"));
    whole_and_smooth(Decoder::new(package.linear(2)), &package, "linear");
}

#[test]
fn deep_synthesis() {
    let package = Package::builtin("photo").unwrap_or_else(|error| panic!("{error}"));
    let runtime = Runtime::open().unwrap_or_else(|error| panic!("{error}"));
    let deep = package.deep_synthesis(&runtime, 2);
    whole_and_smooth(Decoder::new(deep), &package, "deep");
}

/// The measures detect what they should: the blocks of a JPEG, and a tile without any data.
#[test]
fn holes_and_blocks_would_be_found() {
    let photo = photo();
    let (width, height) = (photo.size().width(), photo.size().height());
    let mut jpeg = Vec::new();
    let side = |length: usize| u32::try_from(length).expect("a side");
    image::codecs::jpeg::JpegEncoder::new_with_quality(&mut jpeg, 5)
        .encode(photo.samples(), side(width), side(height), image::ExtendedColorType::Rgb8)
        .expect("a JPEG");
    let blocky = image::load_from_memory(&jpeg).expect("the same").into_rgb8();
    let found = blockiness(&rgb(blocky.width(), blocky.height(), blocky.into_raw()), 8) / blockiness(&photo, 8);
    assert!(found > 2.0 * MOST_BLOCKY, "{found}");

    let mut samples = photo.samples().to_vec();
    for y in 0..TILE_SAMPLES {
        samples[y * width * 3..][..TILE_SAMPLES * 3].fill(128);
    }
    let off = furthest_tile(&photo, &rgb(side(width), side(height), samples));
    assert!(off > 2.0 * MOST_LEVELS_OFF, "{off}");
}
