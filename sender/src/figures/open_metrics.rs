//! A broadcast's figures for Prometheus, in the OpenMetrics text format, version 1.0.0.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet, text::encode};
use prometheus_client::metrics::MetricType::{Counter, Gauge};
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Registry;

use crate::figures::monitor::Monitor;
use crate::figures::statistics::{ReceiverStatistics, Statistics};

/// A broadcast's figures as a page of text.
#[derive(Debug)]
pub struct OpenMetrics(Registry);

impl OpenMetrics {
    /// The page's HTTP content type.
    pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

    /// Serves the figures that `monitor` reads.
    #[must_use]
    pub fn new(monitor: Monitor) -> Self {
        let mut registry = Registry::with_prefix("nestcast");
        registry.register_collector(Box::new(Figures(monitor)));
        Self(registry)
    }

    /// Returns the current figures as text.
    #[must_use]
    pub fn page(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.0);
        text
    }
}

/// The figures of a broadcast and of each receiver's path, read when Prometheus asks.
#[derive(Debug)]
struct Figures(Monitor);

impl Collector for Figures {
    fn encode(&self, mut page: DescriptorEncoder<'_>) -> fmt::Result {
        let figures = self.0.read();
        for (name, help, figure) in BROADCAST_TOTALS {
            page.encode_descriptor(name, help, None, Counter)?.encode_counter(&figure(&figures), NO_EXEMPLAR)?;
        }
        let mut refusals =
            page.encode_descriptor("refusals", "Peers that were turned away or closed, by why", None, Counter)?;
        for (code, count) in &figures.refusals {
            refusals.encode_family(&[("code", *code)])?.encode_counter(count, NO_EXEMPLAR)?;
        }
        let receivers = figures.receivers.len();
        page.encode_descriptor("receivers", "Receivers of now", None, Gauge)?.encode_gauge(&receivers)?;
        let labels: Vec<_> = figures.receivers.iter().map(|receiver| (receiver, labels(receiver))).collect();
        for (name, help, figure) in RECEIVER_COUNTERS {
            let mut counter = page.encode_descriptor(name, help, None, Counter)?;
            for (receiver, label) in &labels {
                counter.encode_family(label)?.encode_counter(&figure(receiver), NO_EXEMPLAR)?;
            }
        }
        let help = "Frames by the reason for which they ended where they did";
        let mut reasons = page.encode_descriptor("receiver_cut_reasons", help, None, Counter)?;
        for (receiver, label) in &labels {
            for (reason, count) in receiver.sent.cut_reasons.each() {
                let label = [&label[..], &[("reason", reason.to_owned())]].concat();
                reasons.encode_family(&label)?.encode_counter(&count, NO_EXEMPLAR)?;
            }
        }
        for (name, help, figure) in RECEIVER_GAUGES {
            let mut gauge = page.encode_descriptor(name, help, None, Gauge)?;
            for (receiver, label) in &labels {
                gauge.encode_family(label)?.encode_gauge(&figure(receiver))?;
            }
        }
        encode_renditions(&mut page, &figures)
    }
}

/// Returns the labels that name a receiver: its address, and its viewer's name if that is known.
fn labels(receiver: &ReceiverStatistics) -> Vec<(&'static str, String)> {
    let name = receiver.name.as_ref().map(|name| ("name", name.to_string()));
    [("receiver", receiver.address.to_string())].into_iter().chain(name).collect()
}

/// Encodes a video's renditions, and the receivers of each.
fn encode_renditions(page: &mut DescriptorEncoder<'_>, figures: &Statistics) -> fmt::Result {
    page.encode_descriptor("renditions", "Renditions of the newest frame", None, Gauge)?
        .encode_gauge(&figures.renditions)?;
    let mut gauge =
        page.encode_descriptor("rendition_receivers", "Receivers of a rendition, by its number", None, Gauge)?;
    for (number, count) in figures.rendition_receivers() {
        gauge.encode_family(&[("rendition", number)])?.encode_gauge(&count)?;
    }
    let mut gauge =
        page.encode_descriptor("receiver_rendition", "The number of a receiver's rendition", None, Gauge)?;
    for receiver in &figures.receivers {
        if let Some(number) = receiver.rendition {
            gauge.encode_family(&labels(receiver))?.encode_gauge(&number)?;
        }
    }
    Ok(())
}

