//! Lets a receiver that began elsewhere change to where all others are.

use std::sync::Arc;

use tokio::sync::Notify;

/// Asks a receiver that began elsewhere to continue where all others are, at any moment: a clone of
/// [`Config::go_live`](crate::Config::go_live). The receiver connects again, and ignores it where all others are.
#[derive(Debug, Clone, Default)]
pub struct GoLive(Arc<Notify>);

impl GoLive {
    /// Asks for it. Several requests before the receiver follows count as one.
    pub fn request(&self) {
        self.0.notify_one();
    }

    /// Waits for a request; forever if the receiver `is_live` already.
    pub(crate) async fn requested(&self, is_live: bool) {
        loop {
            self.0.notified().await;
            if !is_live {
                return;
            }
        }
    }
}
