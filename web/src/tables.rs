//! The tables that frames and files need, after the page has loaded them.

use std::sync::Arc;

use nestcast_codec::{Error, Model, VideoModel};

/// Tables that must be loaded first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The file `photo.bin`.
    Photo,
    /// The files `key.bin` and `residual.bin`, one after the other.
    Video,
}

/// The tables that are loaded.
#[derive(Debug, Clone, Default)]
pub struct Tables {
    photo: Option<Arc<Model>>,
    video: Option<VideoModel>,
}

impl Tables {
    /// Reads a file of tables: those of one model for pictures, or for video those of key frames and then those of
    /// residuals, of equal length.
    ///
    /// # Errors
    /// If the bytes are no tables.
    pub fn load(&mut self, wanted: Wanted, bytes: &[u8]) -> Result<(), Error> {
        match wanted {
            Wanted::Photo => self.photo = Some(Arc::new(Model::from_bytes(bytes)?)),
            Wanted::Video => {
                let (key, residual) = bytes.split_at(bytes.len() / 2);
                let [key, residual] = [Model::from_bytes(key)?, Model::from_bytes(residual)?].map(Arc::new);
                self.video = Some(VideoModel::new(key, residual));
            }
        }
        Ok(())
    }

    /// Returns the tables of pictures.
    ///
    /// # Errors
    /// If they are not loaded yet.
    pub(crate) fn photo(&self) -> Result<Arc<Model>, Wanted> {
        self.photo.clone().ok_or(Wanted::Photo)
    }

    /// Returns the tables of video.
    ///
    /// # Errors
    /// If they are not loaded yet.
    pub(crate) fn video(&self) -> Result<VideoModel, Wanted> {
        self.video.clone().ok_or(Wanted::Video)
    }
}
