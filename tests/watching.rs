//! The viewer, in browsers and without one.

mod browsers;
mod live_pages;
mod viewer;
