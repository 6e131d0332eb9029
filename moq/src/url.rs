//! The address of a broadcast at a relay.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use bytes::Bytes;
use nestcast_receiver::Trust;
use url::{Host, Url, form_urlencoded};

/// The field of a query that has the token, as moq-relay names it.
const TOKEN_FIELD: &str = "jwt";
/// The port of QUIC and HTTPS, if a URL names none.
const DEFAULT_PORT: u16 = 443;

/// A broadcast at a relay: `moq://HOST:PORT/PATH` over QUIC itself, or `https://HOST:PORT/PATH` over WebTransport. The
/// last part of the path is the broadcast's name. What comes before it, and the query with a token, is for the relay.
///
/// ```
/// use nestcast_moq::RelayUrl;
///
/// let url: RelayUrl = "moq://relay.example:4443/live/garden?jwt=abc".parse()?;
/// assert_eq!((url.host(), url.port(), url.broadcast()), ("relay.example", 4443, "garden"));
/// assert_eq!(url.path(), "/live?jwt=abc");
/// assert_eq!(url.to_string(), "moq://relay.example:4443/live/garden", "without the token");
/// # Ok::<(), nestcast_moq::RelayUrlError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct RelayUrl {
    is_web_transport: bool,
    host: String,
    port: u16,
    /// The path without the broadcast's name.
    scope: String,
    broadcast: String,
    query: Option<String>,
    /// What [`RelayUrl::with_token`] added; empty without one.
    token: Bytes,
    /// Where later tokens are.
    token_file: Option<PathBuf>,
}

/// Why a text is no address of a broadcast.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "give moq://HOST:PORT/BROADCAST or https://HOST:PORT/BROADCAST, the relay's address and the broadcast's name there"
)]
pub struct RelayUrlError;

/// The error for a second token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the relay's URL has a token after ?jwt= already: leave one of the two out")]
pub struct SecondTokenError;

impl RelayUrl {
    /// Adds a token for the relay to the query, as `jwt`. So it need not stand in a command line, which other users of
    /// the machine can read.
    ///
    /// # Errors
    /// [`SecondTokenError`] if the query has one.
    pub fn with_token(mut self, token: &[u8]) -> Result<Self, SecondTokenError> {
        let query = self.query.as_deref().unwrap_or_default();
        if !self.token.is_empty() || form_urlencoded::parse(query.as_bytes()).any(|(field, _)| field == TOKEN_FIELD) {
            return Err(SecondTokenError);
        }
        self.token = Bytes::copy_from_slice(token);
        Ok(self)
    }

    /// Names a file that may be replaced while the broadcast runs. Its token takes the place of that of
    /// [`RelayUrl::with_token`] in each connection that begins later. A pipe is left out: what came through it stays.
    #[must_use]
    pub fn with_token_file(self, file: PathBuf) -> Self {
        Self { token_file: Some(file).filter(|file| file.is_file()), ..self }
    }

    /// Returns whether the relay is reached over WebTransport, and not over QUIC itself.
    #[must_use]
    pub const fn is_web_transport(&self) -> bool {
        self.is_web_transport
    }

    /// Returns the relay's host, a name or an address.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the relay's port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Returns the broadcast's name, relative to [`RelayUrl::path`].
    #[must_use]
    pub fn broadcast(&self) -> &str {
        &self.broadcast
    }

    /// Returns the path of the connection, with the query: what a relay checks a token against.
    #[must_use]
    pub fn path(&self) -> String {
        let token: String = form_urlencoded::byte_serialize(&self.token).collect();
        let token = (!token.is_empty()).then(|| format!("{TOKEN_FIELD}={token}"));
        let fields: Vec<_> = self.query.iter().chain(&token).map(String::as_str).collect();
        let query = if fields.is_empty() { String::new() } else { format!("?{}", fields.join("&")) };
        format!("/{}{query}", self.scope)
    }

    /// Returns the link by which the viewer at `page` shows the broadcast. It has the fingerprint that is trusted, if there
    /// is one, and never the token.
    ///
    /// ```
    /// use nestcast_moq::RelayUrl;
    /// use nestcast_receiver::Trust;
    ///
    /// let url: RelayUrl = "moq://127.0.0.1:4443/garden?jwt=abc".parse()?;
    /// let link = url.page_link("http://127.0.0.1:8080/", &Trust::Authorities("ca.pem".into()));
    /// assert_eq!(link, "http://127.0.0.1:8080/#src=moq://127.0.0.1:4443/garden");
    /// # Ok::<(), nestcast_moq::RelayUrlError>(())
    /// ```
    #[must_use]
    pub fn page_link(&self, page: &str, trust: &Trust) -> String {
        // What a page reads otherwise in a query.
        let source = self.to_string().replace('%', "%25").replace('&', "%26").replace('+', "%2B");
        let fingerprint = match trust {
            Trust::Fingerprint(digest) => {
                let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("&fingerprint={digits}")
            }
            Trust::Authorities(_) => String::new(),
        };
        format!("{page}#src={source}{fingerprint}")
    }

