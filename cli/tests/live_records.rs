//! Keeps a broadcast as a stored video, at the sender and at a receiver, and broadcasts stored videos.

use std::io::Cursor;
use std::process::{Child, Command, Stdio};

use crate::harness::Bench;
use crate::harness::live::{Sender, clip, frames_due};
use nestcast_media::stored::Reader;

/// The frames of a stored video with their capture times, and whether it has its end.
fn frames(bytes: &[u8]) -> (Vec<(u64, Vec<u8>)>, bool) {
    let mut reader = Reader::new(Cursor::new(bytes), 10_000).expect("a stored video");
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().expect("whole records") {
        // A missing frame has no time.
        frames.extend(reader.captured().map(|captured| (captured, frame.to_vec())));
    }
    (frames, reader.is_whole())
}

fn receive(bench: &Bench, sender: &Sender, rest: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nestcast"));
    let command = command.args(sender.receive(rest)).current_dir(bench.path(""));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts")
}

#[test]
fn sender_and_receiver_keep_the_same_frames_each_as_far_as_it_has_them() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(60));
    let mut sender = Sender::start(&bench, &["clip.y4m", "--record", "sent.nst"]);
    let receiver = receive(&bench, &sender, &["-o", "came.nst"]);
    let (status, last, notes) = sender.wait();
    assert!(status.success(), "{notes}");
    let received = receiver.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&received.stderr);
    assert!(received.status.success() && said.contains("came.nst: ") && said.contains(" frames recorded"), "{said}");
    let [(sent, whole), (came, ended)] = ["sent.nst", "came.nst"].map(|name| frames(&bench.read(name)));
    assert!(whole && ended);
    let head = nestcast_codec::FrameHead::parse(&came[0].1).expect("a frame");
    assert!(head.is_some_and(|head| head.key), "a stored video begins with a frame that is predicted from nothing");
    assert_eq!(last["frames"].as_u64(), Some(sent.len() as u64), "{last}");
    assert!(sent.windows(2).all(|pair| pair[0].0 < pair[1].0), "capture times rise");
    let first = sent.iter().position(|frame| frame.0 == came[0].0).expect("both have its time");
    assert!(came.len() > 1 && came.len() <= sent.len() - first, "{} of {}", came.len(), sent.len());
    for (captured, bytes) in &came[1..] {
        let (_, all) = sent.iter().find(|frame| frame.0 == *captured).expect("both have its time");
        assert!(all.starts_with(bytes));
    }
    for name in ["sent.nst", "came.nst"] {
        let (said, notes) = bench.succeed(&["decode", name, "-o", &format!("{name}.y4m")]);
        // A sender on a busy machine leaves frames out.
        let lacks_frames = notes.ends_with("are missing or damaged: each shows the frame before it\n");
        assert!(said.contains("32x24") && (notes.is_empty() || lacks_frames), "{notes}");
    }
}

#[test]
fn a_recording_of_a_broadcast_that_was_killed_opens_and_lacks_less_than_a_second() {
    for lines in 1..4 {
        let bench = Bench::new();
        bench.write("clip.y4m", &clip(20));
        let mut sender = Sender::start(&bench, &["clip.y4m", "--repeat", "--record", "killed.nst"]);
        let told = (0..lines).map(|_| sender.line()["frames"].as_u64().expect("a number")).last().expect("a line");
        sender.child.kill().expect("it runs");
        sender.child.wait().expect("it ends");
        let (kept, whole) = frames(&bench.read("killed.nst"));
        assert!(!whole && kept.len() as u64 + 30 > told, "{} of {told} frames", kept.len());
        if told > 30 {
            let (_, notes) = bench.succeed(&["decode", "killed.nst", "-o", "killed.y4m"]);
            assert!(notes.contains("killed.nst: it breaks off"), "{notes}");
        }
    }
}

/// The capture times in microseconds of the last frame and the last packet of sound of a stored video; 0 without one.
#[cfg(unix)]
fn last_times(bytes: &[u8]) -> [u64; 2] {
    let mut reader = Reader::new(Cursor::new(bytes), 10_000).expect("a stored video");
    reader.begin_sound().expect("whole records");
    let [mut frame, mut sound] = [0; 2];
    loop {
        let next = reader.next_frame().expect("whole records");
        sound = reader.take_sound().map(|packet| packet.captured).fold(sound, u64::max);
        if next.is_none() {
            return [frame, sound];
        }
        frame = frame.max(reader.captured().unwrap_or_default());
    }
}

