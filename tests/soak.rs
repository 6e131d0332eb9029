//! A hundred receivers come and go for minutes, and nothing grows. Run it with
//! `NESTCAST_SOAK=600 cargo test --locked -p nestcast-tests --test soak -- --ignored --nocapture`: so many seconds.
#![cfg(target_os = "linux")]

use std::time::{Duration, Instant};

use nestcast_proto::Bitrate;
use nestcast_tests::broadcasts::{Plan, Running, config, count, identity};
use tokio::task::JoinSet;

const RECEIVERS: usize = 100;
/// By when the first memory is taken, and every pool is filled.
const WARM: Duration = Duration::from_secs(30);
/// How much may be there at the end that was not there by then.
const SLACK_KB: u64 = 32 * 1024;
const SLACK_FILES: usize = 40;

/// Resident memory in kB, and open files.
fn usage() -> (u64, usize) {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux has it");
    let memory = line.trim().trim_end_matches(" kB").parse().expect("a number");
    (memory, std::fs::read_dir("/proc/self/fd").expect("Linux has it").count())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: see the first lines of this file"]
async fn nothing_grows_while_receivers_come_and_go() {
    let seconds = std::env::var("NESTCAST_SOAK").ok().and_then(|text| text.parse().ok()).unwrap_or(600);
    let (began, time) = (Instant::now(), Duration::from_secs(seconds));
    let identity = identity();
    let broadcast = Running::start(Plan { moving: false, size: (64, 48), ..Plan::new(&identity) });
    let mut receivers = JoinSet::new();
    let (mut warm, mut number, mut served, mut told) = (None, 0_u64, 0, 0);
    while began.elapsed() < time {
        while receivers.len() < RECEIVERS {
            number += 1;
            let mut config = config(broadcast.address, &identity);
            config.max_bitrate = Some(Bitrate::from_bits(100_000));
            let stay = Duration::from_millis(2000 + number * 7919 % 8000);
            receivers.spawn(async move {
                let receiving = count(config, Instant::now(), stay);
                if number % 4 > 0 {
                    return receiving.await.map(|counts| counts.last().received.shown);
                }
                // One in four vanishes without a word.
                let _ = tokio::time::timeout(stay / 2, receiving).await;
                Ok(1)
            });
        }
        if let Ok(Some(ended)) = tokio::time::timeout(Duration::from_millis(200), receivers.join_next()).await {
            served += u64::from(ended.expect("no panic").expect("it is let in") > 0);
        }
        if began.elapsed() > WARM.min(time / 2) && warm.is_none() {
            warm = Some(usage());
        }
        if began.elapsed().as_secs() / 10 > told {
            told = began.elapsed().as_secs() / 10;
            let figures = broadcast.monitor.read();
            let now = figures.receivers.len();
            println!("{:?}: (kB, files) {:?}; {now} receivers, {} so far", began.elapsed(), usage(), figures.accepted);
        }
    }
    let (memory, files) = usage();
    let (before, open) = warm.expect("it ran for some time");
    println!("from {before} kB and {open} files to {memory} kB and {files} files, {number} receivers");
    assert!(memory <= before + SLACK_KB && files <= open + SLACK_FILES, "it grows");
    // A busy machine may let a short one go without a picture.
    assert!(served * 2 > number - RECEIVERS as u64, "{served} of {number} were served");
    receivers.shutdown().await;
    broadcast.stop().await;
}
