//! Where the ONNX Runtime library is, and the one copy of it that this process loads.

mod error;

use std::{
    env::{self, consts},
    ffi::OsString,
    panic::resume_unwind,
    path::{Path, PathBuf},
    thread,
};

use crate::library::{self, Origin};

pub use crate::onnx::Runtime;
pub use error::RuntimeError;

/// The ONNX Runtime release this crate is tested with, and the one `cargo xtask runtime` fetches.
///
/// A newer one loads too, but 1.29 to 1.31 write a telemetry database into the user's home.
pub const RUNTIME_VERSION: &str = "1.24.4";

/// The environment variable that names the library's file and overrides the search.
pub const LIBRARY_VARIABLE: &str = "ORT_DYLIB_PATH";

impl Runtime {
    /// Finds the library and loads it.
    ///
    /// It looks in `ORT_DYLIB_PATH`, next to the executable, in the `target` folder that the executable was built in,
    /// and in the user's cache, in this order. It skips damaged files. It compares the pinned library's hash once,
    /// which a file next to the library records. A process loads it once: later calls return the same runtime without a
    /// search. After an error, a later call tries again.
    pub fn open() -> Result<Self, RuntimeError> {
        Self::loaded_or(|| Places::of_this_process().find(library::check))
    }

    /// Loads this library: a program that has found one itself needs no search. A process loads one library, so if it
    /// has loaded another before, this returns that one.
    pub fn open_file(library: impl Into<PathBuf>) -> Result<Self, RuntimeError> {
        let only = Places { explicit: Some(library.into()), executable: None, user_cache: None };
        Self::loaded_or(|| only.find(library::check))
    }
}

/// The values that the search depends on, so that tests can set them.
struct Places {
    explicit: Option<PathBuf>,
    executable: Option<PathBuf>,
    user_cache: Option<PathBuf>,
}

impl Places {
    fn of_this_process() -> Self {
        Self {
            explicit: variable(LIBRARY_VARIABLE).map(PathBuf::from),
            executable: env::current_exe().ok(),
            user_cache: user_cache(),
        }
    }

    /// The first library that exists and passes its check.
    fn find(self, check: impl Fn(&Path, Origin) -> Result<(), String>) -> Result<PathBuf, RuntimeError> {
        if cfg!(all(target_env = "musl", target_feature = "crt-static")) {
            return Err(RuntimeError::Static);
        }
        if let Some(library) = self.explicit {
            // Absolute, because `ort` resolves a relative path from the executable's folder.
            let library = std::path::absolute(&library).unwrap_or(library);
            return if library.is_file() {
                sound(library, Origin::Chosen, &check)
            } else {
                Err(RuntimeError::NotAFile(library))
            };
        }
        let mut error = RuntimeError::NotFound;
        for (library, origin) in self.candidates().into_iter().filter(|(file, _)| file.is_file()) {
            match sound(library, origin, &check) {
                Ok(library) => return Ok(library),
                Err(unusable) if error == RuntimeError::NotFound => error = unusable,
                Err(_) => {}
            }
        }
        Err(error)
    }

    /// The files looked for, in order. `cargo xtask runtime` and `install-runtime` write the last two kinds.
    fn candidates(&self) -> Vec<(PathBuf, Origin)> {
        let name = format!("{}onnxruntime{}", consts::DLL_PREFIX, consts::DLL_SUFFIX);
        let platform = format!("{}-{}", consts::OS, consts::ARCH);
        let release = Path::new("onnxruntime").join(RUNTIME_VERSION);

        let folders = self.executable.iter().flat_map(|file| file.ancestors().skip(1));
        let next_to_program = folders.clone().take(1).map(|folder| folder.join(&name));
        let built = folders.map(|folder| folder.join(&release).join(&platform).join(&name));
        let cached = self.user_cache.iter().map(|cache| cache.join("nestcast").join(&release).join(&name));
        let pinned = built.chain(cached).map(|file| (file, Origin::Pinned));
        next_to_program.map(|file| (file, Origin::Chosen)).chain(pinned).collect()
    }
}

/// The library's path, if its file passes the check.
fn sound(
    library: PathBuf,
    origin: Origin,
    check: &impl Fn(&Path, Origin) -> Result<(), String>,
) -> Result<PathBuf, RuntimeError> {
    match check(&library, origin) {
        Ok(()) => Ok(library),
        Err(reason) => Err(RuntimeError::Unusable { library, reason }),
    }
}

