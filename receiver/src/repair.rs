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
const MAX_KEPT_STREAMS: usize = 4;

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

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::future::pending;

    use super::*;

    const STREAM: &[u8] = b"a stream of several packets";
    /// Bytes of a block.
    const BLOCK: usize = 8;

    /// A stream of which some came in order, and then parts in any.
    struct Parts {
        number: u64,
        ordered: VecDeque<Bytes>,
        scattered: VecDeque<(u64, Bytes)>,
    }

    impl Incoming for Parts {
        async fn read(&mut self) -> Result<Option<Bytes>, Error> {
            match self.ordered.pop_front() {
                Some(bytes) => Ok(Some(bytes)),
                None => pending().await,
            }
        }
    }

    impl Scattered for Parts {
        fn number(&self) -> u64 {
            self.number
        }

        async fn read_scattered(&mut self) -> Result<Option<(u64, Bytes)>, Error> {
            match self.scattered.pop_front() {
                Some(part) => Ok(Some(part)),
                None => pending().await,
            }
        }
    }

    /// `STREAM` up to `begin`, and then what stands behind `hole`.
    fn with_hole(number: u64, begin: usize, hole: std::ops::Range<usize>) -> Parts {
        let ordered = if begin > 0 { VecDeque::from([Bytes::from(&STREAM[..begin])]) } else { VecDeque::new() };
        let before = (begin as u64, Bytes::from(&STREAM[begin..hole.start]));
        Parts { number, ordered, scattered: [before, (hole.end as u64, Bytes::from(&STREAM[hole.end..]))].into() }
    }

    fn header(stream: u64) -> ParityHeader {
        ParityHeader { stream, length: STREAM.len() as u64, pieces: 1, block: BLOCK as u64 }
    }

    fn parity() -> Bytes {
        let mut sum = [0; BLOCK];
        STREAM.iter().enumerate().for_each(|(at, byte)| sum[at % BLOCK] ^= byte);
        Bytes::copy_from_slice(&sum)
    }

    /// All that comes of a stream until nothing more does.
    async fn all(stream: &mut Repaired<Parts>) -> Vec<u8> {
        let mut came = Vec::new();
        while let Ok(Ok(Some(bytes))) = tokio::time::timeout(std::time::Duration::from_secs(1), stream.read()).await {
            came.extend_from_slice(&bytes);
        }
        came
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_lost_packet_carried_follows_from_the_parity_wherever_it_stood() {
        let repairs = Repairs::new(100);
        assert!(!repairs.wants(&header(7)), "it is not read; from now on parity is expected");
        for (begin, hole) in [(0, 0..8), (0, 4..12), (5, 5..13), (5, 19..27), (27, 27..27)] {
            let mut stream = repairs.watch(with_hole(3, begin, hole.clone()));
            let mut came = Vec::new();
            if begin > 0 {
                came.extend(stream.read().await.expect("it goes on").expect("some bytes"));
            }
            assert!(repairs.wants(&header(3)));
            repairs.bring(header(3), parity());
            came.extend(all(&mut stream).await);
            assert_eq!(came, STREAM, "{begin}, {hole:?}");
            assert_eq!(stream.read().await.expect("it ends well"), None);
            drop(stream);
            assert!(!repairs.wants(&header(3)), "it is read");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn streams_of_which_nothing_is_kept_go_on_in_order() {
        let repairs = Repairs::new(100);
        let mut early = repairs.watch(with_hole(3, 5, 5..13));
        assert_eq!(early.read().await.expect("it goes on").expect("some bytes"), STREAM[..5], "before any parity came");
        assert!(repairs.wants(&header(3)));
        repairs.bring(header(3), parity());
        assert!(all(&mut early).await.is_empty());
        assert!(!Repairs::new(STREAM.len() - 1).wants(&header(3)), "more than is kept of a frame");
        let mut streams: Vec<_> = (0..10).map(|number| repairs.watch(with_hole(number, 5, 5..13))).collect();
        let mut whole = 0;
        for stream in &mut streams {
            stream.read().await.expect("it goes on");
        }
        for stream in &mut streams {
            repairs.bring(header(stream.number), parity());
            whole += usize::from(!all(stream).await.is_empty());
        }
        assert_eq!(whole, MAX_KEPT_STREAMS);
    }
}
