//! A real browser without a window, and a small HTTP server that serves its pages and receives its results.

use std::collections::HashMap;
use std::fmt;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use nestcast_sender::PAGE_SECURITY_FIELDS;

/// The names of Chromium in different distributions.
const CHROMIUM: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// The names of Firefox in different distributions.
const FIREFOX: [&str; 2] = ["firefox-esr", "firefox"];
/// Runs without a window, as root, without a profile's first questions, and with sound though nobody touched the page.
const CHROMIUM_SWITCHES: [&str; 6] = [
    "--headless=new",
    "--no-sandbox",
    "--no-first-run",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--autoplay-policy=no-user-gesture-required",
];
/// With these Chromium draws by WebGL even without a graphics card, the page itself too.
const SOFTWARE_WEBGL_SWITCHES: [&str; 2] = ["--enable-unsafe-swiftshader", "--use-angle=swiftshader"];

/// The same for Firefox, as a profile's file of preferences. Firefox also reports nothing to its makers.
const FIREFOX_PREFERENCES: &str = r#"
user_pref("media.autoplay.default", 0);
user_pref("webgl.force-enabled", true);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.aboutwelcome.enabled", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("toolkit.telemetry.enabled", false);
user_pref("app.normandy.enabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
"#;

/// A browser's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Chromium, or a browser made of it, that draws with WebGL even without a graphics card.
    Chromium,
    /// The same browser, but it chooses how to draw, as for its users.
    UsualChromium,
    /// Firefox.
    Firefox,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The files of a server: by name, their media type and bytes.
pub type Files = HashMap<String, (&'static str, Vec<u8>)>;

/// Serves files on this machine until the process ends, with the fields that limit the sender's page. Bytes that a page
/// posts are sent to the channel.
///
/// # Panics
/// If the system has no free port.
pub fn serve(files: Files) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let (results, posted) = channel();
    let files = Arc::new(files);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (files, results) = (Arc::clone(&files), results.clone());
            // If a browser disconnects, that is no failure.
            std::thread::spawn(move || answer(stream, &files, &results).ok());
        }
    });
    (address, posted)
}

fn answer(stream: TcpStream, files: &Files, results: &Sender<String>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut request, mut length) = (String::new(), 0);
    reader.read_line(&mut request)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(count) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = count.trim().parse().unwrap_or(0);
        }
    }
    let mut words = request.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if method == "POST" {
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        // The listener may be gone.
        let _ = results.send(String::from_utf8_lossy(&body).into_owned());
    }
    let name = path.trim_start_matches('/').split(['?', '#']).next().unwrap_or_default();
    let found = files.get(name).map(|(media_type, bytes)| ("200 OK", *media_type, &bytes[..]));
    let (status, media_type, bytes) = match (method, found) {
        ("POST", _) => ("200 OK", "text/plain", &b""[..]),
        (_, Some(found)) => found,
        _ => ("404 Not Found", "text/plain", &b""[..]),
    };
    let mut stream = reader.into_inner();
    let limits: String = PAGE_SECURITY_FIELDS.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!("content-type: {media_type}\r\ncontent-length: {}\r\nconnection: close\r\n", bytes.len());
    stream.write_all(format!("HTTP/1.1 {status}\r\n{limits}{head}\r\n").as_bytes())?;
    stream.write_all(bytes)
}

/// A browser that shows a page, and ends when this is dropped.
#[derive(Debug)]
pub struct Browser {
    process: Child,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Opens a page; `None` if the browser is not installed.
    ///
    /// # Panics
    /// If there is no room for a profile.
    pub fn open(engine: Engine, address: &str) -> Option<Self> {
        let profile = tempfile::tempdir().expect("a folder for a profile");
        let folder = profile.path();
        let (names, arguments) = match engine {
            Engine::Chromium | Engine::UsualChromium => {
                let webgl = if engine == Engine::Chromium { &SOFTWARE_WEBGL_SWITCHES[..] } else { &[] };
                let data = format!("--user-data-dir={}", folder.display());
                let switches = CHROMIUM_SWITCHES.iter().chain(webgl).map(|&switch| switch.to_owned());
                (&CHROMIUM[..], switches.chain([data]).collect::<Vec<_>>())
            }
            Engine::Firefox => {
                std::fs::write(folder.join("user.js"), FIREFOX_PREFERENCES).expect("room for preferences");
                let profile = ["--profile".to_owned(), folder.display().to_string()];
                (&FIREFOX[..], ["--headless", "--new-instance"].map(str::to_owned).into_iter().chain(profile).collect())
            }
        };
        let start = |name: &&str| {
            let mut command = Command::new(name);
            // Firefox refuses to run as root in another user's home.
            command.args(&arguments).arg(address).env("HOME", folder);
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
        };
        let process = names.iter().find_map(start)?;
        Some(Self { process, _profile: profile })
    }

    /// Returns the number of its first process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The process may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns what a page posts, as lines.
///
/// # Panics
/// If the page posts nothing within `patience`, or reports a failure.
pub fn lines(posted: &Receiver<String>, patience: Duration) -> Vec<String> {
    let text = posted.recv_timeout(patience).expect("the page posts its results in time");
    assert!(!text.starts_with("failed"), "{text}");
    text.lines().map(str::to_owned).collect()
}
