//! Does what a page in a browser does, without a browser: HTTP/3 and WebTransport by hand over quinn, and a session on
//! it. It obeys the rules unless a test asks it not to.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use nestcast_proto::{
    Close, Code, DecoderKind, Hello, ReceivedFrame, ReceiverOutput, ReceiverSession, VersionRange, Welcome,
};
use quinn::{Connection, ConnectionError, Endpoint, RecvStream, SendStream, VarInt};
use quinn_proto::coding::Codec as _;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::hostile_receiver::endpoint;
use crate::tls;

/// Longer than any wait here.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longer than any frame.
const MAX_BYTES: usize = 1 << 25;

/// Returns the fields of a request that a browser sends for a page of this origin.
pub const REQUEST: [(&str, &str); 6] = [
    (":method", "CONNECT"),
    (":protocol", "webtransport"),
    (":scheme", "https"),
    (":authority", "localhost:4433"),
    (":path", "/"),
    ("origin", "http://localhost:8080"),
];

/// Returns a frame of HTTP/3, or a capsule.
#[must_use]
pub fn frame(kind: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = BytesMut::new();
    VarInt::from_u32(kind).encode(&mut out);
    VarInt::try_from(payload.len() as u64).expect("short").encode(&mut out);
    [&out[..], payload].concat()
}

/// Returns the frame of a request with these fields.
///
/// # Panics
/// Never.
#[must_use]
pub fn request(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut payload = BytesMut::new();
    let fields = fields.iter().map(|(name, value)| qpack::HeaderField::new(*name, *value));
    qpack::encode_stateless(&mut payload, fields).expect("fields");
    frame(1, &payload)
}

/// Returns the beginnings of the streams that a browser opens on an HTTP/3 connection: control, encoder and decoder.
#[must_use]
pub fn opening() -> [Vec<u8>; 3] {
    let settings = [&[0x33, 1][..], &[0x01, 0x80, 0x01, 0, 0], &[0x07, 0x40, 0x64]].concat();
    [[&[0][..], &frame(4, &settings)].concat(), vec![2], vec![3]]
}

/// Opens a socket from which browsers connect.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn socket() -> Endpoint {
    endpoint(Ipv4Addr::LOCALHOST, tls::browser())
}

/// A connection of HTTP/3.
#[derive(Debug)]
pub struct Browser {
    /// The connection.
    pub connection: Connection,
    /// The streams that must not end.
    opened: Vec<SendStream>,
}

impl Browser {
    /// Connects, and opens the streams of control, encoder and decoder.
    ///
    /// # Panics
    /// If the sender does not answer.
    pub async fn connect(sender: SocketAddr) -> Self {
        let mut browser = Self::connect_silent(sender).await;
        browser.open_all().await;
        browser
    }

    /// Opens the streams of control, encoder and decoder.
    ///
    /// # Panics
    /// If the sender grants none.
    pub async fn open_all(&mut self) {
        for stream in opening() {
            self.open(&stream).await;
        }
    }

    /// Connects, and opens no stream.
    ///
    /// # Panics
    /// If the sender does not answer.
    pub async fn connect_silent(sender: SocketAddr) -> Self {
        Self::try_connect(sender).await.expect("the sender answers")
    }

    /// Connects, and opens no stream.
    ///
    /// # Errors
    /// If the sender refuses browsers.
    ///
    /// # Panics
    /// If there is no socket.
    pub async fn try_connect(sender: SocketAddr) -> Result<Self, ConnectionError> {
        Self::connect_from(&socket(), sender).await
    }

    /// Connects from this socket, and opens no stream.
    ///
    /// # Errors
    /// If the sender refuses browsers.
    ///
    /// # Panics
    /// Never.
    pub async fn connect_from(socket: &Endpoint, sender: SocketAddr) -> Result<Self, ConnectionError> {
        let connection = socket.connect(sender, "localhost").expect("a valid name").await?;
        Ok(Self { connection, opened: Vec::new() })
    }

    /// Opens a unidirectional stream that begins with these bytes and does not end.
    ///
    /// # Panics
    /// If the sender grants none.
    pub async fn open(&mut self, bytes: &[u8]) {
        let mut stream = self.connection.open_uni().await.expect("the sender grants a few");
        // If the connection is closed, the bytes are lost.
        let _ = stream.write_all(bytes).await;
        self.opened.push(stream);
    }

