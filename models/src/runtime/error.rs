//! Why ONNX Runtime cannot be used.

use std::path::PathBuf;

/// Why ONNX Runtime cannot be used. Every message is one line that says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// There is no library in any of the places searched.
    #[error(
        "ONNX Runtime was not found: run `cargo xtask install-runtime` in a clone of nestcast, or set ORT_DYLIB_PATH to \
         the library that `pip install onnxruntime` installs, 1.24 or newer"
    )]
    NotFound,
    /// This program is static, and static programs load no libraries.
    #[error(
        "a static program cannot load ONNX Runtime: build nestcast with `cargo install --locked --path cli`, or `cargo xtask package`"
    )]
    Static,
    /// `ORT_DYLIB_PATH` is set, but not to a file.
    #[error(
        "ONNX Runtime was not found, because ORT_DYLIB_PATH names {0}, which is not a file: correct it or unset it"
    )]
    NotAFile(PathBuf),
    /// The file is there, but is no usable ONNX Runtime.
    #[error(
        "ONNX Runtime cannot be loaded from {library}: {reason}: \
         run `cargo xtask install-runtime` in a clone of nestcast, or set ORT_DYLIB_PATH to the library that \
         `pip install onnxruntime` installs, 1.24 or newer"
    )]
    Unusable {
        /// The file tried.
        library: PathBuf,
        /// The answer of the system or the library.
        reason: String,
    },
}
