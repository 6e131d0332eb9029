//! The result of decoding a stored video: a line for people.

use std::fmt::{self, Display, Formatter};
use std::path::Path;
use std::time::Duration;

use nestcast_codec::VideoHeader;
use nestcast_media::stored::Played;

use crate::video::kbps;

/// A decoded video.
#[derive(Debug)]
pub struct DecodedVideo<'a> {
    /// The output.
    pub output: &'a Path,
    /// The header of the stored video.
    pub header: &'a VideoHeader,
    /// What was decoded.
    pub played: Played,
    /// The time that it took.
    pub took: Duration,
}

impl Display for DecodedVideo<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { output, header, played: Played { frames, bytes, .. }, took } = self;
        let (width, height, seconds) = (header.size.width(), header.size.height(), took.as_secs_f64());
        let (rate, speed) = (kbps(*bytes, *frames, header.rate), *frames as f64 / seconds);
        let (path, s) = (output.display(), if *frames == 1 { "" } else { "s" });
        writeln!(
            f,
            "{path}: {width}x{height}, {frames} frame{s} from {bytes} bytes, {rate:.0} kbit/s, {seconds:.1} s, {speed:.1} frames/s"
        )
    }
}
