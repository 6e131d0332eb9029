//! Feeds over a test transport, in virtual time: what one receiver gets while there are others, and what a feed does
//! that wakes late.

mod archives;
mod taker;

use std::future::pending;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use nestcast_proto::{
    Archive, Bitrate, BroadcastFrame, BroadcastName, Code, DecoderKind, Demand, Frame, FrameRate, FrameStream, Message,
    ModelRequest, Offer, OpenedArchive, PackageHash, PathStats, RandomAccessRequest, Sound, SoundRequest, SourceError,
    Start, Urgency, VersionRange, Video, Welcome,
};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use self::taker::Taker;
use super::*;
use crate::directory::MAX_REWOUND;
use crate::door::slots::Slots;
use crate::frames::fanout::FrameFanout;
use crate::frames::sound::SoundFanout;
use crate::shared::{Elsewhere, Shared, Station};

const INTERVAL: Duration = Duration::from_millis(33);
const BASE_BYTES: usize = 400;
const FULL_BYTES: usize = 20_000;
/// Bytes of the model.
const MODEL_BYTES: usize = 250_000;
/// The bytes that a receiver's buffer holds.
const BUFFER_BYTES: f64 = 6000.0;
/// Streams that a receiver counts without a new allocation.
const MOST_STREAMS: usize = 2000;

fn hello(max_bitrate: Option<Bitrate>) -> Bytes {
    hello_to("", max_bitrate)
}

fn hello_to(name: &str, max_bitrate: Option<Bitrate>) -> Bytes {
    hello_at(name, max_bitrate, None)
}

fn hello_at(name: &str, max_bitrate: Option<Bitrate>, start: Option<Start>) -> Bytes {
    Message::Hello(Hello {
        versions: VersionRange::SPOKEN,
        token: Bytes::new(),
        max_bitrate,
        decoder: DecoderKind::Linear,
        broadcast: name.parse().expect("a name"),
        start,
    })
    .encode()
}

fn shared() -> Arc<Shared> {
    let welcome = Welcome {
        model: [7; 6],
        package: PackageHash([7; 32]),
        width: 16,
        height: 16,
        rate: FrameRate::new(30, 1).expect("a rate"),
        video: None,
    };
    let counters = Arc::default();
    let demand = Demand::default();
    let end = OnceLock::new();
    let offer = Arc::new(Offer { welcome, package: Some(vec![7; MODEL_BYTES].into()), sound: None });
    let slots = Arc::new(Slots::new(100, 100));
    let cut_off = Arc::new(watch::Sender::new(false));
    let sound = SoundFanout::new();
    Arc::new(Shared {
        offer,
        authorizers: Vec::new(),
        max_bitrate: None,
        counters,
        demand,
        slots,
        sound,
        end,
        cut_off,
        origins: Vec::new(),
        elsewhere: None,
        parent: None,
    })
}

fn send(fanout: &FrameFanout, id: u64) {
    let bytes = vec![7; FULL_BYTES].into();
    fanout.send(Frame { id, skipped: 0, captured: 0, since: id, base: BASE_BYTES, bytes, join: None }.into());
}

/// Returns a sender of this broadcast alone.
fn directory(shared: &Arc<Shared>, frames: &FrameReceiver) -> Arc<Directory> {
    let station = Station { shared: Arc::clone(shared), frames: frames.clone() };
    let stations = [(BroadcastName::default(), station)].into();
    Arc::new(Directory { first: BroadcastName::default(), stations, rewound: Arc::new(Semaphore::new(MAX_REWOUND)) })
}

/// Feeds a receiver.
fn feed(taker: Taker, shared: &Arc<Shared>, frames: &FrameReceiver) -> impl Future<Output = ()> + 'static {
    run(taker, pending(), shared.demand.register(), directory(shared, frames))
}

/// Feeds receivers of these rates with 300 frames; returns the bytes of each frame that the first one got.
async fn first_of(rates: &[f64]) -> Vec<usize> {
    let fanout = FrameFanout::new(INTERVAL);
    let frames = fanout.subscribe();
    let shared = shared();
    let takers: Vec<_> = rates.iter().map(|&rate| Taker::new(rate)).collect();
    let mut feeds = JoinSet::new();
    for taker in &takers {
        feeds.spawn(feed(taker.clone(), &shared, &frames));
    }
    for id in 0..300 {
        sleep(INTERVAL).await;
        send(&fanout, id);
    }
    sleep(INTERVAL).await;
    feeds.shutdown().await;
    takers[0].streams()
}

