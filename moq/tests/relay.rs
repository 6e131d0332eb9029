//! Broadcasts through `moq-relay` itself, over links of limited rate: `cargo xtask relays`.

mod harness;

use std::time::Duration;

use harness::plain;
use harness::program::RelayProgram;
use harness::{Got, Made, Place, broadcast, receive_for};
use nestcast_lab::link::{Link, Relay as LinkRelay};
use nestcast_moq::Rates;
use nestcast_proto::Bitrate;
use tokio::task::JoinSet;

/// Rates of viewers from 1 to 14.4 Mbit/s.
fn rates() -> Rates {
    Rates::new(Bitrate::from_bits(1_000_000), Bitrate::from_bits(14_400_000)).expect("a range")
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Receives over a link of this many bits a second, with a round trip of 50 ms.
async fn over_link(place: &Place, bits: u64, time: Duration) -> Got {
    let link = Link::constant(bits).with_rtt(Duration::from_millis(50));
    let link = LinkRelay::start(place.address(), link).await.expect("a port");
    let (got, ended) = receive_for(&place.at(link.address()), time, Duration::ZERO).await;
    ended.expect("a shutdown");
    got
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs moq-relay: cargo xtask relays"]
async fn slow_links_get_base_layers_and_as_much_more_as_they_carry() {
    let relay = RelayProgram::start(None);
    let mut tasks = JoinSet::new();
    broadcast(&mut tasks, Made::for_time(seconds(120)), &relay.place, rates());
    let (slow, fast) =
        tokio::join!(over_link(&relay.place, 1_000_000, seconds(25)), over_link(&relay.place, 4_000_000, seconds(25)));
    for (got, link, least_shown, least_used) in [(slow, 1e6, 97.0, 0.65), (fast, 4e6, 99.5, 0.75)] {
        let settled = got.after(90);
        let used = settled.rate() / link;
        let (shown, last) = (got.shown(), got.frames.last_key_value().map_or(0, |(last, _)| *last));
        let (p50, p95) = (settled.latency(50), settled.latency(95));
        let late = got.sound.values().filter(|latency| **latency > Duration::from_millis(250)).count();
        eprintln!("{link} bit/s: {:.2} % heard, {late} of {} later than 250 ms", got.heard(), got.sound.len());
        eprintln!("{link} bit/s: {shown:.2} % shown, {used:.3} used, p50 {p50:?}, p95 {p95:?}, {:?}", got.stats);
        assert_eq!(got.wrong, 0, "{link}");
        assert!(got.heard() >= 99.0 && got.sound.len() > 20 * 50, "{link}: {} % of {}", got.heard(), got.sound.len());
        assert!(shown >= least_shown, "{link}: {shown}");
        assert!((least_used..1.0).contains(&used), "{link}: {used}");
        assert!(last > 21 * 30, "{link}: frames come to the end: {last}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs moq-relay: cargo xtask relays"]
async fn a_subscriber_does_not_suffer_from_readers_that_stop_nothing() {
    let relay = RelayProgram::start(None);
    let mut tasks = JoinSet::new();
    broadcast(&mut tasks, Made::for_time(seconds(120)), &relay.place, rates());
    let links = [0; 2].map(|_| {
        let link = Link::constant(4_000_000).with_rtt(Duration::from_millis(50));
        LinkRelay::start(relay.address(), link)
    });
    let mut plain = JoinSet::new();
    for link in links {
        let place = relay.place.clone();
        plain.spawn(async move {
            let link = link.await.expect("a port");
            plain::base_layers_at_the_end(&place.at(link.address()), seconds(60), harness::FRAMES_PER_SECOND).await
        });
    }
    let got = over_link(&relay.place, 4_000_000, seconds(60)).await;
    let theirs = plain.join_all().await;
    let used = got.after(90).rate() / 4e6;
    eprintln!("theirs, second half: {theirs:.0?} % of the base layers; ours: {:.2} %, {used:.3} used", got.shown());
    assert_eq!((got.wrong, got.breaks), (0, 0));
    assert!(got.shown() >= 99.5 && used >= 0.75, "{} {used}", got.shown());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs moq-relay: cargo xtask relays"]
async fn a_late_subscriber_has_a_picture_within_a_second() {
    let relay = RelayProgram::start(None);
    let mut tasks = JoinSet::new();
    broadcast(&mut tasks, Made::for_time(seconds(120)), &relay.place, rates());
    let early = tokio::spawn({
        let place = relay.place.clone();
        async move { receive_for(&place, seconds(12), Duration::ZERO).await }
    });
    tokio::time::sleep(seconds(4)).await;
    for _ in 0..3 {
        let got = over_link(&relay.place, 4_000_000, seconds(2)).await;
        let first = got.first.expect("a frame");
        eprintln!("the first frame after {first:?}");
        assert!(first < seconds(1), "{first:?}");
        assert_eq!((got.wrong, got.joins, got.breaks), (0, 1, 0));
    }
    let (got, ended) = early.await.expect("no panic");
    ended.expect("a shutdown");
    assert_eq!((got.wrong, got.joins, got.breaks), (0, 1, 0), "those who come later do not disturb it");
    assert!(got.shown() > 99.9, "{}", got.shown());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs moq-relay: cargo xtask relays"]
async fn a_tree_of_two_relays_serves_as_one() {
    let root = RelayProgram::start(None);
    let leaf = RelayProgram::start(Some(&root));
    let mut tasks = JoinSet::new();
    broadcast(&mut tasks, Made::for_time(seconds(120)), &root.place, rates());
    let got = over_link(&leaf.place, 4_000_000, seconds(15)).await;
    let settled = got.after(90);
    eprintln!("the leaf: {:.2} % shown, {:.3} used, p50 {:?}", got.shown(), settled.rate() / 4e6, settled.latency(50));
    assert_eq!((got.wrong, got.breaks), (0, 0));
    assert!(got.shown() >= 99.5 && settled.rate() > 0.7 * 4e6, "{} {}", got.shown(), settled.rate());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs moq-relay: cargo xtask relays"]
async fn a_publisher_that_is_restarted_is_found_again() {
    let relay = RelayProgram::start(None);
    let mut first = JoinSet::new();
    broadcast(&mut first, Made::for_time(seconds(120)), &relay.place, rates());
    let viewer = tokio::spawn({
        let place = relay.place.clone();
        async move { receive_for(&place, seconds(16), seconds(30)).await }
    });
    tokio::time::sleep(seconds(4)).await;
    // As a killed process: nothing says goodbye, but the socket closes.
    first.shutdown().await;
    tokio::time::sleep(seconds(1)).await;
    let mut second = JoinSet::new();
    broadcast(&mut second, Made::for_time(seconds(120)), &relay.place, rates());
    let (got, ended) = viewer.await.expect("no panic");
    ended.expect("a shutdown");
    eprintln!("{} connections, {} random-access frames, {:?}", got.connections, got.joins, got.stats);
    assert_eq!((got.wrong, got.breaks), (0, 0));
    assert!(got.joins >= 2, "it began anew: {}", got.joins);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs moq-relay: cargo xtask relays"]
async fn a_relay_that_is_restarted_is_found_again_by_both_ends() {
    let mut relay = RelayProgram::start(None);
    let mut tasks = JoinSet::new();
    broadcast(&mut tasks, Made::for_time(seconds(120)), &relay.place, rates());
    let viewer = tokio::spawn({
        let place = relay.place.clone();
        async move { receive_for(&place, seconds(25), seconds(30)).await }
    });
    tokio::time::sleep(seconds(4)).await;
    relay.kill();
    tokio::time::sleep(seconds(1)).await;
    relay.start_again();
    let (got, ended) = viewer.await.expect("no panic");
    ended.expect("a shutdown");
    eprintln!("{} connections, {} random-access frames, {:?}", got.connections, got.joins, got.stats);
    assert_eq!((got.wrong, got.breaks), (0, 0));
    assert!(got.connections >= 2 && got.joins >= 2, "{} {}", got.connections, got.joins);
    let last = got.frames.last_key_value().map_or(0, |(last, _)| *last);
    assert!(last > 18 * 30, "it shows frames at the end: {last}");
}
