//! How long a receiver waits for a sender.

use std::collections::VecDeque;
use std::time::Duration;

/// The longest time for each answer of the sender.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// How much longer it may be for a receiver that asks to begin elsewhere, for which a sender first decodes.
const START_TIME: Duration = Duration::from_secs(10);
/// The longest time without a frame, in addition to four frame intervals.
const FRAME_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest that four intervals may be: a sender may announce a picture in eleven days.
const MAX_FRAME_INTERVALS: Duration = Duration::from_secs(3600);

/// The reason given for a sender that does not greet.
pub(super) const NO_WELCOME: &str = "no welcome came";

/// The deadlines of a session, each with the reason for a sender that misses it.
#[derive(Debug)]
pub(super) struct Deadlines {
    /// For the welcome and the clock.
    greeting: Option<Duration>,
    /// For the transport to accept each message.
    unsaid: VecDeque<(Duration, &'static str)>,
    /// The longest time without a frame.
    patience: Duration,
    /// For the next frame.
    frame: Option<Duration>,
}

impl Deadlines {
    /// Begins a session at time zero. `asks_start` says whether the receiver asks to begin elsewhere.
    pub(super) fn begin(asks_start: bool) -> Self {
        let greeting = ANSWER_TIMEOUT + if asks_start { START_TIME } else { Duration::ZERO };
        Self { greeting: Some(greeting), unsaid: VecDeque::new(), patience: FRAME_TIMEOUT, frame: None }
    }

    /// Sets the interval at which frames are due.
    pub(super) fn handle_interval(&mut self, interval: Duration) {
        self.patience = FRAME_TIMEOUT + interval.saturating_mul(4).min(MAX_FRAME_INTERVALS);
    }

    /// Notes that welcome and clock have come.
    pub(super) const fn end_greeting(&mut self) {
        self.greeting = None;
    }

    /// Starts the wait for the next frame: one was shown, or the session now expects frames.
    pub(super) fn handle_frame(&mut self, now: Duration) {
        self.frame = Some(now + self.patience);
    }

    /// Starts the wait for the transport to accept a message; `why` is the reason if it does not.
    pub(super) fn handle_say(&mut self, now: Duration, why: &'static str) {
        self.unsaid.push_back((now + ANSWER_TIMEOUT, why));
    }

    /// Notes that the transport accepted the oldest message.
    pub(super) fn handle_said(&mut self) {
        self.unsaid.pop_front();
    }

    /// Returns the next deadline.
    pub(super) fn next(&self) -> Option<Duration> {
        let unsaid = self.unsaid.front().map(|(until, _)| *until);
        [self.greeting, unsaid, self.frame].into_iter().flatten().min()
    }

    /// Returns what the sender is late with, other than frames.
    pub(super) fn late_answer(&self, now: Duration) -> Option<&'static str> {
        if self.greeting.is_some_and(|until| now >= until) {
            return Some(NO_WELCOME);
        }
        self.unsaid.front().filter(|(until, _)| now >= *until).map(|(_, why)| *why)
    }

    /// Returns whether the sender is late with frames.
    pub(super) fn lacks_frames(&self, now: Duration) -> bool {
        self.frame.is_some_and(|until| now >= until)
    }
}
