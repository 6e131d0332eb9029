//! What the sources and the documents of this repository must be like.

mod arrows;
mod constants;
mod messages;
mod monitoring;
mod names;
mod security;
mod structure;
