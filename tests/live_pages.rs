//! Broadcasts in real browsers. The viewer in Chromium and in Firefox shows every picture as the native decoder decodes
//! the same bytes, and says why a broadcast ended. Without a browser its tests are skipped, with a message.

use std::collections::BTreeMap;
use std::io::{Cursor, Write as _};
use std::time::Duration;

use nestcast_codec::{
    Codec, Display, Format, FrameRate, Picture, Population, Size, VideoHeader, VideoModel, VideoRenditions,
    VideoSettings, Ycbcr,
};
use nestcast_encode::{PictureFormat, RenditionLimit, Replay, StoredArchive};
use nestcast_lab::video_frames::VideoFrames;
use nestcast_media::stored::Writer;
use nestcast_proto::{Bitrate, Frame, Sound};
use nestcast_sender::{Broadcast, BrowserCertificate, Browsers, FrameSource, PacedSource};
use nestcast_sound::{PACKET_SAMPLES, SoundEncoder};
use nestcast_tests::broadcasts::{Plan, Running, identity};
use nestcast_tests::browser::Engine;
use nestcast_tests::live_page::{Shown, compare, digest, parse, record, watch};
use nestcast_tests::video_frames::{SIZE, picture};
use tokio::task::JoinHandle;

/// The number of pictures of a broadcast that the test checks.
const MIN_FRAMES: usize = 30;
/// Pictures that two workers decoded. They have more than 500,000 pixels, from which on the viewer starts a second one.
const MIN_LARGE_FRAMES: usize = 6;
const LARGE_SCALE: u32 = 6;
/// So few that a busy machine shows every one.
const LARGE_RATE: u32 = 2;
/// Frames of video a second. A busy machine reads each one back from the canvas, so it would show few of more.
const VIDEO_RATE: u32 = 5;
/// Broadcasts until the page shows every frame.
const MAX_ATTEMPTS: u32 = 6;

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

async fn shows_pictures_bit_for_bit(engine: Engine) {
    let Some((lines, frames)) = Recorded::start(plan().listen()).watch(engine, "").await else { return };
    let (end, shown) = lines.split_last().expect("a line");
    assert_eq!((end.as_str(), shown.len()), ("enough", MIN_FRAMES));
    for line in shown {
        let Shown { id, bytes, pixels, .. } = parse(line);
        let mut decoder = Codec::photo().decoder();
        decoder.push(&frames[&id].bytes[..bytes]).expect("a sound frame");
        assert_eq!(digest(&decoder.render().expect("a picture")), pixels, "picture {id}, {bytes} bytes");
    }
}

/// Returns a picture of the test's video in samples of 10 bits, with values between those of 8 bits.
fn picture_of_10_bits(id: u64) -> Picture {
    let plain = picture(id);
    let samples = plain.samples().iter().zip([0, 1, 2, 3].into_iter().cycle());
    let samples = samples.flat_map(|(sample, more)| (4 * u16::from(*sample) + more).to_le_bytes()).collect::<Vec<_>>();
    Picture::new(plain.size(), Format::planar(Ycbcr::BT601, 10), samples).expect("the shape fits")
}

async fn shows_video_bit_for_bit(engine: Engine, bits: u8) {
    let size = Size::new(SIZE[0], SIZE[1]).expect("a valid size");
    let format = Format::planar(Ycbcr::BT601, bits);
    let shape = PictureFormat::new(size, format, FrameRate::new(VIDEO_RATE, 1).expect("a valid rate"));
    let format = Format::Ycbcr420(Ycbcr::BT601);
    let source_picture = if bits == 8 { picture } else { picture_of_10_bits };
    for _ in 0..MAX_ATTEMPTS {
        let source = VideoFrames::new(shape, (1, RenditionLimit::AtMost(1)), source_picture);
        let Some((lines, frames)) = Recorded::start(plan().listen_to(source)).watch(engine, "").await else { return };
        let (end, shown) = lines.split_last().expect("a line");
        assert_eq!((end.as_str(), shown.len()), ("enough", MIN_FRAMES));
        let Err(unlike) = compare(shown, &frames, Picture::zero(size, format), true) else { return };
        println!("{unlike}: but frames before it were not shown, and perhaps did not arrive");
    }
    panic!("the page lacked frames in {MAX_ATTEMPTS} broadcasts");
}

