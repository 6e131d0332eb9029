//! `nestcast send` and `nestcast receive` as programs: a clip over loopback, and their refusals.

mod harness;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpStream, UdpSocket};
#[cfg(unix)]
use std::process::Child;
use std::process::{ChildStdout, Command, Stdio};
use std::time::Duration;

use harness::live::{Sender, certify, clip};
use harness::{Bench, NESTCAST, png, refusal};
use nestcast_codec::{Format, Picture, Ycbcr};

#[test]
fn a_clip_arrives_as_video_that_a_player_reads() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    let sender = Sender::start(&bench, &["clip.y4m", "--repeat"]);
    let mut receiver = Command::new(env!("CARGO_BIN_EXE_nestcast"))
        .args(["receive", &sender.address, "--fingerprint", &sender.fingerprint, "-o", "-", "--json"])
        // Video needs no library.
        .env("ORT_DYLIB_PATH", bench.path("no-such-library"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let output = receiver.stdout.take().expect("it is piped");
    let mut video = nestcast_media::y4m::Reader::new(output, 10_000).expect("y4m");
    assert_eq!((video.size().width(), video.rate().frames()), (32, 30));
    for _ in 0..10 {
        assert!(video.read().expect("a frame").is_some());
    }
    let mut line = String::new();
    BufReader::new(receiver.stderr.as_mut().expect("it is piped")).read_line(&mut line).expect("text");
    let frame: serde_json::Value = serde_json::from_str(&line).expect("lines for programs are on standard output");
    assert_eq!(frame["event"], "frame", "{line}");
    if cfg!(all(feature = "metrics", feature = "qlog")) {
        tells_its_figures(&bench, &sender);
    }
    receiver.kill().expect("it runs");
    receiver.wait().expect("it ends");
}

#[test]
fn a_broadcast_that_nobody_saw_says_how_to_begin_it_again() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(1));
    let (_, notes) = bench.succeed(&["send", "clip.y4m", "--listen", "0.0.0.0:0"]);
    let lines: Vec<&str> = notes.lines().collect();
    assert!(lines[0].starts_with("nestcast: note: receive with: nestcast receive HOST:"), "{notes}");
    assert!(lines[1].starts_with("nestcast: note: 1 frame encoded, 0 skipped"), "{notes}");
    assert_eq!(lines[2..], ["nestcast: note: the source ended before anyone connected: --repeat starts it again"]);
    let (_, notes) = bench.succeed(&["send", "clip.y4m", "--listen", "127.0.0.1:0"]);
    assert!(notes.starts_with("nestcast: note: receive with: nestcast receive 127.0.0.1:"), "{notes}");
}

/// Receives into a folder, and waits until there is a picture.
#[cfg(unix)]
fn watch(bench: &Bench, sender: &Sender, folder: &str, rate: &str) -> Child {
    let arguments = sender.receive(&["-o", folder, "--max-bitrate", rate]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_nestcast"));
    let child = command.args(arguments).current_dir(bench.path("")).stdout(Stdio::null()).spawn();
    await_pictures(bench, folder, 1);
    child.expect("the binary starts")
}

/// Waits until `count` pictures are in the folder.
#[cfg(unix)]
fn await_pictures(bench: &Bench, folder: &str, count: usize) {
    while pictures(bench, folder) < count {
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(unix)]
fn pictures(bench: &Bench, folder: &str) -> usize {
    std::fs::read_dir(bench.path(folder)).map_or(0, Iterator::count)
}

#[cfg(unix)]
#[test]
fn receivers_far_apart_have_renditions_of_their_own_until_those_of_the_slowest_leave() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    let mut sender = Sender::start(&bench, &["clip.y4m", "--repeat", "--renditions", "2"]);
    let mut slow = watch(&bench, &sender, "slow", "50k");
    let mut fast = watch(&bench, &sender, "fast", "2M");
    let mut next = |renditions: u64| loop {
        let line = sender.line();
        if line["renditions"] == renditions
            && line["rendition_receivers"].as_object().is_some_and(|of| of.len() as u64 == renditions)
        {
            break line;
        }
    };
    let both = next(2);
    assert_eq!(both["rendition_receivers"], serde_json::json!({ "0": 1, "1": 1 }), "{both}");
    let of = |line: &serde_json::Value, at: usize| line["receivers"][at]["rendition"].as_u64();
    assert_eq!([of(&both, 0), of(&both, 1)], [Some(0), Some(1)], "{both}");
    let before = [pictures(&bench, "slow"), pictures(&bench, "fast")];
    await_pictures(&bench, "slow", before[0] + 5);
    await_pictures(&bench, "fast", before[1] + 5);
    let id = slow.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("there is a kill").success());
    assert!(slow.wait().expect("it ends").success());
    let one = next(1);
    assert_eq!((of(&one, 0), &one["rendition_receivers"]), (Some(1), &serde_json::json!({ "1": 1 })), "{one}");
    if cfg!(feature = "metrics") {
        let figures = get(&sender.metrics, "/metrics");
        let told = [
            "\nnestcast_renditions 1\n",
            "\nnestcast_rendition_receivers{rendition=\"1\"} 1\n",
            "\nnestcast_receiver_rendition{",
        ];
        assert!(told.iter().all(|line| figures.contains(line)), "{figures}");
    }
    await_pictures(&bench, "fast", pictures(&bench, "fast") + 5);
    fast.kill().expect("it runs");
    fast.wait().expect("it ends");
}

