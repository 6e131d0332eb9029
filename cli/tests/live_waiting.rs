//! How `nestcast receive` waits and tries again, and what it says when it gives up.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::UdpSocket;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

use crate::harness::live::{Sender, certify, clip};
use crate::harness::{Bench, NESTCAST};

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
    let attempts = line.split("is a sender there?; gave up after ").nth(1).and_then(|rest| rest.split(' ').next());
    assert!((2..=4).contains(&attempts.expect("it says how many").parse::<u32>().expect("a number")), "{said}");
}

#[test]
fn a_receiver_says_that_it_is_connected_and_what_comes() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    let sender = Sender::start(&bench, &["clip.y4m", "--repeat"]);
    for output in ["clip.of.y4m", "clip.of.nst"] {
        let mut receiver = Command::new(NESTCAST)
            .args(sender.receive(&["-o", output]))
            .current_dir(bench.path(""))
            .env_remove("RUST_LOG")
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut said = BufReader::new(receiver.stderr.take().expect("it is piped")).lines().map_while(Result::ok);
        assert_eq!(said.next().as_deref(), Some("nestcast: note: connected: video of 32x24, 30 a second"), "{output}");
        receiver.kill().expect("it runs");
        receiver.wait().expect("it ends");
    }
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
    let mut receiver = first.start_receiver(&bench, &["-o", "frames", "--json"]);
    let mut frames = frames_of(receiver.stdout.take());
    frames.next().expect("a frame comes");
    let address = first.address.clone();
    drop(first); // by SIGKILL
    let second = Sender::start(&bench, &[&["--listen", &address], &certified[..]].concat());
    let mut said = BufReader::new(receiver.stderr.take().expect("it is piped")).lines();
    let lost = said.by_ref().map_while(Result::ok).find(|line| line.contains("broke")).expect("it says so");
    assert!(lost.contains("the sender does not know the connection any more"), "{lost}");
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
    let mut receiver = first.start_receiver(&bench, &["-o", "record.y4m", "--json", "--wait"]);
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

