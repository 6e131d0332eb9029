//! A receiver without manners: it speaks QUIC, trusts any sender, and sends on its control stream whatever a test
//! wants.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::{BroadcastName, Code, Control, DecoderKind, Hello, Message, VersionRange, Welcome};
use quinn::{Connection, ConnectionError, Endpoint, RecvStream, SendStream, TransportConfig, VarInt};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::tls;

/// Longer than anything here lasts.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longer than any frame or model.
const MAX_BYTES: usize = 32 << 20;

/// Returns how hostile receivers connect, with `room` bytes of receive window.
pub fn client(room: u32) -> quinn::ClientConfig {
    with_room(tls::client(), room)
}

/// Does the same, but offers only AES-256-GCM.
pub fn client_of_aes_256(room: u32) -> quinn::ClientConfig {
    with_room(tls::client_of_aes_256(), room)
}

fn with_room(mut config: quinn::ClientConfig, room: u32) -> quinn::ClientConfig {
    let mut transport = TransportConfig::default();
    transport.receive_window(VarInt::from_u32(room)).keep_alive_interval(Some(Duration::from_secs(1)));
    config.transport_config(Arc::new(transport));
    config
}

/// Opens a socket at `address` from which hostile receivers connect.
pub fn endpoint(address: Ipv4Addr, config: quinn::ClientConfig) -> Endpoint {
    let mut endpoint = Endpoint::client((IpAddr::V4(address), 0).into()).expect("a socket");
    endpoint.set_default_client_config(config);
    endpoint
}

/// Returns the hello of a receiver with this token and no cap.
pub fn hello(token: &'static [u8]) -> Bytes {
    let (versions, token) = (VersionRange::SPOKEN, Bytes::from_static(token));
    Message::Hello(Hello {
        versions,
        token,
        max_bitrate: None,
        decoder: DecoderKind::Linear,
        broadcast: BroadcastName::default(),
        start: None,
    })
    .encode()
}

/// One connection to a sender.
#[derive(Debug)]
pub struct HostileReceiver {
    /// The connection.
    pub connection: Connection,
    control: SendStream,
    answers: RecvStream,
}

impl HostileReceiver {
    /// Connects from a socket of its own, with `room` bytes of receive window, and opens the control stream.
    pub async fn connect(sender: SocketAddr, room: u32) -> Self {
        Self::connect_from(&endpoint(Ipv4Addr::LOCALHOST, client(room)), sender).await
    }

    /// Connects from a socket, and opens the control stream.
    pub async fn connect_from(endpoint: &Endpoint, sender: SocketAddr) -> Self {
        let connecting = endpoint.connect(sender, "localhost").expect("a valid name");
        let connection = connecting.await.expect("the sender answers");
        let (control, answers) = connection.open_bi().await.expect("one stream is allowed");
        Self { connection, control, answers }
    }

    /// Writes to the control stream, as far as the sender allows: what it writes after a close is lost.
    pub async fn say(&mut self, bytes: &[u8]) {
        let _ = self.control.write_all(bytes).await;
    }

    /// Returns the sender's answer to a hello.
    pub async fn welcome(&mut self) -> Welcome {
        self.greeting().await.1
    }

    /// Returns that answer, and the version that the sender chose.
    pub async fn greeting(&mut self) -> (u64, Welcome) {
        let mut control = Control::default();
        loop {
            let chunk = self.answers.read_chunk(2048, true).await.expect("the connection is open");
            control.handle_bytes(&chunk.expect("a whole welcome").bytes);
            if let Some(Message::Welcome { version, welcome }) = control.poll().expect("a message") {
                return (version, welcome);
            }
        }
    }

    /// Reads all incoming streams; returns the bytes of each that ended before the connection was closed.
    pub fn read_all(&self) -> JoinHandle<Vec<Bytes>> {
        let connection = self.connection.clone();
        tokio::spawn(async move {
            let mut streams = Vec::new();
            while let Ok(mut stream) = connection.accept_uni().await {
                streams.push(tokio::spawn(async move { stream.read_to_end(MAX_BYTES).await }));
            }
            let mut whole = Vec::new();
            for stream in streams {
                whole.extend(stream.await.expect("no panic").map(Bytes::from));
            }
            whole
        })
    }

    /// Returns the code that the sender closes with; an error if the connection ends without one.
    pub async fn close_code(&self) -> Result<Code, ConnectionError> {
        match timeout(PATIENCE, self.connection.closed()).await.expect("the connection ends") {
            ConnectionError::ApplicationClosed(close) => Ok(Code::from_number(close.error_code.into())),
            other => Err(other),
        }
    }
}
