//! A web service that decides who may watch.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use nestcast_proto::Bitrate;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use ureq::Agent;

use crate::access::{AccessRequest, Authorization, Authorizer, Denial, Grant};

/// The time that the service has for one answer.
const MAX_ANSWER_TIME: Duration = Duration::from_secs(2);
/// The most questions at once.
const MAX_QUESTIONS: usize = 32;
/// The most bytes of an answer.
const MAX_ANSWER: u64 = 4096;

/// Asks a web service about each receiver, by POST with a JSON object:
///
/// ```json
/// {"address": "192.0.2.1:50123", "token": "what the receiver gave", "max_bitrate": 2000000, "broadcast": "cam1"}
/// ```
///
/// `max_bitrate` is the cap that the receiver asks for, in bits per second, or null. `broadcast` is the name of the
/// broadcast, empty if the sender has one alone. A token that is not UTF-8 has U+FFFD
/// for each wrong byte. A status of 200 to 299 admits; the answer may be a JSON object with `name` and `max_bitrate`.
/// 401 says that the token is wrong, any other status of 400 to 499 that the viewer is not admitted. A service that
/// cannot be reached, answers with another status or takes over 2 s does not decide, and the receiver may try again.
///
/// Clones share the most questions at once.
#[derive(Clone)]
pub struct HttpCallback {
    url: String,
    /// The value of the field `Authorization`, if the service wants one.
    authorization: Option<String>,
    agent: Agent,
    questions: Arc<Semaphore>,
}

/// The error for a token that a field of HTTP cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the token for the web service has characters other than visible ones of ASCII: ask the service for another")]
pub struct BearerError;

/// Does not show the URL, which may hold a password, and no token.
impl fmt::Debug for HttpCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpCallback").finish_non_exhaustive()
    }
}

/// The error for text that is no URL of a web service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("give a URL that begins with http:// or https://")]
pub struct UrlError;

#[derive(Serialize)]
struct Question<'a> {
    address: String,
    token: &'a str,
    max_bitrate: Option<u64>,
    broadcast: &'a str,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    name: Option<String>,
    max_bitrate: Option<u64>,
}

impl HttpCallback {
    /// Asks the service at `url`. For `https` the system's authorities must certify it.
    ///
    /// # Errors
    /// [`UrlError`] if that is no URL of HTTP.
    pub fn new(url: &str) -> Result<Self, UrlError> {
        let is_http =
            ["http://", "https://"].iter().any(|scheme| url.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()));
        if !is_http {
            return Err(UrlError);
        }
        let config = Agent::config_builder().timeout_global(Some(MAX_ANSWER_TIME)).http_status_as_error(false);
        let config = config.max_redirects(0).tls_config(
            ureq::tls::TlsConfig::builder()
                .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .root_certs(ureq::tls::RootCerts::PlatformVerifier)
                .build(),
        );
        let agent = config.build().new_agent();
        Ok(Self { url: url.to_owned(), authorization: None, agent, questions: Arc::new(Semaphore::new(MAX_QUESTIONS)) })
    }

    /// Shows the service this token, as `Authorization: Bearer` (RFC 6750).
    ///
    /// # Errors
    /// [`BearerError`] if a field of HTTP cannot hold it.
    pub fn with_token(self, token: &[u8]) -> Result<Self, BearerError> {
        let is_visible = !token.is_empty() && token.iter().all(u8::is_ascii_graphic);
        let text = std::str::from_utf8(token).ok().filter(|_| is_visible).ok_or(BearerError)?;
        Ok(Self { authorization: Some(format!("Bearer {text}")), ..self })
    }

    async fn ask(&self, request: &AccessRequest) -> Result<Grant, Denial> {
        let permit = Arc::clone(&self.questions).acquire_owned().await.map_err(|_| Denial::Undecided)?;
        let (service, request) = (self.clone(), request.clone());
        let answer = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            service.post(&request)
        });
        answer.await.unwrap_or(Err(Denial::Undecided))
    }

    fn post(&self, request: &AccessRequest) -> Result<Grant, Denial> {
        let question = Question {
            address: request.address.to_string(),
            token: &String::from_utf8_lossy(&request.token),
            max_bitrate: request.max_bitrate.map(Bitrate::bits),
            broadcast: request.broadcast.as_str(),
        };
        let undecided = |error: ureq::Error| {
            tracing::warn!("the service that decides who may watch gave no answer: {error}");
            Denial::Undecided
        };
        let body = serde_json::to_vec(&question).map_err(|_| Denial::Undecided)?;
        let post = self.agent.post(&self.url).content_type("application/json");
        let post = self.authorization.iter().fold(post, |post, value| post.header("Authorization", value));
        let mut response = post.send(&body[..]).map_err(undecided)?;
        match response.status().as_u16() {
            200..=299 => {}
            401 => return Err(Denial::Token),
            400..=499 => return Err(Denial::Refused),
            status => {
                tracing::warn!("the service that decides who may watch answered with status {status}");
                return Err(Denial::Undecided);
            }
        }
        let text = response.body_mut().with_config().limit(MAX_ANSWER).read_to_vec().map_err(undecided)?;
        if text.trim_ascii().is_empty() {
            return Ok(Grant::default());
        }
        let Answer { name, max_bitrate } = serde_json::from_slice(&text).map_err(|error| {
            tracing::warn!(
                "the answer of the service that decides who may watch is no JSON object as documented: {error}"
            );
            Denial::Undecided
        })?;
        Ok(Grant { name, max_bitrate: max_bitrate.map(Bitrate::from_bits) })
    }
}

