//! Broadcasts through `moq-relay` itself to the viewer in Chromium: `cargo xtask relays`. Without Chromium the tests are
//! skipped, with a message.

mod harness;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use harness::program::RelayProgram;
use nestcast_codec::{Format, FrameRate, Picture, Size, Ycbcr};
use nestcast_encode::{PictureFormat, RenditionLimit};
use nestcast_lab::video_frames::VideoFrames;
use nestcast_moq::{Rates, Relayed, publish, receive};
use nestcast_proto::{Frame, ReceiveStats, ReceivedFrame};
use nestcast_receiver::FrameSink;
use nestcast_sender::{Broadcast, Identity};
use nestcast_tests::browser::Engine;
use nestcast_tests::live_page::{compare, parse, record, watch};
use nestcast_tests::video_frames::{SIZE, picture};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

/// Frames of video a second. A busy machine reads each one back from the canvas, so it would show few of more.
const VIDEO_RATE: u32 = 5;
/// The pictures that are compared.
const MIN_FRAMES: usize = 30;
/// When the relay is killed. The page shows twice the frames until then, so half of them come by another connection.
const KILL_SECONDS: u32 = 12;
/// Broadcasts until the page shows every frame.
const MAX_ATTEMPTS: u32 = 3;

const FORMAT: Format = Format::Ycbcr420(Ycbcr::BT601);

fn size() -> Size {
    Size::new(SIZE[0], SIZE[1]).expect("a valid size")
}

/// What the native subscriber got: the bytes of each frame.
#[derive(Default)]
struct Frames(BTreeMap<u64, Bytes>);

impl FrameSink for Frames {
    type Error = Infallible;

    fn handle_frame(&mut self, frame: ReceivedFrame, _: ReceiveStats) -> Result<(), Infallible> {
        self.0.insert(frame.header.id, frame.prefix);
        Ok(())
    }
}

/// A broadcast of video at a relay.
struct Published {
    relay: RelayProgram,
    _tasks: JoinSet<()>,
    frames: JoinHandle<BTreeMap<u64, Frame>>,
    stop: oneshot::Sender<()>,
}

impl Published {
    fn start() -> Self {
        let relay = RelayProgram::start(None);
        let rate = FrameRate::new(VIDEO_RATE, 1).expect("a valid rate");
        let shape = PictureFormat::new(size(), FORMAT, rate);
        let source = VideoFrames::new(shape, (1, RenditionLimit::AtMost(1)), picture);
        let identity = Identity::generate().expect("an identity");
        let config = nestcast_sender::SenderConfig::new(([127, 0, 0, 1], 0).into(), identity);
        let broadcast = Broadcast::listen(config, source).expect("a port");
        let frames = tokio::spawn(record(broadcast.frames()));
        let relayed = Relayed::of(&broadcast.station()).expect("video");
        let (place, mut tasks) = (relay.place.clone(), JoinSet::new());
        tasks.spawn(async move {
            let published = publish(&place.url, &place.trust, Rates::default(), relayed, std::future::pending()).await;
            published.expect("the relay accepts it");
        });
        let (stop, stopped) = oneshot::channel::<()>();
        tasks.spawn(async move {
            let stopped = async {
                // It may be dropped.
                let _ = stopped.await;
            };
            broadcast.run(stopped).await.expect("a source that works");
        });
        Self { relay, _tasks: tasks, frames, stop }
    }

    /// Returns the page's link to the broadcast, by an address of this form.
    fn link(&self, scheme: &str) -> String {
        let (address, fingerprint) = (self.relay.address(), self.relay.fingerprint());
        format!("src={scheme}://{address}/garden&fingerprint={fingerprint}")
    }
}

async fn lines(link: String) -> Option<Vec<String>> {
    tokio::task::spawn_blocking(move || watch(Engine::Chromium, &link)).await.expect("no panic")
}

/// Returns what the page shows, what the native subscriber got meanwhile, and all frames; `None` without a browser.
async fn watched(scheme: &str) -> Option<(Vec<String>, BTreeMap<u64, Bytes>, BTreeMap<u64, Frame>)> {
    let published = Published::start();
    let (shown, stopped) = oneshot::channel::<()>();
    let config = published.relay.place.config(Duration::from_secs(30));
    let native = tokio::spawn(async move {
        let mut frames = Frames::default();
        receive(config, &mut frames, async { drop(stopped.await) }).await.expect("a shutdown");
        frames.0
    });
    let lines = lines(published.link(scheme) + &format!("&frames={MIN_FRAMES}")).await?;
    // It may have ended by itself, which the next line says.
    let _ = shown.send(());
    let native = native.await.expect("no panic");
    // The record ends with the broadcast.
    drop(published.stop);
    Some((lines, native, published.frames.await.expect("no panic")))
}

/// A user gives the address as for `nestcast receive`, or as a browser's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs moq-relay: cargo xtask relays"]
async fn chromium_shows_a_relayed_broadcast_bit_for_bit() {
    for scheme in ["moq", "https"] {
        let mut unlike = String::new();
        for _ in 0..MAX_ATTEMPTS {
            let Some((lines, native, frames)) = watched(scheme).await else { return };
            let (end, shown) = lines.split_last().expect("a line");
            assert_eq!((end.as_str(), shown.len()), ("enough", MIN_FRAMES), "{lines:?}");
            // The first may be a random-access frame for one of both.
            let both = shown[1..].iter().map(|line| parse(line));
            let both: Vec<_> = both.filter_map(|shown| Some((native.get(&shown.id)?.len(), shown.bytes))).collect();
            let equal = both.iter().filter(|(native, page)| native == page).count();
            eprintln!("{scheme}: {equal} of {} frames as long as the native subscriber's", both.len());
            assert!(2 * equal > MIN_FRAMES, "{both:?}");
            match compare(shown, &frames, Picture::zero(size(), FORMAT), false) {
                Ok(()) => {
                    unlike.clear();
                    break;
                }
                Err(why) => unlike = why,
            }
        }
        assert!(unlike.is_empty(), "the page lacked frames in {MAX_ATTEMPTS} broadcasts: {unlike}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs moq-relay: cargo xtask relays"]
async fn chromium_waits_for_a_broadcast_that_is_not_there_and_shows_it_later() {
    let published = Published::start();
    let elsewhere = published.link("moq").replace("/garden", "/nowhere") + "&seconds=4";
    let Some(lines) = lines(elsewhere).await else { return };
    assert!(lines.len() == 1 && lines[0].starts_with("measured"), "it shows nothing and still waits: {lines:?}");
    let mut again = Published::start();
    // As a killed process: nothing says goodbye.
    let link = again.link("moq") + &format!("&frames={}", 2 * VIDEO_RATE * KILL_SECONDS);
    let watched = tokio::spawn(self::lines(link));
    tokio::time::sleep(Duration::from_secs(KILL_SECONDS.into())).await;
    again.relay.kill();
    tokio::time::sleep(Duration::from_secs(1)).await;
    again.relay.start_again();
    let lines = watched.await.expect("no panic").expect("it is installed");
    let (end, shown) = lines.split_last().expect("a line");
    assert_eq!(end, "enough", "{lines:?}");
    let ids: Vec<_> = shown.iter().map(|line| parse(line).id).collect();
    let is_gap = |pair: &[u64]| pair[1] > pair[0] + u64::from(VIDEO_RATE);
    assert!(ids.windows(2).any(is_gap), "it lacks the frames of the second without a relay: {ids:?}");
}
