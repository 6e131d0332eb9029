//! Compares the native receiver with the viewer in Chromium over simulated links, one at a time, by a broadcast that spends
//! nothing on encoding: how much of a link each uses, how late it shows pictures, and when it shows the first one.
//!
//! `browser-links SECONDS` measures 320x180 over links of 0.3, 1 and 4 Mbit/s with round trips of 10, 50 and 100 ms, and
//! `browser-links SECONDS KBIT_PER_SECOND ROUND_TRIP_MS` over one link.
//! `browser-links first ROUND_TRIP_MS COUNT` opens the sender's own page again and again, from as far away as the sender,
//! and prints how long it took until the first picture.
//! `browser-links video FILE SECONDS [LATENCY]` repeats a stored video on this machine without a link, and prints how many
//! frames were shown and how many of them late. LATENCY is the attribute of the viewer in Chromium, `smooth` without it; the
//! native receiver shows frames as they come.

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nestcast_lab::link::{Link, Relay};
use nestcast_receiver::{Announcement, Decoding, Shown, Totals, Viewer, view};
use nestcast_sender::{Browsers, PacedSource, PageFile, PageServer};
use nestcast_tests::broadcasts::{Plan, Running, config, identity};
use nestcast_tests::browser::{self, Browser, Engine};
use nestcast_tests::live_page::watch_in_running;
use nestcast_tests::stored_video::{self, FRAMES_PER_SECOND, grain, repeated, repeated_file};
use nestcast_tests::tcp_delay::TcpDelay;
use nestcast_web::{PAGE_FILES, StaticFile};
use serde_json::Value;

const USAGE: &str = "SECONDS, SECONDS KBIT_PER_SECOND ROUND_TRIP_MS, first ROUND_TRIP_MS COUNT, \
                     or video FILE SECONDS [LATENCY]";
const LINK_BITS_PER_SECOND: [u64; 3] = [300_000, 1_000_000, 4_000_000];
const ROUND_TRIP_MS: [u64; 3] = [10, 50, 100];
/// Seconds of the video that is repeated.
const FILM_SECONDS: u32 = 10;
/// Seconds until a receiver has settled, and frames in them.
const SETTLING_SECONDS: u64 = 3;
const SETTLING_FRAMES: usize = 90;
/// Longer than from one opening of the page to the next.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<_> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["first", round_trip, count] => first(Duration::from_millis(round_trip.parse()?), count.parse()?).await,
        ["video", file, seconds] => video(PathBuf::from(file), seconds.parse()?, "smooth").await,
        ["video", file, seconds, latency] => video(PathBuf::from(file), seconds.parse()?, latency).await,
        [seconds] => links(seconds.parse()?, &LINK_BITS_PER_SECOND, &ROUND_TRIP_MS).await,
        [seconds, kilobits, round_trip] => {
            links(seconds.parse()?, &[1000 * kilobits.parse::<u64>()?], &[round_trip.parse()?]).await
        }
        _ => Err(USAGE.into()),
    }
}

/// A broadcast of a stored video, and how its receivers trust it.
struct Sender {
    running: Running,
    plan: Plan,
    fingerprint: String,
}

impl Sender {
    fn start(source: PacedSource) -> Self {
        let plan = Plan { browsers: Some(Browsers::default()), ..Plan::new(&identity()) };
        let broadcast = plan.clone().listen_to(source);
        let fingerprint = broadcast.browser_certificate().made().expect("one is made").0.to_string();
        Self { running: Running::run(broadcast), plan, fingerprint }
    }

    /// Returns what the native receiver measures at `to`.
    async fn receive(&self, to: SocketAddr, seconds: u64) -> Result<Measured, Box<dyn Error>> {
        let native = Native { began: Instant::now(), seen: Arc::default() };
        let seen = Arc::clone(&native.seen);
        view(config(to, &self.plan.identity), native, tokio::time::sleep(Duration::from_secs(seconds))).await?;
        let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(seen.measured())
    }

    /// Returns what the viewer in Chromium measures at `to`, and its last statistics; `None` without Chromium.
    fn show(&self, to: SocketAddr, seconds: u64, latency: &str) -> Result<Option<(Measured, Value)>, Box<dyn Error>> {
        let fingerprint = &self.fingerprint;
        let link = format!(
            "src=https://{to}/&fingerprint={fingerprint}&latency={latency}&seconds={seconds}&settling={SETTLING_SECONDS}"
        );
        let Some(lines) = tokio::task::block_in_place(|| watch_in_running(Engine::UsualChromium, &link)) else {
            return Ok(None);
        };
        let (last, frames) = lines.split_last().ok_or("the page says nothing")?;
        let statistics: Value = serde_json::from_str(last.strip_prefix("measured ").ok_or(last.as_str())?)?;
        let number = |group: &str, name: &str| statistics[group][name].as_f64().unwrap_or_default();
        let frame = |line: &String| {
            let mut words = line.split(' ').map(str::parse::<u64>);
            let (id, _, latency) = (words.next()?.ok()?, words.next()?, words.next()?.ok()?);
            Some((id, latency as f64))
        };
        let measured = Measured {
            frames: frames.iter().filter_map(frame).collect(),
            bits_per_second: 8e3 * number("came", "bytes") / number("came", "ms"),
            first_ms: number("first", "played"),
            opened_ms: Some(number("first", "opened")),
        };
        Ok(Some((measured, statistics)))
    }
}

