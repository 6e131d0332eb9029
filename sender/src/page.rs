//! Serves the page by which browsers watch, and makes the link to a broadcast.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use nestcast_proto::BroadcastName;
use rustls::ServerConfig;
use tokio::net::TcpListener;

use crate::broadcast::place_of;
use crate::error::Error;
use crate::http::answer::{Answer, Status};
use crate::http::server::{Limits, serve};
use crate::identity::Identity;
use crate::rotation::BrowserCertificate;

/// A page has a dozen files, and browsers fetch six at once. A slow link needs a while for them.
const PAGE_LIMITS: Limits = Limits { connections: 1024, patience: Duration::from_secs(60) };
/// Fields of HTTP that limit the page: it may run and load only these files, and connect to a sender. They also isolate
/// it from other pages, so that it may measure time finely and share memory between its threads.
pub const PAGE_SECURITY_FIELDS: [(&str, &str); 8] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; img-src 'self' blob:; \
         media-src 'self' blob:; connect-src 'self' https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-embedder-policy", "require-corp"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=()"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("cache-control", "no-cache"),
];

/// Fields of the files that a page loads: those of the page, but browsers keep the files for a moment. So the page can have
/// them loaded before its workers ask for them, and the two workers load each of them once.
const FILE_FIELDS: [(&str, &str); PAGE_SECURITY_FIELDS.len()] = {
    let mut fields = PAGE_SECURITY_FIELDS;
    fields[PAGE_SECURITY_FIELDS.len() - 1] = ("cache-control", "max-age=10");
    fields
};

/// The file that tells a page which certificate the sender shows now, because a page that was opened long ago has an
/// older one in its link: `{"port":4433,"fingerprint":"HEX","expires":SECONDS}`, or `{}` if browsers get a certificate
/// that an authority certifies.
pub const CERTIFICATE_FILE: &str = "certificate.json";

/// The file for browsers that ask for none.
const PAGE: &str = "index.html";

/// A file of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageFile {
    /// The file's name and path. A browser that asks for no file gets `index.html`.
    pub name: &'static str,
    /// Its media type, as HTTP states it.
    pub media_type: &'static str,
    /// The contents.
    pub bytes: Bytes,
    /// The contents in gzip, if that was made in advance; else the server makes it.
    pub gzipped: Option<&'static [u8]>,
}

impl PageFile {
    /// Returns a file that is part of the program.
    #[must_use]
    pub const fn from_static(name: &'static str, media_type: &'static str, bytes: &'static [u8]) -> Self {
        Self { name, media_type, bytes: Bytes::from_static(bytes), gzipped: None }
    }

    /// Sets the contents in gzip, if they were made in advance.
    #[must_use]
    pub const fn with_gzipped(mut self, gzipped: Option<&'static [u8]>) -> Self {
        self.gzipped = gzipped;
        self
    }
}

/// Serves the files of a page.
#[derive(Debug)]
pub struct PageServer {
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
}

impl PageServer {
    /// Listens for HTTPS with the certificate of `identity`, or for HTTP without one. Browsers let a page connect only
    /// if it came over HTTPS or from their own machine.
    ///
    /// # Errors
    /// [`Error::Listen`] if the address is unavailable, [`Error::KeyMismatch`] or [`Error::Tls`] if the identity is
    /// unusable.
    pub async fn listen(address: SocketAddr, identity: Option<Identity>) -> Result<Self, Error> {
        let failed = |source| Error::Listen { address, source };
        let tls = identity.map(https).transpose()?;
        Ok(Self { listener: TcpListener::bind(address).await.map_err(failed)?, tls })
    }

