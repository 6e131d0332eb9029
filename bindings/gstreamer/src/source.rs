//! `nestcastsrc`: receives a broadcast as raw video.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use gst::glib;
use gst::glib::Properties;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::base_src::CreateSuccess;
use gst_base::subclass::prelude::*;
use gst_video::{VideoFrameRef, VideoInfo};
use nestcast_proto::Bitrate;
use nestcast_receiver::{Address, Latency, ReceiverConfig, Trust};

use crate::element::{audio_pad, count, element};
use crate::raw_format::{RawFormat, layout, raw_caps};
use crate::raw_picture::write;
use crate::reception::{Next, PictureOutput, Received, Reception};
use crate::sound_input::sound_caps;
use crate::sound_output::{MAX_UNEVENNESS, SoundPusher, SoundQueue};

/// The caps of a buffer's reference timestamp that is the capture time since 1970.
static CAPTURE_TIME: LazyLock<gst::Caps> = LazyLock::new(|| gst::Caps::new_empty_simple("timestamp/x-unix"));

glib::wrapper! {
    /// Receives a broadcast.
    pub struct NestcastSrc(ObjectSubclass<Source>)
        @extends gst_base::PushSrc, gst_base::BaseSrc, gst::Element, gst::Object;
}

#[derive(Debug, Clone)]
struct Settings {
    address: String,
    fingerprint: Option<String>,
    authorities: Option<String>,
    token: Option<String>,
    max_bitrate: u64,
    latency: i32,
    retry: u32,
    wait: bool,
    threads: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            address: "127.0.0.1:4433".to_owned(),
            fingerprint: None,
            authorities: None,
            token: None,
            max_bitrate: 0,
            latency: -1,
            retry: 0,
            wait: false,
            threads: 1,
        }
    }
}

#[derive(Default)]
struct State {
    reception: Option<Reception>,
    /// The format of the last caps.
    output: Option<(RawFormat, VideoInfo)>,
    dropped: u64,
    /// The sound, if the pipeline asked for it.
    sound: Option<Arc<SoundQueue>>,
}

/// The element.
#[derive(Default, Properties)]
#[properties(wrapper_type = NestcastSrc)]
pub struct Source {
    #[property(
        name = "address", type = String, get, set, member = address, default = "127.0.0.1:4433", mutable_ready,
        blurb = "The sender's host and UDP port, and the broadcast there if it has a name: example.org:4433/cam1"
    )]
    #[property(
        name = "fingerprint", type = Option<String>, get, set, member = fingerprint, mutable_ready,
        blurb = "The SHA-256 of the sender's certificate in 64 hexadecimal digits"
    )]
    #[property(
        name = "authorities", type = Option<String>, get, set, member = authorities, mutable_ready,
        blurb = "A PEM file of authorities that certify the sender, in place of a fingerprint"
    )]
    #[property(
        name = "token", type = Option<String>, get, set, member = token, mutable_ready,
        blurb = "The token that the sender asks for"
    )]
    #[property(
        name = "max-bitrate", type = u64, get, set, member = max_bitrate, mutable_ready,
        blurb = "The most bits per second to receive; 0 sets no limit"
    )]
    #[property(
        name = "latency", type = i32, get, set, member = latency, minimum = -1, maximum = 400, default = -1,
        mutable_ready,
        blurb = "Delays pictures by this many milliseconds; 0 shows them at once, -1 delays by as little as is even"
    )]
    #[property(
        name = "retry", type = u32, get, set, member = retry, mutable_ready,
        blurb = "Connects again for up to this many milliseconds without a usable frame; 0 tries once"
    )]
    #[property(
        name = "wait", type = bool, get, set, member = wait, mutable_ready,
        blurb = "Waits for the first broadcast, and after each for the next one, however long that takes"
    )]
    #[property(
        name = "threads", type = u32, get, set, member = threads, minimum = 1, maximum = 256, default = 1,
        mutable_ready, blurb = "The number of threads that decode"
    )]
    settings: Mutex<Settings>,
    #[property(
        name = "dropped", type = u64, get = Self::dropped,
        blurb = "The number of pictures that were dropped because the pipeline was slow"
    )]
    state: Mutex<State>,
}

#[glib::object_subclass]
impl ObjectSubclass for Source {
    const NAME: &'static str = "NestcastSrc";
    type Type = NestcastSrc;
    type ParentType = gst_base::PushSrc;
}

