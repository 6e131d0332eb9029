//! A receiver's connection by quinn, and its streams.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Buf as _, Bytes};
use nestcast_proto::{Close, Code, PathStats, Room, Urgency};
use quinn::{RecvStream, SendStream, VarInt};

use crate::quic::congestion::{Known, known};
use crate::quic::connection_ids::Closing;
use crate::transport::{Connection, Disconnected, Incoming, Outgoing};

/// The most bytes of one read of a control stream.
const MAX_READ_BYTES: usize = 2048;
/// The length of the pieces in which bytes are written. quinn holds a piece until all of it is acknowledged. Pieces of
/// half a packet make room with every acknowledgement, not in lumps.
const PIECE_BYTES: usize = 600;
const MAX_PIECES: usize = 16;

/// A connected receiver.
#[derive(Debug)]
pub(crate) struct QuicConnection(Arc<Path>);

/// A connection, and the path to its peer.
#[derive(Debug)]
struct Path {
    connection: quinn::Connection,
    /// The peer's address, and the statistics of the path to it. After the peer moves to another address, it has a new
    /// path with its own congestion control.
    known: Mutex<(SocketAddr, Arc<Known>)>,
    closing: Closing,
}

impl Path {
    /// Returns the statistics of the path, as of the last look.
    fn known(&self) -> Arc<Known> {
        Arc::clone(&self.known.lock().unwrap_or_else(PoisonError::into_inner).1)
    }

    /// Looks up the peer's address, and returns the statistics of the path to it.
    fn look(&self) -> Arc<Known> {
        let address = self.connection.remote_address();
        let mut of = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if of.0 != address {
            *of = (address, known(&self.connection));
        }
        Arc::clone(&of.1)
    }
}

impl QuicConnection {
    pub(super) fn new(connection: quinn::Connection, closing: Closing) -> Self {
        let known = Mutex::new((connection.remote_address(), known(&connection)));
        Self(Arc::new(Path { connection, known, closing }))
    }

    pub(super) fn quinn(&self) -> &quinn::Connection {
        &self.0.connection
    }

    /// Opens a stream that begins with `header`, which is sent with the first bytes.
    pub(super) async fn open_with(&self, urgency: Urgency, header: Bytes) -> Result<Stream, Disconnected> {
        let stream = self.quinn().open_uni().await.map_err(disconnected)?;
        let priority = priority(urgency);
        if priority > 0 {
            stream.set_priority(priority).map_err(disconnected)?;
        }
        self.0.look();
        Ok(Stream { priority, ..self.stream(stream, header) })
    }

    pub(super) fn stream(&self, stream: SendStream, header: Bytes) -> Stream {
        Stream { stream, priority: 0, header, path: Arc::clone(&self.0) }
    }

    /// Ends the connection with this code of its protocol.
    pub(super) fn close_with(&self, code: u32, why: &str) {
        // Before the close itself, because quinn builds the packet at once.
        self.0.look().close();
        self.0.closing.note();
        self.quinn().close(VarInt::from_u32(code), why.as_bytes());
    }
}

impl Drop for QuicConnection {
    /// A feed that breaks off gave no reason. quinn would send code 0, which means that the broadcast ended.
    fn drop(&mut self) {
        if self.quinn().close_reason().is_none() {
            self.close_with(Code::Failed.number(), "the feed broke off");
        }
    }
}

impl Connection for QuicConnection {
    type Outgoing = Stream;
    type Incoming = RecvStream;

    const SHOWS_STREAM_NUMBERS: bool = true;

    fn address(&self) -> SocketAddr {
        self.quinn().remote_address()
    }

    /// The peer's path when the last stream was opened.
    fn path(&self) -> PathStats {
        self.0.known().path()
    }

    fn handle_reset(&self) {
        self.0.known().handle_reset();
    }

    fn allow_beyond(&self, packets: u64) {
        self.0.known().allow_beyond(packets);
    }

    async fn accept_control(&self) -> Result<(Stream, RecvStream), Disconnected> {
        let (stream, incoming) = self.quinn().accept_bi().await.map_err(disconnected)?;
        Ok((self.stream(stream, Bytes::new()), incoming))
    }

    async fn open(&self, urgency: Urgency) -> Result<Stream, Disconnected> {
        self.open_with(urgency, Bytes::new()).await
    }

    /// A receiver opens no stream after its control stream, though a sender that also serves browsers grants it more.
    async fn closed(&self) -> Disconnected {
        tokio::select! {
            error = self.quinn().closed() => return disconnected(error),
            Ok(_) = self.quinn().accept_bi() => {}
            Ok(_) = self.quinn().accept_uni() => {}
        }
        let close = Close { code: Code::Violation, why: "a receiver opens one stream" };
        self.close_with(close.code.number(), close.why);
        disconnected(close)
    }

