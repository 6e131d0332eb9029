//! A small HTTP server that answers GET, for pages and figures.

pub(crate) mod answer;
pub(crate) mod server;
