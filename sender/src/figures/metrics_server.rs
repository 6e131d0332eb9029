//! Serves figures for Prometheus over HTTP.

use std::time::Duration;

use tokio::net::TcpListener;

use crate::figures::monitor::Monitor;
use crate::figures::open_metrics::OpenMetrics;
use crate::http::answer::{Answer, Status};
use crate::http::server::{Limits, serve};

/// A scraper needs one connection.
const SERVER_LIMITS: Limits = Limits { connections: 64, patience: Duration::from_secs(10) };

/// Answers requests for `/metrics` with a broadcast's figures, forever. Bounds the number of connections.
pub async fn serve_metrics(listener: TcpListener, monitor: Monitor) {
    let figures = OpenMetrics::new(monitor);
    let answer = move |path: &str| match path {
        "/metrics" => Answer::ok(OpenMetrics::CONTENT_TYPE, figures.page()),
        _ => Answer::refusal(Status::NotFound, "the figures are at /metrics\n"),
    };
    serve(&listener, None, SERVER_LIMITS, answer).await;
}
