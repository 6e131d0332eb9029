//! The progress of work: a bar on a terminal's standard error, nothing in a pipe.

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