impl Authorizer for HttpCallback {
    fn authorize<'a>(&'a self, request: &'a AccessRequest) -> Authorization<'a> {
        Box::pin(self.ask(request))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use nestcast_proto::BroadcastName;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Answers one question with `answer`, and returns the grant and the question.
    async fn asked(answer: Option<&'static str>) -> (Result<Grant, Denial>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let callback = HttpCallback::new(&format!("http://{address}/watch")).expect("a URL");
        let callback = callback.with_token(b"pass.word").expect("a token");
        assert!(!format!("{callback:?}").contains("pass.word"));
        let service = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a question");
            let mut text = Vec::new();
            while !text.ends_with(b"}") {
                assert!(stream.read_buf(&mut text).await.expect("bytes") > 0);
            }
            if let Some(answer) = answer {
                stream.write_all(answer.as_bytes()).await.expect("it is sent");
            } else {
                std::future::pending::<()>().await;
            }
            String::from_utf8(text).expect("text")
        });
        let request = AccessRequest::new(
            ([192, 0, 2, 1], 9).into(),
            Bytes::from_static(b"se\"cret"),
            Some(Bitrate::from_bits(7000)),
            "cam1".parse().expect("a name"),
        );
        let granted = callback.authorize(&request).await;
        let question = if answer.is_some() { service.await.expect("a question") } else { String::new() };
        (granted, question)
    }

    #[tokio::test]
    async fn the_service_decides_by_its_status_and_may_name_the_viewer() {
        let (granted, question) =
            asked(Some("HTTP/1.1 200 OK\r\nContent-Length: 36\r\n\r\n{\"name\":\"ann\",\"max_bitrate\":2000000}"))
                .await;
        assert_eq!(granted, Ok(Grant { name: Some("ann".into()), max_bitrate: Some(Bitrate::from_bits(2_000_000)) }));
        assert!(question.starts_with("POST /watch HTTP/1.1\r\n"), "{question}");
        let field = question.lines().find(|line| line.to_ascii_lowercase().starts_with("authorization: "));
        assert!(field.is_some_and(|field| field.ends_with(": Bearer pass.word")), "{question}");
        assert!(
            question.ends_with(r#"{"address":"192.0.2.1:9","token":"se\"cret","max_bitrate":7000,"broadcast":"cam1"}"#),
            "{question}"
        );
        for (answer, decided) in [
            ("HTTP/1.1 204 No Content\r\n\r\n", Ok(Grant::default())),
            ("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", Err(Denial::Token)),
            ("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", Err(Denial::Refused)),
            ("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", Err(Denial::Undecided)),
            (
                "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n",
                Err(Denial::Undecided),
            ),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno", Err(Denial::Undecided)),
            ("no HTTP at all\r\n\r\n", Err(Denial::Undecided)),
        ] {
            assert_eq!(asked(Some(answer)).await.0, decided, "{answer}");
        }
    }

    #[tokio::test]
    async fn a_service_that_is_silent_or_away_decides_nothing() {
        assert_eq!(asked(None).await.0, Err(Denial::Undecided));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let away = format!("http://{}/", listener.local_addr().expect("an address"));
        drop(listener);
        let request = AccessRequest::new(([192, 0, 2, 1], 9).into(), Bytes::new(), None, BroadcastName::default());
        assert_eq!(HttpCallback::new(&away).expect("a URL").authorize(&request).await, Err(Denial::Undecided));
        for wrong in ["", "127.0.0.1:80", "ftp://a.example/", "http://"] {
            assert_eq!(HttpCallback::new(wrong).err(), Some(UrlError), "{wrong}");
        }
        for wrong in [&b""[..], b"a b", b"a\r\nX: y", b"\xff"] {
            let service = HttpCallback::new("http://a.example/").expect("a URL");
            assert_eq!(service.with_token(wrong).err(), Some(BearerError));
        }
        assert!(!format!("{:?}", HttpCallback::new("http://user:secret@a.example/")).contains("secret"));
    }
}
