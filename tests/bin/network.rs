//! Measures broadcasts over simulated links at round trips from 10 to 200 ms, in virtual time, as one table.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Parser;
use nestcast_lab::link::{
    Link,
    trace::{NORWAY_BUS, NORWAY_METRO},
};
use nestcast_sender::Acknowledge;
use nestcast_tests::network::{Outcome, Scenario, broadcast, slide, steps};

/// The number of moments of a fall, spread over three frame intervals.
const FALL_COUNT: u32 = 12;
/// When receivers join, in milliseconds: the sender's estimates depend on the packets' moments to the microsecond. On
/// links that lose packets, each moment has a seed of its own.
const FALL_MOMENTS: [u64; 6] = [0, 3, 5, 11, 17, 24];
/// Other moments, to show how much the means of six differ.
const OTHER_MOMENTS: [u64; 6] = [1, 7, 9, 13, 21, 29];

/// Broadcasts over simulated links with the QUIC, the feed and the congestion control of the product. For each link and
/// round trip it prints the share of the link that frames use and the queue's 95th percentile, as means of six runs to
/// receivers that join at different moments, or of twelve with falls at different moments. It also prints the most
/// frames that any run did not show.
#[derive(Parser)]
struct Options {
    /// One line for each link and round trip as comma-separated values, instead of a Markdown table
    #[arg(long)]
    csv: bool,
    /// Round trips without queues, in milliseconds
    #[arg(long, value_name = "MS", value_delimiter = ',', default_value = "10,50,100,200")]
    rtt: Vec<u64>,
    /// Only links whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Other moments of joining
    #[arg(long)]
    other: bool,
}

/// A row of the table: the runs that it averages.
struct Row {
    name: String,
    runs: Vec<Run>,
}

/// A broadcast, and the moments between which it is measured.
struct Run {
    link: Link,
    scenario: Scenario,
    from: Duration,
    until: Duration,
}

/// The figures of a row's runs.
#[derive(Debug, Clone, Copy)]
struct Figures {
    used: f64,
    queue: Duration,
    missing_bases: u64,
    latency: Duration,
    /// Jain's index, if there are several receivers.
    fairness: Option<f64>,
    /// What the download on the same link used.
    download: Option<f64>,
}

