//! Reads all streams of a connection concurrently, each in a task, and collects what they read.

use std::collections::HashMap;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};

use crate::error::Error;
use crate::transport::{Incoming, Scattered};

/// The most events that wait for the session.
const MAX_WAITING_EVENTS: usize = 64;

/// An event of a stream.
#[derive(Debug)]
pub(crate) enum Event {
    /// The control stream's next bytes.
    Control(Bytes),
    /// Bytes of a stream at `offset`.
    Bytes { stream: u64, offset: u64, bytes: Bytes },
    /// The stream's end, or a reset.
    End(u64),
}

/// The streams that are being read.
#[derive(Debug)]
pub(crate) struct Streams {
    /// `None` once the connection has ended: only the readers still have senders.
    events: Option<mpsc::Sender<Event>>,
    inbox: mpsc::Receiver<Event>,
    readers: JoinSet<Result<(), Error>>,
    control: Option<AbortHandle>,
    /// The tasks by stream number.
    reading: HashMap<u64, Reading>,
}

/// A stream that is being read.
#[derive(Debug)]
struct Reading {
    /// Tells the task to read in any order.
    unordered: Option<oneshot::Sender<()>>,
    task: AbortHandle,
}

impl Default for Streams {
    fn default() -> Self {
        let (events, inbox) = mpsc::channel(MAX_WAITING_EVENTS);
        Self { events: Some(events), inbox, readers: JoinSet::new(), control: None, reading: HashMap::new() }
    }
}

impl Streams {
    /// Reads the control stream.
    pub(crate) fn read_control(&mut self, stream: impl Incoming) {
        if let Some(events) = &self.events {
            self.control = Some(self.readers.spawn(read_control(stream, events.clone())));
        }
    }

    /// Reads a stream that the sender opened; returns its number.
    pub(crate) fn read(&mut self, stream: impl Scattered) -> u64 {
        let number = stream.number();
        if let Some(events) = &self.events {
            let (unordered, in_order) = oneshot::channel();
            let task = self.readers.spawn(read(stream, events.clone(), in_order));
            self.reading.insert(number, Reading { unordered: Some(unordered), task });
        }
        number
    }

    /// Reads a stream's bytes in the order of arrival from now on.
    pub(crate) fn read_unordered(&mut self, stream: u64) {
        if let Some(unordered) = self.reading.get_mut(&stream).and_then(|reading| reading.unordered.take()) {
            // A task that has ended needs no order.
            let _ = unordered.send(());
        }
    }

    /// Stops reading a stream. The transport tells the sender, unless all bytes have arrived.
    pub(crate) fn stop(&mut self, stream: u64) {
        if let Some(reading) = self.reading.remove(&stream) {
            reading.task.abort();
        }
    }

    /// Waits for the next event of any stream. May be dropped while it waits.
    ///
    /// # Errors
    /// Why the connection ended. After [`Streams::handle_close`]: when there are no more events.
    pub(crate) async fn next(&mut self) -> Result<Event, Error> {
        loop {
            tokio::select! {
                biased;
                event = self.inbox.recv() => match event {
                    Some(event) => return Ok(event),
                    None => return Err(Error::Closed(nestcast_proto::Code::Done)),
                },
                Some(read) = self.readers.join_next() => match read {
                    Ok(Ok(())) => {}
                    Ok(Err(end)) => return Err(end),
                    Err(error) if error.is_cancelled() => {}
                    Err(error) => std::panic::resume_unwind(error.into_panic()),
                },
            }
        }
    }

    /// Notes that the connection ended. Bytes already read are still returned, except messages.
    pub(crate) fn handle_close(&mut self) {
        if let Some(control) = self.control.take() {
            control.abort();
        }
        self.readers.detach_all();
        self.events = None;
    }
}

async fn read_control(mut stream: impl Incoming, events: mpsc::Sender<Event>) -> Result<(), Error> {
    while let Some(bytes) = stream.read().await? {
        // This fails only if the session no longer listens.
        let _ = events.send(Event::Control(bytes)).await;
    }
    Ok(())
}

/// Reads a stream to its end: in order, then in any order after `unordered` fires.
async fn read(
    mut stream: impl Scattered,
    events: mpsc::Sender<Event>,
    mut unordered: oneshot::Receiver<()>,
) -> Result<(), Error> {
    let number = stream.number();
    let mut offset = 0;
    loop {
        let bytes = tokio::select! {
            biased;
            bytes = stream.read() => bytes?,
            // This fails if the stream is no longer useful, and then the task is stopped.
            _ = &mut unordered => break,
        };
        let Some(bytes) = bytes else {
            let _ = events.send(Event::End(number)).await;
            return Ok(());
        };
        let length = bytes.len() as u64;
        let _ = events.send(Event::Bytes { stream: number, offset, bytes }).await;
        offset += length;
    }
    while let Some((offset, bytes)) = stream.read_scattered().await? {
        let _ = events.send(Event::Bytes { stream: number, offset, bytes }).await;
    }
    let _ = events.send(Event::End(number)).await;
    Ok(())
}