    /// Returns the address at which it listens; `None` if the system does not know it.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    /// Returns the address by which browsers open this page: `http://127.0.0.1:8080/`. If it listens at all addresses of
    /// the machine, this has `HOST`, for which the reader puts the machine's name, or without TLS the loopback address.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        Some(format!("{scheme}://{}/", place_of(self.browsed(self.address()?))))
    }

    /// Returns the link to the broadcast of this name at `sender`, which opens this page. Everyone who has the link can read its
    /// `token`. If an address means all addresses of the machine, the link has `HOST`, for which the reader puts the
    /// machine's name; without TLS it has the loopback address, because such a page works on this machine alone.
    #[must_use]
    pub fn link(
        &self,
        sender: SocketAddr,
        broadcast: &BroadcastName,
        certificate: &BrowserCertificate,
        token: Option<&[u8]>,
    ) -> Option<String> {
        let mut link = format!("{}#src=https://{}/{broadcast}", self.place()?, place_of(self.browsed(sender)));
        if let Some((fingerprint, expires)) = certificate.made() {
            let expires = expires.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
            // Writing to a string cannot fail.
            let _ = write!(link, "&fingerprint={fingerprint}&expires={expires}");
        }
        if let Some(token) = token {
            link.push_str("&token=");
            link.extend(token.iter().map(|byte| escaped(*byte)));
        }
        Some(link)
    }

    /// Lets this page connect too, if only pages of some origins may ([`Browsers::origins`](crate::Browsers::origins)).
    pub fn allow(&self, origins: &mut Vec<String>) {
        if let Some(own) = self.address().filter(|_| !origins.is_empty()) {
            origins.extend(origins_of(self.browsed(own), self.tls.is_some()));
        }
    }

    /// Returns the address by which browsers reach an address of this machine.
    fn browsed(&self, address: SocketAddr) -> SocketAddr {
        if self.tls.is_some() || !address.ip().is_unspecified() {
            return address;
        }
        let loopback = if address.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
        SocketAddr::new(loopback, address.port())
    }

    /// Answers requests for the files forever, and for the facts of the certificate that browsers get at the address of
    /// `broadcast` ([`CERTIFICATE_FILE`]), if the page shows one. The number of connections is bounded, for any number of
    /// clients.
    pub async fn serve(self: Arc<Self>, files: Vec<PageFile>, broadcast: Option<(SocketAddr, BrowserCertificate)>) {
        let files: Vec<_> = files.into_iter().map(|file| (file.name, answer_of(file))).collect();
        let answer = move |path: &str| {
            let name = path.strip_prefix('/').filter(|name| !name.is_empty()).unwrap_or(PAGE);
            if let Some((sender, certificate)) = broadcast.as_ref().filter(|_| name == CERTIFICATE_FILE) {
                let facts = facts_of(*sender, certificate).unwrap_or_else(|| "{}".to_owned());
                return Answer { fields: &PAGE_SECURITY_FIELDS, ..Answer::ok("application/json", facts) };
            }
            let answer = files.iter().find(|(known, _)| *known == name).map(|(_, answer)| answer.clone());
            answer.unwrap_or_else(|| Answer {
                fields: &PAGE_SECURITY_FIELDS,
                ..Answer::refusal(Status::NotFound, "there is no such file\n")
            })
        };
        serve(&self.listener, self.tls.clone(), PAGE_LIMITS, answer).await;
    }
}

/// Returns the origins of the page at this address.
fn origins_of(own: SocketAddr, is_https: bool) -> impl Iterator<Item = String> {
    let scheme = if is_https { "https" } else { "http" };
    let of_machine = own.ip().is_loopback().then(|| format!("{scheme}://localhost:{}", own.port()));
    [format!("{scheme}://{own}")].into_iter().chain(of_machine)
}

/// Returns the answer that is a file, gzipped too if that makes it smaller.
fn answer_of(file: PageFile) -> Answer {
    let pack = || {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        // Writing to memory cannot fail.
        let packed = gzip.write_all(&file.bytes).and_then(|()| gzip.finish()).ok()?;
        (packed.len() < file.bytes.len()).then(|| Bytes::from(packed))
    };
    let gzipped = file.gzipped.map(Bytes::from_static).or_else(pack);
    let fields = if file.name == PAGE { &PAGE_SECURITY_FIELDS } else { &FILE_FIELDS };
    Answer { fields, gzipped, ..Answer::ok(file.media_type, file.bytes) }
}

/// Returns the sender's port, its certificate's fingerprint, and when the next certificate replaces it, as JSON.
fn facts_of(sender: SocketAddr, certificate: &BrowserCertificate) -> Option<String> {
    let (fingerprint, expires) = certificate.made()?;
    let (port, expires) = (sender.port(), expires.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs());
    Some(format!(r#"{{"port":{port},"fingerprint":"{fingerprint}","expires":{expires}}}"#))
}

fn https(identity: Identity) -> Result<Arc<ServerConfig>, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| Error::Tls(error.to_string()))?.with_no_client_auth();
    let config = builder.with_single_cert(identity.chain, identity.key);
    config.map(Arc::new).map_err(|error| Error::Tls(error.to_string()))
}

