//! How long a receiver waits for a sender.

use std::collections::VecDeque;
use std::time::Duration;

/// How long a sender may take for each answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// How long no frame may come: this, and four frame intervals.
const FRAME_TIMEOUT: Duration = Duration::from_secs(30);
/// The four intervals are no longer than this: a sender may announce a picture in eleven days.
const MAX_FRAME_INTERVALS: Duration = Duration::from_secs(3600);

/// What is said of a sender that does not greet.
pub(super) const NO_WELCOME: &str = "no welcome came";

/// Until when each thing must have come, and what is said of a sender that is late with it.
#[derive(Debug)]
pub(super) struct Deadlines {
    /// For the welcome and the clock.
    greeting: Option<Duration>,
    /// For the transport to take each message.
    unsaid: VecDeque<(Duration, &'static str)>,
    /// How long no frame may come.
    patience: Duration,
    /// For the next frame.
    frame: Option<Duration>,
}

impl Deadlines {
    /// A session begins, at moment zero.
    pub(super) const fn begin() -> Self {
        Self { greeting: Some(ANSWER_TIMEOUT), unsaid: VecDeque::new(), patience: FRAME_TIMEOUT, frame: None }
    }

    /// Frames are due every `interval`.
    pub(super) fn handle_interval(&mut self, interval: Duration) {
        self.patience = FRAME_TIMEOUT + interval.saturating_mul(4).min(MAX_FRAME_INTERVALS);
    }

    /// Welcome and clock have come.
    pub(super) const fn end_greeting(&mut self) {
        self.greeting = None;
    }

    /// A frame came to be shown, or frames are expected from now on.
    pub(super) fn handle_frame(&mut self, now: Duration) {
        self.frame = Some(now + self.patience);
    }

    /// The transport was given a message; `why`: what is said of a sender that does not take it.
    pub(super) fn handle_say(&mut self, now: Duration, why: &'static str) {
        self.unsaid.push_back((now + ANSWER_TIMEOUT, why));
    }

    /// The transport took the oldest message.
    pub(super) fn handle_said(&mut self) {
        self.unsaid.pop_front();
    }

    /// The next deadline.
    pub(super) fn next(&self) -> Option<Duration> {
        let unsaid = self.unsaid.front().map(|(until, _)| *until);
        [self.greeting, unsaid, self.frame].into_iter().flatten().min()
    }

    /// What the sender is late with, if with anything but frames.
    pub(super) fn late_answer(&self, now: Duration) -> Option<&'static str> {
        if self.greeting.is_some_and(|until| now >= until) {
            return Some(NO_WELCOME);
        }
        self.unsaid.front().filter(|(until, _)| now >= *until).map(|(_, why)| *why)
    }

    /// Whether the sender is late with frames.
    pub(super) fn lacks_frames(&self, now: Duration) -> bool {
        self.frame.is_some_and(|until| now >= until)
    }
}
