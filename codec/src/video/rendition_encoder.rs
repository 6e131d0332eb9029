//! Encodes the frames of one rendition: its references, its bitstream, its side information.

use std::sync::atomic::AtomicU64;

use bytes::{Bytes, BytesMut};
use nestcast_units::FrameRate;

use crate::error::Error;
use crate::motion::field::{Field, Turn};
use crate::motion::last_vectors::LastVectors;
use crate::motion::reference::{Plane, Reference};
use crate::motion::search::Choice;
use crate::motion::search::search_parameters::{Effort, SearchParameters};
use crate::observer::Stage;
use crate::parallel::Threads;
use crate::picture::Size;
use crate::residual::decoder::ResidualDecoder;
use crate::residual::encoder::ResidualEncoder;
use crate::residual::planes::Planes420;
use crate::scratch::Scratch;
use crate::simd::widest;
use crate::stream::interleave::Limit;
use crate::video::ages::Gains;
use crate::video::difference::{Difference, SkippedBlocks};
use crate::video::frame::{CodedFrame, base_reference_alone, compose, random_access};
use crate::video::head::Head;
use crate::video::lagrange_multiplier::lagrange_multiplier;
use crate::video::model::VideoModel;
use crate::video::population::Population;
use crate::video::rate_allocation::{Errors, RateAllocation, Shares};
use crate::video::renewal::Renewal;
use crate::video::settings::VideoSettings;
use crate::video::source::{News, Source};
use crate::video::state::State;
use crate::video::strip::{self, NextPlanes, Targets};
use crate::video::switch::Switch;

/// Encodes one rendition, frame by frame.
pub(super) struct RenditionEncoder {
    pub(super) model: VideoModel,
    pub(super) effort: Effort,
    size: Size,
    rate: FrameRate,
    pub(super) threads: Threads,
    pub(super) population: Population,
    pub(super) state: State,
    rate_allocation: RateAllocation,
    pub(super) renewal: Renewal,
    /// Whether the last frame was predicted from nothing.
    was_key: bool,
    /// Bytes of a frame that some receiver may use, whatever the population is.
    pub(super) useful: usize,
    /// The sum of squared errors of luma, in squares of 1/8 of a step, of the base-layer reference of the last frame that
    /// did not stay; `None` before the first frame.
    pub(super) base_reference_error: Option<u64>,
    skipped: SkippedBlocks,
    residual: Planes420<i16>,
    pub(super) field: Field,
    /// The vectors of the last frame.
    last_vectors: LastVectors,
    /// The frame's side information.
    side: Vec<u8>,
    choice: Choice,
    room: Scratch<i32>,
    pub(super) coder: ResidualEncoder,
    decoder: ResidualDecoder,
    /// The residual of the next frame lowers isolated coefficients in planes below this one.
    isolated_end: u8,
    bytes: BytesMut,
}

/// How many planes lower isolated coefficients, from the one in which the slowest receiver's bytes of the last frame end
/// upwards; all planes below do too. In higher planes fast receivers lose more than slow ones gain.
const ISOLATED_PLANES: u8 = 2;
/// The fraction of the slowest receiver's bytes that side information should not exceed.
const SIDE_SHARE: [usize; 2] = [3, 10];

impl RenditionEncoder {
    pub(super) fn new(model: VideoModel, settings: &VideoSettings, threads: Threads) -> Self {
        let VideoSettings { size, rate, population, .. } = settings.clone();
        Self {
            model,
            effort: Effort::default(),
            size,
            rate,
            population,
            state: State::new(size),
            rate_allocation: RateAllocation::default(),
            renewal: Renewal::default(),
            was_key: true,
            useful: 0,
            base_reference_error: None,
            skipped: SkippedBlocks::default(),
            residual: Planes420::new(size),
            field: Field::default(),
            last_vectors: LastVectors::default(),
            side: Vec::new(),
            choice: Choice::default(),
            room: Scratch::default(),
            coder: ResidualEncoder::new(&threads),
            decoder: ResidualDecoder::new(&threads),
            isolated_end: 0,
            bytes: BytesMut::new(),
            threads,
        }
    }

    /// Returns an encoder for a rendition that branches off here.
    pub(super) fn branch(&self, settings: &VideoSettings) -> Self {
        let settings = VideoSettings { population: self.population.clone(), ..settings.clone() };
        let effort = self.effort;
        let state = self.state.clone();
        let Self { useful, was_key, base_reference_error, .. } = *self;
        Self {
            effort,
            state,
            useful,
            was_key,
            base_reference_error,
            renewal: self.renewal.clone(),
            last_vectors: self.last_vectors.clone(),
            choice: self.choice.branch(),
            ..Self::new(self.model.clone(), &settings, self.threads.clone())
        }
    }