/// Returns a byte as the fragment of a link spells it (RFC 3986, section 3.5).
fn escaped(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
        char::from(byte).to_string()
    } else {
        format!("%{byte:02X}")
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// Returns what a client gets that trusts only `identity`.
    async fn get(address: SocketAddr, identity: &Identity, path: &str) -> String {
        let mut trusted = rustls::RootCertStore::empty();
        trusted.add(identity.chain[0].clone()).expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = builder.expect("versions").with_root_certificates(trusted).with_no_client_auth();
        let stream = tokio::net::TcpStream::connect(address).await.expect("it listens");
        let name = "localhost".try_into().expect("a name");
        let connecting = tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream);
        let mut stream = connecting.await.expect("it is trusted");
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("text");
        answer
    }

    #[tokio::test]
    async fn a_page_comes_over_https_where_there_is_a_certificate() {
        let identity = Identity::generate().expect("random numbers");
        let listening = PageServer::listen(([127, 0, 0, 1], 0).into(), Some(identity.clone())).await;
        let server = Arc::new(listening.expect("a free port"));
        let address = server.address().expect("it is bound");
        let index = PageFile::from_static("index.html", "text/html", b"<p>hello");
        let sender = ([127, 0, 0, 1], 4433).into();
        let certificate = BrowserCertificate::none();
        let serving = tokio::spawn(Arc::clone(&server).serve(vec![index], Some((sender, certificate))));
        let answer = get(address, &identity, "/").await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n"), "{answer}");
        assert!(
            answer.contains("\r\ncontent-security-policy: default-src 'none'; ")
                && answer.contains("\r\ncache-control: no-cache\r\n")
                && answer.ends_with("\r\n\r\n<p>hello")
        );
        assert!(get(address, &identity, "/index.htm").await.starts_with("HTTP/1.1 404"));
        assert!(
            get(address, &identity, "/certificate.json").await.ends_with("\r\n\r\n{}"),
            "browsers know the authority"
        );
        serving.abort();
    }

    #[tokio::test]
    async fn a_connection_answers_requests_until_one_ends_it() {
        let server = Arc::new(PageServer::listen(([127, 0, 0, 1], 0).into(), None).await.expect("a free port"));
        let address = server.address().expect("it is bound");
        let files = ["index.html", "file.js"].map(|name| PageFile::from_static(name, "text/html", b"<p>hello"));
        let serving = tokio::spawn(Arc::clone(&server).serve(files.to_vec(), None));
        let mut stream = tokio::net::TcpStream::connect(address).await.expect("it listens");
        let stays = "GET / HTTP/1.1\r\nconnection: keep-alive\r\n\r\n";
        // Two at once, and then one more that comes in two parts.
        stream.write_all([stays, stays].concat().as_bytes()).await.expect("it reads");
        let mut answers = Vec::new();
        while answers.windows(8).filter(|bytes| bytes == b"<p>hello").count() < 2 {
            assert!(stream.read_buf(&mut answers).await.expect("bytes") > 0, "it stays");
        }
        stream.write_all(b"GET /file.js HT").await.expect("it reads");
        stream.write_all(b"TP/1.1\r\n\r\n").await.expect("it reads");
        stream.read_to_end(&mut answers).await.expect("it ends");
        let answers = String::from_utf8(answers).expect("text");
        assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 3, "{answers}");
        assert_eq!(answers.matches("connection: keep-alive").count(), 2, "{answers}");
        assert_eq!(answers.matches("cache-control: max-age=10").count(), 1, "{answers}");
        serving.abort();
    }

    #[tokio::test]
    async fn the_page_may_connect_where_only_some_may() {
        let origins = |own: &str, is_https| origins_of(own.parse().expect("an address"), is_https).collect::<Vec<_>>();
        assert_eq!(origins("127.0.0.1:8080", false), ["http://127.0.0.1:8080", "http://localhost:8080"]);
        assert_eq!(origins("192.0.2.1:443", true), ["https://192.0.2.1:443"]);
        let page = PageServer::listen(([127, 0, 0, 1], 0).into(), None).await.expect("a free port");
        let [mut all, mut some] = [vec![], vec!["https://a.example".to_owned()]];
        page.allow(&mut all);
        page.allow(&mut some);
        assert_eq!([all.len(), some.len()], [0, 3], "where all may, all may");
    }

    #[tokio::test]
    async fn without_tls_a_link_names_this_machine() {
        let page = PageServer::listen(([0, 0, 0, 0], 0).into(), None).await.expect("a free port");
        let port = page.address().expect("it is bound").port();
        let sender = ([0_u16; 8], 4433).into();
        let link = page.link(sender, &BroadcastName::default(), &BrowserCertificate::none(), None);
        assert_eq!(link, Some(format!("http://127.0.0.1:{port}/#src=https://[::1]:4433/")));
        let identity = Identity::generate().expect("random numbers");
        let page = PageServer::listen(([0, 0, 0, 0], 0).into(), Some(identity)).await.expect("a free port");
        let port = page.address().expect("it is bound").port();
        let link = page.link(sender, &BroadcastName::default(), &BrowserCertificate::none(), None);
        assert_eq!(link, Some(format!("https://HOST:{port}/#src=https://HOST:4433/")));
    }

    #[test]
    fn a_token_of_any_bytes_stands_in_a_link() {
        let escape = |token: &[u8]| token.iter().map(|byte| escaped(*byte)).collect::<String>();
        assert_eq!(escape(b"a-Z9~"), "a-Z9~");
        assert_eq!(escape(b"a&b=c +#%\xC3\xA9\0"), "a%26b%3Dc%20%2B%23%25%C3%A9%00");
    }
}