    pub(crate) const fn token(&self) -> &Bytes {
        &self.token
    }

    pub(crate) const fn token_file(&self) -> Option<&PathBuf> {
        self.token_file.as_ref()
    }

    pub(crate) fn set_token(&mut self, token: Bytes) {
        self.token = token;
    }

    /// Returns the URL of the WebTransport connection, if it is one.
    pub(crate) fn web_transport(&self) -> Option<Url> {
        if !self.is_web_transport {
            return None;
        }
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        Url::parse(&format!("https://{host}:{}{}", self.port, self.path())).ok()
    }
}

impl FromStr for RelayUrl {
    type Err = RelayUrlError;

    fn from_str(text: &str) -> Result<Self, RelayUrlError> {
        let url = Url::parse(text).map_err(|_| RelayUrlError)?;
        let is_web_transport = match url.scheme() {
            "moq" | "moqt" | "moql" => false,
            "https" => true,
            _ => return Err(RelayUrlError),
        };
        let host = match url.host().ok_or(RelayUrlError)? {
            Host::Domain(name) => name.trim_start_matches('[').trim_end_matches(']').to_owned(),
            Host::Ipv4(address) => address.to_string(),
            Host::Ipv6(address) => address.to_string(),
        };
        let path = url.path().trim_matches('/');
        let (scope, broadcast) = path.rsplit_once('/').unwrap_or(("", path));
        let has_user = !url.username().is_empty() || url.password().is_some();
        if host.is_empty() || broadcast.is_empty() || has_user || url.fragment().is_some() {
            return Err(RelayUrlError);
        }
        Ok(Self {
            is_web_transport,
            host,
            port: url.port().unwrap_or(DEFAULT_PORT),
            scope: scope.to_owned(),
            broadcast: broadcast.to_owned(),
            query: url.query().filter(|query| !query.is_empty()).map(str::to_owned),
            token: Bytes::new(),
            token_file: None,
        })
    }
}

/// Without the query, which may be a secret.
impl fmt::Display for RelayUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_web_transport { "https" } else { "moq" };
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let scope = if self.scope.is_empty() { String::new() } else { format!("{}/", self.scope) };
        write!(f, "{scheme}://{host}:{}/{scope}{}", self.port, self.broadcast)
    }
}

impl fmt::Debug for RelayUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_from_elsewhere_joins_the_query_and_is_shown_nowhere() {
        let with = |text: &str| text.parse::<RelayUrl>().expect("an address").with_token(b"a.b-c_d+/");
        let url = with("moq://relay/live/cam").expect("a token");
        assert_eq!(url.path(), "/live?jwt=a.b-c_d%2B%2F");
        assert!(!format!("{url} {url:?}").contains("a.b-c_d"));
        assert_eq!(with("https://relay/cam?x=1").expect("a token").path(), "/?x=1&jwt=a.b-c_d%2B%2F");
        assert_eq!(with("moq://relay/cam?jwt=abc"), Err(SecondTokenError));
    }

    #[test]
    fn urls_name_a_relay_and_a_broadcast() {
        let parse = |text: &str| text.parse::<RelayUrl>();
        let url = parse("https://[::1]:4443/a/b/c").expect("an address");
        assert_eq!((url.host(), url.path().as_str(), url.broadcast()), ("::1", "/a/b", "c"));
        assert_eq!(url.web_transport().expect("a URL").as_str(), "https://[::1]:4443/a/b");
        let odd = parse("https://[::1]:4443/a&b/c%20d+e?jwt=secret").expect("an address");
        let link = odd.page_link("https://host:9/", &Trust::Fingerprint([0xA0; 32]));
        let digits = "a0".repeat(32);
        assert_eq!(link, format!("https://host:9/#src=https://[::1]:4443/a%26b/c%2520d%2Be&fingerprint={digits}"));
        let url = parse("moq://127.0.0.1/cam/").expect("an address");
        assert_eq!((url.port(), url.path().as_str(), url.is_web_transport()), (443, "/", false));
        let url = parse("moq://[::1]:9/cam").expect("an address");
        assert_eq!((url.host(), url.to_string().as_str()), ("::1", "moq://[::1]:9/cam"));
        for wrong in
            ["", "relay:443", "moq://relay", "moq://relay/", "http://relay/cam", "moq://u:p@relay/cam", "moq:///cam"]
        {
            assert_eq!(parse(wrong), Err(RelayUrlError), "{wrong}");
        }
    }
}
