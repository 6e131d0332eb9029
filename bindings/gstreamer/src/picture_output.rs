//! The first pad of the source: the pictures of a broadcast as raw video, pushed as they are shown.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use gst_base::prelude::*;
use gst_video::{VideoFrameRef, VideoInfo};

use crate::element::refuse_format;
use crate::pad_source::Buffers;
use crate::raw_format::{RawFormat, layout};
use crate::raw_picture::write;
use crate::reception::Received;
use crate::waiting::{Next, Waiting};

/// The caps of a buffer's reference timestamp that is the capture time since 1970.
static CAPTURE_TIME: LazyLock<gst::Caps> = LazyLock::new(|| gst::Caps::new_empty_simple("timestamp/x-unix"));

/// Makes buffers of the pictures of a reception.
pub(crate) struct PictureBuffers {
    pictures: Arc<Waiting<Received>>,
    category: gst::DebugCategory,
    /// The format of the last caps.
    output: Mutex<Option<(RawFormat, VideoInfo)>>,
    dropped: AtomicU64,
}

impl PictureBuffers {
    pub(crate) fn new(pictures: Arc<Waiting<Received>>, category: gst::DebugCategory) -> Self {
        Self { pictures, category, output: Mutex::new(None), dropped: AtomicU64::new(0) }
    }

    /// Returns how many pictures were dropped because the pipeline was slow.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Puts a picture into a buffer, after its caps if they change.
    fn buffer(
        &self,
        source: &gst_base::BaseSrc,
        received: &Received,
        dropped: u64,
    ) -> Result<gst::Buffer, gst::FlowError> {
        let info = self.info(source, received.format)?;
        let mut buffer = gst::Buffer::with_size(info.size()).map_err(|_| gst::FlowError::Error)?;
        let fresh = buffer.get_mut().ok_or(gst::FlowError::Error)?;
        {
            let frame = VideoFrameRef::from_buffer_ref_writable(fresh, &info);
            write(&received.picture, &mut frame.map_err(|_| gst::FlowError::Error)?);
        }
        match received.captured {
            Some(captured) => {
                let at = gst::ClockTime::from_useconds(captured);
                gst::ReferenceTimestampMeta::add(fresh, &CAPTURE_TIME, at, gst::ClockTime::NONE);
            }
            // It conceals a frame that is missing.
            None => fresh.set_flags(gst::BufferFlags::CORRUPTED),
        }
        if dropped > 0 {
            gst::debug!(self.category, obj = source, "{dropped} pictures were dropped");
            fresh.set_flags(gst::BufferFlags::DISCONT);
            self.dropped.fetch_add(dropped, Ordering::Relaxed);
        }
        Ok(buffer)
    }

    /// Returns how the pictures of a format lie in buffers, and sends caps if the format is new.
    fn info(&self, source: &gst_base::BaseSrc, format: RawFormat) -> Result<VideoInfo, gst::FlowError> {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((before, info)) = &*output
            && *before == format
        {
            return Ok(info.clone());
        }
        let refused = |why: &dyn std::fmt::Display| {
            refuse_format(source, self.category, why);
            gst::FlowError::NotNegotiated
        };
        let allowed = source.src_pad().allowed_caps();
        let (layout, bits) = layout(allowed.as_deref(), format.bits);
        if bits != format.bits {
            let why = format!("no element takes pictures of {} bits a sample: put videoconvert after it", format.bits);
            return Err(refused(&why));
        }
        let info = format.to_info(layout).map_err(|error| refused(&error))?;
        let caps = info.to_caps().map_err(|error| refused(&error))?;
        source.set_caps(&caps).map_err(|_| refused(&format!("no element takes {caps}")))?;
        *output = Some((format, info.clone()));
        Ok(info)
    }
}

impl Buffers for PictureBuffers {
    fn negotiate(&self, _: &gst_base::BaseSrc) -> Result<(), gst::LoggableError> {
        // The caps are those of the announcement, which comes with the first picture.
        Ok(())
    }

    fn next(&self, source: &gst_base::BaseSrc) -> Result<gst::Buffer, gst::FlowError> {
        match self.pictures.next() {
            Next::Item { item, dropped } => self.buffer(source, &item, dropped),
            Next::Interrupted => Err(gst::FlowError::Flushing),
            Next::End => Err(gst::FlowError::Eos),
            Next::Failed(why) => {
                gst::element_error!(source, gst::ResourceError::Read, ["{why}"]);
                Err(gst::FlowError::Error)
            }
        }
    }

    fn interrupt(&self) {
        self.pictures.interrupt();
    }

    fn resume(&self) {
        self.pictures.resume();
    }
}
