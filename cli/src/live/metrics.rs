//! Figures for Prometheus: its text format, version 0.0.4, over HTTP.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt::{Display, Write as _};
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use nestcast_sender::{Monitor, ReceiverStatistics, Statistics};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

/// Connections at once; who scrapes needs one. The oldest makes room for another, so that idle ones keep nobody out.
const CONNECTIONS: usize = 64;
/// How long a request and its answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) async fn listen(address: SocketAddr) -> Result<TcpListener> {
    let listener = TcpListener::bind(address).await;
    listener.with_context(|| format!("metrics cannot be served on {address}: choose another address with --metrics"))
}

/// Answers for ever; without a listener it only waits.
pub(super) async fn serve(listener: Option<TcpListener>, monitor: Monitor) {
    let Some(listener) = listener else { return std::future::pending().await };
    let mut connections = VecDeque::with_capacity(CONNECTIONS);
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // No file descriptors are left, for instance.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        connections.retain(|connection: &AbortHandle| !connection.is_finished());
        if connections.len() == CONNECTIONS {
            connections.pop_front().inspect(AbortHandle::abort);
        }
        let monitor = monitor.clone();
        let connection = tokio::spawn(async move {
            let answer = service_fn(|request| std::future::ready(Ok::<_, Infallible>(answer(&request, &monitor))));
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(PATIENCE).keep_alive(false);
            let served = http.serve_connection(TokioIo::new(stream), answer);
            if let Ok(Err(error)) = tokio::time::timeout(PATIENCE, served).await {
                tracing::debug!("a request for metrics failed: {error}");
            }
        });
        connections.push_back(connection.abort_handle());
    }
}

fn answer<B>(request: &Request<B>, monitor: &Monitor) -> Response<Full<Bytes>> {
    let (status, body) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => (StatusCode::OK, text(&monitor.read())),
        (&Method::GET, _) => (StatusCode::NOT_FOUND, "the figures are at /metrics\n".to_owned()),
        _ => (StatusCode::METHOD_NOT_ALLOWED, "use GET\n".to_owned()),
    };
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let plain = hyper::header::HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}

/// All figures.
fn text(figures: &Statistics) -> String {
    let mut page = Page(String::new());
    page.counter("frames_total", "Frames that were encoded.", figures.frames);
    page.counter("frames_skipped_total", "Pictures that could not be encoded in time.", figures.skipped);
    page.counter("encoded_bytes_total", "Bytes of the encoded frames.", figures.encoded_bytes);
    page.counter("encode_seconds_total", "Time that encoding took.", figures.encode_time.as_secs_f64());
    page.counter("receivers_accepted_total", "Receivers that were let in.", figures.accepted);
    page.head("refusals_total", "counter", "Peers that were turned away or closed, by why.");
    for (code, count) in &figures.refusals {
        page.line("refusals_total", &format!("code=\"{code}\""), count);
    }
    page.counter("retries_total", "Peers whose address was validated first.", figures.retries);
    page.counter("source_failures_total", "Times that the source broke off.", figures.source_failures);
    page.head("receivers", "gauge", "Receivers of now.");
    page.line("receivers", "", figures.receivers.len());
    for (name, kind, help, figure) in FIGURES {
        page.head(name, kind, help);
        for receiver in &figures.receivers {
            page.line(name, &format!("receiver=\"{}\"", receiver.address), figure(receiver));
        }
    }
    page.0
}

type Figure = (&'static str, &'static str, &'static str, fn(&ReceiverStatistics) -> f64);

/// What is told of each receiver.
const FIGURES: [Figure; 10] = [
    ("receiver_target_rate_bits_per_second", "gauge", "What the delay controller lets through.", |r| {
        r.path.target_rate().bits() as f64
    }),
    ("receiver_delivery_rate_bits_per_second", "gauge", "What the path delivered over the last eight frames.", |r| {
        r.delivery_rate.bits() as f64
    }),
    ("receiver_useful_bytes", "gauge", "Most bytes of the next frame that it may have use for.", |r| {
        r.useful_bytes as f64
    }),
    ("receiver_frames_total", "counter", "Frames that were sent.", |r| r.sent.frames as f64),
    ("receiver_frames_skipped_total", "counter", "Frames that the path had no room for.", |r| r.sent.skipped as f64),
    ("receiver_frames_cut_total", "counter", "Frames that were cut when the next was due.", |r| r.sent.cut as f64),
    ("receiver_bytes_total", "counter", "Bytes of frames that were sent.", |r| r.sent.bytes as f64),
    ("receiver_full_bytes_total", "counter", "Bytes that those frames have uncut.", |r| r.sent.full as f64),
    ("receiver_queue_seconds", "gauge", "The last packet's wait in queues.", |r| r.path.queue().as_secs_f64()),
    ("receiver_lost_bytes_total", "counter", "Bytes that were lost on the path.", |r| r.path.lost as f64),
];

/// A page of the text format.
struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string does not fail.
        let _ = write!(self.0, "# HELP nestcast_{name} {help}\n# TYPE nestcast_{name} {kind}\n");
    }

    fn line(&mut self, name: &str, labels: &str, value: impl Display) {
        let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let _ = writeln!(self.0, "nestcast_{name}{labels} {value}");
    }

    fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.head(name, "counter", help);
        self.line(name, "", value);
    }
}
