//! The bindings for C and Python: builds both, tests both, and makes wheels. That for GStreamer has a file of its own.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    cargo::{self, cargo},
    failure::{Failure, Result},
    gstreamer,
    platform::RUNTIME_VARIABLE,
    programs,
    python::Python,
    runtime::{self, target_folder},
    skips::{may_skip, skip},
};

/// The packages of Python that the build and the tests need.
const REQUIREMENTS_FILE: &str = "bindings/requirements.txt";
/// The plugin of pytest that makes a failure of skipped tests, and its folder.
const NO_SKIPS_PLUGIN: [&str; 2] = ["no_skips", "bindings"];
/// It makes the header of C. It is a program and no dependency, as its licence is none that crates may have here.
const INSTALL_CBINDGEN: [&str; 6] = ["install", "cbindgen", "--version", "=0.29.4", "--locked", "--debug"];
const C_HEADER: &str = "bindings/c/include/nestcast.h";
/// The packages that contain zig, which links wheels for old systems and for another processor.
const ZIG_PACKAGE: &str = "ziglang==0.15.1";
/// The targets of the wheels.
const WHEEL_TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

/// Builds and tests both; with `--header`, writes the header of C.
pub(crate) fn run(arguments: &[OsString]) -> Result<()> {
    let words: Vec<_> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    match words.as_slice() {
        [] if arguments.is_empty() => test().and_then(|()| gstreamer::test()),
        ["gstreamer"] => gstreamer::test(),
        ["--header"] => header(false),
        _ => Err(Failure::Usage("`bindings` takes nothing, `gstreamer`, or `--header`".to_owned())),
    }
}

fn test() -> Result<()> {
    let packages = match Packages::install() {
        Ok(packages) => packages,
        Err(why) => {
            return skip(&format!("the bindings for Python and C, because their tests need Python: {}", why.line()));
        }
    };
    let library = runtime::ensure()?;
    packages.install_wheel(&packages.wheel(&["--profile", "dev"], "bindings/wheels")?)?;
    cargo::step(&["build", "--locked", "--package", "nestcast-sender", "--example", "several"], &[])?;
    let several = target_folder()?.join(format!("debug/examples/several{}", env::consts::EXE_SUFFIX));
    let several = ("NESTCAST_SEVERAL", several.as_os_str());
    packages.test("bindings/python/tests", &[(RUNTIME_VARIABLE, library.as_os_str()), several])?;
    if !programs::starts("cc") {
        return skip("the bindings for C, whose tests need a C compiler");
    }
    header(true)?;
    cargo::step(&["build", "--locked", "--package", "nestcast-c"], &[])?;
    let staged = stage()?;
    packages.test("bindings/c/tests", &[("NESTCAST_C", staged.as_os_str()), several])
}

/// Makes release wheels for every target, into `target/wheels`.
pub(crate) fn wheels() -> Result<()> {
    let packages = Packages::install()?;
    // pip replaces the folder of programs in its target, so maturin and zig each need a target of their own.
    packages.pip(&packages.zig, &["--upgrade", ZIG_PACKAGE].map(OsStr::new))?;
    for target in WHEEL_TARGETS {
        cargo::add_target(target).map_err(|why| Failure::say(format!("cannot build for {target}: {why}")))?;
        let wheel = packages.wheel(&["--release", "--strip", "--zig", "--target", target], "wheels")?;
        println!("{}", wheel.display());
    }
    Ok(())
}

/// A folder of Python packages below `target`, which leaves the user's own alone.
struct Packages {
    python: Python,
    folder: PathBuf,
    /// Where `wheels` installs zig.
    zig: PathBuf,
}