/// The figures of one receiver.
#[derive(Debug, Clone, Default)]
struct Measured {
    /// The number of each frame that was shown, and the milliseconds from capture to the screen.
    frames: Vec<(u64, f64)>,
    bits_per_second: f64,
    /// Milliseconds from the beginning to the first picture, and for a page from its opening too.
    first_ms: f64,
    opened_ms: Option<f64>,
}

impl Measured {
    /// Returns the share of the frames between the first and the last one that was shown, in percent.
    fn shown(&self) -> f64 {
        let (Some((first, _)), Some((last, _))) = (self.frames.first(), self.frames.last()) else { return 0.0 };
        100.0 * self.frames.len() as f64 / (last - first + 1) as f64
    }

    /// Returns this percentile of the latencies of the frames after the settling, in milliseconds.
    fn latency(&self, percent: usize) -> f64 {
        let settled = self.frames.iter().skip(SETTLING_FRAMES);
        let mut all: Vec<_> = settled.map(|(_, latency)| *latency).collect();
        all.sort_by(f64::total_cmp);
        all.get((all.len() * percent / 100).min(all.len().saturating_sub(1))).copied().unwrap_or_default()
    }
}

/// What the native receiver has seen.
#[derive(Debug, Default)]
struct Seen {
    frames: Vec<(u64, f64)>,
    first: Option<Duration>,
    /// When something was reported, and the bytes so far.
    reports: Vec<(Duration, u64)>,
}

impl Seen {
    fn measured(&self) -> Measured {
        let settled = self.reports.iter().find(|(at, _)| *at >= Duration::from_secs(SETTLING_SECONDS));
        let (from, to) = (settled.copied().unwrap_or_default(), self.reports.last().copied().unwrap_or_default());
        let seconds = to.0.saturating_sub(from.0).as_secs_f64();
        Measured {
            frames: self.frames.clone(),
            bits_per_second: 8.0 * (to.1 - from.1) as f64 / seconds,
            first_ms: 1e3 * self.first.unwrap_or_default().as_secs_f64(),
            opened_ms: None,
        }
    }
}

/// The native receiver: it decodes, and shows nothing.
struct Native {
    began: Instant,
    seen: Arc<Mutex<Seen>>,
}

impl Viewer for Native {
    type Error = Infallible;

    fn handle_announcement(&mut self, announced: &Announcement) -> Result<Option<Decoding>, Infallible> {
        Ok(Decoding::video(announced, 1))
    }

    fn show(&mut self, shown: &Shown<'_>) -> Result<(), Infallible> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.first.get_or_insert(self.began.elapsed());
        seen.frames.push((shown.id, 1e3 * shown.latency.as_secs_f64()));
        Ok(())
    }

    fn report(&mut self, totals: &Totals) -> Result<(), Infallible> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.reports.push((self.began.elapsed(), totals.received.bytes));
        Ok(())
    }
}

async fn links(seconds: u64, rates: &[u64], round_trips: &[u64]) -> Result<(), Box<dyn Error>> {
    let film = grain(FILM_SECONDS);
    let mean = film.len() as u64 / u64::from(FILM_SECONDS * FRAMES_PER_SECOND);
    let [width, height] = stored_video::SIZE;
    eprintln!("{width}x{height}, {FRAMES_PER_SECOND} frames a second of {mean} bytes");
    let sender = Sender::start(repeated(film)?);
    println!(
        "| link, Mbit/s | round trip, ms | viewer | link used % | frames shown % | capture to screen p50 ms | p95 ms | \
         first picture ms | from opening the page ms |"
    );
    println!("|---:|---:|---|---:|---:|---:|---:|---:|---:|");
    for &bits in rates {
        for &round_trip in round_trips {
            let link = Link::constant(bits).with_rtt(Duration::from_millis(round_trip));
            let relay = Relay::start(sender.running.address, link.clone()).await?;
            let native = sender.receive(relay.address(), seconds).await?;
            drop(relay);
            row(bits, round_trip, "native", &native);
            let relay = Relay::start(sender.running.address, link).await?;
            let Some((page, _)) = sender.show(relay.address(), seconds, "smooth")? else { return Ok(()) };
            row(bits, round_trip, "Chromium", &page);
        }
    }
    sender.running.stop().await;
    Ok(())
}

fn row(bits: u64, round_trip: u64, name: &str, measured: &Measured) {
    let used = 100.0 * measured.bits_per_second / bits as f64;
    let opened = measured.opened_ms.map_or_else(String::new, |ms| format!("{ms:.0}"));
    println!(
        "| {} | {round_trip} | {name} | {used:.0} | {:.1} | {:.0} | {:.0} | {:.0} | {opened} |",
        bits as f64 / 1e6,
        measured.shown(),
        measured.latency(50),
        measured.latency(95),
        measured.first_ms,
    );
}

