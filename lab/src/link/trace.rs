//! Traces: recorded bandwidths of real links.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

/// 17 seconds of a 3G commute by bus in Norway; `traces/README.md` names its origin.
pub const NORWAY_BUS: &str = include_str!("../../traces/norway_bus_14.txt");
/// 20 seconds of a 3G commute by metro in Oslo.
pub const NORWAY_METRO: &str = include_str!("../../traces/norway_metro_2.txt");

/// Bytes of a packet in a mahimahi trace.
const PACKET_BYTES: u64 = 1500;
/// The time over which the packets of a mahimahi trace are counted.
const SLOT_TIME: Duration = Duration::from_millis(100);
/// The most slots: a trace of a day.
const MAX_SLOTS: u64 = 24 * 3600 * 10;

/// Reads a trace into rates in bits per second, rounded down, each with the moment from which it applies.
///
/// A line has two columns, seconds and Mbit/s; or one, the millisecond at which a packet passes, as mahimahi writes it.
///
/// # Errors If the text has neither form.
pub fn parse(text: &str) -> Result<Vec<(Duration, u64)>> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let lines: Result<Vec<Vec<f64>>> = lines.map(numbers).collect();
    let lines = lines?;
    let Some(first) = lines.first() else { bail!("the trace is empty") };
    ensure!(lines.iter().all(|line| line.len() == first.len()), "the trace's lines have not all as many columns");
    match first.len() {
        1 => packets(&lines.concat()),
        2 => lines.iter().map(|line| Ok((Duration::try_from_secs_f64(line[0])?, bits(line[1])))).collect(),
        columns => bail!("a trace has one or two columns, not {columns}"),
    }
}

fn numbers(line: &str) -> Result<Vec<f64>> {
    let number = |word: &str| {
        let number: f64 = word.parse().with_context(|| format!("`{word}` in a trace is no number"))?;
        ensure!(number.is_finite() && number >= 0.0, "`{word}` in a trace is neither a time nor a bandwidth");
        Ok(number)
    };
    line.split_whitespace().map(number).collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates; it is not negative")]
fn bits(megabits: f64) -> u64 {
    (megabits * 1e6) as u64
}

/// Counts the packets of every slot as a rate.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates; they are not negative")]
fn packets(milliseconds: &[f64]) -> Result<Vec<(Duration, u64)>> {
    let slot = |time: &f64| *time as u64 / SLOT_TIME.as_millis() as u64;
    let count = milliseconds.iter().map(slot).max().unwrap_or(0) + 1;
    ensure!(count <= MAX_SLOTS, "the trace is longer than a day");
    let mut rates = vec![0; usize::try_from(count)?];
    for time in milliseconds {
        rates[usize::try_from(slot(time))?] += PACKET_BYTES * 8 * 1000 / SLOT_TIME.as_millis() as u64;
    }
    Ok((0..).map(|slot| SLOT_TIME * slot).zip(rates).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_trace_are_read() -> Result<()> {
        let seconds = Duration::from_secs;
        assert_eq!(parse("0.0 1.5\n2.0 0.25\n\n")?, [(seconds(0), 1_500_000), (seconds(2), 250_000)]);
        let packet = 1500 * 8 * 10;
        assert_eq!(parse("5\n5\n230\n")?, [(seconds(0), 2 * packet), (SLOT_TIME, 0), (2 * SLOT_TIME, packet)]);
        for trace in [NORWAY_BUS, NORWAY_METRO] {
            assert!(parse(trace)?.len() > 10);
        }
        Ok(())
    }

    #[test]
    fn what_is_no_trace_is_refused() {
        for text in ["", "a b", "1 2 3", "1 2\n3", "-1 2", "1 inf", "NaN", "1e300", "1e300 1"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
