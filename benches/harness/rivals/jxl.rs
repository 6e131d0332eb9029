//! JPEG XL by the programs `cjxl` and `djxl` of libjxl, effort 7 (their usual choice), as they decide by themselves.

use std::{
    ffi::OsStr,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use image::ExtendedColorType;
use nestcast_codec::Picture;

use super::Rival;
use crate::picture::{self, Rgb};

/// The measured distances, with a minus: a larger parameter must mean more quality.
const MEASURED_PARAMETERS: [f32; 12] = [-25.0, -18.0, -13.0, -9.0, -6.5, -4.5, -3.2, -2.2, -1.5, -1.0, -0.6, -0.3];
/// The largest and the smallest distance that is tried, with a minus.
const PARAMETER_RANGE: (f32, f32) = (-25.0, -0.05);
/// The programs.
const ENCODER: &str = "cjxl";
const DECODER: &str = "djxl";

/// Lossy JPEG XL; the parameter is libjxl's distance with a minus, from -25 to -0.05.
#[derive(Clone, Copy, Debug)]
pub struct Jxl(());

impl Jxl {
    /// Returns the rival; `None` with a word on standard error if a program of it is missing.
    #[must_use]
    pub fn find() -> Option<Self> {
        let runs =
            |program: &str| Command::new(program).arg("--version").output().is_ok_and(|run| run.status.success());
        let missing: Vec<&str> = [ENCODER, DECODER].into_iter().filter(|program| !runs(program)).collect();
        if missing.is_empty() {
            return Some(Self(()));
        }
        eprintln!("JPEG XL is left out: no {} (apt-get install libjxl-tools)", missing.join(", no "));
        None
    }
}

impl Rival for Jxl {
    fn name(&self) -> &'static str {
        "jxl-e7"
    }

    fn grid(&self) -> &'static [f32] {
        &MEASURED_PARAMETERS
    }

    fn range(&self) -> (f32, f32) {
        PARAMETER_RANGE
    }

    fn encode(&self, picture: &Picture, parameter: f32) -> Result<Vec<u8>> {
        let folder = tempfile::tempdir()?;
        let [given, coded] = ["given.png", "coded.jxl"].map(|name| folder.path().join(name));
        let Rgb { width, height, samples } = picture.try_into()?;
        image::save_buffer(&given, samples, width, height, ExtendedColorType::Rgb8)?;
        let distance = format!("--distance={}", -parameter);
        run(ENCODER, &[given.as_ref(), coded.as_ref(), distance.as_ref(), "--num_threads=0".as_ref()])?;
        read(&coded)
    }

    fn decode(&self, bytes: &[u8]) -> Result<Picture> {
        let folder = tempfile::tempdir()?;
        let [coded, shown] = ["coded.jxl", "shown.png"].map(|name| folder.path().join(name));
        std::fs::write(&coded, bytes)?;
        run(DECODER, &[coded.as_ref(), shown.as_ref(), "--num_threads=0".as_ref()])?;
        picture::open(&shown)
    }
}

/// Runs a program to its end.
fn run(program: &str, arguments: &[&OsStr]) -> Result<()> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("{program} does not run"))?;
    ensure!(output.status.success(), "{program} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_an_error() {
        let Some(rival) = Jxl::find() else { return println!("skipped: no cjxl and djxl") };
        assert!(rival.decode(b"not a JPEG XL file").is_err());
    }
}