#[glib::derived_properties]
impl ObjectImpl for Source {
    fn constructed(&self) {
        self.parent_constructed();
        let obj = self.obj();
        obj.set_live(true);
        obj.set_format(gst::Format::Time);
        // The receiver decides when to show a picture, and its timestamp says: now.
        obj.set_do_timestamp(true);
    }
}

element!(
    Source,
    State,
    log: ["nestcastsrc", "nestcast's receptions"],
    description: [
        "nestcast source",
        "Source/Network/Video",
        "Receives a broadcast of nestcast over QUIC",
    ],
    pads: [Src: raw_caps()],
    asked: audio_pad(gst::PadDirection::Src, &sound_caps()),
    methods: {
        fn request_new_pad(
            &self,
            template: &gst::PadTemplate,
            _: Option<&str>,
            _: Option<&gst::Caps>,
        ) -> Option<gst::Pad> {
            if self.state().reception.is_some() || self.sound_pad().is_some() {
                gst::error!(DEBUG_CATEGORY, imp = self, "one pad for sound, and before the pipeline plays");
                return None;
            }
            let pad = gst::Pad::builder_from_template(template)
                .name("audio")
                .query_function(|pad, source, query| {
                    if let gst::QueryViewMut::Latency(latency) = query.view_mut() {
                        // Blocks may come later than their timestamps say, by as much as they are uneven.
                        latency.set(true, MAX_UNEVENNESS, gst::ClockTime::NONE);
                        return true;
                    }
                    gst::Pad::query_default(pad, source, query)
                })
                .build();
            self.obj().add_pad(&pad).ok()?;
            Some(pad)
        }

        fn release_pad(&self, pad: &gst::Pad) {
            let queue = self.state().sound.take();
            queue.inspect(|queue| queue.stop());
            // The thread may be pushing, until the pad is inactive.
            let _ = pad.set_active(false);
            self.stop_sound();
            let _ = self.obj().remove_pad(pad);
        }

        fn change_state(&self, change: gst::StateChange) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
            let queue = self.state().sound.clone();
            match (change, &queue) {
                (gst::StateChange::PlayingToPaused, Some(queue)) => queue.set_playing(false),
                (gst::StateChange::PausedToReady, Some(queue)) => queue.stop(),
                _ => {}
            }
            let changed = self.parent_change_state(change)?;
            match (change, &queue) {
                (gst::StateChange::ReadyToPaused, _) => self.start_sound(),
                (gst::StateChange::PausedToPlaying, Some(queue)) => queue.set_playing(true),
                // Its thread has nothing to wait for any more.
                (gst::StateChange::PausedToReady, _) => self.stop_sound(),
                _ => {}
            }
            Ok(changed)
        }
    }
);

impl BaseSrcImpl for Source {
    fn start(&self) -> Result<(), gst::ErrorMessage> {
        let sound = self.sound_pad().map(|_| Arc::<SoundQueue>::default());
        let begun = self.begin(sound.clone());
        let begun = begun.map_err(|why| gst::error_msg!(gst::ResourceError::Settings, ["{why}"]))?;
        *self.state() = State { reception: Some(begun), sound, ..State::default() };
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        *self.state() = State::default();
        Ok(())
    }

    fn is_seekable(&self) -> bool {
        false
    }

    fn negotiate(&self) -> Result<(), gst::LoggableError> {
        // The caps are those of the announcement, which comes with the first picture.
        Ok(())
    }

    fn query(&self, query: &mut gst::QueryRef) -> bool {
        if let gst::QueryViewMut::Latency(latency) = query.view_mut() {
            // A picture leaves in the moment that its timestamp says, and a slow pipeline blocks nothing.
            latency.set(true, gst::ClockTime::ZERO, gst::ClockTime::NONE);
            return true;
        }
        BaseSrcImplExt::parent_query(self, query)
    }

    fn unlock(&self) -> Result<(), gst::ErrorMessage> {
        self.output().inspect(|output| output.set_unlocked(true));
        Ok(())
    }

    fn unlock_stop(&self) -> Result<(), gst::ErrorMessage> {
        // After a pause or a flush, pictures of before are of no use.
        self.output().inspect(|output| {
            output.flush();
            output.set_unlocked(false);
        });
        Ok(())
    }
}

