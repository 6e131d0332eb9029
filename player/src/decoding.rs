//! Decodes frames to pictures: still pictures each by itself, frames of video one after another.

use std::sync::Arc;

use nestcast_codec::{
    Channels, DecodedPart, Decoder, Format, FrameResiduals, Header, Parsed, Picture, Restoration, Size, VideoDecoder,
    VideoModel, Ycbcr,
};

use crate::announcement::Announcement;
use crate::beginning::Beginning;
use crate::corrupt::FrameFault;

/// A decoder of one model's frames.
pub struct Decoding(Kind);

enum Kind {
    Pictures {
        decoder: Box<Decoder>,
        /// The format of colour pictures; grey ones are drawn grey.
        format: Format,
    },
    Video {
        decoder: Box<VideoDecoder>,
        /// The format of its pictures.
        format: Format,
        beginning: Beginning,
    },
}

impl Decoding {
    /// Decodes independent pictures; colour pictures are RGB.
    #[must_use]
    pub fn new(decoder: Decoder) -> Self {
        Self(Kind::Pictures { decoder: Box::new(decoder), format: Format::Rgb })
    }

    /// Draws colour pictures as planar YCbCr 4:2:0, as in video files.
    #[must_use]
    pub fn with_ycbcr420(mut self, colours: Ycbcr) -> Self {
        if let Kind::Pictures { format, .. } = &mut self.0 {
            *format = Format::Ycbcr420(colours);
        }
        self
    }

    /// Decodes video, on up to `threads` threads, into planar YCbCr 4:2:0. Returns `None` if the sender announced no
    /// video, or video with other tables than this build has.
    #[must_use]
    pub fn video(announced: &Announcement, threads: usize) -> Option<Self> {
        Self::video_of(VideoModel::built_in(), announced, threads)
    }

    /// Decodes video as [`Decoding::video`] does, with tables that the caller read. Returns `None` if the sender
    /// announced others, or no video.
    #[must_use]
    pub fn video_of(model: VideoModel, announced: &Announcement, threads: usize) -> Option<Self> {
        let video = announced.video.filter(|video| model.ids() == [announced.model, video.residual])?;
        let decoder = Box::new(VideoDecoder::new(model, announced.size, threads));
        Some(Self(Kind::Video { decoder, format: Format::Ycbcr420(video.colours), beginning: Beginning::default() }))
    }

    /// Draws video in `bits` bits a sample, 8 to 16, such as those of the announcement. Without this call it has 8. A
    /// [restoration](Decoding::with_restoration) draws 8 bits alone.
    #[must_use]
    pub fn with_bits(mut self, bits: u8) -> Self {
        if let Kind::Video { format, .. } = &mut self.0
            && let Some((colours, _)) = format.ycbcr420()
        {
            *format = Format::planar(colours, bits.clamp(8, 16));
        }
        self
    }

    /// Draws decoded frames of video after `restoration`; not in WebAssembly.
    #[must_use]
    pub fn with_restoration(self, restoration: Arc<dyn Restoration>) -> Self {
        Self(match self.0 {
            Kind::Video { decoder, format, beginning } => {
                Kind::Video { decoder: Box::new(decoder.with_restoration(restoration)), format, beginning }
            }
            pictures @ Kind::Pictures { .. } => pictures,
        })
    }

    /// Decodes a still picture, or predicts a frame of video, which then has to be completed. Before it allocates
    /// memory, it refuses a frame whose header states another size than announced.
    pub(crate) fn begin(&mut self, size: Size, prefix: &[u8]) -> Result<(), FrameFault> {
        match &mut self.0 {
            Kind::Pictures { decoder, .. } => {
                if let Parsed::Complete(header, _) = Header::parse(prefix)?
                    && header.size != size
                {
                    return Err(FrameFault::Size);
                }
                decoder.reset();
                decoder.push(prefix)?;
                decoder.header().ok_or(FrameFault::InsideHeader)?;
            }
            Kind::Video { decoder, beginning, .. } => {
                if beginning.leaves_out(prefix) {
                    return Err(FrameFault::NoBeginning);
                }
                if decoder.predict(prefix)? == DecodedPart::Nothing {
                    return Err(FrameFault::InsideMotion);
                }
                beginning.handle_begun();
            }
        }
        Ok(())
    }

    /// Decodes the residuals of the frame of video that was predicted, and adds them.
    pub(crate) fn complete(&mut self, prefix: &[u8]) {
        if let Kind::Video { decoder, .. } = &mut self.0 {
            decoder.complete(prefix);
        }
    }

    /// Adds residuals that another worker decoded. Returns whether they are those of the frame that was predicted.
    pub(crate) fn complete_with(&mut self, residuals: &mut FrameResiduals) -> bool {
        match &mut self.0 {
            Kind::Pictures { .. } => false,
            Kind::Video { decoder, .. } => decoder.complete_with(residuals).is_ok(),
        }
    }

    /// Decodes more of the last decoded frame, a still picture.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), FrameFault> {
        let Kind::Pictures { decoder, .. } = &mut self.0 else { return Err(FrameFault::LateBytes) };
        decoder.push(bytes)?;
        Ok(())
    }

    /// Draws the last decoded frame into `picture`, or into a new picture if that has another size or format.
    pub(crate) fn draw<'a>(&mut self, size: Size, picture: &'a mut Option<Picture>) -> Result<&'a Picture, FrameFault> {
        let format = match &self.0 {
            Kind::Pictures { decoder, format } => match decoder.header().map(|header| header.channels) {
                Some(Channels::Grey) => Format::Grey,
                _ => *format,
            },
            Kind::Video { format, .. } => *format,
        };
        let before = picture.take().filter(|before| (before.size(), before.format()) == (size, format));
        let drawn = picture.insert(before.unwrap_or_else(|| Picture::zero(size, format)));
        match &mut self.0 {
            Kind::Pictures { decoder, .. } => decoder.render_into(&mut *drawn)?,
            Kind::Video { decoder, .. } => decoder.render_into(&mut *drawn)?,
        }
        Ok(drawn)
    }

    /// Draws what a missing frame may look like, `frames` frames after the last decoded one. Returns `false`, and
    /// leaves `picture` unchanged, if nothing moves.
    pub(crate) fn conceal(&mut self, picture: &mut Picture, frames: u32) -> Result<bool, FrameFault> {
        match &mut self.0 {
            Kind::Pictures { .. } => Ok(false),
            Kind::Video { decoder, .. } => Ok(decoder.conceal_into(picture, frames)?),
        }
    }
}

impl std::fmt::Debug for Decoding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoding").finish_non_exhaustive()
    }
}
