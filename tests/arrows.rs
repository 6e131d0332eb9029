//! The arrows inside crates (docs: architecture): which room may use which, and no circle between the files of any
//! crate.

use std::path::{Path, PathBuf};

use nestcast_tests::arrows::Sources;

/// The checked crates.
const CRATES: [&str; 19] = [
    "units",
    "codec",
    "proto",
    "player",
    "encode",
    "media",
    "models",
    "retrieval",
    "sender",
    "receiver",
    "relayed",
    "sound",
    "lab",
    "cli",
    "xtask",
    "tests/onnx",
    "bindings/c",
    "bindings/gstreamer",
    "bindings/python",
];

/// Rooms of a crate from the ground up, each with those that it may use. A file outside the rooms is a room of its own.
type Rooms = &'static [(&'static str, &'static [&'static str])];

const PROTO: Rooms = &[
    ("wire", &[]),
    ("path", &["wire"]),
    ("publish", &["wire", "path"]),
    ("subscribe", &["wire", "path"]),
    ("demand", &["wire", "path", "publish"]),
    ("cause", &[]),
    ("source", &["wire", "path", "publish", "demand", "cause"]),
    ("session", &["wire", "path", "publish", "subscribe", "demand", "source"]),
    ("lib", &["wire", "path", "publish", "subscribe", "demand", "cause", "source", "session"]),
];

const SENDER: Rooms = &[
    ("clock", &[]),
    ("error", &[]),
    ("identity", &["error"]),
    ("transport", &[]),
    ("access", &[]),
    ("config", &["access", "identity"]),
    ("h3", &[]),
    ("http", &[]),
    ("quic", &["clock", "config", "error", "h3", "identity", "transport"]),
    ("rotation", &["config", "error", "identity", "quic"]),
    ("figures", &["http"]),
    ("frames", &["clock"]),
    ("door", &["figures", "quic"]),
    ("shared", &["access", "door", "figures", "frames"]),
    ("rewound", &["frames", "shared"]),
    ("directory", &["access", "door", "frames", "rewound", "shared"]),
    ("feed", &["access", "clock", "directory", "door", "figures", "frames", "shared", "transport"]),
    (
        "broadcast",
        &["access", "config", "directory", "door", "error", "feed", "figures", "frames", "quic", "rotation", "shared"],
    ),
    ("page", &["broadcast", "error", "http", "identity", "rotation"]),
    ("browser_page", &["broadcast", "config", "error", "frames", "page", "rotation"]),
    (
        "lib",
        &[
            "access",
            "broadcast",
            "browser_page",
            "clock",
            "config",
            "error",
            "figures",
            "frames",
            "identity",
            "page",
            "quic",
            "rotation",
            "shared",
        ],
    ),
];

const CODEC: Rooms = &[
    ("error", &[]),
    ("observer", &[]),
    ("parallel", &["observer"]),
    ("scratch", &[]),
    ("simd", &[]),
    ("entropy", &[]),
    ("picture", &["error"]),
    ("colour", &["error", "picture", "scratch", "simd"]),
    ("subband", &["error", "simd", "picture", "colour"]),
    ("wavelet", &["parallel", "scratch", "simd", "picture", "colour", "subband"]),
    ("post_filter", &["error", "scratch", "simd"]),
    ("tables", &[]),
    ("model", &["error", "subband", "wavelet", "post_filter", "tables"]),
    ("transform", &["error", "parallel", "picture", "model", "subband"]),
    (
        "linear",
        &[
            "error",
            "simd",
            "parallel",
            "scratch",
            "picture",
            "colour",
            "subband",
            "wavelet",
            "post_filter",
            "model",
            "transform",
        ],
    ),
    ("bitplane", &["error", "simd", "picture", "entropy", "subband", "model"]),
    (
        "stream",
        &[
            "error",
            "observer",
            "parallel",
            "picture",
            "colour",
            "entropy",
            "subband",
            "model",
            "transform",
            "linear",
            "bitplane",
        ],
    ),
    (
        "residual",
        &[
            "error",
            "observer",
            "parallel",
            "scratch",
            "simd",
            "picture",
            "subband",
            "wavelet",
            "model",
            "transform",
            "stream",
        ],
    ),
    ("motion", &["error", "observer", "parallel", "scratch", "simd", "picture", "entropy"]),
    (
        "video",
        &[
            "tables",
            "error",
            "observer",
            "parallel",
            "scratch",
            "simd",
            "picture",
            "colour",
            "subband",
            "wavelet",
            "post_filter",
            "model",
            "transform",
            "stream",
            "residual",
            "motion",
        ],
    ),
    ("codec", &["picture", "model", "transform", "linear", "stream"]),
    (
        "training",
        &[
            "error",
            "parallel",
            "entropy",
            "picture",
            "colour",
            "bitplane",
            "subband",
            "post_filter",
            "model",
            "transform",
            "linear",
            "stream",
            "residual",
            "motion",
            "video",
        ],
    ),
    (
        "lib",
        &[
            "error",
            "observer",
            "parallel",
            "picture",
            "colour",
            "subband",
            "post_filter",
            "tables",
            "model",
            "transform",
            "linear",
            "stream",
            "codec",
            "motion",
            "video",
            "training",
        ],
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn sources(name: &str) -> Sources {
    Sources::of(&root().join(name).join("src"))
}

/// Returns the room of a file; the crate's root is a room of its own.
fn room(module: &str) -> &str {
    if module.is_empty() { "lib" } else { module.split("::").next().unwrap_or(module) }
}

fn arrows_lead_downwards(name: &str, rooms: Rooms) {
    for (position, (room, below)) in rooms.iter().enumerate() {
        let lower: Vec<_> = rooms[..position].iter().map(|(room, _)| *room).collect();
        assert!(below.iter().all(|other| lower.contains(other)), "{name}, {room}: an arrow of the table leads upwards");
    }
    for (module, used) in sources(name).uses() {
        let own = room(module);
        let found = rooms.iter().find(|(room, _)| *room == own);
        let (_, allowed) = found.unwrap_or_else(|| panic!("{name} has the room {own}, which is not in the table"));
        for other in &used {
            let is_allowed = room(other) == own || allowed.contains(&room(other));
            assert!(is_allowed, "{name}: {module} uses {other}, and {own} may not see {}", room(other));
        }
    }
}

#[test]
fn rooms_of_the_codec_see_only_those_below_them() {
    arrows_lead_downwards("codec", CODEC);
}

#[test]
fn rooms_of_the_session_see_only_those_below_them() {
    arrows_lead_downwards("proto", PROTO);
}

#[test]
fn rooms_of_the_sender_see_only_those_below_them() {
    arrows_lead_downwards("sender", SENDER);
}

#[test]
fn files_use_each_other_in_no_circle() {
    for name in CRATES {
        let sources = sources(name);
        let circles = sources.circles();
        assert!(circles.is_empty(), "{name}: files use each other in a circle: {circles:?}");
    }
}

/// The map of arrows comes from the sources, so it must find them.
#[test]
fn uses_are_found() {
    let codec = sources("codec");
    assert!(codec.count() > 100, "{} files", codec.count());
    let uses = codec.uses();
    assert!(uses["bitplane::scan"].contains("bitplane::passes") && uses["linear"].contains("wavelet::analysis"));
    let proto = sources("proto");
    assert!(proto.uses()["publish::publisher"].contains("publish::writer"));
}
