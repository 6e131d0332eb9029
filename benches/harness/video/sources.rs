//! Clips that are derived from published files: `benches/video/README.md` has their origin and licence.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use nestcast_lab::ffmpeg::Ffmpeg;
use sha2::{Digest, Sha256};

/// A clip that is derived from a file.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// Name of the clip.
    pub clip: &'static str,
    /// Name of the file.
    pub file: &'static str,
    /// SHA-256 of the file, in hexadecimal digits.
    sha256: &'static str,
    /// Width and height of the clip: smaller than the file's, so that traces of its codec disappear.
    size: (u32, u32),
}

/// All sources.
pub const CLIP_SOURCES: [Source; 2] = [
    Source {
        clip: "bunny_640x360_132f",
        file: "bigbuckbunny.mp4",
        sha256: "f25b31f155970c46300934bda4a76cd2f581acab45c49762832ffdfddbcf9fdd",
        size: (640, 360),
    },
    Source {
        clip: "street_1280x720_54f",
        file: "VID_1920x1080_cabac_temporal_direct.264",
        sha256: "c7d3c673ff713c4a384d09d482f85f7b6dceb04fb9a122848ee49a39198d395f",
        size: (1280, 720),
    },
];

impl Source {
    /// Makes the clip in `folder`; returns `None` if the file is not in `sources`.
    ///
    /// # Errors
    /// If the file's hash differs, or ffmpeg fails.
    pub fn make(&self, ffmpeg: &Ffmpeg, sources: &Path, folder: &Path) -> Result<Option<PathBuf>> {
        let file = sources.join(self.file);
        if !file.exists() {
            return Ok(None);
        }
        let bytes = std::fs::read(&file).with_context(|| file.display().to_string())?;
        let mut digits = String::new();
        for byte in Sha256::digest(&bytes) {
            write!(digits, "{byte:02x}")?;
        }
        ensure!(digits == self.sha256, "{} has SHA-256 {digits}, not {}", file.display(), self.sha256);
        let clip = folder.join(self.clip).with_extension("y4m");
        let (width, height) = self.size;
        let scale = format!("scale={width}:{height}:flags=lanczos+accurate_rnd+bitexact");
        let options = ["-vf", &scale, "-pix_fmt", "yuv420p", "-fps_mode", "passthrough", "-f", "yuv4mpegpipe"];
        let words = ["-i".as_ref(), file.as_os_str()].into_iter().chain(options.map(AsRef::as_ref));
        ffmpeg.run(words.chain([clip.as_os_str()]))?;
        Ok(Some(clip))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_wrong_files_are_told_apart() {
        let Ok(ffmpeg) = Ffmpeg::find() else { return println!("skipped: no ffmpeg") };
        let folder = tempfile::tempdir().expect("a folder");
        for source in CLIP_SOURCES {
            assert_eq!(source.make(&ffmpeg, folder.path(), folder.path()).expect("none"), None);
            std::fs::write(folder.path().join(source.file), "another file").expect("writes");
            let error = source.make(&ffmpeg, folder.path(), folder.path()).expect_err("another file");
            assert!(error.to_string().contains(source.sha256), "{error}");
        }
    }
}
