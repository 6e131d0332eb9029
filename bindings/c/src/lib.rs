//! The C library `libnestcast`. `include/nestcast.h` is made from this crate, and its comments are these.
//!
//! No panic crosses into C: [`boundary::guard`] turns one into a status. Handles are shared references to a mutex that is
//! only ever tried, so two threads with one handle get an error and no data race. The only other memory is the caller's,
//! and `boundary` and `picture` alone turn its pointers into slices. `receiver` alone calls functions of the caller.

mod boundary;
pub mod decoder;
pub mod encoder;
pub mod model;
pub mod picture;
pub mod receiver;
pub mod status;
pub mod video;

use std::ffi::c_char;

/// Returns the version of this library, for example "0.1.0". It is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn nestcast_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
