//! Lines of the table: one clip by one scheme for one number of receivers.

use nestcast_lab::rate_distortion::rounded;
use serde::{Deserialize, Serialize};

use super::super::Clip;
use super::{
    Offer,
    serving::{Rule, peak},
};

/// One clip by one scheme for a number of receivers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Name of the clip.
    pub clip: String,
    /// Id of the scheme.
    pub scheme: String,
    /// The number of receivers, whose rates are a factor of sixteen apart.
    pub receivers: usize,
    /// Mean PSNR of luma over the receivers in dB, if a stream fits where its mean rate does.
    pub mean_db: f64,
    /// The same, if a stream fits where every frame arrives within 1.5 frame times.
    pub strict_db: f64,
    /// The same, if every frame from the ninth on does.
    pub settled_db: f64,
    /// Fraction of the receivers for whom a frame of the lowest stream is too late.
    pub late: f64,
    /// The same, of the frames from the ninth on.
    pub settled_late: f64,
    /// The largest frame over the mean one, of the stream where this is most.
    pub largest_frame: f64,
    /// The rate in kbit/s of all that the encoder sends.
    pub sent_kbps: f64,
    /// Seconds of processor time of the encoder.
    pub encode_s: f64,
}

impl Row {
    pub(super) fn new(clip: &Clip, scheme: &str, kbps: &[f64], offer: &Offer) -> Self {
        let receivers: Vec<_> = kbps.iter().copied().zip(offer.streams.iter().map(Vec::as_slice)).collect();
        let [mean, strict, settled] =
            [Rule::Mean, Rule::Strict, Rule::Settled].map(|rule| rule.serve(clip, &receivers));
        let db = |value| rounded(value, 3);
        Self {
            clip: clip.name.clone(),
            scheme: scheme.to_owned(),
            receivers: kbps.len(),
            mean_db: db(mean.mean_db),
            strict_db: db(strict.mean_db),
            settled_db: db(settled.mean_db),
            late: rounded(strict.late, 4),
            settled_late: rounded(settled.late, 4),
            largest_frame: rounded(peak(offer.streams.iter().flatten()), 2),
            sent_kbps: rounded(clip.kbps(offer.bytes), 2),
            encode_s: rounded(offer.seconds, 2),
        }
    }
}
