//! Bit-exactness: builds for several processors must give the same digests of `tests/bitexact`.

use std::{
    collections::BTreeMap,
    env::{self, consts::ARCH},
    panic::resume_unwind,
    sync::{Mutex, PoisonError},
    thread,
};

use crate::{
    cargo,
    failure::{Failure, Result},
    programs, runtime,
};

const AARCH64_TARGET: &str = "aarch64-unknown-linux-gnu";
/// The commands that cross-building and running need, with their Debian packages.
const CROSS_COMMANDS: [(&str, &str); 2] =
    [("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"), ("qemu-aarch64", "qemu-user")];
/// The linker and the runner for cross-builds.
const CROSS_VARIABLES: [(&str, &str); 2] = [
    ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc"),
    ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", "qemu-aarch64 -L /usr/aarch64-linux-gnu"),
];
/// WebAssembly; Node.js provides the system's interface. Without the flag, Node.js 20 sometimes crashes in calls of
/// that interface.
const WASM_TARGET: &str = "wasm32-wasip1";
const WASM_VARIABLES: [(&str, &str); 1] =
    [("CARGO_TARGET_WASM32_WASIP1_RUNNER", "node --no-warnings --no-turbo-fast-api-calls tests/bitexact/wasi.mjs")];

const ALL_THREADS: &[&str] = &["1", "2", "3", "4", "5", "6", "7"];
/// For further builds: the effect of threads does not depend on the processor.
const THREE_THREADS: &[&str] = &["3"];
/// For targets without threads.
const ONE_THREAD: &[&str] = &["1"];

/// One way to build the program that prints digests.
struct Build {
    name: String,
    /// Arguments in addition to the common ones.
    arguments: &'static [&'static str],
    /// Optimisation across crates. One build has it as users do; without it, a build takes a fifth less time.
    lto: &'static str,
    /// Flags of rustc.
    flags: &'static str,
    /// Variables in addition to the environment's.
    variables: &'static [(&'static str, &'static str)],
    threads: &'static [&'static str],
    photos: Photos,
    /// Whether it shows frames in more than 8 bits.
    has_deep: bool,
    /// Why this machine cannot run it.
    lacks: Option<String>,
}

/// The photos among the pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Photos {
    Three,
    /// For runs that are thirty times as slow.
    One,
}

/// Disables the code that `codec/src/simd.rs` compiles for processors with AVX2.
const WITHOUT_AVX2: &str = "--cfg disable_dispatch_avx2";

/// The digests by their inputs.
type Digests = BTreeMap<String, String>;

/// How many builds are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Also without AVX2, for this processor alone, with optimisation across crates, and with none.
    All,
    /// One for each set of vector instructions that people have, with one photo.
    EachInstructionSet,
}

/// Builds and runs everything that this machine allows, prints what it skipped, and fails where digests differ.
pub(crate) fn run(extent: Extent) -> Result<()> {
    let mut first = None::<(String, Digests)>;
    let mut same = 0;
    for (build, printed) in two_at_a_time(builds(extent)) {
        let Some(printed) = printed else {
            println!("skipped: {}: {}", build.name, build.lacks.unwrap_or_default());
            continue;
        };
        let digests = merge(&build.name, &printed?)?;
        println!("{}: {} digests on {} threads", build.name, digests.len(), build.threads.join(", "));
        match &first {
            None => first = Some((build.name, digests)),
            Some((of, expected)) => compare((of, expected), (&build.name, &digests), (build.photos, build.has_deep))?,
        }
        same += 1;
    }
    println!("bit-exact: streams, coefficients, planes, pictures and videos are the same in {same} builds");
    Ok(())
}

