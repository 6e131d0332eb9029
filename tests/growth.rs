//! Ends of this version meet those of a later version (session specification, "Growth"), over real QUIC.

use std::time::Instant;

use bytes::Bytes;
use nestcast_proto::{Code, Message, ReceiverEnd, SoundRequest};
use nestcast_receiver::Error;
use nestcast_tests::broadcasts::{Plan, Running, count_while, eventually, identity, pinned};
use nestcast_tests::hostile_receiver::HostileReceiver;
use nestcast_tests::hostile_sender::{HostileSender, Scenario};
use nestcast_tests::later_version::{hello, unknown_message};

#[tokio::test(flavor = "multi_thread")]
async fn a_later_receiver_that_speaks_todays_version_too_gets_pictures() {
    let broadcast = Running::start(Plan::new(&identity()));
    let mut receiver = HostileReceiver::connect(broadcast.address, 1 << 20).await;
    receiver.say(&[hello(1, 2), unknown_message()].concat()).await;
    assert_eq!(receiver.greeting().await.0, 1, "the highest version that both speak");
    let reading = receiver.read_all();
    eventually("it is fed", || broadcast.monitor.read().receivers.iter().any(|receiver| receiver.sent.frames > 10))
        .await;
    receiver.say(&unknown_message().repeat(100)).await;
    let fed = broadcast.monitor.read().frames;
    eventually("the sender goes on", || broadcast.monitor.read().frames > fed + 10).await;
    assert_eq!(broadcast.monitor.read().receivers.len(), 1, "it is still there");
    broadcast.stop().await;
    assert_eq!(receiver.close_code().await, Ok(Code::Done));
    assert!(reading.await.expect("no panic").iter().filter(|stream| stream.first() == Some(&0)).count() > 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_receiver_that_does_not_speak_todays_version_is_told_so() {
    let broadcast = Running::start(Plan::new(&identity()));
    for (lowest, highest, code) in [(2, 3, Code::Version), (0, 0, Code::Version), (3, 2, Code::Violation)] {
        let mut receiver = HostileReceiver::connect(broadcast.address, 1 << 20).await;
        receiver.say(&hello(lowest, highest)).await;
        assert_eq!(receiver.close_code().await, Ok(code), "{lowest} to {highest}");
    }
    broadcast.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_does_not_know_sound_is_sent_none_and_one_that_asks_is() {
    for asks in [false, true] {
        let sound = vec![Bytes::from_static(&[7; 100])];
        let broadcast = Running::start(Plan { sound, ..Plan::new(&identity()) });
        let mut receiver = HostileReceiver::connect(broadcast.address, 1 << 20).await;
        receiver.say(&hello(1, 1)).await;
        if asks {
            receiver.say(&Message::SoundRequest(SoundRequest { wanted: true }).encode()).await;
        }
        let reading = receiver.read_all();
        let sent = || broadcast.monitor.read().receivers.first().map(|receiver| receiver.sent).unwrap_or_default();
        eventually("it is fed", || sent().frames > 20 && (sent().sound.packets > 20 || !asks)).await;
        broadcast.stop().await;
        let streams = reading.await.expect("no panic");
        let of = |kind| streams.iter().filter(|stream| stream.first() == Some(&kind)).count();
        assert!(of(0) > 10, "{} frames", of(0));
        assert_eq!(of(5) > 10, asks, "{} packets of sound", of(5));
        assert!(streams.iter().filter(|stream| stream.first() == Some(&5)).all(|stream| stream.ends_with(&[7; 100])));
    }
}

/// Watches a later sender that chose this version until it ends; returns the number of shown pictures.
async fn watch(chosen: u8) -> Result<u64, Error> {
    let sender = HostileSender::start(Scenario::LaterVersion { chosen });
    let config = pinned(sender.address, &sender.fingerprint);
    let counts = count_while(config, Instant::now(), |_| std::future::pending()).await?;
    Ok(counts.last().received.shown)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_sender_that_speaks_todays_version_is_watched_and_its_unknown_stream_stopped() {
    // The broadcast succeeds only if the receiver stopped the stream of an unknown kind.
    let shown = watch(1).await.expect("the broadcast ends well");
    assert!(shown > 0, "{shown} pictures");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sender_that_chooses_a_version_that_was_not_offered_breaks_a_rule() {
    for chosen in [0, 2] {
        let ended = watch(chosen).await;
        assert!(
            matches!(&ended, Err(Error::Session(ReceiverEnd::Violation(close))) if close.code == Code::Violation),
            "{ended:?}"
        );
    }
}
