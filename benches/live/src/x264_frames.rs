//! x264 for one receiver, at one rate or as a ladder of renditions: simulcast that switches.

use anyhow::Result;
use bytes::Bytes;
use nestcast_codec::Picture;
use nestcast_lab::clip::Clip;
use nestcast_lab::x264::{AccessUnit, X264};
use nestcast_proto::Bitrate;

use crate::rival_frames::RivalEncoder;

impl RivalEncoder for X264 {
    type Unit = AccessUnit;

    fn rates_of_run(rates: &[f64], rung: usize) -> &[f64] {
        &rates[rung..=rung]
    }

    fn goes_on(from: usize, to: usize) -> bool {
        from == to
    }

    fn encode<'a>(
        &self,
        pictures: impl Iterator<Item = &'a Picture>,
        clip: &Clip,
        rates: &[f64],
    ) -> Result<Vec<AccessUnit>> {
        Self::encode(self, pictures, clip.rate(), Bitrate::rounded(rates[0]))
    }

    fn is_key(unit: &AccessUnit) -> bool {
        unit.key
    }

    fn bytes(unit: &AccessUnit, _rung: usize) -> Bytes {
        unit.bytes.clone()
    }
}
