//! When to connect anew, and when to give up.

use std::time::Duration;

use tokio::time::Instant;

/// How long one attempt to connect may take. With little time it is half of that, so that a sender which is not there yet is
/// looked for more than once, but no less than a far one needs to answer.
const LONGEST_ATTEMPT: Duration = Duration::from_secs(5);
const SHORTEST_ATTEMPT: Duration = Duration::from_secs(1);
/// Between two attempts: twice as long after each, between these.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Pauses are longer by up to this share of them, so that receivers which were refused together do not come together.
const JITTER: f64 = 0.5;
/// A sender that showed pictures for so long works: the next pause is the first again. One that fails at once, as under
/// too many receivers, is met less and less often.
const STEADY: Duration = Duration::from_secs(5);

/// The attempts since pictures last came.
#[derive(Debug)]
pub(crate) struct Retry {
    limit: Duration,
    began: Instant,
    pause: Duration,
    attempts: u32,
}

impl Retry {
    /// Gives up when no picture came for `limit`.
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, began: Instant::now(), pause: FIRST_PAUSE, attempts: 0 }
    }

    /// How long an attempt may take until it is connected.
    pub(crate) fn attempt_time(&self) -> Duration {
        if self.limit.is_zero() {
            return LONGEST_ATTEMPT;
        }
        (self.limit / 2).clamp(SHORTEST_ATTEMPT, LONGEST_ATTEMPT)
    }

    /// An attempt ended, after it had shown pictures for so long, if any. Gives how long to wait before the next one;
    /// none if there is to be none: the first attempt has a second one, however long it took. `luck`, in 0..1, spreads
    /// receivers.
    pub(crate) fn next(&mut self, pictures: Option<Duration>, luck: f64) -> Option<Duration> {
        self.attempts += 1;
        if let Some(time) = pictures {
            (self.began, self.attempts) = (Instant::now(), 1);
            if time >= STEADY {
                self.pause = FIRST_PAUSE;
            }
        }
        let pause = self.pause.mul_f64(1.0 + JITTER * luck);
        self.pause = (2 * self.pause).min(LONGEST_PAUSE);
        let is_first = pictures.is_none() && self.attempts == 1 && !self.limit.is_zero();
        (is_first || self.began.elapsed() + pause <= self.limit).then_some(pause)
    }

    /// How many attempts there were since pictures last came, and for how long.
    pub(crate) fn spent(&self) -> (u32, Duration) {
        (self.attempts, self.began.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    /// Attempts of which each takes `attempt`; gives when they began, until there is no further one.
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
        let steady = retry.next(Some(STEADY), 0.0);
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
    async fn zero_seconds_are_one_attempt() {
        assert_eq!(Retry::new(Duration::ZERO).next(None, 0.0), None);
        assert_eq!(Retry::new(Duration::ZERO).next(Some(STEADY), 0.0), None);
    }
}
