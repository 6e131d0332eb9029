//! Requests of HTTP/1.1 (RFC 9112) and their answers. It does no I/O: bytes in, bytes out.

use std::fmt::Write as _;

use bytes::Bytes;

/// The most bytes of a request, without a body.
pub(crate) const MAX_REQUEST_BYTES: usize = 16 * 1024;
/// The most fields of a request.
const MAX_FIELDS: usize = 64;

/// The answer to a request.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: Status,
    pub(crate) media_type: &'static str,
    /// More fields of the head, each with its value.
    pub(crate) fields: &'static [(&'static str, &'static str)],
    pub(crate) body: Bytes,
    /// The body in gzip (RFC 1952), for clients that accept it.
    pub(crate) gzipped: Option<Bytes>,
}

/// The status of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Ok,
    BadRequest,
    NotFound,
    MethodNotAllowed,
}

impl Status {
    const fn line(self) -> &'static str {
        match self {
            Self::Ok => "200 OK",
            Self::BadRequest => "400 Bad Request",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed => "405 Method Not Allowed",
        }
    }
}

impl Answer {
    pub(crate) fn ok(media_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self { status: Status::Ok, media_type, fields: &[], body: body.into(), gzipped: None }
    }

    /// Returns an answer with a line of text that says why the request is refused.
    pub(crate) const fn refusal(status: Status, why: &'static str) -> Self {
        let body = Bytes::from_static(why.as_bytes());
        Self { status, media_type: "text/plain; charset=utf-8", fields: &[], body, gzipped: None }
    }

    /// Returns the head and body for a client that accepts gzip or does not, on a connection that stays or ends after the
    /// body.
    fn parts(self, accepts_gzip: bool, stays: bool) -> [Bytes; 2] {
        let varies = self.gzipped.is_some();
        let gzipped = self.gzipped.filter(|_| accepts_gzip);
        let is_gzipped = gzipped.is_some();
        let body = gzipped.unwrap_or(self.body);
        let mut head = format!(
            "HTTP/1.1 {}\r\ncontent-type: {}\r\ncontent-length: {}\r\nconnection: {}\r\n",
            self.status.line(),
            self.media_type,
            body.len(),
            if stays { "keep-alive" } else { "close" }
        );
        if is_gzipped {
            head.push_str("content-encoding: gzip\r\n");
        }
        if varies {
            head.push_str("vary: accept-encoding\r\n");
        }
        for (field, value) in self.fields {
            // Writing to a string cannot fail.
            let _ = write!(head, "{field}: {value}\r\n");
        }
        head.push_str("\r\n");
        [head.into(), body]
    }
}

/// Returns whether a client takes gzip, by the value of its field `Accept-Encoding` (RFC 9110, section 12.5.3).
fn accepts_gzip(value: &[u8]) -> bool {
    let is_zero = |weight: &str| weight.trim().strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0));
    std::str::from_utf8(value).unwrap_or_default().split(',').any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        name.trim().eq_ignore_ascii_case("gzip") && !is_zero(weight)
    })
}

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct Reply {
    /// The head and the body.
    pub(crate) parts: [Bytes; 2],
    /// The bytes of the request.
    pub(crate) taken: usize,
    /// Whether the client may send another request on this connection.
    pub(crate) stays: bool,
}

