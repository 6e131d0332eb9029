//! A clip, and the pictures that a decoder shows of it.

use nestcast_codec::{Format, FrameRate, Picture, Size, VideoDecoder, VideoModel, Ycbcr};

pub(crate) const RATE: FrameRate = match FrameRate::new(30, 1) {
    Ok(rate) => rate,
    Err(_) => panic!("a rate"),
};
pub(crate) const FORMAT: Format = Format::Ycbcr420(Ycbcr::BT601);

/// A texture that moves to the left above a static one; from frame `cut` on another texture.
pub(crate) fn clip(size: Size, count: usize, cut: usize) -> Vec<Picture> {
    let sample = |x: usize, y: usize, seed: usize| {
        let wave = if seed == 0 { ((x * 7 + y * 3) % 64).abs_diff(32) * 4 } else { (x / 3 * 5 + y * y) % 120 };
        u8::try_from(60 + wave + (x * y + seed * 31) % 23).expect("less than 256")
    };
    let frame = |number: usize| {
        let seed = usize::from(number >= cut);
        let mut samples = Vec::new();
        for plane in 0..3 {
            let [width, height] = FORMAT.plane(size, plane);
            for y in 0..height {
                let moved = if 2 * y < height { number } else { 0 };
                samples.extend((0..width).map(|x| sample(x + moved, y + plane * 9, seed)));
            }
        }
        Picture::new(size, FORMAT, samples).expect("as many samples")
    };
    (0..count).map(frame).collect()
}

pub(crate) fn decoder(size: Size) -> VideoDecoder {
    VideoDecoder::new(VideoModel::built_in(), size, 1)
}

pub(crate) fn render(decoder: &mut VideoDecoder) -> Picture {
    let mut picture = Picture::zero(decoder.size(), FORMAT);
    decoder.render_into(&mut picture).expect("its size");
    picture
}

/// Mean squared error of luma.
pub(crate) fn error(a: &Picture, b: &Picture) -> f64 {
    let count = a.size().pixels();
    let pairs = a.samples().iter().zip(b.samples()).take(count);
    pairs.map(|(a, b)| f64::from(a.abs_diff(*b)).powi(2)).sum::<f64>() / count as f64
}
