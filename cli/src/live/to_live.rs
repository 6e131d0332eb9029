//! Lets the viewer of an earlier part of a broadcast go elsewhere, by keys, and to where all others are by a signal.

use std::io::{self, IsTerminal as _};

use anyhow::{Context as _, Result};
use nestcast_lab::terminal::wait_for_line;
use nestcast_receiver::{Goal, ReceiverConfig, Seek};
use tokio::runtime::Runtime;

use crate::files;

/// Asks by what it returns for each SIGUSR1 from now on, where there are signals, to go where all others are.
pub(super) fn by_signal(runtime: &Runtime) -> Result<Seek> {
    let seek = Seek::default();
    let _entered = runtime.enter();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut signals = signal(SignalKind::user_defined1()).context("the system lets nestcast catch no SIGUSR1")?;
        let seek = seek.clone();
        runtime.spawn(async move {
            while signals.recv().await.is_some() {
                seek.request(Goal::Live);
            }
        });
    }
    Ok(seek)
}

/// Asks for each line from the terminal, if standard input is one and the receiver begins elsewhere.
pub(super) fn by_key(config: &ReceiverConfig) {
    if config.start.is_some() && io::stdin().is_terminal() {
        files::note("press the return key to go to where all others are; type - or + before it to go 30 s back or on");
        let seek = config.seek.clone();
        std::thread::spawn(move || {
            while let Some(line) = wait_for_line() {
                match String::from_utf8_lossy(&line).parse() {
                    Ok(goal) => seek.request(goal),
                    Err(error) => files::note(&format!("{error}")),
                }
            }
        });
    }
}
