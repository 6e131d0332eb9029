//! Runs the built binary in a folder of its own, and makes its input pictures.

#![allow(dead_code, reason = "each test program uses a part")]

pub(crate) mod codes;
#[cfg(unix)]
pub(crate) mod faults;
pub(crate) mod hostile;
pub(crate) mod live;
pub(crate) mod png;
pub(crate) mod secrets;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// The built binary.
pub(crate) const NESTCAST: &str = env!("CARGO_BIN_EXE_nestcast");

/// A folder that commands run in.
pub(crate) struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).expect("a file");
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Returns all files in the folder, with their bytes.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = std::fs::read_dir(self.folder.path()).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"));
        names.filter(|name| self.path(name).is_file()).map(|name| (name.clone(), self.read(&name))).collect()
    }

    /// Puts the binary into the folder, where no library is near it, and returns its path.
    pub(crate) fn install(&self, name: &str) -> String {
        let program = self.path(name);
        if std::fs::hard_link(NESTCAST, &program).is_err() {
            std::fs::copy(NESTCAST, &program).expect("a copy");
        }
        // A program that another test starts while the copy is written has it open until it is executed itself.
        let is_busy = |error: std::io::Error| error.kind() == std::io::ErrorKind::ExecutableFileBusy;
        while Command::new(&program).arg("--version").output().is_err_and(is_busy) {
            std::thread::yield_now();
        }
        program.into_os_string().into_string().expect("a name")
    }

    /// Prepares `program` to run in the folder, without ONNX Runtime.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path()).env("ORT_DYLIB_PATH", "no-such-library");
        command
    }

    /// Prepares `nestcast` to run in the folder, with ONNX Runtime as the tests have it.
    pub(crate) fn command_with_networks(&self) -> Command {
        let mut command = self.command(NESTCAST);
        match std::env::var_os("ORT_DYLIB_PATH") {
            Some(library) => command.env("ORT_DYLIB_PATH", library),
            None => command.env_remove("ORT_DYLIB_PATH"),
        };
        command
    }

    /// Runs `nestcast` without ONNX Runtime.
    pub(crate) fn run(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut child = self
            .command(NESTCAST)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        // A command that refuses early does not read its input.
        let _ = child.stdin.take().expect("it is piped").write_all(input);
        child.wait_with_output().expect("the binary ends")
    }

    /// Runs a command that must succeed; returns its standard output and error.
    pub(crate) fn succeed(&self, arguments: &[&str]) -> (String, String) {
        let output = self.run(arguments, &[]);
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        let (out, error) = (text(output.stdout), text(output.stderr));
        assert!(output.status.success(), "{arguments:?}: {error}");
        (out, error)
    }

    /// Runs a command that must fail: exit status 1, one line on standard error, no file touched. Runs it once without
    /// and once with an existing output. Returns the line.
    pub(crate) fn refuse(&self, arguments: &[&str]) -> String {
        const OUTPUT: &str = "out";
        let mut line = String::new();
        for existing in [None, Some(b"precious")] {
            let _ = std::fs::remove_file(self.path(OUTPUT));
            if let Some(bytes) = existing {
                self.write(OUTPUT, bytes);
            }
            let before = self.files();
            let output = self.run(arguments, &[]);
            line = refusal(arguments, &output);
            assert!(before == self.files(), "{arguments:?} changed a file: {line}");
        }
        line
    }

    /// Runs a command with wrong arguments: exit status 2, clap's message on standard error, no file touched. Returns
    /// the message.
    pub(crate) fn misuse(&self, arguments: &[&str]) -> String {
        let before = self.files();
        let output = self.run(arguments, &[]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(
            said.starts_with("error: ") && output.stdout.is_empty() && before == self.files(),
            "{arguments:?}: {said}"
        );
        said
    }

    /// Writes a stream of a 64x48 picture; returns its bytes.
    pub(crate) fn stream(&self, name: &str) -> Vec<u8> {
        self.write("source.png", &png::rgb(64, 48));
        self.succeed(&["encode", "source.png", "-o", name, "--analysis", "linear"]);
        self.read(name)
    }
}

/// Checks that a command failed as it should, and returns the line that says why.
pub(crate) fn refusal(arguments: &[&str], output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
    assert!(output.stdout.is_empty(), "{arguments:?} wrote to standard output");
    assert!(error.starts_with("nestcast: ") && error.ends_with('\n'), "{arguments:?}: {error:?}");
    assert_eq!(error.lines().count(), 1, "{arguments:?}: {error}");
    assert!(!error.contains("panicked"), "{arguments:?}: {error}");
    error.trim_end().to_owned()
}

/// Returns the samples of a colourful picture, red, green, blue.
pub(crate) fn samples(width: u32, height: u32) -> Vec<u8> {
    let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let colours = pixels.flat_map(|(x, y)| [x * 255 / width, y * 255 / height, (x * 7 + y * 13) % 97 + 60]);
    colours.map(|sample| u8::try_from(sample).expect("a byte")).collect()
}
