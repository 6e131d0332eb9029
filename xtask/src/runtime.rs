//! Makes sure that ONNX Runtime is available: finds it, or fetches, checks and installs it in one step.

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    path::{Path, PathBuf},
    process,
};

use crate::{
    failure::{Failure, Result},
    install,
    platform::{self, Platform, RUNTIME_VARIABLE, RUNTIME_VERSION},
    python::Python,
};

/// The name of the folders of fetches in progress, followed by the process.
const PARTIAL_PREFIX: &str = "partial-";

/// Returns the library's absolute path. Fetches the library if it is missing; prints nothing otherwise.
pub(crate) fn ensure() -> Result<PathBuf> {
    match explicit(env::var_os(RUNTIME_VARIABLE))? {
        Some(library) => Ok(library),
        None => pinned(),
    }
}

/// As [`ensure`], for programs that decode without the library too: one that cannot be had is a note. One that
/// [`RUNTIME_VARIABLE`] names must exist.
pub(crate) fn ensure_if_possible() -> Result<Option<PathBuf>> {
    match explicit(env::var_os(RUNTIME_VARIABLE))? {
        Some(library) => Ok(Some(library)),
        None => Ok(or_note(pinned(), |note| eprintln!("{note}"))),
    }
}

fn or_note(library: Result<PathBuf>, tell: impl FnOnce(String)) -> Option<PathBuf> {
    library
        .map_err(|failure| {
            tell(format!("note: without ONNX Runtime, pictures are decoded by the linear decoder: {}", failure.line()))
        })
        .ok()
}

/// Copies the pinned library to the place where an installed nestcast looks for it.
pub(crate) fn install_for_user() -> Result<()> {
    let cached = in_user_cache()
        .ok_or_else(|| Failure::say("no cache folder: set HOME (on Windows LOCALAPPDATA)".to_owned()))?;
    let library = pinned()?;
    if library != cached {
        let bytes = fs::read(&library).map_err(Failure::at(&library))?;
        install::atomically(&cached, &bytes).map_err(Failure::at(&cached))?;
    }
    eprintln!("ONNX Runtime {RUNTIME_VERSION} is in {}", cached.display());
    Ok(())
}

/// Returns the library that [`RUNTIME_VARIABLE`] names. It must exist, because another library in its place would be a
/// surprise.
fn explicit(value: Option<OsString>) -> Result<Option<PathBuf>> {
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    // Absolute, because tests run in their package's folder.
    let library = std::path::absolute(&value).map_err(Failure::at(Path::new(&value)))?;
    if library.is_file() {
        return Ok(Some(library));
    }
    Err(Failure::say(format!(
        "{RUNTIME_VARIABLE} names {}, which is not a file: correct it or unset it",
        library.display()
    )))
}

/// Returns the pinned release from the user's cache or the target folder, or fetches it into the target folder.
fn pinned() -> Result<PathBuf> {
    let Some(platform) = Platform::host() else {
        return Err(Failure::say(format!(
            "no ONNX Runtime package for {}-{} is known: set {RUNTIME_VARIABLE} to an ONNX Runtime library, 1.24 or newer",
            env::consts::OS,
            env::consts::ARCH
        )));
    };
    let release = target_folder()?.join("onnxruntime").join(RUNTIME_VERSION);
    let library = release.join(platform.name()).join(platform::library_name());
    for place in in_user_cache().into_iter().chain([library.clone()]) {
        // A place that cannot be read counts as empty.
        if install::is_intact(&place, platform.library_sha256).unwrap_or(false) {
            return Ok(place);
        }
    }
    fetch(platform, &release, &library)?;
    Ok(library)
}

/// Downloads and installs the library, while any other process that also wants to waits.
fn fetch(platform: &Platform, release: &Path, library: &Path) -> Result<()> {
    fs::create_dir_all(release).map_err(Failure::at(release))?;
    let lock = release.join("lock");
    let held = File::create(&lock).map_err(Failure::at(&lock))?;
    held.lock().map_err(Failure::at(&lock))?;
    if install::is_intact(library, platform.library_sha256).unwrap_or(false) {
        return Ok(()); // the other process has fetched it
    }

    remove_partial(release);
    // Named by process, because the pip of a killed process may still be writing to its own.
    let work = release.join(format!("{PARTIAL_PREFIX}{}", process::id()));
    fs::create_dir_all(&work).map_err(Failure::at(&work))?;
    let fetched = fetch_into(&work, platform, library);
    let _ = fs::remove_dir_all(&work);
    fetched
}

/// Removes the remains of interrupted fetches; the lock shows that none is in progress.
fn remove_partial(release: &Path) {
    for entry in fs::read_dir(release).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(PARTIAL_PREFIX) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn fetch_into(work: &Path, platform: &Platform, library: &Path) -> Result<()> {
    let python = Python::find()?;
    eprintln!("fetching ONNX Runtime {RUNTIME_VERSION} for {}: {} MB", platform.name(), platform.wheel_megabytes);

    let requirements = work.join("requirements.txt");
    fs::write(&requirements, platform.requirement()).map_err(Failure::at(&requirements))?;
    python.download(platform, &requirements, work)?;
    let wheel = only_wheel(work)?;
    read_intact(&wheel, platform.wheel_sha256)?;

    let extracted = work.join("library");
    python.extract(&wheel, platform.member, &extracted)?;
    read_intact(&extracted, platform.library_sha256)?;
    install::move_into_place(&extracted, library).map_err(Failure::at(library))
}

fn only_wheel(folder: &Path) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).map_err(Failure::at(folder))?;
    entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .ok_or_else(|| Failure::say(format!("pip left no wheel in {}: set {RUNTIME_VARIABLE}", folder.display())))
}

