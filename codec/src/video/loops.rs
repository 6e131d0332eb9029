//! One video for receivers far apart: encoded side by side in several loops, each for some of them.
//!
//! Each loop is a video like any other, with a floor, a loop and a string of its own. Vectors are sought in the slowest
//! loop's references alone; each loop chooses among them by its own. That takes 1.6 % more bytes than a search in each
//! (five training clips, two loops), and a third of a loop's time more instead of two thirds.

use crate::error::Error;
use crate::motion::search::aim::Effort;
use crate::picture::View;
use crate::video::frame::Frame;
use crate::video::loop_encoder::LoopEncoder;
use crate::video::loop_rates::{LoopRates, MAX_LOOPS};
use crate::video::model::VideoModel;
use crate::video::settings::VideoSettings;
use crate::video::source::Source;

/// Encodes the frames of one video, one after another, in several loops.
pub struct VideoLoops {
    settings: VideoSettings,
    source: Source,
    /// By rising rate.
    loops: Vec<LoopEncoder>,
    rates: LoopRates,
}

impl std::fmt::Debug for VideoLoops {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VideoLoops").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl VideoLoops {
    /// An encoder for frames of this size, of so many loops, but no more than the population has receivers:
    /// [`crate::Population::split`] says who is in which.
    ///
    /// # Errors
    /// [`Error::Argument`] if `loops` is not 1 to [`MAX_LOOPS`], or a loop of several would be for rates from 2^35 bits a
    /// second on.
    pub fn new(model: &VideoModel, settings: VideoSettings, loops: usize) -> Result<Self, Error> {
        if !(1..=MAX_LOOPS).contains(&loops) {
            return Err(Error::Argument("a video has one to three loops"));
        }
        let settings = VideoSettings { threads: settings.threads.max(1), ..settings };
        let of = |population| LoopEncoder::new(model.clone(), &VideoSettings { population, ..settings.clone() });
        let groups = settings.population.split(loops);
        let mut loops: Vec<LoopEncoder> = groups.into_iter().map(of).collect();
        let slowest = |closed: &LoopEncoder| closed.population.slowest().unwrap_or(0.0);
        let rates = LoopRates::new(&loops.iter().map(|closed| whole(slowest(closed))).collect::<Vec<_>>());
        let rates = rates.ok_or(Error::Argument("several loops are for rates below 2^35 bits a second"))?;
        for at in 1..loops.len() {
            // Who is between two groups is in the slower one's loop.
            loops[at - 1].useful = settings.rate.bytes(slowest(&loops[at]));
        }
        Ok(Self { source: Source::new(settings.size), loops, rates, settings })
    }

    /// Searches for motion as long as this says; decoders need not be told.
    #[must_use]
    pub fn with_effort(mut self, effort: Effort) -> Self {
        self.loops.iter_mut().for_each(|closed| closed.effort = effort);
        self
    }

    /// For whom each loop is.
    #[must_use]
    pub const fn rates(&self) -> LoopRates {
        self.rates
    }

    /// Encodes the next frame, planar YCbCr 4:2:0: once for each loop, by rising rate.
    ///
    /// # Errors
    /// [`Error::Argument`] for another size or format.
    pub fn encode<'a>(&mut self, frame: impl Into<View<'a>>) -> Result<Vec<Frame>, Error> {
        let Self { settings, source, loops, .. } = self;
        let key = source.take(&frame.into(), settings.threads)?;
        let mut frames = Vec::with_capacity(loops.len());
        for (number, closed) in loops.iter_mut().enumerate() {
            frames.push(closed.encode(source, key, number > 0)?);
        }
        source.finish();
        Ok(frames)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and saturates")]
const fn whole(rate: f64) -> u64 {
    rate.round() as u64
}
