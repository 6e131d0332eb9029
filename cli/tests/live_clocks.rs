//! Machines that sleep and clocks that are set, as `nestcast send` and `receive` see them.
#![cfg(target_os = "linux")]

use std::io::{BufRead as _, BufReader, Lines};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::Bench;
use crate::harness::faults::skip;
use crate::harness::live::{Sender, clip};

/// A library that sets a program's clocks back by the seconds that a file states: the monotonic clock, which stands
/// still while a machine sleeps, and the wall clock, which somebody may set.
const CLOCKS: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *time) {
    static volatile long *less;
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (!less) {
        int file = open(getenv("CLOCKS"), O_RDONLY);
        void *map = mmap(0, 16, PROT_READ, MAP_SHARED, file, 0);
        less = map == MAP_FAILED ? (volatile long[2]){0, 0} : map;
    }
    if (clock == CLOCK_MONOTONIC) time->tv_sec -= less[0];
    if (clock == CLOCK_REALTIME) time->tv_sec -= less[1];
    return result;
}
"#;

/// The clocks of one program.
struct Clocks {
    library: PathBuf,
    file: PathBuf,
}

impl Clocks {
    /// Makes clocks that show the right time; `None` without a C compiler.
    fn new(bench: &Bench, name: &str) -> Option<Self> {
        bench.write("clocks.c", CLOCKS.as_bytes());
        let clocks = Self { library: bench.path("clocks.so"), file: bench.path(name) };
        clocks.set(0, 0);
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-o"]).arg(&clocks.library).arg(bench.path("clocks.c"));
        compiler.status().is_ok_and(|status| status.success()).then_some(clocks)
    }

    /// Sets each clock back by its number of seconds. It writes in place, because the program has the file open.
    fn set(&self, even: i64, wall: i64) {
        use std::io::Write as _;
        let mut file =
            std::fs::OpenOptions::new().create(true).truncate(false).write(true).open(&self.file).expect("a file");
        file.write_all(&[even.to_ne_bytes(), wall.to_ne_bytes()].concat()).expect("it is written");
    }

    fn run<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("LD_PRELOAD", &self.library).env("CLOCKS", &self.file)
    }
}

/// A receiver that prints lines of JSON.
struct Receiver {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Receiver {
    fn start(bench: &Bench, sender: &Sender, clocks: Option<&Clocks>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nestcast"));
        command.args(sender.receive(&["-o", "frames", "--json"])).current_dir(bench.path(""));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(clocks) = clocks {
            clocks.run(&mut command);
        }
        let mut child = command.spawn().expect("the binary starts");
        let output = child.stdout.take().expect("it is piped");
        Self { child, lines: BufReader::new(output).lines() }
    }

    /// Waits for `count` frames; returns the latency of the last one, in milliseconds. Ends the program if they do not
    /// come.
    fn frames(&mut self, count: usize) -> f64 {
        let (done, is_done) = mpsc::channel::<()>();
        let pid = Pid::from_child(&self.child);
        let watchdog = std::thread::spawn(move || {
            if is_done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                kill_process(pid, Signal::KILL).expect("nobody waited for its end");
            }
        });
        let lines = self.lines.by_ref().map(|line| line.expect("text"));
        let frames = lines.filter(|line| line.contains("\"event\":\"frame\"")).take(count);
        let frames: Vec<String> = frames.collect();
        drop(done);
        watchdog.join().expect("no panic");
        assert_eq!(frames.len(), count, "frames come");
        let frame: serde_json::Value = serde_json::from_str(&frames[count - 1]).expect("JSON");
        frame["latency_ms"].as_f64().expect("a number")
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    /// Ends it; returns what it said.
    fn end(mut self) -> String {
        self.signal(Signal::INT);
        self.lines.by_ref().for_each(drop);
        let mut said = String::new();
        std::io::Read::read_to_string(&mut self.child.stderr.take().expect("it is piped"), &mut said).expect("text");
        assert!(self.child.wait().expect("it ends").success(), "{said}");
        said
    }
}

/// The time that frames have, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// Longer than either end waits for the other.
const LONG: Duration = Duration::from_secs(11);

#[test]
fn a_receiver_that_was_suspended_goes_on() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    let sender = Sender::start(&bench, &["clip.y4m", "--repeat"]);
    let mut receiver = Receiver::start(&bench, &sender, None);
    receiver.frames(5);
    receiver.signal(Signal::STOP);
    std::thread::sleep(LONG);
    receiver.signal(Signal::CONT);
    // More than waited in the pipe and in the socket.
    receiver.frames(200);
    let said = receiver.end();
    assert!(said.contains("broke: "), "{said}");
}

#[test]
fn a_sender_that_was_suspended_gets_its_receivers_back() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    let sender = Sender::start(&bench, &["clip.y4m", "--repeat"]);
    let mut receiver = Receiver::start(&bench, &sender, None);
    receiver.frames(5);
    let signal = |signal| kill_process(Pid::from_child(&sender.child), signal).expect("it runs");
    signal(Signal::STOP);
    std::thread::sleep(LONG);
    signal(Signal::CONT);
    receiver.frames(200);
    let said = receiver.end();
    assert!(said.contains("nothing came for too long; trying again"), "{said}");
}

/// While a machine sleeps its even clock stands still, so the receiver does not know that the sender gave it up.
#[test]
fn a_receiver_whose_machine_slept_is_told_at_once_that_its_connection_is_gone() {
    let bench = Bench::new();
    let Some(clocks) = Clocks::new(&bench, "clocks") else {
        return skip("a machine that sleeps", "there is no C compiler");
    };
    bench.write("clip.y4m", &clip(20));
    let sender = Sender::start(&bench, &["clip.y4m", "--repeat"]);
    let mut receiver = Receiver::start(&bench, &sender, Some(&clocks));
    receiver.frames(5);
    receiver.signal(Signal::STOP);
    std::thread::sleep(LONG);
    clocks.set(i64::try_from(LONG.as_secs()).expect("short"), 0);
    receiver.signal(Signal::CONT);
    receiver.frames(200);
    let said = receiver.end();
    assert!(said.contains("the sender does not know the connection any more"), "{said}");
}

#[test]
fn clocks_that_are_set_by_an_hour_move_nothing() {
    let bench = Bench::new();
    let Some(clocks) = Clocks::new(&bench, "clocks") else {
        return skip("clocks that are set", "there is no C compiler");
    };
    bench.write("clip.y4m", &clip(20));
    let sender = Sender::start(&bench, &["clip.y4m", "--repeat"]);
    let mut receiver = Receiver::start(&bench, &sender, Some(&clocks));
    receiver.frames(5);
    for back in [3600, -3600] {
        clocks.set(0, back);
        let latency = receiver.frames(60);
        assert!(latency < 60_000.0, "an hour would show, {latency} ms");
    }
    let said = receiver.end();
    assert!(!said.contains("broke"), "{said}");
}
