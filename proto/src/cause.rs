//! Errors of the caller's own code, kept until the caller asks for them.

use std::error::Error;
use std::fmt;

/// An error of a source, sink or viewer that the caller wrote. It reads as that error does, and
/// [`downcast_ref`](Self::downcast_ref) returns it.
///
/// ```
/// use nestcast_proto::{Cause, SourceError};
///
/// #[derive(Debug, thiserror::Error)]
/// #[error("the camera was unplugged")]
/// struct Unplugged;
///
/// let error = SourceError::broken_off(Unplugged);
/// let SourceError::BrokenOff(cause) = error else { unreachable!("it broke off") };
/// assert!(cause.downcast_ref::<Unplugged>().is_some());
/// assert_eq!(cause.to_string(), "the camera was unplugged");
/// ```
pub struct Cause(Box<dyn Error + Send + Sync>);

impl Cause {
    /// Keeps an error, or a text as one.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(error.into())
    }

    /// Returns the error if it is an `E`.
    #[must_use]
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }

    /// Returns the error itself.
    #[must_use]
    pub fn into_inner(self) -> Box<dyn Error + Send + Sync> {
        self.0
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Cause {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the camera was unplugged")]
    struct Unplugged(#[source] fmt::Error);

    #[test]
    fn it_reads_as_the_error_it_keeps_and_gives_it_back() {
        let cause = Cause::new(Unplugged(fmt::Error));
        assert_eq!(
            (cause.to_string(), format!("{cause:?}")),
            ("the camera was unplugged".into(), "Unplugged(Error)".into())
        );
        assert!(cause.source().is_some_and(|deeper| deeper.is::<fmt::Error>()));
        assert!(cause.downcast_ref::<Unplugged>().is_some() && cause.downcast_ref::<fmt::Error>().is_none());
        assert!(cause.into_inner().is::<Unplugged>());
    }
}
