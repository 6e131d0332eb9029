//! What an audience takes in relays and bytes: `cargo run -p nestcast-moq --example reach -- [VIEWERS]`.
//!
//! The links of the viewers are log-uniform between [`LEAST_LINK_MBIT`] and [`GREATEST_LINK_MBIT`]. Every figure that
//! is not arithmetic is a constant below, with where it was measured.

/// The viewers' links in Mbit/s.
const LEAST_LINK_MBIT: f64 = 0.5;
const GREATEST_LINK_MBIT: f64 = 8.0;
/// The part of a link that a relayed viewer uses (docs/measurements/relays.md).
const USED_SHARE: f64 = 0.88;
/// What one core of a relay sends, in Mbit/s: 60 subscribers with 134 Mbit/s at 52 % (docs/measurements/relays.md).
const RELAY_CORE_MBIT: f64 = 134.0 / 0.52;
/// Cores of a relay's machine.
const MACHINE_CORES: f64 = 16.0;
/// The part of its link that a player of a ladder dares to fill, so that it does not stall.
const PLAYER_SHARE: f64 = 0.8;
/// The rungs of a ladder of five, and an SFU's three layers, in Mbit/s.
const LADDER_MBIT: [f64; 5] = [0.4, 0.8, 1.6, 3.2, 6.4];
const LAYERS_MBIT: [f64; 3] = [0.4, 1.6, 6.4];
/// Links that stand for the audience.
const SAMPLED_LINKS: u32 = 10_000;
const SECONDS_PER_HOUR: f64 = 3600.0;

fn main() {
    let given: Option<f64> = std::env::args().nth(1).and_then(|word| word.parse().ok());
    let audiences = given.map_or(vec![1e5, 1e6], |viewers| vec![viewers]);
    println!(
        "| viewers | way | mean Mbit/s a viewer | Gbit/s | TB an hour | relay machines | publisher's uplink, Mbit/s |"
    );
    println!("|---:|---|---:|---:|---:|---:|---:|");
    for viewers in audiences {
        let stream = mean(|link| USED_SHARE * link);
        let machines = (viewers * stream / RELAY_CORE_MBIT / MACHINE_CORES).ceil();
        row(viewers, "one stream through relays", stream, &format!("{machines}"), GREATEST_LINK_MBIT);
        row(
            viewers,
            "a ladder of five (HLS)",
            mean(|link| best(&LADDER_MBIT, link)),
            "a CDN",
            LADDER_MBIT.iter().sum(),
        );
        row(
            viewers,
            "three layers through SFUs",
            mean(|link| best(&LAYERS_MBIT, link)),
            "SFUs",
            LAYERS_MBIT.iter().sum(),
        );
    }
}

fn row(viewers: f64, way: &str, each: f64, machines: &str, uplink: f64) {
    let all = viewers * each;
    let hour = all * SECONDS_PER_HOUR / 8.0 / 1e6;
    println!("| {viewers} | {way} | {each:.2} | {:.0} | {hour:.0} | {machines} | {uplink:.1} |", all / 1e3);
}

/// Returns the mean over the links of the audience.
fn mean(rate: impl Fn(f64) -> f64) -> f64 {
    let link = |at: u32| {
        LEAST_LINK_MBIT * (GREATEST_LINK_MBIT / LEAST_LINK_MBIT).powf((f64::from(at) + 0.5) / f64::from(SAMPLED_LINKS))
    };
    (0..SAMPLED_LINKS).map(|at| rate(link(at))).sum::<f64>() / f64::from(SAMPLED_LINKS)
}

/// Returns the greatest rung that fits; the least one if none does.
fn best(rungs: &[f64], link: f64) -> f64 {
    rungs.iter().copied().filter(|rung| *rung <= PLAYER_SHARE * link).fold(rungs[0], f64::max)
}
