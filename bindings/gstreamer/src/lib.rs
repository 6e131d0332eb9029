//! The GStreamer plugin `nestcast`: `nestcastenc` and `nestcastdec` encode and decode video, `nestcastsink` broadcasts
//! it, and `nestcastsrc` receives a broadcast. `gst-inspect-1.0 nestcast` lists them.
//!
//! Each element is a file, and the threads of a session are files of their own: `broadcast.rs` and `reception.rs` know
//! no pipeline. `nestcastsrc` holds a `pad_source.rs` for each of its pads, whose buffers `picture_output.rs` and
//! `sound_output.rs` make. `raw_format.rs` and `raw_picture.rs` turn caps and buffers of raw video into the codec's
//! types and back. `element.rs` has the parts that all elements have alike.

mod broadcast;
mod coded_format;
mod decoder;
mod element;
mod encoder;
mod pad_source;
mod picture_output;
mod raw_format;
mod raw_picture;
mod reception;
mod sink;
mod sound_gate;
mod sound_input;
mod sound_output;
mod source;
mod waiting;

use gst::glib;
use gst::prelude::*;

fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    let elements = [
        ("nestcastenc", encoder::NestcastEnc::static_type()),
        ("nestcastdec", decoder::NestcastDec::static_type()),
        ("nestcastsink", sink::NestcastSink::static_type()),
        ("nestcastsrc", source::NestcastSrc::static_type()),
    ];
    elements
        .into_iter()
        .try_for_each(|(name, element)| gst::Element::register(Some(plugin), name, gst::Rank::PRIMARY, element))
}

/// The description by which GStreamer loads the plugin; a program that links the crate calls `plugin_register_static`.
pub mod plugin {
    #![expect(missing_docs, reason = "the macro writes the items")]
    use super::register;

    gst::plugin_define!(
        nestcast,
        "Video that is encoded once for receivers of all bandwidths",
        register,
        env!("CARGO_PKG_VERSION"),
        // GStreamer knows no name for a choice of licences: this is one of the two.
        "MIT/X11",
        "nestcast",
        "nestcast",
        "nestcast"
    );
}
