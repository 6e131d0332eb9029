//! Retries: when to connect again, and when to give up.

use std::time::Duration;

use tokio::time::Instant;

/// The longest time for one attempt to connect. An attempt gets half of a short retry time, so that an absent sender is
/// tried more than once, but at least the time that a distant sender needs to answer.
const LONGEST_ATTEMPT: Duration = Duration::from_secs(5);
const SHORTEST_ATTEMPT: Duration = Duration::from_secs(1);
/// The pauses between attempts: each is twice as long as the one before, between these limits.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// The largest random part that is added to a pause, so that receivers refused together do not return together.
const JITTER_SHARE: f64 = 0.5;
/// The time between the beginnings of attempts at a silent sender: this part of the time since pictures came, between these
/// limits. So a receiver that was without a network for a minute finds the sender within a second.
const SILENCE_PARTS: u32 = 100;
const SHORTEST_GAP: Duration = Duration::from_millis(500);
const LONGEST_GAP: Duration = Duration::from_secs(5);
/// The largest random part that is added to such a time.
const GAP_JITTER_SHARE: f64 = 0.4;
/// A sender that showed pictures for this long works: the next pause is the shortest again. For a sender that fails at
/// once, as with too many receivers, the pauses keep growing.
const STEADY_TIME: Duration = Duration::from_secs(5);

/// The time without a picture after which a receiver says again that it goes on; then after twice that time, and so on.
const FIRST_REMINDER: Duration = Duration::from_secs(60);

/// The attempts since pictures last arrived.
#[derive(Debug)]
pub struct Retry {
    limit: Duration,
    began: Instant,
    /// The time without a picture at which the next reminder is due.
    reminder: Duration,
    pause: Duration,
    attempts: u32,
}

