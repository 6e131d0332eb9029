//! Sound with the pictures, from a WAV file to a WAV file that is in step with the video.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::harness::Bench;
use crate::harness::live::Sender;

/// Samples in a second.
const RATE: usize = 48_000;

/// Makes two seconds of video that is bright in the first half of each second.
fn blinking() -> Vec<u8> {
    let mut video = b"YUV4MPEG2 W32 H24 F30:1 Cmono\n".to_vec();
    for frame in 0..60 {
        video.extend(b"FRAME\n");
        video.extend([if frame % 30 < 15 { 220 } else { 30 }; 32 * 24]);
    }
    video
}

/// Makes two seconds of a WAV with a tone in the first half of each second.
#[expect(clippy::cast_possible_truncation, reason = "samples of 16 bits")]
fn beeping() -> Vec<u8> {
    let sample = |at: usize| if at % RATE < RATE / 2 { ((at as f64 * 0.06).sin() * 12_000.0) as i16 } else { 0 };
    let samples: Vec<u8> = (0..2 * RATE).flat_map(|at| sample(at).to_le_bytes()).collect();
    let bytes = |number: usize| u32::try_from(number).expect("short").to_le_bytes();
    let format =
        [&1_u16.to_le_bytes()[..], &1_u16.to_le_bytes(), &bytes(RATE), &bytes(2 * RATE), &[2, 0, 16, 0]].concat();
    let parts = [&b"WAVEfmt "[..], &bytes(16), &format, b"data", &bytes(samples.len()), &samples].concat();
    [&b"RIFF"[..], &bytes(parts.len()), &parts].concat()
}

/// Returns the seconds at which something begins that was absent before.
pub(crate) fn begins(is_on: &[bool], rate: f64) -> Vec<f64> {
    let rises = is_on.windows(2).enumerate().filter(|(_, pair)| !pair[0] && pair[1]);
    rises.map(|(at, _)| (at + 1) as f64 / rate).collect()
}

