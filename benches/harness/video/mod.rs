//! Video: nestcast and current encoders on the same clips, at five rates a factor of sixteen apart.
//!
//! Every scheme codes with one frame of latency and is measured in one way: PSNR of each frame from the ninth on, when
//! rate control has settled, over all bytes from the first frame on. The rivals are encoders of one `ffmpeg`, run as
//! programs.

mod cache;
mod clip;
mod embedded;
mod intra;
pub mod judge;
mod ladder;
pub mod layers;
pub mod perceptual;
pub mod population;
mod predicted;
mod quality;
mod rates;
pub mod report;
mod rivals;
mod row;
mod scheme;
pub mod sources;
mod steps;

pub use self::{
    clip::Clip,
    embedded::{Embedded, embedded},
    predicted::network,
    quality::Run,
    rates::{Rates, clips},
    row::{FrameRow, Row},
    scheme::{EMBEDDED_SCHEMES, SCHEME_IDS, Scheme, Screen, all, is_ours, place, rendition},
    steps::Step,
};