#[test]
fn a_clip_in_colours_comes_out_as_it_went_in() {
    let bench = Bench::new();
    let (width, height) = (33_u8, 25_u8);
    let luma = (0..height).flat_map(|y| (0..width).map(move |x| 40 + 3 * x + 2 * y));
    let blue = (0..13).flat_map(|y| (0..17).map(move |x| 100 + x + y));
    let red = (0..13).flat_map(|y| (0..17).map(move |x| 160 - x - 2 * y));
    let samples: Vec<u8> = luma.chain(blue).chain(red).collect();
    let mut video = format!("YUV4MPEG2 W{width} H{height} F30:1 C420\n").into_bytes();
    (0..20).for_each(|_| video.extend([&b"FRAME\n"[..], &samples].concat()));
    bench.write("clip.y4m", &video);
    let sender = Sender::start(&bench, &["clip.y4m", "--repeat"]);
    let mut receiver = Command::new(env!("CARGO_BIN_EXE_nestcast"))
        .args(sender.receive(&["-o", "-"]))
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let output = receiver.stdout.take().expect("it is piped");
    let mut video = nestcast_media::y4m::Reader::new(output, 10_000).expect("y4m");
    assert_eq!(video.format(), Format::Ycbcr420(Ycbcr::BT601));
    let mut picture = Picture::zero(video.size(), video.format());
    // Once the sender knows its receiver, whole pictures arrive.
    let near = |picture: &Picture| picture.samples().iter().zip(&samples).all(|(a, b)| a.abs_diff(*b) <= 3);
    while video.read_into(&mut picture).expect("a frame") && !near(&picture) {}
    assert!(near(&picture), "the video ended");
    receiver.kill().expect("it runs");
    receiver.wait().expect("it ends");
}

/// Checks the figures of a sender with one receiver.
fn tells_its_figures(bench: &Bench, sender: &Sender) {
    let figures = get(&sender.metrics, "/metrics");
    assert!(figures.starts_with("HTTP/1.1 200") && figures.contains("\nnestcast_receivers 1\n"), "{figures}");
    assert!(figures.contains("nestcast_receiver_bytes_total{receiver=\"127.0.0.1:"), "{figures}");
    assert!(figures.contains("openmetrics-text; version=1.0.0") && figures.ends_with("# EOF\n"), "{figures}");
    assert!(get(&sender.metrics, "/").starts_with("HTTP/1.1 404"));
    let logs = std::fs::read_dir(bench.path("logs")).expect("a folder").count();
    assert_eq!(logs, 1, "one connection");
}

/// Returns the answer of an HTTP server.
fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    answer
}

