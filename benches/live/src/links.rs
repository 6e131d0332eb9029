//! The links that are measured.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use nestcast_lab::link::{Link, trace::NORWAY_METRO};

/// Options of every measurement over simulated links.
#[derive(Debug, Args)]
pub struct Common {
    /// Round trip of the links without queues, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 10)]
    pub rtt: u64,
    /// Packets that the links lose, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0)]
    pub loss: f64,
    /// The table to write.
    #[arg(long, value_name = "OUT.csv")]
    pub csv: Option<PathBuf>,
}

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
        all.push(Self::recorded("norway-metro", NORWAY_METRO)?);
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
        Self::recorded(&name, &text).with_context(|| format!("{} is no trace", path.display()))
    }

    fn recorded(name: &str, text: &str) -> Result<Self> {
        const SECONDS: u32 = 15;
        let link = Link::recorded(text)?;
        Ok(Self { name: name.to_owned(), link, seconds: SECONDS, steps: None })
    }
}

/// A link with a round trip of so many milliseconds without queues, and so many percent of the packets lost.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a percentage")]
pub(crate) fn over(link: Link, rtt: u64, loss: f64) -> Link {
    let seed = link.seed;
    link.with_rtt(Duration::from_millis(rtt)).with_loss((loss.clamp(0.0, 100.0) * 1e4) as u32, seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_six_links_and_what_is_no_trace_is_refused() {
        assert!(Scenario::all().is_ok_and(|all| all.len() == 6));
        assert!(Scenario::recorded("t", "a b").is_err());
    }
}
