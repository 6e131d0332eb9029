//! A relay in this process, of any version.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::task::JoinSet;
use web_transport_quinn::proto::ConnectResponse;
use web_transport_quinn::{Request, Session};

use super::{Place, certificate, trust};

/// All connections that a relay accepted: a test may write into them by hand.
#[derive(Debug, Clone, Default)]
pub(crate) struct Connections(Arc<Mutex<Vec<quinn::Connection>>>);

impl Connections {
    pub(crate) fn all(&self) -> Vec<quinn::Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, connection: quinn::Connection) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}

/// Sessions that share what they publish. It is no test of a relay, but of both ends.
pub(crate) struct LocalRelay {
    pub(crate) place: Place,
    /// What it shares: a test may publish there by itself.
    pub(crate) origin: moq_net::origin::Producer,
    pub(crate) connections: Connections,
    _tasks: JoinSet<()>,
}

impl LocalRelay {
    /// Starts a relay that speaks what nestcast does.
    pub(crate) fn start() -> Self {
        Self::start_with(&nestcast_moq::MOQ_LITE_VERSIONS, true)
    }

    /// Starts a relay that speaks these versions over QUIC, and if `has_web_transport`, over that too.
    pub(crate) fn start_with(versions: &[&'static str], has_web_transport: bool) -> Self {
        let (certificate, key) = certificate();
        let trust = trust(&certificate);
        let web_transport = has_web_transport.then_some(web_transport_quinn::ALPN);
        let endpoint = listen(&certificate, &key, versions.iter().copied().chain(web_transport));
        let address = endpoint.local_addr().expect("an address");
        let (origin, driver) = moq_net::origin::Producer::new(moq_net::origin::Config::default());
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            moq_net::time::run(driver).await;
        });
        let (shared, versions) = (origin.clone(), versions.to_vec());
        let connections = Connections::default();
        let accepted = connections.clone();
        tasks.spawn(async move {
            let mut sessions = JoinSet::new();
            while let Some(incoming) = endpoint.accept().await {
                let (origin, versions, accepted) = (shared.clone(), versions.clone(), accepted.clone());
                sessions.spawn(async move {
                    let Ok(connection) = incoming.await else { return };
                    accepted.add(connection.clone());
                    let Some(session) = accept(connection, &versions).await else { return };
                    let server = moq_net::Server::new().with_origin(origin);
                    let Ok((session, driver)) = server.accept_lite(Instant::now(), session).await else { return };
                    moq_net::time::run(driver).await;
                    drop(session);
                });
            }
        });
        Self { place: Place::new(address, trust, "garden"), origin, connections, _tasks: tasks }
    }
}

/// Listens for connections in these protocols.
fn listen(certificate: &str, key: &str, protocols: impl Iterator<Item = &'static str>) -> quinn::Endpoint {
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key");
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("a certificate");
    tls.alpn_protocols = protocols.map(|name| name.as_bytes().to_vec()).collect();
    let crypto = quinn::crypto::rustls::QuicServerConfig::try_from(tls).expect("TLS 1.3");
    let config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    quinn::Endpoint::server(config, ([127, 0, 0, 1], 0).into()).expect("a port")
}

/// Returns the session of a connection. As `moq-relay`, it accepts one over WebTransport also if it knows none of the
/// versions, and then names none.
async fn accept(connection: quinn::Connection, versions: &[&str]) -> Option<Session> {
    let session = Session::raw(connection.clone());
    if session.protocol() != Some(web_transport_quinn::ALPN) {
        return Some(session);
    }
    let request = Request::accept(connection).await.ok()?;
    let chosen = request.connect().protocols.iter().find(|offered| versions.contains(&offered.as_str())).cloned();
    let response = chosen.into_iter().fold(ConnectResponse::OK, ConnectResponse::with_protocol);
    request.respond(response).await.ok()
}