#[test]
fn a_receiver_that_is_refused_again_and_again_gives_up_with_one_line() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    let sender = Sender::start(&bench, &["clip.y4m", "--repeat", "--max-receivers", "1"]);
    let receive = |rest: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nestcast"));
        command.args(sender.receive(rest)).current_dir(bench.path("")).env("RUST_LOG", "error");
        command
    };
    let mut first = receive(&["-o", "-"]).stdout(Stdio::piped()).spawn().expect("the binary starts");
    let output = first.stdout.take().expect("it is piped");
    let mut video = nestcast_media::y4m::Reader::new(output, 10_000).expect("the first one is let in");
    assert!(video.read().expect("a frame").is_some());
    // Long enough for a second attempt even on a busy machine; without a log, each attempt is a note.
    let mut second = receive(&["-o", "second", "--retry", "4"]);
    let output = second.env_remove("RUST_LOG").output().expect("the binary starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let (notes, line) = said.trim_end().rsplit_once('\n').expect("two lines or more");
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        notes.lines().all(|note| note.starts_with("nestcast: note: ") && note.contains("; trying again in ")),
        "{said}"
    );
    assert!(line.contains("as many receivers as it takes; gave up after") && line.ends_with("try later"), "{line}");
    first.kill().expect("it runs");
    first.wait().expect("it ends");
}

#[test]
fn a_sender_that_is_not_there_is_looked_for_again_in_however_little_time() {
    let bench = Bench::new();
    // The socket receives packets and never answers.
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let address = silent.local_addr().expect("an address").to_string();
    let digits = "00".repeat(32);
    let arguments =
        ["receive", &address, "--fingerprint", &digits, "--decoder", "linear", "-o", "frames", "--retry", "2"];
    let output = bench.command(NESTCAST).args(arguments).env_remove("RUST_LOG").output().expect("the binary starts");
    let said = String::from_utf8(output.stderr).expect("text");
    let [note, line] = said.lines().collect::<Vec<_>>()[..] else { panic!("{said}") };
    assert!(note.starts_with("nestcast: note: ") && note.contains("is a sender there?; trying again in "), "{said}");
    assert!(line.contains("is a sender there?; gave up after 2 attempts"), "{said}");
}

#[cfg(feature = "metrics")]
#[test]
fn idle_connections_keep_nobody_from_the_metrics() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    let sender = Sender::start(&bench, &["clip.y4m", "--repeat"]);
    let connect = |_| TcpStream::connect(&sender.metrics).expect("it listens");
    let idle: Vec<_> = (0..1000).map(connect).collect();
    let figures = get(&sender.metrics, "/metrics");
    assert!(figures.starts_with("HTTP/1.1 200"), "{figures}");
    drop(idle);
}

#[test]
fn a_sender_serves_the_page_that_its_link_leads_to() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    bench.write("token", b"a&b\n");
    let sender = Sender::start(&bench, &["clip.y4m", "--repeat", "--web", "127.0.0.1:0", "--token-file", "token"]);
    let (page, fragment) = sender.web.split_once("/#").expect("a link with a fragment");
    let page = page.strip_prefix("http://").expect("without a certificate it is HTTP");
    let start = format!("src=https://{}/&fingerprint=", sender.address);
    let rest = fragment.strip_prefix(&*start).expect("the sender's address");
    let (hash, rest) = rest.split_at_checked(64).expect("a hash");
    assert!(hash != sender.fingerprint && hash.bytes().all(|digit| digit.is_ascii_hexdigit()), "{hash}");
    assert!(rest.starts_with("&expires=") && rest.ends_with("&token=a%26b"), "{rest}");
    let index = get(page, "/");
    assert!(index.starts_with("HTTP/1.1 200") && index.contains("<nestcast-player"), "{index}");
    for field in [
        "content-security-policy: default-src 'none'; script-src 'self' 'wasm-unsafe-eval';",
        "cross-origin-opener-policy: same-origin\r\n",
        "cross-origin-embedder-policy: require-corp\r\n",
        "content-type: text/html; charset=utf-8\r\n",
    ] {
        assert!(index.contains(field), "{field} of {index}");
    }
    assert!(get(page, "/player.js").contains("content-type: text/javascript"));
    assert!(get(page, "/../Cargo.toml").starts_with("HTTP/1.1 404"));
}

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
    assert!(last.contains("skipped for want of time") && !last.contains(" 0 skipped"), "{last}");
    assert!(sender.wait().expect("it ends").success());
}

