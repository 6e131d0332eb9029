//! The base layers of a stored video's last frames, decoded when a receiver needs a random-access frame.

use std::collections::VecDeque;

use bytes::Bytes;
use nestcast_codec::{BaseLayerDecoder, CodedFrame, FrameHead, Size, VideoModel};

/// The most base layers that wait to be decoded. A decoder that begins with the oldest decodes at least 384 of them,
/// because one of any 32 frames copies no vectors of the frame before. It then has almost the reference of one that has
/// all: if all of them renew, every block was predicted from nothing three times. What is shown from it is as near to the
/// others' pictures, within 2 % of the squared error; after 256 frames it is not.
pub(super) const WINDOW_FRAMES: usize = 415;

/// The base layers of the last frames, and the reference that they make.
#[derive(Debug)]
pub(super) struct BaseLayers {
    model: VideoModel,
    size: Size,
    /// Base layers that are not decoded yet, the oldest first.
    waiting: VecDeque<BaseLayer>,
    /// The decoder of those before; `None` if the oldest that waits is the first to decode.
    decoder: Option<BaseLayerDecoder>,
    /// Whether the last base layer was decoded: not if it is corrupt, or copies vectors of one that is missing.
    is_current: bool,
}

#[derive(Debug)]
struct BaseLayer {
    bytes: Bytes,
    /// Whether it predicts a part of the picture from nothing.
    renews: bool,
}

impl BaseLayers {
    pub(super) const fn new(model: VideoModel, size: Size) -> Self {
        Self { model, size, waiting: VecDeque::new(), decoder: None, is_current: false }
    }

    /// Adds the base layer of the next frame, which has this head. After a key frame those before it are useless.
    ///
    /// If too many wait, a decoder that begins with the second oldest will do, unless one of them renews nothing, as in
    /// a recorded broadcast that nobody joined: then this decodes the oldest.
    pub(super) fn push(&mut self, base: &[u8], head: &FrameHead) {
        if head.key {
            self.waiting.clear();
        }
        // A copy, because a slice would keep the whole frame.
        self.waiting.push_back(BaseLayer { bytes: Bytes::copy_from_slice(base), renews: head.key || head.renews });
        if self.waiting.len() <= WINDOW_FRAMES {
            return;
        }
        if self.waiting.iter().all(|base| base.renews) {
            self.waiting.pop_front();
            self.decoder = None;
        } else {
            self.decode();
        }
    }

    /// Returns the number of base layers that wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Returns whether base layers before those that wait are decoded.
    #[cfg(test)]
    pub(super) const fn is_decoding(&self) -> bool {
        self.decoder.is_some()
    }

    /// Decodes the oldest base layer that waits, if one does.
    pub(super) fn decode(&mut self) {
        let Some(BaseLayer { bytes, .. }) = self.waiting.pop_front() else { return };
        let (model, size) = (&self.model, self.size);
        // Who opened the video agreed to its size.
        let new = || BaseLayerDecoder::new(model.clone(), size, 1).with_max_pixels(u64::MAX);
        let decoder = self.decoder.get_or_insert_with(new);
        // A base layer that is corrupt changes nothing, as at every receiver.
        self.is_current = decoder.decode(&bytes) == Ok(true);
    }

    /// Returns the random-access frame of at most `max_bytes` that replaces the last frame; `None` while base layers
    /// wait, or if the last one could not be decoded.
    pub(super) fn random_access_frame(&mut self, max_bytes: usize) -> Option<CodedFrame> {
        let decoder = self.decoder.as_mut().filter(|_| self.waiting.is_empty() && self.is_current)?;
        decoder.random_access_frame(max_bytes)
    }
}
