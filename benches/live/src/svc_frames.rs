//! Scalable coding (SVC): one encode in three layers of quality, of which a forwarding server sends those that the
//! receiver's link carries.
//!
//! The server sends fewer layers from any picture on, because no layer needs those above it. It sends more layers from a
//! keyframe on, which the encoder makes at once and for this receiver alone. A real server shares the encode with other
//! receivers, and so every receiver would pay for the keyframe, or this one would wait for the next.

use anyhow::{Context, Result};
use bytes::Bytes;
use nestcast_codec::Picture;
use nestcast_lab::clip::Clip;
use nestcast_lab::scalable::{LAYER_COUNT, LayerEncoder, LayerSetting, LayeredUnit};

use crate::recorder::Recorded;
use crate::rival_frames::{RUN_FRAMES, RivalEncoder};

impl RivalEncoder for LayerEncoder {
    type Unit = LayeredUnit;

    fn rates_of_run(rates: &[f64], _rung: usize) -> &[f64] {
        rates
    }

    fn goes_on(from: usize, to: usize) -> bool {
        to <= from
    }

    fn encode<'a>(
        &self,
        pictures: impl Iterator<Item = &'a Picture>,
        clip: &Clip,
        rates: &[f64],
    ) -> Result<Vec<LayeredUnit>> {
        let rates: [f64; LAYER_COUNT] = rates.try_into().context("a rate for each layer")?;
        let setting = LayerSetting {
            size: clip.size(),
            rate: clip.rate(),
            kbps: rates.map(|rate| rate / 1e3),
            shrink_factors: [1; LAYER_COUNT],
            // A server asks for a keyframe where a receiver needs one, as servers of calls do.
            keyframe_interval: usize::try_from(RUN_FRAMES)?,
        };
        Self::encode(self, pictures, &setting)
    }

    fn is_key(unit: &LayeredUnit) -> bool {
        unit.key
    }

    fn bytes(unit: &LayeredUnit, rung: usize) -> Bytes {
        unit.up_to(rung)
    }
}

/// Returns the received frames that a decoder is given: after a missing one, none until the next keyframe, as a receiver
/// of calls has it. `is_key` says whether the bytes of a frame are a keyframe.
pub(crate) fn decodable(frames: &[Recorded], is_key: impl Fn(&[u8]) -> bool) -> Vec<Recorded> {
    let mut next = None;
    let mut kept = Vec::new();
    for frame in frames {
        if next == Some(frame.id) || is_key(&frame.prefix) {
            kept.push(frame.clone());
            next = Some(frame.id + 1);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn after_a_missing_frame_none_is_decoded_until_a_keyframe() {
        let frame = |(id, bytes): (u64, &'static str)| {
            let time = Duration::from_millis(40 * id);
            Recorded { id, captured: time, at: time, prefix: Bytes::from(bytes) }
        };
        let received =
            [(3, "no"), (4, "key"), (5, "a"), (7, "b"), (8, "c"), (9, "key"), (10, "d"), (12, "key"), (13, "e")];
        let kept = decodable(&received.map(frame), |bytes| bytes == b"key");
        assert_eq!(kept.iter().map(|frame| frame.id).collect::<Vec<_>>(), [4, 5, 9, 10, 12, 13]);
    }

    #[test]
    fn fewer_layers_follow_at_any_picture_and_more_at_a_keyframe() {
        let goes_on = <LayerEncoder as RivalEncoder>::goes_on;
        assert!(goes_on(2, 2) && goes_on(2, 0) && !goes_on(0, 1));
        let rates = [1.0, 2.0, 3.0];
        assert_eq!(<LayerEncoder as RivalEncoder>::rates_of_run(&rates, 1), rates);
    }
}
