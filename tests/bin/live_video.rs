//! What live video gives over simulated links at round trips from 10 to 100 ms, in virtual time, as one table.

use std::time::Duration;

use clap::Parser;
use nestcast_lab::link::{
    Link,
    trace::{NORWAY_BUS, NORWAY_METRO},
};
use nestcast_tests::network::{Outcome, Scenario, Viewer, broadcast_from};
use nestcast_tests::video_frames::{NOISY, VideoFrames, Watcher};

/// Milliseconds by which the receiver joins later, and the link changes later: what the sender estimates depends on when packets
/// come.
const MOMENTS: [u64; 6] = [0, 3, 5, 11, 17, 24];
/// When a link's rate changes, and how long it is watched from then on.
const CHANGE: Duration = Duration::from_secs(4);
const WATCHED: Duration = Duration::from_secs(4);

/// Broadcasts video of 160x96 at 30 frames a second over simulated links with the QUIC, the feed, the encoder and the
/// congestion control of the product. Each cell: luma PSNR in dB / latency from capture to shown, 50th and 95th percentile, in ms
/// / longest time between two pictures, in ms / frames without a picture. PSNR and latency are means of the
/// runs, the others the worst of them.
#[derive(Parser)]
struct Options {
    /// Round trips without queues, in milliseconds
    #[arg(long, value_name = "MS", value_delimiter = ',', default_value = "10,50,100")]
    rtt: Vec<u64>,
    /// Only links whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// How many moments of joining, 1 to 6
    #[arg(long, value_name = "N", default_value_t = 3)]
    moments: usize,
    /// The most by which noise changes a sample of the video
    #[arg(long, value_name = "STEPS", default_value_t = NOISY)]
    noise: u32,
    /// A line for each run, with PSNR second by second
    #[arg(long)]
    runs: bool,
}

/// A link, how long a broadcast over it lasts, and from when on it is measured.
struct Row {
    name: String,
    link: Link,
    from: Duration,
    until: Duration,
    /// When the rate changes.
    change: Option<Duration>,
}

fn main() {
    let options = Options::parse();
    println!("| link |{}", options.rtt.iter().map(|rtt| format!(" {rtt} ms |")).collect::<String>());
    println!("|---|{}", "---|".repeat(options.rtt.len()));
    for row in rows().into_iter().filter(|row| row.name.contains(&options.only)) {
        let cells = options.rtt.iter().map(|&rtt| row.cell(Duration::from_millis(rtt), &options));
        let cells: String = cells.map(|cell| format!(" {cell} |")).collect();
        println!("| {} |{cells}", row.name);
    }
}

fn rows() -> Vec<Row> {
    let seconds = Duration::from_secs;
    let constant = |rate: u64| Row {
        name: format!("{} Mbit/s", rate as f64 / 1e6),
        link: Link::constant(rate),
        from: seconds(2),
        until: seconds(7),
        change: None,
    };
    let step = |(before, after): (u64, u64)| Row {
        name: format!("{} to {} Mbit/s", before as f64 / 1e6, after as f64 / 1e6),
        link: Link::varying(vec![(Duration::ZERO, before), (CHANGE, after)]),
        from: CHANGE,
        until: CHANGE + WATCHED,
        change: Some(CHANGE),
    };
    let trace = |(name, text): (&str, &str)| Row {
        name: name.to_owned(),
        link: Link::recorded(text).expect("a trace"),
        from: seconds(1),
        until: seconds(12),
        change: None,
    };
    let steps = [
        (4_000_000, 400_000),
        (3_000_000, 300_000),
        (1_000_000, 300_000),
        (1_000_000, 100_000),
        (300_000, 3_000_000),
        (1_000_000, 4_000_000),
    ];
    let mut rows: Vec<_> = [150_000, 300_000, 1_000_000, 4_000_000].into_iter().map(constant).collect();
    rows.extend(steps.into_iter().map(step));
    rows.extend([("Norway by bus", NORWAY_BUS), ("Norway by metro", NORWAY_METRO)].into_iter().map(trace));
    rows
}

impl Row {
    fn cell(&self, rtt: Duration, options: &Options) -> String {
        let link = self.link.clone().with_rtt(rtt);
        let noise = options.noise;
        let watchers: Vec<_> = MOMENTS
            .iter()
            .take(options.moments.clamp(1, MOMENTS.len()))
            .map(|&moment| {
                let moment = Duration::from_millis(moment);
                let mut link = link.clone();
                link.rates.iter_mut().filter(|(at, _)| !at.is_zero()).for_each(|(at, _)| *at += moment);
                let source = VideoFrames::new(noise);
                let outcome: Outcome<Watcher> =
                    broadcast_from(&link, Scenario::lasting(self.until), source, |network| {
                        vec![Viewer { joins: moment, cap: None, sink: Watcher::new(network, noise) }]
                    });
                let watcher = outcome.receivers.into_iter().next().expect("one receiver");
                if options.runs {
                    println!("{}, {rtt:?}: {}", self.name, watcher.describe());
                }
                watcher
            })
            .collect();
        let mean = |of: &dyn Fn(&Watcher) -> f64| watchers.iter().map(of).sum::<f64>() / watchers.len() as f64;
        let latency = |percent| mean(&|watcher| watcher.latency(percent, self.from, self.until).as_secs_f64() * 1e3);
        let gap = watchers
            .iter()
            .map(|watcher| watcher.longest_gap(self.from - Duration::from_millis(500), self.until))
            .max();
        let missing = watchers.iter().map(Watcher::missing).max();
        let recovery = self.change.map(|change| {
            let frames = mean(&|watcher| watcher.frames_until_settled(change) as f64);
            format!(" / settled after {frames:.0} frames")
        });
        format!(
            "{:.1} / {:.0}, {:.0} / {} / {}{}",
            mean(&|watcher| watcher.psnr(self.from, self.until)),
            latency(50),
            latency(95),
            gap.unwrap_or_default().as_millis(),
            missing.unwrap_or_default(),
            recovery.unwrap_or_default()
        )
    }
}
