//! Clips: all frames of a short video in planar YCbCr 4:2:0.

use std::{fmt::Write as _, path::Path};

use anyhow::{Context, Result, ensure};
use nestcast_codec::{Format, FrameRate, Picture, Size, Ycbcr};
use nestcast_lab::ffmpeg::Ffmpeg;
use nestcast_lab::video::FIRST_FRAME;
use sha2::{Digest, Sha256};

/// The fewest frames that are measured: a shorter clip plays forwards and backwards until it has as many.
const MIN_FRAMES: usize = 30;

/// A clip in memory.
#[derive(Clone, Debug)]
pub struct Clip {
    /// The file's name without its extension.
    pub name: String,
    /// Width and height.
    pub size: Size,
    /// The frame rate.
    pub rate: FrameRate,
    /// The frames in planar YCbCr 4:2:0.
    pub frames: Vec<Picture>,
    /// SHA-256 of size, rate and samples, in hexadecimal digits.
    pub hash: String,
}

impl Clip {
    /// Reads a file.
    ///
    /// # Errors
    /// If ffmpeg cannot read it, or it is not 8-bit 4:2:0.
    pub fn read(ffmpeg: &Ffmpeg, path: &Path) -> Result<Self> {
        let name = || format!("clip {}", path.display());
        let stream = ffmpeg.probe(path).with_context(name)?;
        // Nothing is converted: rivals and nestcast get the samples of the file.
        let full = stream.pix_fmt == "yuvj420p" || stream.color_range.as_deref() == Some("pc");
        ensure!(full || stream.pix_fmt == "yuv420p", "{}: its samples are {}, not yuv420p", name(), stream.pix_fmt);
        let format = Format::Ycbcr420(if full { Ycbcr::BT601_FULL } else { Ycbcr::BT601 });
        let size = Size::new(stream.width, stream.height).with_context(name)?;
        let samples = ffmpeg.frames(path).with_context(name)?;
        let frames = pictures(size, format, &samples).with_context(name)?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Self::new(stem, stream.r_frame_rate.parse().with_context(name)?, frames).with_context(name)
    }

    /// Makes a clip of frames of one size.
    ///
    /// # Errors
    /// If there are no frames.
    pub fn new(name: String, rate: FrameRate, frames: Vec<Picture>) -> Result<Self> {
        let size = frames.first().context("no frames")?.size();
        let frames = there_and_back(frames);
        ensure!(frames.len() > FIRST_FRAME + 1, "one frame is no clip");
        let mut hash = Sha256::new();
        hash.update(format!("{}x{} {}/{}\n", size.width(), size.height(), rate.frames(), rate.seconds()));
        frames.iter().for_each(|frame| hash.update(frame.samples()));
        let mut digits = String::new();
        for byte in hash.finalize() {
            write!(digits, "{byte:02x}")?;
        }
        Ok(Self { name, size, rate, frames, hash: digits })
    }

    /// Writes the samples of all frames into a file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn write_raw(&self, path: &Path) -> Result<()> {
        let samples: Vec<u8> = self.frames.iter().flat_map(|frame| frame.samples()).copied().collect();
        std::fs::write(path, samples).with_context(|| path.display().to_string())
    }

    /// Returns the bytes of one frame at a rate in kbit/s, as a fraction.
    #[must_use]
    pub fn frame_bytes(&self, kbps: f64) -> f64 {
        kbps * 1000.0 / 8.0 / self.rate.per_second()
    }

    /// Returns the rate in kbit/s if all frames together have this many bytes.
    #[must_use]
    pub fn kbps(&self, bytes: usize) -> f64 {
        bytes as f64 * 8.0 / 1000.0 * self.rate.per_second() / self.frames.len() as f64
    }
}

/// Splits frames that follow one another.
pub(super) fn pictures(size: Size, format: Format, samples: &[u8]) -> Result<Vec<Picture>> {
    let bytes = format.bytes(size);
    ensure!(samples.len().is_multiple_of(bytes), "the last frame is not whole");
    samples.chunks_exact(bytes).map(|frame| Ok(Picture::new(size, format, frame.to_vec())?)).collect()
}

fn there_and_back(mut frames: Vec<Picture>) -> Vec<Picture> {
    let given = frames.len();
    let mut at = given;
    while given > 1 && frames.len() < MIN_FRAMES {
        let place = at % (2 * given - 2);
        frames.push(frames[if place < given { place } else { 2 * given - 2 - place }].clone());
        at += 1;
    }
    frames
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns a coloured pattern that moves by three pixels a frame.
    #[expect(clippy::cast_possible_truncation, reason = "masked to 8 bits")]
    pub(in super::super) fn moving(width: u32, height: u32, frames: u32) -> Clip {
        let size = Size::new(width, height).expect("a valid size");
        let plane = |w: u32, h: u32, step: u32, t: u32| {
            (0..h).flat_map(move |y| {
                (0..w).map(move |x| {
                    let x = x + step * t;
                    (96 + ((x * 5) ^ (y * 3)) % 64 + x * y % 29) as u8
                })
            })
        };
        let frame = |t: u32| {
            let (w, h) = (width.div_ceil(2), height.div_ceil(2));
            let samples = plane(width, height, 4, t).chain(plane(w, h, 2, t)).chain(plane(w, h, 2, t + 9)).collect();
            Picture::new(size, Format::Ycbcr420(Ycbcr::BT601), samples).expect("as many samples as the size says")
        };
        Clip::new("moving".to_owned(), FrameRate::new(30, 1).expect("a rate"), (0..frames).map(frame).collect())
            .expect("it has frames")
    }

    #[test]
    fn short_clips_go_there_and_back() {
        let clip = moving(16, 8, 9);
        assert_eq!(clip.frames.len(), MIN_FRAMES);
        assert_eq!([&clip.frames[9], &clip.frames[15], &clip.frames[16]], [7, 1, 0].map(|n| &clip.frames[n]));
        assert_eq!(clip.frames[25], clip.frames[7]);
        assert_eq!(moving(16, 8, 40).frames.len(), 40);
    }

    #[test]
    fn rates_and_bytes_are_each_others_inverse() {
        let clip = moving(16, 8, 30);
        assert_eq!(clip.frame_bytes(240.0), 1000.0);
        assert_eq!(clip.kbps(30_000), 240.0);
        assert_ne!(clip.hash, moving(16, 8, 31).hash);
        assert_eq!(clip.hash.len(), 64);
    }

    #[test]
    fn a_file_is_read_as_it_is() {
        let Ok(ffmpeg) = Ffmpeg::find() else { return println!("skipped: no ffmpeg") };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("odd.y4m");
        let clip = moving(17, 9, 31);
        let mut file = b"YUV4MPEG2 W17 H9 F30000:1001 C420jpeg XCOLORRANGE=LIMITED\n".to_vec();
        for frame in &clip.frames {
            file.extend(b"FRAME\n");
            file.extend(frame.samples());
        }
        std::fs::write(&path, file).expect("writes");
        let read = Clip::read(&ffmpeg, &path).expect("reads");
        assert_eq!(
            (read.name.as_str(), read.rate, &read.frames),
            ("odd", FrameRate::new(30_000, 1001).expect("a rate"), &clip.frames)
        );
    }
}
