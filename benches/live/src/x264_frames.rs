//! Rivals: x264 for one receiver, at one rate or as a ladder, over the same session, congestion control and link as
//! nestcast.
//!
//! A partial coded picture is useless, so the whole frame is its base: the session sends it whole, in order and before
//! anything else, and drops the backlog for the next keyframe once it is a second old. x264 makes a keyframe at once
//! where the receiver cannot continue otherwise, as a picture loss indication asks for it (RFC 4585, section 6.3.1).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use nestcast_lab::clip::Clip;
use nestcast_lab::link::Link;
use nestcast_lab::pace::{Pace, microseconds};
use nestcast_lab::x264::{AccessUnit, X264};
use nestcast_proto::{
    Bitrate, BroadcastFrame, Demand, Frame, PackageHash, RandomAccessFrame, SourceError, Video, Welcome,
};
use nestcast_sender::FrameSource;

use crate::ladder::Ladder;

/// Frames that are coded at once; the next one is always a keyframe.
const RUN_FRAMES: u64 = 240;

/// Successive frames, of which the first is a keyframe.
type Run = Arc<[AccessUnit]>;

/// Runs of frames that are already coded: x264 and the clip are the same for all links.
pub(crate) struct Coder {
    x264: X264,
    clip: Arc<Clip>,
    /// The runs by bits a second and place in the clip, forwards and backwards.
    runs: Mutex<BTreeMap<(u64, u64), Run>>,
}

impl Coder {
    /// Starts with nothing coded.
    pub(crate) fn new(x264: X264, clip: &Arc<Clip>) -> Self {
        Self { x264, clip: Arc::clone(clip), runs: Mutex::default() }
    }

    /// Returns the frames from `first` on; the first is a keyframe.
    fn run(&self, bits_per_second: f64, first: u64) -> Result<Run> {
        let key = (bits_per_second.to_bits(), first % self.clip.period());
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(run) = runs.get(&key) {
            return Ok(Arc::clone(run));
        }
        let pictures = (first..first + RUN_FRAMES).map(|id| self.clip.at(id));
        let run: Run = self.x264.encode(pictures, self.clip.rate(), Bitrate::rounded(bits_per_second))?.into();
        runs.insert(key, Arc::clone(&run));
        Ok(run)
    }
}

/// The clip as x264 codes it for one receiver, from the moment the receiver connects.
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
    /// Takes rates in bits a second, ascending, and the receiver's link.
    pub(crate) fn new(coder: &Arc<Coder>, rates: &[f64], link: &Link) -> Self {
        let pace = Pace::new(coder.clip.rate().interval());
        let (coder, ladder) = (Arc::clone(coder), Ladder::new(rates, link));
        Self { coder, rates: rates.to_vec(), ladder, run: None, id: 0, pace }
    }

    /// Returns the frame that is due; `None` before the receiver connects.
    fn frame(&mut self, captured: u64, demand: &Demand) -> Result<Option<BroadcastFrame>> {
        let wants_key = demand.take_random_access_request();
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
        let join = unit.key.then(|| RandomAccessFrame { base, bytes: bytes.clone() });
        Ok(Some(Frame { id, skipped: 0, captured, since: id, base, bytes, join }.into()))
    }
}

impl FrameSource for X264Frames {
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