    /// Returns the SHA-256 of the certificate that the sender shows, in hexadecimal digits.
    ///
    /// # Panics
    /// If the sender shows none.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let identity = self.connection.peer_identity().expect("a certificate");
        let chain = identity.downcast::<Vec<rustls::pki_types::CertificateDer<'static>>>().expect("a chain");
        Sha256::digest(&chain[0]).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Sends a request. Returns its stream and the status of the answer.
    ///
    /// # Errors
    /// If the sender closes the connection.
    ///
    /// # Panics
    /// If the sender answers with something else.
    pub async fn ask(&self, request: &[u8]) -> Result<(SendStream, RecvStream, String), ConnectionError> {
        let (mut outgoing, mut incoming) = self.connection.open_bi().await?;
        let _ = outgoing.write_all(request).await;
        let mut answer = Vec::new();
        loop {
            let mut rest = &answer[..];
            if let (Ok(kind), Ok(length)) = (VarInt::decode(&mut rest), VarInt::decode(&mut rest))
                && rest.len() as u64 == length.into_inner()
            {
                assert_eq!(kind.into_inner(), 1, "fields");
                let fields = qpack::decode_stateless(&mut rest, 4096).expect("fields").fields;
                let status = fields.iter().find(|field| field.name[..] == *b":status").expect("a status");
                return Ok((outgoing, incoming, String::from_utf8_lossy(&status.value).into_owned()));
            }
            match timeout(PATIENCE, incoming.read_chunk(1, true)).await.expect("an answer") {
                Ok(Some(chunk)) => answer.extend_from_slice(&chunk.bytes),
                _ => return Err(self.connection.closed().await),
            }
        }
    }

    /// Returns the HTTP/3 code with which the sender closes the connection, and the reason.
    ///
    /// # Panics
    /// If the connection ends without a code.
    pub async fn close_code(&self) -> (u64, String) {
        match timeout(PATIENCE, self.connection.closed()).await.expect("the connection ends") {
            ConnectionError::ApplicationClosed(close) => {
                (close.error_code.into_inner(), String::from_utf8_lossy(&close.reason).into_owned())
            }
            other => panic!("{other}"),
        }
    }

    /// Begins a session.
    ///
    /// # Panics
    /// If the sender refuses it.
    pub async fn session(self) -> Page {
        let (outgoing, incoming, status) = self.ask(&request(&REQUEST)).await.expect("an answer");
        assert_eq!(status, "200");
        Page { session: VarInt::from(outgoing.id()), browser: self, outgoing, incoming }
    }
}

/// The result of a read.
enum Event {
    Control(Bytes),
    Opened(u64),
    Bytes(u64, u64, Bytes),
    End(u64),
}

/// A session of WebTransport.
#[derive(Debug)]
pub struct Page {
    /// The connection.
    pub browser: Browser,
    session: VarInt,
    outgoing: SendStream,
    incoming: RecvStream,
}

impl Page {
    /// Opens a bidirectional stream of the session.
    ///
    /// # Panics
    /// If the sender grants none.
    pub async fn open_control(&self) -> (SendStream, RecvStream) {
        let (mut control, answers) = self.browser.connection.open_bi().await.expect("a stream");
        let mut signal = BytesMut::new();
        VarInt::from_u32(0x41).encode(&mut signal);
        self.session.encode(&mut signal);
        control.write_all(&signal).await.expect("the connection is open");
        (control, answers)
    }

    /// Watches a broadcast that is alone, as [`Page::watch_named`] does.
    ///
    /// # Panics
    /// If the sender breaks a rule.
    pub async fn watch(
        self,
        token: &'static [u8],
        enough: impl FnMut(&ReceivedFrame) -> bool,
    ) -> (Option<Welcome>, Vec<ReceivedFrame>, Option<(Code, String)>) {
        self.watch_named("", token, enough).await
    }

