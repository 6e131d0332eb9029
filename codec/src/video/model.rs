//! The tables of video: of frames predicted from nothing, and of the residuals of all others.

use std::sync::{Arc, LazyLock};

use crate::error::ModelId;
use crate::model::Model;
use crate::tables;

/// Two models that the frames of one video are coded with.
#[derive(Debug, Clone)]
pub struct VideoModel {
    pub(crate) key: Arc<Model>,
    pub(crate) residual: Arc<Model>,
}

impl VideoModel {
    /// The tables of the model `video`, which are part of this build.
    #[must_use]
    pub fn built_in() -> Self {
        static VIDEO: LazyLock<VideoModel> = LazyLock::new(|| {
            let read =
                |tables: &[u8]| Arc::new(Model::from_bytes(tables).expect("a test reads the tables of this build"));
            VideoModel::new(read(tables::VIDEO_KEY), read(tables::VIDEO_RESIDUAL))
        });
        VIDEO.clone()
    }

    /// Tables for frames predicted from nothing, and for residuals.
    #[must_use]
    pub const fn new(key: Arc<Model>, residual: Arc<Model>) -> Self {
        Self { key, residual }
    }

    /// The names of both in what is stored and sent.
    #[must_use]
    pub fn ids(&self) -> [ModelId; 2] {
        [self.key.id(), self.residual.id()]
    }

    pub(crate) fn of(&self, key: bool) -> &Model {
        if key { &self.key } else { &self.residual }
    }
}
