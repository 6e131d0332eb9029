//! Signals that end the process: while a file is written they wait until its temporary file is gone.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// No file is being written: a signal ends the process at once.
static IDLE: AtomicBool = AtomicBool::new(true);
/// The signal that came while a file was written, or 0.
static ASKED: AtomicUsize = AtomicUsize::new(0);

/// Has SIGHUP, SIGINT and SIGTERM end the process as always, but for the time that [`Writing`] takes. Not for commands
/// that handle signals themselves.
#[cfg(unix)]
pub(crate) fn end_without_temporary_files() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::flag;

    for signal in [SIGHUP, SIGINT, SIGTERM] {
        if !is_ignored(signal) {
            // Without them the process ends as it would anyway, and leaves the file.
            let _ = flag::register_conditional_default(signal, &IDLE);
            let _ = flag::register_usize(signal, &ASKED, signal.unsigned_abs() as usize);
        }
    }
    // That a file would be larger than allowed (`ulimit -f`) is said by the write as well.
    static TOO_LARGE: AtomicBool = AtomicBool::new(false);
    let _ = flag::register(SIGXFSZ, &TOO_LARGE);
}

#[cfg(not(unix))]
pub(crate) fn end_without_temporary_files() {}

/// Whether whoever started this process had a signal ignored, as `nohup` does with SIGHUP: it stays so.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    match ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()) {
        Some(mask) => mask >> (signal - 1) & 1 == 1,
        // Nobody says.
        None => signal == signal_hook::consts::SIGHUP,
    }
}

/// A file is being written, as long as this lives. One at a time.
#[derive(Debug)]
pub(super) struct Writing(());

impl Writing {
    pub(super) fn begin() -> Self {
        IDLE.store(false, SeqCst);
        Self(())
    }

    /// An error once a signal asked to end; nobody reads it. Not `Interrupted`, after which writers try again.
    pub(super) fn go_on(&self) -> io::Result<()> {
        if ASKED.load(SeqCst) == 0 { Ok(()) } else { Err(io::Error::other("a signal asked to end")) }
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        // In this order: a signal between the two ends the process by itself.
        IDLE.store(true, SeqCst);
        #[cfg(unix)]
        if let Ok(signal @ 1..) = i32::try_from(ASKED.load(SeqCst)) {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    }
}
