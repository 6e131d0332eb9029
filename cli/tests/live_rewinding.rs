//! Receivers that begin earlier in a live broadcast, or anywhere in a stored video.

use std::io::{BufRead as _, BufReader, Write as _};
#[cfg(unix)]
use std::process::Child;
use std::process::Stdio;

use crate::harness::live::{Sender, clip};
use crate::harness::{Bench, NESTCAST};

/// Receives until this number of frames came. Returns their numbers, and what is on standard error.
fn frames(bench: &Bench, sender: &Sender, options: &[&str], count: usize) -> (Vec<u64>, String) {
    use std::io::Read as _;

    let folder = options.concat();
    let mut receiver = bench
        .command(NESTCAST)
        .args(sender.receive(&[&["-o", &folder[2..], "--json"], options].concat()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let lines = BufReader::new(receiver.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
    let lines = lines.filter_map(|line| serde_json::from_str::<serde_json::Value>(&line).ok());
    let numbers = lines.filter(|line| line["event"] == "frame").filter_map(|line| line["id"].as_u64()).take(count);
    let numbers = numbers.collect();
    // It may have ended with the video.
    let _ = receiver.kill();
    let mut said = String::new();
    receiver.stderr.take().expect("it is piped").read_to_string(&mut said).expect("text");
    receiver.wait().expect("it ends");
    (numbers, said)
}

/// Waits until this number of frames was encoded, or skipped because the machine is busy.
fn encoded(sender: &mut Sender, count: u64) {
    let is_counted = |line: &serde_json::Value| line["frames"].as_u64().zip(line["skipped"].as_u64());
    while is_counted(&sender.line()).is_none_or(|(frames, skipped)| frames + skipped < count) {}
}

#[test]
fn a_receiver_begins_earlier_in_a_live_broadcast_and_at_most_as_early_as_it_is_kept() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(30));
    let mut sender = Sender::start(&bench, &["clip.y4m", "--repeat", "--rewind", "1h", "--web", "127.0.0.1:0"]);
    assert!(sender.web.ends_with("&rewind=1"), "{}", sender.web);
    encoded(&mut sender, 90);
    // Both count in the figures while they are there.
    let both = [&["-o", "live"][..], &["-o", "late", "--rewind", "2s"]].map(|options| {
        let mut receiver = bench.command(NESTCAST);
        receiver.args(sender.receive(options)).stderr(Stdio::null()).spawn().expect("the binary starts")
    });
    while sender.line()["receivers"].as_array().map_or(0, Vec::len) < 2 {}
    both.into_iter().for_each(|mut receiver| drop(receiver.kill().and_then(|()| receiver.wait())));
    encoded(&mut sender, 200);
    let (numbers, said) = frames(&bench, &sender, &["--rewind", "3s"], 20);
    let first = *numbers.first().expect("frames come");
    assert!(numbers.len() == 20 && numbers.is_sorted() && said.is_empty(), "{numbers:?}: {said}");
    // One that comes later begins now.
    let (now, _) = frames(&bench, &sender, &["--latency", "min"], 1);
    assert!(now[0] >= first + 90, "frame {first}, and then {}", now[0]);
    let (numbers, said) = frames(&bench, &sender, &["--rewind", "1h"], 3);
    assert!(numbers[0] < 90, "the oldest: {numbers:?}");
    assert!(said.contains("the sender keeps the last"), "{said}");
    let (_, said) = frames(&bench, &sender, &["--start", "3s"], 3);
    assert!(
        said.contains("the sender cannot begin at a time after the beginning: that is for a stored video"),
        "{said}"
    );
}

/// Runs a receiver from the oldest frame on, lets `ask` ask it to go to where all others are, and checks that it goes.
#[cfg(unix)]
fn goes_live(start: impl FnOnce(&Bench, &[&str]) -> Child, ask: impl FnOnce(&mut Child)) {
    /// Only turns a hang into a message.
    const PATIENCE: std::time::Duration = std::time::Duration::from_secs(120);

    let bench = Bench::new();
    bench.write("clip.y4m", &clip(30));
    let mut sender = Sender::start(&bench, &["clip.y4m", "--repeat", "--rewind", "1h"]);
    encoded(&mut sender, 200);
    let (now, _) = frames(&bench, &sender, &["--latency", "min"], 1);
    let mut receiver = start(&bench, &sender.receive(&["-o", "late", "--json", "--rewind", "1h"]));
    let lines = BufReader::new(receiver.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let lines = lines.filter_map(|line| serde_json::from_str::<serde_json::Value>(&line).ok());
        let numbers = lines.filter(|line| line["event"] == "frame").filter_map(|line| line["id"].as_u64());
        numbers.for_each(|number| tell.send(number).unwrap_or_default());
    });
    let next = || told.recv_timeout(PATIENCE).expect("frames come");
    let mut before = next();
    assert!(before + 100 < now[0], "it begins at frame {before}, where all others are at {now:?}");
    ask(&mut receiver);
    // A receiver that stays behind never leaves out as many frames at once, even on a slow machine.
    let jumped = (0..300).map(|_| next()).find(|number| number - std::mem::replace(&mut before, *number) >= 100);
    let _ = receiver.kill();
    receiver.wait().expect("it ends");
    assert!(jumped >= Some(now[0]), "it went to {jumped:?}, and was at frame {before}; all others at {now:?}");
}

