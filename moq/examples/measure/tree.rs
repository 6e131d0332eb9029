//! A relay that subscribes to another. Its own subscribers come and go, each over a link of its own.

use std::time::{Duration, Instant};

use nestcast_lab::link::Link;
use tokio::task::JoinSet;

use crate::harness::program::RelayProgram;
use crate::harness::{Got, Made, Place, broadcast, receive_for};
use crate::links::used;
use crate::{MOST_BITS, SETTLING_FRAMES, base_bytes, rates, start, until_published};

/// How long a subscriber stays, in seconds.
const STAY_SECONDS: std::ops::Range<u64> = 60..180;
/// The time from one subscriber to the next at the beginning.
const ARRIVAL_INTERVAL: Duration = Duration::from_millis(100);
/// How long a subscriber tries to connect again.
const RETRY: Duration = Duration::from_secs(9);
const ROUND_TRIP: Duration = Duration::from_millis(50);
/// The greatest rate that is published, as a multiple of that of the fastest link.
const PUBLISHED_PER_LINK: f64 = 3.6;

/// One stay of a subscriber.
struct Stay {
    got: Got,
    used: f64,
}

/// Prints the table after `time`, for links of these rates in Mbit/s in turn.
pub(crate) async fn measure(subscribers: usize, time: Duration, links_mbit: &[f64]) {
    let links: Vec<_> = links_mbit.iter().map(|mbit| bits(*mbit)).collect();
    let least = links.iter().copied().min().expect("a rate");
    let fastest = links_mbit.iter().copied().fold(0.0, f64::max);
    let root = RelayProgram::start(None);
    let leaf = RelayProgram::start(Some(&root));
    let mut tasks = JoinSet::new();
    let source = Made::for_time(time + Duration::from_secs(600)).with_base(base_bytes(least));
    let greatest = bits(PUBLISHED_PER_LINK * fastest).min(MOST_BITS);
    broadcast(&mut tasks, source, &root.place, rates(least, greatest));
    until_published(&leaf.place).await;
    let (began, before) = (Instant::now(), [&root, &leaf].map(RelayProgram::cpu_seconds));
    let mut viewers = JoinSet::new();
    for number in 0..subscribers {
        let bits = links[number % links.len()];
        let place = leaf.place.clone();
        let arrives = ARRIVAL_INTERVAL * u32::try_from(number).unwrap_or(u32::MAX);
        viewers.spawn(async move {
            tokio::time::sleep(arrives).await;
            (bits, come_and_go(&place, bits, number, began + time).await)
        });
    }
    let all = viewers.join_all().await;
    let (ran, after) = (began.elapsed().as_secs_f64(), [&root, &leaf].map(RelayProgram::cpu_seconds));
    println!("\n{subscribers} subscribers of two relays for {ran:.0} s:\n");
    println!(
        "| link | subscribers | stays | bases shown %, all | least stay | link used % | capture to hand-over p50 ms | first frame p50 ms | greatest | reconnections |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for bits in links {
        let of_link: Vec<_> = all.iter().filter(|(link, _)| *link == bits).collect();
        let stays: Vec<_> = of_link.iter().flat_map(|(_, stays)| stays).collect();
        print(bits, of_link.len(), &stays);
    }
    let [root, leaf] = [0, 1].map(|at| 100.0 * (after[at] - before[at]) / ran);
    println!("\nCPU of the relays, % of a core: first {root:.1}, second {leaf:.1}");
}

fn print(bits: u64, subscribers: usize, stays: &[&Stay]) {
    let came: usize = stays.iter().map(|stay| stay.got.frames.len()).sum();
    let made: f64 = stays.iter().map(|stay| stay.got.frames.len() as f64 * 100.0 / stay.got.shown().max(1e-9)).sum();
    let shown = 100.0 * came as f64 / made.max(1.0);
    let least = stays.iter().map(|stay| stay.got.shown()).fold(100.0, f64::min);
    let mean = |of: &dyn Fn(&Stay) -> f64| stays.iter().map(|stay| of(stay)).sum::<f64>() / stays.len().max(1) as f64;
    let used = 100.0 * mean(&|stay| stay.used);
    let p50 = mean(&|stay| stay.got.after(SETTLING_FRAMES).latency(50).as_secs_f64() * 1e3);
    let mut first: Vec<_> = stays.iter().filter_map(|stay| stay.got.first).map(|first| first.as_millis()).collect();
    first.sort_unstable();
    let (middle, last) = (first.get(first.len() / 2).copied().unwrap_or_default(), first.last().copied());
    let again: u64 = stays.iter().map(|stay| stay.got.connections.saturating_sub(1)).sum();
    println!(
        "| {} Mbit/s | {subscribers} | {} | {shown:.3} | {least:.2} | {used:.0} | {p50:.0} | {middle} | {} | {again} |",
        bits as f64 / 1e6,
        stays.len(),
        last.unwrap_or_default()
    );
}

/// Subscribes again and again until `end`, each time over a new link of this rate.
async fn come_and_go(place: &Place, bits: u64, number: usize, end: Instant) -> Vec<Stay> {
    let mut random = fastrand::Rng::with_seed(number as u64);
    let mut stays = Vec::new();
    loop {
        let left = end.saturating_duration_since(Instant::now());
        // A stay that is too short to settle says nothing.
        if left < Duration::from_secs(10) {
            return stays;
        }
        let time = Duration::from_secs(random.u64(STAY_SECONDS)).min(left);
        let link = Link::constant(bits).with_rtt(ROUND_TRIP);
        let over = start(place.address(), link.clone()).await;
        let (got, ended) = receive_for(&place.at(over.address()), time, RETRY).await;
        if let Err(error) = ended {
            eprintln!("subscriber {number}: {error}");
        }
        let used = used(&got, &link, time);
        stays.push(Stay { got, used });
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate of a link")]
fn bits(mbit: f64) -> u64 {
    (mbit * 1e6) as u64
}
