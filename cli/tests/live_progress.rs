//! The line that `send` rewrites on a terminal.
#![cfg(target_os = "linux")]

use std::io::Read as _;
use std::process::{Command, Stdio};

use crate::harness::live::{clip, frames_due};
use crate::harness::{Bench, NESTCAST};

const SEND: [&str; 5] = ["send", "clip.y4m", "--repeat", "--listen", "127.0.0.1:0"];

/// Reads from a command, as a terminal or a pipe shows it, until `is_enough`, and ends it.
fn shown(mut command: Command, is_enough: impl Fn(&str) -> bool) -> String {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut output = child.stdout.take().expect("it is piped");
    let (mut text, mut buffer) = (String::new(), [0; 4096]);
    while !is_enough(&text) {
        let count = output.read(&mut buffer).expect("it is read");
        assert!(count > 0, "it ended: {text}");
        text.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    text
}

/// By `script` of util-linux, which gives a program a terminal. Skipped where it is not installed.
#[test]
fn a_terminal_shows_one_line_of_what_the_sender_does_below_its_notes() {
    if let Err(error) = Command::new("script").arg("--version").output() {
        return crate::harness::faults::skip("a terminal", &format!("script: {error}"));
    }
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(30));
    let line = format!("stty cols 100; exec {NESTCAST} {}", SEND.join(" "));
    let mut terminal = bench.command("script");
    terminal.args(["--quiet", "--command", &line, "/dev/null"]).env("TERM", "xterm").env_remove("RUST_LOG");
    let text = shown(terminal, |text| text.matches(" on air, ").count() >= 2);
    let (notes, progress) = text.split_once("0:00:0").expect("a time");
    assert!(notes.contains("nestcast: note: receive with: nestcast receive 127.0.0.1:"), "{text:?}");
    assert!(progress.contains(" frames/s, 0 receivers, 0.0 Mbit/s, "), "{text:?}");
    assert!(!progress.contains('\n'), "it is written in place: {text:?}");
}

#[test]
fn a_pipe_gets_no_such_line() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(200));
    let (_, said) = bench.succeed(&["send", "clip.y4m", "--listen", "127.0.0.1:0"]);
    assert!(frames_due(&said) == 200 && !said.contains(" frames/s"), "{said}");
    assert!(said.lines().all(|line| line.starts_with("nestcast: ")), "{said}");
}
