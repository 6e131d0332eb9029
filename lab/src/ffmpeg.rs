//! The programs `ffmpeg` and `ffprobe`: one process at a time, at a low priority.

use std::{
    ffi::OsStr,
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use anyhow::{Context, Result, bail, ensure};
use nestcast_codec::Picture;
use nestcast_media::y4m::Reader;
use serde::Deserialize;

/// A low priority, so that other programs stay responsive.
const NICE_COMMAND: [&str; 3] = ["nice", "-n", "10"];
/// Arguments of every run: ask nothing, print only errors.
const QUIET_ARGUMENTS: [&str; 5] = ["-hide_banner", "-nostdin", "-loglevel", "error", "-y"];

/// The installed `ffmpeg` and `ffprobe`.
#[derive(Clone, Debug)]
pub struct Ffmpeg {
    version: String,
}

/// What `ffprobe` reports of a video.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Stream {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Name of the sample format.
    pub pix_fmt: String,
    /// `tv`, `pc`, or nothing where the video does not say.
    pub color_range: Option<String>,
    /// Frames a second, as `30000/1001`.
    pub r_frame_rate: String,
}

#[derive(Deserialize)]
struct Probed {
    streams: Vec<Stream>,
}

impl Ffmpeg {
    /// Finds both programs on the search path.
    ///
    /// # Errors
    /// If one is missing or does not run.
    pub fn find() -> Result<Self> {
        let missing = "the rivals for video are encoders of ffmpeg: apt-get install ffmpeg";
        let output = output("ffmpeg", ["-version"]).context(missing)?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.lines().next().context(missing)?.to_owned();
        output_of("ffprobe", ["-version"]).context(missing)?;
        Ok(Self { version })
    }

    /// Returns the line in which `ffmpeg` names its version: figures of different versions differ.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Runs `ffmpeg` and returns what it writes to its standard output.
    ///
    /// # Errors
    /// If it fails.
    pub fn run<T: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = T>) -> Result<Vec<u8>> {
        let arguments = arguments.into_iter().map(|argument| argument.as_ref().to_owned());
        Ok(output_of("ffmpeg", QUIET_ARGUMENTS.map(Into::into).into_iter().chain(arguments))?.stdout)
    }

    /// Starts `ffmpeg`; the caller handles its standard input and output.
    ///
    /// # Errors
    /// If it cannot start.
    pub fn start<T: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = T>) -> Result<Child> {
        let mut command = command("ffmpeg");
        command
            .args(QUIET_ARGUMENTS)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        command.spawn().context("ffmpeg cannot start")
    }

    /// Returns all frames of a file as raw samples in the file's own format, one after another.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn frames(&self, path: &Path) -> Result<Vec<u8>> {
        let name = path.as_os_str();
        let raw = ["-fps_mode", "passthrough", "-f", "rawvideo", "-"].map(OsStr::new);
        self.run([&["-i".as_ref(), name][..], &raw].concat())
    }

    /// Decodes a file, with these options before its name, and passes each picture and its number to `show`. Returns the
    /// number of pictures.
    ///
    /// # Errors
    /// If the file cannot be decoded; those of `show`.
    pub fn show(
        &self,
        decoder: &[&str],
        path: &Path,
        mut show: impl FnMut(usize, &Picture) -> Result<()>,
    ) -> Result<usize> {
        let output = ["-fps_mode", "passthrough", "-pix_fmt", "yuv420p", "-f", "yuv4mpegpipe", "-"];
        let words = decoder.iter().chain(&["-i"]).map(OsStr::new).chain([path.as_os_str()]);
        let mut child = self.start(words.chain(output.map(OsStr::new)))?;
        let mut pictures = Reader::new(child.stdout.take().context("a pipe")?, u64::MAX)?;
        let mut count = 0;
        let mut picture = Picture::zero(pictures.size(), pictures.format());
        while pictures.read_into(&mut picture)? {
            show(count, &picture)?;
            count += 1;
        }
        ensure!(child.wait()?.success(), "ffmpeg failed to decode");
        Ok(count)
    }

    /// Describes a file's first video stream.
    ///
    /// # Errors
    /// If the file has no video stream.
    pub fn probe(&self, path: &Path) -> Result<Stream> {
        let shown = "stream=width,height,pix_fmt,color_range,r_frame_rate";
        let json = probed(path, shown, "json")?;
        let probed: Probed = serde_json::from_slice(&json)?;
        probed.streams.into_iter().next().with_context(|| format!("{} has no video", path.display()))
    }

    /// Returns the bytes of every coded frame of a file, without its container, and whether it is a keyframe.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn packets(&self, path: &Path) -> Result<Vec<(usize, bool)>> {
        let text = String::from_utf8(probed(path, "packet=size,flags", "csv=p=0")?)?;
        text.lines().filter(|line| !line.is_empty()).map(packet).collect()
    }
}

/// Parses a packet's line, such as `663,K_`.
fn packet(line: &str) -> Result<(usize, bool)> {
    let read = || line.split_once(',').and_then(|(size, flags)| Some((size.parse().ok()?, flags.starts_with('K'))));
    read().with_context(|| format!("`{line}` is no size and flags of a packet"))
}

fn probed(path: &Path, shown: &str, format: &str) -> Result<Vec<u8>> {
    let words = ["-v", "error", "-select_streams", "v:0", "-show_entries", shown, "-of", format].map(OsStr::new);
    Ok(output_of("ffprobe", words.into_iter().chain([path.as_os_str()]))?.stdout)
}

fn output<T: AsRef<OsStr>>(program: &str, arguments: impl IntoIterator<Item = T>) -> Result<Output> {
    command(program).args(arguments).output().with_context(|| format!("{program} cannot start"))
}

fn command(program: &str) -> Command {
    let [nice, rest @ ..] = NICE_COMMAND;
    let mut command = Command::new(nice);
    command.args(rest).arg(program);
    command
}

fn output_of<T: AsRef<OsStr>>(program: &str, arguments: impl IntoIterator<Item = T>) -> Result<Output> {
    let output = output(program, arguments)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{program} failed: {}", said.trim().lines().last().unwrap_or("it did not say why"));
    }
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_sizes_and_flags() {
        assert_eq!(packet("663,K_").expect("a keyframe"), (663, true));
        assert_eq!(packet("12,__").expect("another"), (12, false));
        assert!(packet("12").is_err() && packet("a,K_").is_err());
    }

    #[test]
    fn what_fails_says_its_last_line() {
        let Ok(ffmpeg) = Ffmpeg::find() else { return println!("skipped: no ffmpeg") };
        assert!(ffmpeg.version().starts_with("ffmpeg version"), "{}", ffmpeg.version());
        let error = ffmpeg.frames(Path::new("/no/such/clip.y4m")).expect_err("there is no such file");
        assert!(error.to_string().contains("No such file"), "{error}");
    }
}
