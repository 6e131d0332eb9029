//! nestcast beside Motion JPEG over simulated links: how much of the link is used, what is seen, how late.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, ensure};
use clap::Parser;
use nestcast_lab::clip::Clip;
use nestcast_live_benches::figures::Row;
use nestcast_live_benches::links::{Common, Scenario};
use nestcast_live_benches::run::{Scheme, run};

/// One broadcast to one receiver for every link and scheme, in real time.
#[derive(Parser)]
struct Options {
    /// Only this link (may be repeated); its name is the table's.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Only this scheme (may be repeated); its name is the table's.
    #[arg(long, value_name = "NAME")]
    scheme: Vec<String>,
    /// This link too, and without --only it alone: a trace with two columns, seconds and Mbit/s, or mahimahi's (may be
    /// repeated).
    #[arg(long, value_name = "FILE")]
    trace: Vec<PathBuf>,
    #[command(flatten)]
    common: Common,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let mut scenarios = Scenario::all()?;
    let all = options.only.is_empty() && options.trace.is_empty();
    scenarios.retain(|scenario| all || options.only.contains(&scenario.name));
    for path in &options.trace {
        scenarios.push(Scenario::open(path)?);
    }
    scenarios = scenarios.into_iter().map(|scenario| scenario.over(options.common.rtt, options.common.loss)).collect();
    ensure!(!scenarios.is_empty(), "no link of that name");
    let clip = Arc::new(Clip::builtin()?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut table = csv::Writer::from_writer(Vec::new());
    println!(
        "link           scheme         used  blank/due   PSNR  worst s  latency p50  p95  queue p95  drops   down    up"
    );
    for scenario in &scenarios {
        let asked =
            |scheme: &Scheme| options.scheme.is_empty() || options.scheme.iter().any(|name| name == scheme.name());
        for scheme in Scheme::ALL.into_iter().filter(asked) {
            let outcome = runtime.block_on(run(scheme, scenario, &clip))?;
            let row = Row::new(scheme, scenario, &outcome);
            print(&row);
            table.serialize(row)?;
        }
    }
    if let Some(path) = &options.common.csv {
        std::fs::write(path, table.into_inner()?)?;
    }
    Ok(())
}

fn print(row: &Row) {
    let optional = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.0}"));
    println!(
        "{:<13}  {:<13}  {:>3.0} %  {:>5}/{:<4}  {:>5.2}  {:>7.2}  {:>8.0} ms  {:>3.0}  {:>6.0} ms  {:>5}  {:>5}  {:>4}",
        row.link,
        row.scheme,
        row.used_percent,
        row.blank,
        row.due,
        row.psnr_db,
        row.worst_second_db,
        row.latency_p50_ms,
        row.latency_p95_ms,
        row.queue_p95_ms,
        row.dropped,
        optional(row.down_ms),
        optional(row.up_ms)
    );
}
