//! Broadcasts in real browsers. The viewer in Chromium and in Firefox shows every picture as the native decoder decodes
//! the same bytes, and says why a broadcast ended. Without a browser its tests are skipped, with a message.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::Duration;

use nestcast_codec::{Codec, Format, FrameRate, Picture, Size, VideoDecoder, VideoModel, Ycbcr};
use nestcast_encode::{PictureFormat, RenditionLimit};
use nestcast_lab::video_frames::VideoFrames;
use nestcast_media::to_rgb;
use nestcast_proto::{Bitrate, Frame, Sound};
use nestcast_sender::{Broadcast, BrowserCertificate, Browsers, FrameReceiver, FrameSource, NextFrame};
use nestcast_sound::{PACKET_SAMPLES, SoundEncoder};
use nestcast_tests::broadcasts::{Plan, Running, identity};
use nestcast_tests::browser::{self, Browser, Engine, Files};
use nestcast_tests::video_frames::{SIZE, picture};
use nestcast_web::FILES;
use sha2::{Digest as _, Sha256};
use tokio::task::JoinHandle;

/// Long enough for a slow machine, which decodes and draws in software.
const PATIENCE: Duration = Duration::from_secs(240);
/// The number of pictures of a broadcast that the test checks.
const MIN_FRAMES: usize = 30;
/// Frames of video a second. A busy machine reads each one back from the canvas, so it would show few of more.
const VIDEO_RATE: u32 = 5;
/// Broadcasts until the page shows every frame.
const MAX_ATTEMPTS: u32 = 3;

fn plan() -> Plan {
    Plan { browsers: Some(Browsers::default()), ..Plan::new(&identity()) }
}

/// A broadcast, and a record of all its frames.
struct Recorded {
    running: Running,
    certificate: BrowserCertificate,
    frames: JoinHandle<BTreeMap<u64, Frame>>,
}

impl Recorded {
    fn start(broadcast: Broadcast<impl FrameSource>) -> Self {
        let (certificate, frames) = (broadcast.browser_certificate(), broadcast.frames());
        Self { frames: tokio::spawn(record(frames)), certificate, running: Running::run(broadcast) }
    }

    /// Returns what the viewer in a browser posts about it, and the broadcast's frames; `None` if the browser is not
    /// installed.
    async fn watch(self, engine: Engine, token: &str) -> Option<(Vec<String>, BTreeMap<u64, Frame>)> {
        self.watch_with(engine, token, &format!("&frames={MIN_FRAMES}")).await
    }

    /// Does the same with more in the page's link.
    async fn watch_with(self, engine: Engine, token: &str, more: &str) -> Option<(Vec<String>, BTreeMap<u64, Frame>)> {
        let address = self.running.address;
        let fingerprint = self.certificate.made().expect("one is made").0;
        let link = format!("src=https://{address}/&fingerprint={fingerprint}&token={token}{more}");
        let lines = tokio::task::spawn_blocking(move || watch(engine, &link)).await.expect("no panic");
        self.running.stop().await;
        let frames = self.frames.await.expect("no panic");
        Some((lines?, frames))
    }
}

async fn record(mut frames: FrameReceiver) -> BTreeMap<u64, Frame> {
    let mut all = BTreeMap::new();
    loop {
        match frames.next().await {
            NextFrame::Frame(next) => drop(all.insert(next.frame.id, next.frame)),
            NextFrame::Missed(_) => {}
            NextFrame::End => return all,
        }
    }
}

fn watch(engine: Engine, link: &str) -> Option<Vec<String>> {
    let page = [
        ("live.html", "text/html", include_bytes!("web/live.html").to_vec()),
        ("live.js", "text/javascript", include_bytes!("web/live.js").to_vec()),
    ];
    let mut files: Files =
        FILES.iter().map(|file| (file.name.to_owned(), (file.media_type, file.bytes.to_vec()))).collect();
    files.extend(page.map(|(name, media_type, bytes)| (name.to_owned(), (media_type, bytes))));
    let (address, posted) = browser::serve(files);
    let Some(_browser) = Browser::open(engine, &format!("http://{address}/live.html#{link}")) else {
        // Visible even if output is captured.
        let _ = writeln!(std::io::stderr(), "skipped: a broadcast in {engine}, which is not installed");
        return None;
    };
    Some(browser::lines(&posted, PATIENCE))
}