/// Returns the answer to a request; `None` until the request's head is complete. `path` returns the answer to GET for a
/// path, without its query.
pub(crate) fn answer(request: &[u8], path: impl FnOnce(&str) -> Answer) -> Option<Reply> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut parsed = httparse::Request::new(&mut fields);
    let (answer, taken) = match parsed.parse(request) {
        Ok(httparse::Status::Partial) if request.len() < MAX_REQUEST_BYTES => return None,
        Ok(httparse::Status::Complete(taken)) => {
            let asked = parsed.path.unwrap_or_default();
            let asked = asked.split('?').next().unwrap_or_default();
            match parsed.method {
                Some("GET" | "HEAD") => (path(asked), taken),
                _ => (Answer::refusal(Status::MethodNotAllowed, "use GET\n"), 0),
            }
        }
        _ => (Answer::refusal(Status::BadRequest, "this is no request\n"), 0),
    };
    let has = |name: &str, is: fn(&[u8]) -> bool| {
        parsed.headers.iter().any(|field| field.name.eq_ignore_ascii_case(name) && is(field.value))
    };
    let gzip = has("accept-encoding", accepts_gzip);
    // After a request that was refused or has a body, nobody knows where the next one begins.
    let has_body = has("content-length", |_| true) || has("transfer-encoding", |_| true);
    let stays = taken > 0 && !has_body && has("connection", |value| value.eq_ignore_ascii_case(b"keep-alive"));
    let [head, body] = answer.parts(gzip, stays);
    let body = if parsed.method == Some("HEAD") && taken > 0 { Bytes::new() } else { body };
    Some(Reply { parts: [head, body], taken, stays })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(request: &str) -> Option<(String, Bytes)> {
        let path = |path: &str| match path {
            "/packed" => Answer { gzipped: Some("packed".into()), ..Answer::ok("text/plain", "hello") },
            "/page" => Answer { fields: &[("x-one", "1")], ..Answer::ok("text/plain", "hello") },
            _ => Answer::refusal(Status::NotFound, "no\n"),
        };
        let parts = answer(request.as_bytes(), path).map(|reply| reply.parts);
        parts.map(|[head, body]| (String::from_utf8_lossy(&head).into_owned(), body))
    }

    #[test]
    fn a_connection_stays_for_who_asks_if_the_next_request_has_a_place() {
        let stays = |request: &str| {
            let reply = answer(request.as_bytes(), |_| Answer::ok("text/plain", "hello")).expect("an answer");
            let [head, _] = &reply.parts;
            let says = if reply.stays { "\r\nconnection: keep-alive\r\n" } else { "\r\nconnection: close\r\n" };
            assert!(String::from_utf8_lossy(head).contains(says), "{reply:?}");
            reply.stays.then_some(reply.taken)
        };
        let request = "GET /page HTTP/1.1\r\nConnection: Keep-Alive\r\n\r\n";
        assert_eq!(stays(&format!("{request}GET /next")), Some(request.len()));
        assert_eq!(stays(&request.replace("GET", "HEAD")), Some(request.len() + 1));
        for ends in [
            "GET /page HTTP/1.1\r\n\r\n",
            "POST /page HTTP/1.1\r\nconnection: keep-alive\r\n\r\n",
            "GET /page HTTP/1.1\r\nconnection: keep-alive\r\ncontent-length: 3\r\n\r\n",
            "GET /page HTTP/1.1\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n",
            "\u{1}\u{2}\r\n\r\n",
        ] {
            assert_eq!(stays(ends), None, "{ends}");
        }
    }

    #[test]
    fn a_path_is_answered_once_the_request_is_whole() {
        assert_eq!(answered("GET /page HTTP/1.1\r\nhost: a\r\n"), None);
        let (head, body) = answered("GET /page?x HTTP/1.1\r\nhost: a\r\n\r\n").expect("an answer");
        assert_eq!(
            head,
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\nconnection: close\r\nx-one: 1\r\n\r\n"
        );
        assert_eq!(body, "hello");
        let (head, body) = answered("HEAD /page HTTP/1.1\r\n\r\n").expect("an answer");
        assert!(head.contains("content-length: 5\r\n") && body.is_empty());
    }

    #[test]
    fn a_body_is_gzipped_for_who_accepts_it() {
        let packed = |accepted: &str| answered(&format!("GET /packed HTTP/1.1\r\n{accepted}\r\n")).expect("an answer");
        let (head, body) = packed("Accept-Encoding: br;q=1.0, GZIP;q=0.5\r\n");
        assert!(head.contains("content-length: 6\r\n") && head.contains("content-encoding: gzip\r\n"), "{head}");
        assert_eq!(body, "packed");
        for refused in ["", "accept-encoding: br, gzipped\r\n", "accept-encoding: gzip; q=0.00\r\n"] {
            let (head, body) = packed(refused);
            assert!(head.contains("vary: accept-encoding\r\n") && !head.contains("content-encoding"), "{head}");
            assert_eq!(body, "hello");
        }
        let plain = answered("GET /page HTTP/1.1\r\naccept-encoding: gzip\r\n\r\n").expect("an answer");
        assert!(!plain.0.contains("encoding") && plain.1 == "hello", "{}", plain.0);
    }

    #[test]
    fn what_is_no_request_for_a_path_is_refused() {
        let status = |request: &str| answered(request).expect("an answer").0[9..12].to_owned();
        assert_eq!(status("GET /other HTTP/1.1\r\n\r\n"), "404");
        assert_eq!(status("POST /page HTTP/1.1\r\n\r\n"), "405");
        assert_eq!(status("\u{1}\u{2}\r\n\r\n"), "400");
        assert_eq!(status(&format!("GET /{}", "a".repeat(MAX_REQUEST_BYTES))), "400");
        assert_eq!(status(&format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(MAX_FIELDS + 1))), "400");
    }
}
