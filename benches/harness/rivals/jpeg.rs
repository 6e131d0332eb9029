//! JPEG by libjpeg-turbo: baseline files of one quality, and one progressive file cut anywhere.
//!
//! Both use optimised Huffman tables (the default tables cost about 12 % and would flatter nestcast), the accurate
//! integer DCT and smooth chroma upsampling, as the library's own tools do.

use anyhow::{Context, Result, bail};
use nestcast_codec::Picture;
use nestcast_lab::metrics::budget;
use turbojpeg::{Compressor, Decompressor, Error, Image, PixelFormat, Subsamp};

use super::Rival;
use crate::picture::{RGB_CHANNELS, Rgb, from_rgb};

/// Qualities of the baseline files: those of the stored Kodak anchors, so that the curves can be compared.
const MEASURED_QUALITIES: [f32; 17] =
    [5.0, 8.0, 12.0, 16.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0, 70.0, 75.0, 80.0, 85.0, 90.0, 93.0, 95.0];

/// Cuts of the progressive file in bits per pixel; a shorter file is used whole.
const CUTS_BPP: [f32; 16] = [0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9, 1.0, 1.25, 1.5, 1.75, 2.0, 2.4];

/// Chroma sampling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// Chroma at half the width and half the height.
    S420,
    /// Chroma at full size.
    S444,
}

/// Baseline JPEG; the parameter is the quality, 1 to 100.
#[derive(Clone, Copy, Debug)]
pub struct Baseline(
    /// Its chroma sampling.
    pub Sampling,
);

/// One progressive JPEG, cut; the parameter is the cut in bits per pixel.
///
/// The whole file has quality 75 (4:2:0) or 90 (4:4:4), the usual choices, and libjpeg's default scan script.
#[derive(Clone, Copy, Debug)]
pub struct Progressive(
    /// Its chroma sampling.
    pub Sampling,
);

impl Rival for Baseline {
    fn name(&self) -> &'static str {
        match self.0 {
            Sampling::S420 => "jpeg-420",
            Sampling::S444 => "jpeg-444",
        }
    }

    fn grid(&self) -> &'static [f32] {
        &MEASURED_QUALITIES
    }

    fn range(&self) -> (f32, f32) {
        (1.0, 100.0)
    }

    fn encode(&self, picture: &Picture, parameter: f32) -> Result<Vec<u8>> {
        compress(picture, self.0, parameter, false)
    }

    fn decode(&self, bytes: &[u8]) -> Result<Picture> {
        decompress(bytes)
    }
}

impl Rival for Progressive {
    fn name(&self) -> &'static str {
        match self.0 {
            Sampling::S420 => "jpeg-420-cut",
            Sampling::S444 => "jpeg-444-cut",
        }
    }

    fn grid(&self) -> &'static [f32] {
        &CUTS_BPP
    }

    fn range(&self) -> (f32, f32) {
        (CUTS_BPP[0], 24.0)
    }

    fn encode(&self, picture: &Picture, parameter: f32) -> Result<Vec<u8>> {
        let quality = match self.0 {
            Sampling::S420 => 75.0,
            Sampling::S444 => 90.0,
        };
        let mut file = compress(picture, self.0, quality, true)?;
        file.truncate(budget(f64::from(parameter), picture.size()));
        Ok(file)
    }

    fn decode(&self, bytes: &[u8]) -> Result<Picture> {
        decompress(bytes)
    }
}

fn compress(picture: &Picture, sampling: Sampling, quality: f32, progressive: bool) -> Result<Vec<u8>> {
    let mut compressor = Compressor::new()?;
    #[expect(clippy::cast_possible_truncation, reason = "a quality is 1 to 100")]
    compressor.set_quality(quality.round() as i32)?;
    compressor.set_optimize(true)?;
    compressor.set_progressive(progressive)?;
    compressor.set_subsamp(match sampling {
        Sampling::S420 => Subsamp::Sub2x2,
        Sampling::S444 => Subsamp::None,
    })?;
    let Rgb { width, height, samples } = picture.try_into()?;
    let (width, height) = (width as usize, height as usize);
    Ok(compressor.compress_to_vec(Image {
        pixels: samples,
        width,
        pitch: width * RGB_CHANNELS,
        height,
        format: PixelFormat::RGB,
    })?)
}

