//! Errors of Matroska. Each message says what to do.

use std::io;

use super::colours::WideColours;

/// Why a Matroska stream is refused. Every message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system cannot read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The input is no Matroska, or is damaged.
    #[error("its Matroska is not usable from byte {at} on: {why}")]
    Corrupt {
        /// What is wrong.
        why: &'static str,
        /// Where.
        at: u64,
    },
    /// The input ends inside an element.
    #[error("it breaks off after {at} bytes, inside a picture or a packet: the program that wrote it stopped early")]
    Broken {
        /// The bytes that are there.
        at: u64,
    },
    /// It has no pictures.
    #[error("it has no pictures: send sound with pictures, as `ffmpeg -loop 1 -i PICTURE.png -i SOUND` does")]
    NoPictures,
    /// The pictures are compressed, or of another layout.
    #[error("its pictures are {0}, and nestcast reads raw ones: give ffmpeg `-c:v rawvideo -pix_fmt yuv420p`")]
    Pictures(String),
    /// The pictures have colours of wide gamut or high dynamic range.
    #[error("its colours are {}, which nestcast would show wrongly: give ffmpeg `-vf {}`", .0.name(), .0.filter())]
    Colours(WideColours),
    /// The sound is of a kind that is not read.
    #[error("its sound is {0}: give ffmpeg `-c:a pcm_s16le`, `-c:a libopus` or, for none, `-an`")]
    Sound(String),
    /// A track has a form that this crate does not read, and ffmpeg does not write.
    #[error("its {0}: `ffmpeg -i IN -c copy OUT.mkv` writes it as nestcast reads it")]
    Form(&'static str),
    /// Pictures have more pixels than the limit.
    #[error("its pictures have {given} pixels, over the limit of {max}")]
    Limit {
        /// Pixels of a picture.
        given: u64,
        /// The limit.
        max: u64,
    },
    /// A picture has another number of bytes than its size needs.
    #[error(
        "picture {number} has {given} bytes, and its size needs {needed}: check whether the video changes its size"
    )]
    Length {
        /// Its number, from 0.
        number: u64,
        /// Its bytes.
        given: u64,
        /// The bytes of a picture of its size.
        needed: u64,
    },
}