/// Returns a picture of the test's video, tiled 6 x 6.
fn large_picture(id: u64) -> Picture {
    let plain = picture(id);
    let (size, format) = (large_size(), plain.format());
    let mut samples = Vec::with_capacity(format.bytes(size));
    let mut rest = plain.samples();
    for plane in 0..3 {
        let [width, height] = format.plane(plain.size(), plane);
        let (own, after) = rest.split_at(width * height);
        rest = after;
        for row in own.chunks_exact(width).cycle().take(LARGE_SCALE as usize * height) {
            (0..LARGE_SCALE).for_each(|_| samples.extend_from_slice(row));
        }
    }
    Picture::new(size, format, samples).expect("the shape fits")
}

fn large_size() -> Size {
    let [width, height] = SIZE.map(|side| side * LARGE_SCALE);
    Size::new(width, height).expect("a valid size")
}

async fn shows_large_video_of_two_workers_bit_for_bit(engine: Engine) {
    if std::thread::available_parallelism().is_ok_and(|count| count.get() == 1) {
        // Visible even if output is captured.
        let _ = writeln!(std::io::stderr(), "skipped: two workers of the viewer, which need two processors");
        return;
    }
    let format = Format::Ycbcr420(Ycbcr::BT601);
    let shape = PictureFormat::new(large_size(), format, FrameRate::new(LARGE_RATE, 1).expect("a valid rate"));
    for _ in 0..MAX_ATTEMPTS {
        let source = VideoFrames::new(shape, (1, RenditionLimit::AtMost(1)), large_picture);
        let recorded = Recorded::start(plan().listen_to(source));
        let more = format!("&workers=2&frames={MIN_LARGE_FRAMES}");
        let Some((lines, frames)) = recorded.watch_with(engine, "", &more).await else { return };
        let (end, shown) = lines.split_last().expect("a line");
        assert_eq!(end, "enough");
        let Err(unlike) = compare(shown, &frames, Picture::zero(large_size(), format), false) else { return };
        println!("{unlike}: but frames before it were not shown, and perhaps did not arrive");
    }
    panic!("the page lacked frames in {MAX_ATTEMPTS} broadcasts");
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
async fn a_page_whose_module_comes_later_than_the_sender_waits_connects_again_without_a_word() {
    // A sender waits 3 s for the first message, and the page begins to connect before it has the module.
    let more = format!("&waits=1&late=4000&frames={MIN_FRAMES}");
    let watched = Recorded::start(plan().listen()).watch_with(Engine::Chromium, "", &more).await;
    let Some((lines, _)) = watched else { return };
    assert_eq!((lines.last().map(String::as_str), lines.len()), (Some("enough"), MIN_FRAMES + 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn chromium_shows_video_bit_for_bit() {
    shows_video_bit_for_bit(Engine::Chromium, 8).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn chromium_shows_large_video_of_two_workers_bit_for_bit() {
    shows_large_video_of_two_workers_bit_for_bit(Engine::Chromium).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn chromium_shows_video_of_10_bits_rounded_to_8() {
    shows_video_bit_for_bit(Engine::Chromium, 10).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn firefox_shows_video_bit_for_bit() {
    shows_video_bit_for_bit(Engine::Firefox, 8).await;
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

/// Returns what each step of `steps` did in the page: the lag and the position in seconds, if there are any, and the
/// number of the picture after it.
fn walked(lines: &[String]) -> Vec<(Option<f64>, Option<f64>, u64)> {
    let walked = lines[..lines.len() - 1].iter().map(|line| {
        let words: Vec<_> = line.split(' ').collect();
        assert_eq!((words.len(), words[4]), (5, "playing"), "{lines:?}");
        (words[1].parse().ok(), words[2].parse().ok(), words[3].parse().expect("a number"))
    });
    walked.collect()
}

/// Encodes a video of 30 s as a file.
fn film() -> Vec<u8> {
    let (size, rate) = (Size::new(SIZE[0], SIZE[1]).expect("a valid size"), FrameRate::new(VIDEO_RATE, 1));
    let (rate, model) = (rate.expect("a valid rate"), VideoModel::built_in());
    let population = Population::log_uniform(Bitrate::from_bits(50_000)..=Bitrate::from_bits(500_000));
    let encoder = VideoRenditions::new(&model, VideoSettings { size, rate, population, threads: 1 }, 1);
    let encoder = encoder.expect("one rendition");
    let (colours, display, renditions) = (Ycbcr::BT601, Display::default(), encoder.rates());
    let header = VideoHeader { size, rate, colours, bits: 8, display, models: model.ids(), renditions };
    let mut writer = Writer::new(encoder, &header, Vec::new());
    (0..30 * VIDEO_RATE).for_each(|number| writer.write(&picture(number.into())).expect("memory"));
    writer.finish().expect("memory").0
}

#[tokio::test(flavor = "multi_thread")]
async fn chromium_begins_anywhere_in_a_stored_video_and_returns_to_all_others() {
    let film = film();
    let (again, opened) = (film.clone(), film.clone());
    let again = Box::new(move || Ok(Cursor::new(again.clone())));
    let replay = Replay::new("film.nst", u64::MAX, Cursor::new(film), Some(again)).expect("a stored video");
    let archive = StoredArchive::new(&replay, move || Ok(Cursor::new(opened.clone())));
    let broadcast = plan().listen_to(PacedSource::new(replay).with_archive(archive));
    let steps = "&steps=seek:20,ArrowLeft,pause:1,l,seek:1000000,End,ArrowLeft";
    let Some((lines, _)) = Recorded::start(broadcast).watch_with(Engine::Chromium, "", steps).await else { return };
    let steps = walked(&lines);
    let near = |step: usize, seconds: f64| {
        let (lag, Some(position), id) = steps[step] else { panic!("step {step}: {lines:?}") };
        // A frame to begin with comes every two seconds, and busy machines show pictures late.
        let is_near = (seconds - 2.5..seconds + 30.0).contains(&position);
        let shows = id as f64 / f64::from(VIDEO_RATE);
        assert!(lag.is_none() && is_near && (shows - position).abs() < 2.5, "step {step}: {lines:?}");
        position
    };
    let position = near(1, 20.0);
    let position = near(2, position - 10.0);
    let position = near(3, position);
    near(4, position + 10.0);
    let (_, last, id) = steps[5];
    assert!(last.is_some_and(|last| (28.0..31.0).contains(&last)) && id >= 140, "beyond the end: {lines:?}");
    assert_eq!((steps[6].0, steps[6].1), (Some(0.0), None), "with all others: {lines:?}");
    let (lag, position, _) = steps[7];
    assert!(lag.is_some_and(|lag| lag > 0.0 && lag < 13.0) && position.is_none(), "{lines:?}");
    assert!(lines.last().expect("a line").starts_with('\u{2212}'), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn chromium_goes_back_in_a_live_broadcast_and_says_where_none_is_kept() {
    let size = Size::new(SIZE[0], SIZE[1]).expect("a valid size");
    let shape =
        PictureFormat::new(size, Format::Ycbcr420(Ycbcr::BT601), FrameRate::new(VIDEO_RATE, 1).expect("a rate"));
    let source = || VideoFrames::new(shape, (1, RenditionLimit::AtMost(1)), picture);
    let kept = Plan { rewind: Some(Duration::from_secs(3600)), ..plan() };
    let steps = "&steps=seek:-2,ArrowLeft,End";
    let Some((lines, _)) = Recorded::start(kept.listen_to(source())).watch_with(Engine::Chromium, "", steps).await
    else {
        return;
    };
    let steps = walked(&lines);
    let lag = |step: usize| steps[step].0.unwrap_or_else(|| panic!("step {step}: {lines:?}"));
    assert!(lag(1) > 0.0 && lag(2) >= lag(1) && steps[2].2 <= steps[1].2, "{lines:?}");
    assert!(lag(3) == 0.0 && steps[3].2 > steps[0].2, "{lines:?}");

    let steps = "&steps=ArrowLeft,seek:5";
    let Some((lines, _)) = Recorded::start(plan().listen_to(source())).watch_with(Engine::Chromium, "", steps).await
    else {
        return;
    };
    let steps = walked(&lines);
    assert!(steps.iter().all(|step| (step.0, step.1) == (Some(0.0), None)), "{lines:?}");
    assert_eq!(lines.last().map(String::as_str), Some("Live"), "{lines:?}");
}
