//! Frames to bytes.

use bytes::{Bytes, BytesMut};

use crate::error::Error;
use crate::motion::field::{CONSTANT_CYCLE, Field};
use crate::motion::overlap::Overlap;
use crate::motion::reference::FRACTION;
use crate::motion::search::Search;
use crate::motion::search::aim::{Aim, Effort};
use crate::picture::{Format, Size, View};
use crate::residual::decoder::ResidualDecoder;
use crate::residual::encoder::ResidualEncoder;
use crate::residual::planes::Planes420;
use crate::video::allotment::{Allotment, Errors, Shares};
use crate::video::head::{Head, MAX_HEAD};
use crate::video::model::VideoModel;
use crate::video::population::{FrameRate, Population};
use crate::video::state::State;

/// What an encode is for.
#[derive(Debug, Clone)]
pub struct VideoSettings {
    /// Width and height of every frame.
    pub size: Size,
    /// Frames a second.
    pub rate: FrameRate,
    /// The receivers' bandwidths: the slowest one's bytes make the floor, the fastest's are the most that a frame takes.
    /// The loop is made of the median's bytes at first, and then of those of whichever receiver the video asks for.
    pub population: Population,
    /// Threads that may work at a time; the bytes do not depend on them.
    pub threads: usize,
}

/// One coded frame: any prefix of its bytes is of use, from [`Frame::base`] bytes on all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Head, side information, and the string of the residual.
    pub bytes: Bytes,
    /// Bytes that every receiver needs of it, now or later, before any later frame: up to the end of the floor.
    pub base: usize,
    /// Bytes that the loop picture is made of: up to here each serves later frames too.
    pub closed: usize,
    /// Bytes of head and side information.
    pub side: usize,
    /// It is predicted from nothing, so that a receiver may begin here.
    pub key: bool,
}

impl Frame {
    /// Of bytes of which the string begins at `side`.
    fn new(head: &Head, side: usize, bytes: Bytes) -> Self {
        let end = |count: usize| (side + count).min(bytes.len());
        Self { base: end(head.floor), closed: end(head.closed), side, key: head.key, bytes }
    }
}

/// Encodes the frames of one video, one after another.
pub struct VideoEncoder {
    settings: VideoSettings,
    model: VideoModel,
    effort: Effort,
    pub(super) state: State,
    allotment: Allotment,
    /// Bytes of a frame that somebody may have use for, whatever the population is.
    useful: usize,
    /// Frames so far.
    count: usize,
    source: Planes420<i16>,
    residual: Planes420<i16>,
    luma: Vec<u8>,
    field: Field,
    /// The frame's side information.
    side: Vec<u8>,
    search: Search,
    room: [Overlap; 6],
    coder: ResidualEncoder,
    decoder: ResidualDecoder,
    bytes: BytesMut,
}

impl std::fmt::Debug for VideoEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VideoEncoder").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// The most of the slowest receiver's bytes that side information should take.
const SIDE_SHARE: [usize; 2] = [3, 10];

impl VideoEncoder {
    /// An encoder for frames of this size.
    #[must_use]
    pub fn new(model: VideoModel, settings: VideoSettings) -> Self {
        let size = settings.size;
        let threads = settings.threads.max(1);
        Self {
            model,
            effort: Effort::default(),
            state: State::new(size),
            allotment: Allotment::default(),
            useful: 0,
            count: 0,
            source: Planes420::new(size),
            residual: Planes420::new(size),
            luma: Vec::new(),
            field: Field::default(),
            side: Vec::new(),
            search: Search::default(),
            room: Default::default(),
            coder: ResidualEncoder::new(threads),
            decoder: ResidualDecoder::new(threads),
            bytes: BytesMut::new(),
            settings: VideoSettings { threads, ..settings },
        }
    }

    /// Searches for motion as long as this says; decoders need not be told.
    #[must_use]
    pub const fn with_effort(mut self, effort: Effort) -> Self {
        self.effort = effort;
        self
    }

