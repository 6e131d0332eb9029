//! Figures for Prometheus over HTTP.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use crate::figures::monitor::Monitor;
use crate::figures::open_metrics::OpenMetrics;

/// The most connections at once; a scraper needs one. The oldest makes room for a new one, so idle ones block nobody.
const CONNECTIONS: usize = 64;
/// The longest time for a request and its answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Answers requests for `/metrics` with a broadcast's figures, for ever. Bounds the number of connections.
pub async fn serve_metrics(listener: TcpListener, monitor: Monitor) {
    let figures = Arc::new(OpenMetrics::new(monitor));
    let mut connections = VecDeque::with_capacity(CONNECTIONS);
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // For instance, no file descriptors are left.
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

fn answer<B>(request: &Request<B>, figures: &OpenMetrics) -> Response<Full<Bytes>> {
    let (status, body) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => (StatusCode::OK, figures.page()),
        (&Method::GET, _) => (StatusCode::NOT_FOUND, "the figures are at /metrics\n".to_owned()),
        _ => (StatusCode::METHOD_NOT_ALLOWED, "use GET\n".to_owned()),
    };
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let kind = if status == StatusCode::OK { OpenMetrics::CONTENT_TYPE } else { "text/plain; charset=utf-8" };
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
