//! What a relay's core carries: readers that stop nothing, and subscribers, without links, so that both get all bytes.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nestcast_moq::receive;
use nestcast_proto::{ReceiveStats, ReceivedFrame};
use nestcast_receiver::FrameSink;
use tokio::task::JoinSet;

use crate::harness::program::RelayProgram;
use crate::harness::{Made, broadcast, plain};
use crate::{rates, until_published};

/// The greatest rate that is published: what each reader gets.
const READER_BITS: u64 = 2_000_000;
/// The time until all read.
const SETTLING: Duration = Duration::from_secs(5);

/// Counts bytes of frames.
struct Bytes(Arc<AtomicU64>);

impl FrameSink for Bytes {
    type Error = Infallible;

    fn handle_frame(&mut self, frame: ReceivedFrame, _: ReceiveStats) -> Result<(), Infallible> {
        self.0.fetch_add(frame.prefix.len() as u64, Ordering::Relaxed);
        Ok(())
    }
}

/// Prints the table, after two times `time` and some seconds.
pub(crate) async fn measure(readers: usize, time: Duration) {
    println!("\n| readers | number | Mbit/s, all | relay, % of a core | CPU ms for a Mbit |");
    println!("|---|---:|---:|---:|---:|");
    let mut costs = Vec::new();
    for (name, is_plain) in [("plain", true), ("nestcast", false)] {
        let relay = RelayProgram::start(None);
        let mut tasks = JoinSet::new();
        let made = Made::for_time(3 * (time + SETTLING));
        broadcast(&mut tasks, made, &relay.place, rates(READER_BITS / 2, READER_BITS));
        until_published(&relay.place).await;
        let bytes = Arc::<AtomicU64>::default();
        let mut all = JoinSet::new();
        for _ in 0..readers {
            let (place, bytes) = (relay.place.clone(), Arc::clone(&bytes));
            all.spawn(async move {
                if is_plain {
                    plain::count(&place, &bytes).await;
                } else {
                    let ended = receive(place.config(Duration::ZERO), &mut Bytes(bytes), std::future::pending()).await;
                    eprintln!("a subscriber ended: {ended:?}");
                }
            });
        }
        tokio::time::sleep(SETTLING).await;
        let read = || (bytes.load(Ordering::Relaxed), relay.cpu_seconds());
        let (began, before) = (Instant::now(), read());
        tokio::time::sleep(time).await;
        let (ran, after) = (began.elapsed().as_secs_f64(), read());
        let (mbit, cpu) = ((after.0 - before.0) as f64 * 8.0 / 1e6, after.1 - before.1);
        let cost = 1e3 * cpu / mbit.max(1e-9);
        println!("| {name} | {readers} | {:.1} | {:.1} | {cost:.2} |", mbit / ran, 100.0 * cpu / ran);
        costs.push(cost);
    }
    if let [plain, ours] = costs[..] {
        println!("\nA core carries {:.2} times the bytes of plain readers for subscribers.", plain / ours);
    }
}
