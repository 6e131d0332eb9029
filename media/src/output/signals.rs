//! Signals that end the process wait until the temporary file of an unfinished output, or a temporary folder, is deleted.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};
#[cfg(unix)]
use std::time::{Duration, Instant};

/// True while no file is being written: a signal then ends the process at once.
static WRITES_NOTHING: AtomicBool = AtomicBool::new(true);
/// The signal that arrived while a file was being written, or 0.
static ARRIVED_SIGNAL: AtomicUsize = AtomicUsize::new(0);

/// The file that is being written, if one is, or the folder.
static UNFINISHED_PATH: Mutex<Option<PathBuf>> = Mutex::new(None);

fn unfinished() -> MutexGuard<'static, Option<PathBuf>> {
    UNFINISHED_PATH.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets SIGHUP, SIGINT and SIGTERM end the process as always, but deletes an unfinished file first. Not for commands
/// that handle signals themselves.
#[cfg(unix)]
pub fn end_without_temporary_files() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag;
    use signal_hook::iterator::Signals;

    let ending: Vec<i32> = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| !is_ignored(*signal)).collect();
    for &signal in &ending {
        // If this fails, the process ends as always, and leaves the file.
        let _ = flag::register_conditional_default(signal, &WRITES_NOTHING);
        let _ = flag::register_usize(signal, &ARRIVED_SIGNAL, signal.unsigned_abs() as usize);
    }
    // The writer may be waiting for its input, so nothing waits for the writer.
    if let Ok(mut signals) = Signals::new(ending) {
        std::thread::spawn(move || signals.forever().for_each(end_writing));
    }
    go_on_where_files_are_too_large();
}

/// The time after the first signal in which another is the same request: `timeout` signals its child and then the group
/// of processes that the child is in.
#[cfg(unix)]
const SAME_REQUEST: Duration = Duration::from_millis(200);

/// Calls `asked` at the first SIGHUP, SIGINT or SIGTERM. A signal more than 200 ms later deletes the unfinished file and
/// ends the process as always; an earlier one is the same request. This is for commands that end in their own time but
/// may wait forever. SIGINT counts even if the shell ignores it, as shells do for background jobs: scripts end a
/// recording with it.
///
/// # Errors
/// The system's; signals then end the process as always.
#[cfg(unix)]
pub fn end_when_asked_again(asked: impl FnOnce() + Send + 'static) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    go_on_where_files_are_too_large();
    let heard = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|&signal| signal != SIGHUP || !is_ignored(signal));
    let mut signals = Signals::new(heard)?;
    let mut asked = Some(asked);
    let mut first = None;
    let heed = move |signal| {
        let now = Instant::now();
        if let Some(asked) = asked.take() {
            first = Some(now);
            asked();
        } else if first.is_none_or(|first| now.duration_since(first) > SAME_REQUEST) {
            end(signal, unfinished().as_deref());
        }
    };
    std::thread::Builder::new().spawn(move || signals.forever().for_each(heed)).map(drop)
}

/// Makes a write fail if the file would be larger than allowed (`ulimit -f`); otherwise a signal would end the process.
#[cfg(unix)]
fn go_on_where_files_are_too_large() {
    static TOO_LARGE: AtomicBool = AtomicBool::new(false);
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, &TOO_LARGE);
}

/// Deletes the unfinished file and ends the process, if there is one. Nothing can give the file its name meanwhile.
#[cfg(unix)]
fn end_writing(signal: i32) {
    let file = unfinished();
    if file.is_some() {
        end(signal, file.as_deref());
    }
}

/// Kills the programs that were started, deletes the file or the folder, and ends the process as the signal does.
#[cfg(unix)]
fn end(signal: i32, file: Option<&Path>) {
    super::program::kill_all();
    let remove = |path: &Path| if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    let _ = file.map(remove);
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}

/// Signals end the process as always.
#[cfg(not(unix))]
pub fn end_without_temporary_files() {}

/// Returns whether the parent process ignores a signal, as `nohup` does with SIGHUP: it stays ignored.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    match ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()) {
        Some(mask) => mask >> (signal - 1) & 1 == 1,
        // The system does not report this.
        None => signal == signal_hook::consts::SIGHUP,
    }
}

/// Ends the process at once. It flushes nothing and lets no library clean up, because some need long for that.
pub fn end_at_once(status: i32) -> ! {
    #[cfg(unix)]
    signal_hook::low_level::exit(status);
    #[cfg(not(unix))]
    std::process::exit(status)
}

/// Marks that a file is being written, one at a time, as long as this value lives.
#[derive(Debug)]
pub(crate) struct Writing(());

impl Writing {
    /// Creates the file.
    pub(crate) fn begin<T: AsRef<Path>>(make: impl FnOnce() -> io::Result<T>) -> io::Result<(T, Self)> {
        WRITES_NOTHING.store(false, SeqCst);
        let writing = Self(());
        let mut unfinished = unfinished();
        let file = make();
        *unfinished = file.as_ref().ok().map(|file| file.as_ref().to_path_buf());
        drop(unfinished);
        Ok((file?, writing))
    }

    /// Gives the file its name, before a signal is handled or not at all.
    pub(crate) fn rename<T>(&self, rename: impl FnOnce() -> T) -> T {
        let mut unfinished = unfinished();
        *unfinished = None;
        rename()
    }

    /// Returns an error after a signal asked to end. The error is not `Interrupted`, because writers retry after that.
    pub(crate) fn go_on(&self) -> io::Result<()> {
        if ARRIVED_SIGNAL.load(SeqCst) == 0 { Ok(()) } else { Err(io::Error::other("a signal asked to end")) }
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        *unfinished() = None;
        // In this order, a signal between the two ends the process by itself.
        WRITES_NOTHING.store(true, SeqCst);
        #[cfg(unix)]
        if let Ok(signal @ 1..) = i32::try_from(ARRIVED_SIGNAL.load(SeqCst)) {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    }
}
