//! Lets the viewer of an earlier part of a broadcast go to where all others are: by the return key or a signal.

use std::io::{self, BufRead as _, IsTerminal as _};

use anyhow::{Context as _, Result};
use nestcast_receiver::{Config, GoLive};
use tokio::runtime::Runtime;

use crate::files;

/// Asks by what it returns for each SIGUSR1 from now on, where there are signals.
pub(super) fn by_signal(runtime: &Runtime) -> Result<GoLive> {
    let go_live = GoLive::default();
    let _entered = runtime.enter();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut signals = signal(SignalKind::user_defined1()).context("the system lets nestcast catch no SIGUSR1")?;
        let go_live = go_live.clone();
        runtime.spawn(async move {
            while signals.recv().await.is_some() {
                go_live.request();
            }
        });
    }
    Ok(go_live)
}

/// Asks for each line from the terminal, if standard input is one and the receiver begins elsewhere.
pub(super) fn by_key(config: &Config) {
    if config.start.is_some() && io::stdin().is_terminal() {
        files::note("press the return key to go to where all others are");
        let go_live = config.go_live.clone();
        std::thread::spawn(move || {
            while wait_for_line() {
                go_live.request();
            }
        });
    }
}

/// Waits for a line, whatever its bytes are. Returns false at the end.
fn wait_for_line() -> bool {
    #[cfg(unix)]
    if !wait_for_input() {
        return false;
    }
    io::stdin().lock().read_until(b'\n', &mut Vec::new()).is_ok_and(|count| count > 0)
}

/// Waits for input, in the foreground: the system would suspend a process that reads in the background. Returns false
/// without a terminal.
#[cfg(unix)]
fn wait_for_input() -> bool {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;

    let stdin = io::stdin();
    loop {
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], None).and_then(|_| rustix::termios::tcgetpgrp(&stdin)) {
            Ok(group) if group == rustix::process::getpgrp() => return true,
            // Then it looks whether the process is in the foreground again.
            Ok(_) => std::thread::sleep(std::time::Duration::from_millis(500)),
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}
