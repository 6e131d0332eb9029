//! The GStreamer plugin: checks its crate, runs its pipelines, and has `gst-inspect-1.0` load it. It needs GStreamer's
//! headers, which nothing else needs, so no other command builds it.

use std::process::Command;

use crate::{
    cargo,
    failure::{Failure, Result},
    programs,
    runtime::target_folder,
    skips::skip,
};

/// Debian's packages of GStreamer: headers, programs, and the elements of the tests' pipelines.
const DEBIAN_PACKAGES: [&str; 6] = [
    "pkg-config",
    "libgstreamer1.0-dev",
    "libgstreamer-plugins-base1.0-dev",
    "gstreamer1.0-tools",
    "gstreamer1.0-plugins-base",
    "gstreamer1.0-plugins-good",
];
/// Libraries that the crate and its tests link.
const LINKED_LIBRARIES: [&str; 3] = ["gstreamer-1.0 >= 1.20", "gstreamer-video-1.0", "gstreamer-app-1.0"];
/// Elements of GStreamer's plugins, one of each package.
const PIPELINE_ELEMENTS: [&str; 2] = ["theoraenc", "rtpjpegpay"];
const PLUGIN_ARGUMENTS: [&str; 4] = ["--locked", "--package", "nestcast-gstreamer", "--all-targets"];

/// Builds and tests the plugin, after it installed GStreamer where that is possible.
pub(crate) fn test() -> Result<()> {
    if !is_installed() && !install() {
        let what = format!("the plugin for GStreamer, which needs what Debian calls {}", DEBIAN_PACKAGES.join(" "));
        return skip(&what);
    }
    cargo::step(&[&["clippy"], &PLUGIN_ARGUMENTS[..], &["--", "-D", "warnings"]].concat(), &[])?;
    cargo::step(&["test", "--locked", "--package", "nestcast-gstreamer"], &[])?;
    cargo::step(&["build", "--locked", "--package", "nestcast-gstreamer"], &[])?;
    inspect()
}

fn is_installed() -> bool {
    let succeeds = |program: &str, arguments: &[&str]| {
        Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
    };
    LINKED_LIBRARIES.iter().all(|library| succeeds("pkg-config", &["--exists", library]))
        && PIPELINE_ELEMENTS.iter().all(|element| succeeds("gst-inspect-1.0", &["--exists", element]))
}

/// Installs Debian's packages, as root where there is `apt-get`, and returns whether all is there.
fn install() -> bool {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    if !is_root || !programs::starts("apt-get") {
        return false;
    }
    println!("installing GStreamer");
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        command.status().is_ok_and(|status| status.success())
    };
    let install = ["install", "-y", "-qq", "--no-install-recommends"];
    apt(&["update", "-qq"]) && apt(&[&install[..], &DEBIAN_PACKAGES].concat()) && is_installed()
}

/// Has GStreamer load the plugin as it would an installed one, with a registry of its own.
fn inspect() -> Result<()> {
    let target = target_folder()?;
    let (folder, registry) = (target.join("debug"), target.join("bindings/gstreamer.registry"));
    let mut command = Command::new("gst-inspect-1.0");
    command.arg("nestcast").env("GST_PLUGIN_PATH", &folder).env("GST_REGISTRY", &registry);
    let output =
        command.output().map_err(|error| Failure::say(format!("gst-inspect-1.0 cannot be started: {error}")))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let missing =
        ["nestcastenc", "nestcastdec", "nestcastsink", "nestcastsrc"].into_iter().find(|name| !said.contains(name));
    match missing {
        None if output.status.success() => Ok(()),
        _ => Err(Failure::say(format!(
            "gst-inspect-1.0 finds {} not in {}: {}",
            missing.unwrap_or("the plugin"),
            folder.join("libgstnestcast.so").display(),
            cargo::last_line(&output)
        ))),
    }
}
