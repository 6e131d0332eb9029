//! The native subscriber and the viewer in Chromium, one at a time: how many frames came, and how many bytes of each. The
//! video is stored, so nothing is encoded meanwhile.

use std::io::Cursor;
use std::time::Duration;

use nestcast_codec::{
    Bitrate, Display, Format, FrameRate, Picture, Population, Size, VideoHeader, VideoModel, VideoRenditions,
    VideoSettings, Ycbcr,
};
use nestcast_encode::Replay;
use nestcast_lab::link::Link;
use nestcast_media::stored::Writer;
use nestcast_moq::{Relayed, publish};
use nestcast_sender::{Broadcast, Identity, PacedSource};
use nestcast_tests::browser::Engine;
use nestcast_tests::live_page::watch;
use tokio::task::JoinSet;

use crate::harness::program::RelayProgram;
use crate::harness::{FRAMES_PER_SECOND, Got, receive_for};
use crate::{MOST_BITS, rates, start, until_published};

const SIZE: [u32; 2] = [320, 240];
/// The seconds of the video, which is repeated.
const VIDEO_SECONDS: u32 = 10;
/// What a live encoder would keep for base layers at the lower of these rates.
const LEAST_BITS: u64 = 400_000;
const LINK_BITS: [u64; 2] = [1_000_000, 4_000_000];
const ROUND_TRIP: Duration = Duration::from_millis(50);

/// Prints the table, after four times `time` and a minute to encode the video.
pub(crate) async fn measure(time: Duration) {
    let film = film();
    let again = film.clone();
    let again = Box::new(move || Ok(Cursor::new(again.clone())));
    let replay = Replay::new("film.nst", u64::MAX, Cursor::new(film), Some(again)).expect("a stored video");
    let relay = RelayProgram::start(None);
    let config =
        nestcast_sender::SenderConfig::new(([127, 0, 0, 1], 0).into(), Identity::generate().expect("an identity"));
    let broadcast = Broadcast::listen(config, PacedSource::new(replay)).expect("a port");
    let (relayed, place) = (Relayed::of(&broadcast.station()).expect("video"), relay.place.clone());
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let rates = rates(1_000_000, MOST_BITS);
        let published = publish(&place.url, &place.trust, rates, relayed, std::future::pending()).await;
        published.expect("the relay accepts it");
    });
    tasks.spawn(async move { broadcast.run(std::future::pending()).await.expect("a source that works") });
    until_published(&relay.place).await;
    println!(
        "\n| link | viewer | frames | of those sent meanwhile % | frames a second | bytes of a frame, mean | capture to screen p50 ms |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|");
    for bits in LINK_BITS {
        let link = Link::constant(bits).with_rtt(ROUND_TRIP);
        let over = start(relay.address(), link.clone()).await;
        let (got, ended) = receive_for(&relay.place.at(over.address()), time, Duration::ZERO).await;
        if let Err(error) = ended {
            eprintln!("native: {error}");
        }
        print("native", bits, time, &got);
        let over = start(relay.address(), link).await;
        let (address, fingerprint, seconds) = (over.address(), relay.fingerprint(), time.as_secs());
        let link = format!("src=moq://{address}/garden&fingerprint={fingerprint}&latency=min&seconds={seconds}");
        let watched = tokio::task::spawn_blocking(move || watch(Engine::Chromium, &link)).await.expect("no panic");
        let Some(lines) = watched else { return };
        print("Chromium", bits, time, &shown(&lines));
        eprintln!("{}", lines.last().map_or("", String::as_str));
    }
}

fn print(name: &str, bits: u64, time: Duration, got: &Got) {
    let (count, bytes) = (got.frames.len(), got.frames.values().map(|(bytes, _)| bytes).sum::<usize>());
    let (mean, a_second) = (bytes / count.max(1), count as f64 / time.as_secs_f64());
    let p50 = got.latency(50).as_millis();
    println!(
        "| {} Mbit/s | {name} | {count} | {:.1} | {a_second:.1} | {mean} | {p50} |",
        bits / 1_000_000,
        got.shown()
    );
}

/// Returns what the page says of its pictures: their numbers, bytes and latencies.
fn shown(lines: &[String]) -> Got {
    let frame = |line: &String| {
        let mut words = line.split(' ');
        let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
        let (id, bytes, latency) = (number()?, number()?, number()?);
        Some((id, (usize::try_from(bytes).ok()?, Duration::from_millis(latency))))
    };
    Got { frames: lines.iter().filter_map(frame).collect(), ..Got::default() }
}

/// Encodes pictures that cost many bytes as a stored video.
fn film() -> Vec<u8> {
    let (size, rate) = (Size::new(SIZE[0], SIZE[1]).expect("a size"), FrameRate::new(FRAMES_PER_SECOND, 1));
    let (rate, model) = (rate.expect("a rate"), VideoModel::built_in());
    let population = Population::log_uniform(Bitrate::from_bits(LEAST_BITS)..=Bitrate::from_bits(MOST_BITS));
    let encoder = VideoRenditions::new(&model, VideoSettings { size, rate, population, threads: 2 }, 1);
    let encoder = encoder.expect("one rendition");
    let (colours, display, renditions) = (Ycbcr::BT601, Display::default(), encoder.rates());
    let header = VideoHeader { size, rate, colours, bits: 8, display, models: model.ids(), renditions };
    let mut writer = Writer::new(encoder, &header, Vec::new());
    (0..VIDEO_SECONDS * FRAMES_PER_SECOND).for_each(|id| writer.write(&noise(size, id.into())).expect("memory"));
    writer.finish().expect("memory").0
}

/// Returns a picture that costs many bytes: grain, over ground that moves.
fn noise(size: Size, id: u64) -> Picture {
    let mut picture = Picture::zero(size, Format::Ycbcr420(Ycbcr::BT601));
    let mut random = id.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    for (at, sample) in picture.samples_mut().iter_mut().enumerate() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let ground = (at as u64 / 8).wrapping_add(2 * id) % 64;
        *sample = u8::try_from(96 + ground + random % 32).expect("a sample");
    }
    picture
}