/// The times of one opening of the page, in milliseconds: until its script runs, until the viewer connects, and until the
/// first picture.
const OPENING_COLUMNS: usize = 3;

/// Opens the viewer's page again and again in a browser that runs, over a link of 4 Mbit/s with this round trip. The page comes
/// from the sender's own server, with the same round trip.
async fn first(round_trip: Duration, count: usize) -> Result<(), Box<dyn Error>> {
    // A stored video of `nestcast encode` has a frame to begin with every two seconds too.
    let sender = Sender::start(repeated(grain(2))?);
    let relay =
        Relay::start(sender.running.address, Link::constant(LINK_BITS_PER_SECOND[2]).with_rtt(round_trip)).await?;
    let server = Arc::new(PageServer::listen(([127, 0, 0, 1], 0).into(), None).await?);
    let delay = TcpDelay::start(server.address().ok_or("it listens")?, round_trip).await?;
    let next = format!("http://{}/#src=https://{}/&fingerprint={}", delay.address, relay.address(), sender.fingerprint);
    let page =
        |head: String| format!("<!doctype html><meta charset=\"utf-8\"><title>A test of the viewer</title>{head}");
    let meta = format!("<meta name=\"next\" content=\"{}\">", next.replace('&', "&amp;"));
    let own = [
        ("next.html", "text/html", page(meta + "<script type=\"module\" src=\"next.js\"></script>")),
        ("next.js", "text/javascript", include_str!("../web/next.js").to_owned()),
    ];
    let own = own.map(|(name, media_type, text)| (name.to_owned(), (media_type, text.into_bytes())));
    let (back, posted) = browser::serve(own.into_iter().collect());
    let serving = tokio::spawn(server.serve(page_files(back), None));
    let Some(_browser) = Browser::open(Engine::UsualChromium, &format!("http://{back}/next.html")) else {
        return Ok(());
    };
    let mut all: [Vec<f64>; OPENING_COLUMNS] = Default::default();
    for _ in 0..count {
        let lines = tokio::task::block_in_place(|| browser::lines(&posted, PATIENCE));
        eprintln!("{}", lines[0]);
        let times = lines[0].split(',').map(str::parse::<f64>).collect::<Result<Vec<_>, _>>()?;
        all.iter_mut().zip(times).for_each(|(column, time)| column.push(time));
    }
    println!("| round trip, ms | until | median ms | least | most |");
    println!("|---:|---|---:|---:|---:|");
    for (name, times) in ["the script runs", "the viewer connects", "the first picture"].into_iter().zip(&mut all) {
        times.sort_by(f64::total_cmp);
        let [median, least, most] = [times[count / 2], times[0], times[count - 1]];
        println!("| {} | {name} | {median:.0} | {least:.0} | {most:.0} |", round_trip.as_millis());
    }
    serving.abort();
    sender.running.stop().await;
    Ok(())
}

/// Returns the viewer's files. Its page reports to `back` too.
fn page_files(back: SocketAddr) -> Vec<PageFile> {
    let of_viewer = |file: &StaticFile| PageFile::from_static(file.name, file.media_type, file.bytes);
    let mut files: Vec<_> = PAGE_FILES.iter().map(of_viewer).collect();
    let reports = format!(
        "<head><meta name=\"back\" content=\"http://{back}/\"><script type=\"module\" src=\"first.js\"></script>"
    );
    for file in files.iter_mut().filter(|file| file.name == "index.html") {
        let text = String::from_utf8_lossy(&file.bytes).replace("<head>", &reports);
        file.bytes = text.into_bytes().into();
    }
    files.push(PageFile::from_static("first.js", "text/javascript", include_bytes!("../web/first.js")));
    files
}

async fn video(file: PathBuf, seconds: u64, latency: &str) -> Result<(), Box<dyn Error>> {
    let sender = Sender::start(repeated_file(file)?);
    let address = sender.running.address;
    println!(
        "| viewer | frames shown a second | frames shown % | late | concealed | never decoded | \
         capture to screen p50 ms | p95 ms |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    let native = sender.receive(address, seconds).await?;
    let rate = |measured: &Measured| measured.frames.len() as f64 / (seconds as f64 - measured.first_ms / 1e3);
    println!(
        "| native | {:.1} | {:.1} | | | | {:.0} | {:.0} |",
        rate(&native),
        native.shown(),
        native.latency(50),
        native.latency(95)
    );
    let Some((page, statistics)) = sender.show(address, seconds, latency)? else { return Ok(()) };
    let [late, concealed, undecoded] = ["late", "concealed", "undecoded"].map(|name| &statistics[name]);
    println!(
        "| Chromium | {:.1} | {:.1} | {late} | {concealed} | {undecoded} | {:.0} | {:.0} |",
        rate(&page),
        page.shown(),
        page.latency(50),
        page.latency(95)
    );
    sender.running.stop().await;
    Ok(())
}
