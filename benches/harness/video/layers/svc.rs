//! Scalable coding: three layers of quality or of size in one encode, by the example programs of libvpx and libaom, with
//! a keyframe every 60 frames. A decoder reads the file of a layer with all layers below it, and its frames' bytes count.
//!
//! A picture of libaom's lowest spatial layer lies one pixel of the full size too far to the right and down. Nobody
//! would see it, but it costs two decibels; so the picture is moved back.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use nestcast_codec::Picture;
use nestcast_lab::{
    ffmpeg::Ffmpeg,
    scalable::{LAYER_COUNT, LayerEncoder, LayerSetting, Program},
    x264::KEYFRAME_INTERVAL,
};

use super::super::{Clip, Run};
use super::{
    Offer, Scheme, receivers::slowest_of_groups, renditions::SHRINK_FACTORS, scaling, serving::Stream, time::timed,
};

/// Layers of one program.
pub(super) struct Svc {
    pub(super) encoder: LayerEncoder,
    pub(super) ffmpeg: Ffmpeg,
    /// Whether lower layers are smaller, by [`SHRINK_FACTORS`], or coarser at full size.
    pub(super) spatial: bool,
}

impl Scheme for Svc {
    fn id(&self) -> &'static str {
        match (self.encoder.program(), self.spatial) {
            (Program::Vp9, false) => "vp9-quality-layers",
            (Program::Av1, false) => "av1-quality-layers",
            (Program::Vp9, true) => "vp9-spatial-layers",
            (Program::Av1, true) => "av1-spatial-layers",
        }
    }

    fn offer(&self, clip: &Clip, kbps: &[f64]) -> Result<Offer> {
        let folder = tempfile::tempdir()?;
        let (raw, output) = (folder.path().join("raw"), folder.path().join("layers"));
        clip.write_raw(&raw)?;
        let rates = slowest_of_groups(kbps, LAYER_COUNT);
        let setting = LayerSetting {
            size: clip.size,
            rate: clip.rate,
            kbps: rates[..].try_into().context("a rate for each layer")?,
            shrink_factors: if self.spatial { SHRINK_FACTORS } else { [1; LAYER_COUNT] },
            keyframe_interval: KEYFRAME_INTERVAL,
        };
        let name = || format!("clip {} by {}", clip.name, self.id());
        let (files, seconds) = timed(|| self.encoder.encode_file(&setting, &raw, &output)).with_context(name)?;
        let mut streams = Vec::new();
        for (layer, (file, &kbps)) in files.iter().zip(&rates).enumerate() {
            let run = self.decode(clip, file, SHRINK_FACTORS[layer]);
            let run = run.with_context(|| format!("layer {layer} of {}", name()))?;
            streams.push(Stream { kbps, run });
        }
        let top = streams.last().map_or(0, |stream| stream.run.frames.iter().map(|frame| frame.bytes).sum());
        Ok(Offer { bytes: top, ..Offer::shared(streams, kbps.len(), seconds) })
    }
}

impl Svc {
    /// Decodes a file of one layer with all layers below it.
    fn decode(&self, clip: &Clip, file: &Path, factor: u32) -> Result<Run> {
        let ivf = LayerEncoder::read(file)?;
        // A decoder gets all layers of one picture together.
        fs::write(file, ivf.bytes()?)?;
        let smaller = self.spatial && factor > 1;
        let mut decoded = scaling::decoded(&self.ffmpeg, &self.encoder.program().decoder(), file, clip, smaller)?;
        if smaller && self.encoder.program() == Program::Av1 && factor == SHRINK_FACTORS[0] {
            decoded = decoded.iter().map(moved_back).collect::<Result<_>>()?;
        }
        Run::new(clip, &ivf.sizes(), &decoded)
    }
}

/// Moves luma by one sample to the left and up, and repeats the last column and row.
fn moved_back(picture: &Picture) -> Result<Picture> {
    let (width, height) = (picture.size().width(), picture.size().height());
    let mut samples = picture.samples().to_vec();
    for y in 0..height {
        let from = (y + 1).min(height - 1) * width;
        samples.copy_within(from + 1..from + width, y * width);
        samples[y * width + width - 1] = samples[y * width + width.saturating_sub(2)];
    }
    Ok(Picture::new(picture.size(), picture.format(), samples)?)
}

#[cfg(test)]
mod tests {
    use super::{super::super::clip::tests::moving, *};

    #[test]
    fn a_picture_moves_by_one_sample() {
        let size = nestcast_codec::Size::new(3, 2).expect("a size");
        let format = moving(16, 8, 30).frames[0].format();
        let picture = Picture::new(size, format, vec![1, 2, 3, 4, 5, 6, 70, 71, 80, 81]).expect("a picture");
        let moved = moved_back(&picture).expect("the same size");
        assert_eq!(moved.samples(), [5, 6, 6, 5, 6, 6, 70, 71, 80, 81]);
    }

    #[test]
    fn higher_layers_have_more_bytes_and_quality() {
        let Ok(ffmpeg) = Ffmpeg::find() else { return println!("skipped: no ffmpeg") };
        let clip = moving(176, 144, 30);
        for program in Program::ALL {
            let Some(encoder) = program.find(std::env::var_os("PATH").as_deref()) else {
                println!("skipped: no {}", program.name());
                continue;
            };
            for spatial in [false, true] {
                let svc = Svc { encoder: encoder.clone(), ffmpeg: ffmpeg.clone(), spatial };
                let offer = svc.offer(&clip, &[100.0, 200.0, 400.0, 800.0, 1600.0]).expect("codes");
                let layers = &offer.streams[4];
                assert_eq!(layers.iter().map(|layer| layer.kbps).collect::<Vec<_>>(), [100.0, 400.0, 1600.0]);
                let used = |layer: &Stream| layer.run.frames.iter().map(|frame| frame.bytes).sum::<usize>();
                let luma = |layer: &Stream| layer.run.frames.iter().map(|frame| frame.luma_db).sum::<f64>();
                assert!(layers.windows(2).all(|pair| used(&pair[0]) < used(&pair[1])), "{}", svc.id());
                assert!(layers.windows(2).all(|pair| luma(&pair[0]) < luma(&pair[1])), "{}", svc.id());
                assert_eq!(offer.bytes, used(&layers[2]));
            }
        }
    }
}