/// Receives `count` frames to files after `first` of them and then `pause`; returns the seconds at which a picture gets
/// bright and a beep begins.
#[cfg(unix)]
fn seen_and_heard(bench: &Bench, sender: &Sender, first: usize, pause: impl Fn(), count: usize) -> Vec<(f64, f64)> {
    let mut receiver = Command::new(env!("CARGO_BIN_EXE_nestcast"))
        .args(sender.receive(&["-o", "seen.y4m", "--sound", "heard.wav", "--json"]))
        .current_dir(bench.path(""))
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut lines = BufReader::new(receiver.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
    let mut frames = |count| {
        let came = lines.by_ref().filter(|line| line.contains("\"event\":\"frame\"")).take(count).count();
        assert_eq!(came, count, "frames");
    };
    frames(first);
    pause();
    frames(count);
    signal("-INT", receiver.id());
    let last = lines.last().expect("the totals");
    assert!(receiver.wait().expect("it ends").success());
    let totals: serde_json::Value = serde_json::from_str(&last).expect("JSON");
    assert!(totals["sound_packets"].as_u64() > Some(200), "{last}");

    in_step(bench, "seen.y4m", "heard.wav")
}

/// Returns the seconds at which a picture of a video gets bright and a beep of a WAV begins, if both do at about the same
/// time.
pub(crate) fn in_step(bench: &Bench, video: &str, wav: &str) -> Vec<(f64, f64)> {
    let [seen, heard] = [begins(&lit(bench, video), 30.0), begins(&loud(bench, wav), 200.0)];
    let pairs: Vec<(f64, f64)> = seen
        .iter()
        .filter_map(|&seen| heard.iter().copied().find(|heard| (heard - seen).abs() < 0.3).map(|heard| (seen, heard)))
        .collect();
    println!("{pairs:?} of those seen at {seen:?} and heard at {heard:?}");
    pairs
}

/// Returns of each picture of a video whether it is bright.
pub(crate) fn lit(bench: &Bench, video: &str) -> Vec<bool> {
    let bytes = bench.read(video);
    let mut video = nestcast_media::y4m::Reader::new(&bytes[..], 10_000).expect("y4m");
    let mut bright = Vec::new();
    while let Some(picture) = video.read().expect("frames") {
        bright.push(picture.samples()[..32 * 24].iter().map(|sample| u64::from(*sample)).sum::<u64>() > 100 * 32 * 24);
    }
    bright
}

/// Returns of every 5 ms of a WAV with one channel whether they are loud.
pub(crate) fn loud(bench: &Bench, wav: &str) -> Vec<bool> {
    let wav = bench.read(wav);
    let samples: Vec<i16> = wav[44..].chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect();
    samples.chunks(240).map(|block| block.iter().any(|sample| sample.abs() > 6000)).collect()
}

#[cfg(unix)]
fn signal(name: &str, process: u32) {
    assert!(Command::new("kill").args([name, &process.to_string()]).status().expect("it runs").success());
}

#[cfg(unix)]
#[test]
fn a_beep_is_heard_when_its_picture_is_seen() {
    let bench = Bench::new();
    bench.write("blinking.y4m", &blinking());
    bench.write("beeping.wav", &beeping());
    let sender = Sender::start(&bench, &["blinking.y4m", "--repeat", "--sound", "beeping.wav"]);
    let pairs = seen_and_heard(&bench, &sender, 0, || (), 180);
    assert!(pairs.len() >= 3 && pairs.iter().all(|(seen, heard)| (seen - heard).abs() <= 0.04), "{pairs:?}");
}

#[cfg(unix)]
#[test]
fn pictures_and_sound_are_in_step_after_each_pause_of_the_sender() {
    let bench = Bench::new();
    bench.write("blinking.y4m", &blinking());
    bench.write("beeping.wav", &beeping());
    let sender = Sender::start(&bench, &["blinking.y4m", "--repeat", "--sound", "beeping.wav"]);
    let pause = || {
        for millis in [300, 700, 2000, 400, 150] {
            signal("-STOP", sender.child.id());
            sleep(Duration::from_millis(millis));
            signal("-CONT", sender.child.id());
            sleep(Duration::from_millis(310));
        }
    };
    let pairs = seen_and_heard(&bench, &sender, 30, pause, 240);
    let last = &pairs[pairs.len().saturating_sub(3)..];
    assert!(last.len() == 3 && last.iter().all(|(seen, heard)| (seen - heard).abs() <= 0.04), "{pairs:?}");
}

#[cfg(unix)]
#[test]
fn recordings_have_the_sound_and_are_sent_again_with_it() {
    let bench = Bench::new();
    bench.write("blinking.y4m", &blinking());
    bench.write("beeping.wav", &beeping());
    let arguments = ["blinking.y4m", "--repeat", "--sound", "beeping.wav", "--record", "sent.nst"];
    let mut sender = Sender::start(&bench, &arguments);
    let mut receiver = Command::new(env!("CARGO_BIN_EXE_nestcast"))
        .args(sender.receive(&["-o", "came.nst"]))
        .current_dir(bench.path(""))
        .spawn()
        .expect("the binary starts");
    while sender.line()["frames"].as_u64() < Some(200) {}
    signal("-INT", receiver.id());
    assert!(receiver.wait().expect("it ends").success());
    // Its recording breaks off.
    sender.child.kill().expect("it runs");
    sender.child.wait().expect("it ends");
    for name in ["sent", "came"] {
        let [film, video, wav] = ["nst", "y4m", "wav"].map(|kind| format!("{name}.{kind}"));
        bench.succeed(&["decode", &film, "-o", &video, "--sound", &wav]);
        let pairs = in_step(&bench, &video, &wav);
        assert!(
            pairs.len() >= 4 && pairs.iter().all(|(seen, heard)| (seen - heard).abs() <= 0.04),
            "{name}: {pairs:?}"
        );
    }
    bench.succeed(&["cut", "came.nst", "-o", "less.nst", "--bitrate", "50k"]);
    bench.succeed(&["decode", "less.nst", "-o", "less.y4m", "--sound", "less.wav"]);
    assert!(bench.read("less.wav") == bench.read("came.wav"), "a cut keeps the sound");
    let sender = Sender::start(&bench, &["came.nst", "--repeat"]);
    let pairs = seen_and_heard(&bench, &sender, 0, || (), 240);
    // The film may begin within a beep. When it begins again, that beep is heard without its beginning.
    let late: Vec<_> = pairs.iter().filter(|(seen, heard)| (seen - heard).abs() > 0.04).collect();
    let is_short = |(seen, heard): &&(f64, f64)| (0.0..0.25).contains(&(heard - seen));
    assert!(pairs.len() >= 3 && late.len() <= 1 && late.iter().all(is_short), "{pairs:?}");
    let output = bench.run(&["send", "came.nst", "--sound", "beeping.wav", "--listen", "127.0.0.1:0"], &[]);
    assert!(!output.status.success(), "it has its own");
    bench.succeed(&["encode", "blinking.y4m", "-o", "mute.nst"]);
    let output = bench.run(&["decode", "mute.nst", "-o", "mute.y4m", "--sound", "mute.wav"], &[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("mute.nst has no sound"), "{said}");
}

#[test]
fn a_receiver_that_asks_for_sound_is_told_that_there_is_none() {
    let bench = Bench::new();
    bench.write("blinking.y4m", &blinking());
    let sender = Sender::start(&bench, &["blinking.y4m", "--repeat"]);
    let mut receiver = Command::new(env!("CARGO_BIN_EXE_nestcast"))
        .args(sender.receive(&["-o", "seen.y4m", "--sound", "heard.wav"]))
        .current_dir(bench.path(""))
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut said = BufReader::new(receiver.stderr.take().expect("it is piped")).lines().map_while(Result::ok);
    assert!(said.any(|line| line.contains("note: the broadcast has no sound, so --sound writes nothing: ask")));
    receiver.kill().expect("it runs");
    receiver.wait().expect("it ends");
}

#[test]
fn what_is_no_sound_is_refused_and_sound_that_ends_does_not_end_the_broadcast() {
    let bench = Bench::new();
    bench.write("blinking.y4m", &blinking());
    let output = bench.run(&["send", "blinking.y4m", "--sound", "blinking.y4m"], &[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("neither WAV nor Ogg Opus"), "{said}");
    let output =
        bench.run(&["receive", "127.0.0.1:1", "--fingerprint", &"0".repeat(64), "-o", "-", "--sound", "-"], &[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("cannot both go to standard output"), "{said}");
    // A tenth of a second of sound, and two seconds of pictures.
    bench.write("short.raw", &[0; RATE / 10 * 2]);
    let arguments = ["blinking.y4m", "--sound", "short.raw", "--sound-raw", "48000:1"];
    let mut sender = Sender::start(&bench, &arguments);
    let (status, last, _) = sender.wait();
    assert!(status.success() && last["frames"].as_u64() > Some(30), "{last}");
}
