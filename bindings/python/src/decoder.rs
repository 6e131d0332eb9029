//! The decoder of pictures.

use std::sync::Mutex;

use nestcast_codec::{Header as StreamHeader, MAX_HEADER, ModelId, Parsed, Progress};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::{Result, argument};
use crate::exclusive::exclusive;
use crate::memory::with_bytes;
use crate::model::Transform;
use crate::picture::Pixels;
use crate::stream::shape_of;

/// Decodes streams one after another in the same memory.
#[pyclass(frozen, module = "nestcast")]
pub(crate) struct Decoder {
    state: Mutex<State>,
    threads: usize,
    deep: bool,
    max_pixels: u64,
}

/// A decoder, or the first bytes that will say which one the stream needs.
enum State {
    /// With the decoder of the stream before, and its model: its memory serves again.
    Header { head: Vec<u8>, before: Option<(ModelId, Box<nestcast_codec::Decoder>)> },
    /// With the model, if the stream chose it.
    Ready { decoder: Box<nestcast_codec::Decoder>, chosen: Option<ModelId> },
}

#[pymethods]
impl Decoder {
    #[new]
    #[pyo3(signature = (model, threads, deep, max_pixels))]
    fn new(model: &Bound<'_, PyAny>, threads: usize, deep: bool, max_pixels: u64) -> Result<Self> {
        let state = if model.is_none() {
            if threads == 0 {
                return Err(argument("at least one thread is needed"));
            }
            State::Header { head: Vec::new(), before: None }
        } else {
            let decoder = Transform::new(model, threads, deep)?.decoder().with_max_pixels(max_pixels);
            State::Ready { decoder: Box::new(decoder), chosen: None }
        };
        Ok(Self { state: Mutex::new(state), threads, deep, max_pixels })
    }

    /// Takes the next bytes of the stream.
    fn push(&self, data: &Bound<'_, PyAny>) -> Result<()> {
        let py = data.py();
        let mut state = exclusive(&self.state, "decoder")?;
        with_bytes(data, |bytes| {
            let mut bytes = bytes;
            if let State::Header { head, before } = &mut *state {
                let count = MAX_HEADER.saturating_sub(head.len()).min(bytes.len());
                head.extend_from_slice(bytes.split_off(..count).unwrap_or_default());
                let Parsed::Complete(header, _) = StreamHeader::parse(head)? else { return Ok(()) };
                let mut decoder = match before.take().filter(|(model, _)| *model == header.model) {
                    Some((_, decoder)) => decoder,
                    None => {
                        let transform = Transform::of_stream(py, header.model, self.threads, self.deep)?;
                        Box::new(transform.decoder().with_max_pixels(self.max_pixels))
                    }
                };
                let pushed = decoder.push(head);
                *state = State::Ready { decoder, chosen: Some(header.model) };
                pushed?;
            }
            let State::Ready { decoder, .. } = &mut *state else { return Ok(()) };
            py.detach(|| decoder.push(bytes))?;
            Ok(())
        })
    }

    /// Renders into an array of the stream's size and colours, of either type, with opacity or without.
    fn render(&self, out: &Bound<'_, PyAny>) -> Result<()> {
        let mut state = exclusive(&self.state, "decoder")?;
        let State::Ready { decoder, .. } = &mut *state else { return Err(incomplete(&state).into()) };
        let header = decoder.header().ok_or_else(|| missing(decoder.progress()))?;
        let out_pixels = Pixels::of(out)?;
        if out_pixels.size() != header.size || out_pixels.format().channels() != header.channels {
            let py = out.py();
            return Err(argument(format!(
                "the stream's picture has the shape {}, not that of the array to write to",
                shape_of(py, header.size, header.channels.into())?
            )));
        }
        out_pixels.draw(out.py(), |view| Ok(decoder.render_into(view)?))
    }

    /// Forgets the stream and keeps the memory.
    fn reset(&self) -> Result<()> {
        let mut state = exclusive(&self.state, "decoder")?;
        if let State::Ready { decoder, .. } = &mut *state {
            decoder.reset();
        }
        // The next stream may need another model.
        let empty = State::Header { head: Vec::new(), before: None };
        *state = match std::mem::replace(&mut *state, empty) {
            State::Ready { decoder, chosen: Some(model) } => {
                State::Header { head: Vec::new(), before: Some((model, decoder)) }
            }
            State::Header { before, .. } => State::Header { head: Vec::new(), before },
            given => given,
        };
        Ok(())
    }

    /// The shape of the picture; raises `IncompleteHeaderError` before the header is complete.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyTuple>> {
        let state = exclusive(&self.state, "decoder")?;
        let State::Ready { decoder, .. } = &*state else { return Err(incomplete(&state).into()) };
        let header = decoder.header().ok_or_else(|| missing(decoder.progress()))?;
        Ok(shape_of(py, header.size, header.channels.into())?)
    }

    /// The shape of an array for all that the stream has, opacity included, and whether its type is uint16.
    #[getter]
    fn stored<'py>(&self, py: Python<'py>) -> Result<(Bound<'py, PyTuple>, bool)> {
        let state = exclusive(&self.state, "decoder")?;
        let State::Ready { decoder, .. } = &*state else { return Err(incomplete(&state).into()) };
        let header = decoder.header().ok_or_else(|| missing(decoder.progress()))?;
        Ok((shape_of(py, header.size, header.format())?, header.is_deep()))
    }

    /// Whether all of the stream has arrived.
    #[getter]
    fn complete(&self) -> Result<bool> {
        let state = exclusive(&self.state, "decoder")?;
        Ok(matches!(&*state, State::Ready { decoder, .. } if decoder.progress() == Progress::Complete))
    }

    /// Bit planes that are still missing, those below the finest step included; 0.0 for all of the stream, `None`
    /// before the header is complete.
    #[getter]
    fn position(&self) -> Result<Option<f32>> {
        let state = exclusive(&self.state, "decoder")?;
        let State::Ready { decoder, .. } = &*state else { return Ok(None) };
        Ok(decoder.planes_left())
    }
}

/// The error of a decoder whose header is not complete.
fn missing(progress: Progress) -> nestcast_codec::DecodeError {
    let missing = if let Progress::NeedMore(missing) = progress { missing } else { 1 };
    nestcast_codec::DecodeError::IncompleteHeader { missing }
}

fn incomplete(state: &State) -> nestcast_codec::DecodeError {
    let State::Header { head, .. } = state else { return missing(Progress::NeedMore(1)) };
    match StreamHeader::parse(head) {
        Ok(Parsed::NeedMore(count)) => missing(Progress::NeedMore(count)),
        _ => missing(Progress::NeedMore(1)),
    }
}
