//! Reads a sender's page of figures over HTTP.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// The time for each step of a request.
const STEP_TIMEOUT: Duration = Duration::from_secs(5);
/// The most bytes of a page: 1000 receivers have a tenth of that.
const MAX_PAGE: u64 = 16 * 1024 * 1024;

/// Why a page cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// Nobody listens at the address, or the connection broke.
    #[error("{address} cannot be read: run the sender with `--metrics {address}`")]
    Io {
        /// The address, as it was given.
        address: String,
        /// The system's error.
        source: io::Error,
    },
    /// Something else answers.
    #[error("{address} is not the page of figures of a sender: name the address of `send --metrics`")]
    Other {
        /// The address, as it was given.
        address: String,
    },
}

/// Returns the page at `address`.
pub(super) fn get(address: &str) -> Result<String, PageError> {
    let answer = ask(address).map_err(|source| PageError::Io { address: address.to_owned(), source })?;
    let answer = String::from_utf8_lossy(&answer);
    let whole = answer.split_once("\r\n\r\n").filter(|(head, _)| head.starts_with("HTTP/1.1 200"));
    let page = whole.map(|(_, page)| page.to_owned()).filter(|page| page.contains("nestcast_"));
    page.ok_or_else(|| PageError::Other { address: address.to_owned() })
}

fn ask(address: &str) -> io::Result<Vec<u8>> {
    let found = address.to_socket_addrs()?.next();
    let found = found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the host has no address"))?;
    let mut stream = TcpStream::connect_timeout(&found, STEP_TIMEOUT)?;
    stream.set_read_timeout(Some(STEP_TIMEOUT))?;
    stream.set_write_timeout(Some(STEP_TIMEOUT))?;
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(MAX_PAGE).read_to_end(&mut answer)?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn answered(answer: &'static [u8]) -> Result<String, PageError> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a reader");
            let mut asked = Vec::new();
            while !asked.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).expect("a request");
                asked.extend(byte);
            }
            assert!(asked.starts_with(b"GET /metrics HTTP/1.1\r\n"));
            stream.write_all(answer).expect("it is sent");
        });
        let page = get(&address);
        server.join().expect("a request");
        page
    }

    #[test]
    fn a_senders_page_is_read_and_others_are_named() {
        assert_eq!(
            answered(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nnestcast_receivers 1\n").expect("a page"),
            "nestcast_receivers 1\n"
        );
        for other in [
            &b"HTTP/1.1 404 Not Found\r\n\r\nnestcast_receivers 1\n"[..],
            b"HTTP/1.1 200 OK\r\n\r\nhello",
            b"",
            b"\xff",
        ] {
            assert!(matches!(answered(other), Err(PageError::Other { .. })));
        }
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        drop(listener);
        let error = get(&address).expect_err("nobody listens").to_string();
        assert!(error.ends_with(&format!("run the sender with `--metrics {address}`")), "{error}");
    }
}
