//! A hundred receivers lose their sender at once and look for it together, in virtual time: all of them come back.

use std::time::Duration;

use nestcast_lab::bottleneck::Bottleneck;
use nestcast_lab::link::Link;
use nestcast_receiver::{ReceiverConfig, ReceiverSocket, receive_over};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::returns::{Roaming, Times, begin_lasting, in_virtual_time};

const RECEIVERS: u32 = 100;
/// More than all of them request.
const LINK_BITS_PER_SECOND: u64 = 300_000_000;
const RTT: Duration = Duration::from_millis(50);
/// When the sender's network goes away. By then all receivers watch.
const AWAY: Duration = Duration::from_secs(5);
/// When it is back, after a short outage and after a long one, after which no connection is left.
const BACK: [Duration; 2] = [Duration::from_secs(8), Duration::from_secs(55)];
/// How long the receivers watch after that.
const AFTERWARDS: Duration = Duration::from_secs(4);

/// Lets all receivers watch; nothing reaches or leaves them between [`AWAY`] and `back`. Returns what each saw.
async fn storm(back: Duration, place: fn(Duration) -> Option<usize>) -> Vec<Times> {
    let network = Bottleneck::new(&[Link::constant(LINK_BITS_PER_SECOND).with_rtt(RTT)]);
    let (address, trust) = begin_lasting(&network, back + 2 * AFTERWARDS);
    let mut receivers = JoinSet::new();
    for _ in 0..RECEIVERS {
        let mut config = ReceiverConfig::new(address, trust.clone());
        (config.name, config.wait) = ("localhost".to_owned(), true);
        let (network, mut times) = (network.clone(), Times::new(&network));
        receivers.spawn(async move {
            let socket = ReceiverSocket::simulated_each(move || {
                let (roaming, seed) = Roaming::new(&network, place);
                (roaming, seed)
            });
            receive_over(socket, config, &mut times, sleep(back + AFTERWARDS)).await.expect("it waits");
            times
        });
    }
    receivers.join_all().await
}

#[test]
fn a_hundred_receivers_that_look_for_their_sender_come_back_within_two_seconds() {
    let places: [fn(Duration) -> Option<usize>; 2] = [
        |now| Some(0).filter(|_| !(AWAY..BACK[0]).contains(&now)),
        |now| Some(0).filter(|_| !(AWAY..BACK[1]).contains(&now)),
    ];
    for (back, place) in BACK.into_iter().zip(places) {
        let receivers = in_virtual_time(storm(back, place));
        assert_eq!(receivers.len(), RECEIVERS as usize);
        let mut waited: Vec<_> = receivers.iter().map(|times| times.first_after(back) - back).collect();
        waited.sort_unstable();
        let (median, longest) = (waited[waited.len() / 2], waited[waited.len() - 1]);
        println!("{:?} away: first pictures {median:?} (median), {longest:?} (longest) after it", back - AWAY);
        assert!(longest < Duration::from_secs(2), "{waited:?}");
        for times in &receivers {
            assert!(times.connections <= 2, "the other attempts are given up");
            let later = times.frames.iter().filter(|(captured, _)| *captured >= back + AFTERWARDS / 2);
            assert!(later.count() >= 55, "all frames of two seconds come");
        }
    }
}
