//! A broadcast over loopback, with real QUIC: several receivers, wrong secrets, senders that come back.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use bytes::Bytes;
use nestcast_codec::Channels;
use nestcast_codec::FrameRate;
use nestcast_encode::{PictureFormat, Pictures};
use nestcast_proto::{
    Bitrate, BroadcastFrame, Code, Demand, PackageHash, ReceiveStats, ReceivedFrame, ReceiverEnd, SourceError, Welcome,
};
use nestcast_receiver::{Error, FrameSink, receive, view};
use nestcast_sender::{Broadcast, FrameSource, Identity};
use nestcast_tests::broadcasts::{CountingViewer, PATIENCE, Plan, RATE, Running, config, eventually, identity};
use nestcast_tests::pictures::{self, Content};
use nestcast_tests::still_frames::StillFrames;

/// Frames for which a receiver's rate is watched, from the first one that shows it: two seconds.
const CAPPED_FRAMES: usize = 60;
/// The depth of a sender's token bucket, in frame intervals.
const BUCKET_INTERVALS: f64 = 3.0;

/// Broadcasts a changing picture, as `identity`.
fn start(
    listen: SocketAddr,
    identity: &Identity,
    token: Option<&'static [u8]>,
    package: Option<PackageHash>,
) -> Running {
    Running::start(Plan { listen, token, package, ..Plan::new(identity) })
}

fn anywhere() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

/// Waits for `count` frames.
async fn wait_for_frames(seeing: Receiver<usize>, count: usize) -> Receiver<usize> {
    let looking = tokio::task::spawn_blocking(move || {
        for _ in 0..count {
            seeing.recv_timeout(PATIENCE).expect("frames come");
        }
        seeing
    });
    looking.await.expect("no panic")
}

