//! A broadcast that is recorded, and a recording that is broadcast, in virtual time: both show what a receiver on a
//! fast link saw. A recording that is cut anywhere opens.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nestcast_codec::{Picture, TransformError, VideoDecoder, VideoModel};
use nestcast_encode::{RenditionLimit, Replay};
use nestcast_lab::bottleneck::Bottleneck;
use nestcast_lab::link::Link;
use nestcast_media::stored::{Frames, Player, Reader, RecordedFrame, Recording};
use nestcast_player::Announcement;
use nestcast_proto::{
    BroadcastFrame, Demand, Frame, FrameStream as _, ReceiveStats, ReceivedFrame, SourceError, Welcome,
};
use nestcast_receiver::{FrameSink, Trust, receive_over};
use nestcast_sender::{Broadcast, FrameSource, Identity, RecordedFrames};
use nestcast_tests::video_frames::{picture, video_frames};
use tokio::runtime::Builder;
use tokio::time::{Instant, sleep, sleep_until};

/// The length of a recorded broadcast.
const RUN_TIME: Duration = Duration::from_secs(4);
/// Frames a second of all videos here.
const RATE: usize = 30;

/// A source that begins when a receiver asks for a frame, and ends after some frames.
struct Gated<S> {
    source: S,
    is_open: bool,
    left: usize,
}

impl<S: FrameSource> FrameSource for Gated<S> {
    fn welcome(&self) -> Welcome {
        self.source.welcome()
    }

    async fn next(&mut self, demand: &Demand) -> Result<Option<BroadcastFrame>, SourceError> {
        while !self.is_open {
            sleep(Duration::from_millis(1)).await;
            self.is_open = demand.take_random_access_request();
        }
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        self.source.next(demand).await
    }
}

/// Drives a stored video by the runtime's clock.
struct Film {
    replay: Replay<Cursor<Vec<u8>>>,
    start: Option<Instant>,
}

impl Film {
    fn new(film: Vec<u8>) -> Self {
        Self { replay: Replay::new("film", u64::MAX, Cursor::new(film), None).expect("a video"), start: None }
    }
}

impl FrameSource for Film {
    fn welcome(&self) -> Welcome {
        self.replay.welcome()
    }

    async fn next(&mut self, demand: &Demand) -> Result<Option<BroadcastFrame>, SourceError> {
        let Some(due) = self.replay.read()? else { return Ok(None) };
        let start = *self.start.get_or_insert_with(Instant::now);
        while self.replay.prepare(demand) {}
        sleep_until(start + due).await;
        let micros = u64::try_from(due.as_micros()).expect("a short film");
        Ok(self.replay.take(1_000_000 + micros, demand))
    }
}

/// What a receiver shows of each frame, by the frame's capture time.
#[derive(Clone, Default)]
struct Shown(Arc<Mutex<BTreeMap<u64, Picture>>>);

impl Shown {
    fn all(&self) -> BTreeMap<u64, Picture> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Decodes what arrives.
struct Screen {
    decoder: VideoDecoder,
    shown: Shown,
    /// Whether a frame lacked a byte.
    is_cut: bool,
}

impl Screen {
    fn new(shown: Shown) -> Self {
        let decoder = VideoDecoder::new(VideoModel::built_in(), picture(0).size(), 1);
        Self { decoder, shown, is_cut: false }
    }
}

impl FrameSink for Screen {
    type Error = TransformError;

