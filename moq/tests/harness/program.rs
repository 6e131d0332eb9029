//! `moq-relay` as a child process, bound to loopback.

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::{Place, certificate, fingerprint, trust};

/// Names the program. `cargo xtask relays` installs it and sets this.
pub(crate) const VARIABLE: &str = "NESTCAST_MOQ_RELAY";

/// A relay, until it is dropped.
pub(crate) struct RelayProgram {
    pub(crate) place: Place,
    process: Child,
    address: SocketAddr,
    /// What it is started with beyond its address and certificate.
    options: Vec<String>,
    /// Its certificate, PEM.
    certificate: String,
    /// Its certificate and key.
    files: TempDir,
}

impl RelayProgram {
    /// Starts a relay at which everybody may do everything, behind `parent` if there is one.
    pub(crate) fn start(parent: Option<&Self>) -> Self {
        let to_parent = parent.map(|parent| format!("https://localhost:{}/", parent.address.port()));
        let to_parent = to_parent.iter().flat_map(|url| ["--cluster-connect", url, "--connect-tls-insecure=true"]);
        Self::start_with(&["--auth-public", "**"].into_iter().chain(to_parent).collect::<Vec<_>>())
    }

    /// Starts a relay with these options.
    pub(crate) fn start_with(options: &[&str]) -> Self {
        let files = TempDir::new().expect("a folder");
        let (certificate, key) = certificate();
        std::fs::write(files.path().join("cert.pem"), &certificate).expect("a file");
        std::fs::write(files.path().join("key.pem"), key).expect("a file");
        let address = UdpSocket::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port");
        let options: Vec<_> = options.iter().map(|&option| option.to_owned()).collect();
        let process = spawn(address, &options, &files);
        let place = Place::new(address, trust(&certificate), "garden");
        Self { place, process, address, options, certificate, files }
    }

    /// Starts another relay in the place of one that was killed.
    pub(crate) fn start_again(&mut self) {
        self.process = spawn(self.address, &self.options, &self.files);
    }

    /// Ends the relay at once, as a crash does.
    pub(crate) fn kill(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Returns the fingerprint of its certificate, in hexadecimal.
    pub(crate) fn fingerprint(&self) -> String {
        fingerprint(&self.certificate).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the relay's CPU time in seconds so far.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        cpu_seconds(&self.process)
    }
}

/// Returns the CPU time in seconds so far of a process that this one started.
pub(crate) fn cpu_seconds(process: &Child) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.id())).unwrap_or_default();
    let fields: Vec<_> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or_default();
    (ticks(11) + ticks(12)) / 100.0
}

impl Drop for RelayProgram {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn(address: SocketAddr, options: &[String], files: &TempDir) -> Child {
    let program = std::env::var_os(VARIABLE).map(PathBuf::from).expect("cargo xtask relays sets the program");
    let mut command = Command::new(program);
    command.args(["--listen", &address.to_string(), "--cache-duration", "1s"]);
    command.arg("--listen-tls-cert").arg(files.path().join("cert.pem"));
    command.arg("--listen-tls-key").arg(files.path().join("key.pem"));
    command.args(["--log-level", "error"]).args(options);
    let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the relay starts");
    let said = process.stderr.take().expect("a pipe");
    std::thread::spawn(move || {
        BufReader::new(said).lines().map_while(Result::ok).for_each(|line| eprintln!("moq-relay: {line}"));
    });
    process
}
