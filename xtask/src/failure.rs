//! Failures: one line that says who must act, and the exit status.

use std::{io, path::Path, process::ExitCode};

pub(crate) type Result<T> = std::result::Result<T, Failure>;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// One line for the user.
    Say(String),
    /// The command line is wrong.
    Usage(String),
    /// The program that took over has printed its message, and left this exit status.
    Exit(u8),
}

impl Failure {
    pub(crate) fn say(line: impl Into<String>) -> Self {
        Self::Say(line.into())
    }

    /// Makes a failure to read or write `path`, for `map_err`.
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |error| Self::Say(format!("{}: {error}", path.display()))
    }

    /// Returns the line, for a message of another kind.
    pub(crate) fn line(&self) -> String {
        match self {
            Self::Say(line) | Self::Usage(line) => line.clone(),
            Self::Exit(status) => format!("exit status {status}"),
        }
    }

    pub(crate) fn report(self) -> ExitCode {
        match self {
            Self::Say(line) => {
                eprintln!("xtask: {line}");
                ExitCode::FAILURE
            }
            Self::Usage(line) => {
                eprintln!("xtask: {line}; see `cargo xtask help`");
                ExitCode::from(2)
            }
            Self::Exit(status) => ExitCode::from(status),
        }
    }
}
