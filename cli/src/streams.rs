//! A stream in a file: read whole, header checked.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use nestcast_codec::{Header, Parsed, Size};

use crate::files;

/// A stream, or a prefix of one that holds its header.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) bytes: Bytes,
    pub(crate) header: Header,
    pub(crate) header_bytes: usize,
}

impl Stream {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let name = files::name(path);
        let bytes = files::read(path)?;
        ensure!(!bytes.is_empty(), "{name} is empty: get the stream again");
        let parsed = Header::parse(&bytes).with_context(|| format!("{name} is refused"))?;
        let Parsed::Whole(header, header_bytes) = parsed else {
            anyhow::bail!("{name} ends inside its header, after {} bytes: get more of the stream", bytes.len());
        };
        Ok(Self { bytes: bytes.into(), header, header_bytes })
    }

    /// The first `count` bytes. Says so if there are fewer.
    pub(crate) fn prefix(&self, count: usize) -> Result<Bytes> {
        ensure!(
            count >= self.header_bytes,
            "{count} bytes end inside the stream's header: ask for {} or more",
            self.header_bytes
        );
        let length = self.bytes.len();
        if count > length {
            files::note(&format!("{count} bytes are asked for, the stream has {length}: all of it is used"));
        }
        Ok(self.bytes.slice(..count.min(length)))
    }
}

/// Bits per pixel of so many bytes.
#[expect(clippy::cast_precision_loss, reason = "a picture has far fewer than 2^53 bytes")]
pub(crate) fn bpp(bytes: usize, size: Size) -> f64 {
    8.0 * bytes as f64 / size.pixels() as f64
}

/// Whole bytes that so many bits per pixel pay for.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "rates are positive; a cast to integer saturates"
)]
pub(crate) fn budget(bpp: f64, size: Size) -> usize {
    // What is a whole number but for rounding stays one.
    (bpp * size.pixels() as f64 / 8.0 + 1e-6).floor() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_is_the_inverse_of_bpp_rounded_down() {
        let size = Size::new(768, 512).expect("a valid size");
        assert_eq!(budget(0.1, size), 4915);
        assert_eq!(budget(1.0, size), 49_152);
        assert!((bpp(49_152, size) - 1.0).abs() < 1e-12);
        for bytes in [1, 17, 4915, 200_001] {
            assert_eq!(budget(bpp(bytes, size), size), bytes);
        }
    }
}
