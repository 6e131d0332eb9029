//! Lets the viewer of an earlier part of a broadcast go to where all others are: by the return key or a signal.

use std::io::{self, IsTerminal as _};

use nestcast_receiver::GoLive;
use tokio::runtime::Runtime;

use crate::files;

/// Asks a receiver to go there for each SIGUSR1, where there are signals, and for each line from the terminal, if it
/// `is_behind` at first.
pub(super) fn listen(runtime: &Runtime, go_live: &GoLive, is_behind: bool) {
    #[cfg(unix)]
    {
        let (go_live, kind) = (go_live.clone(), tokio::signal::unix::SignalKind::user_defined1());
        runtime.spawn(async move {
            let Ok(mut signals) = tokio::signal::unix::signal(kind) else { return };
            while signals.recv().await.is_some() {
                go_live.request();
            }
        });
    }
    if is_behind && io::stdin().is_terminal() {
        files::note("press the return key to go to where all others are");
        let go_live = go_live.clone();
        std::thread::spawn(move || {
            while terminal::wait_for_line() {
                go_live.request();
            }
        });
    }
}

#[cfg(unix)]
mod terminal {
    use std::io;
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::process::getpgrp;
    use rustix::termios::tcgetpgrp;

    /// How often it looks whether the process is in the foreground again.
    const LOOK_INTERVAL: Duration = Duration::from_millis(500);

    /// Waits for a line, without reading in the background: the system would suspend the process. Returns false at the end.
    pub(super) fn wait_for_line() -> bool {
        let stdin = io::stdin();
        loop {
            if poll(&mut [PollFd::new(&stdin, PollFlags::IN)], None).is_err() {
                return false;
            }
            match tcgetpgrp(&stdin) {
                Ok(group) if group == getpgrp() => {
                    return stdin.read_line(&mut String::new()).is_ok_and(|count| count > 0);
                }
                Ok(_) => std::thread::sleep(LOOK_INTERVAL),
                Err(_) => return false,
            }
        }
    }
}

#[cfg(not(unix))]
mod terminal {
    /// Waits for a line. Returns false at the end.
    pub(super) fn wait_for_line() -> bool {
        std::io::stdin().read_line(&mut String::new()).is_ok_and(|count| count > 0)
    }
}
