//! Errors of raw video. Each message says what to do.

use std::io;

/// Why a y4m stream is refused. Every message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system cannot read or write.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The input is no y4m, or its header makes no sense.
    #[error("nestcast cannot read this as y4m video: {0}")]
    Corrupt(&'static str),
    /// The header has a frame rate that no video has: ffmpeg writes such a one for files without a steady rate.
    #[error("its frame rate is out of range: give ffmpeg `-r 30`, or the rate that the video has")]
    Rate,
    /// The samples are of a kind that this crate does not read.
    #[error(
        "its samples are {0}, which nestcast does not read: convert them with `ffmpeg -pix_fmt yuv420p` (or yuv422p, yuv444p, gray)"
    )]
    Unsupported(String),
    /// Frames have more pixels than the limit.
    #[error("its frames have {given} pixels, over the limit of {max}")]
    Limit {
        /// Pixels of a frame.
        given: u64,
        /// The limit.
        max: u64,
    },
    /// The video ends inside a frame.
    #[error("the video breaks off inside frame {frame}: the program that wrote it stopped early")]
    Broken {
        /// Its number, from 0.
        frame: u64,
    },
    /// No frame begins after a frame.
    #[error("frame {frame} does not begin where it should: check whether the video changes its size")]
    Lost {
        /// Its number, from 0.
        frame: u64,
    },
    /// As [`Error::Lost`], in a video of more than 8 bits and an odd width. ffmpeg 5 writes its rows of colour
    /// differences a byte too short.
    #[error(
        "frame {frame} does not begin where it should: some ffmpeg cannot write odd widths of more than 8 bits: give it `-vf crop=trunc(iw/2)*2:ih`"
    )]
    OddWidth {
        /// Its number, from 0.
        frame: u64,
    },
    /// The video ends before the range.
    #[error("{}", ended(*.there))]
    NoFrame {
        /// The number of its frames.
        there: u64,
    },
}

impl Error {
    /// Returns the number of the frame at which the video breaks off or continues in the wrong place. Those before it are
    /// whole.
    #[must_use]
    pub const fn broken_at(&self) -> Option<u64> {
        match self {
            Self::Broken { frame } | Self::Lost { frame } | Self::OddWidth { frame } => Some(*frame),
            _ => None,
        }
    }
}

fn ended(there: u64) -> String {
    match there {
        0 => "it has no frames".to_owned(),
        there => format!("it has {there} frames, all before those that are asked for"),
    }
}
