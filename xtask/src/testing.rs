//! Runs tests through cargo with their output shown, and then lists each failed one with the command that runs it
//! again.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsStr,
    hint,
    io::{self, BufRead as _, BufReader, Write as _},
    process::ExitStatus,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use crate::{
    cargo,
    failure::{Failure, Result},
};

/// The variable that says how many tests of a program run at once.
const THREADS_VARIABLE: &str = "RUST_TEST_THREADS";

/// A test that failed, or, without a name, a test program that broke off.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Failed {
    /// The arguments that select its program, as cargo prints them: `-p nestcast-tests --test live`.
    program: String,
    name: Option<String>,
}

/// Runs `cargo test` with these arguments; prints its output and passes each line to `look`.
pub(crate) fn run(
    arguments: &[&str],
    variables: &[(&str, &OsStr)],
    mut look: impl FnMut(&str),
) -> Result<(ExitStatus, Vec<Failed>)> {
    let started = |error| Failure::say(format!("cargo cannot be started: {error}; install Rust"));
    // One pipe for both, so that cargo's lines stay next to those of the tests that they describe.
    let (reader, writer) = io::pipe().map_err(started)?;
    let mut command = cargo::cargo();
    command.arg("test").args(arguments).envs(variables.iter().copied());
    // Backtraces belong to the repeated run, for which the hint names the variable.
    command.env("RUST_BACKTRACE", "0").env("RUST_LIB_BACKTRACE", "0");
    // Many tests of broadcasts wait most of their time.
    if env::var_os(THREADS_VARIABLE).is_none() {
        command.env(THREADS_VARIABLE, (2 * cores()).to_string());
    }
    command.stdout(writer.try_clone().map_err(started)?).stderr(writer);
    let mut child = command.spawn().map_err(started)?;
    // The command holds the other ends of the pipe, which the loop reads until they close.
    drop(command);
    let mut failures = Failures::default();
    for line in BufReader::new(reader).split(b'\n') {
        let line = line.map_err(|error| Failure::say(format!("cargo's output cannot be read: {error}")))?;
        let line = String::from_utf8_lossy(&line);
        // A closed output does not stop the tests.
        let _ = writeln!(io::stdout(), "{line}");
        failures.read(&line);
        look(&line);
    }
    let status = child.wait().map_err(started)?;
    Ok((status, failures.all))
}

/// Finds the tests that failed in the output of `cargo test --no-fail-fast`.
#[derive(Default)]
struct Failures {
    /// The names since the last line `failures:`. A test program writes two such lines: before the output of failed
    /// tests, and before their names.
    names: Vec<String>,
    /// Whether this test program wrote such a line.
    listing: bool,
    all: Vec<Failed>,
}

impl Failures {
    fn read(&mut self, line: &str) {
        let line = line.trim_end();
        if line == "failures:" {
            self.names.clear();
            self.listing = true;
        } else if let Some((_, rest)) = line.split_once("to rerun pass `") {
            let program = rest.split('`').next().unwrap_or_default().to_owned();
            let names = std::mem::take(&mut self.names);
            self.listing = false;
            let failed = |name| Failed { program: program.clone(), name };
            if names.is_empty() {
                self.all.push(failed(None));
            }
            self.all.extend(names.into_iter().map(|name| failed(Some(name))));
        } else if let Some(name) = line.strip_prefix("    ").filter(|_| self.listing) {
            self.names.push(name.trim().to_owned());
        }
    }
}

