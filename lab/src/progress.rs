//! How far work is: a bar on a terminal's standard error, nothing in a pipe.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar of `steps`; it is hidden where standard error is no terminal, and goes when it is dropped.
#[derive(Debug)]
pub struct Progress(ProgressBar);

impl Progress {
    /// Nothing is done yet.
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

    /// For work that is named, on so many steps, or on an unknown number of them.
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

    /// Says what is being done now. A file's name may hold what a terminal obeys.
    pub fn say(&self, what: &str) {
        self.0.set_message(what.replace(char::is_control, "?"));
    }

    /// Lets something else write to the terminal, above the bar.
    pub fn suspend(&self, write: impl FnOnce()) {
        self.0.suspend(write);
    }

    /// One step is done.
    pub fn step(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
