//! The tables of video: for frames predicted from nothing, and for the residuals of all others.

use std::sync::{Arc, LazyLock};

use crate::error::ModelId;
use crate::model::Model;
use crate::tables;

/// The two models with which the frames of one video are coded.
#[derive(Debug, Clone)]
pub struct VideoModel {
    pub(crate) key: Arc<Model>,
    pub(crate) residual: Arc<Model>,
}

impl VideoModel {
    /// Returns the tables of the model `video`, which are part of this build.
    #[must_use]
    pub fn built_in() -> Self {
        static VIDEO_MODEL: LazyLock<VideoModel> = LazyLock::new(|| {
            let read =
                |tables: &[u8]| Arc::new(Model::from_bytes(tables).expect("a test reads the tables of this build"));
            VideoModel::new(read(tables::VIDEO_KEY), read(tables::VIDEO_RESIDUAL))
        });
        VIDEO_MODEL.clone()
    }

    /// Joins the tables for frames predicted from nothing with those for residuals.
    #[must_use]
    pub const fn new(key: Arc<Model>, residual: Arc<Model>) -> Self {
        Self { key, residual }
    }

    /// Returns the names of both in stored videos and in sessions.
    #[must_use]
    pub fn ids(&self) -> [ModelId; 2] {
        [self.key.id(), self.residual.id()]
    }

    pub(crate) fn of(&self, key: bool) -> &Model {
        if key { &self.key } else { &self.residual }
    }
}
