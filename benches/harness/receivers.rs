//! The receivers of the population benchmark: the bandwidths, and the fraction of receivers with each.
//!
//! [`tally`] derives the table from public traces of bandwidth. The table is committed, because nobody can repeat a
//! benchmark whose data is not in the repository.

use std::{path::Path, time::Duration};

use anyhow::{Context, Result, ensure};
use nestcast_lab::link::trace;
use serde::{Deserialize, Serialize};

/// Bins of bandwidth an octave: the edges are powers of one ratio, in kbit/s.
const EDGES_AN_OCTAVE: f64 = 4.0;
/// The lowest edge that counts as a connection, in kbit/s; below it a receiver has nothing.
const LEAST_KBPS: f64 = 8.0;

/// A bin: receivers of about the same bandwidth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// The collection of traces.
    pub collection: String,
    /// Bandwidth in kbit/s: the bin's lower edge, so that no receiver gets more than its link carried.
    pub kbps: f64,
    /// Fraction of the collection's time.
    pub share: f64,
}

/// A receiver's link, and the fraction of all receivers that have it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Receiver {
    /// Bandwidth in kbit/s.
    pub kbps: f64,
    /// 0 to 1; the shares of a population add up to 1.
    pub share: f64,
}

impl Receiver {
    /// Returns the whole bytes that the link carries in `interval_ms`.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and saturates")]
    pub fn budget(self, interval_ms: f64) -> usize {
        (self.kbps * interval_ms / 8.0 + 1e-6) as usize
    }
}

/// Reads the table with equal weight for every collection, and merges equal bandwidths; lowest first.
pub fn read(path: &Path) -> Result<Vec<Receiver>> {
    let name = || format!("bandwidths from {}", path.display());
    let bins: Vec<Bin> = crate::table::read(path)?;
    population(&bins).with_context(name)
}

fn population(bins: &[Bin]) -> Result<Vec<Receiver>> {
    let mut names: Vec<&str> = bins.iter().map(|bin| bin.collection.as_str()).collect();
    names.dedup();
    let mut receivers: Vec<Receiver> =
        bins.iter().map(|bin| Receiver { kbps: bin.kbps, share: bin.share / names.len() as f64 }).collect();
    receivers.sort_by(|a, b| a.kbps.total_cmp(&b.kbps));
    receivers.dedup_by(|next, kept| {
        let same = next.kbps == kept.kbps;
        kept.share += if same { next.share } else { 0.0 };
        same
    });
    let all: f64 = receivers.iter().map(|receiver| receiver.share).sum();
    ensure!((all - 1.0).abs() < 1e-3, "the shares add up to {all}");
    Ok(receivers)
}

/// Returns the bins of one collection: a folder of text files whose lines hold a time in seconds and a bandwidth in
/// Mbit/s.
///
/// A bandwidth lasts until the next line's time. Files named `*_part*` are left out, because they repeat parts of
/// others.
pub fn tally(collection: &str, folder: &Path) -> Result<Vec<Bin>> {
    let name = || format!("traces in {}", folder.display());
    let mut seconds: std::collections::BTreeMap<i32, f64> = std::collections::BTreeMap::new();
    for entry in std::fs::read_dir(folder).with_context(name)? {
        let path = entry.with_context(name)?.path();
        if path.file_name().is_some_and(|file| file.to_string_lossy().contains("_part")) {
            continue;
        }
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        for (kbps, time) in steps(&text).with_context(|| path.display().to_string())? {
            *seconds.entry(bin(kbps)).or_default() += time;
        }
    }
    let all: f64 = seconds.values().sum();
    ensure!(all > 0.0, "{}: no time in it", folder.display());
    let edge = |bin: i32| if bin == i32::MIN { 0.0 } else { (f64::from(bin) / EDGES_AN_OCTAVE).exp2() };
    let bins = seconds.into_iter().map(|(bin, time)| Bin {
        collection: collection.to_owned(),
        kbps: nestcast_lab::rate_distortion::rounded(edge(bin), 2),
        share: nestcast_lab::rate_distortion::rounded(time / all, 6),
    });
    Ok(bins.collect())
}

/// Returns the bandwidths in kbit/s and how many seconds each lasted; the last one only ends the one before.
fn steps(text: &str) -> Result<Vec<(f64, f64)>> {
    let rates = trace::parse(text)?;
    let held =
        |pair: &[(Duration, u64)]| (pair[0].1 as f64 / 1000.0, pair[1].0.saturating_sub(pair[0].0).as_secs_f64());
    Ok(rates.windows(2).map(held).collect())
}

#[expect(clippy::cast_possible_truncation, reason = "a few hundred at most")]
fn bin(kbps: f64) -> i32 {
    if kbps < LEAST_KBPS { i32::MIN } else { (kbps.log2() * EDGES_AN_OCTAVE + 1e-9).floor() as i32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_what_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        // 1024 kbit/s for 3 s, 0 for 1 s; the last line only ends.
        std::fs::write(folder.path().join("a"), "0 1.024\n3 0\n4 9\n").expect("writes");
        std::fs::write(folder.path().join("a_part0"), "0 100\n400 9\n").expect("writes");
        let bins = tally("test", folder.path()).expect("two bins");
        let found: Vec<(f64, f64)> = bins.iter().map(|bin| (bin.kbps, bin.share)).collect();
        assert_eq!(found, [(0.0, 0.25), (1024.0, 0.75)]);
    }

    #[test]
    fn no_receiver_gets_more_than_its_link_carried() {
        for kbps in [8.0, 9.5, 100.0, 1023.0, 1024.0, 51_234.0] {
            let edge = (f64::from(bin(kbps)) / EDGES_AN_OCTAVE).exp2();
            assert!(edge <= kbps * (1.0 + 1e-9) && kbps < edge * 1.2, "{kbps}: {edge}");
        }
        assert_eq!(Receiver { kbps: 1024.0, share: 1.0 }.budget(250.0), 32_000);
    }

    #[test]
    fn collections_weigh_alike() {
        let bin = |collection: &str, kbps, share| Bin { collection: collection.to_owned(), kbps, share };
        let receivers =
            population(&[bin("a", 8.0, 0.5), bin("a", 16.0, 0.5), bin("b", 16.0, 1.0)]).expect("shares add up");
        assert_eq!(receivers, [Receiver { kbps: 8.0, share: 0.25 }, Receiver { kbps: 16.0, share: 0.75 }]);
        assert!(population(&[bin("a", 8.0, 0.5)]).is_err());
    }
}