#[test]
fn sources_that_cannot_be_sent_are_refused() {
    let bench = Bench::new();
    bench.write("broken.y4m", &clip(3)[..1500]);
    bench.write("deep.y4m", b"YUV4MPEG2 W32 H24 F30:1 C420p10\n");
    bench.write("large.y4m", b"YUV4MPEG2 W16000 H16000 F30:1 C420\n");
    for (source, part) in [
        ("none.y4m", "none.y4m"),
        ("broken.y4m", "breaks off inside frame 1"),
        ("deep.y4m", "420p10"),
        ("large.y4m", "raise --max-pixels"),
    ] {
        let arguments = ["send", source, "--listen", "127.0.0.1:0", "--json"];
        let output = bench.run(&arguments, &[]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && error.contains(part) && error.lines().count() == 1, "{error}");
    }
    bench.write("one.png", &png::rgb(64, 48));
    bench.write("clip.y4m", &clip(3));
    for (arguments, part) in [
        (["send", "one.png", "--effort", "fast"], "--renditions, --effort and --matrix are for videos"),
        (["send", "one.png", "--renditions", "2"], "--renditions, --effort and --matrix are for videos"),
        (["send", "clip.y4m", "--model", "photo"], "leave --model out"),
        (["send", "clip.y4m", "--rate", "5"], "leave it out"),
    ] {
        let line = refusal(&arguments, &bench.run(&arguments, &[]));
        assert!(line.contains(part), "{line}");
    }
    let arguments = ["send", "one.png", "--repeat"];
    assert!(refusal(&arguments, &bench.run(&arguments, &[])).contains("--repeat is for videos and folders"));
    let arguments = ["send", "-", "--listen", "127.0.0.1:0"];
    assert!(refusal(&arguments, &bench.run(&arguments, &[])).contains("empty"));
    for (option, part) in
        [(&["--repeat"][..], "nestcast cannot start standard input again"), (&["--rate", "5"], "leave it out")]
    {
        let arguments = [&arguments[..], option].concat();
        assert!(refusal(&arguments, &bench.run(&arguments, &clip(1))).contains(part), "{option:?}");
    }
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
        refusal(&[], &send("one.png", "--effort fast")).contains("--renditions, --effort and --matrix are for videos")
    );
}

#[test]
fn options_of_a_session_that_cannot_be_used_are_named_with_what_to_do() {
    let bench = Bench::new();
    bench.write("one.png", &png::rgb(64, 48));
    bench.write("words", b"neither a certificate nor a key");
    bench.write("cut.pem", b"-----BEGIN CERTIFICATE-----\nMIIB\n");
    bench.write("long", &[b'a'; 513]);
    certify(&bench, "one.pem", "one.key");
    certify(&bench, "other.pem", "other.key");
    let receive = ["receive", "127.0.0.1:9", "-o", "x", "--retry", "0", "--ca"];
    for (arguments, part) in [
        (&["send", "one.png", "--cert", "none", "--key", "none"][..], ": name a PEM file with the certificate"),
        (&["send", "one.png", "--cert", "words", "--key", "none"], "no certificate is in it: name a PEM file"),
        (&["send", "one.png", "--cert", "cut.pem", "--key", "none"], ": write or get it again"),
        (
            &["send", "one.png", "--listen", "127.0.0.1:0", "--cert", "one.pem", "--key", "other.key"],
            "the certificate and the private key do not belong together: name with --key the private key",
        ),
        (&["send", "one.png", "--token-file", "long"], ": write a shorter one into it"),
        (&[&receive[..], &["none"]].concat(), ": name a PEM file with certificates"),
        (&[&receive[..], &["words"]].concat(), "no certificate is in it: name a PEM file"),
        (&[&receive[..], &["cut.pem"]].concat(), ": get it again"),
    ] {
        let line = refusal(arguments, &bench.run(arguments, &[]));
        assert!(line.contains(part), "{line}");
    }
    for (option, value, part) in [
        ("--listen", "127.0.0.1", "give an IP address and a port"),
        ("--listen", "127.0.0.1:70000", "give an IP address and a port"),
        ("--max-receivers", "0", "give a whole number, 1 or more"),
        ("--max-receivers-per-address", "-1", "give a whole number, 1 or more"),
    ] {
        let output = bench.run(&["send", "one.png", &format!("{option}={value}")], &[]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && error.contains(part), "{error}");
    }
}

