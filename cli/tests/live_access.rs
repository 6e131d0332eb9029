//! Viewers by name: keys, signed tokens, a web service that decides.
#![cfg(feature = "access")]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use crate::harness::live::{Sender, clip};
use crate::harness::{Bench, refusal};

/// Returns what a run printed, which must succeed.
fn printed(bench: &Bench, arguments: &[&str]) -> String {
    let output = bench.run(arguments, &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Makes a token with these options and writes it into a file.
fn token(bench: &Bench, file: &str, options: &[&str]) {
    bench.write(file, printed(bench, &[&["token", "key.pem"], options].concat()).as_bytes());
}

#[test]
fn a_signed_token_admits_and_another_is_refused_by_name() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    printed(&bench, &["key", "key.pem", "keys.json"]);
    token(&bench, "ann", &["--name", "ann", "--audience", "cam1", "--once", "--max-bitrate", "5M"]);
    token(&bench, "other", &["--audience", "cam2"]);
    bench.write("guess", b"guess");
    printed(&bench, &["key", "another.pem", "others.json"]);
    bench.write("stranger", printed(&bench, &["token", "another.pem", "--audience", "cam1"]).as_bytes());
    let mut sender = Sender::start(&bench, &["clip.y4m", "--repeat", "--keys", "keys.json", "--audience", "cam1"]);
    let refused = |file: &str| {
        let arguments = sender.receive(&["-o", "none", "--retry", "0", "--token-file", file]);
        refusal(&arguments, &bench.run(&arguments, &[]))
    };
    assert!(refused("guess").contains("the token is missing or wrong: give the sender's token"));
    let stranger = refused("stranger");
    assert!(stranger.contains("no key of the sender signed the token: ask the sender for a new one"), "{stranger}");
    assert!(refused("other").contains("the token is for another broadcast: ask the sender for a new one"));
    let mut receiver = bench
        .command(crate::harness::NESTCAST)
        .args(sender.receive(&["-o", "frames", "--json", "--token-file", "ann"]))
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut first = [0; 20];
    receiver.stdout.as_mut().expect("it is piped").read_exact(&mut first).expect("a frame comes");
    let line = refused("ann");
    assert!(line.contains("the token admits once and was used before: ask the sender"), "{line}");
    let named = loop {
        let line = sender.line();
        if let Some(receiver) = line["receivers"].as_array().and_then(|receivers| receivers.first()) {
            break receiver["name"].clone();
        }
    };
    assert_eq!(named, "ann");
    receiver.kill().expect("it runs");
    receiver.wait().expect("it ends");
}

#[test]
fn the_printed_line_for_receivers_asks_for_the_token_that_this_sender_needs() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(1));
    bench.write("secret", b"secret");
    printed(&bench, &["key", "key.pem", "keys.json"]);
    let (keys, secret, admit) =
        (["--keys", "keys.json"], ["--token-file", "secret"], ["--admit", "http://127.0.0.1:1/"]);
    let own = "note: each viewer needs a token of its own: `nestcast token` makes it";
    for (options, end, next) in [
        (&[][..], " -o -", None),
        (&secret, " --token-file FILE -o -", None),
        (&keys, " --token-file VIEWER.token -o -", Some(own)),
        (&[keys, admit].concat(), " --token-file VIEWER.token -o -", Some(own)),
        (&[secret, admit].concat(), " --token-file FILE -o -", None),
        (
            &admit,
            " -o -",
            Some("note: the web service of --admit decides: if it needs a token, receive with --token-file"),
        ),
    ] {
        let (_, notes) = bench.succeed(&[&["send", "clip.y4m", "--listen", "127.0.0.1:0"], options].concat());
        let mut lines = notes.lines();
        let place = lines.next().expect("how to receive");
        assert!(
            place.ends_with(end) && place.contains("--token-file") == end.contains("token"),
            "{options:?}: {place}"
        );
        assert_eq!(lines.next().is_some_and(|line| line.contains("token")), next.is_some(), "{options:?}: {notes}");
        assert!(next.is_none_or(|next| notes.contains(next)), "{options:?}: {notes}");
    }
}

#[test]
fn a_web_service_decides_and_is_told_who_asks() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    bench.write("secret", b"secret");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let service = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a question");
        let mut text = Vec::new();
        while !text.ends_with(b"}") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("a byte");
            text.extend(byte);
        }
        stream.write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n").expect("it is sent");
        String::from_utf8(text).expect("text")
    });
    let sender = Sender::start(&bench, &["clip.y4m", "--repeat", "--admit", &url]);
    let arguments = sender.receive(&["-o", "frames", "--retry", "0", "--token-file", "secret"]);
    let line = refusal(&arguments, &bench.run(&arguments, &[]));
    assert!(line.contains("this viewer is not admitted: ask the sender"), "{line}");
    let question = service.join().expect("a question");
    assert!(question.contains("\"token\":\"secret\"") && question.contains("\"address\":\"127.0.0.1:"), "{question}");
}

#[test]
fn keys_and_times_that_cannot_be_used_are_refused_with_what_to_do() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(3));
    bench.write("words", b"no keys");
    bench.write("empty.json", b"{\"keys\":[]}");
    printed(&bench, &["key", "key.pem", "keys.json"]);
    for (arguments, part) in [
        (&["send", "clip.y4m", "--keys", "none.json"][..], "none.json cannot be used: it cannot be read or written"),
        (&["send", "clip.y4m", "--keys", "words"], "words cannot be used: it is no JWK Set"),
        (&["send", "clip.y4m", "--keys", "empty.json"], "it has no public key on P-256 (ES256) or Ed25519 (EdDSA)"),
        (&["send", "clip.y4m", "--admit", "nowhere"], "give a URL that begins with http:// or https://"),
        (&["key", "key.pem", "keys.json"], "key.pem cannot be written: name a new file"),
        (&["token", "keys.json"], "it is no private key"),
    ] {
        let line = refusal(arguments, &bench.run(arguments, &[]));
        assert!(line.contains(part), "{line}");
    }
    for wrong in ["0", "1w", "h", "99999999999d"] {
        let output = bench.run(&["token", "key.pem", "--expires", wrong], &[]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains("give a time such as 90s, 15m, 12h or 30d"), "{said}");
    }
    printed(&bench, &["key", "second.pem", "keys.json"]);
    let keys: serde_json::Value =
        serde_json::from_slice(&std::fs::read(bench.path("keys.json")).expect("a file")).expect("JSON");
    assert_eq!(keys["keys"].as_array().map(Vec::len), Some(2), "a second key is added to the first");
}
