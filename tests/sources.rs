//! What the sources and the documents of this repository must be like.

mod arrows;
mod constants;
mod messages;
mod monitoring;
mod security;
mod structure;
