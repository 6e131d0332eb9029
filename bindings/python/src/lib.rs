//! The native part of the Python package `nestcast`. `python/nestcast` has the rest, and `_nestcast.pyi` the types.
//!
//! Every call that codes releases the interpreter's lock. Pixels stay where the caller's arrays have them.

mod broadcast;
mod decoder;
mod encoder;
mod errors;
mod exclusive;
mod memory;
mod model;
mod picture;
mod reception;
mod stored;
mod stream;
mod video;

#[pyo3::pymodule]
mod _nestcast {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::broadcast::Broadcast;
    #[pymodule_export]
    use super::decoder::Decoder;
    #[pymodule_export]
    use super::encoder::Encoder;
    #[pymodule_export]
    use super::errors::{
        ArgumentError, CorruptError, Error, IncompleteHeaderError, LimitError, ModelError, NetworkError, SessionError,
        VersionError,
    };
    #[pymodule_export]
    use super::model::models;
    #[pymodule_export]
    use super::reception::{ReceivedFrame, Reception};
    #[pymodule_export]
    use super::stored::{StoredVideo, VideoWriter, count_frames, cut_video};
    #[pymodule_export]
    use super::stream::{Header, parse_header};
    #[pymodule_export]
    use super::video::{VideoDecoder, VideoEncoder, VideoFrame, planar_to_rgb};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
