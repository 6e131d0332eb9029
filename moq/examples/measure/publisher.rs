//! What a publisher's process costs, with one subscriber behind its relay and with many.

use std::net::SocketAddr;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use nestcast_receiver::Trust;
use tokio::task::JoinSet;

use crate::harness::program::{RelayProgram, cpu_seconds};
use crate::harness::{Made, Place, broadcast, receive_for};
use crate::{rates, until_published};

/// The first argument of the process that publishes.
pub(crate) const WORD: &str = "publish";
const VIEWERS: [usize; 2] = [1, 60];
/// The rates that are published.
const LEAST_BITS: u64 = 500_000;
const GREATEST_BITS: u64 = 2_000_000;
/// The time until all viewers are there.
const SETTLING: Duration = Duration::from_secs(5);

/// A process that ends with this one.
struct Publisher(Child);

impl Drop for Publisher {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Publishes at a relay until the process is killed.
pub(crate) async fn publish_at(relay: SocketAddr, fingerprint: &str) {
    let trust = Trust::fingerprint(fingerprint).expect("64 digits");
    let mut tasks = JoinSet::new();
    let made = Made::for_time(Duration::from_secs(86_400));
    broadcast(&mut tasks, made, &Place::new(relay, trust, "garden"), rates(LEAST_BITS, GREATEST_BITS));
    tasks.join_all().await;
}

/// Prints the table, after two times `time` and some seconds.
pub(crate) async fn measure(time: Duration) {
    println!("\n| subscribers | frames that came, % | publisher, % of a core | relay, % of a core |");
    println!("|---:|---:|---:|---:|");
    let relay = RelayProgram::start(None);
    let program = std::env::current_exe().expect("its own name");
    let arguments = [WORD.to_owned(), relay.address().to_string(), relay.fingerprint()];
    let publisher = Publisher(Command::new(program).args(arguments).spawn().expect("it starts"));
    until_published(&relay.place).await;
    for viewers in VIEWERS {
        let mut all = JoinSet::new();
        for _ in 0..viewers {
            let place = relay.place.clone();
            all.spawn(async move { receive_for(&place, SETTLING + time + SETTLING, SETTLING).await.0.shown() });
        }
        tokio::time::sleep(SETTLING).await;
        let read = || [cpu_seconds(&publisher.0), relay.cpu_seconds()];
        let (began, before) = (Instant::now(), read());
        tokio::time::sleep(time).await;
        let (ran, after) = (began.elapsed().as_secs_f64(), read());
        let [publisher, relay] = [0, 1].map(|at| 100.0 * (after[at] - before[at]) / ran);
        let shown = all.join_all().await.iter().sum::<f64>() / viewers as f64;
        println!("| {viewers} | {shown:.2} | {publisher:.1} | {relay:.1} |");
    }
}
