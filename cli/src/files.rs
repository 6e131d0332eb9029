//! Messages on standard output and error, in addition to results or instead of them.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use nestcast_lab::progress::AboveStatus;
use nestcast_media::is_standard;
use nestcast_media::output::{Error, Output, check_open};
use serde::Serialize;

use crate::advice;

/// Ends a command that wrote its result. Prints the summary as JSON for programs, or for people if standard output is
/// free.
pub(crate) fn conclude(output: &Output, json: bool, summary: &(impl Serialize + Display)) -> Result<()> {
    if json {
        return Lines::next_to(output.path()).print_pretty(summary);
    }
    say_beside(output, &summary.to_string())
}

/// Prints a message for people if standard output is free.
pub(crate) fn say_beside(output: &Output, text: &str) -> Result<()> {
    if output.is_standard() { Ok(()) } else { print(text) }
}

/// Writes a command's messages to standard output. If the reader closed it, that is an error, not a panic.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut output = io::stdout().lock();
    Ok(output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(Error::of_standard)?)
}

/// Writes a result to standard output, which must be open.
pub(crate) fn print_result(text: &str) -> Result<()> {
    check_open()?;
    print(text)
}

/// The target of `--json`: standard output, or standard error if the command's result goes to standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lines {
    Output,
    Error,
}

impl Lines {
    /// Chooses the target for a command that writes its result to `output`.
    pub(crate) fn next_to(output: &Path) -> Self {
        if is_standard(output) { Self::Error } else { Self::Output }
    }

    /// Writes one line.
    pub(crate) fn print(self, value: &impl Serialize) -> Result<()> {
        self.write(serde_json::to_string(value).context("the JSON cannot be made")?)
    }

    /// Writes a value over several lines.
    pub(crate) fn print_pretty(self, value: &impl Serialize) -> Result<()> {
        self.write(serde_json::to_string_pretty(value).context("the JSON cannot be made")?)
    }

    fn write(self, mut text: String) -> Result<()> {
        text.push('\n');
        match self {
            Self::Output => print_result(&text),
            Self::Error => io::stderr().write_all(text.as_bytes()).context("standard error cannot be written"),
        }
    }
}

/// Notes on standard error what the user should know although the command succeeded.
pub(crate) fn note(text: &str) {
    say(&format!("note: {text}"));
}

/// Notes a text only once. A folder that is shown again and again has the same notes each time.
pub(crate) fn note_once(text: &str) {
    static SAID_NOTES: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if SAID_NOTES.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned()) {
        note(text);
    }
}

/// Notes what an input loses, each once.
pub(crate) fn note_lost(name: &str, notes: &[impl Display]) {
    notes.iter().for_each(|note| note_once(&format!("{name}: {note}")));
}

/// Notes what the command does without, and why.
pub(crate) fn note_left_out(error: &anyhow::Error) {
    note(&format!("left out: {}", advice::told(error)));
}

/// Prints on standard error, in one line, why the command failed.
pub(crate) fn complain(error: &anyhow::Error) {
    say(&advice::told(error));
}

/// Prints a line on standard error without control characters, because file names in it may hold some that a terminal
/// obeys.
fn say(line: &str) {
    // If nobody reads standard error, the message has no reader.
    let _ = AboveStatus.write_all(format!("nestcast: {}\n", line.replace(char::is_control, "?")).as_bytes());
}
