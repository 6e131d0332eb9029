//! The live source of one pad. `nestcastsrc` holds one for each of its pads, because GStreamer's class for sources has
//! one pad, and makes no id for its stream if its element has more.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::base_src::CreateSuccess;
use gst_base::subclass::prelude::*;

/// The buffers of a pad while a reception runs.
pub(crate) trait Buffers: Send + Sync {
    /// Sends the caps, unless they are those of the first buffer.
    fn negotiate(&self, source: &gst_base::BaseSrc) -> Result<(), gst::LoggableError>;

    /// Waits for the next buffer. Posts what went wrong.
    fn next(&self, source: &gst_base::BaseSrc) -> Result<gst::Buffer, gst::FlowError>;

    /// Interrupts a call of `next` that waits.
    fn interrupt(&self);

    /// Lets `next` wait again, after a pause or a flush.
    fn resume(&self);
}

/// What a pad can have.
#[derive(Debug)]
struct Capability {
    caps: gst::Caps,
    latency: gst::ClockTime,
}

glib::wrapper! {
    /// Pushes buffers into its pad while the pipeline plays.
    pub struct PadSource(ObjectSubclass<Pushing>)
        @extends gst_base::PushSrc, gst_base::BaseSrc, gst::Element, gst::Object;
}

impl PadSource {
    /// Makes a source of a format in `caps`, whose buffers come at most `latency` later than their timestamps say.
    pub(crate) fn new(caps: gst::Caps, latency: gst::ClockTime) -> Self {
        let source: Self = glib::Object::new();
        // Nobody else has set it.
        let _ = source.imp().capability.set(Capability { caps, latency });
        source.set_live(true);
        source.set_format(gst::Format::Time);
        source
    }

    /// Says what to push from the next change to PAUSED on.
    pub(crate) fn set_buffers(&self, buffers: Option<Arc<dyn Buffers>>) {
        *self.imp().buffers.lock().unwrap_or_else(PoisonError::into_inner) = buffers;
    }
}

/// The element.
#[derive(Default)]
pub struct Pushing {
    capability: OnceLock<Capability>,
    buffers: Mutex<Option<Arc<dyn Buffers>>>,
}

#[glib::object_subclass]
impl ObjectSubclass for Pushing {
    const NAME: &'static str = "NestcastPadSource";
    type Type = PadSource;
    type ParentType = gst_base::PushSrc;
}

impl ObjectImpl for Pushing {}

impl GstObjectImpl for Pushing {}

impl ElementImpl for Pushing {
    fn pad_templates() -> &'static [gst::PadTemplate] {
        static PAD_TEMPLATES: std::sync::LazyLock<Vec<gst::PadTemplate>> =
            std::sync::LazyLock::new(|| crate::element::pads(&[(gst::PadDirection::Src, gst::Caps::new_any())]));
        &PAD_TEMPLATES
    }
}

impl BaseSrcImpl for Pushing {
    fn is_seekable(&self) -> bool {
        false
    }

    fn caps(&self, filter: Option<&gst::Caps>) -> Option<gst::Caps> {
        self.capability.get().map(|it| crate::raw_format::readable(&it.caps, filter))
    }

    fn negotiate(&self) -> Result<(), gst::LoggableError> {
        self.buffers().map_or(Ok(()), |buffers| buffers.negotiate(self.obj().upcast_ref()))
    }

    fn query(&self, query: &mut gst::QueryRef) -> bool {
        if let gst::QueryViewMut::Latency(latency) = query.view_mut() {
            let given = self.capability.get().map_or(gst::ClockTime::ZERO, |it| it.latency);
            // A slow pipeline blocks nothing.
            latency.set(true, given, gst::ClockTime::NONE);
            return true;
        }
        BaseSrcImplExt::parent_query(self, query)
    }

    fn unlock(&self) -> Result<(), gst::ErrorMessage> {
        self.buffers().inspect(|buffers| buffers.interrupt());
        Ok(())
    }

    fn unlock_stop(&self) -> Result<(), gst::ErrorMessage> {
        self.buffers().inspect(|buffers| buffers.resume());
        Ok(())
    }
}

impl PushSrcImpl for Pushing {
    fn create(&self, _: Option<&mut gst::BufferRef>) -> Result<CreateSuccess, gst::FlowError> {
        let buffers = self.buffers().ok_or(gst::FlowError::Flushing)?;
        buffers.next(self.obj().upcast_ref()).map(CreateSuccess::NewBuffer)
    }
}

impl Pushing {
    fn buffers(&self) -> Option<Arc<dyn Buffers>> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
