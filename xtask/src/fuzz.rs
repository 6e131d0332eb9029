//! `cargo xtask fuzz`: cargo-fuzz on the targets of `fuzz/`, each for a limited time.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    cargo::{self, cargo, last_line},
    failure::{Failure, Result},
    runtime::target_folder,
};

/// The fuzzer's driver, as cargo installs it.
const CARGO_FUZZ: [&str; 5] = ["install", "cargo-fuzz", "--version", "0.13.2", "--locked"];
/// Without a sanitizer the targets build with a stable compiler. No code is unsafe, and overflows and debug assertions
/// panic.
const BUILD_ARGUMENTS: [&str; 7] =
    ["--fuzz-dir", "fuzz", "--sanitizer", "none", "--no-trace-compares", "--features", "libfuzzer"];
/// Seconds spent on making a finding smaller.
const SHRINKING_SECONDS: u32 = 60;
/// The longest input in bytes: longer ones reach nothing more and cost time. An input that needs 10 seconds or a
/// gigabyte is a finding.
const INPUT_LIMITS: [&str; 3] = ["-max_len=1024", "-timeout=10", "-rss_limit_mb=1024"];

/// The request.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    target: Option<String>,
    minutes: u32,
    keep: bool,
}

impl Plan {
    fn parse(arguments: &[OsString]) -> Result<Self> {
        let usage = |why: String| Failure::Usage(format!("`fuzz`: {why}"));
        let mut plan = Self { target: None, minutes: 1, keep: false };
        let mut arguments = arguments.iter().map(|argument| argument.to_string_lossy());
        while let Some(argument) = arguments.next() {
            match &*argument {
                "--minutes" => {
                    let minutes = arguments.next().and_then(|minutes| minutes.parse().ok());
                    let minutes = minutes.filter(|minutes| (1..=1440).contains(minutes));
                    plan.minutes = minutes.ok_or_else(|| usage("--minutes takes a number of 1 to 1440".to_owned()))?;
                }
                "--keep" => plan.keep = true,
                name if plan.target.is_none() && !name.starts_with('-') => plan.target = Some(name.to_owned()),
                other => return Err(usage(format!("it has no use for `{other}`"))),
            }
        }
        Ok(plan)
    }
}

pub(crate) fn run(arguments: &[OsString]) -> Result<()> {
    let plan = Plan::parse(arguments)?;
    let known = targets()?;
    let chosen: Vec<&String> =
        known.iter().filter(|name| plan.target.as_ref().is_none_or(|own| own == *name)).collect();
    if chosen.is_empty() {
        return Err(Failure::Usage(format!("`fuzz` has no such target; it has {}", known.join(", "))));
    }
    install()?;
    let mut found = Vec::new();
    for name in chosen {
        let target = Target::new(name)?;
        println!("{name}: building, then fuzzing on one core, minutes: {}", plan.minutes);
        found.extend(target.fuzz(plan.minutes)?);
        if plan.keep {
            target.keep()?;
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    Err(Failure::say(format!(
        "mend each finding at its cause, and commit it with a telling name: {}",
        found.join(", ")
    )))
}

/// Returns the targets: the programs in `fuzz/fuzz_targets`.
fn targets() -> Result<Vec<String>> {
    let folder = root().join("fuzz/fuzz_targets");
    let entries = fs::read_dir(&folder).map_err(Failure::at(&folder))?;
    let names = entries.filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned()));
    let mut names: Vec<_> = names.collect();
    names.sort();
    Ok(names)
}

/// Installs cargo-fuzz from the registry, if it is missing.
fn install() -> Result<()> {
    if cargo().args(["fuzz", "--version"]).output().is_ok_and(|output| output.status.success()) {
        return Ok(());
    }
    println!("cargo-fuzz is not installed: running `cargo {}`", CARGO_FUZZ.join(" "));
    cargo::step(&CARGO_FUZZ, &[])
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// One target's folders: the committed one, and those that fuzzing fills.
struct Target<'a> {
    name: &'a str,
    work: PathBuf,
}

impl<'a> Target<'a> {
    fn new(name: &'a str) -> Result<Self> {
        let work = target_folder()?.join("fuzz");
        for folder in ["corpus", "artifacts", "smallest"] {
            let folder = work.join(folder).join(name);
            fs::create_dir_all(&folder).map_err(Failure::at(&folder))?;
        }
        Ok(Self { name, work })
    }

    fn committed(&self, kind: &str) -> PathBuf {
        root().join("fuzz").join(kind).join(self.name)
    }

    fn made(&self, kind: &str) -> PathBuf {
        self.work.join(kind).join(self.name)
    }

    /// Runs the fuzzer, prints one line, and returns the finding, if any, made smaller.
    fn fuzz(&self, minutes: u32) -> Result<Option<String>> {
        let prefix = format!("-artifact_prefix={}/", self.made("artifacts").display());
        let time = format!("-max_total_time={}", 60 * minutes);
        let corpora = [self.made("corpus"), self.committed("corpus"), self.committed("findings")];
        let corpora: Vec<_> = corpora.iter().filter(|folder| folder.is_dir()).map(PathBuf::as_path).collect();
        let arguments = [&INPUT_LIMITS[..], &[&prefix, &time, "-print_final_stats=1"]].concat();
        let (said, fine) = self.program(&corpora, &arguments)?;
        println!("{}: {}", self.name, Figures::of(&said));
        match said.lines().find_map(|line| line.split_once("Test unit written to ")) {
            Some((_, artifact)) => self.shrink(Path::new(artifact.trim())).map(Some),
            None if fine => Ok(None),
            None => Err(Failure::say(format!("{}: cargo-fuzz failed:\n{said}", self.name))),
        }
    }

