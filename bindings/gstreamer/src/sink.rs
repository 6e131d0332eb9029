//! `nestcastsink`: broadcasts raw video.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Mutex;

use gst::glib;
use gst::glib::Properties;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::prelude::*;
use gst_video::{VideoFrameRef, VideoInfo};
use nestcast_codec::Picture;
use nestcast_encode::{Offered, StreamPicture};
use nestcast_sender::{BrowserPage, Identity, clock_micros, place_of};
use nestcast_sound::{MAX_BITRATE, MIN_BITRATE};

use crate::broadcast::{Broadcast, PictureInput, Settings as Running, with_causes};
use crate::element::{audio_pad, count, element, refuse_format};
use crate::raw_format::{RawFormat, raw_caps, readable};
use crate::raw_picture::borrow;
use crate::sound_input::{SoundInput, sound_caps};

glib::wrapper! {
    /// Broadcasts raw video.
    pub struct NestcastSink(ObjectSubclass<Sink>)
        @extends gst_base::BaseSink, gst::Element, gst::Object;
}

/// Bits per second of sound, unless the application sets others.
const SOUND_BITRATE: u64 = 64_000;

#[derive(Debug, Clone)]
struct Settings {
    listen: String,
    certificate: Option<String>,
    private_key: Option<String>,
    token: Option<String>,
    web: Option<String>,
    max_receivers: u32,
    max_bitrate: u64,
    renditions: u32,
    threads: u32,
    sound_bitrate: u64,
}

impl Default for Settings {
    fn default() -> Self {
        let [certificate, private_key, token, web] = [const { None }; 4];
        let (listen, sound_bitrate) = ("127.0.0.1:4433".to_owned(), SOUND_BITRATE);
        let [max_receivers, renditions, threads] = [1000, 0, 2];
        Self {
            listen,
            certificate,
            private_key,
            token,
            web,
            max_receivers,
            max_bitrate: 0,
            renditions,
            threads,
            sound_bitrate,
        }
    }
}

#[derive(Default)]
struct State {
    /// What a broadcast needs, from READY to PAUSED on.
    running: Option<Running>,
    input: Option<(VideoInfo, RawFormat)>,
    /// It runs from the first caps on, and again from the first picture after an end of stream.
    broadcast: Option<Broadcast>,
    /// The figures of the broadcasts before.
    before: Figures,
    /// Pictures that this element replaced before the encoder took them.
    replaced: u64,
    /// The skipped pictures that the application knows of.
    reported: u64,
}

/// The pictures of broadcasts: those that were encoded, and those for which the encoder had no time.
#[derive(Debug, Clone, Copy, Default)]
struct Figures {
    frames: u64,
    skipped: u64,
}

impl State {
    fn figures(&self) -> Figures {
        let now = self.broadcast.as_ref().map(|broadcast| broadcast.monitor().read());
        let (frames, skipped) = now.map_or((0, 0), |now| (now.frames, now.skipped));
        let Figures { frames: frames_before, skipped: skipped_before } = self.before;
        Figures { frames: frames_before + frames, skipped: skipped_before + skipped + self.replaced }
    }
}

