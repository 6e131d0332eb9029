//! Pixels of a contact sheet: a canvas, pictures on it, and text in an anti-aliased bitmap font.

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

#[cfg(test)]
mod tests {
    use super::*;

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