    /// Encodes the frame in `source`, which has this that is new. `searched`: another rendition has searched its
    /// vectors and chosen among them, and this one begins with that.
    pub(super) fn encode(&mut self, source: &mut Source, news: News, searched: bool) -> Result<CodedFrame, Error> {
        let phase = source.phase();
        let [key, stays] = [News::Scene, News::Nothing].map(|of| news == of);
        self.was_key = key;
        if stays {
            self.field.stand(self.size, phase);
            self.choice.begin_anew();
            self.side.clear();
            self.last_vectors.set(phase, &self.field);
        }
        if stays && self.renewal.is_settled() {
            let head = Head { phase, stays, ..Head::default() };
            return Ok(base_reference_alone(&mut self.bytes, head, &[], &[], 0));
        }
        let renews = match news {
            News::Scene => false,
            News::Changes => self.renewal.renews_moving(),
            News::Nothing => self.renewal.renews(phase),
        };
        let shares = self.rate_allocation.shares(&self.population, self.rate);
        let fastest = shares.most;
        let enhancement_reference = if stays { fastest } else { shares.enhancement_reference };
        let shares = Shares { most: fastest.max(self.useful), enhancement_reference, ..shares };
        match news {
            News::Scene => {
                self.side.clear();
                self.choice.begin_anew();
                self.state.predict_nothing();
                self.last_vectors.clear(phase);
                self.renewal.handle_key();
            }
            News::Changes => {
                self.predict(source, Turn { phase, renews }, [shares.base_reference, fastest], searched);
                self.renewal.handle_change();
            }
            News::Nothing => {
                self.state.predict_same(Turn { phase, renews });
                self.threads.end(Stage::Predict);
            }
        }
        let gains = (news == News::Changes).then(|| Gains::weigh(self.size, phase));
        let is_near = stays && self.skipped.compare(&source.planes, &self.state.predicted, phase);
        let skipped = stays.then_some(&self.skipped);
        let difference = Difference::new(&source.planes, &self.state.predicted, gains, skipped);
        let model = self.model.of(key);
        let (planes, string) = if is_near {
            (0, Bytes::new())
        } else {
            let bytes = shares.most.saturating_sub(self.side.len());
            let limit = Limit { bytes, shortens: self.effort == Effort::Realtime };
            let isolated_end = if news == News::Changes { self.isolated_end } else { 0 };
            self.coder.encode_from(model, (self.size, &difference), limit, isolated_end)
        };
        let predicted = difference.error();
        if stays {
            self.renewal.handle_same(phase, planes == 0);
        }
        let bipredicts = !key && self.field.bipredicts;
        let head = Head { phase, key, planes, bipredicts, stays, renews, ..Head::default() };
        let (head, side) = compose(&mut self.bytes, head, &self.side, &string, shares);
        self.threads.end(Stage::Write);
        let [base_reference, enhancement_reference] = self.advance(&head, &string, &source.planes)?;
        if !stays {
            self.base_reference_error = Some(base_reference);
        }
        if news == News::Changes {
            self.rate_allocation.learn(Errors { predicted, enhancement_reference, base_reference });
        }
        Ok(CodedFrame::new(&head, side, self.bytes.split().freeze()))
    }

    /// Returns the base-layer reference as a picture of its own in place of the frame of this phase, with the vectors that
    /// the next frame can copy, as [`random_access`].
    pub(super) fn join(&mut self, phase: u8, max_bytes: usize) -> CodedFrame {
        // A receiver that joins has no picture before this one.
        self.choice.begin_anew();
        self.renewal.handle_joined();
        self.random_access_frame(phase, max_bytes)
    }

    /// Returns the frame of [`Self::join`] for decoders that may begin with it later. The next frames do not change.
    pub(super) fn random_access_frame(&mut self, phase: u8, max_bytes: usize) -> CodedFrame {
        let Self { size, state, residual, coder, model, bytes, last_vectors, .. } = self;
        for (out, plane) in residual.planes_mut().into_iter().zip(&state.base_reference.planes) {
            let rows = out.chunks_exact_mut(plane.width).enumerate();
            rows.for_each(|(y, out)| out.copy_from_slice(plane.row(y)));
        }
        let (planes, string) = coder.encode(&model.key, residual, max_bytes);
        let head = Head { phase, key: true, planes, ..Head::default() };
        random_access(bytes, head, &last_vectors.encode(*size), &string, max_bytes)
    }

