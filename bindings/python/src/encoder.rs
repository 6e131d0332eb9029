//! The encoder of pictures.

use std::sync::Mutex;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{Result, argument};
use crate::exclusive::exclusive;
use crate::model::Transform;
use crate::picture::Pixels;

/// Encodes pictures one after another in the same memory.
#[pyclass(frozen, module = "nestcast")]
pub(crate) struct Encoder {
    encoder: Mutex<nestcast_codec::Encoder>,
}

#[pymethods]
impl Encoder {
    #[new]
    #[pyo3(signature = (model, threads, deep, max_bytes, rotations, activity_masking))]
    fn new(
        model: &Bound<'_, PyAny>,
        threads: usize,
        deep: bool,
        max_bytes: Option<usize>,
        rotations: bool,
        activity_masking: Option<f32>,
    ) -> Result<Self> {
        if activity_masking.is_some_and(|strength| !(0.0..=1.0).contains(&strength)) {
            return Err(argument("the strength of activity masking is a number from 0 to 1"));
        }
        let transform = Transform::new(model, threads, deep)?;
        let encoder = model.py().detach(|| transform.encoder())?.with_rotations(rotations);
        let encoder = match activity_masking {
            Some(strength) => encoder.with_activity_masking(strength),
            None => encoder,
        };
        let encoder = encoder.with_max_bytes(max_bytes.unwrap_or(usize::MAX));
        Ok(Self { encoder: Mutex::new(encoder) })
    }

    /// Encodes an array of uint8 or uint16, (height, width) or (height, width, channels).
    #[pyo3(signature = (picture, max_bytes=None))]
    fn encode<'py>(&self, picture: &Bound<'py, PyAny>, max_bytes: Option<usize>) -> Result<Bound<'py, PyBytes>> {
        let py = picture.py();
        let mut encoder = exclusive(&self.encoder, "encoder")?;
        let encoder = &mut *encoder;
        let limit = encoder.max_bytes();
        encoder.set_max_bytes(max_bytes.unwrap_or(limit));
        let stream = Pixels::of(picture)?.view(py, |view| Ok(encoder.encode(view)?));
        encoder.set_max_bytes(limit);
        Ok(PyBytes::new(py, stream?.as_ref()))
    }
}