    /// What the last frame was coded with: tables, motion, residual.
    #[cfg(feature = "training")]
    pub(crate) const fn last(&mut self) -> (&VideoModel, &Field, &mut ResidualEncoder) {
        (&self.model, &self.field, &mut self.coder)
    }

    /// The tables that it codes with.
    #[must_use]
    pub const fn model(&self) -> &VideoModel {
        &self.model
    }

    /// Says who receives from the next frame on.
    pub fn set_population(&mut self, population: Population) {
        self.settings.population = population;
    }

    /// Makes frames of so many bytes from the next one on, if the population's fastest receiver takes fewer: it may turn out
    /// to be faster. No frame is predicted from these bytes.
    pub const fn set_useful_bytes(&mut self, bytes: usize) {
        self.useful = bytes;
    }

    /// Encodes the next frame, planar YCbCr 4:2:0.
    ///
    /// # Errors
    /// [`Error::Argument`] for another size or format.
    pub fn encode<'a>(&mut self, frame: impl Into<View<'a>>) -> Result<Frame, Error> {
        let view = frame.into();
        if view.size() != self.settings.size {
            return Err(Error::Argument("the frame has another size than those before"));
        }
        if !matches!(view.format(), Format::Ycbcr420(_)) {
            return Err(Error::Argument("frames of video are planar YCbCr 4:2:0"));
        }
        let key = self.take(&view) || self.count == 0;
        let phase = u8::try_from(self.count % CONSTANT_CYCLE).unwrap_or_default();
        let shares = self.allotment.shares(&self.settings.population, self.settings.rate);
        let shares = Shares { most: shares.most.max(self.useful), ..shares };
        if key {
            self.side.clear();
            self.state.predict_nothing();
        } else {
            self.predict(phase, shares.floor);
        }
        self.subtract();
        let model = self.model.of(key);
        let (planes, string) = self.coder.encode(model, &self.residual, shares.most);
        let (head, side) = compose(&mut self.bytes, phase, key, planes, &self.side, &string, shares);
        self.advance(&head, &string)?;
        if !key {
            self.learn();
        }
        self.count += 1;
        Ok(Frame::new(&head, side, self.bytes.split().freeze()))
    }

    /// A frame for receivers that have none of those before: it stands in place of the last one, and makes their floor
    /// and loop of an embedded picture of the floor, of at most `max_bytes`. They go on with the next frame, near to all
    /// others at once, and nearer with every block that is refreshed.
    #[must_use]
    pub fn join(&mut self, max_bytes: usize) -> Frame {
        let Self { state, residual, coder, model, bytes, .. } = self;
        for (out, plane) in residual.planes_mut().into_iter().zip(&state.floor.planes) {
            let rows = out.chunks_exact_mut(plane.width).enumerate();
            rows.for_each(|(y, out)| out.copy_from_slice(plane.row(y)));
        }
        let (planes, string) = coder.encode(&model.key, residual, max_bytes);
        let phase = u8::try_from(self.count.saturating_sub(1) % CONSTANT_CYCLE).unwrap_or_default();
        let shares = Shares { floor: usize::MAX, closed: usize::MAX, most: max_bytes };
        let (head, side) = compose(bytes, phase, true, planes, &[], &string, shares);
        Frame::new(&head, side, bytes.split().freeze())
    }

    /// Takes the samples over, and says whether a scene begins with them.
    fn take(&mut self, view: &View<'_>) -> bool {
        let size = self.settings.size;
        self.luma.clear();
        for (index, plane) in self.source.planes_mut().into_iter().enumerate() {
            let [width, height] = view.format().plane(size, index);
            for (y, out) in plane.chunks_exact_mut(width).enumerate().take(height) {
                let row = view.planes[index].row(y, width);
                if index == 0 {
                    self.luma.extend_from_slice(row);
                }
                out.iter_mut().zip(row).for_each(|(out, sample)| *out = (i16::from(*sample) - 128) << FRACTION);
            }
        }
        self.search.begin(size, &self.luma, self.settings.threads)
    }

    /// Predicts the frame, and codes its motion.
    fn predict(&mut self, phase: u8, slowest: usize) {
        let Self { settings, effort, state, search, field, side, room, .. } = self;
        let aim = Aim {
            size: settings.size,
            phase,
            lambda: lambda(settings.size, slowest),
            most_bytes: slowest / SIDE_SHARE[1] * SIDE_SHARE[0],
            threads: settings.threads,
            effort: *effort,
        };
        let (from_loop, from_floor) = state.leak(settings.threads);
        search.run(&aim, from_loop, from_floor, field, side);
        state.predict(field, settings.threads, room);
    }

    /// What the prediction lacks.
    fn subtract(&mut self) {
        let planes = self.residual.planes_mut().into_iter().zip(self.source.planes()).zip(&self.state.predicted.planes);
        for ((residual, source), predicted) in planes {
            let width = predicted.width;
            for (y, (residual, source)) in residual.chunks_exact_mut(width).zip(source.chunks_exact(width)).enumerate()
            {
                let predicted = predicted.row(y);
                residual.iter_mut().zip(source).zip(predicted).for_each(|((out, a), b)| *out = a - b);
            }
        }
    }

    /// Tells the allotment how much was new.
    fn learn(&mut self) {
        let source = &self.source.planes()[0];
        let [predicted, closed, floor] =
            [&self.state.predicted, &self.state.closed, &self.state.floor].map(|picture| {
                let plane = &picture.planes[0];
                let rows = source.chunks_exact(plane.width).enumerate();
                rows.map(|(y, row)| squared_error(row, plane.row(y))).sum::<u64>()
            });
        self.allotment.learn(Errors { predicted, closed, floor });
    }

    /// Moves floor and loop on, as every decoder does.
    fn advance(&mut self, head: &Head, string: &[u8]) -> Result<(), Error> {
        let Self { state, decoder, residual, model, settings, .. } = self;
        let model = model.of(head.key);
        decoder.start(settings.size, head.planes);
        decoder.push(model, &string[..head.floor])?;
        decoder.residual_into(model, residual);
        state.advance_floor(residual, settings.threads);
        if head.closed > head.floor {
            decoder.push(model, &string[head.floor..head.closed])?;
            decoder.residual_into(model, residual);
        }
        state.advance_loop(residual, settings.threads);
        Ok(())
    }
}

