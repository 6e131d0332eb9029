//! Recipes of the frozen vectors.

use std::sync::Arc;

use nestcast_codec::{Channels, Encoder, Linear, Model, Picture};

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
    /// Grey or colour.
    pub channels: Channels,
    /// The length at which the stream is cut.
    max_bytes: usize,
    /// The strength of activity masking.
    masking: f32,
}

const WHOLE_STREAM: usize = usize::MAX;

const fn recipe(name: &'static str, content: Content, size: [u32; 2], channels: Channels, max_bytes: usize) -> Recipe {
    Recipe { name, content, width: size[0], height: size[1], channels, max_bytes, masking: 0.0 }
}

const fn masked(recipe: Recipe, masking: f32) -> Recipe {
    Recipe { masking, ..recipe }
}

/// All vectors. The first ones are small enough to test every byte.
pub const RECIPES: [Recipe; 15] = [
    recipe("one-rgb", Content::Flat, [1, 1], Channels::Rgb, WHOLE_STREAM),
    recipe("one-grey", Content::Flat, [1, 1], Channels::Grey, WHOLE_STREAM),
    recipe("tiny", Content::Noise, [5, 3], Channels::Rgb, WHOLE_STREAM),
    recipe("middle", Content::Middle, [20, 9], Channels::Grey, WHOLE_STREAM),
    recipe("flat", Content::Flat, [40, 24], Channels::Rgb, WHOLE_STREAM),
    recipe("grey", Content::Saturated, [17, 33], Channels::Grey, WHOLE_STREAM),
    recipe("saturated", Content::Saturated, [32, 32], Channels::Rgb, WHOLE_STREAM),
    recipe("line", Content::Ramp, [1, 200], Channels::Rgb, WHOLE_STREAM),
    recipe("noise", Content::Noise, [64, 64], Channels::Rgb, WHOLE_STREAM),
    recipe("photo", Content::Photo, [129, 77], Channels::Rgb, WHOLE_STREAM),
    recipe("longest", Content::Photo, [16384, 1], Channels::Grey, WHOLE_STREAM),
    recipe("slices", Content::Photo, [700, 600], Channels::Rgb, 24_000),
    masked(recipe("gains", Content::Photo, [64, 61], Channels::Rgb, WHOLE_STREAM), 0.5),
    masked(recipe("grey-gains", Content::Photo, [50, 70], Channels::Grey, WHOLE_STREAM), 1.0),
    masked(recipe("slices-gains", Content::Photo, [700, 600], Channels::Rgb, 6_000), 0.25),
];

impl Recipe {
    /// Makes the picture.
    pub fn picture(&self) -> Picture {
        picture(self.content, self.width, self.height, self.channels, 2)
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