/// The element.
#[derive(Default, Properties)]
#[properties(wrapper_type = NestcastSink)]
pub struct Sink {
    #[property(
        name = "listen", type = String, get, set, member = listen, default = "127.0.0.1:4433", mutable_ready,
        blurb = "The IP address and UDP port to listen on; [::]:4433 accepts receivers from anywhere"
    )]
    #[property(
        name = "certificate", type = Option<String>, get, set, member = certificate, mutable_ready,
        blurb = "A PEM file with the certificate chain; without it, a new certificate is made"
    )]
    #[property(
        name = "private-key", type = Option<String>, get, set, member = private_key, mutable_ready,
        blurb = "A PEM file with the certificate's private key"
    )]
    #[property(
        name = "token", type = Option<String>, get, set, member = token, mutable_ready,
        blurb = "The token that receivers must show; without it, everybody may watch"
    )]
    #[property(
        name = "web", type = Option<String>, get, set, member = web, mutable_ready,
        blurb = "The IP address and TCP port of a page by which browsers watch; without it, they cannot"
    )]
    #[property(
        name = "max-receivers", type = u32, get, set, member = max_receivers, minimum = 1, default = 1000,
        mutable_ready, blurb = "The most receivers at once"
    )]
    #[property(
        name = "max-bitrate", type = u64, get, set, member = max_bitrate, mutable_ready,
        blurb = "The most bits per second that each receiver gets over time; 0 sets no limit"
    )]
    #[property(
        name = "renditions", type = u32, get, set, member = renditions, maximum = 16, mutable_ready,
        blurb = "The most renditions that are encoded in parallel; 0 encodes as many as the receivers need"
    )]
    #[property(
        name = "threads", type = u32, get, set, member = threads, minimum = 1, maximum = 256, default = 2,
        mutable_ready, blurb = "The number of threads that encode"
    )]
    #[property(
        name = "sound-bitrate", type = u64, get, set, member = sound_bitrate, minimum = MIN_BITRATE,
        maximum = MAX_BITRATE, default = SOUND_BITRATE, mutable_ready,
        blurb = "The bit rate of the sound of the pad audio, in bits per second"
    )]
    settings: Mutex<Settings>,
    #[property(
        name = "fingerprint", type = String, get = Self::fingerprint,
        blurb = "The certificate's SHA-256 in 64 hexadecimal digits, for receivers; from PAUSED on"
    )]
    #[property(
        name = "address", type = String, get = Self::address,
        blurb = "The address that it listens on; empty before the first caps"
    )]
    #[property(
        name = "link", type = String, get = Self::link,
        blurb = "The link that opens the page in a browser; empty without `web`, and before the first caps"
    )]
    #[property(
        name = "receivers", type = u32, get = Self::receivers, blurb = "The number of receivers at the moment"
    )]
    #[property(name = "frames", type = u64, get = Self::frames, blurb = "The number of frames encoded so far")]
    #[property(
        name = "skipped", type = u64, get = Self::skipped,
        blurb = "The number of pictures that the encoder had no time for"
    )]
    state: Mutex<State>,
    sound: SoundInput,
}

#[glib::object_subclass]
impl ObjectSubclass for Sink {
    const NAME: &'static str = "NestcastSink";
    type Type = NestcastSink;
    type ParentType = gst_base::BaseSink;
}

#[glib::derived_properties]
impl ObjectImpl for Sink {
    fn constructed(&self) {
        self.parent_constructed();
        // Elements before the sink learn how late pictures are. The sink sends late ones too: the encoder takes the
        // newest, so lateness does not grow.
        self.obj().set_qos(true);
        self.obj().set_max_lateness(-1);
    }
}