    fn handle_frame(&mut self, frame: ReceivedFrame, _stats: ReceiveStats) -> Result<(), TransformError> {
        self.is_cut |= frame.prefix.len() as u64 != frame.header.full;
        self.decoder.decode(&frame.prefix)?;
        let mut picture = picture(0);
        self.decoder.render_into(&mut picture)?;
        self.shown.0.lock().unwrap_or_else(PoisonError::into_inner).insert(frame.header.captured, picture);
        Ok(())
    }
}

/// Records until the broadcast ends. Returns the file, and the place where each frame's record ends.
async fn record(mut frames: RecordedFrames, welcome: Welcome) -> (Vec<u8>, Vec<usize>) {
    let header = Announcement::of(&welcome).expect("a size").video_header().expect("of video");
    let mut recording = Recording::begin(&header, Vec::new()).expect("memory");
    let mut ends = Vec::new();
    while let Some(Frame { id: number, captured, bytes, .. }) = frames.next().await {
        recording.write(&RecordedFrame { number, captured, bytes, random_access: None }).expect("memory");
        ends.push(recording.get_ref().len());
    }
    (recording.finish().expect("memory").0, ends)
}

/// The outcome of a broadcast.
struct Outcome {
    /// What each receiver showed.
    shown: Vec<BTreeMap<u64, Picture>>,
    film: Vec<u8>,
    ends: Vec<usize>,
}

/// Broadcasts to receivers on fast links, the first from the first frame on, the others after these times, and records.
fn broadcast(source: impl FrameSource, count: usize, joins: &[Duration]) -> Outcome {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
    runtime.block_on(async {
        let links = vec![Link::constant(200_000_000); joins.len()];
        let network = Bottleneck::new(&links);
        let identity = Identity::generate().expect("random numbers");
        let trust = Trust::fingerprint(&identity.fingerprint().to_string()).expect("a fingerprint");
        let (socket, seed) = network.server();
        let address = socket.local_addr().expect("it is bound");
        let socket = nestcast_sender::SenderSocket::simulated(socket, seed).expect("it is bound");
        let welcome = source.welcome();
        let source = Gated { source, is_open: false, left: count };
        let broadcast = Broadcast::over(socket, nestcast_sender::SenderConfig::new(address, identity), source);
        let broadcast = broadcast.expect("it begins");
        let recording = tokio::spawn(record(broadcast.recorded_frames(), welcome));
        let sending = tokio::spawn(broadcast.run(std::future::pending()));
        let mut receivers = Vec::new();
        for (at, joins) in joins.iter().copied().enumerate() {
            let (socket, seed) = network.client(at);
            let config = nestcast_receiver::ReceiverConfig::new(address, trust.clone());
            receivers.push(tokio::spawn(async move {
                sleep(joins).await;
                let socket = nestcast_receiver::ReceiverSocket::simulated(socket, seed);
                let mut screen = Screen::new(Shown::default());
                receive_over(socket, config, &mut screen, std::future::pending()).await.expect("it ends well");
                (screen.shown.all(), screen.is_cut)
            }));
        }
        let mut shown = Vec::new();
        for receiver in receivers {
            let (pictures, is_cut) = receiver.await.expect("no panic");
            assert!(!is_cut || !shown.is_empty(), "the first link carries all");
            shown.push(pictures);
        }
        sending.await.expect("no panic").expect("the source ends");
        let (film, ends) = recording.await.expect("no panic");
        Outcome { shown, film, ends }
    })
}

/// Returns what a program shows that plays the file.
fn played(film: &[u8]) -> Vec<Picture> {
    let frames = Frames::new(Reader::new(Cursor::new(film), u64::MAX).expect("a video"), 0..u64::MAX);
    let mut player = Player::new(frames, VideoModel::built_in(), 1).expect("its tables");
    let mut pictures = Vec::new();
    let mut shown = picture(0);
    while player.next_into(&mut shown).expect("a picture").is_some() {
        pictures.push(shown.clone());
    }
    pictures
}

/// Returns the mean squared difference of luma.
fn distance(a: &Picture, b: &Picture) -> f64 {
    let pixels = a.size().pixels();
    let squares = a.samples().iter().zip(b.samples()).take(pixels).map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2));
    squares.sum::<u64>() as f64 / pixels as f64
}

fn seconds(time: Duration) -> usize {
    usize::try_from(time.as_secs()).expect("short")
}

#[test]
fn a_recording_shows_what_a_receiver_saw_who_got_everything_and_so_does_its_broadcast() {
    let count = seconds(RUN_TIME) * RATE;
    let live = video_frames(RenditionLimit::AtMost(1));
    let Outcome { shown, film, .. } = broadcast(live, count, &[Duration::ZERO]);
    let pictures = played(&film);
    assert_eq!((pictures.len(), shown[0].len()), (count, count));
    assert!(pictures.iter().eq(shown[0].values()), "the recording is what the receiver saw");

    // The recording is broadcast, to a receiver that is there and to one that comes after three seconds, and recorded.
    let joins = [Duration::ZERO, Duration::from_secs(3)];
    let Outcome { shown, film: again, .. } = broadcast(Film::new(film), count, &joins);
    assert!(pictures.iter().eq(shown[0].values()), "a receiver of the recording sees what is in it");
    assert!(pictures.iter().eq(&played(&again)), "the recording of a recording has the same pictures");
    let late = &shown[1];
    let missed = count - late.len();
    assert!((3 * RATE..3 * RATE + 10).contains(&missed), "it began with frame {missed}");
    let apart: Vec<f64> = late.values().zip(&pictures[missed..]).map(|(a, b)| distance(a, b)).collect();
    println!("squared differences of who came late, frame by frame: {apart:.1?}");
    assert!(apart[0] < 60.0 && apart[20] < 3.0, "{apart:?}");
}

#[test]
fn a_recording_cut_at_any_moment_opens_and_lacks_less_than_a_second() {
    let count = 2 * RATE;
    let Outcome { film, ends, .. } = broadcast(video_frames(RenditionLimit::AtMost(1)), count, &[Duration::ZERO]);
    let whole = played(&film);
    let mut state = 1_u64;
    for _ in 0..100 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let cut = ends[0] + usize::try_from(state >> 33).expect("31 bits") % (film.len() - ends[0]);
        let written = ends.iter().filter(|end| **end <= cut).count();
        let pictures = played(&film[..cut]);
        // All frames that were written are there and the same; of the one that was being written, a part may be.
        assert!(pictures.len() == written || pictures.len() == written + 1, "{cut}: {} of {written}", pictures.len());
        assert!(pictures[..written] == whole[..written], "{cut}");
    }
}
