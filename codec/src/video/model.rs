//! The tables of video: of frames predicted from nothing, and of the residuals of all others.

use std::sync::Arc;

use crate::error::ModelId;
use crate::model::Model;

/// Two models that the frames of one video are coded with.
#[derive(Debug, Clone)]
pub struct VideoModel {
    pub(crate) key: Arc<Model>,
    pub(crate) residual: Arc<Model>,
}

impl VideoModel {
    /// The tables that are part of this build.
    #[must_use]
    pub fn built_in() -> Self {
        Self { key: Model::photo(), residual: Model::photo() }
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
