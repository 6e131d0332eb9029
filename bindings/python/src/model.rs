//! The models by name, and their transforms, linear or with networks.

use std::path::PathBuf;
use std::sync::Arc;

use nestcast_codec::{Codec, Decoder, Encoder, Linear, Model, ModelId};
use nestcast_models::{Package, Runtime};
use pyo3::prelude::*;

use crate::errors::{Raised, Result, argument};
use crate::memory::with_bytes;

/// The model of an encoder or decoder, and how to run it.
pub(crate) struct Transform {
    source: Source,
    threads: usize,
    /// ONNX Runtime, for networks.
    runtime: Option<Runtime>,
}

enum Source {
    /// The tables of a model, which have no networks.
    Tables(Arc<Model>),
    Package(Box<Package>),
}

impl Transform {
    /// Finds a model: the name of a built-in one, the folder of a package, or the bytes of a model's tables.
    pub(crate) fn new(model: &Bound<'_, PyAny>, threads: usize, deep: bool) -> Result<Self> {
        let source = match model.extract::<PathBuf>() {
            Ok(name) if name.as_os_str() == "photo" && !deep => Source::Tables(Model::photo()),
            Ok(name) => Source::Package(Box::new(Package::find(&name.to_string_lossy())?)),
            Err(_) => Source::Tables(Arc::new(with_bytes(model, |tables| Ok(Model::from_bytes(tables)?))?)),
        };
        Self::of(model.py(), source, threads, deep)
    }

    /// Finds the built-in model that a stream names.
    pub(crate) fn of_stream(py: Python<'_>, id: ModelId, threads: usize, deep: bool) -> Result<Self> {
        let photo = Model::photo();
        let source = if photo.id() == id && !deep {
            Source::Tables(photo)
        } else {
            let given = photo.id();
            let unknown = nestcast_codec::Error::Model { needed: id, given };
            Source::Package(Box::new(Package::built_in_with(id).ok_or(unknown)?))
        };
        Self::of(py, source, threads, deep)
    }

    fn of(py: Python<'_>, source: Source, threads: usize, deep: bool) -> Result<Self> {
        if threads == 0 {
            return Err(argument("at least one thread is needed"));
        }
        if deep && matches!(source, Source::Tables(_)) {
            return Err(argument("tables have no networks: give the name or the folder of a package"));
        }
        let runtime = if deep { Some(runtime(py)?) } else { None };
        Ok(Self { source, threads, runtime })
    }

    /// Returns an encoder; loads the network that it needs.
    pub(crate) fn encoder(&self) -> Result<Encoder> {
        let encoder = match (&self.source, &self.runtime) {
            (Source::Package(package), Some(runtime)) => Encoder::new(package.deep_analysis(runtime, self.threads)?),
            _ => self.linear().encoder(),
        };
        Ok(match &self.source {
            Source::Package(package) => encoder.with_activity_masking(package.activity_masking()),
            Source::Tables(_) => encoder,
        })
    }

    /// Returns a decoder.
    pub(crate) fn decoder(&self) -> Decoder {
        match (&self.source, &self.runtime) {
            (Source::Package(package), Some(runtime)) => Decoder::new(package.deep_synthesis(runtime, self.threads)),
            _ => self.linear().decoder(),
        }
    }

    fn linear(&self) -> Codec {
        let tables = match &self.source {
            Source::Tables(tables) => tables,
            Source::Package(package) => package.tables(),
        };
        Codec::with(Linear::new(Arc::clone(tables)).with_threads(self.threads))
    }
}

/// Loads ONNX Runtime: the one of the Python package `onnxruntime`, if nothing else is set.
fn runtime(py: Python<'_>) -> Result<Runtime> {
    let found: Option<PathBuf> = py.import("nestcast._onnxruntime")?.call_method0("library")?.extract()?;
    py.detach(|| match found {
        Some(library) => Runtime::open_file(&library),
        None => Runtime::open(),
    })
    .map_err(Raised::from)
}

/// The names of the built-in models of pictures.
#[pyfunction]
pub(crate) fn models() -> Vec<&'static str> {
    Package::names().collect()
}
