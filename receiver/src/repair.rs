//! Streams that come whole though packets were lost, where the sender sent their parity (spec, "Parity").

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use nestcast_proto::{ParityHeader, Repair};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::error::Error;
use crate::transport::{Incoming, Scattered};

/// Streams of which all that came is kept at once, for their parity: more than lack something in a round trip of 200 ms.
const MAX_KEPT_STREAMS: usize = 8;

/// A stream's parity, whole.
type Parity = (ParityHeader, Bytes);

/// Brings parity to the streams of one connection.
#[derive(Debug, Clone)]
pub(crate) struct Repairs {
    streams: Arc<Mutex<HashMap<u64, oneshot::Sender<Parity>>>>,
    /// Whether any parity came so far: before, nothing is kept for it.
    begun: Arc<AtomicBool>,
    places: Arc<Semaphore>,
    /// Most bytes that are kept of a stream.
    most: usize,
}

impl Repairs {
    /// Keeps at most `most` bytes of a stream.
    pub(crate) fn new(most: usize) -> Self {
        let places = Arc::new(Semaphore::new(MAX_KEPT_STREAMS));
        Self { streams: Arc::default(), begun: Arc::default(), places, most }
    }

    /// A stream that the sender opened, before anything is read of it or of later ones.
    pub(crate) fn watch<S: Scattered>(&self, stream: S) -> Repaired<S> {
        let (number, (comes, parity)) = (stream.number(), oneshot::channel());
        self.streams().insert(number, comes);
        Repaired { stream, number, parity: Some(parity), came: 0, kept: None, repair: None, repairs: self.clone() }
    }

    /// Whether the parity is of a stream that is being read, and not too long to be kept.
    pub(crate) fn wants(&self, header: &ParityHeader) -> bool {
        self.begun.store(true, Ordering::Relaxed);
        header.length <= self.most as u64 && self.streams().contains_key(&header.stream)
    }

    /// The parity came whole.
    pub(crate) fn bring(&self, header: ParityHeader, parity: Bytes) {
        if let Some(stream) = self.streams().remove(&header.stream) {
            // What is no longer read does not need it.
            let _ = stream.send((header, parity));
        }
    }

    fn streams(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Parity>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All that came of a stream so far, and the place that this takes.
#[derive(Debug)]
struct Kept {
    bytes: BytesMut,
    place: OwnedSemaphorePermit,
}

/// A stream whose bytes come in order, those that follow from its parity among them.
#[derive(Debug)]
pub(crate) struct Repaired<S> {
    stream: S,
    number: u64,
    /// Until it came.
    parity: Option<oneshot::Receiver<Parity>>,
    /// Bytes that were read.
    came: usize,
    kept: Option<Kept>,
    repair: Option<(Repair, OwnedSemaphorePermit)>,
    repairs: Repairs,
}

impl<S: Scattered> Incoming for Repaired<S> {
    async fn read(&mut self) -> Result<Option<Bytes>, Error> {
        while self.repair.is_none() {
            let Some(parity) = &mut self.parity else { return self.stream.read().await };
            tokio::select! {
                biased;
                bytes = self.stream.read() => {
                    let bytes = bytes?;
                    self.keep(bytes.as_ref());
                    return Ok(bytes);
                }
                parity = parity => {
                    self.parity = None;
                    if let Ok((header, parity)) = parity {
                        self.begin(header, parity);
                    }
                }
            }
        }
        self.scattered().await
    }
}

impl<S: Scattered> Repaired<S> {
    fn keep(&mut self, bytes: Option<&Bytes>) {
        let Some(bytes) = bytes else { return };
        if self.came == 0 && self.repairs.begun.load(Ordering::Relaxed) {
            let place = Arc::clone(&self.repairs.places).try_acquire_owned().ok();
            self.kept = place.map(|place| Kept { bytes: BytesMut::new(), place });
        }
        self.came += bytes.len();
        if self.came > self.repairs.most {
            self.kept = None;
        }
        if let Some(kept) = &mut self.kept {
            kept.bytes.extend_from_slice(bytes);
        }
    }

    /// What is missing may follow from the parity, if all is there that came before.
    fn begin(&mut self, header: ParityHeader, parity: Bytes) {
        let place = || Arc::clone(&self.repairs.places).try_acquire_owned().ok();
        let nothing = || Some(Kept { bytes: BytesMut::new(), place: place()? });
        let kept = self.kept.take().or_else(|| if self.came == 0 { nothing() } else { None });
        self.repair = kept.and_then(|kept| Some((Repair::new(header, parity, kept.bytes)?, kept.place)));
    }

    /// The next bytes in order, while the stream's come in any.
    async fn scattered(&mut self) -> Result<Option<Bytes>, Error> {
        let Some((repair, _)) = &mut self.repair else { return Ok(None) };
        loop {
            if let Some(bytes) = repair.poll() {
                return Ok(Some(bytes));
            }
            if repair.is_whole() {
                return Ok(None);
            }
            match self.stream.read_scattered().await? {
                Some((offset, bytes)) => repair.handle_bytes(offset, &bytes)?,
                None => return Ok(None),
            }
        }
    }
}

impl<S> Drop for Repaired<S> {
    fn drop(&mut self) {
        self.repairs.streams().remove(&self.number);
    }
}
