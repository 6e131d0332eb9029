//! The viewer, in browsers and without one.

mod browsers;
mod chromium;
mod viewer;