#[cfg(unix)]
#[test]
fn a_receiver_that_is_behind_goes_where_all_others_are_when_it_is_told() {
    use rustix::process::{Pid, Signal, kill_process};

    let start = |bench: &Bench, arguments: &[&str]| {
        let mut receiver = bench.command(NESTCAST);
        receiver.args(arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the binary starts")
    };
    goes_live(start, |receiver| kill_process(Pid::from_child(receiver), Signal::USR1).expect("it runs"));
}

/// By `script` of util-linux, which gives a program a terminal and types what it reads. Skipped where it is not
/// installed.
#[cfg(target_os = "linux")]
#[test]
fn a_receiver_that_is_behind_goes_where_all_others_are_by_the_return_key() {
    if let Err(error) = std::process::Command::new("script").arg("--version").output() {
        return crate::harness::faults::skip("a terminal", &format!("script: {error}"));
    }
    let start = |bench: &Bench, arguments: &[&str]| {
        let line = [&[NESTCAST], arguments].concat().join(" ");
        let mut terminal = bench.command("script");
        terminal.args(["--quiet", "--command", &line, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        terminal.stderr(Stdio::null()).spawn().expect("it starts")
    };
    goes_live(start, |terminal| {
        terminal.stdin.as_mut().expect("it is piped").write_all(b"\n").expect("it reads");
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_receiver_goes_back_in_a_stored_video_by_a_key() {
    if let Err(error) = std::process::Command::new("script").arg("--version").output() {
        return crate::harness::faults::skip("a terminal", &format!("script: {error}"));
    }
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(240));
    bench.succeed(&["encode", "clip.y4m", "-o", "film.nst", "--effort", "realtime"]);
    let sender = Sender::start(&bench, &["film.nst", "--repeat"]);
    let receive = sender.receive(&["-o", "frames", "--json", "--start", "3s"]);
    let line = [&[NESTCAST], &receive[..]].concat().join(" ");
    let mut terminal = bench.command("script");
    terminal.args(["--quiet", "--command", &line, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut terminal = terminal.stderr(Stdio::null()).spawn().expect("it starts");
    let lines = BufReader::new(terminal.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
    let lines = lines.filter_map(|line| serde_json::from_str::<serde_json::Value>(&line).ok());
    let mut numbers = lines.filter(|line| line["event"] == "frame").filter_map(|line| line["id"].as_u64());
    assert!(numbers.next() >= Some(60), "it begins later");
    terminal.stdin.as_mut().expect("it is piped").write_all(b"-60\n").expect("it reads");
    // The video begins again after 180 frames.
    assert!(numbers.by_ref().take(150).any(|number| number < 60), "it goes to the beginning");
    terminal.kill().expect("it runs");
    terminal.wait().expect("it ends");
}

#[test]
fn a_receiver_begins_anywhere_in_a_stored_video_and_its_end_is_the_last_moment() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(150));
    let made = bench.run(&["encode", "clip.y4m", "-o", "film.nst", "--effort", "realtime"], &[]);
    assert!(made.status.success(), "{made:?}");
    let mut sender = Sender::start(&bench, &["film.nst", "--repeat", "--web", "127.0.0.1:0"]);
    assert!(sender.web.ends_with("&rewind=1"), "{}", sender.web);
    // The frames to begin with are 60 and 120, and the first.
    for (start, first) in [("4s", 120), ("3s", 60), ("1s", 0)] {
        let (numbers, said) = frames(&bench, &sender, &["--start", start], 20);
        assert_eq!((numbers.first(), said.as_str()), (Some(&first), ""), "{start}: {numbers:?}");
    }
    let (numbers, said) = frames(&bench, &sender, &["--start", "1h"], 3);
    assert!(
        numbers.first() == Some(&120) && said.contains("the latest beginning of this video is at 4s"),
        "{numbers:?}: {said}"
    );
    encoded(&mut sender, 60);
    let (numbers, said) = frames(&bench, &sender, &["--rewind", "10m"], 3);
    assert!(numbers.first() == Some(&0) && said.contains("the sender keeps the last"), "{numbers:?}: {said}");
    let said = bench.misuse(&["receive", "127.0.0.1:1", "-o", "-", "--start", "1m", "--rewind", "1m"]);
    assert!(said.contains("cannot be used with"), "{said}");
}

#[test]
fn a_recording_has_frames_to_begin_with_and_what_a_receiver_kept_begins_without_them() {
    use std::io::Cursor;

    let bench = Bench::new();
    bench.write("clip.y4m", &clip(250));
    let mut sender = Sender::start(&bench, &["clip.y4m", "--record", "sent.nst"]);
    let kept = bench.run(&sender.receive(&["-o", "kept.nst"]), &[]);
    assert!(kept.status.success() && sender.wait().0.success(), "{kept:?}");
    let begins = |name: &str| -> Vec<u64> {
        let mut reader = nestcast_media::stored::Reader::new(Cursor::new(bench.read(name)), 10_000).expect("a video");
        let positions = reader.positions().expect("it seeks");
        positions.iter().filter(|position| position.has_random_access()).map(|position| position.number).collect()
    };
    let sent = begins("sent.nst");
    assert!((2..=4).contains(&sent.len()) && sent.windows(2).all(|pair| pair[1] - pair[0] >= 55), "{sent:?}");
    assert!(begins("kept.nst").is_empty());
    for (name, start) in [("sent.nst", "5s"), ("kept.nst", "5")] {
        let sender = Sender::start(&bench, &[name, "--repeat"]);
        let (numbers, said) = frames(&bench, &sender, &["--start", start], 10);
        let first = *numbers.first().expect("frames come");
        let nearest = sent.iter().rfind(|begins| **begins <= 151).copied();
        assert!(said.is_empty() && (60..=152).contains(&first), "{name}: {numbers:?}: {said}");
        assert!(name == "kept.nst" || Some(first) == nearest, "{first} of {sent:?}");
    }
}

#[test]
fn a_receiver_that_is_behind_gets_the_rest_after_the_end_with_its_sound() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(120));
    let samples: Vec<u8> = (0..4 * 48_000_u32).flat_map(|at| [0, (at / 64 % 2 * 40).to_le_bytes()[0]]).collect();
    bench.write("sound.raw", &samples);
    let sound = ["--sound", "sound.raw", "--sound-raw", "48000:1"];
    let mut sender = Sender::start(&bench, &[&["clip.y4m", "--rewind", "1m"], &sound[..]].concat());
    encoded(&mut sender, 60);
    let received = bench.run(&sender.receive(&["-o", "came.nst", "--rewind", "1m"]), &[]);
    assert!(received.status.success(), "{received:?}");
    assert!(sender.wait().0.success(), "it ends after its last receiver");
    let decoded = bench.run(&["decode", "came.nst", "-o", "came.y4m", "--sound", "came.wav"], &[]);
    assert!(decoded.status.success(), "{decoded:?}");
    let bytes = bench.read("came.y4m");
    let mut came = nestcast_media::y4m::Reader::new(&bytes[..], 10_000).expect("y4m");
    let pictures = std::iter::from_fn(|| came.read().expect("frames")).count();
    assert!((100..=121).contains(&pictures), "{pictures} of 120");
    let seconds = (bench.read("came.wav").len() - 44) as f64 / 96_000.0;
    assert!((seconds - pictures as f64 / 30.0).abs() < 0.1, "{seconds} s of sound");
}

#[test]
fn a_source_that_breaks_off_is_reported_at_once_and_receivers_that_are_behind_learn_of_it() {
    let bench = Bench::new();
    let mut sender = Sender::start_with(&bench, &["-", "--rewind", "1m"], &clip(60));
    encoded(&mut sender, 60);
    let mut receiver = bench.command(NESTCAST);
    receiver.args(sender.receive(&["-o", "-", "--rewind", "1m"])).stdout(Stdio::null()).stderr(Stdio::piped());
    let receiver = receiver.spawn().expect("the binary starts");
    while sender.line()["receivers"].as_array().map_or(0, Vec::len) < 1 {}
    let mut input = sender.child.stdin.take().expect("it is piped");
    input.write_all(b"FRAME\nhalf of it").expect("it reads");
    drop(input);
    let received = receiver.wait_with_output().expect("it ends");
    let heard = String::from_utf8_lossy(&received.stderr).into_owned();
    assert!(received.status.code() == Some(1) && heard.contains("the sender lost its source"), "{heard}");
    let (status, _, said) = sender.wait();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!((status.code(), lines.len()), (Some(1), 2), "{said}");
    assert!(lines[0].contains("receivers that are behind get the rest") && lines[1].contains("frame 60"), "{said}");
}
