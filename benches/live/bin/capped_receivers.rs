//! Broadcasts a live video from standard input to receivers with caps. Shows whether the encoder keeps up, how much of
//! its cap each receiver gets, and how good it looks.
//!
//! Everything runs in one process, over loopback. Receivers store frames and decode them after the broadcast, because
//! ten decoders of 1280x720 need more than two cores.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::future::pending;
use std::io::{self, BufReader, Read, Seek as _, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use clap::{Parser, value_parser};
use nestcast_codec::{DecodedPart, Picture, VideoDecoder, VideoModel};
use nestcast_encode::{Pictures, RenditionLimit, VideoEncoding};
use nestcast_lab::metrics::luma_psnr;
use nestcast_live_benches::figures::{SETTLING_TIME, quantile, round};
use nestcast_live_benches::process::Usage;
use nestcast_live_benches::recorder::{Recorded, Recorder};
use nestcast_media::y4m::Reader;
use nestcast_proto::Bitrate;
use nestcast_receiver::{ReceiverConfig, Trust, receive};
use nestcast_sender::{Broadcast, Identity, LiveSource, Monitor};
use serde::Serialize;
use tokio::runtime::Builder;

/// The program's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The heading of the printed table.
const TABLE_HEADING: &str = "| cap, Mbit/s | frames | missing | undecodable | Mbit/s | of the cap | latency p50 / p95 ms | PSNR dB, mean / least |
|---:|---:|---:|---:|---:|---:|---:|---:|";

/// Broadcasts y4m from standard input, as `nestcast send -` does: `ffmpeg -re -i VIDEO -f yuv4mpegpipe - |
/// capped-receivers`.
#[derive(Parser)]
struct Options {
    /// A receiver for each of these: the most that it asks for.
    #[arg(
        long,
        value_name = "KBIT/S",
        value_delimiter = ',',
        value_parser = value_parser!(u64).range(1..=1_000_000),
        default_value = "300,500,750,1000,1500,2000,3000,4000,6000,10000"
    )]
    caps: Vec<u64>,
    /// Compare one frame of this many with its original.
    #[arg(long, value_name = "FRAMES", default_value_t = 5, value_parser = value_parser!(u64).range(1..))]
    every: u64,
    /// The table to write.
    #[arg(long, value_name = "OUT.csv")]
    csv: Option<PathBuf>,
}

/// One receiver.
#[derive(Debug, Serialize)]
struct Row {
    cap_mbits: f64,
    frames: u64,
    /// Encoded frames that did not arrive in time. Those before the receiver joined and after the last one shown do not
    /// count.
    missing: u64,
    /// Frames that arrived but are no whole picture.
    undecodable: usize,
    mbits_per_second: f64,
    of_cap_percent: f64,
    latency_p50_ms: f64,
    latency_p95_ms: f64,
    psnr_db: f64,
    psnr_least_db: f64,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "| {} | {} | {} | {} ", self.cap_mbits, self.frames, self.missing, self.undecodable)?;
        write!(f, "| {} | {:.0} % ", self.mbits_per_second, self.of_cap_percent)?;
        write!(f, "| {:.0} / {:.0} ", self.latency_p50_ms, self.latency_p95_ms)?;
        write!(f, "| {:.1} / {:.1} |", self.psnr_db, self.psnr_least_db)
    }
}

fn main() -> Result<()> {
    let options = Options::parse();
    let mut copy = tempfile::tempfile()?;
    let recorders = broadcast(&options.caps, copy.try_clone()?)?;
    copy.rewind()?;
    let originals = Originals::read(copy, options.every)?;
    println!("{} frames were offered", originals.offered);
    println!("{TABLE_HEADING}");
    let mut table = csv::Writer::from_writer(Vec::new());
    for (cap, recorder) in options.caps.iter().zip(&recorders) {
        let row = originals.row(*cap as f64 / 1000.0, recorder)?;
        println!("{row}");
        table.serialize(row)?;
    }
    if let Some(path) = &options.csv {
        std::fs::write(path, table.into_inner()?)?;
    }
    Ok(())
}

/// Broadcasts standard input to a receiver for each of `caps`, prints the cost, and returns what each of them got.
fn broadcast(caps: &[u64], copy: File) -> Result<Vec<Recorder>> {
    let pictures = Pictures::y4m("standard input", u64::MAX, None, Copied(copy), None)?;
    let threads = std::thread::available_parallelism()?.get();
    let identity = Identity::generate()?;
    let fingerprint = identity.fingerprint().to_string();
    let encoding = VideoEncoding::new(pictures.format(), threads, RenditionLimit::AsNeeded)?;
    let source = LiveSource::new(pictures, encoding);
    let config = nestcast_sender::SenderConfig::new(([127, 0, 0, 1], 0).into(), identity);
    // Receivers have a thread of their own.
    let sending = Builder::new_multi_thread().enable_all().build()?;
    let receiving = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let broadcast = sending.block_on(async { Broadcast::listen(config, source) })?;
    let (address, monitor) = (broadcast.address().context("it listens")?, broadcast.monitor());
    let (before, start) = (Usage::of(std::process::id())?, Instant::now());
    let keeping: Vec<_> =
        caps.iter().map(|cap| receiving.spawn(keep(address, fingerprint.clone(), cap * 1000))).collect();
    sending.block_on(broadcast.run(pending()))?;
    let (after, took) = (Usage::of(std::process::id())?, start.elapsed());
    tell(&monitor, took, (after.cpu - before.cpu).as_secs_f64());
    keeping.into_iter().map(|receiver| receiving.block_on(receiver)?).collect()
}

