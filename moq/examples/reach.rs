//! What an audience takes in relays, bytes and money: `cargo run -p nestcast-moq --example reach -- [VIEWERS [USD...]]`,
//! with prices of a terabyte.
//!
//! The viewers' links are those of `benches/data/bandwidths.csv`: three collections of recorded links, each with a third
//! of the viewers. Every other figure that is not arithmetic is a constant below, with where it was measured.

use std::collections::BTreeMap;
use std::error::Error;

/// The collections' bandwidths.
const BANDWIDTHS_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../benches/data/bandwidths.csv");
/// From a bin's lower edge to its middle: half of a quarter of an octave.
const MIDDLE: f64 = 1.0905;
/// What the encoder is told with `--relay-rates`, in Mbit/s: the default.
const RATES_MBIT: [f64; 2] = [0.5, 8.0];
/// The part of a link that a relayed viewer uses (docs/measurements/relays.md).
const USED_SHARE: f64 = 0.88;
/// What one core of a relay sends, in Mbit/s: 100 subscribers with 211 Mbit/s at 56 % (docs/measurements/relays.md).
const RELAY_CORE_MBIT: f64 = 211.0 / 0.56;
/// Cores of a relay's machine.
const MACHINE_CORES: f64 = 16.0;
/// The part of its link that a player of a ladder dares to fill, so that it does not stall.
const PLAYER_SHARE: f64 = 0.8;
/// The rungs of a ladder of five, and an SFU's three layers, in Mbit/s.
const LADDER_MBIT: [f64; 5] = [0.4, 0.8, 1.6, 3.2, 6.4];
const LAYERS_MBIT: [f64; 3] = [0.4, 1.6, 6.4];
/// Prices of a terabyte in US dollars: from a flat link of one's own to a large cloud's list.
const PRICES_USD: [f64; 4] = [1.0, 5.0, 20.0, 80.0];
const SECONDS_PER_HOUR: f64 = 3600.0;

/// A bandwidth in Mbit/s and the share of the viewers who have it.
type Link = (f64, f64);

fn main() -> Result<(), Box<dyn Error>> {
    let words: Result<Vec<f64>, _> = std::env::args().skip(1).map(|word| word.parse()).collect();
    let words = words.map_err(|_| "give the number of viewers, then prices of a terabyte")?;
    let audiences = words.first().map_or(vec![1e5, 1e6], |viewers| vec![*viewers]);
    let prices = words.get(1..).filter(|prices| !prices.is_empty()).unwrap_or(&PRICES_USD);
    let links = links(&std::fs::read_to_string(BANDWIDTHS_FILE)?)?;
    let below = links.iter().filter(|(link, _)| *link < RATES_MBIT[0]).map(|(_, share)| share).sum::<f64>();
    println!("{:.1} % of the viewers have less than {} Mbit/s.\n", 100.0 * below, RATES_MBIT[0]);
    let columns: String = prices.iter().map(|price| format!(" USD an hour at {price} |")).collect();
    println!(
        "| viewers | way | mean Mbit/s for a viewer | Gbit/s | TB an hour | relays' machines | uplink, Mbit/s |{columns}"
    );
    println!("|---:|---|---:|---:|---:|---:|---:|{}", "---:|".repeat(prices.len()));
    for viewers in audiences {
        let stream = mean(&links, |link| (USED_SHARE * link).min(RATES_MBIT[1]));
        let machines = (viewers * stream / RELAY_CORE_MBIT / MACHINE_CORES).ceil();
        let row = |way: &str, each: f64, machines: &str, uplink: f64| {
            let all = viewers * each;
            let hour = all * SECONDS_PER_HOUR / 8.0 / 1e6;
            let money: String = prices.iter().map(|price| format!(" {:.0} |", hour * price)).collect();
            println!(
                "| {viewers} | {way} | {each:.2} | {:.0} | {hour:.0} | {machines} | {uplink:.1} |{money}",
                all / 1e3
            );
        };
        row("one stream through relays", stream, &format!("{machines}"), RATES_MBIT[1]);
        let ladder = mean(&links, |link| best(&LADDER_MBIT, link));
        row("five renditions (HLS)", ladder, "a CDN's", LADDER_MBIT.iter().sum());
        let layers = mean(&links, |link| best(&LAYERS_MBIT, link));
        row("three layers through SFUs", layers, "SFUs'", LAYERS_MBIT.iter().sum());
    }
    Ok(())
}

/// Reads the table of bandwidths. Each collection has the same weight.
fn links(table: &str) -> Result<Vec<Link>, Box<dyn Error>> {
    let mut collections = BTreeMap::<&str, Vec<Link>>::new();
    for line in table.lines().skip(1) {
        let [collection, kilobits, share] = line.split(',').collect::<Vec<_>>()[..] else {
            return Err(format!("no bandwidth: {line}").into());
        };
        let link = kilobits.parse::<f64>()? * MIDDLE / 1e3;
        collections.entry(collection).or_default().push((link, share.parse()?));
    }
    let weight = 1.0 / collections.len().max(1) as f64;
    Ok(collections.into_values().flatten().map(|(link, share)| (link, share * weight)).collect())
}

/// Returns the mean over the links of the audience.
fn mean(links: &[Link], rate: impl Fn(f64) -> f64) -> f64 {
    links.iter().map(|(link, share)| share * rate(*link)).sum()
}

/// Returns the greatest rung that fits. If none does, the player stalls with the least one.
fn best(rungs: &[f64], link: f64) -> f64 {
    let fits = PLAYER_SHARE * link;
    rungs.iter().copied().filter(|rung| *rung <= fits).fold(rungs[0].min(fits), f64::max)
}
