//! Measures broadcasts through `moq-relay`, and directly, over the same links: `cargo xtask relays --measure`.
//!
//! `measure links SECONDS` compares both; `measure browser SECONDS` compares the native subscriber with the viewer in
//! Chromium; `measure tree SUBSCRIBERS SECONDS` runs two relays, one behind the other.

#[path = "../tests/harness/mod.rs"]
mod harness;

use std::error::Error;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use harness::program::RelayProgram;
use harness::{Counter, FRAMES_PER_SECOND, Got, Made, broadcast, receive_for};
use nestcast_codec::{Format, Picture, Size, Ycbcr};
use nestcast_encode::{PictureFormat, RenditionLimit};
use nestcast_lab::link::{Link, Relay as LinkRelay};
use nestcast_lab::video_frames::VideoFrames;
use nestcast_moq::{Rates, Relayed, publish};
use nestcast_proto::{Bitrate, FrameRate};
use nestcast_receiver::Trust;
use nestcast_sender::{Broadcast, Identity};
use nestcast_tests::browser::Engine;
use nestcast_tests::live_page::watch;
use tokio::task::JoinSet;

/// The round trip of every link.
const ROUND_TRIP: Duration = Duration::from_millis(50);
/// Frames until a subscriber has settled.
const SETTLING_FRAMES: u64 = 3 * FRAMES_PER_SECOND as u64;
const LINK_BITS_PER_SECOND: [u64; 2] = [1_000_000, 4_000_000];

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match words.as_slice() {
        [] => {
            runtime.block_on(links(Duration::from_secs(60)));
            runtime.block_on(browser(Duration::from_secs(60)));
            runtime.block_on(tree(40, Duration::from_secs(120)));
        }
        ["links", seconds] => runtime.block_on(links(Duration::from_secs(seconds.parse()?))),
        ["browser", seconds] => runtime.block_on(browser(Duration::from_secs(seconds.parse()?))),
        ["tree", subscribers, seconds] => {
            runtime.block_on(tree(subscribers.parse()?, Duration::from_secs(seconds.parse()?)));
        }
        _ => return Err("links SECONDS, browser SECONDS, or tree SUBSCRIBERS SECONDS".into()),
    }
    Ok(())
}

fn rates() -> Rates {
    Rates::new(Bitrate::from_bits(1_000_000), Bitrate::from_bits(14_400_000)).unwrap_or_default()
}

async fn link(to: SocketAddr, bits: u64) -> LinkRelay {
    LinkRelay::start(to, Link::constant(bits).with_rtt(ROUND_TRIP)).await.expect("a port")
}

/// Prints a row of a table.
fn row(name: &str, bits: u64, got: &Got) {
    let settled = got.after(SETTLING_FRAMES);
    let used = 100.0 * settled.rate() / bits as f64;
    let ms = |percent| settled.latency(percent).as_millis();
    let first = got.first.unwrap_or_default().as_millis();
    println!(
        "| {} Mbit/s | {name} | {:.2} | {used:.0} | {} | {} | {first} |",
        bits / 1_000_000,
        got.shown(),
        ms(50),
        ms(95)
    );
}

/// Compares a relay with a direct connection, one subscriber at a time.
async fn links(time: Duration) {
    println!("| link | over | bases shown % | link used % | capture to hand-over p50 ms | p95 ms | first frame ms |");
    println!("|---|---|---:|---:|---:|---:|---:|");
    let relay = RelayProgram::start(None);
    let mut tasks = JoinSet::new();
    let (address, trust) = broadcast(&mut tasks, Made::for_time(Duration::from_secs(3600)), &relay.place, rates());
    // Until the publisher is there.
    receive_for(&relay.place, Duration::from_secs(3), Duration::from_secs(9)).await.1.expect("a shutdown");
    for bits in LINK_BITS_PER_SECOND {
        let direct = link(address, bits).await;
        row("QUIC, direct", bits, &receive_directly(direct.address(), trust.clone(), time).await);
        let over = link(relay.address(), bits).await;
        let (got, ended) = receive_for(&relay.place.at(over.address()), time, Duration::ZERO).await;
        ended.expect("a shutdown");
        row("moq-relay", bits, &got);
    }
}

