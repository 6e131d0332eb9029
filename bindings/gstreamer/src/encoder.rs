//! `nestcastenc`: raw video to coded frames.

use std::sync::Mutex;

use gst::glib;
use gst::glib::Properties;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_video::prelude::*;
use gst_video::subclass::prelude::*;
use gst_video::video_codec_state::Readable;
use gst_video::{VideoCodecFrame, VideoCodecFrameFlags, VideoCodecState, VideoFrameRef, VideoInfo};
use nestcast_codec::{Bitrate, Budget, CodedFrame, Picture, Population, VideoEncoder, VideoModel, VideoSettings};

use crate::coded_format::{coded_caps, describe};
use crate::element::{count, element, refuse_format};
use crate::raw_format::{RawFormat, raw_caps, readable};
use crate::raw_picture::{borrow, view};

glib::wrapper! {
    /// Encodes raw video.
    pub struct NestcastEnc(ObjectSubclass<Encoder>)
        @extends gst_video::VideoEncoder, gst::Element, gst::Object,
        @implements gst::Preset;
}

#[derive(Debug, Clone, Copy)]
struct Settings {
    slowest: u64,
    fastest: u64,
    max_bitrate: u64,
    threads: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { slowest: 0, fastest: 0, max_bitrate: 0, threads: 1 }
    }
}

/// The encode of one format.
struct State {
    info: VideoInfo,
    format: RawFormat,
    settings: VideoSettings,
    /// Begins with a key frame. Another one begins a key frame later.
    encoder: VideoEncoder,
    /// Memory for pictures whose colour differences are interleaved.
    picture: Picture,
    /// Cuts frames to the bit rate that was asked for.
    budget: Option<Budget>,
}

/// The element.
#[derive(Default, Properties)]
#[properties(wrapper_type = NestcastEnc)]
pub struct Encoder {
    #[property(
        name = "slowest", type = u64, get, set, member = slowest, mutable_ready,
        blurb = "The slowest receiver's bandwidth in bits per second; 0 takes the usual one of the size and rate"
    )]
    #[property(
        name = "fastest", type = u64, get, set, member = fastest, mutable_ready,
        blurb = "The fastest receiver's bandwidth in bits per second; 0 takes the usual one of the size and rate"
    )]
    #[property(
        name = "max-bitrate", type = u64, get, set, member = max_bitrate, mutable_ready,
        blurb = "Cuts each frame, after its base, to this rate in bits per second; 0 cuts nothing"
    )]
    #[property(
        name = "threads", type = u32, get, set, member = threads, minimum = 1, maximum = 256, default = 1,
        mutable_ready, blurb = "The number of threads that encode; the bytes do not depend on it"
    )]
    settings: Mutex<Settings>,
    state: Mutex<Option<State>>,
}

#[glib::object_subclass]
impl ObjectSubclass for Encoder {
    const NAME: &'static str = "NestcastEnc";
    type Type = NestcastEnc;
    type ParentType = gst_video::VideoEncoder;
}

#[glib::derived_properties]
impl ObjectImpl for Encoder {
    fn constructed(&self) {
        self.parent_constructed();
        self.obj().set_qos_enabled(true);
    }
}

element!(
    Encoder,
    Option<State>,
    log: ["nestcastenc", "nestcast's encoder"],
    description: [
        "nestcast encoder",
        "Codec/Encoder/Video",
        "Encodes video once for receivers of all bandwidths; each frame can be cut at any byte after its base",
    ],
    pads: [Sink: raw_caps(), Src: coded_caps()]
);

