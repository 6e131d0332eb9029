//! What broadcasts give over simulated links at round trips from 10 to 200 ms, in virtual time, as one table.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Parser;
use nestcast_lab::link::{
    Link,
    trace::{NORWAY_BUS, NORWAY_METRO},
};
use nestcast_sender::Acknowledge;
use nestcast_tests::network::{Outcome, Scenario, broadcast, steps};

/// Moments over which a fall is spread, within three frame intervals.
const FALLS: u32 = 12;
/// Seeds of the links that lose packets.
const SEEDS: u64 = 3;

/// Broadcasts over simulated links with the QUIC, the feed and the congestion control of the product: for each link and
/// round trip the share of the link that frames use, the queue's 95th percentile and the frames that were not shown, of
/// the worst of several runs where moments of falls or lost packets differ.
#[derive(Parser)]
struct Options {
    /// One line for each link and round trip as comma-separated values, in place of a Markdown table
    #[arg(long)]
    csv: bool,
    /// Round trips without queues, in milliseconds
    #[arg(long, value_name = "MS", value_delimiter = ',', default_value = "10,50,100,200")]
    rtt: Vec<u64>,
    /// Only links whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
}

/// A row of the table: runs of which the worst counts.
struct Row {
    name: String,
    runs: Vec<Run>,
}

/// A broadcast, and between which moments it is measured.
struct Run {
    link: Link,
    scenario: Scenario,
    from: Duration,
    until: Duration,
}

/// What the worst of a row's runs gave.
#[derive(Debug, Clone, Copy)]
struct Figures {
    used: f64,
    queue: Duration,
    blank: u64,
    latency: Duration,
    /// Of several receivers, Jain's index.
    fairness: Option<f64>,
    /// What the download beside it used.
    download: Option<f64>,
}

fn main() {
    let options = Options::parse();
    let rows = rows().into_iter().filter(|row| row.name.contains(&options.only));
    if options.csv {
        println!(
            "link,rtt_ms,used_percent,queue_p95_ms,frames_not_shown,latency_p50_ms,jain_index,download_used_percent"
        );
    } else {
        println!("| link |{}", options.rtt.iter().map(|rtt| format!(" {rtt} ms |")).collect::<String>());
        println!("|---|{}", "---|".repeat(options.rtt.len()));
    }
    for row in rows {
        let figures: BTreeMap<u64, Figures> = options.rtt.iter().map(|&rtt| (rtt, row.figures(rtt))).collect();
        if options.csv {
            figures.iter().for_each(|(rtt, figures)| println!("\"{}\",{rtt},{}", row.name, figures.csv()));
        } else {
            let cells: String = options.rtt.iter().map(|rtt| format!(" {} |", figures[rtt].cell())).collect();
            println!("| {} |{cells}", row.name);
        }
    }
}

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn megabits(rate: u64) -> f64 {
    rate as f64 / 1e6
}

/// All rows.
fn rows() -> Vec<Row> {
    let rates = [300_000, 1_000_000, 4_000_000, 10_000_000];
    let mut all = Vec::new();
    for percent in [0, 1, 3] {
        all.extend(rates.iter().map(|&rate| constant(rate, percent)));
    }
    all.extend(changes());
    let falling = [10_000_000, 4_000_000, 2_000_000, 1_000_000, 300_000];
    for (at, &before) in falling.iter().enumerate() {
        all.extend(falling[at + 1..].iter().map(|&after| fall(before, after)));
    }
    all.extend(rates.iter().map(|&rate| late_acks(rate)));
    for rate in &rates[1..] {
        let scenario = Scenario { receivers: 4, ..Scenario::lasting(seconds(24)) };
        let run = Run { link: Link::constant(*rate), scenario, from: seconds(8), until: seconds(24) };
        all.push(Row { name: format!("{} Mbit/s, four receivers", megabits(*rate)), runs: vec![run] });
    }
    for rate in &rates[1..] {
        let scenario = Scenario { download: Some(seconds(3)), ..Scenario::lasting(seconds(40)) };
        let run = Run { link: Link::constant(*rate), scenario, from: seconds(10), until: seconds(40) };
        all.push(Row { name: format!("{} Mbit/s, beside CUBIC", megabits(*rate)), runs: vec![run] });
    }
    all
}