#[test]
fn a_folder_of_pictures_of_several_sizes_is_refused_before_anybody_comes() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("slides")).expect("a folder");
    for (name, width, height) in [("a", 64, 48), ("b", 64, 48), ("c", 48, 64), ("d", 32, 24)] {
        bench.write(&format!("slides/{name}.png"), &png::rgb(width, height));
    }
    let arguments = ["send", "slides", "--listen", "127.0.0.1:0", "--json"];
    let line = refusal(&arguments, &bench.run(&arguments, &[]));
    assert!(
        line.contains("c.png is 48x64") && line.contains("a.png is 64x48") && line.contains("scale them"),
        "{line}"
    );
}

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
    let mut receiver = Command::new(env!("CARGO_BIN_EXE_nestcast"))
        .args(first.receive(&["-o", "record.y4m", "--json", "--retry", "600"]))
        .current_dir(bench.path(""))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
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

/// Frames that a receiver's lines tell of, as they come.
fn frames_of(output: Option<ChildStdout>) -> impl Iterator<Item = String> {
    let lines = BufReader::new(output.expect("it is piped")).lines().map_while(Result::ok);
    lines.filter(|line| line.contains("\"event\":\"frame\""))
}

#[test]
fn a_sender_that_was_killed_and_starts_again_resets_its_receivers() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    certify(&bench, "one.pem", "one.key");
    let certified = ["clip.y4m", "--repeat", "--cert", "one.pem", "--key", "one.key"];
    let first = Sender::start(&bench, &certified);
    let mut receiver = Command::new(env!("CARGO_BIN_EXE_nestcast"))
        .args(first.receive(&["-o", "frames", "--json"]))
        .current_dir(bench.path(""))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut frames = frames_of(receiver.stdout.take());
    frames.next().expect("a frame comes");
    let address = first.address.clone();
    drop(first); // by SIGKILL
    let second = Sender::start(&bench, &[&["--listen", &address], &certified[..]].concat());
    let mut said = BufReader::new(receiver.stderr.take().expect("it is piped")).lines();
    let lost = said.by_ref().map_while(Result::ok).find(|line| line.contains("broke")).expect("it says so");
    assert!(lost.contains("the sender was started again"), "{lost}");
    // What came of the first is on its way through the pipe still; the second's come without end.
    assert_eq!(frames.by_ref().take(40).count(), 40);
    drop(second);
    receiver.kill().expect("it runs");
    receiver.wait().expect("it ends");
}

#[cfg(unix)]
#[test]
fn a_receiver_that_waits_sees_the_next_broadcast() {
    use rustix::process::{Pid, Signal, kill_process};
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    certify(&bench, "one.pem", "one.key");
    let certified = ["clip.y4m", "--repeat", "--cert", "one.pem", "--key", "one.key"];
    let end = |child: &Child| {
        let id = Pid::from_child(child);
        kill_process(id, Signal::TERM).expect("it runs");
    };
    let mut first = Sender::start(&bench, &certified);
    let mut receiver = Command::new(env!("CARGO_BIN_EXE_nestcast"))
        .args(first.receive(&["-o", "record.y4m", "--json", "--wait"]))
        .current_dir(bench.path(""))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut frames = frames_of(receiver.stdout.take());
    frames.next().expect("a frame comes");
    end(&first.child);
    assert!(first.child.wait().expect("it ends").success(), "its broadcast ended, and did not break");
    let mut said = BufReader::new(receiver.stderr.take().expect("it is piped")).lines().map_while(Result::ok);
    assert!(said.any(|line| line.contains("the broadcast ended; waiting for the next")));
    let _second = Sender::start(&bench, &[&["--listen", &first.address], &certified[..]].concat());
    assert_eq!(frames.by_ref().take(40).count(), 40, "more than the first can have sent");
    end(&receiver);
    frames.for_each(drop);
    assert!(receiver.wait().expect("it ends").success());
    assert!(bench.read("record.y4m").starts_with(b"YUV4MPEG2 W32 H24 F30:1 "));
}

