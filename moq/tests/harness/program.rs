//! `moq-relay` as a child process, bound to loopback.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nestcast_receiver::Trust;

use super::Place;

/// Names the program. `cargo xtask relays` installs it and sets this.
pub(crate) const VARIABLE: &str = "NESTCAST_MOQ_RELAY";

/// A relay, until it is dropped.
pub(crate) struct RelayProgram {
    pub(crate) place: Place,
    process: Child,
    address: SocketAddr,
    web: SocketAddr,
}

impl RelayProgram {
    /// Starts a relay, behind `parent` if there is one.
    pub(crate) fn start(parent: Option<&Self>) -> Self {
        Self::at(free_address(), parent)
    }

    /// Starts a relay at `address`.
    pub(crate) fn at(address: SocketAddr, parent: Option<&Self>) -> Self {
        let web = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port");
        let program = std::env::var_os(VARIABLE).map(PathBuf::from).expect("cargo xtask relays sets the program");
        let mut command = Command::new(program);
        command.args(["--listen", &address.to_string(), "--listen-tls-generate", "localhost"]);
        command.args(["--web-http-listen", &web.to_string(), "--auth-public", "**", "--cache-duration", "1s"]);
        command.args(["--log-level", "warn"]);
        if let Some(parent) = parent {
            command.args(["--cluster-connect", &format!("https://localhost:{}/", parent.address.port())]);
            command.args(["--connect-tls-insecure=true"]);
        }
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the relay starts");
        let said = process.stderr.take().expect("a pipe");
        std::thread::spawn(move || {
            BufReader::new(said).lines().map_while(Result::ok).for_each(|line| eprintln!("moq-relay: {line}"));
        });
        let fingerprint = fingerprint(web, &mut process);
        let trust = Trust::fingerprint(&fingerprint).unwrap_or_else(|| panic!("no fingerprint: {fingerprint}"));
        Self { place: Place::new(address, trust, "garden"), process, address, web }
    }

    /// Ends the relay at once, as a crash does, and starts another in its place. Its certificate is another one.
    pub(crate) fn restart(&mut self) {
        self.kill();
        let restarted = Self::at(self.address, None);
        let old = std::mem::replace(self, restarted);
        drop(old);
    }

    pub(crate) fn kill(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Returns the relay's CPU time in seconds so far.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id())).unwrap_or_default();
        let fields: Vec<_> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or_default();
        (ticks(11) + ticks(12)) / 100.0
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for RelayProgram {
    fn drop(&mut self) {
        self.kill();
    }
}

fn free_address() -> SocketAddr {
    UdpSocket::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port")
}

/// Asks the relay for its certificate's fingerprint, until it answers.
fn fingerprint(web: SocketAddr, process: &mut Child) -> String {
    let began = Instant::now();
    loop {
        if let Ok(Some(status)) = process.try_wait() {
            panic!("moq-relay ended: {status}");
        }
        if let Some(fingerprint) = ask(web) {
            return fingerprint;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "moq-relay does not answer at {web}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn ask(web: SocketAddr) -> Option<String> {
    let mut stream = TcpStream::connect(web).ok()?;
    stream.write_all(b"GET /certificate.sha256 HTTP/1.0\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.starts_with("HTTP/1.0 200").then(|| body.trim().to_owned()).or_else(|| {
        head.starts_with("HTTP/1.1 200").then(|| body.trim().to_owned())
    })
}