element!(
    Sink,
    State,
    log: ["nestcastsink", "nestcast's broadcasts"],
    description: [
        "nestcast sink",
        "Sink/Network/Video",
        "Broadcasts video over QUIC, encoded once for all receivers",
    ],
    pads: [Sink: raw_caps()],
    asked: audio_pad(gst::PadDirection::Sink, &sound_caps()),
    methods: {
        fn request_new_pad(
            &self,
            template: &gst::PadTemplate,
            _: Option<&str>,
            _: Option<&gst::Caps>,
        ) -> Option<gst::Pad> {
            // Receivers learn of sound when the broadcast begins.
            if self.state().broadcast.is_some() || self.has_sound() {
                gst::error!(DEBUG_CATEGORY, imp = self, "one pad for sound, and before the pipeline plays");
                return None;
            }
            let pad = gst::Pad::builder_from_template(template)
                .name("audio")
                .chain_function(|_, sink, buffer| {
                    let failed = || Err(gst::FlowError::Error);
                    Self::catch_panic_pad_function(sink, failed, |sink| sink.chain_sound(&buffer))
                })
                .event_function(|pad, sink, event| {
                    Self::catch_panic_pad_function(sink, || false, |it| {
                        it.sound.handle_event(&event);
                        gst::Pad::event_default(pad, sink, event)
                    })
                })
                .build();
            // A change to PAUSED does both, for the pads that are there before.
            let obj = self.obj();
            if obj.current_state().max(obj.pending_state()) >= gst::State::Paused {
                self.sound.gate.set_open(true);
                pad.set_active(true).ok()?;
            }
            obj.add_pad(&pad).ok()?;
            Some(pad)
        }

        fn release_pad(&self, pad: &gst::Pad) {
            self.sound.gate.set_open(false);
            let _ = self.obj().remove_pad(pad);
        }

        fn change_state(&self, change: gst::StateChange) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
            match change {
                gst::StateChange::ReadyToPaused => {
                    self.sound.reset();
                    self.sound.gate.set_open(true);
                }
                gst::StateChange::PlayingToPaused => self.sound.gate.set_playing(false),
                gst::StateChange::PausedToReady => self.sound.gate.set_open(false),
                _ => {}
            }
            let changed = self.parent_change_state(change)?;
            if change == gst::StateChange::PausedToPlaying {
                self.sound.gate.set_playing(true);
            }
            Ok(changed)
        }
    }
);

impl BaseSinkImpl for Sink {
    fn start(&self) -> Result<(), gst::ErrorMessage> {
        let running = self.running().map_err(|why| gst::error_msg!(gst::ResourceError::Settings, ["{why}"]))?;
        *self.state() = State { running: Some(running), ..State::default() };
        self.obj().notify("fingerprint");
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        // The drop waits for threads, and must not hold the lock meanwhile.
        let state = std::mem::take(&mut *self.state());
        drop(state);
        Ok(())
    }

    fn caps(&self, filter: Option<&gst::Caps>) -> Option<gst::Caps> {
        Some(readable(&raw_caps(), filter))
    }

    fn set_caps(&self, caps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let refused = |why: &dyn std::fmt::Display| refuse_format(&*self.obj(), *DEBUG_CATEGORY, why);
        let info = VideoInfo::from_caps(caps).map_err(|error| refused(&error))?;
        let format = RawFormat::of(&info).map_err(|error| refused(&error))?;
        {
            let mut state = self.state();
            let is_same = state.input.as_ref().is_some_and(|(_, before)| *before == format);
            state.input = Some((info, format));
            if is_same && state.broadcast.is_some() {
                return Ok(());
            }
        }
        // Receivers learn the format once: those that wait for the next broadcast come again.
        self.finish().map_err(|why| refused(&why))?;
        self.begin().map_err(|why| {
            gst::element_imp_error!(self, gst::ResourceError::OpenWrite, ["{why}"]);
            gst::loggable_error!(DEBUG_CATEGORY, "{why}")
        })
    }

    fn render(&self, buffer: &gst::Buffer) -> Result<gst::FlowSuccess, gst::FlowError> {
        let failed = |why: &dyn std::fmt::Display| {
            gst::element_imp_error!(self, gst::ResourceError::Write, ["{why}"]);
            gst::FlowError::Error
        };
        if self.state().broadcast.is_none() {
            self.begin().map_err(|why| failed(&why))?;
        }
        let captured = self.captured(buffer);
        loop {
            // Only this thread and changes of state, which wait for it, replace the broadcast.
            let picture = self.picture(buffer).map_err(|why| failed(&why))?;
            let input = self.input();
            let Some(input) = input else { return Err(gst::FlowError::Flushing) };
            match input.offer(StreamPicture { picture, captured: Some(captured) }) {
                taken @ (Offered::Accepted | Offered::Replaced) => {
                    self.report_skipped(buffer, taken == Offered::Replaced);
                    return Ok(gst::FlowSuccess::Ok);
                }
                Offered::Ended => return Err(failed(&input.ending())),
                // Waits until it is flushed, or plays again.
                Offered::Refused(_) => self.obj().wait_preroll()?,
            };
        }
    }

