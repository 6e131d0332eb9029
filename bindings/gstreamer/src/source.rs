//! `nestcastsrc`: receives a broadcast as raw video, and its sound if a pipeline asks for that. It is a bin with a source
//! for each pad.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gst::glib;
use gst::glib::Properties;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::prelude::*;
use nestcast_proto::Bitrate;
use nestcast_receiver::{Address, Latency, ReceiverConfig, Trust};

use crate::element::{audio_pad, count, element};
use crate::pad_source::PadSource;
use crate::picture_output::PictureBuffers;
use crate::raw_format::{layout, raw_caps};
use crate::reception::{Outputs, Reception};
use crate::sound_input::sound_caps;
use crate::sound_output::{MAX_UNEVENNESS, SoundBuffers, SoundQueue};

/// The name of the pad for pictures.
const PICTURES: &str = "src";
/// The name of the pad for sound.
const SOUND: &str = "audio";

glib::wrapper! {
    /// Receives a broadcast.
    pub struct NestcastSrc(ObjectSubclass<Source>)
        @extends gst::Bin, gst::Element, gst::Object,
        @implements gst::ChildProxy;
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
    /// From READY to PAUSED on.
    running: Option<Running>,
    /// What pushes the sound, if the pipeline asked for it.
    sound: Option<PadSource>,
}

struct Running {
    _reception: Reception,
    pictures: Arc<PictureBuffers>,
    sound: Option<Arc<SoundQueue>>,
    /// Says that pictures and sound belong together.
    group: gst::GroupId,
}

/// The element.
#[derive(Properties)]
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
    #[property(
        name = "num-buffers", type = i32, get = Self::num_buffers, set = Self::set_num_buffers, minimum = -1,
        default = -1, blurb = "The number of pictures after which the source ends; -1 sets no limit"
    )]
    #[property(
        name = "do-timestamp", type = bool, get = Self::stamps, set = Self::set_stamps, default = true,
        blurb = "Stamps each picture with the moment at which it is shown"
    )]
    pictures: PadSource,
}

#[glib::object_subclass]
impl ObjectSubclass for Source {
    const NAME: &'static str = "NestcastSrc";
    type Type = NestcastSrc;
    type ParentType = gst::Bin;

    fn new() -> Self {
        // A picture leaves in the moment that its timestamp says.
        let pictures = PadSource::new(raw_caps(), gst::ClockTime::ZERO);
        // The receiver decides when to show a picture, and its timestamp says: now.
        pictures.set_do_timestamp(true);
        Self { settings: Mutex::default(), state: Mutex::default(), pictures }
    }
}

#[glib::derived_properties]
impl ObjectImpl for Source {
    fn constructed(&self) {
        self.parent_constructed();
        let builder = self.hold(&self.pictures, PICTURES);
        let added = builder.and_then(|builder| self.obj().add_pad(&builder.build()));
        if let Err(error) = added {
            gst::error!(DEBUG_CATEGORY, imp = self, "no pad for pictures: {error}");
        }
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
            if self.state().running.is_some() || self.state().sound.is_some() {
                gst::error!(DEBUG_CATEGORY, imp = self, "one pad for sound, and before the pipeline plays");
                return None;
            }
            // Blocks may come later than their timestamps say, by as much as they are uneven.
            let source = PadSource::new(template.caps().clone(), MAX_UNEVENNESS);
            let builder = self.hold(&source, SOUND).ok()?;
            let pad = builder.proxy_pad_chain_function(push_sound).build();
            if self.obj().add_pad(&pad).is_err() {
                // Without its pad the source is of no use.
                let _ = self.obj().remove(&source);
                return None;
            }
            self.state().sound = Some(source);
            Some(pad.upcast())
        }

        fn release_pad(&self, pad: &gst::Pad) {
            let Some(source) = self.state().sound.take() else { return };
            // The thread may be pushing, until the pad is inactive.
            let _ = pad.set_active(false);
            // A change of the bin's state must not start it again.
            source.set_locked_state(true);
            let _ = source.set_state(gst::State::Null);
            let _ = self.obj().remove(&source);
            let _ = self.obj().remove_pad(pad);
        }

        fn change_state(&self, change: gst::StateChange) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
            if change == gst::StateChange::ReadyToPaused {
                self.begin().map_err(|why| {
                    gst::element_imp_error!(self, gst::ResourceError::Settings, ["{why}"]);
                    gst::StateChangeError
                })?;
            }
            let changed = self.parent_change_state(change);
            match change {
                gst::StateChange::PausedToReady => self.end(),
                gst::StateChange::ReadyToPaused if changed.is_err() => self.end(),
                _ => {}
            }
            changed
        }
    }
);

impl BinImpl for Source {
    /// Posts errors of the sources as the element's own: applications know of no other.
    fn handle_message(&self, message: gst::Message) {
        let gst::MessageView::Error(error) = message.view() else { return self.parent_handle_message(message) };
        let (obj, debug) = (self.obj(), error.debug());
        let own = gst::message::Error::builder_from_error(error.error())
            .debug_if_some(debug.as_deref())
            .details_if_some(error.details().map(ToOwned::to_owned))
            .seqnum(message.seqnum())
            .src(&*obj);
        self.parent_handle_message(own.build());
    }
}