impl PushSrcImpl for Source {
    fn create(&self, _: Option<&mut gst::BufferRef>) -> Result<CreateSuccess, gst::FlowError> {
        let output = self.output().ok_or(gst::FlowError::Flushing)?;
        match output.next() {
            Next::Picture(received) => self.buffer(&received).map(CreateSuccess::NewBuffer),
            Next::Unlocked => Err(gst::FlowError::Flushing),
            Next::End => Err(gst::FlowError::Eos),
            Next::Failed(why) => {
                gst::element_imp_error!(self, gst::ResourceError::Read, ["{why}"]);
                Err(gst::FlowError::Error)
            }
        }
    }
}

impl Source {
    fn sound_pad(&self) -> Option<gst::Pad> {
        self.obj().static_pad("audio")
    }

    /// Starts the thread of sound, if the pipeline asked for it.
    fn start_sound(&self) {
        let (Some(pad), Some(queue)) = (self.sound_pad(), self.state().sound.clone()) else { return };
        let obj = self.obj();
        let mut pusher = SoundPusher::new(pad.clone(), obj.upcast_ref(), queue);
        if let Err(error) = pad.start_task(move || pusher.push_next()) {
            gst::error!(DEBUG_CATEGORY, imp = self, "no thread for sound: {error}");
        }
    }

    /// Ends the thread of sound.
    fn stop_sound(&self) {
        let _ = self.sound_pad().map(|pad| pad.stop_task());
    }

    fn output(&self) -> Option<PictureOutput> {
        self.state().reception.as_ref().map(Reception::output)
    }

    fn dropped(&self) -> u64 {
        self.state().dropped
    }

    /// Reads the properties, and begins to receive.
    fn begin(&self, sound: Option<Arc<SoundQueue>>) -> Result<Reception, String> {
        let given = self.given().clone();
        let address: Address = given.address.parse().map_err(|error| format!("{error}"))?;
        let trust = match (given.fingerprint, given.authorities) {
            (Some(digits), None) => Trust::fingerprint(&digits).ok_or("a fingerprint has 64 hexadecimal digits")?,
            (None, Some(file)) => Trust::Authorities(PathBuf::from(file)),
            _ => return Err("give either a fingerprint or a file of authorities".to_owned()),
        };
        let latency = match u64::try_from(given.latency) {
            Err(_) => Latency::Smooth,
            Ok(0) => Latency::Min,
            Ok(milliseconds) => Latency::Fixed(Duration::from_millis(milliseconds)),
        };
        let config = ReceiverConfig {
            token: given.token.unwrap_or_default().into_bytes().into(),
            max_bitrate: (given.max_bitrate > 0).then(|| Bitrate::from_bits(given.max_bitrate)),
            retry: Duration::from_millis(given.retry.into()),
            wait: given.wait,
            latency,
            ..Reception::config(trust)
        };
        let threads = count(given.threads);
        let pad = self.obj().src_pad().downgrade();
        let shown_bits = move |bits| {
            let allowed = pad.upgrade().and_then(|pad| pad.allowed_caps());
            layout(allowed.as_deref(), bits).1
        };
        Reception::start(address, config, threads, shown_bits, sound)
            .map_err(|error| format!("a thread cannot be started: {error}"))
    }

    /// Puts a picture into a buffer, after its caps if they change.
    fn buffer(&self, received: &Received) -> Result<gst::Buffer, gst::FlowError> {
        let info = self.info(received.format)?;
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
        if received.dropped > 0 {
            gst::debug!(DEBUG_CATEGORY, imp = self, "{} pictures were dropped", received.dropped);
            fresh.set_flags(gst::BufferFlags::DISCONT);
            self.state().dropped += received.dropped;
        }
        Ok(buffer)
    }

    /// Returns how the pictures of a format lie in buffers, and sends caps if the format is new.
    fn info(&self, format: RawFormat) -> Result<VideoInfo, gst::FlowError> {
        if let Some((before, info)) = &self.state().output
            && *before == format
        {
            return Ok(info.clone());
        }
        let refused = |why: &dyn std::fmt::Display| {
            self.refuse_format(why);
            gst::FlowError::NotNegotiated
        };
        let obj = self.obj();
        let allowed = obj.src_pad().allowed_caps();
        let (layout, bits) = layout(allowed.as_deref(), format.bits);
        if bits != format.bits {
            let why = format!("no element takes pictures of {} bits a sample: put videoconvert after it", format.bits);
            return Err(refused(&why));
        }
        let info = format.to_info(layout).map_err(|error| refused(&error))?;
        let caps = info.to_caps().map_err(|error| refused(&error))?;
        obj.set_caps(&caps).map_err(|_| refused(&format!("no element takes {caps}")))?;
        self.state().output = Some((format, info.clone()));
        Ok(info)
    }
}