    fn event(&self, event: gst::Event) -> bool {
        if event.type_() == gst::EventType::FlushStop {
            self.input().inspect(|input| input.slot().clear());
        }
        if event.type_() == gst::EventType::Eos
            && let Err(why) = self.finish()
        {
            gst::element_imp_error!(self, gst::ResourceError::Write, ["{why}"]);
            return false;
        }
        self.parent_event(event)
    }

    fn unlock(&self) -> Result<(), gst::ErrorMessage> {
        self.input().inspect(|input| input.slot().set_interrupted(true));
        Ok(())
    }

    fn unlock_stop(&self) -> Result<(), gst::ErrorMessage> {
        self.input().inspect(|input| input.slot().set_interrupted(false));
        Ok(())
    }
}

impl Sink {
    fn has_sound(&self) -> bool {
        self.obj().static_pad("audio").is_some()
    }

    fn chain_sound(&self, buffer: &gst::Buffer) -> Result<gst::FlowSuccess, gst::FlowError> {
        let (obj, bitrate) = (self.obj(), self.given().sound_bitrate);
        let fanout = || self.state().broadcast.as_ref().map(|broadcast| broadcast.sound().clone());
        self.sound.handle_buffer(obj.upcast_ref(), bitrate, fanout, buffer).map_err(|why| match why {
            None => gst::FlowError::Flushing,
            Some(error) => {
                gst::element_imp_error!(self, gst::StreamError::Encode, ["{error}"]);
                gst::FlowError::Error
            }
        })?;
        Ok(gst::FlowSuccess::Ok)
    }

    fn input(&self) -> Option<PictureInput> {
        self.state().broadcast.as_ref().map(Broadcast::input)
    }

    fn fingerprint(&self) -> String {
        self.state().running.as_ref().map(|running| running.identity.fingerprint().to_string()).unwrap_or_default()
    }

    fn address(&self) -> String {
        let address = self.state().broadcast.as_ref().and_then(Broadcast::address);
        address.map(place_of).unwrap_or_default()
    }

    fn link(&self) -> String {
        self.state().broadcast.as_ref().and_then(|broadcast| broadcast.page()?.link()).unwrap_or_default()
    }

