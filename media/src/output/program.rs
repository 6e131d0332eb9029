//! Programs that end with this one.

use std::io;
use std::process::{Child, ChildStderr, Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// The longest pause between two looks at a program that has closed its output.
const MAX_PAUSE: Duration = Duration::from_millis(20);

/// The programs that run.
static PROGRAMS: Mutex<Vec<Weak<Mutex<Child>>>> = Mutex::new(Vec::new());

/// A program that is killed when this is dropped, and when a signal ends the process while a temporary folder is there.
/// On Unix, the programs that it started are killed with it, because it begins a process group.
#[derive(Debug)]
pub struct Program(Arc<Mutex<Child>>);

impl Program {
    /// Starts a program.
    ///
    /// # Errors
    /// The system's.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        // A signal waits until the program is among the others.
        let mut programs = locked(&PROGRAMS);
        let child = Arc::new(Mutex::new(command.spawn()?));
        programs.retain(|program| program.strong_count() > 0);
        programs.push(Arc::downgrade(&child));
        Ok(Self(child))
    }

    /// Returns the program's standard error, once and if it is piped.
    #[must_use]
    pub fn take_errors(&self) -> Option<ChildStderr> {
        locked(&self.0).stderr.take()
    }

    /// Waits until the program has ended; `None` if it runs at this time still.
    ///
    /// # Errors
    /// The system's.
    pub fn wait_until(&self, time: Instant) -> io::Result<Option<ExitStatus>> {
        let mut pause = Duration::from_micros(20);
        loop {
            let ended = locked(&self.0).try_wait()?;
            let left = time.saturating_duration_since(Instant::now());
            if ended.is_some() || left.is_zero() {
                return Ok(ended);
            }
            std::thread::sleep(pause.min(left));
            pause = (2 * pause).min(MAX_PAUSE);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        kill(&self.0);
    }
}

/// Kills all programs that run.
#[cfg(unix)]
pub(super) fn kill_all() {
    locked(&PROGRAMS).iter().filter_map(Weak::upgrade).for_each(|program| kill(&program));
}

fn kill(child: &Mutex<Child>) {
    let mut child = locked(child);
    // It may have ended; the system then says so, or knows it no longer.
    #[cfg(unix)]
    kill_group(&mut child);
    let _ = child.kill();
    let _ = child.wait();
}

/// Kills the program and those that it started, unless it has ended: its group's number may then be another's.
#[cfg(unix)]
fn kill_group(child: &mut Child) {
    use rustix::process::{Pid, Signal, kill_process_group};
    if let (Ok(None), Ok(number)) = (child.try_wait(), i32::try_from(child.id()))
        && let Some(group) = Pid::from_raw(number)
    {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_program_is_awaited_or_killed() {
        let start = |command: &str| Program::start(Command::new("sh").args(["-c", command])).expect("a shell");
        let brief = start("exit 3");
        let status = brief.wait_until(Instant::now() + Duration::from_secs(600)).expect("a child");
        assert_eq!(status.and_then(|status| status.code()), Some(3));
        let endless = start("exec sleep 1000000");
        assert!(endless.wait_until(Instant::now()).expect("a child").is_none());
        let child = Arc::clone(&endless.0);
        drop(endless);
        assert!(locked(&child).try_wait().expect("a child").is_some_and(|status| !status.success()));
    }

    #[cfg(unix)]
    #[test]
    fn programs_that_a_program_started_are_killed_with_it() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000000 & echo ready >&2; wait"]).stderr(std::process::Stdio::piped());
        let shell = Program::start(&mut command).expect("a shell");
        let mut said = io::BufReader::new(shell.take_errors().expect("a pipe"));
        let mut line = String::new();
        io::BufRead::read_line(&mut said, &mut line).expect("a line");
        assert_eq!(line, "ready\n");
        drop(shell);
        // The pipe ends when nobody can write to it.
        let (tell, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || tell.send(io::Read::read_to_end(&mut said, &mut Vec::new())));
        let ended = ended.recv_timeout(Duration::from_secs(60)).expect("the sleeper is killed");
        assert_eq!(ended.expect("a pipe"), 0);
    }
}
