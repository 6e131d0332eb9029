//! Encodes one video for receivers of very different rates, in several renditions, each for some of the receivers. The
//! renditions of a stored video stay; those of a live one branch off and are removed as receivers spread.
//!
//! Each rendition is a prediction loop, a video like any other, with its own references and bitstream. Effort `normal`
//! searches vectors in the slowest rendition's references alone, and the faster renditions choose among them by their own
//! references. In the other efforts a faster rendition searches too, but begins with the slowest one's choice. Where a
//! rendition's choice agrees with the slowest one's, it tries no other vector, but still searches for a second one
//! (`docs/experiments/several-loops.md`).

use std::sync::Arc;

use nestcast_units::Bitrate;

use crate::error::Error;
use crate::motion::search::search_parameters::Effort;
use crate::observer::Observer;
use crate::parallel::Threads;
use crate::picture::View;
use crate::video::frame::CodedFrame;
use crate::video::model::VideoModel;
use crate::video::population::{Population, frame_bytes};
use crate::video::rendition_encoder::RenditionEncoder;
use crate::video::rendition_rates::{MAX_RENDITIONS, RenditionRates};
use crate::video::settings::VideoSettings;
use crate::video::source::Source;
use crate::video::switch::Switch;

const NO_RENDITION: &str = "there is no such rendition: name one by its place, below their count";

/// Encodes the frames of one video, one after another, in several renditions.
pub struct VideoRenditions {
    settings: VideoSettings,
    source: Source,
    /// By rising rate at first.
    renditions: Vec<RenditionEncoder>,
    rates: RenditionRates,
    threads: Threads,
}