/// A name, its meaning, and a function that reads it from `F`.
type Figure<F, N> = (&'static str, &'static str, fn(&F) -> N);

/// The figures of the broadcast.
const BROADCAST_TOTALS: [Figure<Statistics, f64>; 7] = [
    ("frames", "Frames that were encoded", |all| all.frames as f64),
    ("frames_skipped", "Pictures that could not be encoded in time", |all| all.skipped as f64),
    ("encoded_bytes", "Bytes of the encoded frames", |all| all.encoded_bytes as f64),
    ("encode_seconds", "Time that encoding took", |all| all.encode_time.as_secs_f64()),
    ("receivers_accepted", "Receivers that were let in", |all| all.accepted as f64),
    ("retries", "Peers whose address was validated first", |all| all.retries as f64),
    ("source_failures", "Times that the source broke off", |all| all.source_failures as f64),
];

/// The counters of each receiver.
const RECEIVER_COUNTERS: [Figure<ReceiverStatistics, u64>; 9] = [
    ("receiver_frames", "Frames that were sent", |one| one.sent.frames),
    ("receiver_frames_skipped", "Frames that the path had no room for", |one| one.sent.skipped),
    ("receiver_frames_cut", "Frames that were cut when the next was due", |one| one.sent.cut),
    ("receiver_bytes", "Bytes of frames that were sent", |one| one.sent.bytes),
    ("receiver_full_bytes", "Bytes that those frames have uncut", |one| one.sent.full),
    ("receiver_sound_packets", "Packets of sound that were sent", |one| one.sent.sound.packets),
    ("receiver_sound_packets_skipped", "Packets of sound that the path or the cap had no room for", |one| {
        one.sent.sound.skipped
    }),
    ("receiver_sound_bytes", "Bytes of sound that were sent, with heads", |one| one.sent.sound.bytes),
    ("receiver_lost_bytes", "Bytes that were lost on the path", |one| one.path.lost),
];

/// The state of each receiver's path.
const RECEIVER_GAUGES: [Figure<ReceiverStatistics, f64>; 4] = [
    ("receiver_target_rate_bits_per_second", "What the delay controller lets through", |one| {
        one.path.target_rate().bits() as f64
    }),
    ("receiver_delivery_rate_bits_per_second", "What the path delivered over the last eight frames", |one| {
        one.delivery_rate.bits() as f64
    }),
    ("receiver_useful_bytes", "Most bytes of the next frame that it may have use for", |one| one.useful_bytes as f64),
    ("receiver_queue_seconds", "The last packet's wait in queues", |one| one.path.queue().as_secs_f64()),
];

/// Counters have no exemplars.
const NO_EXEMPLAR: Option<&Exemplar<NoLabelSet, f64>> = None;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use nestcast_proto::{Bitrate, PathStats, SendStats};

    use super::*;
    use crate::figures::statistics::Counters;

    #[test]
    fn a_page_has_the_figures_of_now_and_of_who_is_there() {
        let counters = Arc::new(Counters::default());
        let page = OpenMetrics::new(Monitor(Arc::clone(&counters)));
        Counters::add(&counters.frames, 7);
        counters.refuse("full");
        let receiver = counters.serve(
            3,
            ReceiverStatistics {
                number: 3,
                address: ([192, 0, 2, 1], 4433).into(),
                name: Some("ann".into()),
                rendition: Some(1),
                delivery_rate: Bitrate::from_bits(5000),
                useful_bytes: 0,
                sent: SendStats::default(),
                path: PathStats::default(),
            },
        );
        let text = page.page();
        for line in [
            "nestcast_frames_total 7.0",
            "nestcast_refusals_total{code=\"full\"} 1",
            "nestcast_receiver_delivery_rate_bits_per_second{receiver=\"192.0.2.1:4433\",name=\"ann\"} 5000.0",
            "nestcast_receiver_cut_reasons_total{receiver=\"192.0.2.1:4433\",name=\"ann\",reason=\"path_busy\"} 0",
            "nestcast_rendition_receivers{rendition=\"1\"} 1",
            "# EOF",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} is not in\n{text}");
        }
        drop(receiver);
        assert!(!page.page().contains("192.0.2.1") && page.page().contains("\nnestcast_receivers 0\n"));
    }
}