/// `cargo test --locked -p nestcast --test broadcasts -- --ignored --nocapture a_hundred` runs it and prints what the
/// recordings lack.
#[cfg(unix)]
#[test]
#[ignore = "takes five minutes"]
fn a_hundred_recordings_that_are_killed_at_random_lack_a_second_at_most() {
    use std::hash::{BuildHasher as _, Hasher as _};
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use rustix::process::{Pid, Signal, kill_process};

    let random = || std::collections::hash_map::RandomState::new().build_hasher().finish();
    let (mut greatest, mut heard, mut compared) = ([0; 2], 0, 0);
    for turn in 0..200 {
        if compared == 100 {
            break;
        }
        let bench = Bench::new();
        bench.write("clip.y4m", &clip(20));
        // It lasts as long as the longest turn.
        let tone = (0..5 * 48_000_u32).flat_map(|at| [0, (at / 64 % 2 * 40).to_le_bytes()[0]]);
        bench.write("tone.raw", &tone.collect::<Vec<_>>());
        let sound = ["--sound", "tone.raw", "--sound-raw", "48000:1"];
        let mut sender =
            Sender::start(&bench, &[&["clip.y4m", "--repeat", "--record", "killed.nst"], &sound[..]].concat());
        let receiver = receive(&bench, &sender, &["-o", "came.nst", "--retry", "0"]);
        let began = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_micros();
        let began = u64::try_from(began).expect("this century");
        std::thread::sleep(Duration::from_millis(500 + random() % 2500));
        sender.child.kill().expect("it runs");
        sender.child.wait().expect("it ends");
        kill_process(Pid::from_child(&receiver), Signal::INT).expect("it runs");
        let received = receiver.wait_with_output().expect("it ends");
        assert!(received.status.success(), "{received:?}");
        let kept = last_times(&bench.read("killed.nst"));
        if !bench.path("came.nst").exists() {
            println!("{turn}: killed before the receiver had a frame");
            continue;
        }
        compared += 1;
        let came = last_times(&bench.read("came.nst"));
        // A recording without a frame, or without sound, lacks all of it since the beginning.
        let lacks = [0, 1].map(|kind| came[kind].saturating_sub(kept[kind].max(began)) / 1000);
        println!("{turn}: the recording lacks {} ms of pictures and {} ms of sound", lacks[0], lacks[1]);
        assert!(lacks.iter().all(|lack| *lack <= 1000), "{kept:?} of {came:?}");
        greatest = [0, 1].map(|kind| greatest[kind].max(lacks[kind]));
        heard += usize::from(came[1] > 0);
        if kept[0] > 0 {
            let sound = ["--sound", "killed.wav"];
            let sound = if kept[1] > 0 { &sound[..] } else { &[] };
            bench.succeed(&[&["decode", "killed.nst", "-o", "killed.y4m"], sound].concat());
        }
    }
    assert!(compared == 100 && heard > 50, "{compared} receivers got frames, {heard} of them sound");
    println!("the most: {} ms of pictures, {} ms of sound", greatest[0], greatest[1]);
}

#[cfg(unix)]
#[test]
fn a_recording_that_finds_no_room_is_said_once_and_the_broadcast_goes_on() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(60));
    let arguments = ["send", "clip.y4m", "--listen", "127.0.0.1:0", "--record", "full.nst"];
    // Units of 512 bytes or 1 kB.
    let output = bench.shell(r#"ulimit -f 20; exec "$0" "$@""#, &arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(frames_due(&said), 60, "{said}");
    let lines: Vec<_> = said.lines().filter(|line| line.contains("full.nst")).collect();
    let (kept, whole) = frames(&bench.read("full.nst"));
    let expected = format!("full.nst: the recording ends after {} frames", kept.len());
    assert!(lines.len() == 1 && lines[0].contains(&expected) && lines[0].contains("the broadcast goes on"), "{said}");
    assert!(!whole && (1..60).contains(&kept.len()), "{}", kept.len());
}