fn constant(rate: u64, percent: u32) -> Row {
    let seeds = if percent == 0 { 1..=1 } else { 1..=SEEDS };
    let run = |seed| {
        let link = Link::constant(rate).with_loss(percent * 10_000, seed);
        Run { link, scenario: Scenario::lasting(seconds(12)), from: seconds(2), until: seconds(12) }
    };
    let loss = if percent == 0 { String::new() } else { format!(", {percent} % loss") };
    Row { name: format!("{} Mbit/s{loss}", megabits(rate)), runs: seeds.map(run).collect() }
}

/// A peer that acknowledges every ten packets or after 25 ms.
fn late_acks(rate: u64) -> Row {
    let scenario = Scenario {
        acknowledge: Some(Acknowledge { packets: 10, within: Duration::from_millis(25) }),
        ..Scenario::lasting(seconds(12))
    };
    let run = Run { link: Link::constant(rate), scenario, from: seconds(2), until: seconds(12) };
    Row { name: format!("{} Mbit/s, late acknowledgements", megabits(rate)), runs: vec![run] }
}

/// Steps and recordings.
fn changes() -> Vec<Row> {
    let link = steps(&[(0, 4_000_000), (4, 1_000_000), (8, 10_000_000)]);
    let stepping = |from, until| Run { link: link.clone(), scenario: Scenario::lasting(seconds(12)), from, until };
    let recording = |text: &str| Run {
        link: Link::recorded(text).expect("a trace"),
        scenario: Scenario::lasting(seconds(17)),
        from: seconds(1),
        until: seconds(17),
    };
    let row = |name: &str, run| Row { name: name.to_owned(), runs: vec![run] };
    vec![
        row("4-1-10 Mbit/s: after the fall", stepping(Duration::from_millis(4500), seconds(8))),
        row("4-1-10 Mbit/s: after the rise", stepping(seconds(9), seconds(12))),
        row("Norway by bus", recording(NORWAY_BUS)),
        row("Norway by metro", recording(NORWAY_METRO)),
    ]
}

/// Falls at moments spread over three frame intervals, measured from a second later on.
fn fall(before: u64, after: u64) -> Row {
    let run = |step| {
        let moment = seconds(4) + Duration::from_millis(100) * step / FALLS;
        let link = Link::varying(vec![(Duration::ZERO, before), (moment, after)]);
        Run { link, scenario: Scenario::lasting(seconds(7)), from: moment + seconds(1), until: seconds(7) }
    };
    let name = format!("fall from {} to {} Mbit/s", megabits(before), megabits(after));
    Row { name, runs: (0..FALLS).map(run).collect() }
}

impl Row {
    fn figures(&self, rtt: u64) -> Figures {
        let figures = self.runs.iter().map(|run| run.figures(Duration::from_millis(rtt)));
        figures.reduce(Figures::worse).expect("a row has runs")
    }
}

impl Run {
    fn figures(&self, rtt: Duration) -> Figures {
        let (from, until) = (self.from, self.until);
        let link = self.link.clone().with_rtt(rtt);
        let outcome: Outcome = broadcast(&link, self.scenario);
        let latencies = outcome.receivers.iter().map(|seen| seen.latency(from, until));
        Figures {
            used: outcome.used(&link, from, until),
            queue: outcome.queue_p95(from, until),
            blank: outcome.blank(),
            latency: latencies.max().unwrap_or_default(),
            fairness: (self.scenario.receivers > 1).then(|| outcome.fairness(from, until)),
            download: self.scenario.download.map(|_| outcome.used_by_download(&link, from, until)),
        }
    }
}

impl Figures {
    fn worse(self, other: Self) -> Self {
        Self {
            used: self.used.min(other.used),
            queue: self.queue.max(other.queue),
            blank: self.blank.max(other.blank),
            latency: self.latency.max(other.latency),
            fairness: self.fairness.zip(other.fairness).map(|(one, two)| one.min(two)),
            download: self.download.zip(other.download).map(|(one, two)| one.max(two)),
        }
    }

    fn cell(&self) -> String {
        let fairness = self.fairness.map(|index| format!(" / {index:.2}")).unwrap_or_default();
        let download = self.download.map(|used| format!(" / {used:.0} %")).unwrap_or_default();
        format!("{:.0} % / {} / {}{fairness}{download}", self.used, self.queue.as_millis(), self.blank)
    }

    fn csv(&self) -> String {
        let fairness = self.fairness.map(|index| format!("{index:.3}")).unwrap_or_default();
        let download = self.download.map(|used| format!("{used:.1}")).unwrap_or_default();
        let [queue, latency] = [self.queue, self.latency].map(|time| time.as_secs_f64() * 1e3);
        format!("{:.1},{queue:.1},{},{latency:.1},{fairness},{download}", self.used, self.blank)
    }
}