    /// Returns the base-layer reference for receivers that come from another rendition, in place of the frame of this
    /// phase; `None` if that frame is predicted from nothing.
    pub(super) fn switch(&mut self, source: &Source, switch: &mut Switch, max_bytes: usize) -> Option<CodedFrame> {
        if self.was_key {
            switch.arrive();
            return None;
        }
        let Self { size, state, residual, coder, model, bytes, choice, renewal, field, threads, decoder, room, .. } =
            self;
        let (side, predicted) = switch.predict(field, threads, room);
        subtract(residual, |plane, y| state.base_reference.planes[plane].row(y), predicted);
        let model = model.of(false);
        let (planes, string) = coder.encode(model, residual, max_bytes);
        let (phase, renews) = (source.last_phase(), field.renews);
        let head = Head { phase, planes, switches: true, renews, ..Head::default() };
        let frame = base_reference_alone(bytes, head, side, &string, max_bytes);
        decoder.start(*size, planes);
        // A bitstream would end at a corrupt length; this one has none.
        let _ = decoder.follow(model, coder, &frame.bytes[frame.side..]);
        decoder.residual_into(model, residual);
        let theirs = switch.advance(residual, threads);
        let [theirs, base_reference, enhancement_reference] =
            [theirs, &state.base_reference, &state.enhancement_reference]
                .map(|picture| squared_error(&source.planes.planes()[0], &picture.planes[0]));
        switch.handle_frame(theirs, base_reference, enhancement_reference);
        if switch.arrived() {
            // A receiver that arrives has no picture before this one.
            choice.begin_anew();
            renewal.handle_joined();
        }
        Some(frame)
    }

    /// Predicts the frame, and codes its motion. `receivers`: the slowest and the fastest one's bytes of the frame.
    fn predict(&mut self, source: &mut Source, turn: Turn, receivers: [usize; 2], searched: bool) {
        let Self {
            model,
            size,
            threads,
            effort,
            state,
            choice,
            last_vectors,
            field,
            side,
            room,
            base_reference_error,
            ..
        } = self;
        let aim = SearchParameters {
            lambda: lagrange_multiplier(*size, receivers, *base_reference_error),
            most_bytes: receivers[0] / SIDE_SHARE[1] * SIDE_SHARE[0],
            threads: threads.clone(),
            effort: *effort,
        };
        field.reset(*size, turn, last_vectors.of_frame(turn.phase));
        choice.run(&aim, &mut source.search, searched, state.references(), field, side);
        last_vectors.set(turn.phase, field);
        state.predict((field, turn.phase), model.of(false), threads, room);
        threads.end(Stage::Predict);
    }

    /// Advances both references, as every decoder does, and returns their squared errors.
    fn advance(&mut self, head: &Head, string: &[u8], source: &Planes420<i16>) -> Result<[u64; 2], Error> {
        let (base, enhancement) = (head.base_reference, head.enhancement_reference);
        self.decoder.start(self.size, head.planes);
        self.follow(head, &string[..base])?;
        self.isolated_end = self.decoder.position().first_open_plane() + ISOLATED_PLANES;
        let gains = Gains::of_base_reference(self.size, head);
        let base_reference = self.make(head, gains, source, State::next_base_reference);
        self.follow(head, &string[base..enhancement])?;
        let Self { decoder, state, model, threads, room, .. } = self;
        state.recall(decoder, model.of(head.key), threads, room);
        let gains = Gains::of_enhancement_reference(self.size, head);
        let enhancement_reference = self.make(head, gains, source, State::next_enhancement_reference);
        Ok([base_reference, enhancement_reference])
    }

    /// Follows the next bytes of the bitstream.
    fn follow(&mut self, head: &Head, bytes: &[u8]) -> Result<(), Error> {
        let Self { decoder, coder, model, .. } = self;
        decoder.follow(model.of(head.key), coder, bytes)
    }

    /// Sets a reference to the sum of the residual of the bytes so far, with these gains, and its prediction. Returns
    /// the squared error of luma.
    fn make(
        &mut self,
        head: &Head,
        gains: Option<Gains>,
        source: &Planes420<i16>,
        reference: for<'a> fn(&'a mut State) -> NextPlanes<'a>,
    ) -> u64 {
        let Self { decoder, state, model, size, .. } = self;
        let error = AtomicU64::new(0);
        let targets = Targets {
            gains: gains.as_ref(),
            reference: Some(reference(state)),
            error: Some((source.planes()[0].as_slice(), &error)),
            ..Targets::default()
        };
        strip::synthesise(decoder, model.of(head.key), *size, targets);
        error.into_inner()
    }
}

/// Sets `residual` to the difference of a picture, given by its planes' rows, from `predicted`.
fn subtract<'a>(residual: &mut Planes420<i16>, row: impl Fn(usize, usize) -> &'a [i16], predicted: &Reference) {
    for (plane, (out, predicted)) in residual.planes_mut().into_iter().zip(&predicted.planes).enumerate() {
        for (y, out) in out.chunks_exact_mut(predicted.width).enumerate() {
            let samples = row(plane, y).iter().zip(predicted.row(y));
            out.iter_mut().zip(samples).for_each(|(out, (a, b))| *out = a - b);
        }
    }
}

/// Returns the squared error of samples without borders against a plane.
fn squared_error(samples: &[i16], plane: &Plane) -> u64 {
    let rows = samples.chunks_exact(plane.width).enumerate();
    rows.map(|(y, row)| widest!(strip::squared_error(row, plane.row(y)))).sum()
}
