//! What `nestcast send` takes: standard input, pipes, folders of pictures; efforts, and sources that are too fast.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::harness::live::{Sender, clip};
use crate::harness::{Bench, NESTCAST, png, refusal};

#[test]
fn standard_input_that_ends_is_the_broadcasts_end() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_nestcast"))
        .args(["send", "-", "--listen", "127.0.0.1:0", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    child.stdin.take().expect("it is piped").write_all(&clip(5)).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
}

/// Makes grey waves of several lengths, which move by fractions of a sample.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 28 to 228")]
fn waves(frames: u8) -> Vec<u8> {
    let mut video = b"YUV4MPEG2 W96 H64 F10:1 Cmono\n".to_vec();
    for frame in 0..frames {
        video.extend(b"FRAME\n");
        let shift = 2.3 * f64::from(frame);
        let places = (0..64_u8).flat_map(|y| (0..96_u8).map(move |x| (f64::from(x), f64::from(y))));
        video.extend(places.map(|(x, y)| {
            let [long, short] = [(x - shift) / 7.0 + (y / 9.0).sin(), (x + y) / 3.1 - shift].map(f64::sin);
            (128.0 + 60.0 * long + 40.0 * short) as u8
        }));
    }
    video
}

#[test]
fn a_sender_takes_the_effort_that_it_is_told() {
    let bench = Bench::new();
    bench.write("clip.y4m", &waves(4));
    let sent = |effort: &[&str]| loop {
        let (status, figures, error) = Sender::start(&bench, &[&["clip.y4m"], effort].concat()).wait();
        assert!(status.success(), "{error}");
        // On a busy machine the sender may skip frames, which changes what others are predicted from.
        if figures["frames"] == 4 {
            break figures["encoded_bytes"].as_u64().expect("a number");
        }
    };
    let [realtime, fast, normal] = ["realtime", "fast", "normal"].map(|effort| sent(&["--effort", effort]));
    assert!(realtime != fast && fast != normal, "bytes");
    assert_eq!(sent(&[]), normal, "that of a small video");
    let said = bench.misuse(&["send", "clip.y4m", "--effort", "hasty"]);
    assert!(said.contains("'hasty'") && said.contains("realtime, fast, normal"), "{said}");
}

#[cfg(unix)]
#[test]
fn an_encoder_that_cannot_keep_up_is_spoken_of() {
    let bench = Bench::new();
    // A thousand frames arrive each second, and each needs longer than that to encode.
    let mut video = b"YUV4MPEG2 W640 H360 F1000:1 Cmono\n".to_vec();
    for frame in 0..4_u8 {
        video.extend(b"FRAME\n");
        video.extend((0..640 * 360_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24).to_le_bytes()[0] ^ (frame << 6)));
    }
    bench.write("clip.y4m", &video);
    let mut sender = Command::new(env!("CARGO_BIN_EXE_nestcast"))
        .args(["send", "clip.y4m", "--repeat", "--listen", "127.0.0.1:0"])
        .current_dir(bench.path(""))
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut lines = BufReader::new(sender.stderr.take().expect("it is piped")).lines().map(|line| line.expect("text"));
    let said = lines.by_ref().find(|line| line.contains("the encoder reaches")).expect("it is said");
    assert!(said.starts_with("nestcast: note: ") && said.contains("a smaller picture"), "{said}");
    let id = sender.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("there is a kill").success());
    let last = lines.last().expect("a summary");
    assert!(last.contains("skipped because the encoder was busy") && !last.contains(" 0 skipped"), "{last}");
    assert!(sender.wait().expect("it ends").success());
}

#[cfg(unix)]
#[test]
fn a_pipe_by_name_is_sent_from_its_first_byte_and_cannot_begin_again() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(3));
    bench.write("one.png", &png::rgb(64, 48));
    let send = |file: &str, rest: &str| {
        let script = format!(r#"mkfifo {file}.pipe; cat {file} > {file}.pipe & exec "$0" "$@" {rest}"#);
        bench.shell(&script, &["send", &format!("{file}.pipe"), "--listen", "127.0.0.1:0"])
    };
    let output = send("clip.y4m", "--json");
    assert!(output.status.success(), "{output:?}");
    let last = String::from_utf8(output.stdout).expect("text").lines().last().map(serde_json::from_str);
    let last: serde_json::Value = last.expect("figures").expect("JSON");
    assert_eq!(last["frames"].as_u64().zip(last["skipped"].as_u64()).map(|(made, skipped)| made + skipped), Some(3));
    bench.write("again.y4m", &clip(3));
    assert!(refusal(&[], &send("again.y4m", "--repeat")).contains("nestcast cannot start again.y4m.pipe again"));
    // A picture is sent without end: it is refused for what is looked at once it was read.
    assert!(
        refusal(&[], &send("one.png", "--effort fast"))
            .contains("--renditions, --effort, --matrix and --rewind are for videos")
    );
}

