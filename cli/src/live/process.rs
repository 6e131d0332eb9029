//! The parts of the process that both ends need: a runtime with its log, the signal to end, and the token from a file.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use nestcast_lab::progress::AboveStatus;
use nestcast_media::{Input, output};
use nestcast_proto::MAX_TOKEN;
use nestcast_receiver::Announcement;
#[cfg(not(unix))]
use tokio::signal::ctrl_c;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::{fmt, util::SubscriberInitExt as _};

use crate::files;

/// Starts the network's runtime, and a log on standard error that `RUST_LOG` filters; without it, warnings appear as
/// notes.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime> {
    let asked: Option<Targets> = std::env::var("RUST_LOG").ok().and_then(|asked| asked.parse().ok());
    let log = fmt::layer().with_ansi(false);
    let log = match asked {
        Some(filter) => log.with_writer(|| AboveStatus).with_filter(without_secrets(filter)).boxed(),
        None => {
            let bare = log.without_time().with_level(false).with_target(false);
            bare.with_writer(|| Notes).with_filter(notes()).boxed()
        }
    };
    // Fails if the process did this before; the first log stays valid.
    let _ = tracing_subscriber::registry().with(log).try_init();
    tokio::runtime::Builder::new_multi_thread().enable_all().build().context("the system gives no threads")
}

/// Leaves out the lines of libraries that show a relay's URL with its token.
fn without_secrets(asked: Targets) -> Targets {
    let targets = ["web_transport_quinn", "moq_net::lite"];
    targets.into_iter().fold(asked, |asked, target| asked.with_target(target, LevelFilter::INFO))
}

/// Returns the lines that appear as notes: warnings, but not those of libraries for relays and sockets.
fn notes() -> Targets {
    let warnings = Targets::new().with_default(LevelFilter::WARN);
    let libraries = ["moq_net", "quinn_udp", "web_transport_quinn"];
    warnings.with_targets(libraries.map(|library| (library, LevelFilter::ERROR)))
}

/// Prints every line of a log as a note.
struct Notes;

impl io::Write for Notes {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        files::note(String::from_utf8_lossy(line).trim());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Notes that the receiver is connected and what comes, unless lines for programs say more.
pub(super) fn note_connected(announced: &Announcement, json: bool) {
    let (size, rate) = (announced.size, (announced.rate.per_second() * 100.0).round() / 100.0);
    let what = if announced.video.is_some() { "video" } else { "pictures" };
    if !json {
        files::note(&format!("connected: {what} of {}x{}, {rate} a second", size.width(), size.height()));
    }
}

static ASKED_TO_END: AtomicBool = AtomicBool::new(false);
static HAS_PLAYED: AtomicBool = AtomicBool::new(false);
static PLAYER_CLOSED: AtomicBool = AtomicBool::new(false);

/// Notes whether pictures or sound were written, and if a later failure is that their player closed standard output.
pub(super) fn played(written: Result<()>) -> Result<()> {
    match &written {
        Ok(()) => HAS_PLAYED.store(true, Ordering::Relaxed),
        Err(error) if matches!(error.downcast_ref(), Some(output::Error::ReaderGone)) => {
            PLAYER_CLOSED.store(HAS_PLAYED.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        Err(_) => {}
    }
    written
}

/// Returns whether a player that played something closed standard output: its user wants no more.
pub(super) fn is_player_closed() -> bool {
    PLAYER_CLOSED.load(Ordering::Relaxed)
}

/// Returns whether the user asked the process to end, and [`interrupted`] returned.
pub(super) fn is_asked_to_end() -> bool {
    ASKED_TO_END.load(Ordering::Relaxed)
}

/// Waits until the user asks the process to end. A second request ends it at once, whatever it waits for.
pub(super) async fn interrupted() {
    #[cfg(unix)]
    {
        let (tell, told) = tokio::sync::oneshot::channel();
        if output::end_when_asked_again(move || tell.send(()).unwrap_or_default()).is_ok() {
            let _ = told.await;
            return ASKED_TO_END.store(true, Ordering::Relaxed);
        }
    }
    #[cfg(not(unix))]
    if ctrl_c().await.is_ok() {
        tokio::spawn(async { ctrl_c().await.map_or((), |()| output::end_at_once(1)) });
        return ASKED_TO_END.store(true, Ordering::Relaxed);
    }
    // Nobody waits for the signal: the system ends the process.
    std::future::pending().await
}

/// Returns the address of a broadcast at a relay with the token of a file, if there is one.
#[cfg(feature = "moq")]
pub(super) fn with_token(url: &nestcast_moq::RelayUrl, file: Option<&Path>) -> Result<nestcast_moq::RelayUrl> {
    let Some((file, token)) = file.zip(token(file)?) else { return Ok(url.clone()) };
    Ok(url.clone().with_token(&token)?.with_token_file(file.to_owned()))
}

/// Reads a token: a file's content without the white space around it.
pub(super) fn token(path: Option<&Path>) -> Result<Option<Bytes>> {
    let Some(path) = path else { return Ok(None) };
    let mut input = Input::open(path)?;
    let bytes = input.read_to(MAX_TOKEN as u64 + 3)?.trim_ascii();
    let place = path.display();
    ensure!(!bytes.is_empty(), "{place} contains no token: write one into it");
    ensure!(bytes.len() <= MAX_TOKEN, "{place} is longer than a token of {MAX_TOKEN} bytes: write a shorter one");
    Ok(Some(Bytes::copy_from_slice(bytes)))
}
