//! A clip, and the program that sends it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use rcgen::generate_simple_self_signed;

use super::Bench;

/// Makes a short clip of grey noise.
pub(crate) fn clip(frames: u8) -> Vec<u8> {
    let mut video = b"YUV4MPEG2 W32 H24 F30:1 Cmono\n".to_vec();
    for frame in 0..frames {
        video.extend(b"FRAME\n");
        video.extend((0..32 * 24_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24).to_le_bytes()[0] ^ frame));
    }
    video
}

/// Writes a certificate and its private key, PEM, under these names.
pub(crate) fn certify(bench: &Bench, certificate: &str, key: &str) {
    let made = generate_simple_self_signed(["localhost".to_owned()]).expect("random numbers");
    bench.write(certificate, made.cert.pem().as_bytes());
    bench.write(key, made.signing_key.serialize_pem().as_bytes());
}

/// A sender that ends with the test.
pub(crate) struct Sender {
    pub(crate) child: Child,
    output: BufReader<ChildStdout>,
    pub(crate) address: String,
    pub(crate) fingerprint: String,
    pub(crate) metrics: String,
    /// The link for browsers, if it lets them in.
    pub(crate) web: String,
}

impl Sender {
    /// Sends with lines of JSON, from a free port unless one is given, and with metrics and logs if the program has
    /// them.
    pub(crate) fn start(bench: &Bench, arguments: &[&str]) -> Self {
        Self::start_with(bench, arguments, &[])
    }

    /// Does the same with `input` on standard input, which stays open.
    pub(crate) fn start_with(bench: &Bench, arguments: &[&str], input: &[u8]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_nestcast"))
            .arg("send")
            .args(arguments)
            .arg("--json")
            .args(if arguments.contains(&"--listen") { &[][..] } else { &["--listen", "127.0.0.1:0"] })
            .args(if cfg!(feature = "metrics") { &["--metrics", "127.0.0.1:0"][..] } else { &[] })
            .args(if cfg!(feature = "qlog") { &["--qlog", "logs"][..] } else { &[] })
            .current_dir(bench.path(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        child.stdin.as_mut().expect("it is piped").write_all(input).expect("it reads, or the pipe holds it");
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        output.read_line(&mut line).expect("a line");
        let listening: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let text = |name: &str| listening[name].as_str().unwrap_or_default().to_owned();
        let (address, fingerprint) = (text("address"), text("fingerprint"));
        let (metrics, web) = (text("metrics"), text("web"));
        Self { child, output, address, fingerprint, metrics, web }
    }

    /// Returns the arguments to receive from it, with the linear decoder unless one is given.
    pub(crate) fn receive<'a>(&'a self, rest: &[&'a str]) -> Vec<&'a str> {
        let fixed = ["receive", &self.address, "--fingerprint", &self.fingerprint];
        let linear = if rest.contains(&"--decoder") { &[][..] } else { &["--decoder", "linear"] };
        [&fixed[..], linear, rest].concat()
    }

    /// Starts a receiver of it, whose standard output and error are piped.
    pub(crate) fn start_receiver(&self, bench: &Bench, rest: &[&str]) -> Child {
        Command::new(env!("CARGO_BIN_EXE_nestcast"))
            .args(self.receive(rest))
            .current_dir(bench.path(""))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts")
    }

    /// Returns its next line of JSON.
    pub(crate) fn line(&mut self) -> serde_json::Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("text");
        serde_json::from_str(&line).expect("it goes on, with JSON")
    }

    /// Waits for its end; returns its last line of JSON, and its messages on standard error.
    pub(crate) fn wait(&mut self) -> (ExitStatus, serde_json::Value, String) {
        let lines: Vec<String> = (&mut self.output).lines().map(|line| line.expect("text")).collect();
        let mut error = String::new();
        self.child.stderr.take().expect("it is piped").read_to_string(&mut error).expect("text");
        let last = lines.last().map(|line| serde_json::from_str(line).expect("JSON")).unwrap_or_default();
        (self.child.wait().expect("it ends"), last, error)
    }
}

/// Returns how many frames a sender says were on air, with those that it skipped because the machine was busy.
pub(crate) fn frames_due(said: &str) -> u64 {
    let number_before = |text: &str| said.split_once(text)?.0.split_whitespace().last()?.parse::<u64>().ok();
    let skipped = number_before(" skipped because the encoder was busy").unwrap_or_default();
    number_before(" frames on air").expect("a summary") + skipped
}

impl Drop for Sender {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
