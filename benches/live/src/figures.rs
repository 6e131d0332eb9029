//! From frames and packets to the figures of the table.

use std::time::Duration;

use nestcast_lab::clip::FRAMES_PER_SECOND;
use nestcast_lab::link::Link;
use serde::Serialize;

use crate::clip_sink::Seen;
use crate::links::Scenario;
use crate::run::{Outcome, Scheme};

/// The first second is that of finding the rate.
const SETTLED: Duration = Duration::from_secs(1);
/// A share of the link is what is shown of it in so long.
const SHARE_OVER: Duration = Duration::from_millis(300);

/// One row of the table.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The link.
    pub link: String,
    /// What was sent.
    pub scheme: &'static str,
    /// Bytes of shown frames over what the link carries with all headers, in percent.
    pub used_percent: f64,
    /// The same where the link counts for no more than whole frames need, in percent; a rival chooses what it needs.
    pub used_of_need_percent: Option<f64>,
    /// Frames that were due, and those of them that were not shown.
    pub due: usize,
    /// See `due`.
    pub blank: usize,
    /// What a viewer sees at each frame's time: where none was shown, the picture before.
    pub psnr_db: f64,
    /// That of the worst second.
    pub worst_second_db: f64,
    /// From capture to picture, in ms.
    pub latency_p50_ms: f64,
    /// See `latency_p50_ms`.
    pub latency_p95_ms: f64,
    /// How long packets waited before the link, in ms.
    pub queue_p95_ms: f64,
    /// Packets that the queue had no room for.
    pub dropped: usize,
    /// From a fall of the rate until no packet waits longer than a frame interval, in ms.
    pub down_ms: Option<f64>,
    /// From a rise until 90 % of the share that is reached in the end, in ms.
    pub up_ms: Option<f64>,
}

impl Row {
    /// The figures of one run.
    pub fn new(scheme: Scheme, scenario: &Scenario, outcome: &Outcome) -> Self {
        let end = Duration::from_secs(scenario.seconds.into());
        let at = |seen: &Seen| outcome.first + frames(seen.id);
        let settled: Vec<&Seen> = outcome.seen.iter().filter(|seen| at(seen) >= SETTLED).collect();
        let payload: usize = settled.iter().map(|seen| seen.bytes).sum();
        let passed = || outcome.passages.iter().filter(|passage| passage.at >= SETTLED && passage.at < end);
        let mut latencies: Vec<Duration> = settled.iter().filter_map(|seen| seen.latency).collect();
        let mut waits: Vec<Duration> = passed().filter_map(|passage| passage.wait).collect();
        let seconds = settled.chunks(FRAMES_PER_SECOND as usize).map(mean);
        Self {
            link: scenario.name.clone(),
            scheme: scheme.name(),
            used_percent: 100.0 * payload as f64 * 8.0 / scenario.link.capacity(SETTLED, end),
            used_of_need_percent: (scheme == Scheme::Nestcast)
                .then(|| 100.0 * payload as f64 * 8.0 / needed(&scenario.link, &settled).capacity(SETTLED, end)),
            due: settled.len(),
            blank: settled.iter().filter(|seen| seen.latency.is_none()).count(),
            psnr_db: mean(&settled),
            worst_second_db: seconds.fold(f64::INFINITY, f64::min),
            latency_p50_ms: quantile(&mut latencies, 50),
            latency_p95_ms: quantile(&mut latencies, 95),
            queue_p95_ms: quantile(&mut waits, 95),
            dropped: passed().filter(|passage| passage.wait.is_none()).count(),
            down_ms: scenario.steps.map(|(down, up)| fallen(outcome, down, up)),
            up_ms: scenario.steps.and_then(|(_, up)| risen(outcome, &scenario.link, up, end)),
        }
    }
}

/// The link as far as whole frames need it.
fn needed(link: &Link, seen: &[&Seen]) -> Link {
    let largest = seen.iter().map(|seen| seen.full).max().unwrap_or(0);
    let need = largest * 8 * u64::from(FRAMES_PER_SECOND);
    Link { rates: link.rates.iter().map(|&(at, rate)| (at, rate.min(need))).collect(), ..link.clone() }
}

fn frames(count: u64) -> Duration {
    Duration::from_secs_f64(count as f64 / f64::from(FRAMES_PER_SECOND))
}

fn mean(seen: &[&Seen]) -> f64 {
    seen.iter().map(|seen| seen.psnr).sum::<f64>() / seen.len().max(1) as f64
}

/// In ms.
fn quantile(values: &mut [Duration], percent: usize) -> f64 {
    values.sort();
    let value = values.get((values.len() * percent / 100).min(values.len().saturating_sub(1)));
    value.map_or(0.0, |value| value.as_secs_f64() * 1e3)
}

/// Until the last packet before `up` that waits too long or is dropped.
fn fallen(outcome: &Outcome, down: Duration, up: Duration) -> f64 {
    let late = |wait: Option<Duration>| wait.is_none_or(|wait| wait > frames(1));
    let last = outcome.passages.iter().rfind(|passage| (down..up).contains(&passage.at) && late(passage.wait));
    last.map_or(0.0, |passage| (passage.at - down).as_secs_f64() * 1e3)
}

fn risen(outcome: &Outcome, link: &Link, up: Duration, end: Duration) -> Option<f64> {
    let share = |from: Duration, to: Duration| {
        let within = |seen: &&Seen| (from..to).contains(&(outcome.first + frames(seen.id)));
        let bytes: usize = outcome.seen.iter().filter(within).map(|seen| seen.bytes).sum();
        bytes as f64 * 8.0 / link.capacity(from, to)
    };
    let reached = share(end - Duration::from_secs(2), end - SHARE_OVER);
    let from = |step: u32| up + Duration::from_millis(20) * step;
    let step = (0..).take_while(|&step| from(step) + SHARE_OVER < end);
    let step = step.into_iter().find(|&step| share(from(step), from(step) + SHARE_OVER) >= 0.9 * reached)?;
    Some((from(step) - up).as_secs_f64() * 1e3)
}
