//! Serves figures for Prometheus over HTTP.

use std::collections::BTreeMap;
use std::time::Duration;

use nestcast_proto::BroadcastName;
use tokio::net::TcpListener;

use crate::figures::monitor::Monitor;
use crate::figures::open_metrics::OpenMetrics;
use crate::http::answer::{Answer, Status};
use crate::http::server::{Limits, serve};

/// A scraper needs one connection.
const SERVER_LIMITS: Limits = Limits { connections: 64, patience: Duration::from_secs(10) };

/// Answers requests for `/metrics` with the figures of [`Broadcast::monitors`](crate::Broadcast::monitors), forever. Bounds the number of connections.
pub async fn serve_metrics(listener: TcpListener, monitors: BTreeMap<BroadcastName, Monitor>) {
    let figures = OpenMetrics::new(monitors);
    let answer = move |path: &str| match path {
        "/metrics" => Answer::ok(OpenMetrics::CONTENT_TYPE, figures.page()),
        _ => Answer::refusal(Status::NotFound, "the figures are at /metrics\n"),
    };
    serve(&listener, None, SERVER_LIMITS, answer).await;
}
