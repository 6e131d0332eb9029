//! Pictures made by integer arithmetic, always the same on every machine.

use nestcast_codec::{Channels, Picture, Size};

/// The content of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// One colour, far from the middle.
    Flat,
    /// The exact middle of the range, so that no coefficient is coded.
    Middle,
    /// Every sample independent of the others.
    Noise,
    /// Smooth ground, hard-edged discs, a fine texture in one part.
    Photo,
    /// Samples of 0 and 255 only, in patches of every size.
    Saturated,
    /// Straight ramps.
    Ramp,
}

/// All kinds of content.
pub const CONTENTS: [Content; 6] =
    [Content::Flat, Content::Middle, Content::Noise, Content::Photo, Content::Saturated, Content::Ramp];

/// Makes a picture.
///
/// # Panics
/// If a side is not 1..=16384.
pub fn picture(content: Content, width: u32, height: u32, channels: Channels, seed: u32) -> Picture {
    let samples = (0..height).flat_map(|y| {
        (0..width).flat_map(move |x| (0..channels.count()).map(move |c| sample(content, [x, y], c, seed)))
    });
    let size = Size::new(width, height).expect("a size of 1..=16384");
    Picture::new(size, channels, samples.collect()).expect("as many samples as the size says")
}

fn sample(content: Content, [x, y]: [u32; 2], component: usize, seed: u32) -> u8 {
    let c = u32::from(component == 1) + 2 * u32::from(component == 2);
    let value = match content {
        Content::Flat => [230, 40, 90][component],
        Content::Middle => 128,
        Content::Noise => hash(x, y, c, seed) & 255,
        Content::Photo => photo(x, y, c, seed),
        Content::Saturated => 255 * (hash(x >> (y / 16 % 5), y >> (x / 16 % 5), c, seed) & 1),
        Content::Ramp => (3 * x + (c + 1) * y + seed % 64) & 255,
    };
    u8::try_from(value).expect("a sample of 8 bits")
}

/// Returns 32 well mixed bits of a place.
fn hash(x: u32, y: u32, c: u32, seed: u32) -> u32 {
    let mut bits = x.wrapping_mul(0x9e37_79b1) ^ y.wrapping_mul(0x85eb_ca77) ^ c.wrapping_mul(0xc2b2_ae3d);
    bits ^= seed.wrapping_mul(0x27d4_eb2f);
    for factor in [0x85eb_ca6b_u32, 0xc2b2_ae35] {
        bits ^= bits >> 15;
        bits = bits.wrapping_mul(factor);
        bits ^= bits >> 13;
    }
    bits ^ (bits >> 16)
}

/// Returns noise on a grid of `1 << scale` pixels, linear in between; 0..=255.
fn smooth(x: u32, y: u32, c: u32, scale: u32, seed: u32) -> u32 {
    let (side, column, row) = (1 << scale, x >> scale, y >> scale);
    let (fx, fy) = (x % side, y % side);
    let corner = |dx, dy| hash(column + dx, row + dy, c, seed ^ (scale << 8)) & 255;
    let top = corner(0, 0) * (side - fx) + corner(1, 0) * fx;
    let bottom = corner(0, 1) * (side - fx) + corner(1, 1) * fx;
    (top * (side - fy) + bottom * fy) >> (2 * scale)
}

fn photo(x: u32, y: u32, c: u32, seed: u32) -> u32 {
    // Components are similar, as in photos: most of each is common to all.
    let common = smooth(x, y, 7, 6, seed) * 8 + smooth(x, y, 7, 4, seed) * 4 + smooth(x, y, 7, 2, seed);
    let own = smooth(x, y, c, 5, seed) * 3;
    let mut value = (common + own) / 16;
    for disc in 0..9 {
        let place = hash(disc, 1, 0, seed);
        let (left, top, radius) = (place & 127, (place >> 7) & 127, 3 + ((place >> 14) & 15));
        // Discs repeat every 160 pixels, so that every part of a large picture has some.
        let (dx, dy) = ((x % 160).abs_diff(left), (y % 160).abs_diff(top));
        if dx * dx + dy * dy < radius * radius {
            value = (value + 2 * (hash(disc, 2, c, seed) & 255)) / 3;
        }
    }
    if (x / 96 + y / 80) % 3 == 1 {
        value = (value * 7 + (hash(x, y, 7, seed) & 255)) / 8;
    }
    value.min(255)
}
