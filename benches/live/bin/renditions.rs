//! One broadcast of video to five very different receivers, in one, two and three renditions, in virtual time.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use nestcast_codec::MAX_RENDITIONS;
use nestcast_encode::RenditionLimit;
use nestcast_lab::clip::Clip;
use nestcast_live_benches::figures::{Row, TABLE_HEADING};
use nestcast_live_benches::links::Scenario;
use nestcast_live_benches::run::Studio;

/// Runs one broadcast for each number of renditions, by default to five receivers: 0.3, 1 and 4 Mbit/s, and recorded
/// links by metro and by bus.
#[derive(Parser)]
struct Options {
    /// Seconds of each broadcast.
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    seconds: u32,
    /// A receiver with a link of each of these rates, instead of the five.
    #[arg(long, value_name = "KBIT/S", value_delimiter = ',')]
    rates: Vec<u64>,
    /// The table to write.
    #[arg(long, value_name = "OUT.csv")]
    csv: Option<PathBuf>,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let scenarios = match &options.rates[..] {
        [] => Scenario::population(options.seconds)?,
        rates => rates.iter().map(|rate| Scenario { seconds: options.seconds, ..Scenario::constant(*rate) }).collect(),
    };
    let links: Vec<_> = scenarios.iter().map(|scenario| scenario.link.clone()).collect();
    let studio = Studio::new(Clip::builtin()?, None, 1)?;
    let mut table = csv::Writer::from_writer(Vec::new());
    println!("{TABLE_HEADING}");
    // All five receivers get enough from one rendition, so `AsNeeded` would give one.
    let as_needed = (!options.rates.is_empty()).then_some(RenditionLimit::AsNeeded);
    let all = as_needed.into_iter().chain((1..=MAX_RENDITIONS).map(RenditionLimit::AtMost));
    for renditions in all {
        let outcomes = studio.run_together(renditions, &links, Duration::from_secs(options.seconds.into()))?;
        for (scenario, outcome) in scenarios.iter().zip(&outcomes) {
            let row = Row::new(&name(renditions), scenario, outcome);
            println!("{row}");
            table.serialize(row)?;
        }
    }
    if let Some(path) = &options.csv {
        std::fs::write(path, table.into_inner()?)?;
    }
    Ok(())
}

fn name(renditions: RenditionLimit) -> String {
    match renditions {
        RenditionLimit::AsNeeded => "as needed".to_owned(),
        RenditionLimit::AtMost(most) => format!("at most {most}"),
    }
}
