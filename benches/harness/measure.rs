//! Runs a rival over its grid on a picture and measures rate, quality and time.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use nestcast_codec::Picture;
use nestcast_lab::metrics::{MsSsim, bpp, psnr};
use nestcast_lab::rate_distortion::Row;

use crate::rivals::Rival;

/// Returns the PNG and JPEG files of a folder, by name.
pub fn pictures(folder: &Path) -> Result<Vec<PathBuf>> {
    let name = || format!("pictures in {}", folder.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(name)? {
        let path = entry.with_context(name)?.path();
        let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
        if extension.is_some_and(|extension| extension == "png" || extension == "jpg" || extension == "jpeg") {
            paths.push(path);
        }
    }
    ensure!(!paths.is_empty(), "no pictures in {}", folder.display());
    paths.sort();
    Ok(paths)
}

/// Measures `rival` on one picture at every parameter of its grid.
///
/// Each time is of one call, on one thread, and assumes an otherwise idle processor: good for orders of magnitude.
/// `cargo bench` measures exactly.
pub fn sweep(rival: &dyn Rival, image: &str, picture: &Picture) -> Result<Vec<Row>> {
    let original = MsSsim::new(picture);
    let row = |parameter: f32| -> Result<Row> {
        let start = Instant::now();
        let bytes = rival.encode(picture, parameter)?;
        let encode_ms = milliseconds(start);
        let start = Instant::now();
        let decoded = rival.decode(&bytes)?;
        let decode_ms = milliseconds(start);
        Ok(Row {
            image: image.to_owned(),
            decoder: rival.name().to_owned(),
            bytes: bytes.len(),
            bpp: bpp(bytes.len(), picture.size()),
            psnr_db: psnr(picture, &decoded),
            ms_ssim: original.as_ref().map(|original| original.compare(&decoded)),
            encode_ms: Some(encode_ms),
            decode_ms: Some(decode_ms),
            ..Row::default()
        })
    };
    let rows = rival.grid().iter().map(|&parameter| {
        row(parameter).with_context(|| format!("{image} by {} at parameter {parameter}", rival.name()))
    });
    rows.collect()
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::from_rgb;
    use crate::rivals::{Baseline, Sampling};

    #[test]
    fn a_sweep_has_a_row_for_each_parameter() {
        let picture = from_rgb(64, 48, (0..=255).cycle().take(64 * 48 * 3).collect()).expect("the shape fits");
        let rival = Baseline(Sampling::S444);
        let rows = sweep(&rival, "wave.png", &picture).expect("measures");
        assert_eq!(rows.len(), rival.grid().len());
        assert!(rows.windows(2).all(|pair| pair[0].bytes <= pair[1].bytes));
        assert_eq!((rows[0].image.as_str(), rows[0].decoder.as_str()), ("wave.png", "jpeg-444"));
        assert!(rows.iter().all(|row| row.ms_ssim.is_none() && row.encode_ms.is_some()));
    }
}
