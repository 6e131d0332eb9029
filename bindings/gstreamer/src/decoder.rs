//! `nestcastdec`: coded frames, or prefixes of them, to raw video.

use std::sync::Mutex;

use gst::glib;
use gst::glib::Properties;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_video::prelude::*;
use gst_video::subclass::prelude::*;
use gst_video::video_codec_state::Readable;
use gst_video::{VideoCodecFrame, VideoCodecState, VideoFrameRef, VideoInfo};
use nestcast_codec::{DecodedPart, Format, Picture, Size, VideoDecoder, VideoModel};

use crate::coded_format::{coded_caps, stated_bits, unknown_models};
use crate::element::{count, element, refuse_format};
use crate::raw_format::{RawFormat, layout, raw_caps};
use crate::raw_picture::write;

glib::wrapper! {
    /// Decodes coded frames.
    pub struct NestcastDec(ObjectSubclass<Decoder>)
        @extends gst_video::VideoDecoder, gst::Element, gst::Object;
}

/// The decode of one format.
struct State {
    info: VideoInfo,
    size: Size,
    threads: usize,
    decoder: VideoDecoder,
    picture: Picture,
}

impl State {
    fn new(info: VideoInfo, size: Size, format: Format, threads: usize) -> Self {
        let decoder = VideoDecoder::new(VideoModel::built_in(), size, threads);
        Self { info, size, threads, decoder, picture: Picture::zero(size, format) }
    }
}

#[derive(Debug)]
struct Settings {
    threads: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { threads: 1 }
    }
}

/// The element.
#[derive(Default, Properties)]
#[properties(wrapper_type = NestcastDec)]
pub struct Decoder {
    #[property(
        name = "threads", type = u32, get, set, member = threads, minimum = 1, maximum = 256, default = 1,
        mutable_ready, blurb = "The number of threads that decode; the pictures do not depend on it"
    )]
    settings: Mutex<Settings>,
    state: Mutex<Option<State>>,
}

#[glib::object_subclass]
impl ObjectSubclass for Decoder {
    const NAME: &'static str = "NestcastDec";
    type Type = NestcastDec;
    type ParentType = gst_video::VideoDecoder;
}

#[glib::derived_properties]
impl ObjectImpl for Decoder {
    fn constructed(&self) {
        self.parent_constructed();
        let obj = self.obj();
        // Every buffer is one frame, and pictures begin with a key frame.
        obj.set_packetized(true);
        obj.set_needs_format(true);
        obj.set_needs_sync_point(true);
    }
}

element!(
    Decoder,
    Option<State>,
    log: ["nestcastdec", "nestcast's decoder"],
    description: [
        "nestcast decoder",
        "Codec/Decoder/Video",
        "Decodes frames of nestcast, each from any prefix that contains its base",
    ],
    pads: [Sink: coded_caps(), Src: raw_caps()]
);

impl VideoDecoderImpl for Decoder {
    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        *self.state() = None;
        Ok(())
    }

    fn set_format(&self, input: &VideoCodecState<'static, Readable>) -> Result<(), gst::LoggableError> {
        let refused = |why: &dyn std::fmt::Display| refuse_format(&*self.obj(), *DEBUG_CATEGORY, why);
        if let Some(models) = input.caps().and_then(|caps| unknown_models(caps, &VideoModel::built_in())) {
            return Err(refused(&format!("the frames have the models {models}, which this plugin lacks: update it")));
        }
        let RawFormat { size, colours, .. } = RawFormat::of(input.info()).map_err(|error| refused(&error))?;
        let obj = self.obj();
        let given = input.caps().map_or(8, stated_bits);
        let (layout, bits) = layout(obj.src_pad().allowed_caps().as_deref(), given);
        let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let output = obj.set_output_state(layout, side(size.width()), side(size.height()), Some(input));
        let output = output.map_err(|error| refused(&error))?;
        obj.negotiate(output).map_err(|error| refused(&error))?;
        let info = obj.output_state().map(|state| state.info().clone());
        let info = info.ok_or_else(|| refused(&"the output has no format"))?;
        let threads = self.given().threads;
        *self.state() = Some(State::new(info, size, Format::planar(colours, bits), count(threads)));
        // A frame's picture leaves before the next frame enters.
        obj.set_latency(gst::ClockTime::ZERO, gst::ClockTime::ZERO);
        Ok(())
    }

    fn handle_frame(&self, mut frame: VideoCodecFrame) -> Result<gst::FlowSuccess, gst::FlowError> {
        let obj = self.obj();
        let is_late = obj.max_decode_time(&frame) < 0;
        let decoded = {
            let mut state = self.state();
            let Some(state) = state.as_mut() else { return Err(gst::FlowError::NotNegotiated) };
            state.decode(&frame)
        };
        match decoded {
            // Later frames need what it holds; its picture would be late, or is the one before.
            Ok(arrived) if is_late || arrived == DecodedPart::Nothing => {
                gst::debug!(DEBUG_CATEGORY, imp = self, "shows no frame {}", frame.system_frame_number());
                return obj.drop_frame(frame);
            }
            Ok(_) => {}
            Err(why) => {
                obj.drop_frame(frame)?;
                // The base class counts errors, and ends the stream after too many in turn.
                return gst_video::video_decoder_error!(obj, 1, gst::StreamError::Decode, ["{why}"]);
            }
        }
        obj.allocate_output_frame(&mut frame, None)?;
        let drawn = {
            let mut state = self.state();
            let Some(state) = state.as_mut() else { return Err(gst::FlowError::NotNegotiated) };
            state.draw(&mut frame)
        };
        drawn.map_err(|why| {
            gst::element_imp_error!(self, gst::StreamError::Decode, ["{why}"]);
            gst::FlowError::Error
        })?;
        obj.finish_frame(frame)
    }

    fn flush(&self) -> bool {
        if let Some(state) = &mut *self.state() {
            state.decoder = VideoDecoder::new(VideoModel::built_in(), state.size, state.threads);
        }
        true
    }

    fn finish(&self) -> Result<gst::FlowSuccess, gst::FlowError> {
        // No frame is kept back.
        Ok(gst::FlowSuccess::Ok)
    }
}

impl State {
    fn decode(&mut self, frame: &VideoCodecFrame) -> Result<DecodedPart, String> {
        let buffer = frame.input_buffer().ok_or("a frame came without bytes")?;
        let bytes = buffer.map_readable().map_err(|_| "a buffer cannot be read")?;
        self.decoder.decode(&bytes).map_err(|error| error.to_string())
    }

    fn draw(&mut self, frame: &mut VideoCodecFrame) -> Result<(), String> {
        self.decoder.render_into(&mut self.picture).map_err(|error| error.to_string())?;
        let buffer = frame.output_buffer_mut().ok_or("no buffer for a picture")?;
        let out = VideoFrameRef::from_buffer_ref_writable(buffer, &self.info);
        let mut out = out.map_err(|_| "a buffer does not have the planes of its caps")?;
        write(&self.picture, &mut out);
        Ok(())
    }
}
