//! Rivals' video for one receiver, over the same session, congestion control and link as nestcast.
//!
//! A partial coded picture is useless, so the whole frame is its base: the session sends it whole, in order and before
//! anything else, and drops the backlog for the next keyframe once it is a second old. The encoder makes a keyframe at
//! once where the receiver cannot continue otherwise, as a picture loss indication asks for it (RFC 4585, section
//! 6.3.1).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use nestcast_codec::Picture;
use nestcast_lab::clip::Clip;
use nestcast_lab::link::Link;
use nestcast_lab::pace::{Pace, microseconds};
use nestcast_proto::{BroadcastFrame, Demand, Frame, PackageHash, RandomAccessFrame, SourceError, Video, Welcome};
use nestcast_sender::FrameSource;

use crate::ladder::Ladder;

/// Frames that are coded at once; the next one is always a keyframe.
pub(crate) const RUN_FRAMES: u64 = 240;

/// A rival's encoder, for a ladder of rates: a rung is a rendition or a layer with all layers below it.
pub(crate) trait RivalEncoder: Send + Sync + 'static {
    /// A coded picture.
    type Unit: Send + Sync;

    /// Returns the rates of the rungs that are coded together with this one.
    fn rates_of_run(rates: &[f64], rung: usize) -> &[f64];

    /// Returns whether a receiver of rung `from` changes to rung `to` without a keyframe.
    fn goes_on(from: usize, to: usize) -> bool;

    /// Encodes pictures of the clip at these rates in bits a second. The first is a keyframe.
    fn encode<'a>(
        &self,
        pictures: impl Iterator<Item = &'a Picture>,
        clip: &Clip,
        rates: &[f64],
    ) -> Result<Vec<Self::Unit>>;

    /// Returns whether a decoder may begin at this picture.
    fn is_key(unit: &Self::Unit) -> bool;

    /// Returns what a receiver of this rung gets of a picture.
    fn bytes(unit: &Self::Unit, rung: usize) -> Bytes;
}

/// Successive frames, of which the first is a keyframe.
type Run<U> = Arc<[U]>;
/// Runs by bits a second and place in the clip, forwards and backwards.
type Runs<U> = BTreeMap<(Vec<u64>, u64), Run<U>>;

/// Runs of frames that are already coded: the encoder and the clip are the same for all links.
pub(crate) struct Coder<E: RivalEncoder> {
    encoder: E,
    clip: Arc<Clip>,
    runs: Mutex<Runs<E::Unit>>,
}

impl<E: RivalEncoder> Coder<E> {
    /// Starts with nothing coded.
    pub(crate) fn new(encoder: E, clip: &Arc<Clip>) -> Self {
        Self { encoder, clip: Arc::clone(clip), runs: Mutex::default() }
    }

    /// Returns the frames from `first` on; the first is a keyframe.
    fn run(&self, rates: &[f64], first: u64) -> Result<Run<E::Unit>> {
        let key = (rates.iter().map(|rate| rate.to_bits()).collect(), first % self.clip.period());
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(run) = runs.get(&key) {
            return Ok(Arc::clone(run));
        }
        let pictures = (first..first + RUN_FRAMES).map(|id| self.clip.at(id));
        let run: Run<_> = self.encoder.encode(pictures, &self.clip, rates)?.into();
        runs.insert(key, Arc::clone(&run));
        Ok(run)
    }
}

/// Frames that are being sent.
struct Sending<U> {
    rung: usize,
    first: u64,
    run: Run<U>,
}

/// The clip as a rival codes it for one receiver, from the moment the receiver connects.
pub(crate) struct RivalFrames<E: RivalEncoder> {
    coder: Arc<Coder<E>>,
    rates: Vec<f64>,
    ladder: Ladder,
    sending: Option<Sending<E::Unit>>,
    id: u64,
    pace: Pace,
}

impl<E: RivalEncoder> RivalFrames<E> {
    /// Takes rates in bits a second, ascending, and the receiver's link.
    pub(crate) fn new(coder: &Arc<Coder<E>>, rates: &[f64], link: &Link) -> Self {
        let pace = Pace::new(coder.clip.rate().interval());
        let (coder, ladder) = (Arc::clone(coder), Ladder::new(rates, link));
        Self { coder, rates: rates.to_vec(), ladder, sending: None, id: 0, pace }
    }

