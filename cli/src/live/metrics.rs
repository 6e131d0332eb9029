//! Figures for Prometheus over HTTP, in the OpenMetrics text format, version 1.0.0.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use nestcast_sender::{Monitor, ReceiverStatistics, Statistics};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet, text::encode};
use prometheus_client::metrics::MetricType::{Counter, Gauge};
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

/// Connections at once; who scrapes needs one. The oldest makes room for another, so that idle ones keep nobody out.
const CONNECTIONS: usize = 64;
/// How long a request and its answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(super) async fn listen(address: SocketAddr) -> Result<TcpListener> {
    let listener = TcpListener::bind(address).await;
    listener.with_context(|| format!("metrics cannot be served on {address}: choose another address with --metrics"))
}

/// Answers for ever; without a listener it only waits.
pub(super) async fn serve(listener: Option<TcpListener>, monitor: Monitor) {
    let Some(listener) = listener else { return std::future::pending().await };
    let mut figures = Registry::with_prefix("nestcast");
    figures.register_collector(Box::new(Figures(monitor)));
    let figures = Arc::new(figures);
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
        let figures = Arc::clone(&figures);
        let connection = tokio::spawn(async move {
            let answer = service_fn(|request| std::future::ready(Ok::<_, Infallible>(answer(&request, &figures))));
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

fn answer<B>(request: &Request<B>, figures: &Registry) -> Response<Full<Bytes>> {
    let (status, body) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => (StatusCode::OK, text(figures)),
        (&Method::GET, _) => (StatusCode::NOT_FOUND, "the figures are at /metrics\n".to_owned()),
        _ => (StatusCode::METHOD_NOT_ALLOWED, "use GET\n".to_owned()),
    };
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let kind = if status == StatusCode::OK { OPEN_METRICS } else { "text/plain; charset=utf-8" };
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn text(figures: &Registry) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = encode(&mut text, figures);
    text
}

/// What a broadcast did so far and each receiver's path, as they are when they are asked for.
#[derive(Debug)]
struct Figures(Monitor);

impl Collector for Figures {
    fn encode(&self, mut page: DescriptorEncoder<'_>) -> fmt::Result {
        let figures = self.0.read();
        for (name, help, figure) in TOTALS {
            page.encode_descriptor(name, help, None, Counter)?.encode_counter(&figure(&figures), NO_EXEMPLAR)?;
        }
        let mut refusals =
            page.encode_descriptor("refusals", "Peers that were turned away or closed, by why", None, Counter)?;
        for (code, count) in &figures.refusals {
            refusals.encode_family(&[("code", *code)])?.encode_counter(count, NO_EXEMPLAR)?;
        }
        let receivers = figures.receivers.len();
        page.encode_descriptor("receivers", "Receivers of now", None, Gauge)?.encode_gauge(&receivers)?;
        let labels = figures.receivers.iter().map(|receiver| (receiver, [("receiver", receiver.address.to_string())]));
        let labels: Vec<_> = labels.collect();
        for (name, help, figure) in COUNTERS {
            let mut counter = page.encode_descriptor(name, help, None, Counter)?;
            for (receiver, label) in &labels {
                counter.encode_family(label)?.encode_counter(&figure(receiver), NO_EXEMPLAR)?;
            }
        }
        for (name, help, figure) in GAUGES {
            let mut gauge = page.encode_descriptor(name, help, None, Gauge)?;
            for (receiver, label) in &labels {
                gauge.encode_family(label)?.encode_gauge(&figure(receiver))?;
            }
        }
        encode_loops(&mut page, &figures)
    }
}

/// The loops of a video, and who is in which.
fn encode_loops(page: &mut DescriptorEncoder<'_>, figures: &Statistics) -> fmt::Result {
    page.encode_descriptor("loops", "Loops that the newest frame was coded in", None, Gauge)?
        .encode_gauge(&figures.loops)?;
    let mut gauge = page.encode_descriptor("loop_receivers", "Receivers in a loop, by its number", None, Gauge)?;
    for (number, count) in figures.loop_receivers() {
        gauge.encode_family(&[("loop", number)])?.encode_gauge(&count)?;
    }
    let mut gauge = page.encode_descriptor("receiver_loop", "The number of a receiver's loop", None, Gauge)?;
    for receiver in &figures.receivers {
        if let Some(number) = receiver.in_loop {
            gauge.encode_family(&[("receiver", receiver.address.to_string())])?.encode_gauge(&number)?;
        }
    }
    Ok(())
}

/// A name, what it means, and where it is found in `F`.
type Figure<F, N> = (&'static str, &'static str, fn(&F) -> N);

/// What is told of the broadcast.
const TOTALS: [Figure<Statistics, f64>; 7] = [
    ("frames", "Frames that were encoded", |all| all.frames as f64),
    ("frames_skipped", "Pictures that could not be encoded in time", |all| all.skipped as f64),
    ("encoded_bytes", "Bytes of the encoded frames", |all| all.encoded_bytes as f64),
    ("encode_seconds", "Time that encoding took", |all| all.encode_time.as_secs_f64()),
    ("receivers_accepted", "Receivers that were let in", |all| all.accepted as f64),
    ("retries", "Peers whose address was validated first", |all| all.retries as f64),
    ("source_failures", "Times that the source broke off", |all| all.source_failures as f64),
];

/// What is counted for each receiver.
const COUNTERS: [Figure<ReceiverStatistics, u64>; 6] = [
    ("receiver_frames", "Frames that were sent", |one| one.sent.frames),
    ("receiver_frames_skipped", "Frames that the path had no room for", |one| one.sent.skipped),
    ("receiver_frames_cut", "Frames that were cut when the next was due", |one| one.sent.cut),
    ("receiver_bytes", "Bytes of frames that were sent", |one| one.sent.bytes),
    ("receiver_full_bytes", "Bytes that those frames have uncut", |one| one.sent.full),
    ("receiver_lost_bytes", "Bytes that were lost on the path", |one| one.path.lost),
];

/// How each receiver's path is.
const GAUGES: [Figure<ReceiverStatistics, f64>; 4] = [
    ("receiver_target_rate_bits_per_second", "What the delay controller lets through", |one| {
        one.path.target_rate().bits() as f64
    }),
    ("receiver_delivery_rate_bits_per_second", "What the path delivered over the last eight frames", |one| {
        one.delivery_rate.bits() as f64
    }),
    ("receiver_useful_bytes", "Most bytes of the next frame that it may have use for", |one| one.useful_bytes as f64),
    ("receiver_queue_seconds", "The last packet's wait in queues", |one| one.path.queue().as_secs_f64()),
];

/// Counters come without examples of what they counted.
const NO_EXEMPLAR: Option<&Exemplar<NoLabelSet, f64>> = None;
