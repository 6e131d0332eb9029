//! A receiver over a test transport.

use super::*;

/// A receiver that reads `rate` bytes a second.
#[derive(Clone)]
pub(super) struct Taker {
    pub(super) rate: f64,
    pub(super) began: Instant,
    pub(super) says: Bytes,
    /// Notified when its machine is lost.
    pub(super) gone: Arc<Notify>,
    pub(super) taken: Arc<Mutex<Taken>>,
}

#[derive(Default)]
pub(super) struct Taken {
    /// Bytes of each stream.
    pub(super) streams: Vec<usize>,
    /// Bytes in the buffer, and since when.
    pub(super) level: f64,
    pub(super) at: Duration,
    pub(super) closed: Option<Code>,
    /// Whether the control stream ended while nothing was closed.
    pub(super) ended_before_close: bool,
}

impl Taker {
    pub(super) fn new(rate: f64) -> Self {
        let taken = Taken { streams: Vec::with_capacity(MOST_STREAMS), ..Taken::default() };
        Self { rate, began: Instant::now(), says: hello(None), gone: Arc::default(), taken: Arc::new(taken.into()) }
    }

    pub(super) fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of each stream.
    pub(super) fn streams(&self) -> Vec<usize> {
        self.taken().streams.clone()
    }

    /// Takes as many of `offered` bytes as the buffer has room for.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a buffer's bytes")]
    pub(super) fn take(&self, stream: usize, offered: usize) -> usize {
        let mut taken = self.taken();
        let now = self.began.elapsed();
        taken.level = (taken.level - self.rate * (now - taken.at).as_secs_f64()).max(0.0);
        taken.at = now;
        let count = offered.min((BUFFER_BYTES - taken.level).max(0.0) as usize);
        taken.level += count as f64;
        taken.streams[stream] += count;
        count
    }
}

/// A stream to a taker; `None` is the control stream, which takes all.
pub(super) struct Stream(Option<usize>, Taker);

impl Outgoing for Stream {
    fn number(&self) -> u64 {
        self.0.map_or(0, |stream| stream as u64)
    }

    async fn write(&mut self, chunks: &mut [Bytes], room: Room) -> Result<usize, Disconnected> {
        let all: usize = chunks.iter().map(Bytes::len).sum();
        let offered = room.pending.map_or(all, |most| all.min(usize::try_from(most).unwrap_or(all).max(1)));
        let count = loop {
            let Some(stream) = self.0 else { break offered };
            let count = self.1.take(stream, offered);
            if count > 0 {
                break count;
            }
            sleep(Duration::from_millis(1)).await;
        };
        let mut left = count;
        for chunk in chunks {
            let part = left.min(chunk.len());
            *chunk = chunk.slice(part..);
            left -= part;
        }
        Ok(count)
    }

    fn finish(&mut self) {}

    fn reset(&mut self) {}

    async fn settled(&mut self) {}
}

impl Drop for Stream {
    /// Notes an early end: quinn finishes a stream that is dropped.
    fn drop(&mut self) {
        let mut taken = self.1.taken();
        taken.ended_before_close |= self.0.is_none() && taken.closed.is_none();
    }
}

/// A control stream with one message.
pub(super) struct Said(Option<Bytes>);

impl Incoming for Said {
    async fn read(&mut self) -> Result<Option<Bytes>, Disconnected> {
        match self.0.take() {
            Some(bytes) => Ok(Some(bytes)),
            None => pending().await,
        }
    }
}

impl Connection for Taker {
    type Outgoing = Stream;
    type Incoming = Said;

    const SHOWS_STREAM_NUMBERS: bool = true;

    fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], 1).into()
    }

    fn path(&self) -> PathStats {
        PathStats::default()
    }

    fn handle_reset(&self) {}

    fn allow_beyond(&self, _packets: u64) {}

    async fn accept_control(&self) -> Result<(Stream, Said), Disconnected> {
        Ok((Stream(None, self.clone()), Said(Some(self.says.clone()))))
    }

    async fn open(&self, _urgency: Urgency) -> Result<Stream, Disconnected> {
        let mut taken = self.taken();
        let stream = taken.streams.len();
        taken.streams.push(0);
        Ok(Stream(Some(stream), self.clone()))
    }

    async fn closed(&self) -> Disconnected {
        self.gone.notified().await;
        Disconnected("timed out".to_owned())
    }

    async fn close(&self, close: Close) {
        self.taken().closed = Some(close.code);
    }
}
