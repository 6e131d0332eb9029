//! The rivals' sender: JPEGs over the same QUIC, paced and estimated by the same state machine as nestcast's frames.
//!
//! A JPEG is of no use in part, so that all of a frame is its base: it is never cut, and while it is on its way the
//! newest picture waits.

use std::collections::VecDeque;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use bytes::Bytes;
use nestcast_proto::{Bitrate, Frame, MAX_OPEN_FRAMES, Publisher, Step};
use nestcast_sender::{Identity, measured};
use quinn::{Connection, Endpoint, SendStream, VarInt};

use crate::clip::{Clip, FRAMES_PER_SECOND};
use crate::jpeg::Jpegs;

/// Of the link's bytes so many percent are a fixed quality's: the others are headers and room for larger pictures.
const FIXED_SHARE: u64 = 90;
/// What the ladder's rungs take.
pub const RUNGS: [u64; 3] = [250_000, 850_000, 3_400_000];
/// How long a rung is kept before the next higher one is tried, first and at most; twice as long after each failure.
const FIRST_PATIENCE: Duration = Duration::from_secs(1);
const LONGEST_PATIENCE: Duration = Duration::from_secs(8);

/// Bytes of a frame at a number of bits a second.
pub fn bytes_of(bits: u64) -> usize {
    usize::try_from(bits / 8 / u64::from(FRAMES_PER_SECOND)).unwrap_or(usize::MAX)
}

/// How a rival chooses what to send.
pub enum Choice {
    /// One quality for all pictures.
    Fixed(u8),
    /// The rungs, by what the path delivers.
    Ladder(Ladder),
}

impl Choice {
    /// The best fixed quality for a link of a known mean rate.
    pub fn fixed(jpegs: &Jpegs<'_>, mean: u64) -> Result<Self> {
        Ok(Self::Fixed(jpegs.fitting_in_the_mean(bytes_of(mean * FIXED_SHARE / 100))?))
    }

    fn quality(&mut self, index: usize, jpegs: &Jpegs<'_>, skipped: u64, estimate: Bitrate) -> Result<u8> {
        match self {
            Self::Fixed(quality) => Ok(*quality),
            Self::Ladder(ladder) => {
                let bits = RUNGS[ladder.rung(Instant::now(), skipped, estimate)];
                jpegs.fitting(index, bytes_of(bits))
            }
        }
    }
}

/// Which rung a receiver is on.
pub struct Ladder {
    rung: usize,
    since: Instant,
    patience: Duration,
    skipped: u64,
}

impl Default for Ladder {
    fn default() -> Self {
        Self { rung: 0, since: Instant::now(), patience: FIRST_PATIENCE, skipped: 0 }
    }
}

impl Ladder {
    /// Falls to what the path delivers when a picture had to be skipped, and tries the next rung when all is well.
    fn rung(&mut self, now: Instant, skipped: u64, estimate: Bitrate) -> usize {
        let failed = std::mem::replace(&mut self.skipped, skipped) < skipped;
        if failed {
            // What was delivered of late is of the rung before, which need not fill the path.
            let carried = RUNGS.iter().rposition(|&rung| rung * 85 / 100 <= estimate.bits()).unwrap_or(0);
            if carried < self.rung {
                self.patience = (2 * self.patience).min(LONGEST_PATIENCE);
            }
            (self.rung, self.since) = (carried.min(self.rung), now);
        } else if self.rung + 1 < RUNGS.len() && now - self.since > self.patience {
            (self.rung, self.since) = (self.rung + 1, now);
        }
        self.rung
    }
}

/// Serves one receiver with `count` frames. Call it within a tokio runtime.
pub async fn serve(
    endpoint: Endpoint,
    clip: &Clip,
    jpegs: &Jpegs<'_>,
    mut choice: Choice,
    count: u64,
) -> Result<Vec<u8>> {
    let connection = endpoint.accept().await.context("the endpoint is open")?.await?;
    // The receiver's hello; nothing depends on it.
    let _control = connection.accept_bi().await?;
    let interval = Duration::from_secs(1) / FRAMES_PER_SECOND;
    let mut feed =
        Feed { connection, publisher: Publisher::new(interval, None), stream: None, finished: VecDeque::new() };
    let epoch = Instant::now();
    let mut qualities = Vec::new();
    for id in 0..count {
        feed.write_until(epoch + interval * u32::try_from(id)?).await?;
        let publisher = &feed.publisher;
        let index = clip.index(id);
        let quality = choice.quality(index, jpegs, publisher.stats().skipped, publisher.delivery_rate())?;
        qualities.push(quality);
        let bytes = Bytes::from(vec![0; jpegs.bytes(index, quality)?]);
        let captured = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros())?;
        let frame = Frame { id, skipped: 0, captured, base: bytes.len(), bytes };
        feed.publisher.handle_frame(epoch.elapsed(), &frame, &measured::path(&feed.connection));
    }
    feed.write_until(epoch + interval * u32::try_from(count + 15)?).await?;
    Ok(qualities)
}

/// Listens as a broadcast does.
pub fn listen(identity: Identity) -> Result<Endpoint> {
    Ok(Endpoint::server(measured::server_config(identity)?, ([127, 0, 0, 1], 0).into())?)
}

struct Feed {
    connection: Connection,
    publisher: Publisher,
    stream: Option<SendStream>,
    /// Those of the frames before; the newest last.
    finished: VecDeque<SendStream>,
}

impl Feed {
    /// Writes what there is to write until a moment.
    async fn write_until(&mut self, due: Instant) -> Result<()> {
        loop {
            let idle = self.drive().await?;
            let mut chunks = self.publisher.unwritten();
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(due.into()) => return Ok(()),
                written = write(self.stream.as_mut(), &mut chunks), if !idle => self.publisher.handle_written(written?),
            }
        }
    }

    /// Does all that does not wait for room; gives whether there is nothing to write.
    async fn drive(&mut self) -> Result<bool> {
        while let Some(step) = self.publisher.poll() {
            match step {
                Step::Open => self.stream = Some(self.connection.open_uni().await?),
                Step::Write => {
                    let window = self.publisher.window(&measured::path(&self.connection));
                    self.connection.set_send_window(window);
                    return Ok(false);
                }
                Step::Finish => {
                    if let Some(mut stream) = self.stream.take() {
                        stream.finish()?;
                        if self.finished.len() == MAX_OPEN_FRAMES {
                            self.finished.pop_front();
                        }
                        self.finished.push_back(stream);
                    }
                }
                Step::Again => {
                    for mut stream in self.finished.drain(..).chain(self.stream.take()) {
                        // It fails only for a stream that is done with.
                        let _ = stream.reset(VarInt::from_u32(0));
                    }
                    let stream = self.connection.open_uni().await?;
                    stream.set_priority(1)?;
                    self.stream = Some(stream);
                }
            }
        }
        Ok(true)
    }
}

async fn write(stream: Option<&mut SendStream>, chunks: &mut [Bytes]) -> Result<usize> {
    match stream {
        Some(stream) => Ok(measured::write(stream, chunks).await?),
        None => std::future::pending().await,
    }
}