    /// Returns the frame that is due; `None` before the receiver connects.
    fn frame(&mut self, captured: u64, demand: &Demand) -> Result<Option<BroadcastFrame>> {
        let wants_key = demand.take_random_access_request();
        let rung = self.ladder.rung(Duration::from_micros(captured));
        self.frame_of(rung, wants_key, captured)
    }

    /// Returns the frame that is due, of this rung.
    fn frame_of(&mut self, rung: usize, wants_key: bool, captured: u64) -> Result<Option<BroadcastFrame>> {
        let id = self.id;
        let sending = match self.sending.take() {
            None if !wants_key => return Ok(None),
            Some(of) if !wants_key && E::goes_on(of.rung, rung) && id < of.first + RUN_FRAMES => Sending { rung, ..of },
            _ => Sending { rung, first: id, run: self.coder.run(E::rates_of_run(&self.rates, rung), id)? },
        };
        let of = self.sending.insert(sending);
        let unit = of.run.get(usize::try_from(id - of.first)?).context("a run has all its frames")?;
        self.id += 1;
        let bytes = E::bytes(unit, rung);
        let base = bytes.len();
        let join = E::is_key(unit).then(|| RandomAccessFrame { base, bytes: bytes.clone() });
        Ok(Some(Frame { id, skipped: 0, captured, since: id, base, bytes, join }.into()))
    }
}

impl<E: RivalEncoder> FrameSource for RivalFrames<E> {
    fn welcome(&self) -> Welcome {
        let size = self.coder.clip.size();
        let [width, height] = [size.width(), size.height()].map(|side| u32::try_from(side).unwrap_or(u32::MAX));
        let rate = self.coder.clip.rate();
        // Frames that need those before: the session treats them as such.
        let video = Some(Video::new([0; 6]));
        Welcome { model: [0; 6], package: PackageHash([0; 32]), width, height, rate, video }
    }

    async fn next(&mut self, demand: &Demand) -> Result<Option<BroadcastFrame>, SourceError> {
        loop {
            let captured = microseconds(self.pace.next().await);
            if let Some(frame) = self.frame(captured, demand).map_err(SourceError::failed)? {
                return Ok(Some(frame));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes a picture as its number in the run and its rung.
    struct Numbers;

    impl RivalEncoder for Numbers {
        type Unit = u8;

        fn rates_of_run(rates: &[f64], _rung: usize) -> &[f64] {
            rates
        }

        fn goes_on(from: usize, to: usize) -> bool {
            to <= from
        }

        fn encode<'a>(
            &self,
            pictures: impl Iterator<Item = &'a Picture>,
            _clip: &Clip,
            _rates: &[f64],
        ) -> Result<Vec<u8>> {
            Ok((0..=u8::MAX).zip(pictures).map(|(number, _)| number).collect())
        }

        fn is_key(unit: &u8) -> bool {
            *unit == 0
        }

        fn bytes(unit: &u8, rung: usize) -> Bytes {
            Bytes::from(vec![*unit; rung + 1])
        }
    }

    #[test]
    fn a_rung_falls_within_a_run_and_rises_with_a_new_one() {
        let clip = Arc::new(Clip::builtin().expect("it is valid"));
        let coder = Arc::new(Coder::new(Numbers, &clip));
        let mut frames = RivalFrames::new(&coder, &[1.0, 2.0, 3.0], &Link::constant(8));
        let mut next = |rung, wants_key| {
            let frame = frames.frame_of(rung, wants_key, 0).expect("it is coded")?;
            Some((frame.frame.bytes[0], frame.frame.bytes.len(), frame.frame.join.is_some()))
        };
        assert_eq!(next(2, false), None, "nobody has connected");
        assert_eq!(next(2, true), Some((0, 3, true)));
        assert_eq!(next(2, false), Some((1, 3, false)));
        assert_eq!(next(0, false), Some((2, 1, false)));
        // A layer that was left out once is missing as a reference.
        assert_eq!(next(1, false), Some((0, 2, true)));
        assert_eq!(next(1, true), Some((0, 2, true)));
        for number in 1..240 {
            assert_eq!(next(1, false), Some((number, 2, false)));
        }
        assert_eq!(next(1, false), Some((0, 2, true)), "a run has ended");
    }
}
