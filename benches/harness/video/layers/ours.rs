//! nestcast: one stream, or one for each rendition, for all receivers.

use anyhow::Result;
use nestcast_codec::Bitrate;

use super::super::{Clip, Embedded, predicted::Predicted};
use super::{Offer, Scheme, serving::Stream, time::timed};

/// nestcast in 1 to 3 renditions.
pub(super) struct Ours(pub(super) usize);

impl Scheme for Ours {
    fn id(&self) -> &'static str {
        Predicted(self.0).id()
    }

    fn offer(&self, clip: &Clip, kbps: &[f64]) -> Result<Offer> {
        let scheme = Predicted(self.0);
        let runs = (&scheme as &dyn Embedded).at_rates(clip, kbps, kbps)?;
        let streams: Vec<_> = kbps.iter().zip(runs).map(|(&kbps, run)| vec![Stream { kbps, run }]).collect();
        let mut encoder = scheme.encoder(clip, kbps, 1)?;
        let ((), seconds) =
            timed(|| clip.frames.iter().try_for_each(|frame| Ok(encoder.encode(frame).map(|_| ())?)))?;
        let renditions = encoder.rates();
        let of = |kbps: f64| renditions.serving(Bitrate::rounded(1000.0 * kbps));
        // In each rendition, of each frame, as much as the receiver with the most.
        let sent = |rendition: usize| -> usize {
            let receivers = || kbps.iter().zip(&streams).filter(|(kbps, _)| of(**kbps) == rendition);
            let most = |n: usize| receivers().map(|(_, stream)| stream[0].run.frames[n].bytes).max().unwrap_or(0);
            (0..clip.frames.len()).map(most).sum()
        };
        let bytes = (0..renditions.count()).map(sent).sum();
        Ok(Offer { streams, bytes, seconds })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::super::clip::tests::moving, *};

    #[test]
    fn every_receiver_has_a_stream_of_its_own_and_the_fastest_ones_bytes_are_sent() {
        let clip = moving(48, 32, 30);
        let kbps = [24.0, 48.0, 96.0];
        let [one, two] = [1, 2].map(|renditions| Ours(renditions).offer(&clip, &kbps).expect("codes"));
        assert_eq!(one.streams.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1]);
        let used = |offer: &Offer, receiver: usize| -> usize {
            offer.streams[receiver][0].run.frames.iter().map(|frame| frame.bytes).sum()
        };
        assert_eq!(one.bytes, used(&one, 2));
        assert!(two.bytes > one.bytes && two.bytes < (0..3).map(|receiver| used(&two, receiver)).sum());
    }
}