    fn receivers(&self) -> u32 {
        let count = self.state().broadcast.as_ref().map_or(0, |it| it.monitor().read().receivers.len());
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    fn frames(&self) -> u64 {
        self.state().figures().frames
    }

    fn skipped(&self) -> u64 {
        self.state().figures().skipped
    }

    /// Ends the broadcast after its last picture, if there is one.
    fn finish(&self) -> Result<(), String> {
        let Some(broadcast) = self.state().broadcast.take() else { return Ok(()) };
        let monitor = broadcast.monitor().clone();
        let outcome = broadcast.finish();
        let last = monitor.read();
        let mut state = self.state();
        state.before.frames += last.frames;
        state.before.skipped += last.skipped;
        outcome
    }

    /// Reads the properties.
    fn running(&self) -> Result<Running, String> {
        let given = self.given().clone();
        let place = |name: &str, given: &str| {
            given.parse::<SocketAddr>().map_err(|_| format!("give {name} an IP address and a port, as in [::]:4433"))
        };
        let listen = place("listen", &given.listen)?;
        let web = given.web.map(|web| place("web", &web)).transpose()?;
        let is_certified = given.certificate.is_some();
        let identity = match (given.certificate, given.private_key) {
            (None, None) => Identity::generate(),
            (Some(chain), Some(key)) => Identity::from_pem(&PathBuf::from(chain), &PathBuf::from(key)),
            _ => return Err("give both certificate and private-key, or none".to_owned()),
        };
        Ok(Running {
            listen,
            identity: identity.map_err(|error| with_causes(&error))?,
            is_certified,
            web,
            token: given.token.unwrap_or_default().into_bytes(),
            max_receivers: count(given.max_receivers),
            max_bitrate: given.max_bitrate,
            threads: count(given.threads),
            renditions: count(given.renditions),
            is_paced: self.obj().is_sync(),
            // Each broadcast looks whether there is a pad for it.
            has_sound: false,
        })
    }

    /// Begins a broadcast of the negotiated format.
    fn begin(&self) -> Result<(), String> {
        let (running, format) = {
            let state = self.state();
            match (&state.running, &state.input) {
                (Some(running), Some((_, format))) => (running.clone(), *format),
                _ => return Err("a picture came before its format".to_owned()),
            }
        };
        let running = Running { has_sound: self.has_sound(), ..running };
        let broadcast = Broadcast::start(running, format).map_err(|error| with_causes(&error))?;
        {
            let mut state = self.state();
            // The next broadcast is at the same addresses, also if the system chose the ports.
            if let Some(running) = &mut state.running {
                running.listen = broadcast.address().unwrap_or(running.listen);
                running.web = broadcast.page().and_then(BrowserPage::address).or(running.web);
            }
            state.broadcast = Some(broadcast);
        }
        let obj = self.obj();
        obj.notify("address");
        obj.notify("link");
        let (address, fingerprint, link) = (self.address(), self.fingerprint(), self.link());
        gst::info!(DEBUG_CATEGORY, imp = self, "receive with: nestcast receive {address} --fingerprint {fingerprint}");
        let listening = gst::Structure::builder("nestcast-listening")
            .field("address", address)
            .field("fingerprint", fingerprint)
            .field("link", link)
            .build();
        // A pipeline without a bus has no use for it.
        let _ = obj.post_message(gst::message::Element::builder(listening).src(&*obj).build());
        Ok(())
    }

    /// Returns when the picture was captured, in microseconds since 1970: before now by as much as it is late for its
    /// timestamp.
    fn captured(&self, buffer: &gst::Buffer) -> u64 {
        let obj = self.obj();
        let running = obj.segment().downcast::<gst::ClockTime>().ok();
        let due = running.and_then(|segment| segment.to_running_time(buffer.pts()?));
        let age = obj.current_running_time().zip(due).map(|(now, due)| now.saturating_sub(due));
        clock_micros().saturating_sub(age.map_or(0, gst::ClockTime::useconds))
    }

    fn picture(&self, buffer: &gst::Buffer) -> Result<Picture, String> {
        let state = self.state();
        let Some((info, format)) = &state.input else {
            return Err("a picture came before its format".to_owned());
        };
        let frame = VideoFrameRef::from_buffer_ref_readable(buffer, info);
        let frame = frame.map_err(|_| "a buffer does not have the planes of its caps")?;
        let raw = borrow(&frame, format).map_err(|error| error.to_string())?;
        let spent = state.broadcast.as_ref().and_then(|broadcast| broadcast.input().slot().spent());
        let mut picture = spent.unwrap_or_else(|| Picture::zero(format.size, format.samples()));
        raw.copy_into(&mut picture);
        Ok(picture)
    }

    /// Tells the application of pictures that were skipped since the last one.
    fn report_skipped(&self, buffer: &gst::Buffer, is_replaced: bool) {
        let Figures { frames, skipped } = {
            let mut state = self.state();
            state.replaced += u64::from(is_replaced);
            let figures = state.figures();
            if std::mem::replace(&mut state.reported, figures.skipped) == figures.skipped {
                return;
            }
            figures
        };
        let obj = self.obj();
        let count = |number: u64| gst::format::Default::from_u64(number);
        let message = gst::message::Qos::builder(true)
            .src(&*obj)
            .timestamp(buffer.pts())
            .stats(count(frames), count(skipped))
            .build();
        // A pipeline without a bus has no use for it.
        let _ = obj.post_message(message);
    }
}
