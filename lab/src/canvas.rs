//! Pixels of a contact sheet: a canvas, pictures on it, and text in an anti-aliased bitmap font.

use std::ops::Range;

use nestcast_codec::{Channels, Error, Picture, Size};
use noto_sans_mono_bitmap::{FontWeight, RasterHeight, RasterizedChar, get_raster, get_raster_width};

/// Red, green, blue.
pub type Colour = [u8; 3];

/// Which letters are drawn.
#[derive(Debug, Clone, Copy)]
pub enum Style {
    /// Bold and large.
    Heading,
    /// For the lines below a picture.
    Caption,
}

impl Style {
    const fn font(self) -> (FontWeight, RasterHeight) {
        match self {
            Self::Heading => (FontWeight::Bold, RasterHeight::Size24),
            Self::Caption => (FontWeight::Regular, RasterHeight::Size20),
        }
    }

    /// Returns the height of a line in pixels.
    #[must_use]
    pub const fn height(self) -> usize {
        self.font().1.val()
    }

    /// Returns the width of a text in pixels: all letters are equally wide.
    #[must_use]
    pub fn width(self, text: &str) -> usize {
        let (weight, height) = self.font();
        get_raster_width(weight, height) * text.chars().count()
    }
}

/// An RGB picture to draw on. What lies outside it is dropped.
#[derive(Debug)]
pub struct Canvas {
    width: usize,
    height: usize,
    samples: Vec<u8>,
}

impl Canvas {
    /// Creates a canvas of one colour.
    #[must_use]
    pub fn new(width: usize, height: usize, colour: Colour) -> Self {
        Self { width, height, samples: colour.repeat(width * height) }
    }

    /// Mixes in a colour by a weight of 0 to 255.
    fn mix(&mut self, x: usize, y: usize, colour: Colour, weight: u8) {
        if x >= self.width || y >= self.height {
            return;
        }
        let at = (y * self.width + x) * 3;
        for (sample, new) in self.samples[at..at + 3].iter_mut().zip(colour) {
            let sum = u32::from(*sample) * u32::from(255 - weight) + u32::from(new) * u32::from(weight);
            *sample = u8::try_from((sum + 127) / 255).expect("a mean of bytes is one");
        }
    }

    /// Fills a rectangle, given its top left corner.
    pub fn fill(&mut self, (x, y): (usize, usize), (width, height): (usize, usize), colour: Colour) {
        for row in y..y + height {
            for column in x..x + width {
                self.mix(column, row, colour, u8::MAX);
            }
        }
    }

    /// Draws a line with round ends between two points, of a width in pixels; its edges are smooth.
    pub fn line(&mut self, [x0, y0]: [f32; 2], [x1, y1]: [f32; 2], width: f32, colour: Colour) {
        let radius = width / 2.0;
        let (dx, dy) = (x1 - x0, y1 - y0);
        let squared = (dx * dx + dy * dy).max(f32::MIN_POSITIVE);
        for y in pixels(y0.min(y1) - radius, y0.max(y1) + radius, self.height) {
            for x in pixels(x0.min(x1) - radius, x0.max(x1) + radius, self.width) {
                let (px, py) = (x as f32 + 0.5 - x0, y as f32 + 0.5 - y0);
                let along = ((px * dx + py * dy) / squared).clamp(0.0, 1.0);
                let distance = (px - along * dx).hypot(py - along * dy);
                let covered = (radius + 0.5 - distance).clamp(0.0, 1.0);
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 0..=255")]
                self.mix(x, y, colour, (255.0 * covered).round() as u8);
            }
        }
    }

    /// Fills a disc; its edge is smooth.
    pub fn disc(&mut self, centre: [f32; 2], radius: f32, colour: Colour) {
        self.line(centre, centre, 2.0 * radius, colour);
    }

    /// Puts an RGB picture on the canvas, given its top left corner.
    pub fn place(&mut self, (x, y): (usize, usize), picture: &Picture) {
        let (pixels, _) = picture.samples().as_chunks::<3>();
        for (index, &pixel) in pixels.iter().enumerate() {
            let width = picture.size().width();
            self.mix(x + index % width, y + index / width, pixel, u8::MAX);
        }
    }

    /// Writes one line; letters that the font lacks become question marks.
    pub fn write(&mut self, (x, y): (usize, usize), text: &str, style: Style, colour: Colour) {
        let (weight, height) = style.font();
        let advance = get_raster_width(weight, height);
        for (position, letter) in text.chars().enumerate() {
            let raster = get_raster(letter, weight, height).or_else(|| get_raster('?', weight, height));
            for (row, line) in raster.iter().flat_map(RasterizedChar::rows).enumerate() {
                for (column, &ink) in line.iter().enumerate() {
                    self.mix(x + position * advance + column, y + row, colour, ink);
                }
            }
        }
    }

    /// Returns the canvas as a picture.
    ///
    /// # Errors
    /// [`Error::Limit`] if a side is longer than a picture's may be.
    pub fn finish(self) -> Result<Picture, Error> {
        let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let size = Size::new(side(self.width), side(self.height))?;
        Picture::new(size, Channels::Rgb, self.samples)
    }
}

/// Returns the pixels of a side of `length` that touch what lies between two places.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and ends with the side")]
fn pixels(from: f32, to: f32, length: usize) -> Range<usize> {
    (from - 1.0).max(0.0) as usize..((to + 2.0).max(0.0) as usize).min(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_discs_cover_their_pixels_and_no_others() {
        let mut canvas = Canvas::new(20, 20, [255; 3]);
        canvas.line([2.0, 5.5], [12.0, 5.5], 1.0, [0; 3]);
        canvas.disc([15.0, 15.0], 3.0, [0; 3]);
        // Parts outside are dropped.
        canvas.disc([-10.0, 40.0], 2.0, [0; 3]);
        let picture = canvas.finish().expect("a valid size");
        let grey = |x: usize, y: usize| picture.samples()[(y * 20 + x) * 3];
        assert!((3..12).all(|x| grey(x, 5) == 0 && grey(x, 3) == 255 && grey(x, 7) == 255));
        assert_eq!([grey(14, 14), grey(15, 16), grey(15, 19), grey(10, 15), grey(0, 19)], [0, 0, 255, 255, 255]);
    }

    #[test]
    fn text_leaves_ink_inside_its_box_only() {
        let white = [255; 3];
        let width = Style::Caption.width("ab?\u{e9}");
        let mut canvas = Canvas::new(width + 10, Style::Caption.height() + 10, white);
        canvas.write((5, 5), "ab?\u{e9}", Style::Caption, [0; 3]);
        canvas.write((width, 0), "outside is dropped", Style::Heading, white);
        let picture = canvas.finish().expect("a valid size");
        let (pixels, _) = picture.samples().as_chunks::<3>();
        assert!(pixels.iter().any(|pixel| pixel[0] < 100));
        let inside = |index: usize| (5..width + 5).contains(&(index % (width + 10)));
        assert!(pixels.iter().enumerate().all(|(index, pixel)| inside(index) || *pixel == white));
    }
}
