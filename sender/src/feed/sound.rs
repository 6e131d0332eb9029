//! A receiver's streams of sound: one for each packet, written at once.

use std::collections::VecDeque;
use std::future::{Future, pending};
use std::pin::pin;
use std::task::{Context, Waker};

use bytes::Bytes;
use nestcast_proto::{Room, Urgency};

use crate::frames::sound::{SoundFanout, SoundReceiver};
use crate::transport::{Connection, Disconnected, Outgoing};

/// Sound waits for no room: it is a small part of any path, and frames get what it leaves.
const UNLIMITED_ROOM: Room = Room { held: u64::MAX >> 2, pending: None };

/// The packets that are due, and their streams.
#[derive(Debug)]
pub(super) struct SoundStreams<O> {
    fanout: SoundFanout,
    /// The subscription; `None` while nobody listens, so that no packet wakes the feed.
    due: Option<SoundReceiver>,
    /// Those that are not known to have arrived, oldest first.
    sent: VecDeque<O>,
}

impl<O: Outgoing> SoundStreams<O> {
    pub(super) fn new(sound: &SoundFanout) -> Self {
        Self { fanout: sound.clone(), due: None, sent: VecDeque::new() }
    }

    /// Waits for the stream of the next packet; forever if the receiver wants none. May be dropped while it waits.
    pub(super) async fn next(&mut self, is_wanted: bool) -> Bytes {
        if !is_wanted {
            self.due = None;
            return pending().await;
        }
        match self.due.get_or_insert_with(|| self.fanout.subscribe()).next_stream().await {
            Some(stream) => stream,
            None => pending().await,
        }
    }

    /// Returns how many streams are not known to have arrived. It looks at the oldest first, and no further than the
    /// first that did not arrive.
    pub(super) fn unsettled(&mut self) -> usize {
        while let Some(oldest) = self.sent.front_mut()
            && pin!(oldest.settled()).poll(&mut Context::from_waker(Waker::noop())).is_ready()
        {
            self.sent.pop_front();
        }
        self.sent.len()
    }

    /// Sends a packet's stream.
    pub(super) async fn send<C>(&mut self, connection: &C, bytes: Bytes) -> Result<(), Disconnected>
    where
        C: Connection<Outgoing = O>,
    {
        let mut stream = connection.open(Urgency::Sound).await?;
        let mut left = [bytes];
        while !left[0].is_empty() {
            stream.write(&mut left, UNLIMITED_ROOM).await?;
        }
        stream.finish();
        self.sent.push_back(stream);
        Ok(())
    }

    /// Waits until all have arrived.
    pub(super) async fn settle(&mut self) {
        while let Some(oldest) = self.sent.front_mut() {
            oldest.settled().await;
            self.sent.pop_front();
        }
    }
}
