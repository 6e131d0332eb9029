//! Frames through the shipped network.

use std::sync::Arc;

use nestcast_codec::{
    Bitrate, Format, FrameRate, Picture, Population, Size, VideoDecoder, VideoEncoder, VideoModel, VideoSettings, Ycbcr,
};

use super::*;
use crate::VideoPackage;

const FORMAT: Format = Format::Ycbcr420(Ycbcr::BT601);

fn deep(threads: usize) -> DeepFrames {
    let runtime = Runtime::open().unwrap_or_else(|error| panic!("{error}"));
    let package = VideoPackage::built_in().unwrap_or_else(|error| panic!("{error}"));
    package.deep(&runtime, threads).unwrap_or_else(|error| panic!("{error}"))
}

/// Soft waves, edges and noise, which move by two pixels a frame.
fn picture(size: Size, number: usize) -> Picture {
    let mut noise = 1_u32;
    let mut samples = Vec::new();
    for plane in 0..3 {
        let [width, height] = FORMAT.plane(size, plane);
        let step = if plane == 0 { 2 } else { 1 };
        for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x + step * number))) {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let edge = if (x / 37 + y / 23) % 3 == plane { 70 } else { 0 };
            let wave = ((x * 3 + y) % 64).abs_diff(32) * 2;
            samples.push(u8::try_from(40 + edge + wave + (noise >> 29) as usize).expect("below 256"));
        }
    }
    Picture::new(size, FORMAT, samples).expect("the shape fits")
}

/// A decoder that has the bases of three frames, as a slow receiver does.
fn decoder(size: Size, restoration: Option<Arc<dyn Restoration>>) -> VideoDecoder {
    let bits = 30.0 * size.pixels() as f64;
    let population = Population::log_uniform(Bitrate::rounded(0.03 * bits)..=Bitrate::rounded(0.5 * bits));
    let settings = VideoSettings { size, rate: FrameRate::new(30, 1).expect("a rate"), population, threads: 1 };
    let mut encoder = VideoEncoder::new(VideoModel::built_in(), settings);
    let mut decoder = VideoDecoder::new(VideoModel::built_in(), size, 1);
    if let Some(restoration) = restoration {
        decoder = decoder.with_restoration(restoration);
    }
    for number in 0..3 {
        let frame = encoder.encode(&picture(size, number)).expect("a frame");
        decoder.decode(&frame.bytes[..frame.base]).expect("a frame");
    }
    decoder
}

fn shown(decoder: &mut VideoDecoder) -> Picture {
    let mut out = Picture::zero(decoder.size(), FORMAT);
    decoder.render_into(&mut out).expect("its size");
    out
}

fn furthest(a: &Picture, b: &Picture) -> u8 {
    a.samples().iter().zip(b.samples()).map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0)
}

fn size(width: u32, height: u32) -> Size {
    Size::new(width, height).expect("a valid size")
}

#[test]
fn frames_of_any_size_are_corrected() {
    let deep: Arc<dyn Restoration> = Arc::new(deep(2));
    for (width, height) in [(1, 1), (3, 2), (17, 33), (34, 19), (130, 50), (514, 301)] {
        let size = size(width, height);
        let linear = shown(&mut decoder(size, None));
        let corrected = shown(&mut decoder(size, Some(Arc::clone(&deep))));
        let far = furthest(&linear, &corrected);
        assert!(far < 100, "{width}x{height}: {far}");
        assert!(far > 0 || width < 34, "{width}x{height}: nothing is corrected");
    }
}

/// Shows frames in this many columns and rows of tiles.
struct Tiled(DeepFrames, [usize; 2]);

impl Restoration for Tiled {
    fn restore(&self, frame: &DecodedFrame<'_>, out: ViewMut<'_>) -> Result<(), TransformError> {
        Ok(self.0.restore_in_tiles(frame, &Tiling::split(frame.size(), self.1), out)?)
    }
}

#[test]
fn tiles_have_no_visible_borders_and_threads_change_nothing() {
    let size = size(500, 308);
    let tiled = |counts, threads| shown(&mut decoder(size, Some(Arc::new(Tiled(deep(threads), counts)))));
    let whole = tiled([1, 1], 1);
    for counts in [[2, 1], [1, 2], [3, 2]] {
        let parts = tiled(counts, 1);
        assert_eq!(parts, tiled(counts, 3), "{counts:?}");
        // Next to a border some roundings of bytes fall the other way.
        let apart = whole.samples().iter().zip(parts.samples()).filter(|(a, b)| a != b).count();
        assert!(furthest(&whole, &parts) <= 3 && apart * 10 < whole.samples().len(), "{counts:?}: {apart}");
    }
}

#[test]
fn positions_matter_as_far_as_they_were_trained() {
    let deep = deep(1);
    let blocks = Tensor {
        shape: vec![1, 8, 8, BLOCK_CHANNELS],
        data: (0..64 * BLOCK_CHANNELS).map(|i| (i % 13) as f32).collect(),
    };
    let at = |position: f32, key| {
        let position = Position(position);
        let told = deep.told(&DecodingConditions {
            key,
            base_reference: position,
            enhancement_reference: position,
            shown: position,
        });
        deep.run(&blocks, &told, <[f32]>::to_vec).expect("a correction")
    };
    assert_ne!(at(2.0, false), at(5.0, false));
    assert_eq!(at(deep.positions[1], false), at(15.0, false));
    assert_eq!(at(0.0, false), at(-1.0, false));
}

#[test]
fn a_network_of_another_kind_is_refused() {
    let runtime = Runtime::open().unwrap_or_else(|error| panic!("{error}"));
    let add = include_bytes!("../../testdata/add.onnx");
    let error = DeepFrames::load(&runtime, add, [0.0, 9.0], 1).expect_err("it adds");
    assert!(matches!(error, NetworkError::Inputs { .. }), "{error}");
}