#[cfg(unix)]
#[test]
fn a_video_does_not_grow_while_its_receiver_waits_for_a_broadcast() {
    use rustix::process::{Pid, Signal, kill_process};
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    let mut sender = Sender::start(&bench, &["clip.y4m", "--repeat"]);
    let mut receiver = sender.start_receiver(&bench, &["-o", "record.y4m", "--json", "--wait"]);
    let mut lines = BufReader::new(receiver.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
    assert!(lines.by_ref().any(|line| line.contains("\"event\":\"frame\"")), "a frame comes");
    let end = |child: &Child| kill_process(Pid::from_child(child), Signal::TERM).expect("it runs");
    end(&sender.child);
    sender.wait();
    let mut said = BufReader::new(receiver.stderr.take().expect("it is piped")).lines().map_while(Result::ok);
    assert!(said.any(|line| line.contains("the broadcast ended; waiting for the next")));
    // The first tells of what was on its way. A line comes each second, in which 30 pictures would be repeated.
    let mut lines = lines.map(|line| serde_json::from_str::<serde_json::Value>(&line).expect("JSON"));
    let mut pictures = 1;
    let mut is_total = |line: &serde_json::Value| {
        pictures += u64::from(line["event"] == "frame" || line["event"] == "concealed");
        line["event"] == "received"
    };
    let repeated = |line: &serde_json::Value| line["repeated"].as_u64().expect("a count");
    let told: Vec<_> = lines.by_ref().filter(&mut is_total).take(4).collect();
    assert_eq!(repeated(&told[1]), repeated(&told[3]), "{told:?}");
    end(&receiver);
    let last = lines.filter(is_total).last().expect("the totals come at the end");
    assert!(receiver.wait().expect("it ends").success());
    pictures += repeated(&last);
    assert_eq!(pictures_of(&bench.read("record.y4m")), pictures, "{last}");
}

/// Returns how many pictures a y4m video has.
#[cfg(unix)]
fn pictures_of(video: &[u8]) -> u64 {
    let mut reader = nestcast_media::y4m::Reader::new(video, 10_000).expect("y4m");
    let mut pictures = 0;
    while reader.read().expect("whole pictures").is_some() {
        pictures += 1;
    }
    pictures
}

/// A source that gives nothing for a while: the picture is repeated meanwhile.
#[cfg(unix)]
#[test]
fn a_video_has_a_silent_time_at_its_end_if_its_user_ends_it_but_not_if_the_broadcast_ends() {
    use rustix::process::{Pid, Signal, kill_process};
    for by_user in [true, false] {
        let bench = Bench::new();
        let mut sender = Sender::start_with(&bench, &["-"], &clip(20));
        let mut receiver = Command::new(NESTCAST)
            .args(sender.receive(&["-o", "record.y4m", "--json"]))
            .current_dir(bench.path(""))
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let lines = BufReader::new(receiver.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
        let mut lines = lines.map(|line| serde_json::from_str::<serde_json::Value>(&line).expect("JSON"));
        let mut input = sender.child.stdin.take().expect("it is piped");
        let frame = [b"FRAME\n", &[100; 32 * 24][..]].concat();
        // It may join after the first frames.
        while !lines.by_ref().take(1).any(|line| line["event"] == "frame") {
            input.write_all(&frame).expect("it reads");
        }
        let mut pictures = 1;
        let mut repeated = 0;
        while repeated < 20 {
            let line = lines.next().expect("it goes on");
            pictures += u64::from(line["event"] == "frame" || line["event"] == "concealed");
            repeated = line["repeated"].as_u64().unwrap_or(repeated);
        }
        if by_user {
            kill_process(Pid::from_child(&receiver), Signal::TERM).expect("it runs");
        }
        drop(input);
        for line in lines {
            pictures += u64::from(line["event"] == "frame" || line["event"] == "concealed");
            repeated = line["repeated"].as_u64().unwrap_or(repeated);
        }
        assert!(receiver.wait().expect("it ends").success());
        assert_eq!(repeated >= 20, by_user, "{repeated} are repeated");
        assert_eq!(pictures_of(&bench.read("record.y4m")), pictures + repeated);
    }
}

/// A receiver that waits, with what it prints.
struct Waiting(Child, BufReader<ChildStderr>);

impl Waiting {
    fn start(bench: &Bench, sender: &Sender, address: &str, rest: &[&str]) -> Self {
        let fixed = ["receive", address, "--fingerprint", &sender.fingerprint, "--decoder", "linear", "--wait"];
        let mut command = bench.command(NESTCAST);
        command.args(fixed).args(["-o", "frames", "--json"]).args(rest).env_remove("RUST_LOG");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
        let said = BufReader::new(child.stderr.take().expect("it is piped"));
        Self(child, said)
    }

    /// Waits until it prints these words.
    fn says(&mut self, words: &str) {
        let mut said = self.1.by_ref().lines().map_while(Result::ok);
        assert!(said.any(|line| line.contains(words)), "it ended without the words {words}");
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_receiver_that_waits_goes_on_after_a_source_that_broke_off() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    certify(&bench, "one.pem", "one.key");
    let certified = ["--cert", "one.pem", "--key", "one.key"];
    let mut first = Sender::start_with(&bench, &[&["-"], &certified[..]].concat(), &clip(20));
    let mut receiver = Waiting::start(&bench, &first, &first.address, &[]);
    let mut frames = frames_of(receiver.0.stdout.take());
    frames.next().expect("a frame comes");
    let mut input = first.child.stdin.take().expect("it is piped");
    input.write_all(b"FRAME\nhalf of it").expect("it reads");
    drop(input);
    receiver.says("the sender lost its source; frames until then are kept; trying again in ");
    assert_eq!(first.wait().0.code(), Some(1), "systemd starts it again");
    let again = [&["clip.y4m", "--repeat", "--listen", &first.address], &certified[..]].concat();
    let _second = Sender::start(&bench, &again);
    assert_eq!(frames.take(60).count(), 60, "more than the first can have sent");
}

#[test]
fn a_receiver_that_waits_sees_a_broadcast_whose_name_is_not_there_yet() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    certify(&bench, "one.pem", "one.key");
    let certified = ["--repeat", "--cert", "one.pem", "--key", "one.key"];
    let first = Sender::start(&bench, &[&["cam1=clip.y4m"], &certified[..]].concat());
    let place = format!("{}/cam2", first.address);
    let mut receiver = Waiting::start(&bench, &first, &place, &[]);
    receiver.says("the sender has no broadcast of this name; trying again in ");
    let address = first.address.clone();
    drop(first);
    let both = ["cam1=clip.y4m", "cam2=clip.y4m", "--listen", &address];
    let _second = Sender::start(&bench, &[&both, &certified[..]].concat());
    frames_of(receiver.0.stdout.take()).next().expect("a frame comes");
}

#[cfg(feature = "access")]
#[test]
fn a_receiver_whose_token_has_expired_waits_for_another_in_its_file() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    let made = bench.run(&["key", "key.pem", "keys.json"], &[]);
    assert!(made.status.success(), "{made:?}");
    let pem = String::from_utf8(bench.read("key.pem")).expect("text");
    let key = nestcast_sender::SigningKey::from_pem(&pem).expect("a key");
    let token = |exp| {
        let claims = nestcast_sender::Claims { exp, nbf: None, aud: None, sub: None, jti: None, max_bitrate: None };
        bench.write("new", key.sign(&claims).expect("a token").as_bytes());
        std::fs::rename(bench.path("new"), bench.path("token")).expect("it is replaced");
    };
    // In 2001, and in 2096.
    token(1_000_000_000);
    let sender = Sender::start(&bench, &["clip.y4m", "--repeat", "--keys", "keys.json"]);
    let once = bench.run(&sender.receive(&["-o", "-", "--token-file", "token"]), &[]);
    let said = String::from_utf8_lossy(&once.stderr).into_owned();
    assert!(once.status.code() == Some(1) && said.contains("the token has expired"), "{said}");
    assert!(said.trim_end().ends_with("ask the sender for a new one"), "{said}");
    let mut receiver = Waiting::start(&bench, &sender, &sender.address, &["--token-file", "token"]);
    receiver.says("the token has expired or is not valid yet; trying again in ");
    token(4_000_000_000);
    frames_of(receiver.0.stdout.take()).next().expect("a frame comes");
}

/// Knows the host late.example once the file NAMES is there, at 127.0.0.1.
#[cfg(target_os = "linux")]
const NAMES: &str = "
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    *(void **)&real = dlsym(RTLD_NEXT, \"getaddrinfo\");
    if (host && strcmp(host, \"late.example\") == 0) {
        if (access(getenv(\"NAMES\"), F_OK) != 0) return EAI_NONAME;
        host = \"127.0.0.1\";
    }
    return real(host, service, hints, found);
}
";

#[cfg(target_os = "linux")]
#[test]
fn a_host_that_cannot_be_found_is_looked_up_again() {
    let bench = Bench::new();
    bench.write("names.c", NAMES.as_bytes());
    bench.write("clip.y4m", &clip(8));
    let (library, source) = (bench.path("names.so"), bench.path("names.c"));
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl").status();
    if !made.is_ok_and(|status| status.success()) {
        return crate::harness::faults::skip("a host that is known late", "there is no C compiler");
    }
    let sender = Sender::start(&bench, &["clip.y4m", "--repeat"]);
    let (_, port) = sender.address.rsplit_once(':').expect("a port");
    let mut receiver = Command::new(NESTCAST)
        .args(["receive", &format!("late.example:{port}"), "--fingerprint", &sender.fingerprint, "-o", "-"])
        .current_dir(bench.path(""))
        .env("LD_PRELOAD", &library)
        .env("NAMES", bench.path("known"))
        .env_remove("RUST_LOG")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut said = BufReader::new(receiver.stderr.take().expect("it is piped")).lines().map_while(Result::ok);
    assert!(said.by_ref().any(|line| line.contains("cannot be found") && line.contains("trying again")));
    bench.write("known", b"");
    let output = receiver.stdout.take().expect("it is piped");
    let mut video = nestcast_media::y4m::Reader::new(output, 10_000).expect("y4m");
    assert!(video.read().expect("a frame").is_some());
    receiver.kill().expect("it runs");
    receiver.wait().expect("it ends");
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
        return crate::harness::faults::skip("a clock before 1970", "there is no C compiler");
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
