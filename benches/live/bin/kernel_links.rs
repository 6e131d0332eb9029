//! Broadcasts over a real kernel's links (`ip netns`, `tc tbf`): how much of each is used, and how many frames lack a
//! picture. It needs root and iproute2.

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("kernel-links: network namespaces are Linux's: run it there");
}

#[cfg(target_os = "linux")]
fn main() -> anyhow::Result<()> {
    linux::main()
}

#[cfg(target_os = "linux")]
mod linux {
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use anyhow::{Error, Result};
    use clap::Parser;
    use nestcast_lab::link::Link;
    use nestcast_live_benches::links::Scenario;
    use nestcast_tests::broadcasts::{Counts, count_while};
    use nestcast_tests::netns_links::NetnsLinks;
    use tokio::time::sleep;

    /// The first count that is used: the sender has found the rate by then.
    const START_TIME: Duration = Duration::from_secs(2);

    /// One broadcast to one receiver for every link, in real time.
    #[derive(Parser)]
    struct Options {
        /// This link too: a trace with two columns, seconds and Mbit/s, or mahimahi's (may be repeated).
        #[arg(long, value_name = "FILE")]
        trace: Vec<PathBuf>,
    }

    pub(crate) fn main() -> Result<()> {
        let options = Options::parse();
        let mut scenarios = Scenario::all()?;
        scenarios.push(Scenario::constant(10_000));
        scenarios.push(fall(10, 1.0));
        scenarios.push(fall(4, 0.3));
        for path in &options.trace {
            scenarios.push(Scenario::open(path)?);
        }
        println!("link                 used   frames  without a picture");
        for scenario in &scenarios {
            let counts = run(scenario)?;
            let end = Duration::from_secs(scenario.seconds.into());
            let (bits, [first, last]) = counts.goodput(START_TIME, end);
            let used = 100.0 * bits / scenario.link.capacity(first, last).max(1.0);
            let received = counts.last().received;
            println!("{:<18}  {used:>3.0} %  {:>6}  {:>17}", scenario.name, received.shown, received.missing_bases);
        }
        Ok(())
    }

    /// A fall of the rate, in Mbit/s, to about a tenth.
    fn fall(before: u32, after: f64) -> Scenario {
        let rates = vec![(Duration::ZERO, u64::from(before) * 1_000_000), (Duration::from_secs(4), bits(after))];
        Scenario {
            name: format!("{before}-{after} Mbit/s"),
            link: Link::varying(rates),
            seconds: 9,
            frames_per_second: None,
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive rate")]
    fn bits(megabits: f64) -> u64 {
        (megabits * 1e6) as u64
    }

    fn run(scenario: &Scenario) -> Result<Counts> {
        let netns = Arc::new(NetnsLinks::new(&[scenario.link.rates[0].1]).map_err(Error::msg)?);
        let (rates, end) = (scenario.link.rates.clone(), Duration::from_secs(scenario.seconds.into()));
        let link = Arc::clone(&netns);
        let mut counts = netns.broadcast(1, async move |_, config| {
            let began = Instant::now();
            let change = async |_| {
                for &(at, rate) in rates.iter().skip(1).take_while(|(at, _)| *at < end) {
                    sleep(at.saturating_sub(began.elapsed())).await;
                    link.set_rate(0, rate).expect("it was set before");
                }
                sleep(end.saturating_sub(began.elapsed())).await;
            };
            count_while(config, began, change).await
        });
        Ok(counts.remove(0)?)
    }
}