impl Failed {
    /// Returns the command that runs only this test again.
    fn again(&self, profile: &[&str], variables: &[(&str, &OsStr)]) -> String {
        let variables = variables.iter().map(|(name, value)| format!("{name}={} ", quoted(&value.to_string_lossy())));
        let profile: String = profile.iter().map(|word| format!("{word} ")).collect();
        let test = self.name.as_ref().map(|name| format!(" -- --exact {}", quoted(name))).unwrap_or_default();
        // The program's tests were built with all features.
        let features = if self.program.starts_with("-p nestcast ") { " --features full" } else { "" };
        format!("{}cargo test --locked {profile}{}{features}{test}", variables.collect::<String>(), self.program)
    }
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_:/.-+=".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Prints which tests failed and how to repeat each; returns an error if there are any, or if cargo itself failed.
pub(crate) fn conclude(
    (status, failed): (ExitStatus, Vec<Failed>),
    profile: &[&str],
    variables: &[(&str, &OsStr)],
) -> Result<()> {
    if failed.is_empty() {
        return if status.success() {
            Ok(())
        } else {
            Err(Failure::say("the tests cannot be built: fix what cargo reports above"))
        };
    }
    eprintln!("\nwhat failed, and how to run it again (with RUST_BACKTRACE=1 before it for a backtrace):");
    for failed in &failed {
        eprintln!("  {}", failed.again(profile, variables));
    }
    Err(Failure::say(format!("{} failed: see the commands above", plural(failed.len(), "test"))))
}

fn plural(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// Runs the tests this many times next to a busy loop on every core, and prints how often each failed.
pub(crate) fn beside_busy_loops(times: u32, arguments: &[&str], variables: &[(&str, &OsStr)]) -> Result<()> {
    // Compiling is not part of the test.
    cargo::step(&[&["test", "--no-run"], arguments].concat(), variables)?;
    let stop = AtomicBool::new(false);
    let cores = cores();
    let mut counts = BTreeMap::<Failed, u32>::new();
    let outcome = thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    hint::spin_loop();
                }
            });
        }
        let outcome = (1..=times).try_for_each(|time| {
            eprintln!("run {time} of {times}, next to {}", plural(cores, "busy loop"));
            let (status, failed) = run(arguments, variables, |_| {})?;
            if failed.is_empty() && !status.success() {
                return Err(Failure::say("cargo failed: fix what it reports above"));
            }
            failed.into_iter().for_each(|failed| *counts.entry(failed).or_default() += 1);
            Ok(())
        });
        stop.store(true, Ordering::Relaxed);
        outcome
    });
    for (failed, count) in &counts {
        eprintln!("failed in {count} of {times} runs: {}", failed.again(&[], variables));
    }
    outcome?;
    if counts.is_empty() {
        eprintln!("no test failed in {}", plural(times as usize, "run"));
        return Ok(());
    }
    Err(Failure::say(format!("{} failed next to busy loops", plural(counts.len(), "test"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As cargo 1.95 writes it, with the words of a failed test in between.
    const OUTPUT: &str = "\
    Finished `test` profile [optimized] target(s) in 0.20s
     Running tests/live.rs (target/debug/deps/live-0)

running 2 tests
test first ... ok
test far::second ... FAILED

failures:

---- far::second stdout ----
thread 'far::second' panicked at tests/live.rs:1:
    indented words of its own

failures:
    far::second

test result: FAILED. 1 passed; 1 failed; 0 ignored

error: test failed, to rerun pass `-p nestcast-tests --test live`
     Running tests/peers.rs (target/debug/deps/peers-0)
    an indented word of a test that passed
test result: ok. 1 passed; 0 failed

     Running tests/order.rs (target/debug/deps/order-0)
error: test failed, to rerun pass `-p nestcast-tests --test order`

Caused by:
  process didn't exit successfully: `target/debug/deps/order-0` (signal: 6, SIGABRT: process abort signal)
error: 2 targets failed:
    `-p nestcast-tests --test live`
    `-p nestcast-tests --test order`
";

    #[test]
    fn what_failed_is_found_in_cargos_output() {
        let mut failures = Failures::default();
        OUTPUT.lines().for_each(|line| failures.read(line));
        let failed = |test: &str, name: Option<&str>| Failed {
            program: format!("-p nestcast-tests --test {test}"),
            name: name.map(str::to_owned),
        };
        assert_eq!(failures.all, [failed("live", Some("far::second")), failed("order", None)]);
    }

    #[test]
    fn the_command_that_runs_a_test_again_is_for_a_shell() {
        let failed = |program: &str, name: &str| Failed { program: program.to_owned(), name: Some(name.to_owned()) };
        let library = [("ORT_DYLIB_PATH", OsStr::new("/some folder/lib.so"))];
        assert_eq!(
            failed("-p nestcast-tests --test live", "far::second").again(&["--release"], &library),
            "ORT_DYLIB_PATH='/some folder/lib.so' cargo test --locked --release -p nestcast-tests --test live -- --exact \
             far::second"
        );
        assert_eq!(
            failed("-p nestcast-codec --doc", "codec/src/lib.rs - (line 16)").again(&[], &[]),
            "cargo test --locked -p nestcast-codec --doc -- --exact 'codec/src/lib.rs - (line 16)'"
        );
        let whole = Failed { program: "-p xtask --bin xtask".to_owned(), name: None };
        assert_eq!(whole.again(&[], &[]), "cargo test --locked -p xtask --bin xtask");
    }
}
