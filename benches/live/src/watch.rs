//! A receiver that measures: puts frames together as the session says, decodes those that can be shown.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use bytes::{Bytes, BytesMut};
use nestcast_codec::Picture;
use nestcast_lab::metrics;
use nestcast_proto::{Arrived, Bases, FrameHeader, StreamHead, Subscriber};
use quinn::{ClientConfig, Endpoint, RecvStream};
use tokio::sync::mpsc;

use crate::clip::{Clip, FRAMES_PER_SECOND};
use crate::crowd;

const READ: usize = 64 * 1024;

/// A frame that was due: shown, or the one before it still stands.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// Its number.
    pub id: u64,
    /// Bytes that came of it in time; zero if it was not shown.
    pub bytes: usize,
    /// From capture to picture, if it was shown.
    pub latency: Option<Duration>,
    /// What a viewer sees at its time, against the original.
    pub psnr: f64,
    /// Bytes that the frame has in full; zero if it was not shown.
    pub full: u64,
}

enum Event {
    Head(FrameHeader),
    Bytes(u64, Bytes),
    End(u64),
    Base(FrameHeader, Bytes),
}

/// Receives until the connection ends or `time` is over. `decode` gets a frame's number and prefix.
pub async fn watch(
    address: SocketAddr,
    config: ClientConfig,
    clip: &Clip,
    time: Duration,
    decode: impl Fn(u64, &[u8]) -> Option<Picture>,
) -> Result<Vec<Seen>> {
    let endpoint = Endpoint::client(([127, 0, 0, 1], 0).into())?;
    let connection = endpoint.connect_with(config, address, "localhost")?.await?;
    let _control = crowd::greet(&connection).await?;
    let mut subscriber = Subscriber::new(Duration::from_secs(1) / FRAMES_PER_SECOND);
    let (events, mut inbox) = mpsc::unbounded_channel();
    let epoch = Instant::now();
    let mut eye = Eye { clip, seen: Vec::new(), last: None };
    loop {
        let due = subscriber.poll_timeout().map_or(epoch + time, |due| (epoch + due).min(epoch + time));
        tokio::select! {
            biased;
            Some(event) = inbox.recv() => match event {
                Event::Head(header) => subscriber.handle_head(epoch.elapsed(), header)?,
                Event::Bytes(id, bytes) => subscriber.handle_bytes(epoch.elapsed(), id, &bytes)?,
                Event::End(id) => subscriber.handle_end(id),
                Event::Base(header, base) => subscriber.handle_base(epoch.elapsed(), header, &base),
            },
            stream = connection.accept_uni() => match stream {
                Ok(stream) => drop(tokio::spawn(read(stream, events.clone()))),
                Err(_) => break,
            },
            () = tokio::time::sleep_until(due.into()) => if epoch.elapsed() >= time { break },
        }
        subscriber.handle_round_trip(connection.rtt());
        while let Some(arrived) = subscriber.poll(epoch.elapsed()) {
            eye.show(&arrived, &decode);
        }
    }
    connection.close(quinn::VarInt::from_u32(0), b"");
    Ok(eye.seen)
}

async fn read(mut stream: RecvStream, events: mpsc::UnboundedSender<Event>) -> Result<()> {
    let mut start = BytesMut::new();
    let (head, length) = loop {
        let chunk = stream.read_chunk(READ, true).await?.context("a stream has a head")?;
        start.extend_from_slice(&chunk.bytes);
        if let Some(parsed) = StreamHead::parse(&start)? {
            break parsed;
        }
    };
    let mut next = Some(start.split_off(length).freeze());
    let header = match head {
        StreamHead::Frame(header) => header,
        StreamHead::Bases => return read_bases(stream, next, events).await,
        StreamHead::Model(_) => return Ok(()),
    };
    events.send(Event::Head(header))?;
    while let Some(bytes) = next {
        events.send(Event::Bytes(header.id, bytes))?;
        next = stream.read_chunk(READ, true).await?.map(|chunk| chunk.bytes);
    }
    events.send(Event::End(header.id))?;
    Ok(())
}

/// Reads the bases that come again, from `next` on.
async fn read_bases(
    mut stream: RecvStream,
    mut next: Option<Bytes>,
    events: mpsc::UnboundedSender<Event>,
) -> Result<()> {
    let mut bases = Bases::default();
    while let Some(bytes) = next {
        bases.handle_bytes(&bytes);
        while let Some((header, base)) = bases.poll()? {
            events.send(Event::Base(header, base))?;
        }
        next = stream.read_chunk(READ, true).await?.map(|chunk| chunk.bytes);
    }
    Ok(())
}

struct Eye<'a> {
    clip: &'a Clip,
    seen: Vec<Seen>,
    last: Option<(u64, Arc<Picture>)>,
}

impl Eye<'_> {
    fn show(&mut self, arrived: &Arrived, decode: impl Fn(u64, &[u8]) -> Option<Picture>) {
        let id = arrived.header.id;
        let Some(picture) = decode(id, &arrived.prefix) else { return };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let latency = now.saturating_sub(Duration::from_micros(arrived.header.captured));
        if let Some((last, picture)) = &self.last {
            for id in last + 1..id {
                let psnr = metrics::psnr(self.clip.at(id), picture);
                self.seen.push(Seen { id, bytes: 0, latency: None, psnr, full: 0 });
            }
        }
        let psnr = metrics::psnr(self.clip.at(id), &picture);
        let (bytes, full) = (arrived.prefix.len(), arrived.header.full);
        self.seen.push(Seen { id, bytes, latency: Some(latency), psnr, full });
        self.last = Some((id, Arc::new(picture)));
    }
}