impl std::fmt::Debug for VideoRenditions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VideoRenditions").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl VideoRenditions {
    /// Returns an encoder for frames of this size in `renditions` renditions, but no more than the population has
    /// receivers; [`crate::Population::split`] divides these among them.
    ///
    /// # Errors
    /// [`Error::Argument`] if `renditions` is not 1 to [`MAX_RENDITIONS`], or if one of several renditions would serve
    /// rates from 2^35 bits a second on.
    pub fn new(model: &VideoModel, settings: VideoSettings, renditions: usize) -> Result<Self, Error> {
        if !(1..=MAX_RENDITIONS).contains(&renditions) {
            return Err(Error::Argument("a video has one to three renditions"));
        }
        let threads = Threads::new(settings.threads);
        let of = |population| {
            RenditionEncoder::new(model.clone(), &VideoSettings { population, ..settings.clone() }, threads.clone())
        };
        let groups = settings.population.split(renditions);
        let mut renditions: Vec<RenditionEncoder> = groups.into_iter().map(of).collect();
        let slowest = |encoder: &RenditionEncoder| encoder.population.slowest_bits().unwrap_or(0.0);
        let rates: Vec<_> = renditions.iter().map(|encoder| Bitrate::rounded(slowest(encoder))).collect();
        let rates = RenditionRates::new(&rates);
        let rates = rates.ok_or(Error::Argument("several renditions are for rates below 2^35 bits a second"))?;
        for at in 1..renditions.len() {
            // A receiver between two groups uses the slower one's rendition.
            renditions[at - 1].useful = frame_bytes(settings.rate, slowest(&renditions[at]));
        }
        Ok(Self { source: Source::new(settings.size), renditions, rates, threads, settings })
    }

    /// Sets how long it searches for motion; decoders do not depend on it.
    #[must_use]
    pub fn with_effort(mut self, effort: Effort) -> Self {
        self.set_effort(effort);
        self
    }

    /// Sets how long it searches for motion from the next frame on.
    pub fn set_effort(&mut self, effort: Effort) {
        self.renditions.iter_mut().for_each(|encoder| encoder.effort = effort);
    }

    /// Says whether the encoder knows all receivers, as
    /// [`VideoEncoder::with_known_receivers`](crate::VideoEncoder::with_known_receivers): each has every frame of its
    /// renditions, or begins with a frame of [`VideoRenditions::join`] or [`VideoRenditions::switch_to`]. Who begins with
    /// one of [`VideoRenditions::random_access_frame`] is not known.
    #[must_use]
    pub fn with_known_receivers(mut self, are_known: bool) -> Self {
        self.renditions.iter_mut().for_each(|encoder| encoder.renewal.knows_receivers = are_known);
        self
    }

    /// Shows an observer its work from now on; the caller then does all of it, one rendition after another.
    #[must_use]
    pub fn with_observer(self, observer: Arc<dyn Observer>) -> Self {
        self.threads.observe(observer);
        self
    }

    /// Returns the receivers that each rendition served at first.
    #[must_use]
    pub const fn rates(&self) -> RenditionRates {
        self.rates
    }

    /// Returns the number of renditions.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.renditions.len()
    }

    /// Sets the receivers of rendition `at`, as [`VideoEncoder::set_population`](crate::VideoEncoder::set_population),
    /// from the next frame on. Its frames have at least `useful_bytes`, even if the population's fastest receiver gets
    /// fewer, because it may turn out to be faster. No frame is predicted from these bytes. Does nothing if there is no
    /// such rendition.
    pub fn set_population(&mut self, at: usize, population: Population, useful_bytes: usize) {
        if let Some(encoder) = self.renditions.get_mut(at) {
            (encoder.population, encoder.useful) = (population, useful_bytes);
        }
    }

    /// Adds a rendition after the others: its next frame is predicted from the references that rendition `at` has now.
    /// So receivers of that one can continue in either with the next frame.
    ///
    /// # Errors
    /// [`Error::Argument`] if there is no rendition `at`, or there are [`MAX_RENDITIONS`].
    pub fn branch(&mut self, at: usize) -> Result<(), Error> {
        if self.renditions.len() >= MAX_RENDITIONS {
            return Err(Error::Argument("a video has three renditions at most: remove one before another branches"));
        }
        let from = self.renditions.get(at).ok_or(Error::Argument(NO_RENDITION))?;
        let branched = from.branch(&self.settings);
        self.renditions.push(branched);
        Ok(())
    }

    /// Removes rendition `at`, and leaves the others in their order; the last one stays.
    pub fn remove(&mut self, at: usize) {
        if self.renditions.len() > 1 && at < self.renditions.len() {
            self.renditions.remove(at);
        }
    }

    /// As [`VideoEncoder::join`](crate::VideoEncoder::join), for receivers that continue in rendition `at`; `None` if
    /// there is no such rendition.
    #[must_use]
    pub fn join(&mut self, at: usize, max_bytes: usize) -> Option<CodedFrame> {
        let phase = self.source.last_phase();
        self.renditions.get_mut(at).map(|encoder| encoder.join(phase, max_bytes))
    }

    /// Returns a random-access frame in place of the last frame of rendition `at`, of at most `max_bytes`, for a file
    /// in which a decoder may begin with it. Unlike [`VideoRenditions::join`], it changes no later frame. Returns
    /// `None` if there is no such rendition.
    #[must_use]
    pub fn random_access_frame(&mut self, at: usize, max_bytes: usize) -> Option<CodedFrame> {
        let phase = self.source.last_phase();
        self.renditions.get_mut(at).map(|encoder| encoder.random_access_frame(phase, max_bytes))
    }

    /// Begins a switch for receivers that have rendition `at` up to now, at least up to its base. After each
    /// [`VideoRenditions::encode`], [`VideoRenditions::switch_to`] returns a frame for them until they have arrived.
    ///
    /// # Errors
    /// [`Error::Argument`] if there is no rendition `at`.
    pub fn switch_from(&self, at: usize) -> Result<Switch, Error> {
        let from = self.renditions.get(at).ok_or(Error::Argument(NO_RENDITION))?;
        Ok(Switch::new(&from.state.base_reference))
    }

    /// Returns the frame that these receivers get in place of the last frame of rendition `to`, of at most `max_bytes`,
    /// all of which is its base. It brings their references near to the base-layer reference of `to`. Once they
    /// [arrived](Switch::arrived), they continue with the next frame of `to`, which has no bi-predicted blocks. Returns
    /// `None` if the last frame was a key frame, which they get too, or if there is no such rendition.
    #[must_use]
    pub fn switch_to(&mut self, to: usize, switch: &mut Switch, max_bytes: usize) -> Option<CodedFrame> {
        self.renditions.get_mut(to)?.switch(&self.source, switch, max_bytes)
    }

    /// Encodes the next frame, planar YCbCr 4:2:0: once for each rendition, in their order.
    ///
    /// # Errors
    /// [`Error::Argument`] for another size or format.
    pub fn encode<'a>(&mut self, frame: impl Into<View<'a>>) -> Result<Vec<CodedFrame>, Error> {
        let Self { source, renditions, threads, .. } = self;
        let news = source.take(&frame.into(), renditions[0].effort, threads)?;
        let slowest = |at: &usize| renditions[*at].population.slowest_bits().unwrap_or(0.0);
        let mut by_rate: Vec<usize> = (0..renditions.len()).collect();
        by_rate.sort_by(|a, b| slowest(a).total_cmp(&slowest(b)));
        let mut frames = vec![None; renditions.len()];
        for (place, at) in by_rate.into_iter().enumerate() {
            frames[at] = Some(renditions[at].encode(source, news, place > 0)?);
        }
        source.finish();
        Ok(frames.into_iter().flatten().collect())
    }
}
