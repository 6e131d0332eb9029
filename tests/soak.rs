//! A hundred receivers of a video come and go for minutes, two in five over recorded links, and nothing grows. One in
//! seven decodes what it receives: decoders for all would need two processors, and a receiver that starves keeps more.
//! Run it with `NESTCAST_SOAK=600 cargo test --locked -p nestcast-tests --test soak -- --ignored --nocapture`, where
//! 600 is the seconds; `NESTCAST_SOAK_RENDITIONS=3` allows the video up to three renditions.
//!
//! The broadcast is a separate process, so that its memory does not include that of its receivers, each of which begins
//! with a socket buffer of 3 MB. The test watches their process too.
#![cfg(target_os = "linux")]

use std::convert::Infallible;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use nestcast_lab::link::trace::{NORWAY_BUS, NORWAY_METRO};
use nestcast_lab::link::{Link, Relay};
use nestcast_proto::{Bitrate, ReceiveStats, ReceivedFrame};
use nestcast_receiver::{Error, FrameSink, ReceiverConfig, receive};
use nestcast_tests::broadcasts::{count, pinned};
use tokio::task::JoinSet;

const RECEIVER_COUNT: usize = 100;
/// One receiver of this many decodes.
const DECODES_EVERY: u64 = 7;
/// The most memory of the sender for each receiver.
const RECEIVER_KB: u64 = 256;
/// How much more the last third of the time may use than the middle third. For the sender this is some 300 bytes for
/// each receiver that joins in ten minutes; for the receivers, a fifth of their socket buffers.
const SENDER_SLACK_KB: u64 = 2 * 1024;
const RECEIVERS_SLACK_KB: u64 = 64 * 1024;
const SLACK_FILES: u64 = 20;

/// A process's memory and files.
#[derive(Debug, Clone, Copy)]
struct Usage {
    resident_kb: u64,
    files: u64,
    threads: u64,
}

impl Usage {
    fn of(process: u32) -> Self {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("Linux has it");
        let field = |name| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("Linux has it");
            line.trim().trim_end_matches(" kB").parse().expect("a number")
        };
        let files = std::fs::read_dir(format!("/proc/{process}/fd")).expect("Linux has it").count() as u64;
        Self { resident_kb: field("VmRSS:"), files, threads: field("Threads:") }
    }
}

/// Returns the median use in a third of the samples, counted from zero.
fn usual(samples: &[Usage], third: usize, of: impl Fn(&Usage) -> u64) -> u64 {
    let third = &samples[samples.len() * third / 3..samples.len() * (third + 1) / 3];
    let mut values: Vec<_> = third.iter().map(of).collect();
    values.sort_unstable();
    values[values.len() / 2]
}

fn assert_steady(who: &str, samples: &[Usage], slack_kb: u64) {
    let thirds = |of: fn(&Usage) -> u64| [0, 1, 2].map(|third| usual(samples, third, of));
    let (memory, files, threads) = (thirds(|at| at.resident_kb), thirds(|at| at.files), thirds(|at| at.threads));
    println!("{who}, in each third: {memory:?} kB, {files:?} files, {threads:?} threads");
    assert!(memory[2] <= memory[1] + slack_kb, "the memory of the {who} grows");
    assert!(files[2] <= files[1] + SLACK_FILES, "the open files of the {who} grow");
    assert!(threads[2] <= threads[1] + SLACK_FILES, "the threads of the {who} grow");
}