/// Stores frames until the broadcast ends.
async fn keep(address: SocketAddr, fingerprint: String, cap: u64) -> Result<Recorder> {
    let trust = Trust::fingerprint(&fingerprint).context("a fingerprint")?;
    let config = ReceiverConfig { max_bitrate: Some(Bitrate::from_bits(cap)), ..ReceiverConfig::new(address, trust) };
    let mut recorder = Recorder::new(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default());
    receive(config, &mut recorder, pending()).await?;
    Ok(recorder)
}

fn tell(monitor: &Monitor, took: Duration, cpu: f64) {
    let (figures, seconds) = (monitor.read(), took.as_secs_f64());
    let encoding = figures.encode_time.as_secs_f64();
    let (each, share) = (encoding * 1e3 / figures.frames.max(1) as f64, 100.0 * encoding / seconds);
    println!("{figures}, in {seconds:.1} s; {} renditions at the end", figures.renditions);
    println!(
        "encoding a frame takes {each:.1} ms, {share:.0} % of the time; sender and receivers: {:.2} threads",
        cpu / seconds
    );
}

/// Standard input that also writes what it reads to a file, for comparison later.
struct Copied(File);

impl Read for Copied {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = io::stdin().read(buffer)?;
        self.0.write_all(&buffer[..count])?;
        Ok(count)
    }
}

/// The video that was read.
struct Originals {
    offered: u64,
    empty: Picture,
    interval: Duration,
    /// The pictures that frames are compared with.
    pictures: BTreeMap<u64, Picture>,
}

impl Originals {
    fn read(copy: File, every: u64) -> Result<Self> {
        let mut reader = Reader::new(BufReader::new(copy), u64::MAX)?;
        let (interval, mut offered, mut pictures) = (reader.rate().interval(), 0, BTreeMap::new());
        let empty = Picture::zero(reader.size(), nestcast_codec::Format::Ycbcr420(reader.colours()));
        let mut picture = empty.clone();
        while reader.read_into(&mut picture)? {
            if offered % every == 0 {
                pictures.insert(offered, picture.clone());
            }
            offered += 1;
        }
        Ok(Self { offered, empty, interval, pictures })
    }

    /// Decodes all frames. Rate, latency and quality leave out the first second, in which the sender finds the rate.
    fn row(&self, cap_mbits: f64, recorder: &Recorder) -> Result<Row> {
        let frames = &recorder.frames;
        let first = frames.first().context("a receiver got nothing")?.captured;
        let settled: Vec<&Recorded> = frames.iter().filter(|frame| frame.captured >= first + SETTLING_TIME).collect();
        let last = settled.last().context("the video is shorter than a second")?.captured;
        let bytes: usize = settled.iter().map(|frame| frame.prefix.len()).sum();
        let mbits_per_second = bytes as f64 * 8e-6 / (last + self.interval - settled[0].captured).as_secs_f64();
        let mut latencies: Vec<_> = settled.iter().map(|frame| frame.at.saturating_sub(frame.captured)).collect();

        let mut decoder = VideoDecoder::new(VideoModel::built_in(), self.empty.size(), 1);
        let (mut picture, mut undecodable, mut psnr) = (self.empty.clone(), 0, Vec::new());
        for frame in frames {
            let whole =
                matches!(decoder.decode(&frame.prefix), Ok(DecodedPart::Base | DecodedPart::EnhancementReference));
            undecodable += usize::from(!whole);
            if let Some(original) = self.pictures.get(&frame.id).filter(|_| frame.captured >= first + SETTLING_TIME) {
                decoder.render_into(&mut picture)?;
                psnr.push(luma_psnr(original, &picture));
            }
        }
        ensure!(!psnr.is_empty(), "--every leaves none of {} frames to compare: choose less", self.offered);
        Ok(Row {
            cap_mbits,
            frames: recorder.received.shown,
            missing: recorder.received.missing_bases,
            undecodable,
            mbits_per_second: round(mbits_per_second),
            of_cap_percent: round(100.0 * mbits_per_second / cap_mbits),
            latency_p50_ms: quantile(&mut latencies, 50),
            latency_p95_ms: quantile(&mut latencies, 95),
            psnr_db: round(psnr.iter().sum::<f64>() / psnr.len() as f64),
            psnr_least_db: round(psnr.iter().copied().fold(f64::INFINITY, f64::min)),
        })
    }
}
