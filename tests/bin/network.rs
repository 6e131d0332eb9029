//! What broadcasts give over simulated links at round trips from 10 to 200 ms, in virtual time.

use std::time::Duration;

use nestcast_link::Link;
use nestcast_tests::network::{Outcome, Scenario, broadcast, recorded, steps};

const RTTS: [u64; 4] = [10, 50, 100, 200];
const RATES: [u64; 4] = [300_000, 1_000_000, 4_000_000, 10_000_000];

fn s(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn share(o: &Outcome, link: &Link, from: f64, to: f64) -> f64 {
    o.seen().bytes(s(from), s(to)) as f64 * 800.0 / link.capacity(s(from), s(to))
}

fn constant(loss: u32) {
    println!("constant, loss {loss} ppm: used / queue p95 / drops / blank / latency p50");
    for rate in RATES {
        for rtt in RTTS {
            let link = Link::constant(rate).with_rtt(Duration::from_millis(rtt)).with_loss(loss, 1);
            let o = broadcast(&link, Scenario::lasting(s(12.0)));
            println!(
                "  {:>4} Mbit/s {rtt:>3} ms: {:>4.0} %  {:>5.1} ms  {:>3} drops ({} at first) {} blank, {:?}; first second {:.0} %",
                rate as f64 / 1e6,
                share(&o, &link, 2.0, 12.0),
                o.queue_p95(s(2.0), s(12.0)).as_secs_f64() * 1e3,
                o.dropped(s(2.0), s(12.0)),
                o.dropped(s(0.0), s(2.0)),
                o.seen().received.blank,
                o.seen().latency(s(2.0), s(12.0)),
                share(&o, &link, 0.0, 1.0),
            );
        }
    }
}

fn falls(moments: u64) {
    println!("falls: blank frames, at {moments} moments");
    let rates = [10_000_000, 4_000_000, 2_000_000, 1_000_000, 300_000];
    for rtt in RTTS {
        for (at, &before) in rates.iter().enumerate() {
            for &after in &rates[at + 1..] {
                let blank: Vec<u64> = (0..moments)
                    .map(|step| {
                        let fall = Duration::from_micros(4_000_000 + 100_800 / moments * step);
                        let link = Link::varying(vec![(Duration::ZERO, before), (fall, after)])
                            .with_rtt(Duration::from_millis(rtt));
                        broadcast(&link, Scenario::lasting(s(7.0))).seen().received.blank
                    })
                    .collect();
                println!("  {rtt:>3} ms {:>4} to {:>4}: {blank:?}", before as f64 / 1e6, after as f64 / 1e6);
            }
        }
    }
}

fn changes() {
    println!(
        "4-1-10: used after fall, after rise (a second later), queue p95 after fall, blank; traces: used, queue p95, blank"
    );
    for rtt in RTTS {
        let link = steps(&[(0, 4_000_000), (4, 1_000_000), (8, 10_000_000)]).with_rtt(Duration::from_millis(rtt));
        let o = broadcast(&link, Scenario::lasting(s(12.0)));
        let waits: Vec<_> = o
            .passages
            .iter()
            .filter(|p| p.at > s(4.0) && p.at < s(8.0))
            .filter(|p| p.wait.is_none_or(|w| w > Duration::from_millis(33)))
            .map(|p| p.at)
            .collect();
        println!(
            "  {rtt:>3} ms: {:.0} % {:.0} % {:?} {} blank; down {:?}",
            share(&o, &link, 4.5, 8.0),
            share(&o, &link, 9.0, 12.0),
            o.queue_p95(s(4.1), s(8.0)),
            o.seen().received.blank,
            waits.last().map(|at| *at - s(4.0)),
        );
        for (name, text) in [
            ("bus", include_str!("../traces/norway_bus_14.txt")),
            ("metro", include_str!("../../benches/live/data/norway_metro_2.txt")),
        ] {
            let link = recorded(text).with_rtt(Duration::from_millis(rtt));
            let o = broadcast(&link, Scenario::lasting(s(17.0)));
            println!(
                "      {name}: {:.0} % {:?} {} blank",
                share(&o, &link, 1.0, 17.0),
                o.queue_p95(s(1.0), s(17.0)),
                o.seen().received.blank
            );
        }
    }
}

fn sharing() {
    println!("four receivers: Jain's index, sum; beside CUBIC: share of the link in 10..40 s (fair: 50 %), cubic's");
    for rtt in RTTS {
        for rate in [1_000_000, 4_000_000, 10_000_000] {
            let link = Link::constant(rate).with_rtt(Duration::from_millis(rtt));
            let o = broadcast(&link, Scenario { receivers: 4, ..Scenario::lasting(s(24.0)) });
            let shares: Vec<f64> = o.receivers.iter().map(|seen| seen.bytes(s(8.0), s(24.0)) as f64).collect();
            let (sum, squares) = (shares.iter().sum::<f64>(), shares.iter().map(|x| x * x).sum::<f64>());
            let used = sum * 800.0 / link.capacity(s(8.0), s(24.0));
            let blank: u64 = o.receivers.iter().map(|seen| seen.received.blank).sum();
            print!(
                "  {rtt:>3} ms {:>4}: {:.2} {used:.0} % p95 {:?} {blank} blank {:?}",
                rate as f64 / 1e6,
                sum * sum / 4.0 / squares,
                o.queue_p95(s(8.0), s(24.0)),
                shares.iter().map(|x| (100.0 * x / sum).round()).collect::<Vec<_>>()
            );
            let o = broadcast(&link, Scenario { download: Some(s(3.0)), ..Scenario::lasting(s(40.0)) });
            let down: usize = o.downloaded.iter().filter(|(at, _)| *at > s(10.0)).map(|(_, bytes)| bytes).sum();
            println!(
                "   cubic: ours {:.0} %, its {:.0} %, {} blank",
                share(&o, &link, 10.0, 40.0),
                down as f64 * 800.0 / link.capacity(s(10.0), s(40.0)),
                o.seen().received.blank
            );
        }
    }
}

fn main() {
    if let Ok(one) = std::env::var("NC_ONE") {
        let n: Vec<u64> = one.split(' ').map(|x| x.parse().unwrap()).collect();
        let mut link = Link::constant(n[0] * 1000).with_rtt(Duration::from_millis(n[1])).with_loss(n[2] as u32, 1);
        if n.len() > 4 {
            link.rates.push((Duration::from_millis(n[3]), n[4] * 1000));
        }
        let o = broadcast(
            &link,
            if std::env::var_os("NC_CUBIC").is_some() {
                Scenario { download: Some(s(3.0)), ..Scenario::lasting(s(40.0)) }
            } else {
                Scenario::lasting(s(12.0))
            },
        );
        println!(
            "{:.0} % blank {} drops {}",
            share(&o, &link, 2.0, 12.0),
            o.seen().received.blank,
            o.dropped(s(0.0), s(12.0))
        );
        let ids: Vec<_> = o.seen().shown.iter().map(|f| f.header.id).collect();
        println!(
            "missing {:?}",
            ids.windows(2).filter(|p| p[1] != p[0] + 1).map(|p| (p[0] + 1, p[1] - p[0] - 1)).collect::<Vec<_>>()
        );
        if std::env::var_os("NC_FRAMES").is_some() {
            for f in &o.seen().shown {
                println!(
                    "{} captured {} first {:?} shown {:?} {} bytes",
                    f.header.id,
                    f.header.captured as f64 / 1e6,
                    f.first,
                    f.shown,
                    f.prefix.len()
                );
            }
        }
        return;
    }
    for what in std::env::args().skip(1) {
        match what.as_str() {
            "constant" => constant(0),
            "loss1" => constant(10_000),
            "loss3" => constant(30_000),
            "falls" => falls(12),
            "changes" => changes(),
            "sharing" => sharing(),
            _ => eprintln!("?"),
        }
    }
}
