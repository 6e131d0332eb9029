//! Lets a receiver that began elsewhere change to where all others are.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Asks a receiver that began elsewhere to continue where all others are, at any moment: a clone of
/// [`Config::go_live`](crate::Config::go_live). The receiver connects again, unless it is where all others are already.
/// From then on all its connections begin there.
#[derive(Debug, Clone, Default)]
pub struct GoLive(Arc<Notify>);

impl GoLive {
    /// Asks for it. Several requests before the receiver follows count as one.
    pub fn request(&self) {
        self.0.notify_one();
    }

    /// Returns whether there was a request that nobody waited for.
    pub(crate) fn take(&self) -> bool {
        pin!(self.0.notified()).enable()
    }

    /// Waits for a request while the receiver is not live, and notes each request in `went_live`.
    pub(crate) async fn requested(&self, is_live: &AtomicBool, went_live: &mut bool) {
        loop {
            self.0.notified().await;
            *went_live = true;
            if !is_live.load(Ordering::Relaxed) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_while_nobody_waits_is_taken_once() {
        let go_live = GoLive::default();
        assert!(!go_live.take());
        go_live.request();
        go_live.request();
        assert!(go_live.take() && !go_live.take());
    }

    #[tokio::test]
    async fn a_live_receiver_stays_connected_and_remembers_the_request() {
        let (go_live, is_live, mut went_live) = (GoLive::default(), AtomicBool::new(true), false);
        go_live.request();
        let mut waits = Box::pin(go_live.requested(&is_live, &mut went_live));
        assert!(is_pending(waits.as_mut()).await);
        is_live.store(false, Ordering::Relaxed);
        go_live.request();
        waits.await;
        assert!(went_live);
    }

    /// Polls once; returns whether the future is not ready.
    async fn is_pending(mut future: std::pin::Pin<&mut impl Future<Output = ()>>) -> bool {
        std::future::poll_fn(|context| std::task::Poll::Ready(future.as_mut().poll(context).is_pending())).await
    }
}