/// The process of the broadcast; it ends with its owner.
struct Sender {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Sender {
    /// Starts it, and returns how to receive from it.
    fn start(renditions: u64) -> (Self, ReceiverConfig) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_broadcast"));
        let mut child = command
            .args(["video", &format!("renditions={renditions}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut sender = Self { child, input, output };
        let line = sender.line();
        let (address, fingerprint) = line.split_once(' ').expect("two words");
        let config = pinned(address.parse().expect("an address"), fingerprint);
        (sender, config)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it runs");
        line.trim().to_owned()
    }

    /// Returns the receivers that it has, those that it has admitted so far, and its renditions.
    fn receivers(&mut self) -> [u64; 3] {
        writeln!(self.input).expect("it runs");
        let line = self.line();
        let mut numbers = line.split(' ').map(|number| number.parse().expect("a number"));
        std::array::from_fn(|_| numbers.next().expect("three numbers"))
    }

    fn usage(&self) -> Usage {
        Usage::of(self.child.id())
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Counts frames and drops them.
#[derive(Default)]
struct Count(u64);

impl FrameSink for Count {
    type Error = Infallible;

    fn handle_frame(&mut self, _frame: ReceivedFrame, _stats: ReceiveStats) -> Result<(), Infallible> {
        self.0 += 1;
        Ok(())
    }
}

/// Receives for this long, decoding or not; returns the received frames, or the shown pictures of a decoder.
async fn frames_within(config: ReceiverConfig, time: Duration, decodes: bool) -> Result<u64, Error> {
    if decodes {
        return Ok(count(config, Instant::now(), time).await?.last().received.shown);
    }
    let mut count = Count::default();
    receive(config, &mut count, tokio::time::sleep(time)).await?;
    Ok(count.0)
}

/// Receives for a while, over its own link with a recorded rate or at 100 kbit/s; returns whether a frame arrived. One
/// in four vanishes in the middle without a word.
async fn come_and_go(mut config: ReceiverConfig, number: u64) -> bool {
    let stay = Duration::from_millis(2000 + number * 7919 % 8000);
    let trace = match number % 5 {
        0 => Some(NORWAY_METRO),
        1 => Some(NORWAY_BUS),
        _ => None,
    };
    let link = trace.map(|trace| Link::recorded(trace).expect("a trace"));
    let _relay = match link {
        Some(link) => {
            let relay = Relay::start(config.address, link).await.expect("a free port");
            (config.address, config.max_bitrate) = (relay.address(), None);
            Some(relay)
        }
        None => None,
    };
    let receiving = frames_within(config, stay, number.is_multiple_of(DECODES_EVERY));
    if number.is_multiple_of(4) {
        return tokio::time::timeout(stay / 2, receiving).await.is_err();
    }
    // A receiver whose machine stalls for longer than its idle timeout does not count as served, and does not stop the
    // test.
    receiving.await.inspect_err(|error| println!("receiver {number}: {error}")).is_ok_and(|frames| frames > 0)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: see the first lines of this file"]
async fn nothing_grows_while_receivers_come_and_go() {
    let number = |name, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (seconds, renditions) = (number("NESTCAST_SOAK", 600), number("NESTCAST_SOAK_RENDITIONS", 1));
    let (began, time) = (Instant::now(), Duration::from_secs(seconds));
    let (mut sender, mut config) = Sender::start(renditions);
    config.max_bitrate = Some(Bitrate::from_bits(100_000));
    config.retry = Duration::from_secs(5);
    let idle = sender.usage();
    let mut receivers = JoinSet::new();
    let (mut number, mut served, mut told, mut most_renditions) = (0_u64, 0, 0, 0);
    let (mut sending, mut receiving) = (Vec::new(), Vec::new());
    let mut tick = tokio::time::interval(Duration::from_millis(500));
    while began.elapsed() < time {
        while receivers.len() < RECEIVER_COUNT {
            number += 1;
            receivers.spawn(come_and_go(config.clone(), number));
        }
        tokio::select! {
            Some(ended) = receivers.join_next() => served += u64::from(ended.expect("no panic")),
            _ = tick.tick() => {
                sending.push(sender.usage());
                receiving.push(Usage::of(std::process::id()));
            }
        }
        if began.elapsed().as_secs() / 10 > told {
            told = began.elapsed().as_secs() / 10;
            let ([now, accepted, renditions], sender) = (sender.receivers(), sender.usage());
            most_renditions = renditions.max(most_renditions);
            println!("{} s: {now} receivers, {accepted} so far, {renditions} loops; {sender:?}", told * 10);
        }
    }
    let each = usual(&sending, 2, |usage| usage.resident_kb).saturating_sub(idle.resident_kb) / RECEIVER_COUNT as u64;
    println!("{number} receivers, {served} served; {each} kB of the sender for each that is there");
    assert_steady("sender", &sending, SENDER_SLACK_KB);
    assert_steady("receivers", &receiving, RECEIVERS_SLACK_KB);
    assert!(each <= RECEIVER_KB, "a receiver takes {each} kB of the sender");
    // On a busy machine a short visit may end without a picture.
    assert!(served * 2 > number - RECEIVER_COUNT as u64, "{served} of {number} were served");
    assert!(renditions == 1 || most_renditions > 1, "its receivers are far apart");
    receivers.shutdown().await;
}