impl VideoEncoderImpl for Encoder {
    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        *self.state() = None;
        Ok(())
    }

    fn caps(&self, filter: Option<&gst::Caps>) -> gst::Caps {
        readable(&self.obj().proxy_getcaps(Some(&raw_caps()), None), filter)
    }

    fn set_format(&self, input: &VideoCodecState<'static, Readable>) -> Result<(), gst::LoggableError> {
        let refused = |why: &dyn std::fmt::Display| refuse_format(&*self.obj(), *DEBUG_CATEGORY, why);
        let info = input.info().clone();
        let format = RawFormat::of(&info).map_err(|error| refused(&error))?;
        let settings = self.settings(format).map_err(|error| refused(&error))?;
        let max_bitrate = self.given().max_bitrate;
        let model = VideoModel::built_in();
        let caps = describe(&info, format.bits, &model).map_err(|error| refused(&error))?;
        *self.state() = Some(State {
            info,
            format,
            encoder: VideoEncoder::new(model, settings.clone()),
            settings,
            picture: Picture::zero(format.size, format.samples()),
            budget: (max_bitrate > 0).then(|| Budget::new(Bitrate::from_bits(max_bitrate), format.rate)),
        });
        let obj = self.obj();
        // A picture's frame leaves before the next picture enters.
        obj.set_latency(gst::ClockTime::ZERO, gst::ClockTime::ZERO);
        let output = obj.set_output_state(caps, Some(input)).map_err(|error| refused(&error))?;
        obj.negotiate(output).map_err(|error| refused(&error))
    }

    fn handle_frame(&self, mut frame: VideoCodecFrame) -> Result<gst::FlowSuccess, gst::FlowError> {
        let obj = self.obj();
        let is_key = frame.flags().contains(VideoCodecFrameFlags::FORCE_KEYFRAME);
        if !is_key && obj.max_encode_time(&frame) < 0 {
            // It would arrive too late. Without an output buffer, the base class counts it as skipped.
            gst::debug!(DEBUG_CATEGORY, imp = self, "skips frame {}", frame.system_frame_number());
            return obj.finish_frame(frame);
        }
        let (encoded, length) = self.encode(&frame, is_key).map_err(|why| {
            gst::element_imp_error!(self, gst::StreamError::Encode, ["{why}"]);
            gst::FlowError::Error
        })?;
        if encoded.key {
            frame.set_flags(VideoCodecFrameFlags::SYNC_POINT);
        }
        frame.set_output_buffer(gst::Buffer::from_slice(encoded.bytes.slice(..length)));
        obj.finish_frame(frame)
    }

    fn flush(&self) -> bool {
        if let Some(state) = &mut *self.state() {
            // What follows a flush must decode without what was before.
            state.begin_again();
        }
        true
    }
}

impl Encoder {
    /// Returns the settings of the codec, from the properties.
    fn settings(&self, format: RawFormat) -> Result<VideoSettings, String> {
        let given = *self.given();
        let RawFormat { size, rate, .. } = format;
        let [slowest, fastest] = Population::usual_bitrates(size, rate).map(Bitrate::bits);
        let or = |given, usual| if given == 0 { usual } else { given };
        let [slowest, fastest] = [or(given.slowest, slowest), or(given.fastest, fastest)];
        if slowest > fastest {
            return Err(format!("the slowest receiver, {slowest} bit/s, is faster than the fastest, {fastest} bit/s"));
        }
        let population = Population::log_uniform(Bitrate::from_bits(slowest)..=Bitrate::from_bits(fastest));
        Ok(VideoSettings { size, rate, population, threads: count(given.threads) })
    }

    /// Encodes a frame, and returns how many of its bytes to send.
    fn encode(&self, frame: &VideoCodecFrame, is_key: bool) -> Result<(CodedFrame, usize), String> {
        let mut state = self.state();
        let state = state.as_mut().ok_or("a frame came before its format")?;
        let buffer = frame.input_buffer().ok_or("a frame came without a picture")?;
        if is_key {
            state.begin_again();
        }
        let encoded = state.encode(buffer)?;
        let length = match &mut state.budget {
            Some(budget) => budget.cut(&encoded.bytes, 0).map_err(|error| error.to_string())?,
            None => encoded.bytes.len(),
        };
        Ok((encoded, length))
    }
}

impl State {
    fn begin_again(&mut self) {
        self.encoder = VideoEncoder::new(VideoModel::built_in(), self.settings.clone());
    }

    fn encode(&mut self, buffer: &gst::BufferRef) -> Result<CodedFrame, String> {
        let frame = VideoFrameRef::from_buffer_ref_readable(buffer, &self.info);
        let frame = frame.map_err(|_| "a buffer does not have the planes of its caps".to_owned())?;
        let encoded = match view(&frame, &self.format) {
            Some(view) => view.and_then(|view| self.encoder.encode(view)),
            None => {
                let raw = borrow(&frame, &self.format).map_err(|error| error.to_string())?;
                raw.copy_into(&mut self.picture);
                self.encoder.encode(&self.picture)
            }
        };
        encoded.map_err(|error| error.to_string())
    }
}
