//! Requests of HTTP/1.1 (RFC 9112) and their answers. It does no I/O: bytes in, bytes out.

use std::fmt::Write as _;

use bytes::{Bytes, BytesMut};

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
        Self { status: Status::Ok, media_type, fields: &[], body: body.into() }
    }

    /// Returns an answer with a line of text that says why the request is refused.
    pub(crate) const fn refusal(status: Status, why: &'static str) -> Self {
        Self { status, media_type: "text/plain; charset=utf-8", fields: &[], body: Bytes::from_static(why.as_bytes()) }
    }

    /// Returns the head of the answer. The connection ends after the body.
    fn head(&self) -> String {
        let mut head = format!(
            "HTTP/1.1 {}\r\ncontent-type: {}\r\ncontent-length: {}\r\nconnection: close\r\n",
            self.status.line(),
            self.media_type,
            self.body.len()
        );
        for (field, value) in self.fields {
            // Writing to a string cannot fail.
            let _ = write!(head, "{field}: {value}\r\n");
        }
        head + "\r\n"
    }
}

/// Returns the answer to a request, head and body; `None` until the request's head is complete. `path` returns the
/// answer to GET for a path, without its query.
pub(crate) fn answer(request: &[u8], path: impl FnOnce(&str) -> Answer) -> Option<[Bytes; 2]> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut parsed = httparse::Request::new(&mut fields);
    let (answer, has_body) = match parsed.parse(request) {
        Ok(httparse::Status::Partial) if request.len() < MAX_REQUEST_BYTES => return None,
        Ok(httparse::Status::Complete(_)) => {
            let asked = parsed.path.unwrap_or_default();
            let asked = asked.split('?').next().unwrap_or_default();
            match parsed.method {
                Some("GET") => (path(asked), true),
                Some("HEAD") => (path(asked), false),
                _ => (Answer::refusal(Status::MethodNotAllowed, "use GET\n"), true),
            }
        }
        _ => (Answer::refusal(Status::BadRequest, "this is no request\n"), true),
    };
    let head = BytesMut::from(answer.head().as_bytes()).freeze();
    Some([head, if has_body { answer.body } else { Bytes::new() }])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(request: &str) -> Option<(String, Bytes)> {
        let path = |path: &str| match path {
            "/page" => Answer { fields: &[("x-one", "1")], ..Answer::ok("text/plain", "hello") },
            _ => Answer::refusal(Status::NotFound, "no\n"),
        };
        answer(request.as_bytes(), path).map(|[head, body]| (String::from_utf8_lossy(&head).into_owned(), body))
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
    fn what_is_no_request_for_a_path_is_refused() {
        let status = |request: &str| answered(request).expect("an answer").0[9..12].to_owned();
        assert_eq!(status("GET /other HTTP/1.1\r\n\r\n"), "404");
        assert_eq!(status("POST /page HTTP/1.1\r\n\r\n"), "405");
        assert_eq!(status("\u{1}\u{2}\r\n\r\n"), "400");
        assert_eq!(status(&format!("GET /{}", "a".repeat(MAX_REQUEST_BYTES))), "400");
        assert_eq!(status(&format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(MAX_FIELDS + 1))), "400");
    }
}