/// Returns the digest of a picture as a canvas has it: red, green, blue, 255.
fn digest(picture: &Picture) -> String {
    let pixels =
        to_rgb(picture).samples().chunks_exact(3).flat_map(|rgb| [rgb[0], rgb[1], rgb[2], 255]).collect::<Vec<_>>();
    Sha256::digest(pixels).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parses what the page says of a picture: its number, the bytes that arrived, and its digest.
fn parse(line: &str) -> (u64, usize, &str) {
    let mut words = line.split(' ');
    let mut word = || words.next().expect("three words");
    (word().parse().expect("a number"), word().parse().expect("a number"), word())
}

async fn shows_pictures_bit_for_bit(engine: Engine) {
    let Some((lines, frames)) = Recorded::start(plan().listen()).watch(engine, "").await else { return };
    let (end, shown) = lines.split_last().expect("a line");
    assert_eq!((end.as_str(), shown.len()), ("enough", MIN_FRAMES));
    for line in shown {
        let (id, bytes, pixels) = parse(line);
        let mut decoder = Codec::photo().decoder();
        decoder.push(&frames[&id].bytes[..bytes]).expect("a sound frame");
        assert_eq!(digest(&decoder.render().expect("a picture")), pixels, "picture {id}, {bytes} bytes");
    }
}

async fn shows_video_bit_for_bit(engine: Engine) {
    let size = Size::new(SIZE[0], SIZE[1]).expect("a valid size");
    let format = Format::Ycbcr420(Ycbcr::BT601);
    let shape = PictureFormat::new(size, format, FrameRate::new(VIDEO_RATE, 1).expect("a valid rate"));
    for _ in 0..MAX_ATTEMPTS {
        let source = VideoFrames::new(shape, (1, RenditionLimit::AtMost(1)), picture);
        let Some((lines, frames)) = Recorded::start(plan().listen_to(source)).watch(engine, "").await else { return };
        let (end, shown) = lines.split_last().expect("a line");
        assert_eq!((end.as_str(), shown.len()), ("enough", MIN_FRAMES));
        let Err(unlike) = compare(shown, &frames, Picture::zero(size, format)) else { return };
        println!("{unlike}: but frames before it were not shown, and perhaps did not arrive");
    }
    panic!("the page lacked frames in {MAX_ATTEMPTS} broadcasts");
}

/// Compares the frames that the page showed with the same decoded here, each from all of its bytes. Returns which is
/// another, if frames before it were not shown: a busy browser decodes such frames too, but does not say from how many
/// bytes.
fn compare(shown: &[String], frames: &BTreeMap<u64, Frame>, mut picture: Picture) -> Result<(), String> {
    let mut decoder = VideoDecoder::new(VideoModel::built_in(), picture.size(), 1);
    let shown: BTreeMap<_, _> =
        shown.iter().map(|line| parse(line)).map(|(id, bytes, pixels)| (id, (bytes, pixels))).collect();
    let (first, last) = (*shown.keys().next().expect("a frame"), *shown.keys().last().expect("a frame"));
    let joins = frames.range(..=first).filter(|(_, frame)| frame.join.is_some());
    let join = *joins.last().expect("a page begins with a frame that needs no other").0;
    let mut lacks = false;
    for (id, frame) in frames.range(join..=last) {
        let bytes = frame.join.as_ref().filter(|_| *id == join).map_or(&frame.bytes, |join| &join.bytes);
        decoder.decode(bytes).expect("a frame of the video");
        decoder.render_into(&mut picture).expect("the shape fits");
        match shown.get(id) {
            Some((came, pixels)) if (*came, *pixels) == (bytes.len(), &*digest(&picture)) => {}
            Some(_) if lacks => return Err(format!("frame {id} is another picture")),
            Some((came, _)) => panic!("frame {id} is another picture; {came} of {} bytes came", bytes.len()),
            None => lacks = true,
        }
    }
    Ok(())
}

#[expect(clippy::cast_possible_truncation, reason = "samples of 16 bits")]
async fn plays_sound(engine: Engine) {
    let mut encoder = SoundEncoder::new(Sound::Stereo, Bitrate::from_bits(64_000)).expect("an encoder");
    let tone = |at: usize| ((at as f64 * std::f64::consts::TAU * 450.0 / 48_000.0).sin() * 15_000.0) as i16;
    // A whole number of periods, so that the packets fit together again and again.
    let block =
        |number: usize| (0..2 * PACKET_SAMPLES).map(|at| tone(number * PACKET_SAMPLES + at / 2)).collect::<Vec<_>>();
    let sound = (0..10).map(|number| encoder.encode(&block(number)).expect("20 ms")).collect();
    let running = Recorded::start(Plan { sound, ..plan() }.listen());
    let Some((lines, _)) = running.watch_with(engine, "", "&sound=1&frames=100000").await else { return };
    assert_eq!(lines.last().map(String::as_str), Some("heard"), "{lines:?}");
}

async fn is_told_that_a_token_is_wrong(engine: Engine) {
    let broadcast = Plan { token: Some(b"secret"), ..plan() }.listen();
    let Some((lines, _)) = Recorded::start(broadcast).watch(engine, "wrong").await else { return };
    assert_eq!(lines, ["ended 3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn chromium_shows_the_pictures_of_a_broadcast_bit_for_bit() {
    shows_pictures_bit_for_bit(Engine::Chromium).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn firefox_shows_the_pictures_of_a_broadcast_bit_for_bit() {
    shows_pictures_bit_for_bit(Engine::Firefox).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn chromium_shows_video_bit_for_bit() {
    shows_video_bit_for_bit(Engine::Chromium).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn firefox_shows_video_bit_for_bit() {
    shows_video_bit_for_bit(Engine::Firefox).await;
}

/// Firefox plays it too, but only on a machine that has a device for sound.
#[tokio::test(flavor = "multi_thread")]
async fn chromium_plays_the_sound_of_a_broadcast() {
    plays_sound(Engine::Chromium).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn chromium_is_told_that_a_token_is_wrong() {
    is_told_that_a_token_is_wrong(Engine::Chromium).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn firefox_is_told_that_a_token_is_wrong() {
    is_told_that_a_token_is_wrong(Engine::Firefox).await;
}
