//! Receivers of unequal rates, served as people serve them today: by layers of one encode, by several encodes
//! (simulcast), or by an encode of each receiver's own; and by one stream of nestcast.
//!
//! Receivers are a factor of sixteen apart: five, and 64, which nearly all lie between two streams. A receiver gets the
//! best stream that fits, by two rules. The rates of a rival's streams split the receivers into groups of nearly the
//! same size, so that each group has a stream of its slowest member's rate.

mod ours;
mod receivers;
mod renditions;
pub mod report;
mod row;
mod scaling;
mod serving;
mod svc;
mod time;

use std::ffi::OsStr;

use anyhow::Result;
use nestcast_lab::{ffmpeg::Ffmpeg, scalable::Program};

use self::{
    ours::Ours,
    receivers::{RECEIVER_COUNTS, spread},
    renditions::Renditions,
    serving::Stream,
    svc::Svc,
};
use super::{Clip, Rates, rivals::Rival};

pub use self::row::Row;

/// The ids of all schemes, in the order of tables.
pub const SCHEME_IDS: [&str; 15] = [
    "nestcast",
    "nestcast-2",
    "nestcast-3",
    "x264-own",
    "x264-refresh-own",
    "aom-own",
    "aom-tight-own",
    "x264-simulcast",
    "vp9-simulcast",
    "x264-scaled-simulcast",
    "vp9-scaled-simulcast",
    "vp9-quality-layers",
    "av1-quality-layers",
    "vp9-spatial-layers",
    "av1-spatial-layers",
];

/// The encodes of a scheme with an encode for each group of receivers, and of simulcast.
const OWN_COUNT: usize = 5;
const SIMULCAST_COUNT: usize = 3;

/// A way to serve receivers of several rates.
pub trait Scheme {
    /// Returns the short name, the same in every table.
    fn id(&self) -> &'static str;

    /// Codes a clip for receivers of the rates `kbps` in kbit/s.
    ///
    /// # Errors
    /// If an encoder or decoder fails.
    fn offer(&self, clip: &Clip, kbps: &[f64]) -> Result<Offer>;
}

/// What a scheme sends.
pub struct Offer {
    /// For each receiver, the streams that it may get, by rising rate.
    streams: Vec<Vec<Stream>>,
    /// All bytes of the encoder.
    bytes: usize,
    /// The encoder's seconds of processor time.
    seconds: f64,
}

impl Offer {
    /// Returns an offer of the same streams to all of `receivers`, all of which are sent.
    fn shared(streams: Vec<Stream>, receivers: usize, seconds: f64) -> Self {
        let bytes = streams.iter().flat_map(|stream| &stream.run.frames).map(|frame| frame.bytes).sum();
        Self { streams: vec![streams; receivers], bytes, seconds }
    }
}

/// Returns the schemes that can be measured here, in the order of [`SCHEME_IDS`], and the names of missing programs.
#[must_use]
pub fn all(ffmpeg: &Ffmpeg, search: Option<&OsStr>) -> (Vec<Box<dyn Scheme>>, Vec<&'static str>) {
    let mut schemes: Vec<Box<dyn Scheme>> = Vec::new();
    for renditions in 1..=3 {
        schemes.push(Box::new(Ours(renditions)));
    }
    let rivals = Rival::all(ffmpeg);
    let encodes = |id, rival: &str, count, scaled| {
        let rival = rivals.iter().find(|known| known.name() == rival)?.clone();
        Some(Renditions { id, rival, ffmpeg: ffmpeg.clone(), count, scaled })
    };
    let all = [
        encodes("x264-own", "x264", OWN_COUNT, false),
        encodes("x264-refresh-own", "x264-refresh", OWN_COUNT, false),
        encodes("aom-own", "aom", OWN_COUNT, false),
        encodes("aom-tight-own", "aom-tight", OWN_COUNT, false),
        encodes("x264-simulcast", "x264-psnr", SIMULCAST_COUNT, false),
        encodes("vp9-simulcast", "vp9", SIMULCAST_COUNT, false),
        encodes("x264-scaled-simulcast", "x264-psnr", SIMULCAST_COUNT, true),
        encodes("vp9-scaled-simulcast", "vp9", SIMULCAST_COUNT, true),
    ];
    schemes.extend(all.into_iter().flatten().map(|encodes| Box::new(encodes) as Box<dyn Scheme>));
    let programs = Program::ALL.map(|program| (program, program.find(search)));
    for spatial in [false, true] {
        for (_, encoder) in &programs {
            let svc = |encoder| Svc { encoder, ffmpeg: ffmpeg.clone(), spatial };
            schemes.extend(encoder.clone().map(|encoder| Box::new(svc(encoder)) as Box<dyn Scheme>));
        }
    }
    let missing = programs.iter().filter(|(_, encoder)| encoder.is_none()).map(|(program, _)| program.name());
    (schemes, missing.collect())
}

/// Measures a clip by one scheme: a row for each number of receivers.
///
/// # Errors
/// If an encoder or decoder fails.
pub fn measure(clip: &Clip, rates: &Rates, scheme: &dyn Scheme) -> Result<Vec<Row>> {
    let row = |count| {
        let kbps = spread(rates, count);
        Ok(Row::new(clip, scheme.id(), &kbps, &scheme.offer(clip, &kbps)?))
    };
    RECEIVER_COUNTS.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn schemes_are_in_order_and_missing_programs_are_named() {
        let Ok(ffmpeg) = Ffmpeg::find() else { return println!("skipped: no ffmpeg") };
        let folder = tempfile::tempdir().expect("a folder");
        let (schemes, missing) = all(&ffmpeg, Some(folder.path().as_os_str()));
        assert_eq!(schemes.iter().map(|scheme| scheme.id()).collect::<Vec<_>>(), SCHEME_IDS[..11]);
        assert_eq!(missing, ["vp9_spatial_svc_encoder", "svc_encoder_rtc"]);
        for name in missing {
            fs::write(folder.path().join(name), "").expect("writes");
        }
        let (schemes, missing) = all(&ffmpeg, Some(folder.path().as_os_str()));
        assert_eq!(schemes.iter().map(|scheme| scheme.id()).collect::<Vec<_>>(), SCHEME_IDS);
        assert!(missing.is_empty());
        assert!(SCHEME_IDS.iter().all(|id| crate::style::is_known(id)));
    }
}
