//! A broadcast through `moq-relay` itself: `send --relay` and `receive moq://...`. `cargo xtask relays` sets the relay.
#![cfg(feature = "moq")]

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Child, ChildStderr, Command, Stdio};

use nestcast_media::y4m::Reader;
use sha2::{Digest as _, Sha256};

use crate::harness::live::Sender;
use crate::harness::{Bench, NESTCAST, png, refusal, secrets};

/// Names the program of the relay.
const VARIABLE: &str = "NESTCAST_MOQ_RELAY";
/// The pictures of the clip, of which neighbours differ by much more than coding does.
const CLIP_FRAMES: u16 = 240;
/// The first pictures, which come of a random-access frame and get near to the others, and the pictures that are compared
/// after them.
const SETTLING: usize = 30;
const COMPARED: usize = 40;
/// The most pictures that a busy machine skips.
const MOST_SKIPPED: usize = 40;

/// A relay that ends with the test.
struct Relay {
    child: Child,
    address: String,
    fingerprint: String,
}

impl Relay {
    /// Starts a relay with these options.
    fn start(bench: &Bench, options: &[&str]) -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("random numbers");
        bench.write("relay.pem", made.cert.pem().as_bytes());
        bench.write("relay.key", made.signing_key.serialize_pem().as_bytes());
        let fingerprint = Sha256::digest(made.cert.der()).iter().map(|byte| format!("{byte:02x}")).collect();
        let free = UdpSocket::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port");
        let address = free.to_string();
        let program = std::env::var_os(VARIABLE).expect("cargo xtask relays sets the program");
        let child = Command::new(program)
            .args(["--listen", &address, "--listen-tls-cert", "relay.pem", "--listen-tls-key", "relay.key"])
            .args(["--cache-duration", "1s", "--log-level", "error"])
            .args(options)
            .current_dir(bench.path(""))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the relay starts");
        Self { child, address, fingerprint }
    }

    /// Starts a relay at which everybody may do everything.
    fn open(bench: &Bench) -> Self {
        Self::start(bench, &["--auth-public", "**"])
    }

    /// Returns the address of a broadcast.
    fn url(&self) -> String {
        format!("moq://{}/live/garden", self.address)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes a clip of slopes that move, 32x24.
fn clip() -> Vec<u8> {
    let mut video = b"YUV4MPEG2 W32 H24 F30:1 Cmono\n".to_vec();
    for frame in 0..CLIP_FRAMES {
        video.extend(b"FRAME\n");
        video.extend((0..32 * 24_u16).map(|at| ((at % 32 * 4 + at / 32 * 3 + frame * 9) % 232).to_le_bytes()[0]));
    }
    video
}

/// Returns the mean difference of two pictures' samples.
fn difference(one: &[u8], other: &[u8]) -> f64 {
    let sum: u64 = one.iter().zip(other).map(|(one, other)| u64::from(one.abs_diff(*other))).sum();
    sum as f64 / one.len() as f64
}

/// Returns the next message that has this part.
fn said(messages: &mut BufReader<ChildStderr>, part: &str) -> String {
    let mut line = String::new();
    while !line.contains(part) {
        line.clear();
        assert!(messages.read_line(&mut line).expect("text") > 0, "it says nothing of {part:?}");
    }
    line
}

#[test]
#[ignore = "needs moq-relay: cargo xtask relays"]
fn a_clip_passes_a_relay_and_is_what_decode_shows() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip());
    let relay = Relay::open(&bench);
    let url = relay.url();
    let trust = ["--relay-fingerprint", &relay.fingerprint, "--relay-rates", "1M..20M"];
    let send = ["clip.y4m", "--repeat", "--record", "sent.nst", "--relay", &url];
    let mut sender = Sender::start(&bench, &[&send[..], &trust].concat());
    let mut receiver = bench
        .command(NESTCAST)
        .args(["receive", &url, "--fingerprint", &relay.fingerprint, "-o", "-", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut video = Reader::new(receiver.stdout.take().expect("it is piped"), 10_000).expect("y4m");
    assert_eq!((video.size().width(), video.rate().frames()), (32, 30));
    let mut next = || video.read().expect("a frame").expect("it goes on");
    (0..SETTLING).for_each(|_| drop(next()));
    let shown: Vec<_> = (0..COMPARED).map(|_| next()).collect();
    let mut line = String::new();
    BufReader::new(receiver.stderr.as_mut().expect("it is piped")).read_line(&mut line).expect("text");
    let first: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(first["event"], "frame", "{line}");
    receiver.kill().expect("it runs");
    receiver.wait().expect("it ends");
    // The recording ends as it does when the program is killed.
    sender.child.kill().expect("it runs");
    sender.child.wait().expect("it ends");
    bench.succeed(&["decode", "sent.nst", "-o", "decoded.y4m"]);
    let decoded = bench.read("decoded.y4m");
    let mut decoded = Reader::new(&decoded[..], 10_000).expect("y4m");
    let decoded: Vec<_> = std::iter::from_fn(|| decoded.read().expect("a frame")).collect();
    // The recording has no pictures that the encoder skipped, so they are before their numbers in it.
    let id = usize::try_from(first["id"].as_u64().expect("a number")).expect("small");
    let mut newest = id.saturating_sub(MOST_SKIPPED);
    let mut found = Vec::new();
    for picture in &shown {
        // A picture may be repeated, and a busy machine skips some.
        let near = (newest..decoded.len().min(newest + MOST_SKIPPED + SETTLING + 20)).map(|id| (id, &decoded[id]));
        let differences = near.map(|(id, other)| (difference(picture.samples(), other.samples()), id));
        let (least, id) = differences.min_by(|one, other| one.0.total_cmp(&other.0)).expect("decoded as far");
        assert!(least < 1.0, "no picture that `decode` shows from frame {newest} on: {least}");
        newest = id;
        found.push(id);
    }
    assert!(newest - found[0] >= COMPARED / 2, "frames {found:?}");
}

#[test]
#[ignore = "needs moq-relay: cargo xtask relays"]
fn what_a_relay_cannot_do_is_refused_with_what_to_do() {
    let bench = Bench::new();
    bench.write("one.png", &png::rgb(64, 48));
    let relay = Relay::open(&bench);
    let (url, trust) = (relay.url(), relay.fingerprint.clone());
    let send = ["send", "one.png", "--listen", "127.0.0.1:0", "--relay", &url, "--relay-fingerprint", &trust];
    let line = refusal(&send, &bench.run(&send, &[]));
    assert!(line.contains(&format!("one.png cannot go to {url}: its frames are pictures")), "{line}");
    let receive = ["receive", &url, "--fingerprint", &trust, "-o"];
    for (options, part) in [
        (&["none", "--rewind", "1m"][..], "a relay keeps nothing to rewind: leave --start and --rewind out"),
        (&["none", "--start", "1m"], "a relay keeps nothing to rewind: leave --start and --rewind out"),
        (&["none", "--max-bitrate", "1M"], "a relay is not told --max-bitrate: leave it out"),
        (&["kept.nst"], "nestcast keeps no stored video of a relayed broadcast: name a y4m file or a folder"),
        (&["none", "--retry", "0"], "the relay has no broadcast moq://"),
    ] {
        let arguments = [&receive[..], options].concat();
        let line = refusal(&arguments, &bench.run(&arguments, &[]));
        assert!(line.contains(part), "{line}");
    }
    for url in ["moq://127.0.0.1", "ftp://127.0.0.1/garden"] {
        let said = bench.misuse(&["receive", url, "--fingerprint", &trust, "-o", "none"]);
        assert!(said.contains("give moq://HOST:PORT/BROADCAST or https://HOST:PORT/BROADCAST"), "{said}");
    }
}

#[test]
#[ignore = "needs moq-relay: cargo xtask relays"]
fn a_relay_of_another_draft_and_one_that_refuses_are_said_in_one_line() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip());
    for (options, part) in [
        (
            &["--auth-public", "**", "--listen-version", "moq-lite-03"][..],
            "speaks moq-lite-03, and nestcast speaks moq-lite-06 and moq-lite-05",
        ),
        (
            &["--auth-public-subscribe", "live/**"],
            "the relay does not allow this: check the path and the token in the URL",
        ),
    ] {
        let relay = Relay::start(&bench, options);
        for url in [relay.url(), relay.url().replacen("moq", "https", 1)] {
            let trust = ["--relay-fingerprint", &relay.fingerprint];
            let mut sender = Sender::start(&bench, &[&["clip.y4m", "--repeat", "--relay", &url][..], &trust].concat());
            let mut messages = BufReader::new(sender.child.stderr.take().expect("it is piped"));
            let line = said(&mut messages, "nothing is published at");
            assert!(line.contains(&url) && line.contains(part), "{line}");
        }
    }
}