    /// Watches the broadcast of this name until `enough` has arrived. Returns the welcome, what arrived, and how the
    /// sender closed the session, if it did.
    ///
    /// # Panics
    /// If the sender breaks a rule.
    pub async fn watch_named(
        self,
        name: &str,
        token: &'static [u8],
        mut enough: impl FnMut(&ReceivedFrame) -> bool,
    ) -> (Option<Welcome>, Vec<ReceivedFrame>, Option<(Code, String)>) {
        let hello = Hello {
            broadcast: name.parse().expect("a name"),
            start: None,
            versions: VersionRange::SPOKEN,
            token: Bytes::from_static(token),
            max_bitrate: None,
            decoder: DecoderKind::Linear,
        };
        let mut session = ReceiverSession::new(hello, false);
        let (mut control, answers) = self.open_control().await;
        let (events, mut inbox) = mpsc::channel(64);
        tokio::spawn(read_control(answers, events.clone()));
        tokio::spawn(read_streams(self.browser.connection.clone(), self.session, events));
        let closed = tokio::spawn(read_close(self.incoming));
        let began = Instant::now();
        let (mut welcomed, mut came) = (None, Vec::new());
        loop {
            session.handle_rtt(self.browser.connection.rtt());
            while let Some(output) = session.poll(began.elapsed()) {
                match output {
                    ReceiverOutput::Say(bytes) => {
                        // A sender that refused closes the stream.
                        let _ = control.write_all(&bytes).await;
                        session.handle_said();
                    }
                    ReceiverOutput::Welcome { welcome, .. } => {
                        welcomed = Some(welcome);
                        session.handle_ready(began.elapsed());
                    }
                    ReceiverOutput::Frame(arrived) => {
                        let is_enough = enough(&arrived);
                        came.push(arrived);
                        if is_enough {
                            return (welcomed, came, None);
                        }
                    }
                    ReceiverOutput::Close(end) => panic!("{end}"),
                    _ => {}
                }
            }
            let due = session.poll_timeout().map(|due| due.saturating_sub(began.elapsed()));
            tokio::select! {
                event = inbox.recv() => match event {
                    Some(Event::Control(bytes)) => session.handle_control_bytes(&bytes),
                    Some(Event::Opened(stream)) => session.handle_opened(stream),
                    Some(Event::Bytes(stream, at, bytes)) => {
                        session.handle_stream_bytes(began.elapsed(), stream, at, bytes);
                    }
                    Some(Event::End(stream)) => session.handle_stream_end(began.elapsed(), stream),
                    None => break,
                },
                () = sleep(due.unwrap_or(PATIENCE)) => {}
            }
        }
        session.handle_close();
        while let Some(output) = session.poll(began.elapsed()) {
            if let ReceiverOutput::Frame(arrived) = output {
                came.push(arrived);
            }
        }
        (welcomed, came, closed.await.expect("no panic"))
    }

    /// Closes the session as a page does.
    ///
    /// # Panics
    /// If the sender closed before.
    pub async fn close(mut self, close: Close) {
        let payload = [&close.code.number().to_be_bytes()[..], close.why.as_bytes()].concat();
        self.outgoing.write_all(&frame(0, &frame(0x2843, &payload))).await.expect("the session is open");
        self.outgoing.finish().expect("it is not stopped");
        self.browser.close_code().await;
    }
}

async fn read_control(mut answers: RecvStream, events: mpsc::Sender<Event>) {
    while let Ok(Some(chunk)) = answers.read_chunk(2048, true).await {
        let _ = events.send(Event::Control(chunk.bytes)).await;
    }
}

/// Reads the sender's streams, except the first, which does not belong to the session.
async fn read_streams(connection: Connection, session: VarInt, events: mpsc::Sender<Event>) {
    let mut control = None;
    let mut count = 0;
    while let Ok(mut stream) = connection.accept_uni().await {
        if control.is_none() {
            control = Some(stream);
            continue;
        }
        // A page does not learn the numbers of streams.
        count += 1;
        let number = (1 << 42) + 4 * count + 3;
        let events = events.clone();
        tokio::spawn(async move {
            let mut header = BytesMut::new();
            VarInt::from_u32(0x54).encode(&mut header);
            session.encode(&mut header);
            let mut came = vec![0; header.len()];
            if stream.read_exact(&mut came).await.is_err() {
                return;
            }
            assert_eq!(came, header, "a stream of the session");
            let _ = events.send(Event::Opened(number)).await;
            let mut at = 0;
            while let Ok(Some(chunk)) = stream.read_chunk(MAX_BYTES, true).await {
                let length = chunk.bytes.len() as u64;
                let _ = events.send(Event::Bytes(number, at, chunk.bytes)).await;
                at += length;
            }
            let _ = events.send(Event::End(number)).await;
        });
    }
}

/// Reads the capsule with which a sender closes a session.
async fn read_close(mut incoming: RecvStream) -> Option<(Code, String)> {
    let all = incoming.read_to_end(MAX_BYTES).await.ok()?;
    let mut rest = &all[..];
    for kind in [0, 0x2843] {
        assert_eq!(VarInt::decode(&mut rest).ok()?.into_inner(), kind);
        assert_eq!(VarInt::decode(&mut rest).ok()?.into_inner(), rest.len() as u64);
    }
    let (code, why) = rest.split_at_checked(4)?;
    let code = Code::from_number(u32::from_be_bytes(code.try_into().ok()?).into());
    Some((code, String::from_utf8_lossy(why).into_owned()))
}
