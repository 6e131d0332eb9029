//! nestcast with every frame coded alone: one stream for each frame, cut to the frame's bytes at every rate.

use anyhow::Result;
use nestcast_codec::{Codec, Picture};
use nestcast_lab::video::Frame;

use super::{Clip, Embedded, Run, Screen};

/// Every frame coded alone, with the linear transforms.
pub(super) struct Intra;

impl Embedded for Intra {
    fn id(&self) -> &'static str {
        "intra"
    }

    fn watch(&self, clip: &Clip, _: &[f64], frame_bytes: &[Vec<usize>], screen: Screen<'_>) -> Result<Vec<Run>> {
        let codec = Codec::photo();
        let mut runs = vec![Run { frames: Vec::with_capacity(clip.frames.len()) }; frame_bytes.len()];
        let mut decoder = codec.decoder();
        for (n, frame) in clip.frames.iter().enumerate() {
            let most = frame_bytes.iter().map(|frame_bytes| frame_bytes[n]).max().unwrap_or(0);
            let stream = codec.encoder().with_max_bytes(most).encode(frame)?;
            let mut decoded = Picture::zero(frame.size(), frame.format());
            for (receiver, (run, frame_bytes)) in runs.iter_mut().zip(frame_bytes).enumerate() {
                let prefix = stream.prefix(frame_bytes[n]);
                decoder.reset();
                decoder.push(&prefix)?;
                decoder.render_into(&mut decoded)?;
                screen(receiver, &decoded)?;
                run.frames.push(Frame::new(prefix.len(), frame, &decoded));
            }
        }
        Ok(runs)
    }
}