#[test]
#[ignore = "needs moq-relay: cargo xtask relays"]
fn a_page_for_a_relayed_broadcast_is_linked_without_the_token() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip());
    let relay = Relay::open(&bench);
    let (place, trust) = (relay.url(), ["--relay-fingerprint", &relay.fingerprint]);
    let url = format!("{place}?jwt=secret");
    let send = ["clip.y4m", "--repeat", "--web", "127.0.0.1:0", "--relay", &url];
    let mut sender = Sender::start(&bench, &[&send[..], &trust].concat());
    let line = std::iter::repeat_with(|| sender.line()).find(|line| line["event"] == "relay").expect("a line");
    let page = sender.web.split('#').next().expect("a page");
    let link = format!("{page}#src={place}&fingerprint={}", relay.fingerprint);
    assert_eq!((line["url"].as_str(), line["web"].as_str()), (Some(&*place), Some(&*link)), "{line}");
    sender.child.kill().expect("it runs");
    let mut notes = String::new();
    sender.child.stderr.take().expect("it is piped").read_to_string(&mut notes).expect("text");
    assert!(notes.contains(&format!("or watch in a browser: {link}\n")) && !notes.contains("secret"), "{notes}");
}

/// The tokens of a publisher and of a viewer.
const RELAY_SECRETS: [&str; 2] = ["publish-secret-2342", "watch-secret-1729"];