/// Compares the native subscriber with the viewer in Chromium, one at a time, by a broadcast of real video: how many frames
/// came, and how many bytes of each.
async fn browser(time: Duration) {
    println!("\n| link | viewer | frames | of those made meanwhile % | bytes of a frame, mean |");
    println!("|---|---|---:|---:|---:|");
    let row = |name: &str, bits: u64, got: &Got| {
        let (count, bytes) = (got.frames.len(), got.frames.values().map(|(bytes, _)| bytes).sum::<usize>());
        let mean = bytes / count.max(1);
        println!("| {} Mbit/s | {name} | {count} | {:.1} | {mean} |", bits / 1_000_000, got.shown());
    };
    let relay = RelayProgram::start(None);
    let rate = FrameRate::new(FRAMES_PER_SECOND, 1).expect("a rate");
    let size = Size::new(320, 240).expect("a size");
    let shape = PictureFormat::new(size, Format::Ycbcr420(Ycbcr::BT601), rate);
    let source = VideoFrames::new(shape, (1, RenditionLimit::AtMost(1)), move |id| noise(size, id));
    let config = nestcast_sender::Config::new(([127, 0, 0, 1], 0).into(), Identity::generate().expect("an identity"));
    let broadcast = Broadcast::listen(config, source).expect("a port");
    let (relayed, place) = (Relayed::of(&broadcast.station()).expect("video"), relay.place.clone());
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let published = publish(&place.url, &place.trust, rates(), relayed, std::future::pending()).await;
        published.expect("the relay accepts it");
    });
    tasks.spawn(async move { broadcast.run(std::future::pending()).await.expect("a source that works") });
    receive_for(&relay.place, Duration::from_secs(3), Duration::from_secs(9)).await.1.expect("a shutdown");
    for bits in LINK_BITS_PER_SECOND {
        let over = link(relay.address(), bits).await;
        let (got, ended) = receive_for(&relay.place.at(over.address()), time, Duration::ZERO).await;
        ended.expect("a shutdown");
        row("native", bits, &got);
        let over = link(relay.address(), bits).await;
        let seconds = time.as_secs();
        let (address, fingerprint) = (over.address(), relay.fingerprint());
        let link = format!("src=moq://{address}/garden&fingerprint={fingerprint}&latency=min&seconds={seconds}");
        let watched = tokio::task::spawn_blocking(move || watch(Engine::Chromium, &link)).await.expect("no panic");
        let Some(lines) = watched else { return };
        row("Chromium", bits, &shown(&lines));
        eprintln!("{}", lines.last().map_or("", String::as_str));
    }
}

/// Returns what the page says of its pictures: their numbers, bytes and latencies.
fn shown(lines: &[String]) -> Got {
    let frame = |line: &String| {
        let mut words = line.split(' ');
        let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
        let (id, bytes, latency) = (number()?, number()?, number()?);
        Some((id, (usize::try_from(bytes).ok()?, Duration::from_millis(latency))))
    };
    Got { frames: lines.iter().filter_map(frame).collect(), ..Got::default() }
}

/// Returns a picture that costs many bytes: grain, over ground that moves.
fn noise(size: Size, id: u64) -> Picture {
    let mut picture = Picture::zero(size, Format::Ycbcr420(Ycbcr::BT601));
    let mut random = id.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    for (at, sample) in picture.samples_mut().iter_mut().enumerate() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let ground = (at as u64 / 8).wrapping_add(2 * id) % 64;
        *sample = u8::try_from(96 + ground + random % 32).expect("a sample");
    }
    picture
}

async fn receive_directly(address: SocketAddr, trust: Trust, time: Duration) -> Got {
    let counter = Counter::default();
    let mut sink = counter.clone();
    let config = nestcast_receiver::Config::new(address, trust);
    let received = nestcast_receiver::receive(config, &mut sink, tokio::time::sleep(time)).await;
    received.expect("a shutdown");
    counter.got()
}

/// Runs subscribers behind the second of two relays, each over a link of its own.
async fn tree(subscribers: usize, time: Duration) {
    let root = RelayProgram::start(None);
    let leaf = RelayProgram::start(Some(&root));
    let mut tasks = JoinSet::new();
    broadcast(&mut tasks, Made::for_time(Duration::from_secs(3600)), &root.place, rates());
    receive_for(&leaf.place, Duration::from_secs(3), Duration::from_secs(9)).await.1.expect("a shutdown");
    let (began, before) = (Instant::now(), [&root, &leaf].map(RelayProgram::cpu_seconds));
    let mut viewers = JoinSet::new();
    for number in 0..subscribers {
        let bits = LINK_BITS_PER_SECOND[number % LINK_BITS_PER_SECOND.len()];
        let place = leaf.place.clone();
        let to = leaf.address();
        viewers.spawn(async move {
            // They come one after the other.
            tokio::time::sleep(Duration::from_millis(100) * u32::try_from(number).unwrap_or(u32::MAX)).await;
            let link = link(to, bits).await;
            (bits, receive_for(&place.at(link.address()), time, Duration::from_secs(9)).await.0)
        });
    }
    let all = viewers.join_all().await;
    let (ran, after) = (began.elapsed().as_secs_f64(), [&root, &leaf].map(RelayProgram::cpu_seconds));
    println!("\n{subscribers} subscribers behind two relays for {} s each:\n", time.as_secs());
    println!(
        "| link | subscribers | bases shown %, mean | least | link used % | capture to hand-over p50 ms | reconnections |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for bits in LINK_BITS_PER_SECOND {
        let got: Vec<_> = all.iter().filter(|(link, _)| *link == bits).map(|(_, got)| got).collect();
        let mean = |of: &dyn Fn(&Got) -> f64| got.iter().map(|got| of(got)).sum::<f64>() / got.len().max(1) as f64;
        let least = got.iter().map(|got| got.shown()).fold(100.0, f64::min);
        let used = mean(&|got| 100.0 * got.after(SETTLING_FRAMES).rate() / bits as f64);
        let p50 = mean(&|got| got.after(SETTLING_FRAMES).latency(50).as_secs_f64() * 1e3);
        let connections: u64 = got.iter().map(|got| got.connections.saturating_sub(1)).sum();
        let shown = mean(&|got| got.shown());
        println!(
            "| {} Mbit/s | {} | {shown:.3} | {least:.2} | {used:.0} | {p50:.0} | {connections} |",
            bits / 1_000_000,
            got.len()
        );
    }
    let [root, leaf] = [0, 1].map(|at| 100.0 * (after[at] - before[at]) / ran);
    println!("\nCPU of the relays, % of a core: first {root:.1}, second {leaf:.1}");
}
