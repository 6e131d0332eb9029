//! Attacks at full length: hostile receivers and senders against real ones, with a table of the costs.

use std::ffi::OsStr;

use crate::{failure::Result, testing};

/// Runs one test at a time, because each measures the machine's cost.
const TEST_ARGUMENTS: [&str; 12] = [
    "--locked",
    "--release",
    "--no-fail-fast",
    "-p",
    "nestcast-tests",
    "--test",
    "attack_sender",
    "--test",
    "attack_receiver",
    "--",
    "--nocapture",
    "--test-threads=1",
];
/// Makes attacks as long and as large as the promised figures assume.
const FULL_VARIABLE: (&str, &str) = ("NESTCAST_ATTACK", "full");

/// Runs the attacks, and prints a table of figures at the end.
pub(crate) fn run() -> Result<()> {
    let variables = [(FULL_VARIABLE.0, OsStr::new(FULL_VARIABLE.1))];
    let mut scenarios = Scenarios::default();
    let outcome = testing::run(&TEST_ARGUMENTS, &variables, |line| scenarios.read(line))?;
    print!("{}", scenarios.table());
    testing::conclude(outcome, &["--release"], &variables)
}

/// The output of a test.
#[derive(Debug, Default, PartialEq, Eq)]
struct Scenario {
    name: String,
    /// Each line that it printed: a figure, and its limit after `; bound: `.
    figures: Vec<String>,
    passed: Option<bool>,
}

/// Finds scenarios and figures in the output of tests that run one by one without capture.
#[derive(Default)]
struct Scenarios(Vec<Scenario>);

impl Scenarios {
    fn read(&mut self, line: &str) {
        let mut said = line.trim();
        // The test's name, followed on the same line by the first of its output.
        if let Some((name, rest)) = said.strip_prefix("test ").and_then(|rest| rest.split_once(" ...")) {
            self.0.push(Scenario { name: name.to_owned(), ..Scenario::default() });
            said = rest.trim();
        }
        let Some(scenario) = self.0.last_mut().filter(|scenario| scenario.passed.is_none()) else { return };
        match said {
            "" => {}
            "ok" => scenario.passed = Some(true),
            "FAILED" => scenario.passed = Some(false),
            _ => scenario.figures.push(said.to_owned()),
        }
    }

    /// Returns the table in Markdown.
    fn table(&self) -> String {
        let mut table = "\n| scenario | figure | bound | passed |\n|---|---|---|---|\n".to_owned();
        for Scenario { name, figures, passed } in &self.0 {
            let passed = match passed {
                Some(true) => "yes",
                Some(false) => "no",
                None => "broke off",
            };
            let mut name = name.replace('_', " ");
            let none = ["-".to_owned()];
            for figure in if figures.is_empty() { &none[..] } else { figures } {
                let (figure, bound) = figure.split_once("; bound: ").unwrap_or((figure, "the test's"));
                let row = [&*name, figure, bound, passed].map(|cell| cell.replace('|', "/"));
                table += &format!("| {} |\n", row.join(" | "));
                name.clear();
            }
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
running 3 tests
test strangers::keep_nobody_out ... 1000 strangers: let in after 0.2 s; bound: 1 s
30.0 frames a second; bound: 28.5
ok
test nothing_to_say ... ok
test it_fails ... 900 MB
thread 'it_fails' panicked at tests/attack_sender.rs:1:
FAILED

failures:

failures:
    it_fails

test result: FAILED. 2 passed; 1 failed; 0 ignored
";

    #[test]
    fn figures_stand_beside_their_bounds() {
        let mut scenarios = Scenarios::default();
        OUTPUT.lines().for_each(|line| scenarios.read(line));
        let expected = "
| scenario | figure | bound | passed |
|---|---|---|---|
| strangers::keep nobody out | 1000 strangers: let in after 0.2 s | 1 s | yes |
|  | 30.0 frames a second | 28.5 | yes |
| nothing to say | - | the test's | yes |
| it fails | 900 MB | the test's | no |
|  | thread 'it_fails' panicked at tests/attack_sender.rs:1: | the test's | no |
";
        assert_eq!(scenarios.table(), expected);
    }
}