/// Answers a relay's question about a connection: who has a token may do everything.
fn grant(mut question: TcpStream) {
    let mut text = Vec::new();
    while !text.ends_with(b"}") {
        let mut byte = [0];
        // A relay may open a connection that it does not use.
        if question.read_exact(&mut byte).is_err() {
            return;
        }
        text.extend(byte);
    }
    let text = String::from_utf8_lossy(&text);
    let is_known = RELAY_SECRETS.iter().any(|secret| text.contains(secret));
    let (status, grant) =
        if is_known { ("200 OK", r#"{"publish":["**"],"subscribe":["**"]}"#) } else { ("403 Forbidden", "{}") };
    let fields = format!("Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close", grant.len());
    // The relay may have gone.
    let _ = write!(question, "HTTP/1.1 {status}\r\n{fields}\r\n\r\n{grant}");
}

#[test]
#[ignore = "needs moq-relay: cargo xtask relays"]
fn no_token_of_a_relay_stands_in_a_log() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip());
    for (file, secret) in ["publish.token", "watch.token"].iter().zip(RELAY_SECRETS) {
        bench.write(file, secret.as_bytes());
    }
    let service = TcpListener::bind("127.0.0.1:0").expect("a port");
    let asked = format!("http://{}/", service.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for question in service.incoming() {
            let question = question.expect("a connection");
            std::thread::spawn(move || grant(question));
        }
    });
    let relay = Relay::start(&bench, &["--auth-url", &asked]);
    for (at, url) in [relay.url(), relay.url().replacen("moq", "https", 1)].iter().enumerate() {
        let logs = ["sender", "receiver"].map(|who| format!("{who}-{at}.log"));
        let log = |name: &str| File::create(bench.path(name)).expect("a file");
        let start = |words: &[&str], log: File| {
            let mut command = bench.command(NESTCAST);
            command.args(words).env("RUST_LOG", "trace").stdout(Stdio::piped()).stderr(log);
            command.spawn().expect("the binary starts")
        };
        let send = ["send", "clip.y4m", "--repeat", "--listen", "127.0.0.1:0", "--relay", url, "--relay-fingerprint"];
        let sent = [&relay.fingerprint, "--relay-token-file", "publish.token"];
        let mut sender = start(&[&send[..], &sent].concat(), log(&logs[0]));
        let receive = ["receive", url, "--fingerprint", &relay.fingerprint, "--token-file", "watch.token"];
        let folder = format!("frames-{at}");
        let mut receiver = start(&[&receive[..], &["-o", &folder, "--json"]].concat(), log(&logs[1]));
        let frames = BufReader::new(receiver.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
        assert_eq!(frames.take(10).count(), 10, "both are admitted at {url}");
        for child in [&mut receiver, &mut sender] {
            child.kill().expect("it runs");
            child.wait().expect("it ends");
        }
        for name in &logs {
            let written = bench.read(name);
            assert!(written.len() > 10_000, "{name} has {} bytes", written.len());
            secrets::hides(name, &written, &RELAY_SECRETS);
        }
    }
}