/// Runs `work` while another thread runs `load`: it takes longer to load ONNX Runtime and a network than to read and
/// decode a stream.
///
/// # Panics
/// If `load` panics.
pub fn load_beside<L: Send, R>(load: impl FnOnce() -> L + Send, work: impl FnOnce() -> R) -> (L, R) {
    thread::scope(|scope| {
        let loading = scope.spawn(load);
        let done = work();
        (loading.join().unwrap_or_else(|panic| resume_unwind(panic)), done)
    })
}

/// The user's cache folder by each system's convention; `cargo xtask install-runtime` uses the same.
pub fn user_cache() -> Option<PathBuf> {
    let home = || variable("HOME").map(PathBuf::from);
    match consts::OS {
        "windows" => variable("LOCALAPPDATA").map(PathBuf::from),
        "macos" => home().map(|home| home.join("Library").join("Caches")),
        _ => variable("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .filter(|folder| folder.is_absolute())
            .or_else(|| home().map(|home| home.join(".cache"))),
    }
}

/// An environment variable that is set and not empty.
fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Puts an empty file at `path` and returns the path.
    fn touch(path: PathBuf) -> PathBuf {
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folder");
        fs::write(&path, "").expect("file");
        path
    }

    fn places(root: &Path) -> Places {
        Places {
            explicit: None,
            executable: Some(root.join("target").join("debug").join("deps").join("test")),
            user_cache: Some(root.join("cache")),
        }
    }

    #[test]
    fn nearer_places_win() {
        let root = tempfile::tempdir().expect("temporary folder");
        let root = root.path();
        let name = format!("{}onnxruntime{}", consts::DLL_PREFIX, consts::DLL_SUFFIX);
        let platform = format!("{}-{}", consts::OS, consts::ARCH);
        let release = Path::new("onnxruntime").join("1.24.4");
        let any = |_: &Path, _| Ok(());
        assert_eq!(places(root).find(any), Err(RuntimeError::NotFound));

        let nearer_and_nearer = [
            root.join("cache").join("nestcast").join(&release).join(&name),
            root.join("target").join(&release).join(&platform).join(&name),
            root.join("target").join("debug").join("deps").join(&name),
        ];
        for file in nearer_and_nearer {
            let file = touch(file);
            assert_eq!(places(root).find(any), Ok(file));
        }

        let explicit = touch(root.join("mine.so"));
        assert_eq!(Places { explicit: Some(explicit.clone()), ..places(root) }.find(any), Ok(explicit));
    }

    #[test]
    fn a_damaged_library_is_passed_over_or_named() {
        let root = tempfile::tempdir().expect("temporary folder");
        let root = root.path();
        let name = format!("{}onnxruntime{}", consts::DLL_PREFIX, consts::DLL_SUFFIX);
        let cached = touch(root.join("cache").join("nestcast").join("onnxruntime").join("1.24.4").join(&name));
        let next_to_program = touch(root.join("target").join("debug").join("deps").join(&name));
        let damaged = |file: &Path| RuntimeError::Unusable { library: file.into(), reason: "damaged".into() };
        let check = |path: &Path, _| if path == next_to_program { Err("damaged".to_owned()) } else { Ok(()) };
        assert_eq!(places(root).find(check), Ok(cached.clone()));
        assert_eq!(places(root).find(|_, _| Err("damaged".into())), Err(damaged(&next_to_program)));
        let explicit = Places { explicit: Some(next_to_program.clone()), ..places(root) };
        assert_eq!(explicit.find(check), Err(damaged(&next_to_program)));
        let origins: Vec<Origin> = places(root).candidates().into_iter().map(|(_, origin)| origin).collect();
        assert_eq!((origins[0], origins[origins.len() - 1]), (Origin::Chosen, Origin::Pinned));
    }

    #[test]
    fn an_explicit_path_is_never_replaced_by_another() {
        let root = tempfile::tempdir().expect("temporary folder");
        touch(root.path().join("target").join("debug").join("deps").join(consts::DLL_PREFIX));
        let missing = root.path().join("missing.so");
        let places = Places { explicit: Some(missing.clone()), ..places(root.path()) };
        assert_eq!(places.find(|_, _| Ok(())), Err(RuntimeError::NotAFile(missing)));
    }

    #[test]
    fn every_message_is_one_line() {
        let unusable = RuntimeError::Unusable { library: "x.so".into(), reason: "no".into() };
        for error in [RuntimeError::NotFound, RuntimeError::Static, RuntimeError::NotAFile("x.so".into()), unusable] {
            let message = error.to_string();
            assert!(!message.contains(['\n', '\r']), "{message:?}");
            assert!(!message.contains("  "), "{message:?}");
        }
    }
}