fn read_intact(path: &Path, sha256: &str) -> Result<Vec<u8>> {
    let bytes = fs::read(path).map_err(Failure::at(path))?;
    let found = install::hash(&bytes);
    if found == sha256 {
        return Ok(bytes);
    }
    Err(Failure::say(format!(
        "{} has SHA-256 {found}, not the pinned {sha256}: do not use it; check where pip downloads from",
        path.display()
    )))
}

/// Returns cargo's target folder: this program is in `<target>/<profile>/`, wherever that is configured.
pub(crate) fn target_folder() -> Result<PathBuf> {
    let program = env::current_exe().map_err(|error| Failure::say(format!("cannot locate xtask: {error}")))?;
    program
        .ancestors()
        .nth(2)
        .map(Path::to_path_buf)
        .ok_or_else(|| Failure::say("xtask is not in a target folder: start it with `cargo xtask`"))
}

/// Returns the folder where an installed nestcast looks; `models/src/runtime.rs` names the same one.
fn in_user_cache() -> Option<PathBuf> {
    let folder = user_cache(env::consts::OS, |name| env::var_os(name).filter(|value| !value.is_empty()))?;
    Some(folder.join("nestcast").join("onnxruntime").join(RUNTIME_VERSION).join(platform::library_name()))
}

fn user_cache(os: &str, variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let path = |name| variable(name).map(PathBuf::from);
    match os {
        "windows" => path("LOCALAPPDATA"),
        "macos" => path("HOME").map(|home| home.join("Library").join("Caches")),
        _ => path("XDG_CACHE_HOME")
            .filter(|folder| folder.is_absolute())
            .or_else(|| path("HOME").map(|home| home.join(".cache"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_must_name_a_file() {
        assert_eq!(explicit(None), Ok(None));
        assert_eq!(explicit(Some(OsString::new())), Ok(None));

        let root = tempfile::tempdir().expect("temporary folder");
        let file = root.path().join("libonnxruntime.so");
        assert!(matches!(explicit(Some(file.clone().into())), Err(Failure::Say(_))));
        fs::write(&file, "").expect("file");
        assert_eq!(explicit(Some(file.clone().into())), Ok(Some(file)));
    }

    #[test]
    fn a_library_that_cannot_be_had_is_a_note() {
        let mut told = None;
        assert_eq!(or_note(Err(Failure::say("Python 3 is missing")), |note| told = Some(note)), None);
        assert!(told.is_some_and(|note| note.starts_with("note: ") && note.ends_with("linear decoder: Python 3 is missing")));

        let library = PathBuf::from("libonnxruntime.so");
        assert_eq!(or_note(Ok(library.clone()), |note| panic!("{note}")), Some(library));
    }

    #[test]
    fn the_cache_follows_each_systems_convention() {
        let variables = |name: &str| match name {
            "HOME" => Some(OsString::from("home")),
            "LOCALAPPDATA" => Some(OsString::from("local")),
            _ => None,
        };
        assert_eq!(user_cache("linux", variables), Some(Path::new("home").join(".cache")));
        assert_eq!(user_cache("macos", variables), Some(Path::new("home").join("Library").join("Caches")));
        assert_eq!(user_cache("windows", variables), Some(PathBuf::from("local")));
        assert_eq!(user_cache("linux", |_| None), None);
    }

    /// Models take long to build, so xtask does not depend on them, and both contain these names.
    #[test]
    fn nestcast_looks_for_the_same_release_under_the_same_names() {
        let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join("models").join("src");
        let source = fs::read_to_string(models.join("runtime.rs")).expect("the models' source");
        let library = fs::read_to_string(models.join("library.rs")).expect("the models' source");
        for pinned in platform::library_hashes() {
            assert!(library.contains(pinned), "{pinned}");
        }
        for line in [
            format!("pub const RUNTIME_VERSION: &str = \"{RUNTIME_VERSION}\";"),
            format!("pub const LIBRARY_VARIABLE: &str = \"{RUNTIME_VARIABLE}\";"),
        ] {
            assert!(source.contains(&line), "{line}");
        }
        // The user's cache folder: the same variables, and the same path inside.
        for word in ["\"LOCALAPPDATA\"", "\"HOME\"", "\"XDG_CACHE_HOME\"", "\"Library\"", "\"Caches\"", "\".cache\""] {
            assert!(source.contains(word), "{word}");
        }
        assert!(
            source.contains("join(\"nestcast\")")
                && source.contains("Path::new(\"onnxruntime\").join(RUNTIME_VERSION)")
        );
    }

    #[test]
    fn only_the_right_contents_are_read() {
        let root = tempfile::tempdir().expect("temporary folder");
        let file = root.path().join("file");
        fs::write(&file, "abc").expect("file");
        assert_eq!(read_intact(&file, &install::hash(b"abc")), Ok(b"abc".to_vec()));
        assert!(matches!(read_intact(&file, &install::hash(b"abd")), Err(Failure::Say(line)) if !line.contains('\n')));
    }
}