    /// Adds a smaller input that also fails to the findings.
    fn shrink(&self, artifact: &Path) -> Result<String> {
        let findings = self.committed("findings");
        fs::create_dir_all(&findings).map_err(Failure::at(&findings))?;
        let file = artifact.file_name().unwrap_or_default();
        let kept = findings.join(file);
        fs::copy(artifact, &kept).map_err(Failure::at(artifact))?;
        let exact = format!("-exact_artifact_path={}", kept.display());
        let time = format!("-max_total_time={SHRINKING_SECONDS}");
        // It ends with an error once it finds nothing smaller.
        self.program(&[artifact], &["-minimize_crash=1", &time, &exact])?;
        let kept = format!("fuzz/findings/{}/{}", self.name, file.display());
        println!("{}: a finding: {kept}", self.name);
        println!("  run it again: cargo test -p nestcast-fuzz --test corpus {}", self.name);
        Ok(kept)
    }

    /// Reduces the committed corpus to the smallest set of inputs that reaches all edges of both corpora.
    fn keep(&self) -> Result<()> {
        let smallest = self.made("smallest");
        let committed = self.committed("corpus");
        fs::remove_dir_all(&smallest).and_then(|()| fs::create_dir(&smallest)).map_err(Failure::at(&smallest))?;
        let from = [&*smallest, &*self.made("corpus"), &*committed];
        let (said, fine) = self.program(&from, &["-set_cover_merge=1", "-use_counters=0", INPUT_LIMITS[0]])?;
        if !fine {
            return Err(Failure::say(format!("{}: the corpora cannot be merged:\n{said}", self.name)));
        }
        fs::remove_dir_all(&committed).and_then(|()| fs::create_dir(&committed)).map_err(Failure::at(&committed))?;
        let entries = fs::read_dir(&smallest).map_err(Failure::at(&smallest))?;
        for entry in entries.flatten() {
            // Half of the hash that libFuzzer uses as a name.
            let name = entry.file_name().to_string_lossy().chars().take(20).collect::<String>();
            fs::copy(entry.path(), committed.join(name)).map_err(Failure::at(&committed))?;
        }
        Ok(())
    }

    /// Runs the target's program; returns its output, and whether it succeeded.
    fn program(&self, inputs: &[&Path], arguments: &[&str]) -> Result<(String, bool)> {
        let folder = self.work.as_os_str();
        let output = Command::new("cargo")
            .args(["fuzz", "run"])
            .args(BUILD_ARGUMENTS)
            .arg("--target-dir")
            .arg(folder)
            .arg(self.name)
            .args(inputs)
            .arg("--")
            .args(arguments)
            .current_dir(root())
            // Optimising twelve programs as one unit each while linking costs more time than it saves.
            .env("CARGO_PROFILE_RELEASE_LTO", "off")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Failure::say(format!("cargo cannot be started: {error}; install Rust")))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if said.is_empty() {
            return Err(Failure::say(format!("{}: cargo-fuzz said nothing: {}", self.name, last_line(&output))));
        }
        Ok((said, output.status.success()))
    }
}

/// libFuzzer's counts.
#[derive(Debug, Default, PartialEq, Eq)]
struct Figures {
    executions: u64,
    a_second: u64,
    edges: u64,
}

impl Figures {
    fn of(said: &str) -> Self {
        let number = |before: &str| {
            let after = said.rsplit_once(before)?.1.trim_start();
            after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        };
        Self {
            executions: number("stat::number_of_executed_units:").unwrap_or(0),
            a_second: number("stat::average_exec_per_sec:").unwrap_or(0),
            edges: number(" cov:").unwrap_or(0),
        }
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} executions, {} a second, {} edges reached", self.executions, self.a_second, self.edges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(words: &[&str]) -> Result<Plan> {
        Plan::parse(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_plan_is_a_target_or_all_and_a_bounded_time() {
        assert_eq!(plan(&[]), Ok(Plan { target: None, minutes: 1, keep: false }));
        let own = Plan { target: Some("decode".to_owned()), minutes: 30, keep: true };
        assert_eq!(plan(&["--keep", "decode", "--minutes", "30"]), Ok(own));
        for wrong in [&["--minutes"][..], &["--minutes", "0"], &["--minutes", "x"], &["a", "b"], &["--what"]] {
            assert!(matches!(plan(wrong), Err(Failure::Usage(_))), "{wrong:?}");
        }
    }

    #[test]
    fn figures_are_the_last_that_were_said() {
        let said = "#12\tNEW    cov: 100 ft: 110\n#99\tDONE   cov: 431 ft: 900 corp: 7/99b exec/s: 49\n\
                    stat::number_of_executed_units: 99\nstat::average_exec_per_sec:     49\n";
        assert_eq!(Figures::of(said), Figures { executions: 99, a_second: 49, edges: 431 });
        assert_eq!(Figures::of("error: no such target"), Figures::default());
    }
}