/// Returns the output of each build that this machine allows. Two run at a time, because compilers of one large crate,
/// linkers and Node.js use one thread.
fn two_at_a_time(builds: Vec<Build>) -> Vec<(Build, Option<Result<String>>)> {
    let queue = Mutex::new(builds.iter().enumerate().filter(|(_, build)| build.lacks.is_none()));
    let work = || {
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        std::iter::from_fn(next).map(|(at, build)| (at, build.run())).collect::<Vec<_>>()
    };
    let mut printed: BTreeMap<_, _> = thread::scope(|scope| {
        let other = scope.spawn(work);
        let own = work();
        own.into_iter().chain(other.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    builds.into_iter().enumerate().map(|(at, build)| (build, printed.remove(&at))).collect()
}

fn builds(extent: Extent) -> Vec<Build> {
    let aarch64 = Build {
        arguments: &["--release", "--target", AARCH64_TARGET],
        variables: &CROSS_VARIABLES,
        lacks: lacks_cross(),
        ..Build::release("aarch64 under qemu, release", "")
    };
    let wasm32 = Build {
        arguments: &["--release", "--target", WASM_TARGET],
        variables: &WASM_VARIABLES,
        threads: ONE_THREAD,
        has_deep: false,
        lacks: lacks_wasm(),
        ..Build::release("wasm32 under Node.js, release", "")
    };
    if extent == Extent::EachInstructionSet {
        // The one that takes longest to run is first.
        let own = Build::release(format!("{ARCH}, release"), "");
        return [aarch64, own, wasm32].map(|build| Build { photos: Photos::One, ..build }).into();
    }
    vec![
        Build { threads: ALL_THREADS, ..Build::release(format!("{ARCH} baseline, release"), WITHOUT_AVX2) },
        Build {
            lto: "thin",
            lacks: lacks_avx2(),
            ..Build::release("x86-64 as users have it, with AVX2 at run time, release", "")
        },
        Build::release(format!("{ARCH} native, release"), "-Ctarget-cpu=native"),
        Build {
            arguments: &["--config", "profile.dev.package.nestcast-codec.opt-level=0"],
            photos: Photos::One,
            ..Build::release(format!("{ARCH} baseline, debug, codec not optimised"), WITHOUT_AVX2)
        },
        aarch64,
        wasm32,
    ]
}

/// Returns what this machine lacks to run code for AVX2, if anything.
fn lacks_avx2() -> Option<String> {
    #[cfg(target_arch = "x86_64")]
    let has_it =
        is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("bmi2");
    #[cfg(not(target_arch = "x86_64"))]
    let has_it = false;
    (!has_it).then(|| "this processor has no AVX2: run it on an x86-64 machine that has".to_owned())
}

/// Returns what this machine lacks to build for WebAssembly and run it, if anything.
fn lacks_wasm() -> Option<String> {
    if !programs::starts("node") {
        return Some("install Node.js 20 or later".to_owned());
    }
    cargo::add_target(WASM_TARGET).err().map(|why| format!("Rust's library for {WASM_TARGET} cannot be had: {why}"))
}

/// Returns what this machine lacks to build for aarch64 and run it, if anything.
fn lacks_cross() -> Option<String> {
    if env::consts::OS != "linux" || ARCH == "aarch64" {
        return Some("it is for Linux on another processor".to_owned());
    }
    let missing: Vec<_> = CROSS_COMMANDS
        .into_iter()
        .filter(|(command, _)| !programs::starts(command))
        .map(|(_, package)| package)
        .collect();
    if !missing.is_empty() {
        return Some(format!("install what Debian calls {}", missing.join(" ")));
    }
    cargo::add_target(AARCH64_TARGET)
        .err()
        .map(|why| format!("Rust's library for {AARCH64_TARGET} cannot be had: {why}"))
}

impl Build {
    /// Describes an optimised build for this machine's kind of processor.
    fn release(name: impl Into<String>, flags: &'static str) -> Self {
        Self {
            name: name.into(),
            arguments: &["--release"],
            lto: "off",
            flags,
            variables: &[],
            threads: THREE_THREADS,
            photos: Photos::Three,
            has_deep: true,
            lacks: None,
        }
    }

    /// Returns the program's output.
    fn run(&self) -> Result<String> {
        // Each build has its own folder, because builds with other flags would replace each other.
        let folder: String = self.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let output = cargo::cargo()
            .args(["run", "--locked", "--quiet", "--package", "nestcast-bitexact", "--target-dir"])
            .arg(runtime::target_folder()?.join("bitexact").join(folder))
            .args(self.arguments)
            .arg("--")
            .arg(if self.photos == Photos::Three { "3" } else { "1" })
            .args(self.threads)
            // The code does not depend on it, and nobody debugs it.
            .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
            .env("CARGO_PROFILE_RELEASE_LTO", self.lto)
            .env("RUSTFLAGS", self.flags)
            .envs(self.variables.iter().copied())
            .output()
            .map_err(|error| Failure::say(format!("cargo cannot be started: {error}; install Rust")))?;
        if !output.status.success() {
            return Err(Failure::say(format!("{}: {}", self.name, cargo::last_line(&output))));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Returns the digests of one run; different numbers of threads must agree.
fn merge(build: &str, printed: &str) -> Result<Digests> {
    let mut digests = Digests::new();
    for line in printed.lines() {
        let [what, threads, digest] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(Failure::say(format!("{build}: {line:?} is no line of digests")));
        };
        let before = digests.entry(what.to_owned()).or_insert_with(|| digest.to_owned());
        if before != digest {
            return Err(Failure::say(format!("{build}: {what} differs with {threads} threads: mend the codec")));
        }
    }
    if digests.is_empty() {
        return Err(Failure::say(format!("{build}: no digest was printed")));
    }
    Ok(digests)
}

fn compare(
    (of, expected): (&str, &Digests),
    (build, digests): (&str, &Digests),
    (photos, has_deep): (Photos, bool),
) -> Result<()> {
    let may_lack =
        |what: &str| photos == Photos::One && what.contains(".png ") || !has_deep && what.ends_with(", deep");
    let left_out = |what: &str| may_lack(what) && !digests.contains_key(what);
    let differing: Vec<_> = expected
        .iter()
        .filter(|(what, digest)| digests.get(*what) != Some(digest) && !left_out(what))
        .map(|(what, _)| what.as_str())
        .chain(digests.keys().filter(|what| !expected.contains_key(*what)).map(String::as_str))
        .collect();
    match differing.first() {
        None => Ok(()),
        Some(first) => Err(Failure::say(format!(
            "{build} differs from {of} in {} of {} digests, the first of which is {first}: mend the codec",
            differing.len(),
            expected.len()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_difference_is_found() {
        let digests = |printed| merge("a build", printed);
        let once = digests("a\t1\t00\nb\t1\t01\na\t7\t00\nb\t7\t01\n").expect("threads agree");
        assert_eq!(once.len(), 2);
        assert!(
            digests("a\t1\t00\na\t7\t01\n").is_err_and(|why| format!("{why:?}").contains("a differs with 7 threads"))
        );
        assert!(digests("").is_err() && digests("a\t1\n").is_err());
        let compared = |other: &Digests, photos| compare(("one", &once), ("two", other), (photos, true));
        assert_eq!(compared(&once, Photos::Three), Ok(()));
        for other in ["a\t1\t00\nb\t1\t02\n", "a\t1\t00\n", "a\t1\t00\nb\t1\t01\nc\t1\t03\n"] {
            let other = digests(other).expect("threads agree");
            assert!(compared(&other, Photos::Three).is_err() && compared(&other, Photos::One).is_err(), "{other:?}");
        }
        let all = digests("a\t1\t00\nb.png stream\t1\t01\n").expect("threads agree");
        for (other, good) in
            [("a\t1\t00\n", true), ("a\t1\t00\nb.png stream\t1\t02\n", false), ("b.png stream\t1\t01\n", false)]
        {
            let other = digests(other).expect("threads agree");
            assert!(compare(("all", &all), ("other", &other), (Photos::Three, true)).is_err());
            assert_eq!(compare(("all", &all), ("other", &other), (Photos::One, true)).is_ok(), good);
        }
        let deep = digests("a\t1\t00\na, deep\t1\t01\n").expect("threads agree");
        let plain = digests("a\t1\t00\n").expect("threads agree");
        for (has_deep, good) in [(true, false), (false, true)] {
            assert_eq!(compare(("deep", &deep), ("plain", &plain), (Photos::Three, has_deep)).is_ok(), good);
        }
    }
}