/// Sets the clock of a program 100 years back.
#[cfg(target_os = "linux")]
const CLOCK: &str = "
#include <time.h>
#include <sys/syscall.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (clock == CLOCK_REALTIME) time->tv_sec -= 100L * 365 * 24 * 3600;
    return result;
}
";

#[cfg(target_os = "linux")]
#[test]
fn a_clock_before_1970_stops_neither_end() {
    let bench = Bench::new();
    bench.write("clock.c", CLOCK.as_bytes());
    bench.write("clip.y4m", &clip(8));
    let (library, source) = (bench.path("clock.so"), bench.path("clock.c"));
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).status();
    if !made.is_ok_and(|status| status.success()) {
        return harness::faults::skip("a clock before 1970", "there is no C compiler");
    }
    for [early_sender, early_receiver] in [[false, true], [true, false]] {
        let set = |early| if early { library.clone() } else { std::path::PathBuf::new() };
        let mut sender = Command::new(env!("CARGO_BIN_EXE_nestcast"))
            .args(["send", "clip.y4m", "--repeat", "--listen", "127.0.0.1:0", "--json"])
            .current_dir(bench.path(""))
            .env("LD_PRELOAD", set(early_sender))
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut line = String::new();
        let mut lines = BufReader::new(sender.stdout.take().expect("it is piped"));
        lines.read_line(&mut line).expect("a line");
        let listening: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let text = |name: &str| listening[name].as_str().expect("text").to_owned();
        let mut receiver = Command::new(env!("CARGO_BIN_EXE_nestcast"))
            .args(["receive", &text("address"), "--fingerprint", &text("fingerprint"), "-o", "-", "--retry", "0"])
            .env("LD_PRELOAD", set(early_receiver))
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let output = receiver.stdout.take().expect("it is piped");
        let mut video = nestcast_media::y4m::Reader::new(output, 10_000).expect("y4m");
        assert!(video.read().expect("a frame").is_some());
        for child in [&mut receiver, &mut sender] {
            child.kill().expect("it runs");
            child.wait().expect("it ends");
        }
    }
}

#[test]
fn a_video_without_frames_is_refused() {
    let bench = Bench::new();
    bench.write("empty.y4m", &clip(0));
    let arguments = ["send", "empty.y4m", "--listen", "127.0.0.1:0"];
    let output = bench.run(&arguments, &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("empty.y4m: it has no frames"), "{said}");
}

#[test]
fn a_receiver_says_what_is_wrong_before_it_connects() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("full")).expect("a folder");
    bench.write("full/precious.png", b"precious");
    let digits = "00".repeat(32);
    for (arguments, part) in [
        (&["127.0.0.1:9", "--fingerprint", &digits, "-o", "full"][..], "is not empty"),
        (&["127.0.0.1:9", "--fingerprint", &digits, "-o", "x", "--token-file", "none"], "none"),
    ] {
        let arguments = [&["receive"][..], arguments, &["--decoder", "linear"]].concat();
        let line = refusal(&arguments, &bench.run(&arguments, &[]));
        assert!(line.contains(part), "{line}");
    }
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
        received.status.success() && summary.starts_with("frames: ") && summary.contains(" pictures from "),
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

#[test]
fn pictures_are_received_without_onnx_runtime_and_a_note_says_with_which_decoder() {
    let bench = Bench::new();
    bench.write("p.png", &png::rgb(64, 48));
    let sender = Sender::start(&bench, &["p.png", "--rate", "30"]);
    let fixed = ["receive", &sender.address, "--fingerprint", &sender.fingerprint, "-o", "frames", "--json"];
    let mut command = bench.command(NESTCAST);
    let mut receiver =
        command.args(fixed).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    let lines = BufReader::new(receiver.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
    assert_eq!(lines.filter(|line| line.contains("\"event\":\"frame\"")).take(1).count(), 1);
    receiver.kill().expect("it runs");
    let error = String::from_utf8(receiver.wait_with_output().expect("it ends").stderr).expect("text");
    let note = "nestcast: note: nestcast uses the linear decoder: ONNX Runtime was not found";
    assert!(error.starts_with(note) && error.lines().count() == 1, "{error}");
}
