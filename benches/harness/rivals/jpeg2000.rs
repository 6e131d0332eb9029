//! JPEG 2000 by OpenJPEG: 9/7 wavelet, colour transform on, six resolutions, 64x64 code-blocks, raw code-stream.
//!
//! No safe crate encodes with the C library, so this is `openjp2`, its port to Rust, which writes the same bytes: for
//! kodim05 at 0.25 to 2 bpp the sizes and the PSNR equal those of OpenJPEG 2.5.4. The port is slower, which a
//! comparison of times must mention: at 1 bpp by about a quarter to encode (97 ms instead of 79) and a fifth to decode
//! (20 ms instead of 17; one thread of an AMD EPYC, the C library as built for Pillow).
//!
//! Its streams are files, so a call writes and reads one in the temporary folder.

use anyhow::{Context, Result, ensure};
use nestcast_codec::Picture;
use openjp2::{
    Codec, OPJ_CLRSPC_SRGB, OPJ_CODEC_J2K, Stream, opj_cparameters, opj_dparameters, opj_image, opj_image_comptparm,
};
use tempfile::NamedTempFile;

use super::Rival;
use crate::picture::{RGB_CHANNELS, Rgb, from_rgb};

/// Rates of [`SingleRate`], bits per pixel.
const RATES_BPP: [f32; 14] = [0.1, 0.15, 0.2, 0.25, 0.3, 0.375, 0.5, 0.6, 0.75, 1.0, 1.2, 1.5, 2.0, 2.4];

/// The layers of [`Layered`], bits per pixel: 32 steps in equal ratio.
const LAYER_COUNT: usize = 32;
const FIRST_LAYER_BPP: f32 = 0.06;
const LAST_LAYER_BPP: f32 = 2.5;

/// The layers at which [`Layered`] is measured: each ends at this rate or just below it.
const CUTS_BPP: [f32; 15] = [0.08, 0.1, 0.125, 0.16, 0.2, 0.26, 0.33, 0.42, 0.53, 0.67, 0.85, 1.08, 1.4, 1.75, 2.25];

/// Bits of an uncoded pixel: OpenJPEG expects rates as ratios to it.
const RAW_BPP: f32 = 24.0;

/// The lowest rate requested; for small pictures the headers alone exceed it.
const LEAST_BPP: f32 = 0.01;

/// OpenJPEG's "true".
const OPJ_TRUE: i32 = 1;

/// Room for the stream's buffer, bytes; most streams are shorter.
const BUFFER_BYTES: usize = 1 << 20;

/// One stream for each rate; the parameter is the rate in bits per pixel.
#[derive(Clone, Copy, Debug)]
pub struct SingleRate;

/// One stream with 32 layers from 0.06 to 2.5 bpp, cut after the last layer that fits; the parameter is the cut in bits
/// per pixel.
///
/// A layer does not depend on later ones, so this rival cuts by writing only the layers before the cut. A test shows
/// that this gives the same packets, and a header that counts them.
#[derive(Clone, Copy, Debug)]
pub struct Layered;

impl Rival for SingleRate {
    fn name(&self) -> &'static str {
        "jpeg2000"
    }

    fn grid(&self) -> &'static [f32] {
        &RATES_BPP
    }

    fn range(&self) -> (f32, f32) {
        (LEAST_BPP, RAW_BPP)
    }

    fn encode(&self, picture: &Picture, parameter: f32) -> Result<Vec<u8>> {
        compress(picture, &[parameter])
    }

    fn decode(&self, bytes: &[u8]) -> Result<Picture> {
        decompress(bytes)
    }
}

impl Rival for Layered {
    fn name(&self) -> &'static str {
        "jpeg2000-layers"
    }

    fn grid(&self) -> &'static [f32] {
        &CUTS_BPP
    }

    fn range(&self) -> (f32, f32) {
        (FIRST_LAYER_BPP, LAST_LAYER_BPP)
    }

    fn encode(&self, picture: &Picture, parameter: f32) -> Result<Vec<u8>> {
        let layers: Vec<f32> = ladder().take_while(|&bpp| bpp <= parameter).collect();
        ensure!(!layers.is_empty(), "the first layer takes {FIRST_LAYER_BPP} bpp");
        compress(picture, &layers)
    }

    fn decode(&self, bytes: &[u8]) -> Result<Picture> {
        decompress(bytes)
    }
}

fn ladder() -> impl Iterator<Item = f32> {
    let ratio = LAST_LAYER_BPP / FIRST_LAYER_BPP;
    (0..LAYER_COUNT).map(move |layer| FIRST_LAYER_BPP * ratio.powf(layer as f32 / (LAYER_COUNT - 1) as f32))
}

