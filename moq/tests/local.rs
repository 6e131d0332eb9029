//! Both ends of a relayed broadcast, with a relay in this process that copies groups.

mod harness;

use std::time::Duration;

use harness::local::LocalRelay;
use harness::{BASE_BYTES, FRAME_BYTES, Made, broadcast, receive_for};
use nestcast_moq::{Error, Rates};
use nestcast_proto::Bitrate;
use tokio::task::JoinSet;

/// Rates that let whole frames through.
fn all() -> Rates {
    Rates::new(Bitrate::from_bits(1_000_000), Bitrate::from_bits(20_000_000)).expect("a range")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscriber_gets_every_frame_from_a_random_access_frame_on() {
    let relay = LocalRelay::start();
    let mut tasks = JoinSet::new();
    broadcast(&mut tasks, Made::for_time(Duration::from_secs(60)), &relay.place, all());
    let (got, ended) = receive_for(&relay.place, Duration::from_secs(4), Duration::ZERO).await;
    ended.expect("a shutdown");
    assert!(got.frames.len() > 60, "{} frames", got.frames.len());
    assert_eq!((got.wrong, got.joins, got.breaks), (0, 1, 0));
    assert!(got.sound.len() > 100 && got.heard() > 99.9, "{} packets, {} %", got.sound.len(), got.heard());
    assert!((got.shown() - 100.0).abs() < 1e-9, "{}", got.shown());
    let whole = got.frames.values().filter(|(bytes, _)| *bytes == FRAME_BYTES).count();
    assert!(whole * 10 >= got.frames.len() * 8, "{whole} of {} frames are whole", got.frames.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frames_are_cut_to_the_greatest_rate() {
    let relay = LocalRelay::start();
    let mut tasks = JoinSet::new();
    let rates = Rates::new(Bitrate::from_bits(500_000), Bitrate::from_bits(2_400_000)).expect("a range");
    broadcast(&mut tasks, Made::for_time(Duration::from_secs(60)), &relay.place, rates);
    let (got, ended) = receive_for(&relay.place, Duration::from_secs(2), Duration::ZERO).await;
    ended.expect("a shutdown");
    let longest = got.frames.values().map(|(bytes, _)| *bytes).skip(1).max().expect("frames");
    assert!((BASE_BYTES..=10_000).contains(&longest), "2.4 Mbit/s at 30 frames a second are 10,000 bytes: {longest}");
    assert_eq!((got.wrong, got.breaks), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_broadcast_is_an_end() {
    let relay = LocalRelay::start();
    let mut tasks = JoinSet::new();
    broadcast(&mut tasks, Made::for_time(Duration::from_secs(2)), &relay.place, all());
    let (got, ended) = receive_for(&relay.place, Duration::from_secs(20), Duration::ZERO).await;
    assert!(matches!(ended, Err(Error::Ended | Error::Lost(_))), "{ended:?}");
    assert!(got.frames.len() > 20, "{} frames", got.frames.len());
}

#[tokio::test]
async fn an_absent_relay_and_an_absent_broadcast_are_one_line_each() {
    let relay = LocalRelay::start();
    let (_, ended) = receive_for(&relay.place, Duration::from_secs(20), Duration::ZERO).await;
    let error = ended.expect_err("nobody publishes").to_string();
    assert!(error.starts_with("the relay has no broadcast moq://127.0.0.1:"), "{error}");
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let absent = relay.place.at(socket.local_addr().expect("an address"));
    let (_, ended) = receive_for(&absent, Duration::from_secs(20), Duration::ZERO).await;
    let error = ended.expect_err("nobody answers").to_string();
    assert!(error.contains("no answer: is a relay there?"), "{error}");
}

#[tokio::test]
async fn a_relay_of_another_draft_is_named_with_ours() {
    let unnamed = "no version of Media over QUIC that has a name";
    let by_quic_alone = "moq-lite-06, but not over WebTransport (give moq:// in place of https://)";
    for (versions, has_web_transport, over_web_transport, theirs) in [
        (["moq-lite-03"], true, false, "moq-lite-03"),
        (["moq-lite-03"], true, true, "moq-lite-03"),
        (["moqt-17"], false, true, "moqt-17"),
        (["moq-lite-06"], false, true, by_quic_alone),
        (["moq-lite-1000"], true, false, unnamed),
        (["moq-lite-1000"], true, true, unnamed),
    ] {
        let relay = LocalRelay::start_with(&versions, has_web_transport);
        let place = if over_web_transport { relay.place.over_web_transport() } else { relay.place.clone() };
        let (_, ended) = receive_for(&place, Duration::from_secs(20), Duration::from_secs(20)).await;
        let (error, port) = (ended.expect_err("another draft"), place.url.port());
        let line =
            format!("the relay at 127.0.0.1:{port} speaks {theirs}, and nestcast speaks moq-lite-06 and moq-lite-05");
        assert_eq!(error.to_string(), line, "{place:?}");
        assert!(matches!(error, Error::Version { .. }), "a retry is of no use: {error:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broadcast_passes_over_webtransport_too() {
    let relay = LocalRelay::start();
    let place = relay.place.over_web_transport();
    let mut tasks = JoinSet::new();
    broadcast(&mut tasks, Made::for_time(Duration::from_secs(60)), &place, all());
    let (got, ended) = receive_for(&place, Duration::from_secs(2), Duration::ZERO).await;
    ended.expect("a shutdown");
    assert!(got.frames.len() > 20, "{} frames", got.frames.len());
    assert_eq!((got.wrong, got.breaks), (0, 0));
}
