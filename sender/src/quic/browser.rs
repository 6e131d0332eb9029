//! A browser's session: WebTransport over HTTP/3, on a connection by quinn (spec, "Browsers").

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use nestcast_proto::{Close, PathStats, Urgency};
use quinn::crypto::rustls::HandshakeData;
use quinn::{Connecting, ReadError, RecvStream, SendStream, VarInt};
use quinn_proto::coding::Codec as _;

use crate::h3::capsule::close_session;
use crate::h3::error::H3Error;
use crate::h3::peer::{Opened, PeerStream, RequestStream, Said};
use crate::h3::request::{Request, answer};
use crate::h3::settings::control_stream;
use crate::quic::connection::{QuicConnection, Stream, disconnected};
use crate::quic::connection_ids::Closing;
use crate::transport::{Connection, Disconnected};

/// The protocol of a browser's connection (ALPN).
pub(super) const BROWSER_ALPN: &[u8] = b"h3";
/// The values that begin a session's streams, before the session's number (draft-ietf-webtrans-http3, section 4): for
/// the page's control stream, and for this end's streams.
const BIDIRECTIONAL_SIGNAL: u32 = 0x41;
const UNIDIRECTIONAL_KIND: u32 = 0x54;
/// The most bytes of one read of an HTTP/3 stream.
const MAX_READ_BYTES: usize = 2048;
/// The longest time that this end waits until the page has received the reason of a close.
const CLOSE_WITHIN: Duration = Duration::from_secs(3);
/// The longest time for which it waits after that, until the browser has closed the connection.
const LEAVES_WITHIN: Duration = Duration::from_millis(500);
/// The number of packets beyond the window that send that reason.
const CLOSE_PACKETS: u64 = 2;

/// A connected browser that has no session yet.
#[derive(Debug)]
pub(crate) struct BrowserHandshake {
    quic: QuicConnection,
    /// This end's control stream.
    control: SendStream,
}

impl BrowserHandshake {
    /// Returns whether a peer is a browser, as soon as the peer has offered its protocols.
    pub(super) async fn is_of(connecting: &mut Connecting) -> Result<bool, Disconnected> {
        let data = connecting.handshake_data().await.map_err(disconnected)?.downcast::<HandshakeData>();
        Ok(data.is_ok_and(|data| data.protocol.as_deref() == Some(BROWSER_ALPN)))
    }

    /// Performs the handshake. The settings are sent together with the certificate, because a browser waits for them
    /// before its request.
    pub(super) async fn perform(connecting: Connecting, closing: Closing) -> Result<Self, Disconnected> {
        let early = connecting.into_0rtt().map_err(|_| Disconnected("nothing can be sent yet".to_owned()));
        let (connection, completed) = early?;
        let quic = QuicConnection::new(connection, closing);
        let mut control = quic.quinn().open_uni().await.map_err(disconnected)?;
        control.write_all(&control_stream()).await.map_err(disconnected)?;
        completed.await;
        match quic.quinn().close_reason() {
            Some(error) => Err(disconnected(error)),
            None => Ok(Self { quic, control }),
        }
    }
}

/// A connected browser whose page has a session.
#[derive(Debug)]
pub(crate) struct BrowserConnection {
    quic: QuicConnection,
    /// The bytes that begin each stream to the page.
    header: Bytes,
    session: u64,
    /// This end of the request's stream, until the session closes.
    answers: Mutex<Option<SendStream>>,
    peer: tokio::sync::Mutex<Peer>,
    /// This end's control stream, which must not end.
    _control: SendStream,
}

impl BrowserConnection {
    /// Waits until a page asks for a session or `time_is_up`. Accepts the page if its origin may watch.
    pub(crate) async fn accept(
        BrowserHandshake { quic, control }: BrowserHandshake,
        origins: &[String],
        time_is_up: impl Future<Output = Close>,
    ) -> Result<Self, Disconnected> {
        let mut peer = Peer::default();
        let begun = tokio::select! {
            begun = begin(&quic, &mut peer) => begun,
            close = time_is_up => Err(H3Error::excessive_load(close.why).into()),
        };
        let (mut answers, request) = begun.map_err(|end| end.close(&quic))?;
        let session = VarInt::from(answers.id());
        let status = request.status(origins);
        answers.write_all(&answer(status)).await.map_err(disconnected)?;
        if status != 200 {
            let _ = answers.finish();
            let _ = tokio::time::timeout(CLOSE_WITHIN, answers.stopped()).await;
            quic.close_with(H3Error::NO_ERROR, "the request was refused");
            return Err(Disconnected(format!("the request was answered by {status}")));
        }
        let mut header = BytesMut::new();
        VarInt::from_u32(UNIDIRECTIONAL_KIND).encode(&mut header);
        session.encode(&mut header);
        Ok(Self {
            quic,
            header: header.freeze(),
            session: session.into_inner(),
            answers: Mutex::new(Some(answers)),
            peer: tokio::sync::Mutex::new(peer),
            _control: control,
        })
    }

