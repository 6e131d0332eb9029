//! A receiver's streams of sound: one for each packet, written at once.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

use bytes::Bytes;
use nestcast_proto::{Room, Urgency};

use crate::transport::{Connection, Disconnected, Outgoing};

/// Sound waits for no room: it is a small part of any path, and frames get what it leaves.
const ROOM: Room = Room { held: u64::MAX >> 2, pending: None };

/// The streams that are not known to have arrived, oldest first.
#[derive(Debug)]
pub(super) struct SoundStreams<O>(VecDeque<O>);

impl<O: Outgoing> SoundStreams<O> {
    pub(super) const fn new() -> Self {
        Self(VecDeque::new())
    }

    /// Returns how many streams are not known to have arrived. It looks at the oldest first, and no further than the
    /// first that did not arrive.
    pub(super) fn unsettled(&mut self) -> usize {
        while let Some(oldest) = self.0.front_mut()
            && pin!(oldest.settled()).poll(&mut Context::from_waker(Waker::noop())).is_ready()
        {
            self.0.pop_front();
        }
        self.0.len()
    }

    /// Sends a packet's stream.
    pub(super) async fn send<C>(&mut self, connection: &C, bytes: Bytes) -> Result<(), Disconnected>
    where
        C: Connection<Outgoing = O>,
    {
        let mut stream = connection.open(Urgency::Sound).await?;
        let mut left = [bytes];
        while !left[0].is_empty() {
            stream.write(&mut left, ROOM).await?;
        }
        stream.finish();
        self.0.push_back(stream);
        Ok(())
    }

    /// Waits until all have arrived.
    pub(super) async fn settle(&mut self) {
        while let Some(oldest) = self.0.front_mut() {
            oldest.settled().await;
            self.0.pop_front();
        }
    }
}
