//! No token stands where others can read it: in logs, qlog files, or the lists of processes.
#![cfg(all(feature = "access", target_os = "linux"))]

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use crate::harness::live::clip;
use crate::harness::{Bench, NESTCAST, secrets};

/// What a receiver shows the sender, and what the sender shows its web service.
const SECRETS: [&str; 2] = ["viewer-secret-4711", "service-secret-0815"];

/// Answers the questions about receivers as long as there are any. Returns what the last one said, once.
fn serve() -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let service = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a question");
        let mut question = Vec::new();
        while !question.ends_with(b"}") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("a question");
            question.extend(byte);
        }
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").expect("it is sent");
        String::from_utf8(question).expect("text")
    });
    (address, service)
}

fn hides(what: &str, bytes: &[u8]) {
    secrets::hides(what, bytes, &SECRETS);
}

fn command_line(child: &Child) -> Vec<u8> {
    fs::read(format!("/proc/{}/cmdline", child.id())).expect("it runs")
}

fn log(bench: &Bench, name: &str) -> Stdio {
    File::create(bench.path(name)).expect("a file").into()
}

#[test]
fn no_token_stands_in_a_log_a_qlog_file_or_a_command_line() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    bench.write("viewer.token", SECRETS[0].as_bytes());
    bench.write("service.token", format!("{}\n", SECRETS[1]).as_bytes());
    let (service, asked) = serve();
    let url = format!("http://{service}/watch");
    let mut send = bench.command(NESTCAST);
    send.args(["send", "clip.y4m", "--repeat", "--listen", "127.0.0.1:0", "--json", "--token-file", "viewer.token"]);
    send.args(["--admit", &url, "--admit-token-file", "service.token"]);
    send.args(if cfg!(feature = "qlog") { &["--qlog", "logs"][..] } else { &[] });
    send.env("RUST_LOG", "trace").stdout(Stdio::piped()).stderr(log(&bench, "sender.log"));
    let mut sender = send.spawn().expect("the binary starts");
    let mut lines = BufReader::new(sender.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
    let listening: serde_json::Value = serde_json::from_str(&lines.next().expect("a line")).expect("JSON");
    let text = |name: &str| listening[name].as_str().expect("text");
    let mut receive = bench.command(NESTCAST);
    receive.args(["receive", text("address"), "--fingerprint", text("fingerprint"), "--token-file", "viewer.token"]);
    receive.args(["-o", "frames", "--json"]).env("RUST_LOG", "trace");
    receive.stdout(Stdio::piped()).stderr(log(&bench, "receiver.log"));
    let mut receiver = receive.spawn().expect("the binary starts");
    let frames = BufReader::new(receiver.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
    assert_eq!(frames.take(10).count(), 10, "it is admitted");
    let question = asked.join().expect("the service is asked");
    assert!(SECRETS.iter().all(|secret| question.contains(secret)), "both arrive where they belong: {question}");
    for (what, child) in [("the sender's command line", &sender), ("the receiver's command line", &receiver)] {
        let line = command_line(child);
        assert!(line.starts_with(NESTCAST.as_bytes()), "{what}");
        hides(what, &line);
    }
    for child in [&mut receiver, &mut sender] {
        child.kill().expect("it runs");
        child.wait().expect("it ends");
    }
    for file in ["sender.log", "receiver.log"] {
        let written = bench.read(file);
        assert!(written.len() > 10_000, "{file} has {} bytes", written.len());
        hides(file, &written);
    }
    if cfg!(feature = "qlog") {
        assert!(hides_all(&bench.path("logs")) > 0, "a connection is logged");
    }
}

/// Checks the files of a folder; returns how many there are.
fn hides_all(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).expect("a folder");
    entries.map(|entry| hides("a qlog file", &fs::read(entry.expect("an entry").path()).expect("a file"))).count()
}

#[test]
fn every_form_of_a_token_would_be_found() {
    let secret = SECRETS[0];
    for shown in
        [secret.to_owned(), format!("{:?}", secret.as_bytes()), format!("{:02x?}", secret.as_bytes()).replace(", ", "")]
    {
        let found = std::panic::catch_unwind(|| hides("it", shown.as_bytes()));
        assert!(found.is_err(), "{shown}");
    }
    for before in ["", "a", "ab"] {
        let coded = STANDARD_NO_PAD.encode(format!("{before}{secret} and more"));
        assert!(std::panic::catch_unwind(|| hides("it", coded.as_bytes())).is_err(), "{coded}");
    }
}
