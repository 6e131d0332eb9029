//! The viewer of a live broadcast in a browser. `cargo xtask web` builds this crate for `wasm32-unknown-unknown`. The
//! page that drives the module is in `page/`. [`PAGE_FILES`] has everything that a browser needs.
//!
//! ```text
//! worker "network"   WebTransport -> Network (ReceiverSession) -> mail
//! worker "screen"    mail -> Screen (Playout) -> picture -> WebGL2 or 2D canvas
//! worker "residuals" the same mail -> ResidualWorker -> residuals of frames for the screen; large video only
//! ```
//!
//! Each worker instantiates the module once. Mail is bytes, so that the page can pass it from one worker to the other.
//! The module imports nothing: the page passes it the time, as milliseconds since 1970.
//!
//! Each model's tables are a file of their own, so that a viewer of video does not load those of pictures.

mod file;
#[cfg(not(target_family = "wasm"))]
mod files;
mod mail;
mod milliseconds;
mod network;
mod relay;
mod residual_worker;
mod screen;
mod step;
mod tables;

#[cfg(target_family = "wasm")]
mod exports;

pub use file::{Content, File, FileError};
#[cfg(not(target_family = "wasm"))]
pub use files::{PAGE_FILES, StaticFile, write_files};
pub use mail::{Mail, MailError, Record};
pub use network::Network;
pub use residual_worker::ResidualWorker;
pub use screen::{Presented, Screen, ScreenError, Shown};
pub use step::Step;
pub use tables::{Tables, Wanted};
