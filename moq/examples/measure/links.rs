//! A relay and a direct connection over the same links, one subscriber at a time.

use std::net::SocketAddr;
use std::time::Duration;

use nestcast_lab::link::Link;
use nestcast_lab::link::trace::{NORWAY_BUS, NORWAY_METRO};
use nestcast_receiver::Trust;
use tokio::task::JoinSet;

use crate::harness::program::RelayProgram;
use crate::harness::{Counter, Got, Made, broadcast, receive_for};
use crate::{MOST_BITS, SETTLING_FRAMES, base_bytes, rates, start, until_published};

/// Round trips of the links of a constant rate, and of all others.
const ROUND_TRIPS_MS: [u64; 3] = [10, 50, 100];
const USUAL_ROUND_TRIP_MS: u64 = 50;
const LINK_BITS: [u64; 3] = [300_000, 1_000_000, 4_000_000];
/// The rates of the link that changes, and how long it has each.
const STEPS_BITS: [u64; 3] = [4_000_000, 1_000_000, 4_000_000];
const STEP_TIME: Duration = Duration::from_secs(4);
/// The longest measurement: links that change go on changing until then.
const LONGEST: Duration = Duration::from_secs(3600);

/// A link, its name, and the least rate that its viewers have.
struct Row {
    name: String,
    rtt_ms: u64,
    link: Link,
    least_bits: u64,
}

fn rows() -> Vec<Row> {
    let constant = LINK_BITS.into_iter().flat_map(|bits| ROUND_TRIPS_MS.map(|rtt_ms| (bits, rtt_ms)));
    let mut rows: Vec<_> = constant
        .map(|(bits, rtt_ms)| Row {
            name: format!("{} Mbit/s", bits as f64 / 1e6),
            rtt_ms,
            link: Link::constant(bits),
            least_bits: bits,
        })
        .collect();
    let steps = (0..).map(|step| STEP_TIME * step).zip(STEPS_BITS);
    let changing = |name: &str, link, least_bits| {
        let name = name.to_owned();
        Row { name, rtt_ms: USUAL_ROUND_TRIP_MS, link, least_bits }
    };
    let steps = again_and_again(Link::varying(steps.collect()), STEP_TIME * 3);
    rows.push(changing("4-1-4 Mbit/s", steps, 1_000_000));
    for (name, trace) in [("3G, metro", NORWAY_METRO), ("3G, bus", NORWAY_BUS)] {
        let link = Link::recorded(trace).expect("a trace");
        // The last rate of a trace holds for a second.
        let length = link.rates.last().map_or(LONGEST, |(from, _)| *from + Duration::from_secs(1));
        rows.push(changing(name, again_and_again(link, length), LINK_BITS[0]));
    }
    rows
}

/// Repeats the rates of a link after this time.
fn again_and_again(link: Link, length: Duration) -> Link {
    let begins = (0..).map(|turn| length * turn).take_while(|begin| *begin < LONGEST);
    let rates = begins.flat_map(|begin| link.rates.iter().map(move |(from, bits)| (begin + *from, *bits))).collect();
    Link { rates, ..link }
}

/// Prints the table. It takes twice `time` and some seconds for each of twelve links.
pub(crate) async fn measure(time: Duration) {
    println!(
        "| link | round trip ms | over | bases shown % | link used % | capture to hand-over p50 ms | p95 ms | first frame ms |"
    );
    println!("|---|---:|---|---:|---:|---:|---:|---:|");
    for slow in [true, false] {
        let of_rate =
            rows().into_iter().filter(|row| (base_bytes(row.least_bits) < crate::harness::BASE_BYTES) == slow);
        let of_rate: Vec<_> = of_rate.collect();
        let least = of_rate.iter().map(|row| row.least_bits).min().unwrap_or(MOST_BITS);
        let relay = RelayProgram::start(None);
        let mut tasks = JoinSet::new();
        let source = Made::for_time(2 * LONGEST).with_base(base_bytes(least));
        let (sender, trust) = broadcast(&mut tasks, source, &relay.place, rates(least, MOST_BITS));
        until_published(&relay.place).await;
        for row in of_rate {
            let link = row.link.clone().with_rtt(Duration::from_millis(row.rtt_ms));
            let direct = start(sender, link.clone()).await;
            let got = receive_directly(direct.address(), trust.clone(), time).await;
            print(&row, "QUIC, direct", time, &got);
            let over = start(relay.address(), link).await;
            let (got, ended) = receive_for(&relay.place.at(over.address()), time, Duration::ZERO).await;
            if let Err(error) = ended {
                eprintln!("{}, {} ms: {error}", row.name, row.rtt_ms);
            }
            print(&row, "moq-relay", time, &got);
        }
    }
}

fn print(row: &Row, over: &str, time: Duration, got: &Got) {
    let settled = got.after(SETTLING_FRAMES);
    let used = 100.0 * used(got, &row.link, time);
    let ms = |percent| settled.latency(percent).as_millis();
    let first = got.first.unwrap_or_default().as_millis();
    let (name, rtt, shown) = (&row.name, row.rtt_ms, got.shown());
    println!("| {name} | {rtt} | {over} | {shown:.2} | {used:.0} | {} | {} | {first} |", ms(50), ms(95));
}

/// Returns the share of a link that was used from a while after the first frame until the end.
pub(crate) fn used(got: &Got, link: &Link, time: Duration) -> f64 {
    let bytes: usize = got.after(SETTLING_FRAMES).frames.values().map(|(bytes, _)| bytes).sum();
    let settled = got.first.unwrap_or_default() + Duration::from_secs(SETTLING_FRAMES) / crate::FRAMES_PER_SECOND;
    bytes as f64 * 8.0 / link.capacity(settled, time.max(settled)).max(1.0)
}

async fn receive_directly(address: SocketAddr, trust: Trust, time: Duration) -> Got {
    let counter = Counter::default();
    let mut sink = counter.clone();
    let config = nestcast_receiver::ReceiverConfig::new(address, trust);
    if let Err(error) = nestcast_receiver::receive(config, &mut sink, tokio::time::sleep(time)).await {
        eprintln!("direct: {error}");
    }
    counter.got()
}