#[tokio::test(start_paused = true)]
async fn each_receiver_gets_the_least_of_what_it_asks_for_and_what_the_sender_allows() {
    for (asks, allows, least) in
        [(None, 800_000, 800_000), (Some(400_000), 800_000, 400_000), (Some(9_000_000), 800_000, 800_000)]
    {
        let fanout = FrameFanout::new(INTERVAL);
        let frames = fanout.subscribe();
        let mut shared = Arc::into_inner(shared()).expect("nobody else has it");
        shared.max_bitrate = Some(Bitrate::from_bits(allows));
        let shared = Arc::new(shared);
        let taker = Taker { says: hello(asks.map(Bitrate::from_bits)), ..Taker::new(1e9) };
        let feed = tokio::spawn(feed(taker.clone(), &shared, &frames));
        for id in 0..300 {
            sleep(INTERVAL).await;
            send(&fanout, id);
        }
        assert_eq!(shared.demand.receivers()[0].1.max_bitrate, Some(Bitrate::from_bits(least)));
        feed.abort();
        let bits = 8.0 * taker.streams().iter().sum::<usize>() as f64 / (300.0 * INTERVAL.as_secs_f64());
        assert!((0.8..=1.0).contains(&(bits / least as f64)), "{bits} of {least}");
    }
}

#[tokio::test(start_paused = true)]
async fn slow_and_deaf_receivers_change_nothing_for_another() {
    let alone = first_of(&[150_000.0]).await;
    assert_eq!(alone.len(), 300);
    let together = first_of(&[150_000.0, 0.0, 0.0, 0.0, 3_000.0, 10_000.0, 1e9]).await;
    let [alone, together] = [alone, together].map(|frames| frames.iter().sum::<usize>());
    assert!(alone > 1_400_000, "{alone}");
    assert!(alone.abs_diff(together) * 50 < alone, "{together} beside others, {alone} alone");
}

#[tokio::test(start_paused = true)]
async fn a_feed_that_wakes_late_sends_the_base_of_every_frame_and_the_newest_as_far_as_it_may() {
    let fanout = FrameFanout::new(INTERVAL);
    let frames = fanout.subscribe();
    let taker = Taker::new(150_000.0);
    let feed = tokio::spawn(feed(taker.clone(), &shared(), &frames));
    sleep(INTERVAL).await;
    // All at once: the feed does not run in between.
    (0..5).for_each(|id| send(&fanout, id));
    sleep(INTERVAL).await;
    let streams = taker.streams();
    assert!(streams.len() == 5 && streams.iter().all(|&bytes| bytes >= BASE_BYTES), "{streams:?}");
    assert!(streams[4] > 8 * BASE_BYTES, "{streams:?}");
    drop(fanout);
    feed.await.expect("it ends with the frames");
}

