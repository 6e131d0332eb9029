//! Why sound cannot be read, encoded, decoded or written.

use std::io;

/// Why sound cannot be read, encoded, decoded or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input or the output failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The input is neither WAV nor Ogg, and no raw format was given.
    #[error("it is neither WAV nor Ogg Opus: for raw samples state their rate and channels")]
    Unknown,
    /// The WAV file is damaged, or of a kind that is not read.
    #[error("its WAV is not usable: {0}")]
    Wav(String),
    /// The Ogg stream is damaged, or has no Opus of 20 ms.
    #[error("its Ogg is not usable: {0}")]
    Ogg(String),
    /// Packets of Opus have another length than 20 ms.
    #[error("its Opus is not in packets of 20 ms: give ffmpeg `-c:a libopus -frame_duration 20`")]
    Packets,
    /// The sound has more than two channels or none, or a rate out of 8 to 192 kHz.
    #[error("sound has one or two channels and 8 to 192 kHz, not {channels} and {rate} Hz: convert it first")]
    Format {
        /// Samples a second.
        rate: u32,
        /// The number of channels.
        channels: u16,
    },
    /// The bit rate is out of 16 to 128 kbit/s.
    #[error("sound has 16 to 128 kbit/s, not {0} bit/s")]
    Bitrate(u64),
    /// Opus refused samples or a packet.
    #[error("opus: {0}")]
    Opus(String),
}

impl From<hound::Error> for Error {
    fn from(error: hound::Error) -> Self {
        match error {
            hound::Error::IoError(error) => error.into(),
            other => Self::Wav(other.to_string()),
        }
    }
}