impl Packages {
    /// Installs what is missing.
    fn install() -> Result<Self> {
        let python = Python::find()?;
        let requirements = cargo::root().join(REQUIREMENTS_FILE);
        let wanted = fs::read_to_string(&requirements).map_err(Failure::at(&requirements))?;
        let [folder, zig] =
            ["bindings/packages", "bindings/zig"].map(|folder| target_folder().map(|it| it.join(folder)));
        let packages = Self { python, folder: folder?, zig: zig? };
        let stamp = packages.folder.join("installed");
        let is_there = packages.maturin().exists();
        if is_there && fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(packages);
        }
        let options = ["--upgrade".as_ref(), "--no-compile".as_ref(), "-r".as_ref(), requirements.as_os_str()];
        packages.pip(&packages.folder, &options)?;
        fs::write(&stamp, wanted).map_err(Failure::at(&stamp))?;
        Ok(packages)
    }

    fn maturin(&self) -> PathBuf {
        self.folder.join("bin").join("maturin")
    }

    /// Installs into a folder.
    fn pip(&self, folder: &Path, arguments: &[&OsStr]) -> Result<()> {
        let mut command = self.python.command();
        command.args(["-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet"]);
        // The user's own packages are of no account here.
        command.args(["--no-warn-conflicts", "--root-user-action", "ignore"]);
        command.arg("--target").arg(folder).args(arguments).env("PIP_REQUIRE_VIRTUALENV", "0");
        succeed(&mut command, "pip cannot install the packages: check the network and repeat")
    }

    /// Builds a wheel into a folder below `target` that has no other of its kind, and returns its path.
    fn wheel(&self, options: &[&str], folder: &str) -> Result<PathBuf> {
        let built = target_folder()?.join(folder).join(options.last().copied().unwrap_or_default());
        if built.exists() {
            fs::remove_dir_all(&built).map_err(Failure::at(&built))?;
        }
        let paths = env::join_paths([&self.folder, &self.zig]).map_err(|error| Failure::say(error.to_string()))?;
        let mut maturin = Command::new(self.maturin());
        maturin.current_dir(cargo::root()).env("PYTHONPATH", paths);
        maturin.args(["build", "--locked", "--quiet", "--manifest-path", "bindings/python/Cargo.toml", "--out"]);
        maturin.arg(&built).args(options);
        succeed(&mut maturin, "maturin cannot build the package: fix what it reports above")?;
        let entries = fs::read_dir(&built).map_err(Failure::at(&built))?;
        let wheels = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let wheel = wheels.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "whl"));
        wheel.ok_or_else(|| Failure::say(format!("maturin left no wheel in {}", built.display())))
    }

    fn install_wheel(&self, wheel: &Path) -> Result<()> {
        self.pip(&self.folder, &["--upgrade".as_ref(), "--no-deps".as_ref(), wheel.as_os_str()])
    }

    /// Runs the tests of a folder.
    fn test(&self, folder: &str, variables: &[(&str, &OsStr)]) -> Result<()> {
        let mut command = self.python.command();
        command.args(["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", folder]);
        let [plugin, plugins] = NO_SKIPS_PLUGIN;
        if !may_skip() {
            command.args(["-p", plugin]);
        }
        let paths = env::join_paths([&self.folder, &cargo::root().join(plugins)]);
        let paths = paths.map_err(|error| Failure::say(error.to_string()))?;
        command.current_dir(cargo::root()).env("PYTHONPATH", paths).env("PYTHONDONTWRITEBYTECODE", "1");
        command.envs(variables.iter().copied());
        succeed(&mut command, &format!("tests of {folder} failed: see above"))
    }
}

fn succeed(command: &mut Command, otherwise: &str) -> Result<()> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(Failure::say(otherwise)),
        Err(error) => Err(Failure::say(format!("{} cannot be started: {error}", command.get_program().display()))),
    }
}

/// Checks that the committed header is that of the sources, or writes it.
fn header(check: bool) -> Result<()> {
    let tools = target_folder()?.join("tools");
    let program = tools.join("bin").join(format!("cbindgen{}", env::consts::EXE_SUFFIX));
    if !program.exists() {
        let mut install = cargo();
        install.args(INSTALL_CBINDGEN).arg("--root").arg(&tools).arg("--target-dir").arg(tools.join("build"));
        succeed(install.arg("--quiet"), "cbindgen cannot be installed: check the network and repeat")?;
    }
    let mut cbindgen = Command::new(program);
    cbindgen.current_dir(cargo::root()).args(["--quiet", "--config", "bindings/c/cbindgen.toml", "bindings/c"]);
    cbindgen.args(["--output", C_HEADER]).args(check.then_some("--verify"));
    succeed(&mut cbindgen, "bindings/c/include/nestcast.h is not of these sources: run `cargo xtask bindings --header`")
}

/// Puts header, libraries and the file of pkg-config into one folder, as an installation would.
fn stage() -> Result<PathBuf> {
    let target = target_folder()?;
    let (folder, built) = (target.join("bindings/c"), target.join("debug"));
    let copy = |from: &Path, to: &Path| {
        fs::create_dir_all(to.parent().unwrap_or(to)).map_err(Failure::at(to))?;
        fs::copy(from, to).map(drop).map_err(Failure::at(from))
    };
    copy(&cargo::root().join(C_HEADER), &folder.join("include/nestcast.h"))?;
    let shared = format!("{}nestcast{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    for library in ["libnestcast.a", &shared] {
        copy(&built.join(library), &folder.join("lib").join(library))?;
    }
    let description = folder.join("lib/pkgconfig/nestcast.pc");
    fs::create_dir_all(folder.join("lib/pkgconfig")).map_err(Failure::at(&folder))?;
    fs::write(&description, pkg_config()).map_err(Failure::at(&description))?;
    Ok(folder)
}

/// Describes the libraries by paths from the file itself, so that the folder can move.
fn pkg_config() -> String {
    format!(
        "prefix=${{pcfiledir}}/../..\n\
         includedir=${{prefix}}/include\n\
         libdir=${{prefix}}/lib\n\
         \n\
         Name: nestcast\n\
         Description: Pictures and video as one embedded stream: every prefix, cut at any byte, decodes\n\
         Version: {}\n\
         Libs: -L${{libdir}} -lnestcast\n\
         Libs.private: -lpthread -ldl -lm\n\
         Cflags: -I${{includedir}}\n",
        env!("CARGO_PKG_VERSION")
    )
}
