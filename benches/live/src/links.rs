//! The links that are measured.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nestcast_lab::link::Link;

const METRO: &str = include_str!("../data/norway_metro_2.txt");
/// Bytes of an opportunity in a mahimahi trace, and the time over which they are counted.
const OPPORTUNITY: u64 = 1500;
const SLOT: u64 = 100;

/// A link with its name and how long it is measured.
pub struct Scenario {
    /// For the table.
    pub name: String,
    /// The link.
    pub link: Link,
    /// Seconds.
    pub seconds: u32,
    /// When its rate steps down and up, if it does.
    pub steps: Option<(Duration, Duration)>,
}

impl Scenario {
    /// Constant rates, steps, and a trace.
    pub fn all() -> Result<Vec<Self>> {
        let mut all: Vec<Self> = [300, 1000, 4000, 10_000].into_iter().map(Self::constant).collect();
        all.push(Self::steps());
        all.push(Self::trace("norway-metro", METRO)?);
        Ok(all)
    }

    fn constant(kilobits: u64) -> Self {
        let name = format!("{} Mbit/s", kilobits as f64 / 1000.0);
        Self { name, link: Link::constant(kilobits * 1000), seconds: 10, steps: None }
    }

    fn steps() -> Self {
        let (down, up) = (Duration::from_secs(4), Duration::from_secs(8));
        let rates = vec![(Duration::ZERO, 4_000_000), (down, 1_000_000), (up, 10_000_000)];
        Self { name: "4-1-10 Mbit/s".to_owned(), link: Link::varying(rates), seconds: 12, steps: Some((down, up)) }
    }

    /// With a round trip of so many milliseconds without queues, and so many percent of the packets lost.
    #[must_use]
    pub fn over(self, rtt: u64, loss: f64) -> Self {
        Self { link: over(self.link, rtt, loss), ..self }
    }

    /// Reads a trace from a file.
    pub fn open(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Self::trace(&name, &text).with_context(|| format!("{} is no trace", path.display()))
    }

    /// Two columns, seconds and Mbit/s; or one, the millisecond of each packet that goes through, as mahimahi has it.
    fn trace(name: &str, text: &str) -> Result<Self> {
        const SECONDS: u32 = 15;
        let lines: Vec<Vec<f64>> = text
            .lines()
            .map(|line| line.split_whitespace().map(str::parse).collect::<Result<_, _>>())
            .collect::<Result<_, _>>()?;
        let rates = match lines.first().map(Vec::len) {
            Some(2) => lines.iter().map(|line| (Duration::from_secs_f64(line[0]), bits(line[1]))).collect(),
            Some(1) => slots(lines.iter().map(|line| line[0]), SECONDS),
            _ => Vec::new(),
        };
        ensure!(!rates.is_empty(), "it has neither one nor two columns");
        Ok(Self { name: name.to_owned(), link: Link::varying(rates), seconds: SECONDS, steps: None })
    }
}

/// A link with a round trip of so many milliseconds without queues, and so many percent of the packets lost.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a percentage")]
pub(crate) fn over(link: Link, rtt: u64, loss: f64) -> Link {
    let seed = link.seed;
    link.with_rtt(Duration::from_millis(rtt)).with_loss((loss.clamp(0.0, 100.0) * 1e4) as u32, seed)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates of links are small and positive")]
fn bits(megabits: f64) -> u64 {
    (megabits * 1e6) as u64
}

fn slots(opportunities: impl Iterator<Item = f64>, seconds: u32) -> Vec<(Duration, u64)> {
    let slots = u64::from(seconds) * 1000 / SLOT;
    let times: Vec<f64> = opportunities.collect();
    let within = |slot: u64| {
        let range = (slot * SLOT) as f64..((slot + 1) * SLOT) as f64;
        times.iter().filter(|time| range.contains(time)).count() as u64
    };
    let rate = |slot| within(slot) * OPPORTUNITY * 8 * 1000 / SLOT;
    (0..slots).map(|slot| (Duration::from_millis(slot * SLOT), rate(slot))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_trace_are_read() {
        let two = Scenario::trace("t", "0.0 1.5\n2.0 0.25\n").expect("a trace");
        assert_eq!(two.link.rate(Duration::from_secs(3)), 250_000);
        let one = Scenario::trace("t", "5\n5\n130\n").expect("a trace");
        assert_eq!(one.link.rate(Duration::ZERO), 2 * 1500 * 8 * 10);
        assert_eq!(one.link.rate(Duration::from_millis(150)), 1500 * 8 * 10);
        assert!(Scenario::trace("t", "a b").is_err());
        assert!(Scenario::all().is_ok_and(|all| all.len() == 6));
    }
}