/// Decodes a file that may be cut anywhere after its first scan header.
fn decompress(bytes: &[u8]) -> Result<Picture> {
    let bytes = without_partial_segment(bytes);
    let mut decompressor = Decompressor::new()?;
    let header = decompressor.read_header(bytes).context("a JPEG cut inside its header")?;
    let pitch = header.width * RGB_CHANNELS;
    let mut pixels = vec![0; pitch * header.height];
    let output =
        Image { pixels: &mut pixels[..], width: header.width, pitch, height: header.height, format: PixelFormat::RGB };
    match decompressor.decompress(bytes, output) {
        Ok(()) => {}
        // For missing data libjpeg only warns: it decodes every scan line from the available data, and TurboJPEG
        // reports the warning at the end.
        Err(Error::TurboJpegError(message)) if message.to_lowercase().contains("premature end") => {}
        Err(error) => bail!(error),
    }
    from_rgb(header.width.try_into()?, header.height.try_into()?, pixels)
}

/// Drops a table or scan header that the cut left incomplete; a viewer that waits for more bytes shows the same.
///
/// libjpeg survives missing scan data but not this: it would read its own end marker as part of the table.
fn without_partial_segment(bytes: &[u8]) -> &[u8] {
    const START_OF_SCAN: u8 = 0xDA;
    let mut at = 0;
    while let Some(&[0xFF, marker]) = bytes.get(at..at + 2) {
        let alone = marker == 0x01 || (0xD0..=0xD9).contains(&marker);
        let length = match (alone, bytes.get(at + 2..at + 4)) {
            (true, _) => 0,
            (false, Some(&[high, low])) => usize::from(u16::from_be_bytes([high, low])),
            (false, _) => return &bytes[..at],
        };
        if at + 2 + length > bytes.len() {
            return &bytes[..at];
        }
        at += 2 + length;
        if marker == START_OF_SCAN {
            at += scan_data(&bytes[at..]);
        }
    }
    bytes
}

/// Returns the bytes of entropy-coded data before the next marker: FF00 is data, FFD0 to FFD7 restart in it.
fn scan_data(bytes: &[u8]) -> usize {
    let marker = |pair: &[u8]| pair[0] == 0xFF && pair[1] != 0 && !(0xD0..=0xD7).contains(&pair[1]);
    bytes.windows(2).position(marker).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use nestcast_lab::metrics::psnr;

    use super::{super::tests::sample, *};

    #[test]
    fn cuts_decode_leniently_and_grow_better() {
        let picture = sample(200, 136);
        let rival = Progressive(Sampling::S420);
        let whole = rival.encode(&picture, 24.0).expect("encodes");
        let mut last = 0.0;
        for percent in [20, 40, 60, 80, 100] {
            let cut = &whole[..whole.len() * percent / 100];
            let decoded = rival.decode(cut).expect("a cut decodes");
            let quality = psnr(&picture, &decoded);
            assert!(quality > last - 0.5, "{percent} %: {quality} after {last}");
            last = quality;
        }
        assert!(last > 28.0, "{last}");
    }

    #[test]
    fn every_cut_behind_the_header_decodes() {
        let picture = sample(64, 48);
        for sampling in [Sampling::S420, Sampling::S444] {
            let rival = Progressive(sampling);
            let whole = rival.encode(&picture, 24.0).expect("encodes");
            let first = (0..whole.len()).find(|&n| rival.decode(&whole[..n]).is_ok()).expect("some cut decodes");
            assert!(first < 400, "the header took {first} bytes");
            for n in first..whole.len() {
                let decoded = rival.decode(&whole[..n]);
                assert!(decoded.is_ok(), "cut at {n} of {}: {:?}", whole.len(), decoded.err());
            }
        }
    }

    #[test]
    fn damage_is_still_an_error() {
        assert!(decompress(b"not a JPEG").is_err());
    }
}
