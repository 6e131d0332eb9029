//! Whether a receiver that reads nothing, vanished or is slow changes another's goodput.
//!
//! Each run with such receivers lies between two runs without them, and is compared with their mean.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use nestcast_live_benches::neighbours::{Neighbour, goodput};
use serde::Serialize;

/// Measures a healthy receiver's goodput, alone and with others.
#[derive(Parser)]
struct Options {
    /// Simultaneous neighbours of one kind.
    #[arg(long, default_value_t = 4)]
    count: usize,
    /// Runs of each kind.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Measured seconds of each run.
    #[arg(long, default_value_t = 6)]
    seconds: u64,
    /// Round trip of the link with an empty queue, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 10)]
    rtt: u64,
    /// Packets that the link loses, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0)]
    loss: f64,
    /// The table to write.
    #[arg(long, value_name = "OUT.csv")]
    csv: Option<PathBuf>,
}

/// A run with neighbours, and the two around it.
#[derive(Debug, Serialize)]
struct Row {
    path: &'static str,
    neighbours: &'static str,
    count: usize,
    mbits_per_second: f64,
    alone_before: f64,
    alone_after: f64,
    change_percent: f64,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let mut table = csv::Writer::from_writer(Vec::new());
    println!("path        neighbours           Mbit/s  alone before, after  change");
    for (path, link) in [("4 Mbit/s", Some((options.rtt, options.loss))), ("loopback", None)] {
        let run = |neighbour| goodput(neighbour, options.count, link, Duration::from_secs(options.seconds));
        let mut alone = run(Neighbour::Nobody)?;
        for neighbour in (0..options.rounds).flat_map(|_| Neighbour::BURDENS) {
            let (alongside, after) = (run(neighbour)?, run(Neighbour::Nobody)?);
            let row = Row {
                path,
                neighbours: neighbour.name(),
                count: options.count,
                mbits_per_second: alongside,
                alone_before: alone,
                alone_after: after,
                change_percent: (2.0 * alongside / (alone + after) - 1.0) * 100.0,
            };
            println!(
                "{:<10}  {:<19}  {:>6.3}  {:>9.3}  {:>8.3}  {:>+5.2} %",
                row.path, row.neighbours, row.mbits_per_second, row.alone_before, row.alone_after, row.change_percent
            );
            table.serialize(row)?;
            alone = after;
        }
    }
    if let Some(path) = &options.csv {
        std::fs::write(path, table.into_inner()?)?;
    }
    Ok(())
}