    /// Reads the bytes that begin the page's control stream.
    async fn read_signal(&self, incoming: &mut RecvStream) -> Result<(), End> {
        let signal = read_varint(incoming).await?;
        let session = read_varint(incoming).await?;
        if signal != u64::from(BIDIRECTIONAL_SIGNAL) {
            return Err(H3Error::request_rejected("a connection has one session").into());
        }
        if session != self.session {
            return Err(H3Error::id("a stream of another session").into());
        }
        Ok(())
    }
}

impl Connection for BrowserConnection {
    type Outgoing = Stream;
    type Incoming = RecvStream;

    /// A page learns neither the numbers of its streams nor the order in which they were opened.
    const SHOWS_STREAM_NUMBERS: bool = false;

    fn address(&self) -> SocketAddr {
        self.quic.address()
    }

    fn path(&self) -> PathStats {
        self.quic.path()
    }

    fn handle_reset(&self) {
        self.quic.handle_reset();
    }

    fn allow_beyond(&self, packets: u64) {
        self.quic.allow_beyond(packets);
    }

    async fn accept_control(&self) -> Result<(Stream, RecvStream), Disconnected> {
        let (stream, mut incoming) = self.quic.quinn().accept_bi().await.map_err(disconnected)?;
        let mut peer = self.peer.lock().await;
        tokio::select! {
            signal = self.read_signal(&mut incoming) => signal,
            end = peer.run(&self.quic) => Err(end),
        }
        .map_err(|end| end.close(&self.quic))?;
        Ok((self.quic.stream(stream, Bytes::new()), incoming))
    }

    async fn open(&self, urgency: Urgency) -> Result<Stream, Disconnected> {
        self.quic.open_with(urgency, self.header.clone()).await
    }

    async fn closed(&self) -> Disconnected {
        let mut peer = self.peer.lock().await;
        let end = tokio::select! {
            end = peer.run(&self.quic) => end,
            Ok(_) = self.quic.quinn().accept_bi() => H3Error::request_rejected("a session has one control stream").into(),
        };
        end.close(&self.quic)
    }

    /// Sends the page the code and the reason, and waits for the browser to close the connection. The page would not get
    /// them from the connection's own close, and hears of a lost connection alone if that comes too soon.
    async fn close(&self, close: Close) {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut answers) = answers {
            let _ = answers.set_priority(i32::MAX);
            self.quic.allow_beyond(CLOSE_PACKETS);
            self.quic.quinn().set_send_window(u64::MAX);
            let told = async {
                answers.write_all(&close_session(close)).await.ok()?;
                answers.finish().ok()?;
                answers.stopped().await.ok()?;
                tokio::time::timeout(LEAVES_WITHIN, self.quic.quinn().closed()).await.ok()
            };
            let _ = tokio::time::timeout(CLOSE_WITHIN, told).await;
        }
        self.quic.close_with(H3Error::NO_ERROR, close.why);
    }
}

/// Why a browser's connection ends.
#[derive(Debug)]
enum End {
    /// The peer broke a rule of HTTP/3.
    Error(H3Error),
    /// The page closed the session.
    Left,
    Disconnected(Disconnected),
}

impl From<H3Error> for End {
    fn from(error: H3Error) -> Self {
        Self::Error(error)
    }
}

impl End {
    /// Tells the peer, if it is still connected.
    fn close(self, quic: &QuicConnection) -> Disconnected {
        match self {
            Self::Error(error) => {
                quic.close_with(error.code, error.why);
                disconnected(error)
            }
            Self::Left => {
                quic.close_with(H3Error::NO_ERROR, "the page left");
                Disconnected("the page left".to_owned())
            }
            Self::Disconnected(disconnected) => disconnected,
        }
    }
}

