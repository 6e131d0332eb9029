//! One video for receivers far apart: encoded side by side in several loops, each for some of them. A stored video's loops
//! stay; those of a live one branch off and are removed as receivers spread.
//!
//! Each loop is a video like any other, with a floor, an enhanced picture and a string of its own. Vectors are sought in the slowest
//! loop's references alone; each loop chooses among them by its own. That takes 1.6 % more bytes than a search in each
//! (five training clips, two loops), and a third of a loop's time more instead of two thirds.

use crate::error::Error;
use crate::motion::search::aim::Effort;
use crate::picture::View;
use crate::video::frame::Frame;
use crate::video::loop_encoder::LoopEncoder;
use crate::video::loop_rates::{LoopRates, MAX_LOOPS};
use crate::video::model::VideoModel;
use crate::video::population::Population;
use crate::video::settings::VideoSettings;
use crate::video::source::Source;
use crate::video::switch::Switch;

const NO_LOOP: &str = "there is no such loop: name one by its place, below the count of loops";

/// Encodes the frames of one video, one after another, in several loops.
pub struct VideoLoops {
    settings: VideoSettings,
    source: Source,
    /// At first by rising rate.
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
        let slowest = |encoder: &LoopEncoder| encoder.population.slowest().unwrap_or(0.0);
        let rates = LoopRates::new(&loops.iter().map(|encoder| whole(slowest(encoder))).collect::<Vec<_>>());
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
        self.loops.iter_mut().for_each(|encoder| encoder.effort = effort);
        self
    }

    /// For whom each loop was at first.
    #[must_use]
    pub const fn rates(&self) -> LoopRates {
        self.rates
    }

    /// How many loops there are.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.loops.len()
    }

    /// Says who receives loop `at`, as [`VideoEncoder::set_population`](crate::VideoEncoder::set_population), and how many bytes of its
    /// frames anyone has use for, from the next frame on. Frames have so many if the population's fastest receiver takes fewer: it may
    /// turn out to be faster. No frame is predicted from these bytes. If there is no such loop, nothing is done.
    pub fn set_population(&mut self, at: usize, population: Population, useful_bytes: usize) {
        if let Some(encoder) = self.loops.get_mut(at) {
            (encoder.population, encoder.useful) = (population, useful_bytes);
        }
    }

    /// Makes one loop more, behind the others: its next frame is predicted from what loop `at` has by now. So receivers of
    /// that one may go on in either with the next frame.
    ///
    /// # Errors
    /// [`Error::Argument`] if there is no loop `at`, or there are [`MAX_LOOPS`].
    pub fn branch(&mut self, at: usize) -> Result<(), Error> {
        if self.loops.len() >= MAX_LOOPS {
            return Err(Error::Argument("a video has three loops at most: remove one before another branches"));
        }
        let from = self.loops.get(at).ok_or(Error::Argument(NO_LOOP))?;
        let branched = from.branch(&self.settings);
        self.loops.push(branched);
        Ok(())
    }

    /// Codes no more frames of loop `at`, and leaves the others in their order; the last one stays.
    pub fn remove(&mut self, at: usize) {
        if self.loops.len() > 1 && at < self.loops.len() {
            self.loops.remove(at);
        }
    }

    /// As [`VideoEncoder::join`](crate::VideoEncoder::join), for receivers that go on in loop `at`; nothing if there is no
    /// such loop.
    #[must_use]
    pub fn join(&mut self, at: usize, max_bytes: usize) -> Option<Frame> {
        let phase = self.source.last_phase();
        self.loops.get_mut(at).map(|encoder| encoder.join(phase, max_bytes))
    }

    /// Receivers who have loop `at` as it is now, up to its base at least, and are to go on in another: for them
    /// [`VideoLoops::switch_to`] gives a frame behind each of [`VideoLoops::encode`] until they have arrived.
    ///
    /// # Errors
    /// [`Error::Argument`] if there is no loop `at`.
    pub fn switch_from(&self, at: usize) -> Result<Switch, Error> {
        let from = self.loops.get(at).ok_or(Error::Argument(NO_LOOP))?;
        Ok(Switch::new(&from.state.floor))
    }

    /// What these receivers get in place of the last frame of loop `to`, of at most `max_bytes`, all of which is its base: it brings their
    /// floor and enhanced picture near to the floor of `to`. Once they [arrived](Switch::arrived) they go on with the next
    /// frame of `to`, which has no block that is predicted from two pictures. Nothing if that last frame was a key frame, which is theirs
    /// too, or there is no such loop.
    #[must_use]
    pub fn switch_to(&mut self, to: usize, switch: &mut Switch, max_bytes: usize) -> Option<Frame> {
        self.loops.get_mut(to)?.switch(&self.source, switch, max_bytes)
    }

    /// Encodes the next frame, planar YCbCr 4:2:0: once for each loop, in their order.
    ///
    /// # Errors
    /// [`Error::Argument`] for another size or format.
    pub fn encode<'a>(&mut self, frame: impl Into<View<'a>>) -> Result<Vec<Frame>, Error> {
        let Self { settings, source, loops, .. } = self;
        let key = source.take(&frame.into(), settings.threads)?;
        let slowest = |at: &usize| loops[*at].population.slowest().unwrap_or(0.0);
        let mut by_rate: Vec<usize> = (0..loops.len()).collect();
        by_rate.sort_by(|a, b| slowest(a).total_cmp(&slowest(b)));
        let mut frames = vec![None; loops.len()];
        for (place, at) in by_rate.into_iter().enumerate() {
            frames[at] = Some(loops[at].encode(source, key, place > 0)?);
        }
        source.finish();
        Ok(frames.into_iter().flatten().collect())
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and saturates")]
const fn whole(rate: f64) -> u64 {
    rate.round() as u64
}
