//! Looks for a sender that was silent: one attempt to connect after another, several at once, until one is answered.

use std::panic::resume_unwind;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::error::Error;
use crate::quic::QuicConnection;
use crate::race::Dialer;
use crate::retry::Retry;

/// The most attempts that are under way at once.
const MAX_ATTEMPTS: usize = 12;

/// Connects within the time that `retry` has. An attempt sends its first packet less and less often, so one that began
/// without a path learns late that there is one again; a later one learns it at once.
///
/// # Errors
/// What the sender answered, if that is not a connection; or the last silence, when the time is over.
pub(crate) async fn search(dialer: &Dialer, retry: &mut Retry) -> Result<QuicConnection, Error> {
    let mut attempts = JoinSet::new();
    let begin = |attempts: &mut JoinSet<_>, time: Duration| {
        let dialer = dialer.clone();
        attempts.spawn(async move { dialer.connect(time).await });
    };
    begin(&mut attempts, retry.attempt_time());
    let mut next = retry.next_beside(fastrand::f64()).map(|gap| Instant::now() + gap);
    loop {
        tokio::select! {
            Some(ended) = attempts.join_next() => match ended.unwrap_or_else(|panic| resume_unwind(panic.into_panic())) {
                Err(error) if error.is_silence() && (next.is_some() || !attempts.is_empty()) => {}
                ended => return ended,
            },
            () = wait_until(next), if attempts.len() < MAX_ATTEMPTS => {
                if let Some(silence) = retry.reminder() {
                    tracing::warn!("no picture for {} s, and no sender answers; nestcast goes on trying", silence.as_secs());
                }
                begin(&mut attempts, retry.attempt_time());
                next = retry.next_beside(fastrand::f64()).map(|gap| Instant::now() + gap);
            }
        }
    }
}

/// Waits without an end if there is no moment.
async fn wait_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