/// Waits for a request. Returns the request and the stream for its answer.
async fn begin(quic: &QuicConnection, peer: &mut Peer) -> Result<(SendStream, Request), End> {
    let (answers, incoming) = tokio::select! {
        accepted = quic.quinn().accept_bi() => accepted.map_err(|error| End::Disconnected(disconnected(error)))?,
        end = peer.run(quic) => return Err(end),
    };
    peer.streams.push((incoming, Role::Request(RequestStream::default())));
    match peer.next(quic).await? {
        Said::Request(request) => Ok((answers, request)),
        Said::Close => Err(End::Left),
    }
}

async fn read_varint(incoming: &mut RecvStream) -> Result<u64, End> {
    let lost = |error: quinn::ReadExactError| End::Disconnected(disconnected(error));
    let mut bytes = [0; 8];
    incoming.read_exact(&mut bytes[..1]).await.map_err(lost)?;
    let length = 1 << (bytes[0] >> 6);
    incoming.read_exact(&mut bytes[1..length]).await.map_err(lost)?;
    Ok(VarInt::decode(&mut &bytes[..length]).map_or(0, VarInt::into_inner))
}

/// The HTTP/3 streams that a peer opened, except the page's control stream.
#[derive(Debug, Default)]
struct Peer {
    streams: Vec<(RecvStream, Role)>,
    opened: Opened,
}

/// The purpose of a stream.
#[derive(Debug)]
enum Role {
    Unidirectional(PeerStream),
    Request(RequestStream),
}

impl Peer {
    /// Reads until the session ends.
    async fn run(&mut self, quic: &QuicConnection) -> End {
        match self.next(quic).await {
            Ok(Said::Close) => End::Left,
            // A request's stream has one request.
            Ok(Said::Request(_)) => H3Error::unexpected_frame("a stream has two requests").into(),
            Err(end) => end,
        }
    }

    /// Reads until the peer says something on the request's stream. Callers may drop it while it waits.
    async fn next(&mut self, quic: &QuicConnection) -> Result<Said, End> {
        let mut buffer = [0; MAX_READ_BYTES];
        loop {
            if let Some(said) = self.said()? {
                return Ok(said);
            }
            let (at, count) = tokio::select! {
                accepted = quic.quinn().accept_uni() => {
                    let stream = accepted.map_err(|error| End::Disconnected(disconnected(error)))?;
                    self.streams.push((stream, Role::Unidirectional(PeerStream::default())));
                    continue;
                }
                read = read(&mut self.streams, &mut buffer) => read,
            };
            if let Some(said) = self.handle_read(at, count.map(|count| &buffer[..count]))? {
                return Ok(said);
            }
        }
    }

    fn said(&mut self) -> Result<Option<Said>, H3Error> {
        for (_, role) in &mut self.streams {
            if let Role::Request(request) = role
                && let Some(said) = request.poll()?
            {
                return Ok(Some(said));
            }
        }
        Ok(None)
    }

    fn handle_read(&mut self, at: usize, read: Result<&[u8], ReadError>) -> Result<Option<Said>, End> {
        let (_, role) = &mut self.streams[at];
        let (bytes, has_ended) = match read {
            Ok(bytes) => (bytes, bytes.is_empty()),
            Err(ReadError::Reset(_)) => (&[][..], true),
            Err(error) => return Err(End::Disconnected(disconnected(error))),
        };
        match role {
            Role::Request(request) if has_ended => {
                let said = request.handle_end()?;
                self.streams.remove(at);
                return Ok(Some(said));
            }
            Role::Request(request) => request.handle_bytes(bytes),
            Role::Unidirectional(stream) if has_ended => {
                stream.handle_end()?;
                self.streams.remove(at);
            }
            Role::Unidirectional(stream) => {
                stream.handle_bytes(&mut self.opened, bytes)?;
                if stream.is_unwanted() {
                    // quinn stops a stream when it is dropped.
                    self.streams.remove(at);
                }
            }
        }
        Ok(None)
    }
}

/// Returns the next bytes of any stream, and its index; no bytes at its end. Callers may drop it while it waits.
async fn read(streams: &mut [(RecvStream, Role)], buffer: &mut [u8]) -> (usize, Result<usize, ReadError>) {
    poll_fn(|context| {
        for (at, (stream, _)) in streams.iter_mut().enumerate() {
            if let Poll::Ready(read) = stream.poll_read(context, buffer) {
                return Poll::Ready((at, read));
            }
        }
        Poll::Pending
    })
    .await
}
