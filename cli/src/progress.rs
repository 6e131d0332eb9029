//! Time that work takes, and its progress: a bar on a terminal's standard error, nothing in a pipe.

use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

use crate::files;

/// A bar of `steps`; it is hidden where standard error is no terminal, and goes when it is dropped.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn new(steps: usize) -> Self {
        let bar = ProgressBar::new(steps as u64);
        let style = ProgressStyle::with_template("{msg:24} {wide_bar} {pos}/{len} {eta}");
        bar.set_style(style.expect("the template is valid"));
        Self(bar)
    }

    /// Says what is being done now.
    pub(crate) fn say(&self, what: &str) {
        self.0.set_message(what.to_owned());
    }

    /// Notes something on standard error, above the bar.
    pub(crate) fn note(&self, text: &str) {
        self.0.suspend(|| files::note(text));
    }

    pub(crate) fn step(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

pub(crate) fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}
