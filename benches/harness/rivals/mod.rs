//! The codecs that nestcast is measured against, with one small interface.
//!
//! | rival | library | setting |
//! |---|---|---|
//! | `jpeg-420`, `jpeg-444` | libjpeg-turbo | baseline, optimised Huffman tables, quality |
//! | `jpeg-420-cut`, `jpeg-444-cut` | libjpeg-turbo | one progressive file (quality 75 or 90), cut at a byte |
//! | `webp-m4`, `webp-m6` | libwebp | lossy, method 4 or 6, quality |
//! | `avif-420`, `avif-444` | libavif, libaom | speed 6, quality |
//! | `jxl-e7` | libjxl's programs, if they are installed | effort 7, distance |
//! | `jpeg2000` | OpenJPEG | 9/7 wavelet, colour transform on, one layer, one stream a rate |
//! | `jpeg2000-layers` | OpenJPEG | the same with a ladder of layers, cut between two of them |

mod avif;
mod jpeg;
mod jpeg2000;
mod jxl;
mod webp;

use anyhow::{Context, Result};
use nestcast_codec::Picture;
use nestcast_lab::metrics::bpp;

pub use self::{
    avif::Avif,
    jpeg::{Baseline, Progressive, Sampling},
    jpeg2000::{Layered, SingleRate},
    jxl::Jxl,
    webp::Lossy,
};

/// A codec with one parameter that trades rate for quality.
pub trait Rival {
    /// Short name, the same in every table and plot.
    fn name(&self) -> &'static str;

    /// Returns the parameters to measure at, from the lowest rate to the highest.
    fn grid(&self) -> &'static [f32];

    /// Returns the lowest and the highest possible parameter.
    fn range(&self) -> (f32, f32);

    /// Codes `picture` at `parameter`, which is a quality, a rate in bits per pixel, or a distance with a minus.
    fn encode(&self, picture: &Picture, parameter: f32) -> Result<Vec<u8>>;

    /// Decodes the output of [`encode`](Self::encode).
    fn decode(&self, bytes: &[u8]) -> Result<Picture>;
}

/// Returns every rival, in the order of tables and plots. JPEG XL is left out where its programs are missing.
pub fn all() -> Vec<Box<dyn Rival>> {
    let mut all: Vec<Box<dyn Rival>> = vec![
        Box::new(Baseline(Sampling::S420)),
        Box::new(Baseline(Sampling::S444)),
        Box::new(Progressive(Sampling::S420)),
        Box::new(Progressive(Sampling::S444)),
        Box::new(Lossy { method: 4 }),
        Box::new(Lossy { method: 6 }),
        Box::new(Avif(Sampling::S420)),
        Box::new(Avif(Sampling::S444)),
        Box::new(SingleRate),
        Box::new(Layered),
    ];
    if let Some(jxl) = Jxl::find() {
        let before = all.iter().position(|rival| rival.name() == SingleRate.name()).unwrap_or(all.len());
        all.insert(before, Box::new(jxl));
    }
    all
}

/// Returns the parameter of `rival`'s grid whose rate for `picture` is nearest to `wanted_bpp`, and the bytes.
pub fn nearest(rival: &dyn Rival, picture: &Picture, wanted_bpp: f64) -> Result<(f32, Vec<u8>)> {
    let mut best: Option<(f64, f32, Vec<u8>)> = None;
    for &parameter in rival.grid() {
        let bytes = rival.encode(picture, parameter)?;
        let distance = (bpp(bytes.len(), picture.size()) - wanted_bpp).abs();
        if best.as_ref().is_none_or(|(least, ..)| distance < *least) {
            best = Some((distance, parameter, bytes));
        }
    }
    best.map(|(_, parameter, bytes)| (parameter, bytes)).context("a rival with an empty grid")
}

/// Returns the largest file of at most `max_bytes` that bisection of the parameter finds; `None` if every file is
/// larger.
pub fn largest(rival: &dyn Rival, picture: &Picture, max_bytes: usize) -> Result<Option<Vec<u8>>> {
    const SEARCH_HALVINGS: usize = 14;
    let (mut low, mut high) = rival.range();
    let fits = |parameter: f32| -> Result<Option<Vec<u8>>> {
        Ok(Some(rival.encode(picture, parameter)?).filter(|bytes| bytes.len() <= max_bytes))
    };
    let mut best = fits(low)?;
    for _ in 0..SEARCH_HALVINGS {
        if best.is_none() {
            break;
        }
        let middle = f32::midpoint(low, high);
        match fits(middle)? {
            Some(bytes) => (best, low) = (Some(bytes), middle),
            None => high = middle,
        }
    }
    Ok(best)
}

#[cfg(test)]
pub(crate) mod tests {
    use nestcast_lab::metrics::psnr;

    use super::*;
    use crate::picture::from_rgb;

    /// Returns smooth colour with some texture, so that every codec has something to code.
    pub(crate) fn sample(width: u32, height: u32) -> Picture {
        let wave = |x: u32, step: f64| 60.0 * (f64::from(x) * step).sin();
        let mut rgb = Vec::new();
        for y in 0..height {
            for x in 0..width {
                let texture = f64::from((x * 7919 + y * 104_729) % 17);
                for value in [128.0 + wave(x + y, 0.05), 128.0 + wave(x, 0.11), 128.0 + wave(y, 0.07)] {
                    #[expect(clippy::cast_possible_truncation, reason = "within 60..=206")]
                    rgb.push((value + texture) as u8);
                }
            }
        }
        from_rgb(width, height, rgb).expect("the shape fits")
    }

    #[test]
    fn every_rival_spends_more_for_more_quality() {
        let picture = sample(200, 136);
        for rival in all() {
            let grid = rival.grid();
            let [first, last] = [grid[1], grid[grid.len() - 1]].map(|parameter| {
                let bytes = rival.encode(&picture, parameter).expect("encodes");
                let decoded = rival.decode(&bytes).expect("decodes");
                (bytes.len(), psnr(&picture, &decoded))
            });
            assert!(first.0 < last.0 && first.1 < last.1, "{}: {first:?} {last:?}", rival.name());
            assert!(last.1 > 28.0, "{}: {last:?}", rival.name());
        }
    }

    #[test]
    fn the_largest_file_fits_and_the_next_does_not() {
        let picture = sample(200, 136);
        for rival in all() {
            let name = rival.name();
            let bytes = largest(rival.as_ref(), &picture, 3000).expect("encodes").expect("some file fits");
            assert!((2000..=3000).contains(&bytes.len()), "{name}: {} bytes", bytes.len());
            assert!(largest(rival.as_ref(), &picture, 20).expect("encodes").is_none(), "{name}");
        }
    }

    #[test]
    fn nearest_picks_the_closest_rate() {
        let picture = sample(200, 136);
        let (parameter, bytes) = nearest(&SingleRate, &picture, 1.0).expect("encodes");
        assert_eq!(bytes, SingleRate.encode(&picture, parameter).expect("encodes"));
        assert!((0.8..1.1).contains(&bpp(bytes.len(), picture.size())), "{parameter}: {} bytes", bytes.len());
    }
}
