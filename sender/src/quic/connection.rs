//! A receiver's connection by quinn, and its streams.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Buf as _, Bytes};
use nestcast_proto::{Close, Code, PathStats, Room, Urgency};
use quinn::{RecvStream, SendStream, VarInt};

use crate::quic::congestion::{Known, known};
use crate::transport::{Connection, Disconnected, Incoming, Outgoing};

/// Most bytes of one read of a control stream.
const MAX_READ_BYTES: usize = 2048;
/// quinn takes what was acknowledged of a piece for held until all of it is: in pieces of half a packet, room comes
/// with every acknowledgement and not in lumps.
const PIECE_BYTES: usize = 600;
const MAX_PIECES: usize = 16;

/// A connected receiver.
#[derive(Debug)]
pub(crate) struct QuicConnection(Arc<Path>);

/// Where a connection leads.
#[derive(Debug)]
struct Path {
    connection: quinn::Connection,
    /// The statistics of the path to this address. A peer that moves to another has a path, and a congestion control, of its own there.
    known: Mutex<(SocketAddr, Arc<Known>)>,
}

impl Path {
    /// The statistics of the peer's path at the last look.
    fn known(&self) -> Arc<Known> {
        Arc::clone(&self.known.lock().unwrap_or_else(PoisonError::into_inner).1)
    }

    /// Looks at where the peer is now.
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
    pub(super) fn new(connection: quinn::Connection) -> Self {
        let known = Mutex::new((connection.remote_address(), known(&connection)));
        Self(Arc::new(Path { connection, known }))
    }

    pub(super) fn quinn(&self) -> &quinn::Connection {
        &self.0.connection
    }

    /// Opens a stream that begins with `header`, which is written with the first bytes.
    pub(super) async fn open_with(&self, urgency: Urgency, header: Bytes) -> Result<Stream, Disconnected> {
        let stream = self.quinn().open_uni().await.map_err(disconnected)?;
        if urgency == Urgency::First {
            stream.set_priority(1).map_err(disconnected)?;
        }
        self.0.look();
        Ok(self.stream(stream, header))
    }

    pub(super) fn stream(&self, stream: SendStream, header: Bytes) -> Stream {
        Stream { stream, header, path: Arc::clone(&self.0) }
    }

    /// Ends the connection with a code of the protocol on it.
    pub(super) fn close_with(&self, code: u32, why: &str) {
        // Before the close itself: the packet is built at once.
        self.0.look().close();
        self.quinn().close(VarInt::from_u32(code), why.as_bytes());
    }
}

impl Drop for QuicConnection {
    /// A feed that breaks off has not said why, and quinn would say code 0: that the broadcast came to its end.
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

    /// The path that was the peer's when the last stream was opened.
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

    /// A receiver has its control stream and opens no other, though a sender that browsers connect to too grants it some.
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
    /// What it begins with, as far as it is not written: no bytes of the session, so no room is asked for it.
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
            // There may have been room for the header alone.
            if written > 0 {
                advance(chunks, written);
                return Ok(written);
            }
        }
    }

    fn finish(&mut self) {
        // What of it is lost goes before what is newer: quinn would send that again when nothing else waits.
        let _ = self.stream.set_priority(1);
        // It fails only for a stream that the peer stopped: then nobody waits for its end.
        let _ = self.stream.finish();
    }

    fn reset(&mut self) {
        // It fails only for a stream that is done with.
        let _ = self.stream.reset(VarInt::from_u32(0));
    }

    async fn settled(&mut self) {
        // It fails with the connection: then nothing more arrives.
        let _ = self.stream.stopped().await;
    }
}

impl Incoming for RecvStream {
    async fn read(&mut self) -> Result<Option<Bytes>, Disconnected> {
        Ok(self.read_chunk(MAX_READ_BYTES, true).await.map_err(disconnected)?.map(|chunk| chunk.bytes))
    }
}

pub(super) fn disconnected(error: impl std::fmt::Display) -> Disconnected {
    Disconnected(error.to_string())
}

/// A header, and then the front of `chunks` in pieces, at most `most` bytes of it.
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

/// Drops so many bytes of the front of `chunks`.
fn advance(chunks: &mut [Bytes], mut count: usize) {
    for chunk in chunks {
        let from_chunk = count.min(chunk.len());
        chunk.advance(from_chunk);
        count -= from_chunk;
    }
}

/// For a stream that the peer stopped: it wants no more of it, so all bytes count as taken.
fn unwanted(chunks: &mut [Bytes]) -> usize {
    chunks.iter_mut().map(|chunk| std::mem::take(chunk).len()).sum()
}
