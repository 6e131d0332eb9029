//! How soon a receiver that begins earlier shows its first picture: in a live broadcast that the sender keeps, and in a
//! stored video. Both go through a relay that delays every packet by half of the round trip.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Parser;
use nestcast_encode::{Pictures, RenditionLimit, Replay, StoredArchive, VideoEncoding};
use nestcast_lab::link::{Link, Relay};
use nestcast_media::stored::Reader;
use nestcast_proto::Start;
use nestcast_receiver::{Announcement, Decoding, Latency, ReceiverConfig, Shown, Trust, Viewer, view};
use nestcast_sender::{Broadcast, FrameSource, Identity, LiveSource, PacedSource};
use serde::Serialize;
use tokio::sync::oneshot;

/// How far back the starts in the live broadcast lie, and how long it runs before the first of them.
const BACK: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(10));
const WARM_UP: Duration = Duration::from_secs(12);

/// Measures starts elsewhere.
#[derive(Parser)]
struct Options {
    /// The video to encode and keep, y4m.
    clip: PathBuf,
    /// The stored video, of `nestcast encode`.
    film: PathBuf,
    /// Starts in each.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    starts: u32,
    /// The round trip in milliseconds.
    #[arg(long, default_value_t = 50)]
    rtt: u64,
    /// The rate of the link in bits per second.
    #[arg(long, default_value_t = 20_000_000)]
    rate: u64,
    /// The table to write.
    #[arg(long, value_name = "OUT.csv")]
    csv: Option<PathBuf>,
}

/// One start.
#[derive(Debug, Serialize)]
struct Row {
    kind: &'static str,
    begins_ms: u64,
    first_picture_ms: u64,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let rows = runtime.block_on(measure(&options));
    // The encoder's thread does not wait.
    runtime.shutdown_background();
    let rows = rows?;
    for kind in ["live", "stored"] {
        let mut waits: Vec<_> = rows.iter().filter(|row| row.kind == kind).map(|row| row.first_picture_ms).collect();
        waits.sort_unstable();
        let at = |percent: usize| waits[(waits.len() - 1) * percent / 100];
        println!(
            "{kind}: {} starts; first picture after {} ms (median), {} ms (90 %), {} ms (99 %), {} ms (longest)",
            waits.len(),
            at(50),
            at(90),
            at(99),
            at(100)
        );
    }
    if let Some(path) = &options.csv {
        let mut table = csv::Writer::from_path(path)?;
        rows.iter().try_for_each(|row| table.serialize(row))?;
        table.flush()?;
    }
    Ok(())
}

async fn measure(options: &Options) -> Result<Vec<Row>> {
    let link = Link::constant(options.rate).with_rtt(Duration::from_millis(options.rtt));
    let (live, _live_relay) = serve(live(&options.clip)?, &link).await?;
    let (stored, _stored_relay) = serve(stored(&options.film)?, &link).await?;
    let length = length(&options.film)?;
    tokio::time::sleep(WARM_UP).await;
    let mut rows = Vec::new();
    for turn in 0..u64::from(options.starts) {
        // Whole parts of a golden section are spread evenly, and do not repeat.
        let part = (turn * 618_034 % 1_000_000) as f64 / 1e6;
        let back = BACK.0 + (BACK.1 - BACK.0).mul_f64(part);
        let from = length.mul_f64(part);
        for (kind, config, begins, at) in
            [("live", &live, Start::BeforeNow(back), back), ("stored", &stored, Start::AfterBeginning(from), from)]
        {
            let took = start(config, begins).await?;
            rows.push(Row { kind, begins_ms: whole_ms(at), first_picture_ms: whole_ms(took) });
        }
    }
    Ok(rows)
}

fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn live(clip: &Path) -> Result<LiveSource<nestcast_codec::Picture>> {
    let again = clip.to_owned();
    let again = Box::new(move || File::open(&again));
    let pictures = Pictures::y4m("the clip", u64::MAX, None, File::open(clip)?, Some(again))?;
    let threads = std::thread::available_parallelism()?.get();
    let encoding = VideoEncoding::new(pictures.format(), threads, RenditionLimit::AsNeeded)?;
    Ok(LiveSource::new(pictures, encoding))
}

fn stored(film: &Path) -> Result<PacedSource> {
    let [again, archived] = [film, film].map(Path::to_owned);
    let again = Box::new(move || File::open(&again));
    let replay = Replay::new("the film", u64::MAX, File::open(film)?, Some(again))?;
    let archive = StoredArchive::new(&replay, move || File::open(&archived));
    Ok(PacedSource::new(replay).with_archive(archive))
}

/// Returns how long a stored video takes.
fn length(film: &Path) -> Result<Duration> {
    let mut reader = Reader::new(File::open(film)?, u64::MAX)?;
    // The index, which says how many frames there are, is at the end.
    reader.seek(0)?;
    let frames = reader.count().context("the film breaks off: encode it again")?;
    Ok(reader.header().rate.interval().mul_f64(frames as f64))
}

/// Broadcasts a source over a link. Returns how to receive it, and the link.
async fn serve<S: FrameSource + Send + 'static>(source: S, link: &Link) -> Result<(ReceiverConfig, Relay)> {
    let identity = Identity::generate()?;
    let trust = Trust::fingerprint(&identity.fingerprint().to_string()).context("a fingerprint")?;
    let listening = nestcast_sender::SenderConfig {
        rewind: Some(Duration::from_secs(3600)),
        ..nestcast_sender::SenderConfig::new(([127, 0, 0, 1], 0).into(), identity)
    };
    let broadcast = Broadcast::listen(listening, source)?;
    let relay = Relay::start(broadcast.address().context("it listens")?, link.clone()).await?;
    tokio::spawn(broadcast.run(std::future::pending()));
    Ok((ReceiverConfig { latency: Latency::Min, ..ReceiverConfig::new(relay.address(), trust) }, relay))
}

/// Receives from `start` on until the first picture is shown; returns how long that took, with connecting.
async fn start(config: &ReceiverConfig, start: Start) -> Result<Duration> {
    let (tell, told) = oneshot::channel();
    let (stop, stopped) = oneshot::channel::<()>();
    let config = ReceiverConfig { start: Some(start), ..config.clone() };
    let began = Instant::now();
    let viewer = FirstPicture(Some(tell));
    let viewing = tokio::spawn(view(config, viewer, async move { stopped.await.unwrap_or_default() }));
    let shown = told.await;
    // The viewer may have ended already.
    let _ = stop.send(());
    viewing.await??;
    Ok(shown.context("no picture came")? - began)
}

/// Tells when it shows the first picture.
struct FirstPicture(Option<oneshot::Sender<Instant>>);

impl Viewer for FirstPicture {
    type Error = anyhow::Error;

    fn handle_announcement(&mut self, announced: &Announcement) -> Result<Option<Decoding>> {
        Ok(Some(Decoding::video(announced, 1).context("a video of this version")?))
    }

    fn show(&mut self, _shown: &Shown<'_>) -> Result<()> {
        if let Some(tell) = self.0.take() {
            // A receiver that gave up does not listen.
            let _ = tell.send(Instant::now());
        }
        Ok(())
    }
}
