//! Receivers per core: one sender that encodes nothing, and N receivers of 2 Mbit/s at 30 frames a second, or of a
//! stored video. With `--peers native,pages`, as many native receivers as pages in a browser, one after the other. With
//! `--sound`, each number of receivers without sound and with it, one after the other.
//!
//! The sender and the receivers are separate processes, so that the sender's processor time and memory are its own. The
//! time is what the kernel counted (`/proc/PID/stat`): other work on the machine makes a run longer, but not more
//! costly. Linux only.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::{Parser, Subcommand};
use nestcast_live_benches::{
    crowd::{self, Peers},
    process::{Usage, page_bytes},
    still_broadcast,
};
use serde::Serialize;

/// The program's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures what the sender costs for each receiver.
#[derive(Parser)]
struct Options {
    #[command(subcommand)]
    role: Option<Role>,
    /// Numbers of receivers, one run for each.
    #[arg(long, value_delimiter = ',', default_value = "1,10,100,500,1000")]
    counts: Vec<usize>,
    /// What the receivers are, one run for each.
    #[arg(long, value_delimiter = ',', default_value = "native")]
    peers: Vec<Peers>,
    /// Measured seconds of each run.
    #[arg(long, default_value_t = 8)]
    seconds: u64,
    /// Threads of the sender's network; a figure per core needs no more than one core.
    #[arg(long, default_value_t = 1)]
    workers: usize,
    /// Send this stored video, again and again, in place of frames of 2 Mbit/s.
    #[arg(long, value_name = "FILM.nst")]
    film: Option<PathBuf>,
    /// Do each run again with sound of 64 kbit/s.
    #[arg(long, conflicts_with_all = ["film", "peers"])]
    sound: bool,
    /// The table to write.
    #[arg(long, value_name = "OUT.csv")]
    csv: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Role {
    /// (a process of its own) Broadcasts
    Send {
        workers: usize,
        film: Option<PathBuf>,
        #[arg(long)]
        sound: bool,
    },
    /// (a process of its own) Receives and discards
    Receive {
        address: SocketAddr,
        count: usize,
        peers: Peers,
        #[arg(long)]
        sound: bool,
    },
}

/// One run.
#[derive(Debug, Serialize)]
struct Row {
    peers: &'static str,
    receivers: usize,
    seconds: f64,
    frames_per_second: f64,
    packets_per_second: f64,
    mbits_per_second: f64,
    sender_cpu_seconds: f64,
    cpu_microseconds_per_receiver_second: f64,
    receivers_per_core: f64,
    kilobytes_per_receiver: f64,
    receivers_cpu_seconds: f64,
}

fn main() -> Result<()> {
    let options = Options::parse();
    match &options.role {
        Some(Role::Send { workers, film, sound }) => still_broadcast::send(*workers, film.clone(), *sound),
        Some(Role::Receive { address, count, peers, sound }) => crowd::receive(*address, *count, *peers, *sound),
        None => measure(&options),
    }
}

fn measure(options: &Options) -> Result<()> {
    let mut rows = csv::Writer::from_writer(Vec::new());
    println!(" peers  receivers  frames/s  sound/s  Mbit/s  sender CPU s  us/receiver/s  receivers/core  kB/receiver");
    let sounds = if options.sound { &[false, true][..] } else { &[false] };
    let runs = options.counts.iter().flat_map(|count| options.peers.iter().map(move |peers| (count, peers)));
    for ((&count, &peers), &sound) in runs.flat_map(|run| sounds.iter().map(move |sound| (run, sound))) {
        let row = run(count, peers, sound, options)?;
        println!(
            "{:>6}  {:>9}  {:>8.1}  {:>7.1}  {:>6.2}  {:>12.2}  {:>13.0}  {:>14.0}  {:>11.0}",
            row.peers,
            row.receivers,
            row.frames_per_second,
            row.packets_per_second,
            row.mbits_per_second,
            row.sender_cpu_seconds,
            row.cpu_microseconds_per_receiver_second,
            row.receivers_per_core,
            row.kilobytes_per_receiver
        );
        rows.serialize(row)?;
    }
    if let Some(path) = &options.csv {
        std::fs::write(path, rows.into_inner()?)?;
    }
    Ok(())
}

fn run(count: usize, peers: Peers, sound: bool, options: &Options) -> Result<Row> {
    let film = options.film.iter().map(|film| film.as_os_str());
    let workers = options.workers.to_string();
    let sound = if sound { &["--sound"][..] } else { &[] };
    let hears = sound.iter().map(OsStr::new);
    let mut sender = Part::start(["send", &workers].into_iter().map(OsStr::new).chain(film).chain(hears.clone()))?;
    let address = sender.line()?;
    let before = Usage::of(sender.child.id())?;
    let number = count.to_string();
    let role = ["receive", &address, &number, peers.name()];
    let mut receivers = Part::start(role.into_iter().map(OsStr::new).chain(hears))?;
    ensure!(receivers.line()? == "ready", "the receivers did not all get a frame");
    std::thread::sleep(Duration::from_secs(2));

    let start = (Instant::now(), sender.usage()?, receivers.usage()?, receivers.count()?);
    std::thread::sleep(Duration::from_secs(options.seconds));
    let end = (Instant::now(), sender.usage()?, receivers.usage()?, receivers.count()?);
    let seconds = (end.0 - start.0).as_secs_f64();
    let [frames, packets, bytes] = [0, 1, 2].map(|at| (end.3[at] - start.3[at]) as f64);
    let cpu = (end.1.cpu - start.1.cpu).as_secs_f64();
    // Without receivers, the figures for each are of the frames alone.
    let receiver_seconds = count.max(1) as f64 * seconds;
    let grown = (end.1.resident.saturating_sub(before.resident) * page_bytes()) as f64;
    Ok(Row {
        peers: peers.name(),
        receivers: count,
        seconds,
        frames_per_second: frames / receiver_seconds,
        packets_per_second: packets / receiver_seconds,
        mbits_per_second: bytes * 8e-6 / receiver_seconds,
        sender_cpu_seconds: cpu,
        cpu_microseconds_per_receiver_second: cpu * 1e6 / receiver_seconds,
        receivers_per_core: receiver_seconds / cpu,
        kilobytes_per_receiver: grown / 1024.0 / count.max(1) as f64,
        receivers_cpu_seconds: (end.2.cpu - start.2.cpu).as_secs_f64(),
    })
}

/// A process with one role; it ends with its owner.
struct Part {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Part {
    fn start<'a>(role: impl IntoIterator<Item = &'a OsStr>) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(role).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let input = child.stdin.take().context("a pipe")?;
        let output = BufReader::new(child.stdout.take().context("a pipe")?);
        Ok(Self { child, input, output })
    }

    /// Returns the process's next line.
    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.output.read_line(&mut line)? > 0, "a process of the benchmark ended early");
        Ok(line.trim().to_owned())
    }

    /// Asks for the number of frames, of packets of sound, and of bytes received so far.
    fn count(&mut self) -> Result<[u64; 3]> {
        writeln!(self.input)?;
        let line = self.line()?;
        let numbers = line.split(' ').map(str::parse).collect::<Result<Vec<u64>, _>>()?;
        numbers.try_into().ok().context("three numbers")
    }

    fn usage(&self) -> Result<Usage> {
        Usage::of(self.child.id())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
