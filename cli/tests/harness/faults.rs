//! Faults of the machine: full disks, folders that cannot be written, streams that are closed, processes that are killed.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use rustix::process::{Pid, Signal, geteuid, kill_process};

use super::{Bench, NESTCAST};

/// What `cut` writes in the tests of this kind.
pub(crate) const CUT: usize = 4 << 20;
const CUT_TEXT: &str = "4194304";

impl Bench {
    /// Writes `large.nst`, a stream that is only good to be cut. Gives the [`CUT`] bytes of it.
    pub(crate) fn large_stream(&self) -> Vec<u8> {
        let head = self.stream("small.nst");
        let side = [0xFF, 0x7F]; // 16384
        let mut bytes = [&head[..5], &side, &side, &head[7..13], &[5], &[0x15; 4]].concat();
        bytes.extend((bytes.len()..CUT + 1000).map(|at| at.to_le_bytes()[1]));
        self.write("large.nst", &bytes);
        bytes.truncate(CUT);
        bytes
    }

    /// Runs a shell's command in which `"$0" "$@"` is `nestcast` with its arguments.
    pub(crate) fn shell(&self, script: &str, arguments: &[&str]) -> Output {
        self.within(&["sh", "-c", script], arguments)
    }

    /// The same in a name space of its own, where the script may mount. Nothing where the machine does not allow it.
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

    /// Starts to write [`CUT`] bytes to `out`, once the shell did what `first` says.
    pub(crate) fn start_to_write(&self, first: &str) -> Child {
        let mut command = self.command("sh");
        command.args(["-c", &format!(r#"{first} exec "$0" "$@""#), NESTCAST]);
        command.args(["cut", "large.nst", "-o", "out", "--bytes", CUT_TEXT]).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary starts")
    }

    /// Makes a pipe with a name; gives its ends, the reader first.
    pub(crate) fn pipe(&self, name: &str) -> [File; 2] {
        mknodat(CWD, self.path(name), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
        let open = |read, write| File::options().read(read).write(write).open(self.path(name)).expect("a pipe");
        // Either end alone would wait for the other.
        let _both = open(true, true);
        [open(true, false), open(false, true)]
    }

    /// Fills such a pipe with empty lines: whoever writes to it waits until they are read.
    pub(crate) fn fill(&self, pipe: &str) {
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let mut pipe = File::options().write(true).custom_flags(flags).open(self.path(pipe)).expect("a pipe");
        // A page, and what a page that others began has room for.
        for lines in [&[b'\n'; 4096][..], b"\n"] {
            while pipe.write(lines).is_ok() {}
        }
    }

    /// Unfinished files in the folder.
    pub(crate) fn temporary_files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path(".")).expect("a folder").map(|entry| entry.expect("an entry").path());
        let unfinished = |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes()[0] == b'.');
        entries.filter(unfinished).collect()
    }

    /// Waits until the unfinished file has `length` bytes. False if the process ended before that was seen.
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

/// Sends a signal to a child that was not waited for.
pub(crate) fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("the child is there");
}

/// Of the signals that end a process those that this one, and so its children, was not started to ignore, as `nohup` and a shell's
/// background do.
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

/// Says that a part of a test was left out. Past the test's capture of its output.
pub(crate) fn skip(name: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {name}: {why}");
}