#[tokio::test(start_paused = true)]
async fn a_join_is_for_receivers_of_video_alone() {
    let request = Message::RandomAccessRequest(RandomAccessRequest { lost: 0 }).encode();
    for (video, closed) in [(None, Some(Code::Violation)), (Some(Video::new([7; 6])), None)] {
        let fanout = FrameFanout::new(INTERVAL);
        let frames = fanout.subscribe();
        let mut shared = Arc::into_inner(shared()).expect("nobody else has it");
        let offer = Offer::clone(&shared.offer);
        shared.offer = Arc::new(Offer { welcome: Welcome { video, ..offer.welcome.clone() }, ..offer });
        let taker = Taker { says: [hello(None), request.clone()].concat().into(), ..Taker::new(1e9) };
        let feed = tokio::spawn(feed(taker.clone(), &Arc::new(shared), &frames));
        sleep(INTERVAL).await;
        assert_eq!(taker.taken().closed, closed);
        feed.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_goes_no_faster_than_the_receiver_takes() {
    let fanout = FrameFanout::new(INTERVAL);
    let frames = fanout.subscribe();
    let mut taker = Taker::new(1e9);
    let request = Message::ModelRequest(ModelRequest { package: PackageHash([7; 32]) }).encode();
    taker.says = [hello(Some(Bitrate::from_bits(1_000_000))), request].concat().into();
    let feed = tokio::spawn(feed(taker.clone(), &shared(), &frames));
    sleep(Duration::from_secs(1)).await;
    let after_a_second = taker.streams()[0];
    assert!((100_000..=125_000).contains(&after_a_second), "{after_a_second} bytes at 125000 bytes a second");
    sleep(Duration::from_millis(1500)).await;
    assert!(taker.streams()[0] > MODEL_BYTES, "all of it and its head");
    feed.abort();
}

#[tokio::test(start_paused = true)]
async fn of_a_model_something_comes_every_few_seconds_however_low_the_cap() {
    let fanout = FrameFanout::new(INTERVAL);
    let frames = fanout.subscribe();
    let mut taker = Taker::new(1e9);
    let request = Message::ModelRequest(ModelRequest { package: PackageHash([7; 32]) }).encode();
    taker.says = [hello(Some(Bitrate::from_bits(8000))), request].concat().into();
    let feed = tokio::spawn(feed(taker.clone(), &shared(), &frames));
    let mut before = 0;
    for _ in 0..20 {
        sleep(Duration::from_secs(2)).await;
        let now = taker.streams()[0];
        assert!(now > before && now <= before + 3 * 1200, "{now} bytes after {before}");
        before = now;
    }
    feed.abort();
}

#[tokio::test(start_paused = true)]
async fn who_vanishes_while_its_model_waits_for_its_turn_leaves_its_place_at_once() {
    let fanout = FrameFanout::new(INTERVAL);
    let frames = fanout.subscribe();
    let mut taker = Taker::new(1e9);
    let request = Message::ModelRequest(ModelRequest { package: PackageHash([7; 32]) }).encode();
    taker.says = [hello(Some(Bitrate::from_bits(1))), request].concat().into();
    let feed = tokio::spawn(feed(taker.clone(), &shared(), &frames));
    sleep(Duration::from_secs(1)).await;
    assert!(
        !feed.is_finished() && taker.streams()[0] > 0,
        "a bit a second was asked for, so the next byte is hours away"
    );
    taker.gone.notify_one();
    sleep(Duration::from_millis(1)).await;
    assert!(feed.is_finished());
}

#[tokio::test(start_paused = true)]
async fn the_control_stream_does_not_end_before_the_close_that_says_why() {
    let told = async |taker: Taker, slots: usize| {
        let fanout = FrameFanout::new(INTERVAL);
        let frames = fanout.subscribe();
        let mut shared = Arc::into_inner(shared()).expect("nobody else has it");
        shared.slots = Arc::new(Slots::new(slots, slots));
        let time_is_up = async {
            sleep(Duration::from_secs(3)).await;
            Close { code: Code::Slow, why: "no hello came in time" }
        };
        let entry = shared.demand.register();
        run(taker.clone(), time_is_up, entry, directory(&Arc::new(shared), &frames)).await;
        let taken = taker.taken();
        (taken.closed, taken.ended_before_close)
    };
    assert_eq!(told(Taker::new(1e9), 0).await, (Some(Code::Full), false));
    let silent = Taker { says: Bytes::new(), ..Taker::new(1e9) };
    assert_eq!(told(silent, 1).await, (Some(Code::Slow), false));
    let rude = Taker { says: [hello(None), hello(None)].concat().into(), ..Taker::new(1e9) };
    assert_eq!(told(rude, 1).await, (Some(Code::Violation), false));
}

#[tokio::test(start_paused = true)]
async fn sound_goes_between_frames_to_who_asked_for_it() {
    let fanout = FrameFanout::new(INTERVAL);
    let frames = fanout.subscribe();
    let mut shared = Arc::into_inner(shared()).expect("nobody else has it");
    let offer = Offer::clone(&shared.offer);
    shared.offer = Arc::new(Offer { sound: Some(Sound::Mono), ..offer });
    let sound = shared.sound.clone();
    let asks = Message::SoundRequest(SoundRequest { wanted: true }).encode();
    let taker = Taker { says: [hello(None), asks].concat().into(), ..Taker::new(150_000.0) };
    let shared = Arc::new(shared);
    let feed = tokio::spawn(feed(taker.clone(), &shared, &frames));
    sleep(INTERVAL).await;
    send(&fanout, 0);
    // Sound follows the first frame's stream.
    sleep(Duration::from_millis(1)).await;
    for at in 0..50 {
        assert!(sound.send(at, Bytes::from_static(&[7; 100])));
        sleep(Duration::from_millis(20)).await;
    }
    let packets = taker.streams().iter().filter(|bytes| (100..120).contains(*bytes)).count();
    assert_eq!(packets, 50, "{:?}", taker.streams());
    send(&fanout, 1);
    sleep(INTERVAL).await;
    let sent = shared.counters.read().receivers[0].sent;
    assert_eq!((sent.frames, sent.sound.packets, sent.sound.skipped), (1, 50, 0));
    feed.abort();
}

#[test]
fn from_fanout_to_transport_a_frame_takes_no_memory_anew() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime");
    let _within = runtime.enter();
    let fanout = FrameFanout::new(INTERVAL);
    let frames = fanout.subscribe();
    let shared = shared();
    let bytes = Bytes::from(vec![7; FULL_BYTES]);
    let feeds: Vec<_> = (0..3).map(|_| runtime.spawn(feed(Taker::new(1e9), &shared, &frames))).collect();
    let send_all = |ids: std::ops::Range<u64>| {
        runtime.block_on(async {
            for id in ids {
                sleep(INTERVAL).await;
                let bytes = bytes.clone();
                let frame = Frame { id, skipped: 0, captured: 0, since: id, base: BASE_BYTES, bytes, join: None };
                fanout.send(frame.into());
            }
            sleep(INTERVAL).await;
        });
    };
    send_all(0..100);
    let taken = allocation_counter::measure(|| send_all(100..1100));
    assert_eq!(taken.count_total, 0, "allocations for 1000 frames to three receivers: {taken:?}");
    let figures = shared.counters.read();
    assert!(figures.receivers.len() == 3 && figures.receivers.iter().all(|receiver| receiver.sent.frames >= 1099));
    drop(feeds);
}

#[tokio::test(start_paused = true)]
async fn a_receiver_gets_the_broadcast_that_it_asks_for_and_another_name_is_refused() {
    let fanouts = [(); 2].map(|()| FrameFanout::new(INTERVAL));
    let shares = [(); 2].map(|()| shared());
    let name = |text: &str| text.parse::<BroadcastName>().expect("a name");
    let stations = ["cam1", "cam2"].into_iter().zip(shares.iter().zip(&fanouts));
    let stations = stations.map(|(text, (shared, fanout))| {
        (name(text), Station { shared: Arc::clone(shared), frames: fanout.subscribe() })
    });
    let rewound = Arc::new(Semaphore::new(MAX_REWOUND));
    let directory = Arc::new(Directory { first: name("cam1"), stations: stations.collect(), rewound });
    let ask = |text: &str| Taker { says: hello_to(text, None), ..Taker::new(1e9) };
    let takers = ["cam2", "cam3", ""].map(ask);
    let mut feeds = JoinSet::new();
    for taker in &takers {
        feeds.spawn(run(taker.clone(), pending(), shares[0].demand.register(), Arc::clone(&directory)));
    }
    for id in 0..3 {
        sleep(INTERVAL).await;
        send(&fanouts[1], id);
    }
    sleep(INTERVAL).await;
    assert_eq!(takers[0].streams().len(), 3);
    for refused in &takers[1..] {
        assert_eq!(refused.taken().closed, Some(Code::NoBroadcast));
    }
    assert_eq!(shares[0].counters.read().refusals.get("no_broadcast"), Some(&2));
    assert_eq!([0, 1].map(|at: usize| shares[at].counters.read().accepted), [0, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_may_not_watch_does_not_learn_which_names_there_are() {
    let (fanout, shared) = (FrameFanout::new(INTERVAL), shared());
    let mut shared = Arc::into_inner(shared).expect("nobody else has it");
    shared.authorizers = vec![Arc::new(crate::access::shared_token::SharedToken(Bytes::from_static(b"secret")))];
    let shared = Arc::new(shared);
    let name: BroadcastName = "cam1".parse().expect("a name");
    let station = Station { shared: Arc::clone(&shared), frames: fanout.subscribe() };
    let rewound = Arc::new(Semaphore::new(MAX_REWOUND));
    let directory = Arc::new(Directory { first: name.clone(), stations: [(name, station)].into(), rewound });
    for asked in ["cam1", "cam2", ""] {
        let taker = Taker { says: hello_to(asked, None), ..Taker::new(1e9) };
        run(taker.clone(), pending(), shared.demand.register(), Arc::clone(&directory)).await;
        assert_eq!(taker.taken().closed, Some(Code::Token), "{asked}");
    }
}
