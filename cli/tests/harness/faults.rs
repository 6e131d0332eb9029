//! Faults of the machine: full disks, read-only folders, closed streams, killed processes.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use rustix::process::{Pid, Signal, geteuid, kill_process};

use super::{Bench, NESTCAST};

/// The number of bytes that `cut` writes in these tests.
pub(crate) const CUT: usize = 4 << 20;
const CUT_TEXT: &str = "4194304";

impl Bench {
    /// Writes `large.nst`, a stream that can only be cut. Returns its first [`CUT`] bytes.
    pub(crate) fn large_stream(&self) -> Vec<u8> {
        let head = self.stream("small.nst");
        let side = [0xFF, 0x7F]; // 16384
        let mut bytes = [&head[..5], &side, &side, &head[7..13], &[5], &[0x15; 4]].concat();
        bytes.extend((bytes.len()..CUT + 1000).map(|at| at.to_le_bytes()[1]));
        self.write("large.nst", &bytes);
        bytes.truncate(CUT);
        bytes
    }

    /// Runs a shell command in which `"$0" "$@"` is `nestcast` with its arguments.
    pub(crate) fn shell(&self, script: &str, arguments: &[&str]) -> Output {
        self.within(&["sh", "-c", script], arguments)
    }

    /// Runs it in a namespace of its own, where the script may mount; `None` where the machine does not allow this.
    pub(crate) fn mounting(&self, script: &str, arguments: &[&str]) -> Option<Output> {
        let probe = self.within(&["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /mnt"], &[]);
        if !probe.status.success() {
            skip("mounts", "it takes root and `unshare`");
            return None;
        }
        Some(self.within(&["unshare", "--mount", "sh", "-c", script], arguments))
    }

    fn within(&self, outer: &[&str], arguments: &[&str]) -> Output {
        let mut command = self.command(outer[0]);
        command.args(&outer[1..]).arg(NESTCAST).args(arguments).stdin(Stdio::null());
        command.output().unwrap_or_else(|error| panic!("{}: {error}", outer[0]))
    }

    /// Starts to write [`CUT`] bytes to `out`, after the shell runs `first`.
    pub(crate) fn start_to_write(&self, first: &str) -> Child {
        let mut command = self.command("sh");
        command.args(["-c", &format!(r#"{first} exec "$0" "$@""#), NESTCAST]);
        command.args(["cut", "large.nst", "-o", "out", "--bytes", CUT_TEXT]).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary starts")
    }

    /// Makes a named pipe; returns its ends, the reader first.
    pub(crate) fn pipe(&self, name: &str) -> [File; 2] {
        mknodat(CWD, self.path(name), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
        let open = |read, write| File::options().read(read).write(write).open(self.path(name)).expect("a pipe");
        // Opening only one end would wait for the other.
        let _both = open(true, true);
        [open(true, false), open(false, true)]
    }

    /// Fills such a pipe with empty lines: a writer then waits until they are read.
    pub(crate) fn fill(&self, pipe: &str) {
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let mut pipe = File::options().write(true).custom_flags(flags).open(self.path(pipe)).expect("a pipe");
        // A whole page, then the rest of a page that is partly full.
        for lines in [&[b'\n'; 4096][..], b"\n"] {
            while pipe.write(lines).is_ok() {}
        }
    }

    /// Returns the unfinished files in the folder.
    pub(crate) fn temporary_files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path(".")).expect("a folder").map(|entry| entry.expect("an entry").path());
        let unfinished = |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes()[0] == b'.');
        entries.filter(unfinished).collect()
    }

    /// Waits until the unfinished file has `length` bytes. Returns false if the process ended before that.
    pub(crate) fn wait_for_unfinished(&self, child: &mut Child, length: usize) -> bool {
        while child.try_wait().expect("a child").is_none() {
            let files = self.temporary_files();
            let long = |path: &PathBuf| fs::metadata(path).is_ok_and(|data| data.len() >= length as u64);
            if files.iter().any(long) {
                return true;
            }
        }
        false
    }
}

/// Sends a signal to a child that is still running.
pub(crate) fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("the child is there");
}

/// Returns the signals that end this process and its children. `nohup` and a shell's background start processes that
/// ignore some.
pub(crate) fn ending_signals() -> Vec<Signal> {
    let ends = |(signal, name): (Signal, &str)| {
        let status = Command::new("sh").args(["-c", &format!("kill -s {name} $$")]).status().expect("a shell");
        let ends = status.signal() == Some(signal.as_raw());
        if !ends {
            skip(name, "it is ignored here: start the tests otherwise");
        }
        ends.then_some(signal)
    };
    [(Signal::TERM, "TERM"), (Signal::INT, "INT"), (Signal::HUP, "HUP")].into_iter().filter_map(ends).collect()
}

pub(crate) fn is_root() -> bool {
    geteuid().is_root()
}

/// Prints that a part of a test was skipped, bypassing the capture of the test's output.
pub(crate) fn skip(name: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {name}: {why}");
}