/// Waits for a frame of at least `least` bytes, as the rate grows, and takes [`CAPPED_FRAMES`] more. All frames since `begun`
/// may have `most` bytes for each interval, and the depth of the sender's token bucket: a frame after others that a busy
/// machine skipped has their bytes too.
async fn wait_for_bytes(seeing: Receiver<usize>, least: usize, most: usize, begun: Instant) -> Receiver<usize> {
    let looking = tokio::task::spawn_blocking(move || {
        let (mut all, mut grown) = (0, 0);
        while grown < CAPPED_FRAMES {
            let bytes = seeing.recv_timeout(PATIENCE).expect("frames come");
            all += bytes;
            let intervals = begun.elapsed().as_secs_f64() * f64::from(RATE) + BUCKET_INTERVALS;
            assert!(all as f64 <= most as f64 * intervals, "{all} bytes in {intervals} intervals of {most}");
            grown += usize::from(grown > 0 || bytes >= least);
        }
        seeing
    });
    looking.await.expect("no panic")
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_several_receivers_gets_what_it_asks_for_until_the_end() {
    let identity = identity();
    let broadcast = start(anywhere(), &identity, Some(b"secret"), None);
    let begun = Instant::now();
    let mut receivers = Vec::new();
    for cap in [200_000, 600_000] {
        let mut config = config(broadcast.address, &identity);
        config.max_bitrate = Some(Bitrate::from_bits(cap as u64));
        config.token = Bytes::from_static(b"secret");
        let (eye, seeing) = CountingViewer::open();
        receivers.push((cap, tokio::spawn(view(config, eye, std::future::pending())), seeing));
    }
    let mut ends = Vec::new();
    for (cap, end, seeing) in receivers {
        let frame = cap / 8 / RATE as usize;
        ends.push((end, wait_for_bytes(seeing, frame / 2, frame, begun).await));
    }
    broadcast.stop().await;
    for (end, _seeing) in ends {
        end.await.expect("no panic").expect("the broadcast's end is no error");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_secrets_are_refused_by_name() {
    let identity = identity();
    let broadcast = start(anywhere(), &identity, Some(b"secret"), None);
    for token in [&b""[..], b"secreT", b"secret2"] {
        let mut config = config(broadcast.address, &identity);
        config.token = Bytes::from_static(token);
        let refused = view(config, CountingViewer::open().0, std::future::pending()).await;
        assert!(matches!(refused, Err(Error::Closed(Code::Token))), "{refused:?}");
    }
    let mut config = config(broadcast.address, &self::identity());
    config.token = Bytes::from_static(b"secret");
    let refused = view(config, CountingViewer::open().0, std::future::pending()).await;
    assert!(matches!(refused, Err(Error::Untrusted { .. })), "{refused:?}");
    let line = refused.expect_err("it is refused").to_string();
    assert!(line.contains(": its certificate has another fingerprint; a sender that was started again"), "{line}");
    broadcast.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_is_found_by_whichever_address_answers() {
    let identity = identity();
    let broadcast = start(anywhere(), &identity, None, None);
    // The socket receives packets and answers none.
    let silent = std::net::UdpSocket::bind(anywhere()).expect("a socket");
    let mut config = config(silent.local_addr().expect("it is bound"), &identity);
    config.other_addresses = vec![broadcast.address];
    let (eye, seeing) = CountingViewer::open();
    let receiving = tokio::spawn(view(config.clone(), eye, std::future::pending()));
    let seeing = wait_for_frames(seeing, 2).await;
    // A silent sender does not hide a refusal.
    config.trust = self::config(broadcast.address, &self::identity()).trust;
    let refused = view(config, CountingViewer::open().0, std::future::pending()).await;
    assert!(matches!(refused, Err(Error::Untrusted { address, .. }) if address == broadcast.address), "{refused:?}");
    broadcast.stop().await;
    receiving.await.expect("no panic").expect("the broadcast's end is no error");
    drop(seeing);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_model_is_refused_by_a_receiver_that_may_not_ask_and_by_a_sender_that_does_not_give() {
    let identity = identity();
    let unknown = PackageHash([0xAB; 32]);
    let broadcast = start(anywhere(), &identity, None, Some(unknown));
    let refused = view(config(broadcast.address, &identity), CountingViewer::open().0, std::future::pending()).await;
    assert!(
        matches!(refused, Err(Error::Session(ReceiverEnd::PackageMissing(package))) if package == unknown),
        "{refused:?}"
    );
    let mut config = config(broadcast.address, &identity);
    config.fetch_model = true;
    let refused = view(config, CountingViewer::open().0, std::future::pending()).await;
    assert!(matches!(refused, Err(Error::Closed(Code::Model))), "{refused:?}");
    broadcast.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_there_is_said_so() {
    let refused =
        view(config(([127, 0, 0, 1], 9).into(), &identity()), CountingViewer::open().0, std::future::pending()).await;
    assert!(matches!(refused, Err(Error::Connect { .. })), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_reads_nothing_and_goes_leaves_the_others_alone() {
    let identity = identity();
    let broadcast = start(anywhere(), &identity, None, None);
    let gone =
        tokio::spawn(view(config(broadcast.address, &identity), CountingViewer::open().0, std::future::pending()));
    let (eye, seeing) = CountingViewer::open();
    let stays = tokio::spawn(view(config(broadcast.address, &identity), eye, std::future::pending()));
    let seeing = wait_for_frames(seeing, 5).await;
    gone.abort();
    let _seeing = wait_for_frames(seeing, 30).await;
    broadcast.stop().await;
    stays.await.expect("no panic").expect("the broadcast's end is no error");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broadcast_that_breaks_off_has_not_ended_and_leaves_no_thread_behind() {
    let identity = identity();
    let plan = Plan::new(&identity);
    let (width, height) = plan.size;
    let picture = pictures::picture(Content::Noise, width, height, Channels::Rgb, 1);
    let alive = Arc::new(());
    let held = Arc::clone(&alive);
    let format = PictureFormat::of(&picture, FrameRate::new(RATE, 1).expect("a valid rate"));
    let source = Pictures::from_fn(format, move |_| {
        let _held = &held;
        Ok(Some(picture.clone()))
    });
    let broadcast = Running::run(plan.listen_with(source));
    let (eye, seeing) = CountingViewer::open();
    let received = tokio::spawn(view(config(broadcast.address, &identity), eye, std::future::pending()));
    let _seeing = wait_for_frames(seeing, 2).await;
    broadcast.break_off();
    let told = received.await.expect("no panic");
    assert!(matches!(told, Err(Error::Closed(Code::Failed))), "{told:?}");
    eventually("the source is no longer read", || Arc::strong_count(&alive) == 1).await;
}

/// The sender vanishes without a word, like a machine that loses power: the test drops its runtime.
#[test]
fn a_receiver_finds_a_sender_that_comes_back() {
    let runtime = || tokio::runtime::Runtime::new().expect("a runtime");
    let (identity, first, second, receiving) = (identity(), runtime(), runtime(), runtime());
    let before = first.block_on(async { start(anywhere(), &identity, None, None) });
    let mut config = config(before.address, &identity);
    config.retry = PATIENCE;
    let (eye, seeing) = CountingViewer::open();
    let received = receiving.spawn(view(config, eye, std::future::pending()));
    let seeing = receiving.block_on(wait_for_frames(seeing, 5));
    let address = before.address;
    first.shutdown_timeout(Duration::from_secs(1));
    let after = second.block_on(async { start(address, &identity, None, None) });
    // More frames than were in flight.
    let _seeing = receiving.block_on(wait_for_frames(seeing, 60));
    second.block_on(after.stop());
    receiving.block_on(received).expect("no panic").expect("the broadcast's end is no error");
}

/// Makes frames of no codec until a receiver was present for five, and then an error.
struct Failing {
    error: Option<SourceError>,
    frames: StillFrames,
    served: u64,
}

impl FrameSource for Failing {
    fn welcome(&self) -> Welcome {
        self.frames.welcome()
    }

    async fn next(&mut self, demand: &Demand) -> Result<Option<BroadcastFrame>, SourceError> {
        self.served += u64::from(!demand.receivers().is_empty());
        match self.error.take_if(|_| self.served > 5) {
            Some(error) => Err(error),
            None => self.frames.next(demand).await,
        }
    }
}

/// Counts frames of any kind.
#[derive(Default)]
struct Count(u64);

impl FrameSink for Count {
    type Error = Infallible;

    fn handle_frame(&mut self, _frame: ReceivedFrame, _stats: ReceiveStats) -> Result<(), Infallible> {
        self.0 += 1;
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn receivers_are_told_whether_a_source_broke_off_or_failed() {
    for (error, code) in [
        (SourceError::broken_off("no more input"), Code::Source),
        (SourceError::failed("no more memory"), Code::Failed),
    ] {
        let (identity, said) = (identity(), error.to_string());
        let config = nestcast_sender::SenderConfig::new(anywhere(), identity.clone());
        let frames = StillFrames::new(5000, 100, PATIENCE);
        let source = Failing { error: Some(error), frames, served: 0 };
        let broadcast = Broadcast::listen(config, source).expect("a free port");
        let address = broadcast.address().expect("it listens");
        let sending = tokio::spawn(broadcast.run(std::future::pending()));
        let mut count = Count::default();
        let told = receive(self::config(address, &identity), &mut count, std::future::pending()).await;
        assert!(matches!(told, Err(Error::Closed(told)) if told == code) && count.0 > 0, "{told:?}");
        let ended = sending.await.expect("no panic").expect_err("it failed").to_string();
        assert_eq!(ended, said);
    }
}
