//! Computes the table's figures from frames and packets.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::links::Scenario;
use crate::playout::Presented;
use crate::run::{Outcome, Seen};

/// The first second does not count, because the sender is still finding the rate.
pub const SETTLING_TIME: Duration = Duration::from_secs(1);
/// The last part of a run does not count, because its frames may still be in flight.
const ON_ITS_WAY: Duration = Duration::from_millis(500);
/// A picture that stays for longer is a freeze.
const FREEZE_TIME: Duration = Duration::from_millis(100);

/// One row of the table.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The link.
    pub link: String,
    /// The scheme.
    pub scheme: String,
    /// Bytes of shown frames divided by what the link carries with all headers, in percent.
    pub used_percent: f64,
    /// Mean PSNR of luma in dB of the picture on the screen at each frame.
    pub psnr_db: f64,
    /// The least of these PSNRs.
    pub psnr_least_db: f64,
    /// Frames that were due.
    pub due: usize,
    /// Due frames that were not shown.
    pub not_shown: usize,
    /// The number of times that a picture stayed for more than 100 ms.
    pub freezes: usize,
    /// The longest time that a picture stayed, in ms.
    pub longest_ms: f64,
    /// Stand-ins that were shown for frames that were not there in time.
    pub concealed: u32,
    /// Frames that were shown, but came after the moment at which they were to be shown.
    pub shown_late: usize,
    /// The unevenness of 95 % of the frames, in ms: the difference between the interval in which two frames were shown
    /// and the interval in which they were captured.
    pub unevenness_p95_ms: f64,
    /// How long a frame waited for its moment after it came, in ms; the mean.
    pub delay_added_ms: f64,
    /// From capture until a frame is shown, in ms; encoding and decoding take no virtual time.
    pub latency_p50_ms: f64,
    /// The same at the 95th percentile.
    pub latency_p95_ms: f64,
    /// The wait of packets before the link, in ms.
    pub queue_p95_ms: f64,
}

impl Row {
    /// Computes the figures of one run.
    pub fn new(scheme: &str, scenario: &Scenario, outcome: &Outcome) -> Self {
        let end = Duration::from_secs(scenario.seconds.into());
        let measured = SETTLING_TIME..end - ON_ITS_WAY;
        let seen: Vec<&Seen> = outcome.seen.iter().filter(|seen| measured.contains(&seen.captured)).collect();
        let payload: usize = seen.iter().map(|seen| seen.bytes).sum();
        let shown: Vec<(Duration, Presented)> =
            seen.iter().filter_map(|seen| Some((seen.captured, seen.shown?))).collect();
        let mut latencies: Vec<Duration> =
            shown.iter().map(|(captured, shown)| shown.at.saturating_sub(*captured)).collect();
        let mut uneven: Vec<Duration> = latencies.windows(2).map(|pair| pair[1].abs_diff(pair[0])).collect();
        let waited: Duration = shown.iter().map(|(_, shown)| shown.waited).sum();
        let passed = outcome.passages.iter().filter(|passage| measured.contains(&passage.at));
        let mut waits: Vec<Duration> = passed.filter_map(|passage| passage.wait).collect();
        let stood = standing(&seen, end);
        Self {
            link: scenario.name.clone(),
            scheme: scheme.to_owned(),
            used_percent: round(100.0 * payload as f64 * 8.0 / scenario.link.capacity(measured.start, measured.end)),
            psnr_db: round(seen.iter().map(|seen| seen.psnr).sum::<f64>() / seen.len().max(1) as f64),
            psnr_least_db: round(seen.iter().map(|seen| seen.psnr).fold(f64::INFINITY, f64::min)),
            due: seen.len(),
            not_shown: seen.len() - shown.len(),
            concealed: shown.iter().map(|(_, shown)| shown.stand_ins).sum(),
            shown_late: shown.iter().filter(|(_, shown)| shown.is_late).count(),
            unevenness_p95_ms: quantile(&mut uneven, 95),
            delay_added_ms: milliseconds(waited / u32::try_from(shown.len().max(1)).unwrap_or(u32::MAX)),
            freezes: stood.iter().filter(|time| **time > FREEZE_TIME).count(),
            longest_ms: milliseconds(stood.into_iter().max().unwrap_or_default()),
            latency_p50_ms: quantile(&mut latencies, 50),
            latency_p95_ms: quantile(&mut latencies, 95),
            queue_p95_ms: quantile(&mut waits, 95),
        }
    }
}