#[cfg(unix)]
#[test]
fn a_broken_picture_of_a_folder_is_named_once_and_the_one_before_stays() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("slides")).expect("a folder");
    let whole = png::rgb(64, 48);
    // Its size, and no row of its pixels.
    let data = &whole[..50];
    bench.write("slides/a.png", data);
    bench.write("slides/b.png", &whole);
    bench.write("slides/c.png", data);
    bench.write("slides/d.png", b"no picture");
    bench.write("slides/e.png", &png::of_samples(64, 48, &[90; 64 * 48 * 3]));
    let mut sender = Sender::start(&bench, &["slides", "--rate", "20", "--repeat"]);
    let mut receive = Command::new(env!("CARGO_BIN_EXE_nestcast"))
        .args(sender.receive(&["-o", "frames"]))
        .current_dir(bench.path(""))
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    // The frames cover more than one round of the folder.
    while std::fs::read_dir(bench.path("frames")).map_or(0, Iterator::count) < 3 {
        assert!(receive.try_wait().expect("it is a child").is_none(), "the receiver waits for pictures");
        assert!(sender.child.try_wait().expect("it is a child").is_none(), "the broadcast goes on");
        std::thread::sleep(Duration::from_millis(20));
    }
    for child in [&sender.child, &receive] {
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().expect("there is a kill").success());
    }
    let (status, _, said) = sender.wait();
    assert!(status.success(), "{said}");
    for name in ["a.png", "c.png", "d.png"] {
        assert_eq!(said.matches(name).count(), 1, "{said}");
    }
    assert!(
        said.lines().count() == 3 && said.lines().all(|line| line.starts_with("nestcast: note: left out")),
        "{said}"
    );
    let received = receive.wait_with_output().expect("it ends");
    let summary = String::from_utf8_lossy(&received.stdout).into_owned();
    assert!(
        received.status.success() && summary.starts_with("frames: ") && summary.contains(" pictures in "),
        "{summary}"
    );

    for name in ["slides/b.png", "slides/e.png"] {
        std::fs::remove_file(bench.path(name)).expect("it is there");
    }
    let output = bench.run(&["send", "slides", "--listen", "127.0.0.1:0"], &[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.lines().last().is_some_and(|line| line.contains("slides contains no picture that nestcast can read")),
        "{said}"
    );
}

#[cfg(unix)]
#[test]
fn of_several_sources_one_that_breaks_off_is_named_at_once_and_the_others_go_on() {
    let bench = Bench::new();
    let whole = clip(2);
    bench.write("gate.y4m", &whole[..whole.len() - 10]);
    let mut sender = Sender::start_with(&bench, &["cam1=-", "cam2=gate.y4m"], &clip(1));
    let mut said = BufReader::new(sender.child.stderr.take().expect("it is piped")).lines();
    let note = said.by_ref().map(|line| line.expect("text")).find(|line| line.contains("cam2")).expect("a note");
    assert!(note.starts_with("nestcast: note: the broadcast cam2 ended: ") && note.contains("gate.y4m"), "{note}");
    let receive = |name: &str| {
        let mut command = bench.command(NESTCAST);
        let place = format!("{}/{name}", sender.address);
        command.args(["receive", &place, "--fingerprint", &sender.fingerprint, "--decoder", "linear", "-o", "-"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts")
    };
    let output = receive("cam2").wait_with_output().expect("it ends");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && error.contains("the sender lost its source"), "{error}");
    let mut other = receive("cam1");
    let mut byte = [0];
    other.stdout.as_mut().expect("it is piped").read_exact(&mut byte).expect("a picture");
    drop(sender.child.stdin.take());
    let last = said.map(|line| line.expect("text")).last().expect("the error");
    assert!(last.starts_with("nestcast: ") && last.contains("gate.y4m"), "{last}");
    assert_eq!(sender.child.wait().expect("it ends").code(), Some(1));
    assert!(other.wait_with_output().expect("it ends").status.success(), "its broadcast is done");
}
