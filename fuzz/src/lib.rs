//! The promises that hold for any bytes: one function for each interface that accepts bytes from strangers.
//!
//! Each function panics if a promise is broken, and returns if it is kept. libFuzzer calls them with inputs of its own
//! (`cargo xtask fuzz`), and `tests/corpus.rs` with the committed ones.

mod bounded;
mod decode;
mod delay_controller;
mod encode;
mod header;
mod index;
mod matroska;
mod messages;
mod network;
mod package;
mod patched;
mod picture;
mod publisher;
mod reference;
mod relay;
mod segments;
mod sessions;
mod stream;
mod subscriber;
mod tables;
mod video;
mod viewer;
mod y4m;

pub use decode::decode;
pub use delay_controller::delay_controller;
pub use encode::encode;
pub use header::header;
pub use index::index;
pub use matroska::matroska;
pub use messages::messages;
pub use network::network;
pub use package::package;
pub use picture::{jpeg, png, webp};
pub use publisher::publisher;
pub use reference::reference;
pub use relay::relay;
pub use segments::segments;
pub use sessions::{receiver_session, sender_session};
pub use subscriber::{subscriber, subscriber_live};
pub use tables::tables;
pub use video::{video_file, video_frame};
pub use viewer::viewer;
pub use y4m::y4m;

/// A target's function.
pub type Run = fn(&[u8]);

/// All targets by name; each has a program in `fuzz_targets/` and a folder in `corpus/`.
pub const TARGETS: [(&str, Run); 25] = [
    ("decode", decode),
    ("delay_controller", delay_controller),
    ("encode", encode),
    ("header", header),
    ("index", index),
    ("jpeg", jpeg),
    ("matroska", matroska),
    ("messages", messages),
    ("network", network),
    ("package", package),
    ("png", png),
    ("publisher", publisher),
    ("receiver_session", receiver_session),
    ("reference", reference),
    ("relay", relay),
    ("segments", segments),
    ("sender_session", sender_session),
    ("subscriber", subscriber),
    ("subscriber_live", subscriber_live),
    ("tables", tables),
    ("video_file", video_file),
    ("video_frame", video_frame),
    ("viewer", viewer),
    ("webp", webp),
    ("y4m", y4m),
];