#[test]
fn a_stored_video_is_broadcast_as_it_is_and_repeats() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(40));
    bench.succeed(&["encode", "clip.y4m", "-o", "film.nst", "--bitrates", "50k..1M"]);
    let film = bench.read("film.nst");
    let mut reader = Reader::new(Cursor::new(&film), 10_000).expect("a stored video");
    let stored: Vec<Vec<u8>> =
        std::iter::from_fn(|| reader.next_frame().expect("whole").map(|frame| frame.to_vec())).collect();
    let mut sender = Sender::start(&bench, &["film.nst", "--repeat", "--record", "again.nst"]);
    let mut receiver = receive(&bench, &sender, &["-o", "-"]);
    let mut video =
        nestcast_media::y4m::Reader::new(receiver.stdout.take().expect("it is piped"), 10_000).expect("y4m");
    for _ in 0..60 {
        assert!(video.read().expect("a frame").is_some());
    }
    receiver.kill().expect("it runs");
    receiver.wait().expect("it ends");
    while sender.line()["frames"].as_u64() < Some(45) {}
    sender.child.kill().expect("it runs");
    sender.child.wait().expect("it ends");
    let (again, _) = frames(&bench.read("again.nst"));
    assert!(again.len() > 40);
    for (number, (_, frame)) in again.iter().enumerate() {
        assert!(stored[number % 40].starts_with(frame), "frame {number}");
    }
}

#[test]
fn of_a_stored_video_that_breaks_off_the_whole_part_is_sent_and_a_note_says_so() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(9));
    bench.succeed(&["encode", "clip.y4m", "-o", "film.nst"]);
    let film = bench.read("film.nst");
    bench.write("film.nst", &film[..film.len() - 30]);
    let (_, notes) = bench.succeed(&["send", "film.nst", "--listen", "127.0.0.1:0"]);
    assert!(notes.contains("note: film.nst: it breaks off: nestcast sends 9 frames; get the video again"), "{notes}");
    assert!(notes.contains("note: 9 frames on air; 0 receivers served, 0 refused"), "{notes}");
    bench.write("empty.nst", &film[..26]);
    let said = bench.run(&["send", "empty.nst", "--listen", "127.0.0.1:0"], &[]);
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("empty.nst: it contains no whole frame: it breaks off: get the video again"), "{said}");
    assert!(!said.contains("receive with"), "it listens: {said}");
    bench.write("damaged.nst", b"no stored video");
    let said = bench.run(&["send", "damaged.nst", "--listen", "127.0.0.1:0"], &[]);
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("damaged.nst is no stored video, or a damaged one: get it again"), "{said}");
}

#[test]
fn recordings_and_stored_videos_that_cannot_be_are_refused() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(2));
    bench.succeed(&["encode", "clip.y4m", "-o", "film.nst"]);
    let refused = |arguments: &[&str]| {
        let before = bench.files();
        let said = crate::harness::refusal(arguments, &bench.run(arguments, &[]));
        assert!(before == bench.files(), "{arguments:?} changed a file");
        said
    };
    let send = |rest: &[&str]| refused(&[&["send", "--listen", "127.0.0.1:0"], rest].concat());
    let said = send(&["clip.y4m", "--record", "film.nst"]);
    assert!(said.contains("film.nst exists, and a recording replaces no file: name another"), "{said}");
    let said = send(&["clip.y4m", "--record", "record.mp4"]);
    assert!(said.contains("record.mp4"), "{said}");
    for option in [&["--effort", "fast"][..], &["--renditions", "2"], &["--matrix", "601"], &["--analysis", "deep"]] {
        let said = send(&[&["film.nst"], option].concat());
        assert!(said.contains("film.nst is encoded: leave them out"), "{said}");
    }
    let said = send(&["film.nst", "--rate", "5"]);
    assert!(said.contains("film.nst is a video and has its own rate"), "{said}");
    bench.write("picture.png", &crate::harness::png::rgb(8, 8));
    let said = send(&["picture.png", "--record", "record.nst"]);
    assert!(said.contains("a recording is a video") && said.contains("pictures"), "{said}");
    let said =
        refused(&["receive", "127.0.0.1:1", "--fingerprint", &"0".repeat(64), "-o", "a.nst", "--decoder", "deep"]);
    assert!(said.contains("--decoder deep"), "{said}");
    let said = refused(&["receive", "127.0.0.1:1", "--fingerprint", &"0".repeat(64), "-o", "film.nst"]);
    assert!(said.contains("film.nst exists"), "{said}");
}
