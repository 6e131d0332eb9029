//! The progress of work: a bar on a terminal's standard error, nothing in a pipe.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::{ProgressBar, ProgressStyle};

/// A bar of `steps`. It is hidden where standard error is no terminal, and disappears when it is dropped.
#[derive(Debug)]
pub struct Progress(ProgressBar);

impl Progress {
    /// Starts with nothing done.
    ///
    /// # Panics
    /// Never: the bar's template is valid.
    #[must_use]
    pub fn new(steps: usize) -> Self {
        let bar = ProgressBar::new(steps as u64);
        let style = ProgressStyle::with_template("{msg:24} {wide_bar} {pos}/{len} {eta}");
        bar.set_style(style.expect("the template is valid"));
        Self(bar)
    }

    /// Starts a bar for work with a name, with a number of steps if it is known.
    ///
    /// # Panics
    /// Never: the bar's template is valid.
    #[must_use]
    pub fn of(what: &str, steps: Option<u64>) -> Self {
        let progress = match steps {
            Some(steps) => Self::new(usize::try_from(steps).unwrap_or(usize::MAX)),
            None => {
                let style = ProgressStyle::with_template("{msg:24} {spinner} {pos}, {per_sec}");
                Self(ProgressBar::no_length().with_style(style.expect("the template is valid")))
            }
        };
        progress.say(what);
        progress
    }

    /// Shows the current step. It replaces control characters, because a file's name may hold them.
    pub fn say(&self, what: &str) {
        self.0.set_message(what.replace(char::is_control, "?"));
    }

    /// Lets `write` write to the terminal, above the bar.
    pub fn suspend(&self, write: impl FnOnce()) {
        self.0.suspend(write);
    }

    /// Counts one step as done.
    pub fn step(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// The status line of this process.
static STATUS: Mutex<Option<Progress>> = Mutex::new(None);

/// The last line of a terminal's standard error, which is written again and again until it is dropped. A process has one
/// at a time. There is none in a pipe.
#[derive(Debug)]
pub struct StatusLine(());

impl StatusLine {
    /// Begins with no text.
    ///
    /// # Panics
    /// Never: the line's template is valid.
    #[must_use]
    pub fn begin() -> Self {
        // It is as wide as the terminal at most, because a line that wraps cannot be written again.
        let style = ProgressStyle::with_template("{wide_msg}").expect("the template is valid");
        *status() = Some(Progress(ProgressBar::no_length().with_style(style)));
        Self(())
    }

    /// Replaces the text.
    pub fn show(&self, text: &str) {
        if let Some(line) = &*status() {
            line.say(text);
            line.0.tick();
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        *status() = None;
    }
}

/// Standard error above the status line, if there is one. Write whole lines.
#[derive(Debug)]
pub struct AboveStatus;

impl Write for AboveStatus {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        self.write_all(lines).map(|()| lines.len())
    }

    fn write_all(&mut self, lines: &[u8]) -> io::Result<()> {
        match &*status() {
            Some(line) => line.0.suspend(|| io::stderr().write_all(lines)),
            None => io::stderr().write_all(lines),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn status() -> MutexGuard<'static, Option<Progress>> {
    STATUS.lock().unwrap_or_else(PoisonError::into_inner)
}
