//! The control stream to the sender: messages wait here until the transport accepts them.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::error::Error;
use crate::transport::Outgoing;

/// Messages that the transport has not accepted yet.
#[derive(Debug)]
pub(crate) struct ControlWriter<O> {
    stream: Option<O>,
    unsaid: VecDeque<Bytes>,
}

impl<O> Default for ControlWriter<O> {
    fn default() -> Self {
        Self { stream: None, unsaid: VecDeque::new() }
    }
}

impl<O: Outgoing> ControlWriter<O> {
    /// Sets the open stream.
    pub(crate) fn open(&mut self, stream: O) {
        self.stream = Some(stream);
    }

    pub(crate) const fn is_open(&self) -> bool {
        self.stream.is_some()
    }

    /// Adds a message.
    pub(crate) fn push(&mut self, message: Bytes) {
        self.unsaid.push_back(message);
    }

    /// Waits until the transport has accepted the oldest message. May be dropped while it waits.
    ///
    /// # Errors
    /// Why the connection ended.
    pub(crate) async fn say(&mut self) -> Result<(), Error> {
        let (Some(stream), Some(message)) = (&mut self.stream, self.unsaid.front_mut()) else {
            return std::future::pending().await;
        };
        while !message.is_empty() {
            stream.write(message).await?;
        }
        self.unsaid.pop_front();
        Ok(())
    }
}
