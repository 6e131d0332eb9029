//! Pipelines of GStreamer's own elements with those of the plugin.

#[path = "pipelines/broadcasts.rs"]
mod broadcasts;
#[path = "pipelines/codec.rs"]
mod codec;
#[path = "pipelines/documents.rs"]
mod documents;
#[path = "pipelines/harness.rs"]
mod harness;
#[path = "pipelines/inspection.rs"]
mod inspection;
#[path = "pipelines/names.rs"]
mod names;
#[path = "pipelines/pages.rs"]
mod pages;
#[path = "pipelines/streams.rs"]
mod streams;
