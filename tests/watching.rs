//! The viewer, in browsers and without one.

mod browsers;
mod demo_page;
mod live_pages;
mod viewer;
mod viewer_user;
