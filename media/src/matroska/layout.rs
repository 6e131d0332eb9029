//! How the samples of a raw picture lie in a file.

use std::io::Read;

use nestcast_codec::{Picture, Size};

use super::Error;
use super::element::Elements;

/// A layout of 4:2:0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// Luma, blue differences, red differences.
    I420,
    /// Luma, red differences, blue differences.
    Yv12,
    /// Luma, blue and red differences in turn.
    Nv12,
}

impl Layout {
    /// Returns the layout of a four-character code.
    pub(super) fn of(code: &[u8]) -> Option<Self> {
        match code {
            b"I420" | b"IYUV" => Some(Self::I420),
            b"YV12" => Some(Self::Yv12),
            b"NV12" => Some(Self::Nv12),
            _ => None,
        }
    }

    /// Reads a picture of which all bytes are to come.
    pub(super) fn read<R: Read>(
        self,
        input: &mut Elements<R>,
        size: Size,
        picture: &mut Picture,
        spare: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let samples = picture.samples_mut();
        if self == Self::I420 {
            return input.fill(samples);
        }
        let (luma, differences) = samples.split_at_mut(size.pixels());
        input.fill(luma)?;
        let (blue, red) = differences.split_at_mut(differences.len() / 2);
        if self == Self::Yv12 {
            input.fill(red)?;
            return input.fill(blue);
        }
        spare.resize(blue.len() + red.len(), 0);
        input.fill(spare)?;
        for ((pair, blue), red) in spare.as_chunks::<2>().0.iter().zip(blue).zip(red) {
            [*blue, *red] = *pair;
        }
        Ok(())
    }
}

/// Returns the bytes of a picture.
pub(super) fn picture_bytes(size: Size) -> u64 {
    let [width, height] = [size.width(), size.height()].map(|side| side as u64);
    width * height + 2 * width.div_ceil(2) * height.div_ceil(2)
}
