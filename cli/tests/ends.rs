//! How `nestcast send` and `nestcast receive` end, on signals and when pipes close, and how a receiver without a model
//! gets it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
#[cfg(unix)]
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

#[cfg(unix)]
use crate::harness::NESTCAST;
#[cfg(unix)]
use crate::harness::faults::{ending_signals, send};
use crate::harness::live::{Sender, clip};
use crate::harness::{Bench, png, samples};
use nestcast_models::Runtime;
use nestcast_models::runtime::LIBRARY_VARIABLE;
#[cfg(unix)]
use rustix::process::Signal;
use sha2::{Digest as _, Sha256};

/// Starts `nestcast` in the folder of `bench`, which is also its cache. The program then cannot see the user's cache,
/// where ONNX Runtime may be, so this names the library.
fn start(bench: &Bench, arguments: &[&str]) -> Child {
    let runtime = Runtime::open().ok();
    Command::new(env!("CARGO_BIN_EXE_nestcast"))
        .args(arguments)
        .envs(runtime.as_ref().map(|runtime| (LIBRARY_VARIABLE, runtime.library())))
        .current_dir(bench.path(""))
        .env("XDG_CACHE_HOME", bench.path("cache"))
        .env("HOME", bench.path("cache"))
        .env("LOCALAPPDATA", bench.path("cache"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts")
}

/// Returns the frame's number in a receiver's line, if there is one.
fn frame(line: &str) -> Option<u64> {
    serde_json::from_str::<serde_json::Value>(line).expect("JSON")["id"].as_u64()
}

#[cfg(unix)]
#[test]
fn a_signal_ends_a_broadcast_with_its_last_frame_and_a_closing_line() {
    for signal in ending_signals() {
        let bench = Bench::new();
        bench.write("clip.y4m", &clip(20));
        let mut sender = Sender::start(&bench, &["clip.y4m", "--repeat"]);
        let mut receiver = start(&bench, &sender.receive(&["-o", "frames", "--json"]));
        let mut lines = BufReader::new(receiver.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
        let fifth = lines.by_ref().filter_map(|line| frame(&line)).nth(4).expect("frames come");
        send(&sender.child, signal);
        let (status, last, error) = sender.wait();
        assert!(status.success() && error.is_empty(), "{signal:?}: {status}: {error}");
        let shown = lines.filter_map(|line| frame(&line)).last().unwrap_or(fifth);
        let [frames, skipped] = ["frames", "skipped"].map(|name| last[name].as_u64().expect("a number"));
        assert_eq!(shown, frames + skipped - 1, "the last frame: {last}");
        assert!(receiver.wait().expect("it ends").success(), "the broadcast's end is no error");
    }
}

#[cfg(unix)]
#[test]
fn a_signal_ends_a_recording_which_is_kept() {
    for signal in ending_signals() {
        let bench = Bench::new();
        bench.write("clip.y4m", &clip(20));
        let sender = Sender::start(&bench, &["clip.y4m", "--repeat"]);
        let mut receiver = start(&bench, &sender.receive(&["-o", "record.y4m", "--json"]));
        let mut lines = BufReader::new(receiver.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
        assert!(lines.by_ref().any(|line| frame(&line).is_some()), "a frame comes");
        send(&receiver, signal);
        lines.for_each(drop);
        let status = receiver.wait().expect("it ends");
        assert!(status.success(), "{signal:?}: {status}");
        assert!(bench.read("record.y4m").starts_with(b"YUV4MPEG2 W32 H24 F30:1 "));
        assert!(bench.temporary_files().is_empty());
    }
}

#[cfg(unix)]
#[test]
fn a_broadcast_goes_on_when_its_terminal_is_closed_if_it_is_told_to() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    let mut sender = bench
        .command("sh")
        .args(["-c", r#"trap '' HUP; exec "$0" "$@""#, NESTCAST, "send", "clip.y4m", "--repeat", "--json"])
        .args(["--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut lines = BufReader::new(sender.stdout.take().expect("it is piped")).lines();
    let mut next = || lines.next().expect("it goes on").expect("text");
    // The first two lines: it listens, and it broadcasts.
    let _ = [next(), next()];
    send(&sender, Signal::HUP);
    // The end alone would give only one more.
    let _ = [next(), next(), next()];
    send(&sender, Signal::TERM);
    lines.for_each(drop);
    assert!(sender.wait().expect("it ends").success());
}

#[cfg(unix)]
#[test]
fn a_second_signal_ends_a_receiver_whose_output_nobody_reads() {
    let bench = Bench::new();
    // One frame is larger than a pipe's buffer.
    let frame = [&b"FRAME\n"[..], &[90; 640 * 480]].concat();
    bench.write("clip.y4m", &[&b"YUV4MPEG2 W640 H480 F30:1 Cmono\n"[..], &frame].concat());
    let sender = Sender::start(&bench, &["clip.y4m", "--repeat"]);
    let end = |mut receiver: Child| {
        // The receiver handles the first signal and waits for the output. A signal at once after it is the same request.
        send(&receiver, Signal::INT);
        let status = loop {
            std::thread::sleep(std::time::Duration::from_millis(50));
            send(&receiver, Signal::TERM);
            if let Some(status) = receiver.try_wait().expect("it is a child") {
                break status;
            }
        };
        assert!(status.signal().is_some(), "{status}");
    };
    let mut receiver = start(&bench, &sender.receive(&["-o", "-"]));
    receiver.stdout.as_mut().expect("it is piped").read_exact(&mut [0]).expect("a video comes");
    end(receiver);

    let [_unread, lines] = bench.pipe("lines");
    bench.fill("lines");
    let mut command = bench.command(NESTCAST);
    command.args(sender.receive(&["-o", "record.y4m", "--json"])).stdin(Stdio::null()).stdout(lines);
    let mut receiver = command.spawn().expect("the binary starts");
    assert!(bench.wait_for_unfinished(&mut receiver, 1), "a recording is begun");
    end(receiver);
    assert!(bench.temporary_files().is_empty() && !bench.path("record.y4m").exists());
}

#[cfg(unix)]
#[test]
fn a_broadcast_whose_figures_nobody_reads_goes_on_and_ends() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    let [figures, written] = bench.pipe("figures");
    let mut figures = BufReader::new(figures);
    let mut command = bench.command(NESTCAST);
    command.args(["send", "clip.y4m", "--repeat", "--json", "--listen", "127.0.0.1:0"]).stdout(written);
    let mut sender = command.spawn().expect("the binary starts");
    drop(command);
    let mut line = String::new();
    figures.read_line(&mut line).expect("a line");
    let listening: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    let [address, fingerprint] = ["address", "fingerprint"].map(|name| listening[name].as_str().expect("text"));
    let receive = |folder: &str| {
        let fixed = ["receive", address, "--fingerprint", fingerprint, "--decoder", "linear"];
        let mut receiver = start(&bench, &[&fixed[..], &["-o", folder, "--json"]].concat());
        let lines = BufReader::new(receiver.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
        (receiver, lines)
    };
    let (mut first, mut lines) = receive("first");
    let seen = lines.by_ref().find_map(|line| frame(&line)).expect("frames come");
    bench.fill("figures");
    // At 30 frames a second: the sender should print figures in this time.
    assert!(lines.by_ref().filter_map(|line| frame(&line)).any(|id| id > seen + 75), "frames come");
    let (mut second, mut others) = receive("second");
    assert!(others.by_ref().any(|line| frame(&line).is_some()), "another one is admitted");
    send(&sender, Signal::TERM);
    lines.chain(others).for_each(drop);
    assert!([&mut first, &mut second].iter_mut().all(|receiver| receiver.wait().expect("it ends").success()));
    let told = figures.lines().map(|line| line.expect("text")).filter(|line| !line.is_empty());
    let last = told.map(|line| serde_json::from_str::<serde_json::Value>(&line).expect("JSON")).last();
    assert_eq!(last.expect("figures")["accepted"], 2);
    assert!(sender.wait().expect("it ends").success());
}

#[cfg(unix)]
#[test]
fn a_recording_that_would_be_too_large_keeps_the_frames_before_that() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    let sender = Sender::start(&bench, &["clip.y4m", "--repeat"]);
    // Units of 512 bytes or 1 kB.
    let output = bench.shell(r#"ulimit -f 20; exec "$0" "$@""#, &sender.receive(&["-o", "record.y4m"]));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("record.y4m cannot be written") && said.contains("nestcast keeps the video of the "),
        "{said}"
    );
    assert!(bench.temporary_files().is_empty());
    let record = bench.read("record.y4m");
    let mut video = nestcast_media::y4m::Reader::new(&record[..], 10_000).expect("y4m");
    let frames = std::iter::from_fn(|| video.read().expect("whole frames")).count();
    assert!(frames > 1 && said.contains(&format!("of the {frames} frames")), "{frames}: {said}");
}

#[test]
fn a_pipe_that_breaks_off_inside_a_frame_is_said_in_one_line() {
    let bench = Bench::new();
    let video = clip(8);
    let mut sender = Sender::start_with(&bench, &["-"], &video[..video.len() - 100]);
    drop(sender.child.stdin.take());
    let (status, last, error) = sender.wait();
    assert_eq!(status.code(), Some(1), "{error}");
    assert!(error.contains("standard input") && error.contains("breaks off inside frame 7"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(last["frames"].as_u64().is_some_and(|frames| frames > 0), "what was whole was sent: {last}");
}

/// Lets a receiver see a frame from `sender`, gives the sender `rest` of its input and closes that. Returns both ends'
/// exit status, their messages on standard error, the sender's count of sources that broke off, and the number of kept
/// frames.
fn end_with(bench: &Bench, mut sender: Sender, rest: &[u8]) -> ([Option<i32>; 2], [String; 2], u64, usize) {
    let mut receiver = start(bench, &sender.receive(&["-o", "frames", "--json"]));
    let mut lines = BufReader::new(receiver.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
    assert!(lines.by_ref().any(|line| frame(&line).is_some()), "a frame comes");
    let mut input = sender.child.stdin.take().expect("it is piped");
    // A sender that reads a file does not read this.
    let _ = input.write_all(rest);
    drop(input);
    lines.for_each(drop);
    let (status, last, said) = sender.wait();
    let received = receiver.wait_with_output().expect("it ends");
    let failures = last["source_failures"].as_u64().expect("a number");
    let kept = std::fs::read_dir(bench.path("frames")).expect("a folder").count();
    let heard = String::from_utf8_lossy(&received.stderr).into_owned();
    ([status.code(), received.status.code()], [said, heard], failures, kept)
}

#[test]
fn receivers_are_told_that_a_source_broke_off() {
    let (whole, other) = (clip(20), clip(1));
    let header = other.iter().position(|&byte| byte == b'\n').expect("a line") + 1;
    let wider = [b"YUV4MPEG2 W40 H24 F30:1 Cmono\nFRAME\n".as_slice(), &[7; 40 * 24]].concat();
    let cut = &other[header..other.len() - 100];
    for (rest, part) in [(cut, "breaks off inside frame 20"), (&wider, "check whether the video changes its size")] {
        let bench = Bench::new();
        let sender = Sender::start_with(&bench, &["-"], &whole);
        let (statuses, [said, heard], failures, kept) = end_with(&bench, sender, rest);
        assert_eq!((statuses, failures), ([Some(1), Some(1)], 1), "{said}{heard}");
        assert!(said.contains(part) && said.lines().count() == 1, "{said}");
        assert!(heard.contains("lost its source") && heard.lines().count() == 1, "{heard}");
        assert!(kept > 0, "what came is kept");
    }

    let bench = Bench::new();
    // A file plays even without receivers: 15 s leave a receiver on a busy machine time to connect.
    let video = String::from_utf8_lossy(&clip(0)).replace("F30:1", "F12:1").into_bytes();
    let video = [&video[..], &clip(180)[video.len()..]].concat();
    bench.write("clip.y4m", &video[..video.len() - 100]);
    let (statuses, [said, heard], failures, kept) = end_with(&bench, Sender::start(&bench, &["clip.y4m"]), &[]);
    assert_eq!((statuses, failures), ([Some(1), Some(1)], 1), "{said}{heard}");
    assert!(said.contains("clip.y4m") && said.contains("breaks off inside frame 179"), "{said}");
    assert!(heard.contains("lost its source") && kept > 0, "{heard}");
}

#[test]
fn standard_input_that_closes_between_two_frames_ends_a_broadcast_well() {
    let bench = Bench::new();
    let sender = Sender::start_with(&bench, &["-"], &clip(20));
    let header = b"YUV4MPEG2 W32 H24 F30:1 Cmono\n".len();
    let (statuses, said, failures, kept) = end_with(&bench, sender, &clip(5)[header..]);
    assert_eq!((statuses, failures), ([Some(0), Some(0)], 0), "{said:?}");
    assert!(said.iter().all(String::is_empty) && kept > 0, "{said:?}");
}

#[test]
fn a_player_that_is_closed_ends_the_receiver_with_one_line() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    let sender = Sender::start(&bench, &["clip.y4m", "--repeat"]);
    let mut receiver = start(&bench, &sender.receive(&["-o", "-"]));
    let mut output = receiver.stdout.take().expect("it is piped");
    output.read_exact(&mut [0; 2000]).expect("a video comes");
    drop(output);
    let ended = receiver.wait_with_output().expect("it ends");
    let error = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{error}");
    let [connected, closed] = error.lines().collect::<Vec<_>>()[..] else { panic!("{error}") };
    assert!(connected.contains("note: connected: "), "{error}");
    assert!(closed.contains("note: what reads standard output has closed it"), "{error}");
}

/// Makes a package that no program contains: `photo` with one file altered.
fn other_package(bench: &Bench, file: &str, alter: impl Fn(&Path, &mut Vec<u8>)) {
    let artifacts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/artifacts/photo");
    std::fs::create_dir_all(bench.path("other/golden")).expect("a folder");
    let mut manifest = std::fs::read_to_string(artifacts.join("manifest.toml")).expect("it is there");
    let files: Vec<String> =
        manifest.lines().filter_map(|line| line.strip_prefix('"')?.split('"').next()).map(str::to_owned).collect();
    for name in files {
        let mut bytes = match name.as_str() {
            "tables.bin" => nestcast_codec::tables::PHOTO.to_vec(),
            _ => std::fs::read(artifacts.join(&name)).expect("the manifest names it"),
        };
        if name == file {
            let hash =
                |bytes: &[u8]| Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            let before = hash(&bytes);
            alter(&artifacts, &mut bytes);
            manifest = manifest.replace(&before, &hash(&bytes));
        }
        bench.write(&format!("other/{name}"), &bytes);
    }
    bench.write("other/manifest.toml", manifest.as_bytes());
}

/// Makes other tables: the lowest bit of the first unit's step differs.
fn other_tables(bench: &Bench) {
    other_package(bench, "tables.bin", |_, bytes| bytes[464] ^= 1);
}

/// Makes the tables of `photo` with another synthesis.
fn other_networks(bench: &Bench) {
    other_package(bench, "synthesis-0.onnx", |photo, bytes| {
        *bytes = std::fs::read(photo.with_file_name("photo-ssim").join("synthesis-0.onnx")).expect("it is there");
    });
}

/// Runs a receiver that is refused before its first frame, and returns its one line.
fn refused(bench: &Bench, sender: &Sender, arguments: &[&str]) -> String {
    let ended = start(bench, &sender.receive(arguments)).wait_with_output().expect("it ends");
    let error = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!((ended.status.code(), error.lines().count()), (Some(1), 1), "{error}");
    error
}

/// Receives five frames and leaves.
fn five_frames(bench: &Bench, sender: &Sender, arguments: &[&str]) {
    let mut receiver = start(bench, &sender.receive(&[arguments, &["--json"]].concat()));
    let lines = BufReader::new(receiver.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
    assert_eq!(lines.filter_map(|line| frame(&line)).take(5).count(), 5, "{arguments:?}");
    receiver.kill().expect("it runs");
    receiver.wait().expect("it ends");
}

/// Makes a folder whose pictures alternate, because a picture that stays is sent only once.
fn two_pictures(bench: &Bench) {
    std::fs::create_dir(bench.path("p")).expect("a new folder");
    bench.write("p/a.png", &png::rgb(32, 24));
    let backwards: Vec<u8> = samples(32, 24).into_iter().rev().collect();
    bench.write("p/b.png", &png::of_samples(32, 24, &backwards));
}

#[test]
fn a_receiver_fetches_a_model_that_it_lacks_once_unless_it_may_not() {
    let bench = Bench::new();
    two_pictures(&bench);
    other_tables(&bench);
    let sender = Sender::start(&bench, &["p", "--repeat", "--rate", "30", "--model", "other", "--analysis", "linear"]);
    let error = refused(&bench, &sender, &["-o", "none", "--no-fetch-model"]);
    assert!(error.contains("model") && error.contains("--model"), "{error}");
    // The second receiver finds what the first one stored.
    for (folder, rest) in [("first", &[][..]), ("second", &["--no-fetch-model"])] {
        five_frames(&bench, &sender, &[&["-o", folder], rest].concat());
    }
}

#[test]
fn other_networks_are_another_package_and_only_those_who_run_networks_need_it() {
    let bench = Bench::new();
    two_pictures(&bench);
    other_networks(&bench);
    let sender = Sender::start(&bench, &["p", "--repeat", "--rate", "30", "--model", "other", "--analysis", "linear"]);
    let error = refused(&bench, &sender, &["-o", "none", "--decoder", "deep", "--no-fetch-model"]);
    assert!(error.contains("model package") && error.contains("--model"), "{error}");
    five_frames(&bench, &sender, &["-o", "linear", "--no-fetch-model"]);
    five_frames(&bench, &sender, &["-o", "named", "--decoder", "deep", "--no-fetch-model", "--model", "other"]);
    five_frames(&bench, &sender, &["-o", "fetched", "--decoder", "deep"]);
    let kept = std::fs::read_dir(bench.path("cache/nestcast/models")).map(Iterator::count);
    // On Linux the program's cache is inside the folder.
    assert!(!cfg!(target_os = "linux") || kept.is_ok_and(|kept| kept == 1));

    // A broadcast of `photo` does not use the fetched package.
    let photo = Sender::start(&bench, &["p", "--repeat", "--rate", "30", "--analysis", "linear"]);
    five_frames(&bench, &photo, &["-o", "photo", "--decoder", "deep", "--no-fetch-model"]);
}

#[test]
fn video_is_shown_through_its_network_if_that_is_asked_for() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    let sender = Sender::start(&bench, &["clip.y4m", "--repeat"]);
    five_frames(&bench, &sender, &["-o", "deep", "--decoder", "deep"]);
}

#[test]
fn a_receiver_has_every_model_that_is_built_in() {
    let bench = Bench::new();
    two_pictures(&bench);
    let sender =
        Sender::start(&bench, &["p", "--repeat", "--rate", "30", "--model", "photo-ssim", "--analysis", "linear"]);
    let mut receiver = start(&bench, &sender.receive(&["-o", "frames", "--json", "--no-fetch-model"]));
    let lines = BufReader::new(receiver.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
    assert_eq!(lines.filter_map(|line| frame(&line)).take(3).count(), 3);
    receiver.kill().expect("it runs");
    receiver.wait().expect("it ends");
}
