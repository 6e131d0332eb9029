//! A picture in memory: 8-bit grey or RGB, row by row.

use crate::error::Error;

/// Largest width and height, in pixels; two bytes of the header hold each.
pub const MAX_SIDE: u32 = 16_384;

/// What a pixel holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channels {
    /// One luminance sample.
    Grey,
    /// Red, green, blue.
    Rgb,
}

impl Channels {
    /// Samples per pixel.
    #[must_use]
    pub const fn count(self) -> usize {
        match self {
            Self::Grey => 1,
            Self::Rgb => 3,
        }
    }
}

/// Width and height in pixels, each in `1..=MAX_SIDE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    width: u32,
    height: u32,
}

impl Size {
    /// Checks both sides.
    ///
    /// # Errors
    /// [`Error::Argument`] for an empty picture, [`Error::Limit`] over [`MAX_SIDE`].
    pub const fn new(width: u32, height: u32) -> Result<Self, Error> {
        if width == 0 || height == 0 {
            return Err(Error::Argument("a picture needs at least one pixel"));
        }
        let longest = if width > height { width } else { height };
        if longest > MAX_SIDE {
            let what = "the picture's longer side in pixels";
            return Err(Error::Limit { what, given: longest as u64, max: MAX_SIDE as u64 });
        }
        Ok(Self { width, height })
    }

    /// Width in pixels.
    #[must_use]
    pub const fn width(self) -> usize {
        self.width as usize
    }

    /// Height in pixels.
    #[must_use]
    pub const fn height(self) -> usize {
        self.height as usize
    }

    /// Number of pixels.
    #[must_use]
    pub const fn pixels(self) -> usize {
        self.width() * self.height()
    }
}

/// An 8-bit picture; samples are row-major, channels interleaved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    size: Size,
    channels: Channels,
    samples: Vec<u8>,
}

impl Picture {
    /// Wraps `samples` (`height * width * channels` bytes).
    ///
    /// # Errors
    /// [`Error::Argument`] if the number of samples does not match.
    pub fn new(size: Size, channels: Channels, samples: Vec<u8>) -> Result<Self, Error> {
        if samples.len() != size.pixels() * channels.count() {
            return Err(Error::Argument("the number of samples is not width * height * channels"));
        }
        Ok(Self { size, channels, samples })
    }

    /// Width and height.
    #[must_use]
    pub const fn size(&self) -> Size {
        self.size
    }

    /// Grey or RGB.
    #[must_use]
    pub const fn channels(&self) -> Channels {
        self.channels
    }

    /// All samples, row by row.
    #[must_use]
    pub fn samples(&self) -> &[u8] {
        &self.samples
    }

    /// Gives the samples away.
    #[must_use]
    pub fn into_samples(self) -> Vec<u8> {
        self.samples
    }
}
