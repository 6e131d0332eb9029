//! Rivals: x264 made for one receiver, at one rate or as a ladder, over the same session, congestion control and link as nestcast.
//!
//! A coded picture is of no use in part, so that all of a frame is its base: the session sends it whole, in order and before
//! anything else, and gives the backlog up for the next keyframe once it is a second old. A keyframe is made at once where
//! the receiver can go on no other way, as a picture loss indication asks for it (RFC 4585, section 6.3.1).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use nestcast_lab::clip::Clip;
use nestcast_lab::link::Link;
use nestcast_lab::pace::{Pace, microseconds};
use nestcast_lab::x264::{AccessUnit, X264};
use nestcast_proto::{BroadcastFrame, Demand, Frame, Join, PackageHash, SourceError, Video, Welcome};
use nestcast_sender::FrameSource;

use crate::ladder::Ladder;

/// Frames that are coded at once; then comes a keyframe in any case.
const RUN_FRAMES: u64 = 240;

/// Frames one after another, of which the first is a keyframe.
type Run = Arc<[AccessUnit]>;

/// Runs of frames that were coded already: x264 and the clip are the same for all links.
pub(crate) struct Coder {
    x264: X264,
    clip: Arc<Clip>,
    /// By bits a second and place in the clip, there and back.
    runs: Mutex<BTreeMap<(u64, u64), Run>>,
}

impl Coder {
    /// Nothing is coded yet.
    pub(crate) fn new(x264: X264, clip: &Arc<Clip>) -> Self {
        Self { x264, clip: Arc::clone(clip), runs: Mutex::default() }
    }

    /// The frames from `first` on; the first is a keyframe.
    fn run(&self, rate: f64, first: u64) -> Result<Run> {
        let key = (rate.to_bits(), first % self.clip.period());
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(run) = runs.get(&key) {
            return Ok(Arc::clone(run));
        }
        let pictures = (first..first + RUN_FRAMES).map(|id| self.clip.at(id));
        let run: Run = self.x264.encode(pictures, self.clip.rate(), rate)?.into();
        runs.insert(key, Arc::clone(&run));
        Ok(run)
    }
}

/// The clip as x264 codes it for one receiver, from the moment it is there.
pub(crate) struct X264Frames {
    coder: Arc<Coder>,
    rates: Vec<f64>,
    ladder: Ladder,
    /// The rung, the first frame and the frames that are being sent.
    run: Option<(usize, u64, Run)>,
    id: u64,
    pace: Pace,
}

impl X264Frames {
    /// At these rates in bits a second, ascending, for a receiver behind such a link.
    pub(crate) fn new(coder: &Arc<Coder>, rates: &[f64], link: &Link) -> Self {
        let pace = Pace::new(coder.clip.rate().interval());
        let (coder, ladder) = (Arc::clone(coder), Ladder::new(rates, link));
        Self { coder, rates: rates.to_vec(), ladder, run: None, id: 0, pace }
    }

    /// The frame that is due; nothing before the receiver is there.
    fn frame(&mut self, captured: u64, demand: &Demand) -> Result<Option<BroadcastFrame>> {
        let wants_key = demand.take_join_request();
        let rung = self.ladder.rung(Duration::from_micros(captured));
        let id = self.id;
        let goes_on = self.run.as_ref().filter(|(of, first, _)| !wants_key && *of == rung && id < first + RUN_FRAMES);
        if goes_on.is_none() {
            if self.run.is_none() && !wants_key {
                return Ok(None);
            }
            self.run = Some((rung, id, self.coder.run(self.rates[rung], id)?));
        }
        let (_, first, units) = self.run.as_ref().context("a run was begun")?;
        let unit = units.get(usize::try_from(id - first)?).context("a run has all its frames")?;
        self.id += 1;
        let (base, bytes): (usize, Bytes) = (unit.bytes.len(), unit.bytes.clone());
        let join = unit.key.then(|| Join { base, bytes: bytes.clone() });
        Ok(Some(Frame { id, skipped: 0, captured, since: id, base, bytes, join }.into()))
    }
}

impl FrameSource for X264Frames {
    fn welcome(&self) -> Welcome {
        let size = self.coder.clip.size();
        let [width, height] = [size.width(), size.height()].map(|side| u32::try_from(side).unwrap_or(u32::MAX));
        let rate = (self.coder.clip.rate().frames(), self.coder.clip.rate().seconds());
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