fn main() {
    let options = Options::parse();
    let rows = rows(if options.other { OTHER_MOMENTS } else { FALL_MOMENTS })
        .into_iter()
        .filter(|row| row.name.contains(&options.only));
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

/// Returns all rows, of broadcasts to receivers that join at these moments.
fn rows(moments: [u64; 6]) -> Vec<Row> {
    let rates = [300_000, 1_000_000, 4_000_000, 10_000_000];
    let row = |name: &str, link: &Link, scenario: Scenario, from| {
        let joins = |joins| Scenario { joins: Duration::from_millis(joins), ..scenario };
        let run = |moment| Run { link: link.clone(), scenario: joins(moment), from, until: scenario.time };
        Row { name: name.to_owned(), runs: moments.into_iter().map(run).collect() }
    };
    let mut all = Vec::new();
    for percent in [0, 1, 3] {
        let loss = if percent == 0 { String::new() } else { format!(", {percent} % loss") };
        for &rate in &rates {
            let name = format!("{} Mbit/s{loss}", megabits(rate));
            let mut constant = row(&name, &Link::constant(rate), Scenario::lasting(seconds(12)), seconds(2));
            for (run, seed) in constant.runs.iter_mut().zip(1..) {
                run.link = Link::constant(rate).with_loss(percent * 10_000, seed);
            }
            all.push(constant);
        }
    }
    let stepping = steps(&[(0, 4_000_000), (4, 1_000_000), (8, 10_000_000)]);
    let fallen = Scenario::lasting(seconds(8));
    all.push(row("4-1-10 Mbit/s: after the fall", &stepping, fallen, Duration::from_millis(4500)));
    let risen = Scenario::lasting(seconds(12));
    all.push(row("4-1-10 Mbit/s: after the rise", &stepping, risen, seconds(9)));
    for (name, text) in [("Norway by bus", NORWAY_BUS), ("Norway by metro", NORWAY_METRO)] {
        let link = Link::recorded(text).expect("a trace");
        all.push(row(name, &link, Scenario::lasting(seconds(17)), seconds(1)));
    }
    let falling = [10_000_000, 4_000_000, 2_000_000, 1_000_000, 300_000];
    for (at, &before) in falling.iter().enumerate() {
        all.extend(falling[at + 1..].iter().map(|&after| fall(before, after)));
    }
    let sliding = slide(4_000_000, 400_000, seconds(60));
    all.push(row("4 to 0.4 Mbit/s in 60 s, and back", &sliding, Scenario::lasting(seconds(120)), seconds(2)));
    for &rate in &rates[1..3] {
        let name = format!("{} Mbit/s by a policer", megabits(rate));
        let policer_rate = Link::constant(100_000_000).with_policer(rate, rate / 80);
        all.push(row(&name, &policer_rate, Scenario::lasting(seconds(30)), seconds(3)));
        for longer in [30, 150] {
            let name = format!("{} Mbit/s, {longer} ms longer", megabits(rate));
            let longer = Link::constant(rate).with_longer_route(seconds(10), Duration::from_millis(longer));
            all.push(row(&name, &longer, Scenario::lasting(seconds(18)), seconds(13)));
        }
    }
    for &rate in &rates {
        let name = format!("{} Mbit/s, video", megabits(rate));
        all.push(row(&name, &Link::constant(rate), Scenario::lasting(seconds(12)).of_video(rate), seconds(2)));
    }
    // Browsers acknowledge like this.
    let acknowledge = Some(Acknowledge { packets: 10, within: Duration::from_millis(25) });
    for &rate in &rates {
        let name = format!("{} Mbit/s, late acknowledgements", megabits(rate));
        let scenario = Scenario { acknowledge, ..Scenario::lasting(seconds(12)) };
        all.push(row(&name, &Link::constant(rate), scenario, seconds(2)));
    }
    for &rate in &rates[1..] {
        let name = format!("{} Mbit/s, four receivers", megabits(rate));
        let scenario = Scenario { receivers: 4, ..Scenario::lasting(seconds(24)) };
        all.push(row(&name, &Link::constant(rate), scenario, seconds(8)));
    }
    for &rate in &rates[1..] {
        let name = format!("{} Mbit/s, against CUBIC", megabits(rate));
        let scenario = Scenario { download: Some(seconds(3)), ..Scenario::lasting(seconds(40)) };
        all.push(row(&name, &Link::constant(rate), scenario, seconds(10)));
    }
    all
}

/// Returns falls at moments spread over three frame intervals, measured from a second later on.
fn fall(before: u64, after: u64) -> Row {
    let run = |step| {
        let moment = seconds(4) + Duration::from_millis(100) * step / FALL_COUNT;
        let link = Link::varying(vec![(Duration::ZERO, before), (moment, after)]);
        Run { link, scenario: Scenario::lasting(seconds(7)), from: moment + seconds(1), until: seconds(7) }
    };
    let name = format!("fall from {} to {} Mbit/s", megabits(before), megabits(after));
    Row { name, runs: (0..FALL_COUNT).map(run).collect() }
}

impl Row {
    fn figures(&self, rtt: u64) -> Figures {
        let figures: Vec<_> = self.runs.iter().map(|run| run.figures(Duration::from_millis(rtt))).collect();
        let mean = |of: fn(&Figures) -> f64| figures.iter().map(of).sum::<f64>() / figures.len() as f64;
        let time =
            |of: fn(&Figures) -> Duration| figures.iter().map(of).sum::<Duration>().div_f64(figures.len() as f64);
        let both = |one: Option<f64>, two: Option<f64>| one.zip(two).map(|(one, two)| one + two);
        let optional = |of: fn(&Figures) -> Option<f64>| {
            figures.iter().map(of).reduce(both).flatten().map(|sum| sum / figures.len() as f64)
        };
        Figures {
            used: mean(|run| run.used),
            queue: time(|run| run.queue),
            missing_bases: figures.iter().map(|run| run.missing_bases).max().unwrap_or_default(),
            latency: time(|run| run.latency),
            fairness: optional(|run| run.fairness),
            download: optional(|run| run.download),
        }
    }
}

impl Run {
    fn figures(&self, rtt: Duration) -> Figures {
        let (from, until) = (self.from, self.until);
        let link = self.link.clone().with_rtt(rtt);
        let outcome: Outcome = broadcast(&link, self.scenario);
        let latencies = outcome.receivers.iter().map(|seen| seen.latency(50, from, until));
        Figures {
            used: outcome.used(&link, from, until),
            queue: outcome.queue_p95(from, until),
            missing_bases: outcome.missing_bases(),
            latency: latencies.max().unwrap_or_default(),
            fairness: (self.scenario.receivers > 1).then(|| outcome.fairness(from, until)),
            download: self.scenario.download.map(|_| outcome.used_by_download(&link, from, until)),
        }
    }
}

impl Figures {
    fn cell(&self) -> String {
        let fairness = self.fairness.map(|index| format!(" / {index:.2}")).unwrap_or_default();
        let download = self.download.map(|used| format!(" / {used:.0} %")).unwrap_or_default();
        format!("{:.0} % / {} / {}{fairness}{download}", self.used, self.queue.as_millis(), self.missing_bases)
    }

    fn csv(&self) -> String {
        let fairness = self.fairness.map(|index| format!("{index:.3}")).unwrap_or_default();
        let download = self.download.map(|used| format!("{used:.1}")).unwrap_or_default();
        let [queue, latency] = [self.queue, self.latency].map(|time| time.as_secs_f64() * 1e3);
        format!("{:.1},{queue:.1},{},{latency:.1},{fairness},{download}", self.used, self.missing_bases)
    }
}
