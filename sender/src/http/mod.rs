//! A small HTTP server: a few answers to GET, for pages and figures.

pub(crate) mod answer;
pub(crate) mod server;
