//! The figures of broadcasts for Prometheus, in the OpenMetrics text format, version 1.0.0.

use std::collections::BTreeMap;
use std::fmt;

use nestcast_proto::{BroadcastName, Code};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType::{Counter, Gauge};
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Registry;

use crate::figures::monitor::Monitor;
use crate::figures::statistics::{ReceiverStatistics, Statistics};

/// The figures of a sender's broadcasts as a page of text.
#[derive(Debug)]
pub struct OpenMetrics(Registry);

impl OpenMetrics {
    /// The page's HTTP content type.
    pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

    /// Serves the figures that these read, by the name of the broadcast, which is a label. A broadcast without a name has
    /// no such label.
    #[must_use]
    pub fn new(monitors: BTreeMap<BroadcastName, Monitor>) -> Self {
        let mut registry = Registry::with_prefix("nestcast");
        registry.register_collector(Box::new(Figures(monitors)));
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

/// The figures of broadcasts and of each receiver's path, read when Prometheus asks.
#[derive(Debug)]
struct Figures(BTreeMap<BroadcastName, Monitor>);

/// The labels of a sample.
type Labels = Vec<(&'static str, String)>;

/// The figures of one broadcast, and its label, if any.
struct Broadcast {
    figures: Statistics,
    label: Labels,
}

impl Broadcast {
    /// Returns its receivers with their labels: the broadcast, the address, and the viewer's name if that is known.
    fn receivers(&self) -> impl Iterator<Item = (&ReceiverStatistics, Labels)> {
        self.figures.receivers.iter().map(|receiver| {
            let name = receiver.name.as_ref().map(|name| ("name", name.to_string()));
            let own = [("receiver", receiver.address.to_string())].into_iter().chain(name);
            (receiver, self.label.iter().cloned().chain(own).collect())
        })
    }

    /// Returns the broadcast's label and another one.
    fn with(&self, label: &'static str, value: impl ToString) -> Labels {
        self.label.iter().cloned().chain([(label, value.to_string())]).collect()
    }
}

impl Collector for Figures {
    fn encode(&self, mut page: DescriptorEncoder<'_>) -> fmt::Result {
        let broadcasts: Vec<_> = self.0.iter().map(broadcast).collect();
        for (name, help, figure) in BROADCAST_TOTALS {
            let mut counter = page.encode_descriptor(name, help, None, Counter)?;
            for it in &broadcasts {
                put_counter(&mut counter, &it.label, figure(&it.figures))?;
            }
        }
        let help = "Peers that were turned away or closed, by why";
        let mut refusals = page.encode_descriptor("refusals", help, None, Counter)?;
        for it in &broadcasts {
            for (code, count) in all_refusals(&it.figures) {
                put_counter(&mut refusals, &it.with("code", code), count)?;
            }
        }
        let mut gauge = page.encode_descriptor("receivers", "Receivers of now", None, Gauge)?;
        for it in &broadcasts {
            put_gauge(&mut gauge, &it.label, it.figures.receivers.len())?;
        }
        for (name, help, figure) in RECEIVER_COUNTERS {
            let mut counter = page.encode_descriptor(name, help, None, Counter)?;
            for (receiver, label) in broadcasts.iter().flat_map(Broadcast::receivers) {
                put_counter(&mut counter, &label, figure(receiver))?;
            }
        }
        let help = "Frames by the reason for which they ended where they did";
        let mut reasons = page.encode_descriptor("receiver_cut_reasons", help, None, Counter)?;
        for (receiver, label) in broadcasts.iter().flat_map(Broadcast::receivers) {
            for (reason, count) in receiver.sent.cut_reasons.each() {
                put_counter(&mut reasons, &[&label[..], &[("reason", reason.to_owned())]].concat(), count)?;
            }
        }
        for (name, help, figure) in RECEIVER_GAUGES {
            let mut gauge = page.encode_descriptor(name, help, None, Gauge)?;
            for (receiver, label) in broadcasts.iter().flat_map(Broadcast::receivers) {
                put_gauge(&mut gauge, &label, figure(receiver))?;
            }
        }
        encode_renditions(&mut page, &broadcasts)
    }
}

fn broadcast((name, monitor): (&BroadcastName, &Monitor)) -> Broadcast {
    let label = (!name.is_empty()).then(|| ("broadcast", name.to_string()));
    Broadcast { figures: monitor.read(), label: label.into_iter().collect() }
}

/// Returns how many peers were refused for each reason, also for those that did not occur: `increase` of Prometheus
/// misses the first of a counter that was not there before it.
fn all_refusals(figures: &Statistics) -> BTreeMap<&'static str, u64> {
    let codes = (1..).map(Code::from_number).take_while(|code| !matches!(code, Code::Other(_)));
    let mut refusals: BTreeMap<_, _> = codes.map(|code| (code.name(), 0)).chain([("handshake", 0)]).collect();
    refusals.extend(&figures.refusals);
    refusals
}

fn put_counter<N: EncodeCounterValue>(counter: &mut MetricEncoder<'_>, labels: &Labels, value: N) -> fmt::Result {
    if labels.is_empty() {
        return counter.encode_counter(&value, NO_EXEMPLAR);
    }
    counter.encode_family(labels)?.encode_counter(&value, NO_EXEMPLAR)
}

fn put_gauge<N: EncodeGaugeValue>(gauge: &mut MetricEncoder<'_>, labels: &Labels, value: N) -> fmt::Result {
    if labels.is_empty() {
        return gauge.encode_gauge(&value);
    }
    gauge.encode_family(labels)?.encode_gauge(&value)
}

/// Encodes the renditions of videos, and the receivers of each.
fn encode_renditions(page: &mut DescriptorEncoder<'_>, broadcasts: &[Broadcast]) -> fmt::Result {
    let mut gauge = page.encode_descriptor("renditions", "Renditions of the newest frame", None, Gauge)?;
    for it in broadcasts {
        put_gauge(&mut gauge, &it.label, it.figures.renditions)?;
    }
    let help = "Receivers of a rendition, by its number";
    let mut gauge = page.encode_descriptor("rendition_receivers", help, None, Gauge)?;
    for it in broadcasts {
        for (number, count) in it.figures.rendition_receivers() {
            put_gauge(&mut gauge, &it.with("rendition", number), count)?;
        }
    }
    let help = "The number of a receiver's rendition";
    let mut gauge = page.encode_descriptor("receiver_rendition", help, None, Gauge)?;
    for (receiver, label) in broadcasts.iter().flat_map(Broadcast::receivers) {
        receiver.rendition.map_or(Ok(()), |number| put_gauge(&mut gauge, &label, number))?;
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
const RECEIVER_GAUGES: [Figure<ReceiverStatistics, f64>; 5] = [
    ("receiver_target_rate_bits_per_second", "What the delay controller lets through", |one| {
        one.path.target_rate().bits() as f64
    }),
    ("receiver_delivery_rate_bits_per_second", "What the path delivered over the last eight frames", |one| {
        one.delivery_rate.bits() as f64
    }),
    ("receiver_useful_bytes", "Most bytes of the next frame that it may have use for", |one| one.useful_bytes as f64),
    ("receiver_rtt_seconds", "The path's round trip, with the wait in its queues", |one| one.path.rtt.as_secs_f64()),
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
        let name: BroadcastName = "cam1".parse().expect("a name");
        let other = Monitor(Arc::default());
        let monitors = [(BroadcastName::default(), Monitor(Arc::clone(&counters))), (name, other)];
        let page = OpenMetrics::new(monitors.into());
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
            "nestcast_frames_total{broadcast=\"cam1\"} 0.0",
            "nestcast_receivers{broadcast=\"cam1\"} 0",
            "nestcast_refusals_total{code=\"full\"} 1",
            "nestcast_refusals_total{code=\"token\"} 0",
            "nestcast_refusals_total{code=\"handshake\"} 0",
            "nestcast_refusals_total{broadcast=\"cam1\",code=\"no_broadcast\"} 0",
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