/// Pushes a block of sound. An element that cannot use it ends the pipeline with an error. A pad that leads nowhere is no
/// error: pictures go on.
fn push_sound(
    pad: &gst::ProxyPad,
    ghost: Option<&gst::Object>,
    buffer: gst::Buffer,
) -> Result<gst::FlowSuccess, gst::FlowError> {
    match gst::ProxyPad::chain_default(pad, ghost, buffer) {
        Err(gst::FlowError::NotLinked) => Ok(gst::FlowSuccess::Ok),
        Err(error) if !matches!(error, gst::FlowError::Flushing | gst::FlowError::Eos) => {
            let element = ghost.and_then(gst::Object::parent).and_downcast::<gst::Element>();
            if let Some(element) = element {
                gst::element_error!(element, gst::StreamError::Failed, ["an element refuses the sound: {error}"]);
            }
            // The source would post a second error, which says less.
            Err(gst::FlowError::Eos)
        }
        pushed => pushed,
    }
}

impl Source {
    /// Adds a source to the bin, and begins a pad of the bin that it pushes into.
    fn hold(&self, source: &PadSource, name: &'static str) -> Result<gst::PadBuilder<gst::GhostPad>, glib::BoolError> {
        let obj = self.obj();
        obj.add(source)?;
        let template = obj.pad_template(name).ok_or_else(|| glib::bool_error!("no template {name}"))?;
        let builder = gst::GhostPad::builder_from_template_with_target(&template, source.src_pad())?;
        let weak = self.downgrade();
        Ok(builder.name(name).proxy_pad_event_function(move |pad, ghost, event| {
            let own = weak.upgrade().and_then(|element| element.handle_event(name, &event));
            gst::Pad::event_default(pad, ghost, own.unwrap_or(event))
        }))
    }

    /// Handles an event of a source, and returns what to send in its place. The id of a stream stays the same while the
    /// address does, and both streams have one group.
    fn handle_event(&self, name: &str, event: &gst::Event) -> Option<gst::Event> {
        let (is_sound, address) = (name == SOUND, self.given().address.clone());
        let state = self.state();
        let running = state.running.as_ref()?;
        match event.view() {
            gst::EventView::StreamStart(_) => {
                let id = format!("{address}/{}", if is_sound { "audio" } else { "video" });
                Some(gst::event::StreamStart::builder(&id).group_id(running.group).seqnum(event.seqnum()).build())
            }
            // The sound ends with the pictures.
            gst::EventView::Eos(_) if !is_sound => {
                running.sound.as_ref().inspect(|sound| sound.end(None));
                None
            }
            _ => None,
        }
    }

    fn dropped(&self) -> u64 {
        self.state().running.as_ref().map_or(0, |running| running.pictures.dropped())
    }

    fn num_buffers(&self) -> i32 {
        self.pictures.property("num-buffers")
    }

    fn set_num_buffers(&self, count: i32) {
        self.pictures.set_property("num-buffers", count);
    }

    fn stamps(&self) -> bool {
        self.pictures.does_timestamp()
    }

    fn set_stamps(&self, stamps: bool) {
        self.pictures.set_do_timestamp(stamps);
    }

    /// Begins to receive, and gives the sources what they push.
    fn begin(&self) -> Result<(), String> {
        let sound = self.state().sound.clone();
        let outputs = Outputs::new(sound.is_some());
        let reception = self.receive(outputs.clone())?;
        let pictures = Arc::new(PictureBuffers::new(outputs.pictures, *DEBUG_CATEGORY));
        self.pictures.set_buffers(Some(pictures.clone()));
        if let Some((source, queue)) = sound.zip(outputs.sound.clone()) {
            source.set_buffers(Some(Arc::new(SoundBuffers::new(queue, *DEBUG_CATEGORY))));
        }
        let group = gst::GroupId::next();
        self.state().running = Some(Running { _reception: reception, pictures, sound: outputs.sound, group });
        Ok(())
    }

    /// Ends the reception, after its sources stopped.
    fn end(&self) {
        let sound = self.state().sound.clone();
        self.pictures.set_buffers(None);
        sound.inspect(|source| source.set_buffers(None));
        self.state().running = None;
    }

    /// Reads the properties, and starts a reception.
    fn receive(&self, outputs: Outputs) -> Result<Reception, String> {
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
        let pad = self.pictures.src_pad().downgrade();
        let shown_bits = move |bits| {
            let allowed = pad.upgrade().and_then(|pad| pad.allowed_caps());
            layout(allowed.as_deref(), bits).1
        };
        Reception::start(address, config, threads, shown_bits, outputs)
            .map_err(|error| format!("a thread cannot be started: {error}"))
    }
}
