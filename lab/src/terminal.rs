//! What a user types while a program works.

use std::io::{self, BufRead as _};

/// Waits for a line of standard input, whatever its bytes are. Returns none at the end, and without a terminal.
#[must_use]
pub fn wait_for_line() -> Option<Vec<u8>> {
    #[cfg(unix)]
    if !wait_for_input() {
        return None;
    }
    let mut line = Vec::new();
    io::stdin().lock().read_until(b'\n', &mut line).is_ok_and(|count| count > 0).then_some(line)
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
