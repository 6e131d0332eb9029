//! Programs that end with this one.

use std::io;
use std::process::{Child, ChildStderr, Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// The longest pause between two looks at a program that has closed its output.
const MAX_PAUSE: Duration = Duration::from_millis(20);

/// The programs that run.
static RUNNING_PROGRAMS: Mutex<Vec<Weak<Mutex<Leader>>>> = Mutex::new(Vec::new());

/// A program that is killed when this is dropped, and when a signal ends the process while a temporary folder is there.
/// On Unix, the programs that it started are killed with it or at its end, because it begins a process group.
#[derive(Debug)]
pub struct Program(Arc<Mutex<Leader>>);

/// The first program of a group.
#[derive(Debug)]
struct Leader {
    child: Child,
    /// Whether its status was read. The number of its group may then be another's.
    is_reaped: bool,
}

impl Program {
    /// Starts a program.
    ///
    /// # Errors
    /// The system's.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        // A signal waits until the program is among the others.
        let mut programs = locked(&RUNNING_PROGRAMS);
        let child = Arc::new(Mutex::new(Leader { child: command.spawn()?, is_reaped: false }));
        programs.retain(|program| program.strong_count() > 0);
        programs.push(Arc::downgrade(&child));
        Ok(Self(child))
    }

    /// Returns the program's standard error, once and if it is piped.
    #[must_use]
    pub fn take_errors(&self) -> Option<ChildStderr> {
        locked(&self.0).child.stderr.take()
    }

    /// Waits until the program has ended; `None` if it runs at this time still.
    ///
    /// # Errors
    /// The system's.
    pub fn wait_until(&self, time: Instant) -> io::Result<Option<ExitStatus>> {
        let mut pause = Duration::from_micros(20);
        loop {
            let ended = locked(&self.0).ended()?;
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
        locked(&self.0).kill();
    }
}

/// Kills all programs that run.
#[cfg(unix)]
pub(super) fn kill_all() {
    locked(&RUNNING_PROGRAMS).iter().filter_map(Weak::upgrade).for_each(|program| locked(&program).kill());
}

impl Leader {
    /// Returns the status if the program has ended, and kills those that it started before it reads the status.
    fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        #[cfg(unix)]
        if !self.is_reaped {
            if !group::has_ended(&self.child)? {
                return Ok(None);
            }
            group::kill(&self.child);
        }
        let ended = self.child.try_wait()?;
        self.is_reaped = ended.is_some();
        Ok(ended)
    }

    fn kill(&mut self) {
        if self.is_reaped {
            return;
        }
        #[cfg(unix)]
        group::kill(&self.child);
        // It may have ended; the system then says so.
        let _ = self.child.kill();
        self.is_reaped = self.child.wait().is_ok();
    }
}

/// The process group of a program whose status was not read: until then, the system gives its number to no other.
#[cfg(unix)]
mod group {
    use std::io;
    use std::process::Child;

    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

    fn number(child: &Child) -> Option<Pid> {
        i32::try_from(child.id()).ok().and_then(Pid::from_raw)
    }

    /// Returns whether the program has ended, and leaves its status to be read.
    pub(super) fn has_ended(child: &Child) -> io::Result<bool> {
        let Some(number) = number(child) else { return Ok(true) };
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(number), look)?.is_some())
    }

    /// Kills the program and those that it started.
    pub(super) fn kill(child: &Child) {
        // All may have ended.
        let _ = number(child).map(|number| kill_process_group(number, Signal::KILL));
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
        assert!(locked(&child).child.try_wait().expect("a child").is_some_and(|status| !status.success()));
    }

    /// Starts a shell whose sleeper keeps its standard error open, and returns what waits for the sleeper's end.
    #[cfg(unix)]
    fn with_a_sleeper(then: &str) -> (Program, impl FnOnce()) {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("sleep 1000000 & echo ready >&2; {then}")]).stderr(std::process::Stdio::piped());
        let shell = Program::start(&mut command).expect("a shell");
        let mut said = io::BufReader::new(shell.take_errors().expect("a pipe"));
        let mut line = String::new();
        io::BufRead::read_line(&mut said, &mut line).expect("a line");
        assert_eq!(line, "ready\n");
        // The pipe ends when nobody can write to it.
        let (tell, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || tell.send(io::Read::read_to_end(&mut said, &mut Vec::new())));
        let is_killed = move || {
            let ended = ended.recv_timeout(Duration::from_secs(60)).expect("the sleeper is killed");
            assert_eq!(ended.expect("a pipe"), 0);
        };
        (shell, is_killed)
    }

    #[cfg(unix)]
    #[test]
    fn programs_that_a_program_started_are_killed_with_it() {
        let (shell, sleeper_is_killed) = with_a_sleeper("wait");
        drop(shell);
        sleeper_is_killed();
    }

    #[cfg(unix)]
    #[test]
    fn programs_that_outlive_a_program_are_killed_at_its_end() {
        let (shell, sleeper_is_killed) = with_a_sleeper("exit 3");
        let status = shell.wait_until(Instant::now() + Duration::from_secs(600)).expect("a child");
        assert_eq!(status.and_then(|status| status.code()), Some(3));
        sleeper_is_killed();
        let (shell, sleeper_is_killed) = with_a_sleeper("exit 3");
        while !group::has_ended(&locked(&shell.0).child).expect("a child") {
            std::thread::sleep(MAX_PAUSE);
        }
        drop(shell);
        sleeper_is_killed();
    }
}