/// The heading of the printed table.
pub const TABLE_HEADING: &str = "| link | scheme | link used | PSNR dB, mean / least | not shown | freezes, longest ms | latency p50 / p95 ms | concealed, late | uneven p95 ms | delay added ms | queue p95 ms |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|";

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "| {} | {} | {:.0} % ", self.link, self.scheme, self.used_percent)?;
        write!(f, "| {:.1} / {:.1} | {} of {} ", self.psnr_db, self.psnr_least_db, self.not_shown, self.due)?;
        write!(
            f,
            "| {}, {:.0} | {:.0} / {:.0} ",
            self.freezes, self.longest_ms, self.latency_p50_ms, self.latency_p95_ms
        )?;
        write!(f, "| {}, {} | {:.1} ", self.concealed, self.shown_late, self.unevenness_p95_ms)?;
        write!(f, "| {:.0} | {:.0} |", self.delay_added_ms, self.queue_p95_ms)
    }
}

/// Returns how long each picture stays; the last one stays until everything captured could have arrived.
fn standing(seen: &[&Seen], end: Duration) -> Vec<Duration> {
    let shown: Vec<Duration> = seen.iter().filter_map(|seen| Some(seen.shown?.at)).collect();
    let last = shown.last().map(|last| (end - ON_ITS_WAY).saturating_sub(*last));
    shown.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).chain(last).collect()
}

/// Returns the value in ms that `percent` percent of `values` do not exceed.
pub fn quantile(values: &mut [Duration], percent: usize) -> f64 {
    values.sort();
    let value = values.get((values.len() * percent / 100).min(values.len().saturating_sub(1)));
    value.map_or(0.0, |value| milliseconds(*value))
}

fn milliseconds(time: Duration) -> f64 {
    round(time.as_secs_f64() * 1e3)
}

/// Rounds to a hundredth.
#[must_use]
pub fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use nestcast_lab::link::Link;

    use super::*;

    #[test]
    fn a_freeze_is_counted_and_what_stands_in_it_is_looked_at() {
        let ms = Duration::from_millis;
        let link = Link::constant(1_000_000);
        let scenario = Scenario { name: "1".to_owned(), link, seconds: 3, frames_per_second: None };
        // Frames 40 ms apart, 30 ms late, of which five are not shown.
        let seen = (0..70).map(|id| {
            let captured = ms(1000 + 40 * id);
            let shown = !(20..25).contains(&id);
            let psnr = if shown { 40.0 } else { 20.0 };
            let presented =
                Presented { at: captured + ms(30), waited: ms(7), is_late: id == 25, stand_ins: u32::from(id == 25) };
            Seen { captured, shown: shown.then_some(presented), bytes: if shown { 1000 } else { 0 }, psnr }
        });
        let row = Row::new("x264", &scenario, &Outcome { seen: seen.collect(), passages: Vec::new() });
        // Frames of the last half second do not count.
        assert_eq!((row.due, row.not_shown, row.freezes), (38, 5, 1));
        assert_eq!(
            (row.longest_ms, row.psnr_least_db, row.latency_p50_ms, row.latency_p95_ms),
            (240.0, 20.0, 30.0, 30.0)
        );
        assert_eq!((row.concealed, row.shown_late, row.unevenness_p95_ms, row.delay_added_ms), (1, 1, 0.0, 7.0));
        assert_eq!(row.psnr_db, 37.37);
        assert_eq!(row.used_percent, 17.6);
    }
}