/// Makes `out` a frame, and gives its head and the bytes before its string.
fn compose(
    out: &mut BytesMut,
    phase: u8,
    key: bool,
    planes: u8,
    side: &[u8],
    string: &[u8],
    shares: Shares,
) -> (Head, usize) {
    out.reserve(MAX_HEAD + side.len() + string.len());
    let mut head = Head { phase, key, planes, side: side.len(), floor: 0, closed: 0 };
    // The head's length depends on both numbers, which depend on it: the second time it is no longer than the first.
    for _ in 0..2 {
        let over = out.len() + side.len();
        head.closed = shares.closed.saturating_sub(over).min(string.len());
        head.floor = shares.floor.saturating_sub(over).min(head.closed);
        out.clear();
        head.write(out);
    }
    out.extend_from_slice(side);
    let start = out.len();
    out.extend_from_slice(string);
    out.truncate(shares.most.max(start));
    (head, start)
}

/// Luma steps of difference that a bit of motion is worth, in 1/16: more where the slowest receiver has fewer bits.
fn lambda(size: Size, slowest: usize) -> u32 {
    let bits = (16 * slowest.min(1 << 20)).max(1) as u64;
    let pixels = size.pixels() as u64;
    u32::try_from((pixels * 12 * 16 / (10 * bits)).clamp(4 * 16, 20 * 16)).unwrap_or(20 * 16)
}

fn squared_error(a: &[i16], b: &[i16]) -> u64 {
    let square = |(a, b): (&i16, &i16)| u64::from(u32::from(a.abs_diff(*b)).pow(2));
    a.iter().zip(b).map(square).sum()
}
