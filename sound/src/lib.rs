//! The sound of a broadcast: Opus packets of 20 ms at 48 kHz, from files and pipes and back to samples.
//!
//! ```text
//! WAV, raw samples -> resampler -> SoundEncoder --+
//! Ogg Opus ------------------------ as it is -----+-> SoundInput, a SoundSource of nestcast-proto
//! sound of a file with pictures, with its times -----> TimedPackets, a TimedSound of nestcast-proto
//! packets -> nestcast-player's SoundPlayout -> SoundBlock -> SoundRenderer -> samples -> WavFile
//! ```
//!
//! [`SoundTrack`] writes a WAV in step with a video. [`SoundInput`] reads a file or a pipe. A program with a microphone
//! uses [`SoundEncoder`] and hands each packet to `SoundFanout` of `nestcast-sender`.
//!
//! Packets are untrusted: [`SoundDecoder`] refuses what is no packet, and uses no more memory for it.
//!
//! ```
//! use nestcast_proto::{Bitrate, Sound};
//! use nestcast_sound::{PACKET_SAMPLES, SoundDecoder, SoundEncoder};
//!
//! # fn main() -> Result<(), nestcast_sound::Error> {
//! let mut encoder = SoundEncoder::new(Sound::Mono, Bitrate::from_bits(32_000))?;
//! let mut decoder = SoundDecoder::new(Sound::Mono)?;
//! let packet = encoder.encode(&[0; PACKET_SAMPLES])?;
//! assert_eq!(decoder.decode(&packet)?.len(), PACKET_SAMPLES);
//! assert_eq!(decoder.conceal()?.len(), PACKET_SAMPLES, "in place of a packet that was lost");
//! # Ok(())
//! # }
//! ```

mod codec;
mod error;
mod input;
mod ogg_opus;
mod pcm;
mod render;
mod rewind;
mod timed;
mod track;
mod wav;

pub use codec::{MAX_BITRATE, MIN_BITRATE, PACKET_SAMPLES, SAMPLES_PER_SECOND, SoundDecoder, SoundEncoder};
pub use error::Error;
pub use input::{RawFormat, SoundInput};
pub use render::SoundRenderer;
pub use timed::{SampleFormat, TimedPackets};
pub use track::SoundTrack;
pub use wav::WavFile;
