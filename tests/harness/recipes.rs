//! Recipes of the frozen vectors.

use std::sync::Arc;

use nestcast_codec::{Channels, Encoder, Format, Linear, Model, Picture};

use crate::pictures::{Content, picture};

/// The recipe of a vector.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// Name of the file, without `.nst`.
    pub name: &'static str,
    content: Content,
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Grey or colour, of 8 or 16 bits, with opacity or without.
    pub format: Format,
    /// The length at which the stream is cut.
    max_bytes: usize,
    /// The strength of activity masking.
    masking: f32,
}

const WHOLE_STREAM: usize = usize::MAX;

const fn recipe(name: &'static str, content: Content, size: [u32; 2], format: Format, max_bytes: usize) -> Recipe {
    Recipe { name, content, width: size[0], height: size[1], format, max_bytes, masking: 0.0 }
}

const fn masked(recipe: Recipe, masking: f32) -> Recipe {
    Recipe { masking, ..recipe }
}

/// All vectors. The first ones are small enough to test every byte.
pub const RECIPES: [Recipe; 20] = [
    recipe("one-rgb", Content::Flat, [1, 1], Format::Rgb, WHOLE_STREAM),
    recipe("one-grey", Content::Flat, [1, 1], Format::Grey, WHOLE_STREAM),
    recipe("tiny", Content::Noise, [5, 3], Format::Rgb, WHOLE_STREAM),
    recipe("middle", Content::Middle, [20, 9], Format::Grey, WHOLE_STREAM),
    recipe("flat", Content::Flat, [40, 24], Format::Rgb, WHOLE_STREAM),
    recipe("grey", Content::Saturated, [17, 33], Format::Grey, WHOLE_STREAM),
    recipe("saturated", Content::Saturated, [32, 32], Format::Rgb, WHOLE_STREAM),
    recipe("line", Content::Ramp, [1, 200], Format::Rgb, WHOLE_STREAM),
    recipe("noise", Content::Noise, [64, 64], Format::Rgb, WHOLE_STREAM),
    recipe("photo", Content::Photo, [129, 77], Format::Rgb, WHOLE_STREAM),
    recipe("longest", Content::Photo, [16384, 1], Format::Grey, WHOLE_STREAM),
    recipe("slices", Content::Photo, [700, 600], Format::Rgb, 24_000),
    masked(recipe("gains", Content::Photo, [64, 61], Format::Rgb, WHOLE_STREAM), 0.5),
    masked(recipe("grey-gains", Content::Photo, [50, 70], Format::Grey, WHOLE_STREAM), 1.0),
    masked(recipe("slices-gains", Content::Photo, [700, 600], Format::Rgb, 6_000), 0.25),
    recipe("deep", Content::Photo, [64, 61], Format::Rgb16, WHOLE_STREAM),
    recipe("deep-grey", Content::Ramp, [40, 30], Format::Grey16, WHOLE_STREAM),
    recipe("alpha", Content::Photo, [64, 48], Format::Rgba, WHOLE_STREAM),
    recipe("deep-grey-alpha", Content::Ramp, [33, 20], Format::GreyAlpha16, WHOLE_STREAM),
    masked(recipe("slices-deep-alpha", Content::Photo, [700, 600], Format::Rgba16, 16_000), 0.25),
];

impl Recipe {
    /// Makes the picture. Samples of 16 bits have those of another picture of the same kind below the usual ones.
    ///
    /// # Panics
    /// Never: the picture has all samples.
    pub fn picture(&self) -> Picture {
        let of = |channels, seed| picture(self.content, self.width, self.height, channels, seed);
        let colours = of(self.format.channels(), 2);
        if !self.format.is_deep() && !self.format.has_alpha() {
            return colours;
        }
        let (low, alpha) = (of(self.format.channels(), 3), of(Channels::Grey, 4));
        let count = self.format.channels().count();
        let mut samples = Vec::new();
        for (pixel, (high, low)) in colours.samples().chunks(count).zip(low.samples().chunks(count)).enumerate() {
            // Opaque above the middle, and all shades below.
            let alpha = alpha.samples()[pixel].saturating_mul(2);
            let high = high.iter().copied().chain(self.format.has_alpha().then_some(alpha));
            for (high, low) in high.zip(low.iter().copied().chain([alpha])) {
                samples.extend(self.format.is_deep().then_some(low));
                samples.push(high);
            }
        }
        Picture::new(colours.size(), self.format, samples).expect("all samples")
    }

    /// Encodes it with the current codec, on one thread.
    ///
    /// # Panics
    /// If the codec refuses.
    pub fn encode(&self, model: &Arc<Model>) -> Vec<u8> {
        self.encode_on(1, model)
    }

    /// Encodes it with the current codec, on `threads` threads.
    ///
    /// # Panics
    /// If the codec refuses.
    pub fn encode_on(&self, threads: usize, model: &Arc<Model>) -> Vec<u8> {
        let linear = Linear::new(Arc::clone(model)).with_threads(threads);
        let mut encoder = Encoder::new(linear).with_max_bytes(self.max_bytes).with_activity_masking(self.masking);
        let stream = encoder.encode(&self.picture());
        stream.unwrap_or_else(|error| panic!("{}: {error}", self.name)).bytes().to_vec()
    }

    /// Returns whether every byte can be tested quickly.
    pub fn is_small(&self) -> bool {
        self.width * self.height <= 64 * 64
    }
}
