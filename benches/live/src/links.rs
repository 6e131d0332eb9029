//! The measured links.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use nestcast_lab::link::{
    Link,
    trace::{NORWAY_BUS, NORWAY_METRO},
};

/// A link, its name and the duration of a run.
pub struct Scenario {
    /// The name in the table.
    pub name: String,
    /// The link.
    pub link: Link,
    /// The seconds of a run.
    pub seconds: u32,
    /// Frames a second, if not the clip's.
    pub frames_per_second: Option<u32>,
}

impl Scenario {
    /// Returns constant rates, steps, and traces; 10 ms of round trip, no loss.
    pub fn all() -> Result<Vec<Self>> {
        let mut all: Vec<Self> = [300, 1000, 4000].into_iter().map(Self::constant).collect();
        all.push(Self::steps(&[4000, 1000, 4000], Duration::ZERO));
        all.push(Self::recorded("norway-metro", NORWAY_METRO)?);
        all.push(Self::recorded("norway-bus", NORWAY_BUS)?);
        Ok(all)
    }

    /// Returns a constant rate with a longer round trip, and one with losses.
    #[must_use]
    pub fn impaired() -> [Self; 2] {
        [("50 ms", 50, 0.0), ("1 % loss", 10, 1.0)].map(|(what, rtt, loss)| {
            let scenario = Self::constant(1000);
            let link = over(scenario.link.clone(), rtt, loss);
            Self { name: format!("{}, {what}", scenario.name), link, ..scenario }
        })
    }

    /// Returns constant rates at 50 and 60 frames a second.
    pub fn fast() -> impl Iterator<Item = Self> {
        [(300, 50), (1000, 50), (1000, 60), (4000, 60)].into_iter().map(|(kilobits, frames)| {
            let scenario = Self::constant(kilobits);
            let name = format!("{}, {frames} frames/s", scenario.name);
            Self { name, frames_per_second: Some(frames), ..scenario }
        })
    }

    /// Returns a link of a constant rate in kbit/s.
    #[must_use]
    pub fn constant(kilobits: u64) -> Self {
        let name = format!("{} Mbit/s", kilobits as f64 / 1000.0);
        Self { name, link: Link::constant(kilobits * 1000), seconds: 12, frames_per_second: None }
    }

    /// Returns five receivers of one broadcast, a factor of thirteen apart, two of them with recorded links; for
    /// `seconds`.
    pub fn population(seconds: u32) -> Result<Vec<Self>> {
        let mut all: Vec<Self> = [300, 1000, 4000].into_iter().map(Self::constant).collect();
        all.push(Self::recorded("norway-metro", NORWAY_METRO)?);
        all.push(Self::recorded("norway-bus", NORWAY_BUS)?);
        all.iter_mut().for_each(|scenario| scenario.seconds = seconds);
        Ok(all)
    }

    /// Returns a link with these rates in kbit/s, four seconds each; every change is `later` by this much.
    #[must_use]
    pub fn steps(kilobits: &[u64], later: Duration) -> Self {
        const LINK_SECONDS: u32 = 4;
        let changes = (1..).map(|change| Duration::from_secs((LINK_SECONDS * change).into()) + later);
        let begins = std::iter::once(Duration::ZERO).chain(changes);
        let rates: Vec<_> = begins.zip(kilobits.iter().map(|rate| rate * 1000)).collect();
        let seconds = LINK_SECONDS * u32::try_from(rates.len()).expect("few rates");
        let names: Vec<_> = kilobits.iter().map(|rate| (*rate as f64 / 1000.0).to_string()).collect();
        Self {
            name: format!("{} Mbit/s", names.join("-")),
            link: Link::varying(rates),
            seconds,
            frames_per_second: None,
        }
    }

    /// Gives the link this many times its rate.
    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        if times > 1 {
            self.name = format!("{times} x {}", self.name);
        }
        self.link.rates.iter_mut().for_each(|(_, rate)| *rate = rate.saturating_mul(times.into()));
        self
    }

    /// Reads a trace from a file.
    pub fn open(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Self::recorded(&name, &text).with_context(|| format!("{} is no trace", path.display()))
    }

    fn recorded(name: &str, text: &str) -> Result<Self> {
        const LINK_SECONDS: u32 = 15;
        let link = Link::recorded(text)?;
        Ok(Self { name: name.to_owned(), link, seconds: LINK_SECONDS, frames_per_second: None })
    }
}

/// Sets a link's round trip in milliseconds with empty queues, and its loss in percent.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a percentage")]
pub(crate) fn over(link: Link, rtt: u64, loss: f64) -> Link {
    let seed = link.seed;
    link.with_rtt(Duration::from_millis(rtt)).with_loss((loss.clamp(0.0, 100.0) * 1e4) as u32, seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_has_a_name_of_its_own_and_what_is_no_trace_is_refused() {
        let mut names: Vec<String> = Scenario::all().expect("traces").into_iter().map(|link| link.name).collect();
        names.extend(Scenario::impaired().into_iter().chain(Scenario::fast()).map(|link| link.name));
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 12);
        let fast = Scenario::constant(300).times(4);
        assert_eq!((fast.name.as_str(), fast.link.rate(Duration::ZERO)), ("4 x 0.3 Mbit/s", 1_200_000));
        assert!(Scenario::recorded("t", "a b").is_err());
    }
}