    async fn close(&self, close: Close) {
        self.close_with(close.code.number(), close.why);
    }
}

/// A stream to a receiver.
#[derive(Debug)]
pub(crate) struct Stream {
    stream: SendStream,
    /// quinn's priority of its bytes.
    priority: i32,
    /// The unwritten part of the header. It has no bytes of the session, so the feed reserves no room for it.
    header: Bytes,
    path: Arc<Path>,
}

impl Outgoing for Stream {
    fn number(&self) -> u64 {
        VarInt::from(self.stream.id()).into_inner()
    }

    async fn write(&mut self, chunks: &mut [Bytes], room: Room) -> Result<usize, Disconnected> {
        let mut known = self.path.known();
        let most = loop {
            match known.room(room.pending).await {
                Some(most) => break most,
                None => known = self.path.look(),
            }
        };
        self.path.connection.set_send_window(room.held);
        loop {
            let (mut front, count) = front(&self.header, chunks, most);
            let taken = match self.stream.write_chunks(&mut front[..count]).await {
                Ok(written) => written.bytes,
                Err(quinn::WriteError::Stopped(_)) => return Ok(unwanted(chunks)),
                Err(error) => return Err(disconnected(error)),
            };
            known.handle_written(taken as u64);
            let of_header = taken.min(self.header.len());
            self.header.advance(of_header);
            let written = taken - of_header;
            // There may have been room for the header only.
            if written > 0 {
                advance(chunks, written);
                return Ok(written);
            }
        }
    }

    fn finish(&mut self) {
        // Lost bytes of this stream go before newer bytes. Otherwise quinn would send them again when nothing else
        // waits. Without quinn's fairness, which is its default, they would wait for all of the stream that it has begun.
        let _ = self.stream.set_priority(self.priority.max(priority(Urgency::First)));
        // This fails only if the peer stopped the stream, and then nobody waits for its end.
        let _ = self.stream.finish();
    }

    fn reset(&mut self) {
        // This fails only if the stream is already closed.
        let _ = self.stream.reset(VarInt::from_u32(0));
    }

    async fn settled(&mut self) {
        // This fails if the connection fails, and then nothing more arrives.
        let _ = self.stream.stopped().await;
    }
}

impl Incoming for RecvStream {
    async fn read(&mut self) -> Result<Option<Bytes>, Disconnected> {
        Ok(self.read_chunk(MAX_READ_BYTES, true).await.map_err(disconnected)?.map(|chunk| chunk.bytes))
    }
}

/// Returns quinn's priority of a stream: higher goes first.
const fn priority(urgency: Urgency) -> i32 {
    match urgency {
        Urgency::InTurn => 0,
        Urgency::First => 1,
        Urgency::Sound => 2,
    }
}

pub(super) fn disconnected(error: impl std::fmt::Display) -> Disconnected {
    Disconnected(error.to_string())
}

/// Returns a header and then the front of `chunks` in pieces, with at most `most` bytes of it.
fn front(header: &Bytes, chunks: &[Bytes], most: usize) -> ([Bytes; MAX_PIECES], usize) {
    let pieces = chunks.iter().flat_map(|chunk| {
        let ends = |at: usize| at..chunk.len().min(at + PIECE_BYTES);
        (0..chunk.len()).step_by(PIECE_BYTES).map(move |at| chunk.slice(ends(at)))
    });
    let mut left = most;
    let pieces = pieces.map_while(|mut piece| {
        piece.truncate(left);
        left -= piece.len();
        (!piece.is_empty()).then_some(piece)
    });
    let header = Some(header.clone()).filter(|header| !header.is_empty());
    let mut front = [const { Bytes::new() }; MAX_PIECES];
    let count = front.iter_mut().zip(header.into_iter().chain(pieces)).map(|(slot, piece)| *slot = piece).count();
    (front, count)
}

/// Drops the first `count` bytes of `chunks`.
fn advance(chunks: &mut [Bytes], mut count: usize) {
    for chunk in chunks {
        let from_chunk = count.min(chunk.len());
        chunk.advance(from_chunk);
        count -= from_chunk;
    }
}

/// Takes all bytes, because the peer stopped the stream and wants no more of it.
fn unwanted(chunks: &mut [Bytes]) -> usize {
    chunks.iter_mut().map(|chunk| std::mem::take(chunk).len()).sum()
}
