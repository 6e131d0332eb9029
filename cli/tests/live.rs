//! `nestcast send` and `nestcast receive` as programs: a clip over loopback, its page and its figures.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
#[cfg(unix)]
use std::process::Child;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::harness::live::{Sender, clip};
use crate::harness::{Bench, NESTCAST, png, refusal};
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
fn a_clip_of_ten_bits_arrives_with_all_of_them() {
    let bench = Bench::new();
    let frame = |number: u16| {
        let samples = (0..32 * 32 * 3 / 2).flat_map(move |at: u16| (300 + at % 37 + 3 * number).to_le_bytes());
        b"FRAME\n".iter().copied().chain(samples)
    };
    let head = b"YUV4MPEG2 W32 H32 F30:1 C420p10\n".iter().copied();
    bench.write("deep.y4m", &head.chain((0..20).flat_map(frame)).collect::<Vec<u8>>());
    let sender = Sender::start(&bench, &["deep.y4m", "--repeat"]);
    let mut receiver = bench
        .command(NESTCAST)
        .args(["receive", &sender.address, "--fingerprint", &sender.fingerprint, "-o", "-"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let output = receiver.stdout.take().expect("it is piped");
    let mut video = nestcast_media::y4m::Reader::new(output, 10_000).expect("y4m").with_max_bits(16);
    assert_eq!(video.format(), Format::Ycbcr420Deep { colours: Ycbcr::BT601, bits: 10 });
    let mut fractions = 0;
    for _ in 0..10 {
        let picture = video.read().expect("a frame").expect("the video goes on");
        fractions += picture.samples().as_chunks::<2>().0.iter().filter(|sample| sample[0] % 4 != 0).count();
    }
    assert!(fractions > 1000, "{fractions} samples have no equal in 8 bits");
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
    assert!(lines[1].starts_with("nestcast: note: 1 frame on air; 0 receivers served, 0 refused"), "{notes}");
    assert_eq!(lines[2..], ["nestcast: note: the source ended before anyone connected: --repeat starts it again"]);
    let (_, notes) = bench.succeed(&["send", "clip.y4m", "--listen", "127.0.0.1:0"]);
    assert!(notes.starts_with("nestcast: note: receive with: nestcast receive 127.0.0.1:"), "{notes}");
}

#[test]
fn several_broadcasts_are_at_one_address_each_by_its_name() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    let wide = [b"YUV4MPEG2 W48 H16 F25:1 Cmono\n".to_vec(), clip(20)[clip(0).len()..].to_vec()].concat();
    bench.write("wide.y4m", &wide);
    bench.succeed(&["encode", "wide.y4m", "-o", "wide.nst"]);
    let arguments = ["cam1=clip.y4m", "cam2=wide.nst", "--repeat", "--web", "127.0.0.1:0"];
    let mut sender = Sender::start(&bench, &arguments);
    assert!(sender.web.contains(&format!("#src=https://{}/cam1&fingerprint=", sender.address)), "{}", sender.web);
    for (name, width) in [("cam1", 32), ("cam2", 48)] {
        let place = format!("{}/{name}", sender.address);
        let mut receiver = Command::new(NESTCAST)
            .args(["receive", &place, "--fingerprint", &sender.fingerprint, "-o", "-"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let output = receiver.stdout.take().expect("it is piped");
        let mut video = nestcast_media::y4m::Reader::new(output, 10_000).expect("y4m");
        assert_eq!(video.size().width(), width);
        for _ in 0..5 {
            assert!(video.read().expect("a frame").is_some());
        }
        if cfg!(feature = "metrics") {
            let figures = get(&sender.metrics, "/metrics");
            let one = format!("\nnestcast_receivers{{broadcast=\"{name}\"}} 1\n");
            assert!(figures.contains(&one), "{figures}");
            assert!(figures.contains("\nnestcast_frames_total{broadcast=\"cam2\"} "), "{figures}");
        }
        receiver.kill().expect("it runs");
        receiver.wait().expect("it ends");
    }
    for (place, why) in [
        (
            "",
            "the sender's broadcasts have names, and the address needs one: ask for one, and give it as in HOST:PORT/cam1",
        ),
        (
            "/cam3",
            "the sender has no broadcast of this name: ask for the name, or leave it out if its broadcast has no name",
        ),
    ] {
        let place = format!("{}{place}", sender.address);
        let arguments = ["receive", &place, "--fingerprint", &sender.fingerprint, "-o", "none", "--retry", "0"];
        let said = refusal(&arguments, &bench.run(&arguments, &[]));
        assert!(said.contains(why), "{said}");
    }
    let names: Vec<_> = (0..2).map(|_| sender.line()["broadcast"].as_str().map(str::to_owned)).collect();
    assert_eq!(names, [Some("cam1".to_owned()), Some("cam2".to_owned())]);
    let said = bench.refuse(&["send", "cam1=clip.y4m", "wide.y4m"]);
    assert!(said.contains("each of several sources needs a name of its own"), "{said}");
    let said = bench.refuse(&["send", "cam1=clip.y4m", "cam2=wide.y4m", "--record", "a.nst"]);
    assert!(said.contains("--record is for one source: say for which, as in --record cam1="), "{said}");
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
fn a_sender_limits_what_each_receiver_gets() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    let mut sender = Sender::start(&bench, &["clip.y4m", "--repeat", "--max-bitrate", "30k"]);
    let mut viewer = watch(&bench, &sender, "frames", "100M");
    let is_cut = |line: &serde_json::Value| line["receivers"][0]["cut_reasons"]["cap"].as_u64() > Some(20);
    let figures = std::iter::repeat_with(|| sender.line()).find(is_cut).expect("lines never end");
    let bits = figures["receivers"][0]["delivery_rate_bits"].as_f64().expect("a rate");
    // Headers of packets do not count.
    assert!(bits < 80_000.0, "{figures}");
    viewer.kill().expect("it runs");
    viewer.wait().expect("it ends");
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
    let (shown, said) = bench.succeed(&["top", &sender.metrics, "--once"]);
    let lines: Vec<_> = shown.lines().collect();
    assert!(lines[0].starts_with(&format!("{}   receivers 1   frames/s ", sender.metrics)), "{shown}");
    let columns: Vec<_> = lines[2].split_whitespace().collect();
    assert!(columns.starts_with(&["receiver", "name", "delivered", "allowed", "sent", "frames/s", "rtt"]), "{shown}");
    assert!(lines[3].starts_with("127.0.0.1:") && lines[3].matches(" ms").count() == 2, "{shown}");
    assert!(lines.len() == 4 && said.is_empty(), "{shown}{said}");
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
    assert!(rest.starts_with("&expires=") && !rest.contains("token"), "a log may keep it: {rest}");
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