fn compress(picture: &Picture, layers_bpp: &[f32]) -> Result<Vec<u8>> {
    let mut image = planes(picture)?;
    let mut parameters = Box::new(opj_cparameters::default());
    parameters.irreversible = 1;
    parameters.tcp_mct = 1;
    parameters.cp_disto_alloc = 1;
    parameters.tcp_numlayers = layers_bpp.len().try_into()?;
    for (rate, bpp) in parameters.tcp_rates.iter_mut().zip(layers_bpp) {
        *rate = RAW_BPP / bpp;
    }
    let file = NamedTempFile::new()?;
    let mut codec = Codec::new_encoder(OPJ_CODEC_J2K).context("OpenJPEG has no encoder")?;
    ensure!(codec.setup_encoder(&mut parameters, &mut image) == OPJ_TRUE, "OpenJPEG refused the settings");
    let mut stream = Stream::new_file(file.path(), BUFFER_BYTES, false)?;
    let done = codec.start_compress(&mut image, &mut stream) == OPJ_TRUE
        && codec.encode(&mut stream) == OPJ_TRUE
        && codec.end_compress(&mut stream) == OPJ_TRUE;
    ensure!(done, "OpenJPEG did not encode");
    stream.flush()?;
    Ok(std::fs::read(file.path())?)
}

/// Returns OpenJPEG's picture: one plane of 32-bit samples for each channel.
fn planes(picture: &Picture) -> Result<Box<opj_image>> {
    let Rgb { width: w, height: h, samples: rgb } = picture.try_into()?;
    let plane = opj_image_comptparm { dx: 1, dy: 1, w, h, x0: 0, y0: 0, prec: 8, bpp: 8, sgnd: 0 };
    let mut image = opj_image::create(&[plane; RGB_CHANNELS], OPJ_CLRSPC_SRGB).context("OpenJPEG made no image")?;
    (image.x1, image.y1) = (w, h);
    let components = image.comps_mut().context("OpenJPEG made no components")?;
    for (channel, component) in components.iter_mut().enumerate() {
        let samples = component.data_mut().context("OpenJPEG made no plane")?;
        for (sample, pixel) in samples.iter_mut().zip(rgb.chunks_exact(RGB_CHANNELS)) {
            *sample = i32::from(pixel[channel]);
        }
    }
    Ok(image)
}

fn decompress(bytes: &[u8]) -> Result<Picture> {
    let file = NamedTempFile::new()?;
    std::fs::write(file.path(), bytes)?;
    let mut stream = Stream::new_file(file.path(), BUFFER_BYTES, true)?;
    let mut codec = Codec::new_decoder(OPJ_CODEC_J2K).context("OpenJPEG has no decoder")?;
    let mut parameters = Box::new(opj_dparameters::default());
    ensure!(codec.setup_decoder(&mut parameters) == OPJ_TRUE, "OpenJPEG refused the settings");
    let mut image = codec.read_header(&mut stream).context("OpenJPEG did not read the header")?;
    ensure!(codec.decode(&mut stream, &mut image) == OPJ_TRUE, "OpenJPEG did not decode");
    interleave(&image)
}

fn interleave(image: &opj_image) -> Result<Picture> {
    let components = image.comps().context("OpenJPEG gave no components")?;
    ensure!(components.len() == RGB_CHANNELS && image.comps_match(), "not an RGB picture");
    let (width, height) = (components[0].w, components[0].h);
    let mut rgb = vec![0; width as usize * height as usize * RGB_CHANNELS];
    for (channel, component) in components.iter().enumerate() {
        let samples = component.data().context("OpenJPEG gave no plane")?;
        for (pixel, &sample) in rgb.chunks_exact_mut(RGB_CHANNELS).zip(samples) {
            pixel[channel] = sample.clamp(0, 255) as u8;
        }
    }
    from_rgb(width, height, rgb)
}

#[cfg(test)]
mod tests {
    use nestcast_lab::metrics::bpp;

    use super::{super::tests::sample, *};

    /// Returns what follows the last header marker (start of data, FF93), without the end marker.
    fn packets(stream: &[u8]) -> &[u8] {
        let start = stream.windows(2).position(|pair| pair == [0xFF, 0x93]).expect("a start of data") + 2;
        &stream[start..stream.len() - 2]
    }

    #[test]
    fn fewer_layers_are_a_prefix_of_more() {
        let picture = sample(200, 136);
        let [few, many] = [0.5, 2.5].map(|bpp| Layered.encode(&picture, bpp).expect("encodes"));
        assert!(few.len() < many.len());
        assert!(packets(&many).starts_with(packets(&few)));
    }

    #[test]
    fn rate_is_kept() {
        let picture = sample(200, 136);
        let bytes = SingleRate.encode(&picture, 0.75).expect("encodes");
        assert!((0.6..=0.75).contains(&bpp(bytes.len(), picture.size())), "{}", bytes.len());
    }

    #[test]
    fn damage_is_an_error() {
        assert!(decompress(b"not a code-stream").is_err());
    }
}