impl Retry {
    /// Gives up after `limit` without a picture.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        Self { limit, began: Instant::now(), reminder: FIRST_REMINDER, pause: FIRST_PAUSE, attempts: 0 }
    }

    /// Returns the time limit of an attempt to connect.
    #[must_use]
    pub fn attempt_time(&self) -> Duration {
        if self.limit.is_zero() {
            return LONGEST_ATTEMPT;
        }
        (self.limit / 2).clamp(SHORTEST_ATTEMPT, LONGEST_ATTEMPT)
    }

    /// Notes the end of an attempt, which showed pictures for the time `pictures`, if any. Returns the pause before the
    /// next attempt; `None` to give up. The first attempt always has a second one, however long it took. `luck`, in
    /// 0..1, spreads receivers.
    pub fn next(&mut self, pictures: Option<Duration>, luck: f64) -> Option<Duration> {
        self.attempts = self.attempts.saturating_add(1);
        if let Some(time) = pictures {
            (self.began, self.attempts, self.reminder) = (Instant::now(), 1, FIRST_REMINDER);
            if time >= STEADY_TIME {
                self.pause = FIRST_PAUSE;
            }
        }
        let pause = self.pause.mul_f64(1.0 + JITTER_SHARE * luck);
        self.pause = (2 * self.pause).min(LONGEST_PAUSE);
        let is_first = pictures.is_none() && self.attempts == 1 && !self.limit.is_zero();
        (is_first || self.began.elapsed() + pause <= self.limit).then_some(pause)
    }

    /// Counts an attempt at a silent sender that begins while others are under way. Returns the time until the next one may
    /// begin; `None` to give up. `luck`, in 0..1, spreads receivers.
    pub fn next_beside(&mut self, luck: f64) -> Option<Duration> {
        let silence = self.began.elapsed();
        let gap = (silence / SILENCE_PARTS).clamp(SHORTEST_GAP, LONGEST_GAP).mul_f64(1.0 + GAP_JITTER_SHARE * luck);
        self.attempts = self.attempts.saturating_add(1);
        (silence + gap <= self.limit).then_some(gap)
    }

    /// Returns the time without a picture if it is time to say again that the receiver goes on.
    pub fn reminder(&mut self) -> Option<Duration> {
        let silence = self.began.elapsed();
        let is_due = silence >= self.reminder;
        while self.reminder <= silence {
            self.reminder = self.reminder.saturating_mul(2);
        }
        is_due.then_some(silence)
    }

    /// Returns the number of attempts since pictures last arrived, and the time since then.
    #[must_use]
    pub fn spent(&self) -> (u32, Duration) {
        (self.attempts, self.began.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    /// Makes attempts that take `attempt` each; returns when they began, until there is no further one.
    async fn attempts(retry: &mut Retry, attempt: Duration, pictures: Option<Duration>, most: usize) -> Vec<Duration> {
        let epoch = Instant::now();
        let mut began = Vec::new();
        for turn in 0..most {
            began.push(epoch.elapsed());
            advance(attempt).await;
            let luck = f64::from(u8::try_from(turn % 2).expect("small")) * 0.999;
            let Some(pause) = retry.next(pictures, luck) else { break };
            advance(pause).await;
        }
        began
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_is_refused_comes_less_and_less_often_and_gives_up() {
        let mut retry = Retry::new(Duration::from_secs(30));
        let began = attempts(&mut retry, Duration::from_millis(20), None, 1000).await;
        assert!((6..=10).contains(&began.len()), "{began:?}");
        let pauses: Vec<_> = began.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(pauses[0] >= FIRST_PAUSE && pauses.iter().all(|pause| *pause < LONGEST_PAUSE * 8 / 5), "{pauses:?}");
        assert!(*pauses.last().expect("several") >= LONGEST_PAUSE, "{pauses:?}");
        assert!(retry.spent().1 <= Duration::from_secs(30));
    }

    #[tokio::test(start_paused = true)]
    async fn a_sender_that_fails_after_a_picture_is_met_ever_less_often_but_not_given_up() {
        let mut retry = Retry::new(Duration::from_secs(30));
        let began = attempts(&mut retry, Duration::from_secs(1), Some(Duration::ZERO), 100).await;
        assert_eq!(began.len(), 100, "pictures come");
        assert!(began[99] - began[98] >= LONGEST_PAUSE, "{began:?}");
        let steady = retry.next(Some(STEADY_TIME), 0.0);
        assert_eq!(steady, Some(FIRST_PAUSE), "it worked for a while");
    }

    #[tokio::test(start_paused = true)]
    async fn a_sender_that_is_not_there_is_looked_for_more_than_once_in_however_little_time() {
        for (seconds, most, longest_overall) in [(1, 2, 3), (2, 2, 3), (4, 3, 6), (30, 6, 35)] {
            let mut retry = Retry::new(Duration::from_secs(seconds));
            let began = Instant::now();
            let attempt = retry.attempt_time();
            let attempts = attempts(&mut retry, attempt, None, 1000).await;
            assert!((2..=most).contains(&attempts.len()), "{seconds} s: {attempts:?}");
            assert!(began.elapsed() <= Duration::from_secs(longest_overall), "{seconds} s: {:?}", began.elapsed());
        }
        assert_eq!(Retry::new(Duration::ZERO).attempt_time(), LONGEST_ATTEMPT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_sender_is_tried_twice_a_second_for_a_minute_and_later_less_often() {
        let mut retry = Retry::new(Duration::MAX);
        for (seconds, least, most) in [(0, 500, 700), (50, 500, 700), (100, 1000, 1400), (30_000, 5000, 7000)] {
            retry.began = Instant::now();
            advance(Duration::from_secs(seconds)).await;
            let gaps = [0.0, 0.999].map(|luck| retry.next_beside(luck).expect("it goes on").as_millis());
            assert!(gaps[0] >= least && gaps[1] > gaps[0] && gaps[1] <= most, "{seconds} s: {gaps:?}");
        }
        assert_eq!(retry.spent().0, 8);
        let mut short = Retry::new(Duration::from_secs(2));
        advance(Duration::from_secs(2)).await;
        assert_eq!(short.next_beside(0.0), None, "its time is over");
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_is_said_again_after_a_minute_and_then_less_and_less_often() {
        let mut retry = Retry::new(Duration::MAX);
        let mut said = Vec::new();
        for second in 0..1000 {
            said.extend(retry.reminder().map(|_| second));
            advance(Duration::from_secs(1)).await;
        }
        assert_eq!(said, [60, 120, 240, 480, 960]);
        retry.next(Some(Duration::ZERO), 0.0);
        advance(FIRST_REMINDER).await;
        assert_eq!(retry.reminder(), Some(FIRST_REMINDER), "it counts from the last picture");
    }

    #[tokio::test(start_paused = true)]
    async fn zero_seconds_are_one_attempt() {
        assert_eq!(Retry::new(Duration::ZERO).next(None, 0.0), None);
        assert_eq!(Retry::new(Duration::ZERO).next(Some(STEADY_TIME), 0.0), None);
    }
}
