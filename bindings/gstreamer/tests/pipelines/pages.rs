//! The page by which browsers watch what a sink broadcasts.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use gst::prelude::*;

use crate::broadcasts::listening;
use crate::harness::{PATIENCE, Pipeline, eventually};

/// Returns the answer to a request for a file of a page, as in `http://127.0.0.1:8080/`.
fn get(page: &str, file: &str) -> String {
    let host = page.strip_prefix("http://").expect("a page without TLS").trim_end_matches('/');
    let mut stream = TcpStream::connect(host).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time");
    write!(stream, "GET /{file} HTTP/1.1\r\nhost: {host}\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    answer
}

#[test]
fn browsers_get_a_page_at_the_link() {
    let sender = Pipeline::new(
        "videotestsrc is-live=true ! video/x-raw,format=I420,width=64,height=48,framerate=30/1 ! \
         nestcastsink name=send listen=127.0.0.1:0 web=127.0.0.1:0",
    );
    assert_eq!(sender.element("send").property::<String>("link"), "");
    sender.play();
    let (address, _) = listening(&sender);
    let link = sender.element("send").property::<String>("link");
    let (page, source) = link.split_once('#').expect("a page and a sender");
    assert!(source.starts_with(&format!("src=https://{address}/&fingerprint=")), "{link}");
    assert!(get(page, "").contains("<nestcast-player"));
    // Browsers are let in, so there is a certificate for them: the one of the link.
    let certificate = get(page, "certificate.json");
    let fingerprint = source.split('&').find_map(|field| field.strip_prefix("fingerprint=")).expect("a fingerprint");
    assert!(certificate.ends_with('}') && certificate.contains(fingerprint), "{certificate}");
    let bus = sender.0.bus().expect("a bus");
    let message = eventually("no message", || {
        let message = bus.pop_filtered(&[gst::MessageType::Element])?;
        message.structure().filter(|structure| structure.name() == "nestcast-listening").map(ToOwned::to_owned)
    });
    assert_eq!(message.get::<String>("link"), Ok(link.clone()));
    // The page ends with the broadcast.
    sender.0.set_state(gst::State::Null).expect("it stops");
    assert!(TcpStream::connect(page.trim_start_matches("http://").trim_end_matches('/')).is_err());
}

#[test]
fn without_a_page_browsers_are_not_let_in() {
    let sender = Pipeline::new(
        "videotestsrc is-live=true ! video/x-raw,format=I420,width=64,height=48,framerate=30/1 ! \
         nestcastsink name=send listen=127.0.0.1:0",
    );
    sender.play();
    listening(&sender);
    assert_eq!(sender.element("send").property::<String>("link"), "");
}
