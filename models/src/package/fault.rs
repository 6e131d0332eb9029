//! Why a model package is refused, and who must act.

use std::io;

use nestcast_codec::Error;

use crate::graph::GraphError;
use crate::tensor::NetworkError;

/// Why there is no such model. Every message is one line that says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// Neither a built-in model nor a folder.
    #[error("there is no model and no folder called {name}; the built-in models are {known}")]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The names that this build has.
        known: String,
    },
    /// The package exists, but it is not sound.
    #[error("model package {package}: {fault}")]
    Refused {
        /// Its folder or name.
        package: String,
        /// The fault.
        fault: Fault,
    },
}

/// The fault of a model package.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A file that every package has is missing.
    #[error("{0} is missing: fetch or export the package again")]
    Missing(String),
    /// The system cannot read a file.
    #[error("{file} cannot be read: {kind}: check the disk and its permissions")]
    Unreadable {
        /// The file.
        file: String,
        /// The kind of the system's error.
        kind: io::ErrorKind,
    },
    /// A link, a folder, a device: it could lead anywhere.
    #[error("{0} is not a plain file: put the file itself there")]
    NotAFile(String),
    /// More than a model may take.
    #[error("{file} is larger than the {max} bytes that are left for it: export a smaller model")]
    TooLarge {
        /// The file.
        file: String,
        /// The most bytes that may be read of it.
        max: u64,
    },
    /// The manifest cannot be understood.
    #[error("manifest.toml: {0}: correct it or export the package again")]
    Manifest(String),
    /// The package is not one of pictures.
    #[error("it is a package for {of}, not for pictures: name a package for pictures")]
    Kind {
        /// The kind of package that it is.
        of: &'static str,
    },
    /// The package is for another version of nestcast.
    #[error(
        "manifest.toml has format {format}, and this build reads format {known}: update nestcast or export the package again"
    )]
    Format {
        /// The manifest's format.
        format: u32,
        /// The format that is known.
        known: u32,
    },
    /// The manifest names a file that is not in the folder.
    #[error("manifest.toml names {0}, which is outside the package: do not use it, and tell its author")]
    Outside(String),
    /// Another stride, number of levels, or order of the subbands.
    #[error(
        "its stride, levels or subbands differ from those of this build: update nestcast or export the package again"
    )]
    Transform,
    /// The manifest has no hash of a file that every package has.
    #[error("manifest.toml has no sha256 of {0}: run nestcast_train.export.manifest of models/train on the package")]
    NoHash(String),
    /// A file was altered after the manifest was written, or arrived damaged.
    #[error("{0} does not match the sha256 of its manifest: fetch or export the package again")]
    Hash(String),
    /// The tables break the specification.
    #[error("tables.bin: {0}: export the package again")]
    Tables(Error),
    /// The post-filter after the networks breaks the specification.
    #[error("post_filter.bin: {0}: export the package again")]
    PostFilter(Error),
    /// Tables of video break the specification.
    #[error("{file}: {error}: export the package again")]
    VideoTables {
        /// Their file.
        file: &'static str,
        /// The fault.
        error: Error,
    },
    /// A network that must not reach ONNX Runtime.
    #[error("{file}: {error}: do not use it, or export the package again")]
    Graph {
        /// The network's file.
        file: String,
        /// The fault.
        error: GraphError,
    },
    /// Not the files of a package, each with its name, in their order.
    #[error("it is cut short, or not a model package: fetch it again")]
    Archive,
    /// A network cannot be loaded, or is not of the kind that a package holds.
    #[error("{file}: {error}: export the package again")]
    Network {
        /// The network's file.
        file: String,
        /// The fault.
        error: NetworkError,
    },
}
