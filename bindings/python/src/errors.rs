//! The exceptions of the package, with the messages of the crates' errors.

use nestcast_codec::{DecodeError, EncodeError, Error as CodecError, TransformError, VideoHeader};
use nestcast_media::stored;
use nestcast_models::{PackageError, RuntimeError};
use pyo3::exceptions::{PyException, PyOSError};
use pyo3::prelude::*;
use pyo3::{PyErr, create_exception};

create_exception!(nestcast, Error, PyException, "Any error of nestcast. The other exceptions are subclasses.");
create_exception!(nestcast, CorruptError, Error, "The bytes break the specification: get them again.");
create_exception!(nestcast, VersionError, Error, "This nestcast does not know the version of the bytes: update it.");
create_exception!(nestcast, ModelError, Error, "The model is missing, damaged, or not the one that the stream needs.");
create_exception!(nestcast, LimitError, Error, "The input is larger than agreed: raise the limit or refuse it.");
create_exception!(nestcast, ArgumentError, Error, "The arguments do not fit together: a mistake of the caller.");
create_exception!(nestcast, IncompleteHeaderError, Error, "The bytes end inside the header: more of them are needed.");
create_exception!(nestcast, NetworkError, Error, "ONNX Runtime is missing, or a network failed.");
create_exception!(nestcast, SessionError, Error, "A broadcast cannot be sent or received.");

/// An exception to raise.
#[derive(Debug)]
pub(crate) struct Raised(PyErr);

pub(crate) type Result<T> = std::result::Result<T, Raised>;

/// Returns an error's text and those of its causes, for exceptions of sessions.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Makes an [`ArgumentError`], whose text begins as those of the crates do.
pub(crate) fn argument(message: impl std::fmt::Display) -> Raised {
    Raised(ArgumentError::new_err(format!("invalid argument: {message}")))
}

impl From<Raised> for PyErr {
    fn from(raised: Raised) -> Self {
        raised.0
    }
}

impl From<PyErr> for Raised {
    fn from(error: PyErr) -> Self {
        Self(error)
    }
}

impl From<CodecError> for Raised {
    fn from(error: CodecError) -> Self {
        let message = error.to_string();
        Self(match error {
            CodecError::Corrupt { .. } => CorruptError::new_err(message),
            CodecError::Version { .. } => VersionError::new_err(message),
            CodecError::Model { .. } => ModelError::new_err(message),
            CodecError::Limit { .. } => LimitError::new_err(message),
            CodecError::Argument(_) => ArgumentError::new_err(message),
            _ => Error::new_err(message),
        })
    }
}

impl From<TransformError> for Raised {
    fn from(error: TransformError) -> Self {
        match error {
            TransformError::Codec(error) => error.into(),
            TransformError::Network(message) => Self(NetworkError::new_err(message)),
            error => Self(Error::new_err(error.to_string())),
        }
    }
}

impl From<EncodeError> for Raised {
    fn from(error: EncodeError) -> Self {
        match error {
            EncodeError::Codec(error) => error.into(),
            EncodeError::Analysis(error) => error.into(),
            error => Self(Error::new_err(error.to_string())),
        }
    }
}

impl From<DecodeError> for Raised {
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::Synthesis(error) => error.into(),
            error @ DecodeError::IncompleteHeader { .. } => Self(IncompleteHeaderError::new_err(error.to_string())),
            error => Self(Error::new_err(error.to_string())),
        }
    }
}

impl From<stored::Error> for Raised {
    fn from(error: stored::Error) -> Self {
        let message = error.to_string();
        match error {
            stored::Error::Io(error) | stored::Error::Write(error) => Self(PyOSError::new_err(error)),
            stored::Error::Codec(error) if is_cut_header(&error) => {
                Self(IncompleteHeaderError::new_err("the video ends inside its header: more bytes are needed"))
            }
            stored::Error::Codec(error) => error.into(),
            stored::Error::Show(error) => error.into(),
            stored::Error::Models { .. } => Self(ModelError::new_err(message)),
            stored::Error::Limit { .. } => Self(LimitError::new_err(message)),
            stored::Error::Empty => {
                Self(IncompleteHeaderError::new_err("the video is empty: it needs its header at least"))
            }
            stored::Error::Frame { .. } => Self(CorruptError::new_err(message)),
            _ => Self(Error::new_err(message)),
        }
    }
}

/// Returns whether a video ends inside its header: the error is that of nothing.
fn is_cut_header(error: &CodecError) -> bool {
    VideoHeader::parse(&[]).is_err_and(|cut| cut == *error)
}

/// Makes an `OSError` that says which file it is about, with the system's number and text of it, as those of Python do.
/// `file` is what the caller gave.
pub(crate) fn of_file(error: &std::io::Error, file: &Bound<'_, PyAny>) -> Raised {
    let made = || -> PyResult<PyErr> {
        let os = file.py().import("os")?;
        let name = os.call_method1("fspath", (file,))?;
        let Some(code) = error.raw_os_error() else {
            let name = name.str()?;
            return Ok(PyOSError::new_err(format!("{name}: {error}")));
        };
        Ok(PyOSError::new_err((code, os.call_method1("strerror", (code,))?.unbind(), name.unbind())))
    };
    Raised(made().unwrap_or_else(|error| error))
}

impl From<std::io::Error> for Raised {
    fn from(error: std::io::Error) -> Self {
        Self(error.into())
    }
}

impl From<PackageError> for Raised {
    fn from(error: PackageError) -> Self {
        Self(ModelError::new_err(error.to_string()))
    }
}

impl From<RuntimeError> for Raised {
    fn from(error: RuntimeError) -> Self {
        // The crate's texts are for those who have a clone of nestcast.
        let advice = "run `pip install onnxruntime`, 1.24 or newer, or set ORT_DYLIB_PATH to a library of ONNX Runtime";
        Self(NetworkError::new_err(match error {
            RuntimeError::NotFound => format!("ONNX Runtime was not found: {advice}"),
            RuntimeError::Unusable { library, reason } => {
                format!("ONNX Runtime cannot be loaded from {}: {reason}: {advice}", library.display())
            }
            error => error.to_string(),
        }))
    }
}
