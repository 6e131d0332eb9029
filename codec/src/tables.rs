//! The model tables in this build, as bytes of the format in `spec/bitstream.md`, "Model tables".
//!
//! [`Model::photo`](crate::Model::photo) and [`VideoModel::built_in`](crate::VideoModel::built_in) read them. A model
//! package contains the same bytes, under the names given here.

/// The tables of the model `photo`: `tables.bin` of its package.
pub const PHOTO: &[u8] = include_bytes!("../tables/photo/tables.bin");

/// The tables of the model `video` for frames that are predicted from no other frame: `key.bin` of its package.
pub const VIDEO_KEY: &[u8] = include_bytes!("../tables/video/key.bin");

/// The tables of the model `video` for the residuals of predicted frames: `residual.bin` of its package.
pub const VIDEO_RESIDUAL: &[u8] = include_bytes!("../tables/video/residual.bin");
