//! One source and several simultaneous consumers, in virtual time: a receiver over QUIC and a recorder both get every
//! frame, and the encoder learns what both want.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nestcast_lab::bottleneck::Bottleneck;
use nestcast_lab::link::Link;
use nestcast_proto::{
    Bitrate, BroadcastFrame, Demand, ReceiveStats, ReceivedFrame, ReceiverDemand, SourceError, Welcome,
};
use nestcast_receiver::{FrameSink, Trust, receive_over};
use nestcast_sender::{Broadcast, FrameReceiver, FrameSource, Identity, NextFrame};
use nestcast_tests::still_frames::{RATE, StillFrames};
use tokio::runtime::Builder;

const RUN_TIME: Duration = Duration::from_secs(3);
/// Bytes of a frame that only the recorder can use.
const WANTED_BITS_PER_SECOND: u64 = 1_000_000;

/// What an encoder learns with each frame: the number of receivers, and the bytes that they can use.
type Told = Arc<Mutex<Vec<(usize, u64)>>>;

/// Frames of no codec, from a source that records the demand.
struct Listening(StillFrames, Told);

impl FrameSource for Listening {
    fn welcome(&self) -> Welcome {
        self.0.welcome()
    }

    async fn next(&mut self, demand: &Demand) -> Result<Option<BroadcastFrame>, SourceError> {
        let frame = self.0.next(demand).await;
        let told = (demand.receivers().len(), demand.take_useful_bytes());
        self.1.lock().unwrap_or_else(PoisonError::into_inner).push(told);
        frame
    }
}

/// Records the numbers of frames.
#[derive(Default)]
struct Numbers(Vec<u64>);

impl FrameSink for Numbers {
    type Error = Infallible;

    fn handle_frame(&mut self, frame: ReceivedFrame, _stats: ReceiveStats) -> Result<(), Infallible> {
        self.0.push(frame.header.id);
        Ok(())
    }
}

/// Takes frames until there are no more, and after each states what a recorder wants. Returns their numbers.
async fn record(mut frames: FrameReceiver, demand: Demand) -> Vec<u64> {
    let (entry, mut numbers) = (demand.register(), Vec::new());
    loop {
        match frames.next().await {
            NextFrame::Frame(next) => numbers.push(next.frame.id),
            NextFrame::Missed(count) => panic!("{count} frames were missed"),
            NextFrame::End => return numbers,
        }
        let bandwidth = Bitrate::from_bits(100_000_000);
        entry.set(ReceiverDemand { bandwidth, useful_bytes: WANTED_BITS_PER_SECOND, ..ReceiverDemand::default() });
    }
}

/// Broadcasts to one receiver over QUIC, a recorder and a plain consumer. Returns the numbers of their frames.
async fn broadcast(told: Told) -> [Vec<u64>; 3] {
    let network = Bottleneck::new(&[Link::constant(10_000_000)]);
    let identity = Identity::generate().expect("random numbers");
    let trust = Trust::fingerprint(&identity.fingerprint().to_string()).expect("a fingerprint");
    let (socket, seed) = network.server();
    let address = socket.local_addr().expect("it is bound");
    let socket = nestcast_sender::SenderSocket::simulated(socket, seed).expect("it is bound");
    let source = Listening(StillFrames::new(5000, 400, RUN_TIME).of_video(), told);
    let broadcast =
        Broadcast::over(socket, nestcast_sender::SenderConfig::new(address, identity), source).expect("it begins");
    let recorder = tokio::spawn(record(broadcast.frames(), broadcast.demand()));
    let mut plain = broadcast.frames();
    let sending = tokio::spawn(broadcast.run(std::future::pending()));
    let (socket, seed) = network.client(0);
    let socket = nestcast_receiver::ReceiverSocket::simulated(socket, seed);
    let mut receiver = Numbers::default();
    let config = nestcast_receiver::ReceiverConfig::new(address, trust);
    receive_over(socket, config, &mut receiver, std::future::pending()).await.expect("it ends well");
    sending.await.expect("no panic").expect("the source ends");
    let mut numbers = Vec::new();
    loop {
        match plain.next().await {
            NextFrame::Frame(next) => numbers.push(next.frame.id),
            NextFrame::Missed(_) => {}
            NextFrame::End => break,
        }
    }
    [receiver.0, recorder.await.expect("no panic"), numbers]
}

#[test]
fn a_receiver_and_a_recorder_get_every_frame_of_one_source_that_learns_what_both_want() {
    let told = Told::default();
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
    let [received, recorded, late] = runtime.block_on(broadcast(Arc::clone(&told)));
    let count = recorded.len() as u64;
    assert!(count + 1 >= u64::from(RATE) * RUN_TIME.as_secs(), "{count} frames");
    assert_eq!(recorded, (0..count).collect::<Vec<_>>());
    let first = received[0];
    assert!(first < u64::from(RATE), "it joined within a second: {first}");
    assert_eq!(received, (first..count).collect::<Vec<_>>());
    // A consumer that slept all the time has the newest frames.
    assert_eq!(late.last(), Some(&(count - 1)));
    let told = told.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(told[0], (0, 16 * 1024), "nobody has stated anything before the first frame");
    assert_eq!(told[1].1, WANTED_BITS_PER_SECOND, "the recorder got the first frame");
    assert!(
        told[usize::try_from(first).expect("few") + 5..].iter().all(|told| *told == (2, WANTED_BITS_PER_SECOND)),
        "{told:?}"
    );
}
