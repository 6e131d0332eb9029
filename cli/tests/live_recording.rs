//! Records a broadcast as a video, and keeps what arrived.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::harness::Bench;
use crate::harness::live::{Sender, certify, clip};

#[cfg(unix)]
#[test]
fn a_broadcast_is_recorded_as_a_video_that_is_there_when_it_ends() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    let sender = Sender::start(&bench, &["clip.y4m", "--repeat"]);
    let record = |name: &str, retry: &str| {
        let mut receiver = Command::new(env!("CARGO_BIN_EXE_nestcast"))
            .args(sender.receive(&["-o", name, "--json", "--retry", retry]))
            .current_dir(bench.path(""))
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let lines = BufReader::new(receiver.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
        (receiver, lines.filter(|line| line.contains("\"event\":\"frame\"")))
    };
    let frames = |name: &str| {
        let bytes = bench.read(name);
        let mut video = nestcast_media::y4m::Reader::new(&bytes[..], 10_000).expect("y4m");
        std::iter::from_fn(move || video.read().expect("frames")).count()
    };
    let (mut receiver, mut lines) = record("stopped.y4m", "0");
    assert_eq!(lines.by_ref().take(5).count(), 5);
    assert!(!bench.path("stopped.y4m").exists(), "it appears whole");
    // As `timeout` does, which signals its child and then its group: one request to end.
    let twice = format!("kill -INT {0} && kill -TERM {0}", receiver.id());
    assert!(Command::new("sh").args(["-c", &twice]).status().expect("there is a shell").success());
    assert!(receiver.wait().expect("it ends").success());
    let rest = lines.count();
    assert!(frames("stopped.y4m") >= 5 + rest, "each frame that was told of is there, and what was held between them");

    let (mut receiver, mut lines) = record("ended.y4m", "0");
    assert_eq!(lines.by_ref().take(5).count(), 5);
    drop(sender);
    receiver.wait().expect("it ends");
    assert!(frames("ended.y4m") >= 5, "what came is kept when the sender is gone");
    let left = bench.files().into_iter().filter(|(name, _)| name.contains(".nestcast-"));
    assert_eq!(left.count(), 0);
}

#[test]
fn a_recording_ends_where_a_sender_of_another_rate_takes_the_place_of_the_first() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    bench.write("slower.y4m", String::from_utf8_lossy(&clip(0)).replace("F30:1", "F25:1").as_bytes());
    let slower = [&bench.read("slower.y4m")[..], &clip(20)[clip(0).len()..]].concat();
    bench.write("slower.y4m", &slower);
    certify(&bench, "one.pem", "one.key");
    let certified = ["--repeat", "--cert", "one.pem", "--key", "one.key"];
    let first = Sender::start(&bench, &[&["clip.y4m"], &certified[..]].concat());
    let mut receiver = first.start_receiver(&bench, &["-o", "record.y4m", "--json", "--retry", "600"]);
    let mut lines = BufReader::new(receiver.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
    assert!(lines.by_ref().any(|line| line.contains("\"event\":\"frame\"")), "a frame comes");
    let address = first.address.clone();
    drop(first);
    let _second = Sender::start(&bench, &[&["slower.y4m", "--listen", &address], &certified[..]].concat());
    lines.for_each(drop);
    let ended = receiver.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr);
    let line = said.lines().last().expect("a line");
    assert!(ended.status.code() == Some(1) && line.contains("the video changed its frame rate"), "{said}");
    assert!(bench.read("record.y4m").starts_with(b"YUV4MPEG2 W32 H24 F30:1 "), "what came is kept");
}

#[test]
fn a_recording_goes_on_where_a_sender_of_other_bits_takes_the_place_of_the_first() {
    let bench = Bench::new();
    let video = |name: &str, format: &str, sample: &[u8]| {
        let frame = [b"FRAME\n", &sample.repeat(32 * 24 * 3 / 2)[..]].concat();
        let head = format!("YUV4MPEG2 W32 H24 F30:1 {format}\n");
        bench.write(name, &[head.as_bytes(), &frame.repeat(20)].concat());
    };
    video("ten.y4m", "C420p10", &[0x92, 1]);
    video("eight.y4m", "C420mpeg2", &[100]);
    certify(&bench, "one.pem", "one.key");
    let certified = ["--repeat", "--cert", "one.pem", "--key", "one.key"];
    for [before, after] in [["ten", "eight"], ["eight", "ten"]] {
        let names = [before, after].map(|name| format!("{name}.y4m"));
        let first = Sender::start(&bench, &[&[&names[0][..]], &certified[..]].concat());
        let mut receivers = ["y4m", "nst"].map(|kind| {
            first.start_receiver(&bench, &["-o", &format!("{before}.of.{kind}"), "--json", "--retry", "600"])
        });
        let mut lines = receivers
            .each_mut()
            .map(|receiver| BufReader::new(receiver.stdout.take().expect("it is piped")).lines().map_while(Result::ok));
        assert!(lines[0].any(|line| line.contains("\"event\":\"frame\"")), "a frame comes");
        let length = || std::fs::metadata(bench.path(&format!("{before}.of.nst"))).map_or(0, |file| file.len());
        while length() == 0 {
            std::thread::yield_now();
        }
        let address = first.address.clone();
        drop(first);
        let _second = Sender::start(&bench, &[&[&names[1][..], "--listen", &address], &certified[..]].concat());
        // What came of the first is on its way through the pipe still; the second's come without end.
        let frames = lines[0].by_ref().filter(|line| line.contains("\"event\":\"frame\""));
        assert_eq!(frames.take(40).count(), 40, "{before}");
        let kept = length();
        while length() == kept {
            let ended = receivers[1].try_wait().expect("it runs");
            assert!(ended.is_none(), "{before}: the stored video ended");
            std::thread::yield_now();
        }
        let told = receivers.map(|mut receiver| {
            receiver.kill().expect("it runs");
            String::from_utf8(receiver.wait_with_output().expect("it ends").stderr).expect("text")
        });
        let rounded = "the broadcast: it has 10 bits a sample: nestcast rounds them to 8";
        assert_eq!(told[0].contains(rounded), before == "eight", "{}", told[0]);
    }
}
