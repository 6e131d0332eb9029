//! What calls return, and the message of the last one that failed.

use std::cell::RefCell;
use std::ffi::{CString, c_char};

use nestcast_codec::{DecodeError, EncodeError, Error, TransformError};

/// The result of a call, by who must act.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NestcastStatus {
    /// The call did what it says.
    Ok = 0,
    /// The bytes break the specification: get them again.
    Corrupt = 1,
    /// This library does not know the version of the bytes: update it.
    Version = 2,
    /// The stream needs another model.
    Model = 3,
    /// The input is larger than agreed: raise the limit or refuse it.
    Limit = 4,
    /// The arguments do not fit together, or another thread uses the handle: a mistake of the caller.
    Argument = 5,
    /// The stream ends inside its header: push more of it.
    IncompleteHeader = 6,
    /// A transform failed for another reason.
    Transform = 7,
    /// A defect of this library. The handle of the call is of no more use: free it.
    Panic = 8,
    /// The sender cannot be reached or trusted, refuses the receiver, or broke off.
    Session = 9,
}

/// Why a call failed.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) status: NestcastStatus,
    pub(crate) message: String,
}

pub(crate) type Result<T> = std::result::Result<T, Fault>;

/// Makes a fault of the caller.
pub(crate) fn argument(message: impl Into<String>) -> Fault {
    Fault { status: NestcastStatus::Argument, message: format!("invalid argument: {}", message.into()) }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let status = match error {
            Error::Corrupt { .. } => NestcastStatus::Corrupt,
            Error::Version { .. } => NestcastStatus::Version,
            Error::Model { .. } => NestcastStatus::Model,
            Error::Limit { .. } => NestcastStatus::Limit,
            Error::Argument(_) => NestcastStatus::Argument,
            _ => NestcastStatus::Transform,
        };
        Self { status, message: error.to_string() }
    }
}

impl From<TransformError> for Fault {
    fn from(error: TransformError) -> Self {
        match error {
            TransformError::Codec(error) => error.into(),
            error => Self { status: NestcastStatus::Transform, message: error.to_string() },
        }
    }
}

impl From<EncodeError> for Fault {
    fn from(error: EncodeError) -> Self {
        match error {
            EncodeError::Codec(error) => error.into(),
            EncodeError::Analysis(error) => error.into(),
            error => Self { status: NestcastStatus::Transform, message: error.to_string() },
        }
    }
}

impl From<DecodeError> for Fault {
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::Synthesis(error) => error.into(),
            error @ DecodeError::IncompleteHeader { .. } => {
                Self { status: NestcastStatus::IncompleteHeader, message: error.to_string() }
            }
            error => Self { status: NestcastStatus::Transform, message: error.to_string() },
        }
    }
}

thread_local! {
    static LAST_MESSAGE: RefCell<CString> = RefCell::default();
}

/// Keeps the message for [`nestcast_last_message`].
pub(crate) fn remember(message: String) {
    let text = message.replace('\0', " ");
    LAST_MESSAGE.with_borrow_mut(|last| *last = CString::new(text).unwrap_or_default());
}

/// Returns one line that says why this thread's last failed call failed; empty if none has. It is valid until this
/// thread's next call that fails, and is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn nestcast_last_message() -> *const c_char {
    // At the end of a thread its message may be gone.
    LAST_MESSAGE.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}
