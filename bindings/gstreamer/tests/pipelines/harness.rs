//! Pipelines by the notation of `gst-launch-1.0`, what they end with, and the pictures that come out.

use std::sync::Once;
use std::time::{Duration, Instant};

use gst::glib;
use gst::prelude::*;
use gst_app::AppSink;
use gst_video::{VideoFormat, VideoFrameExt as _, VideoFrameRef, VideoInfo};

/// Only turns a hang into a message.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Prepares GStreamer with the plugin. From then on, a critical message of GLib, GStreamer or an element ends the tests.
pub(crate) fn init() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        gst::init().expect("GStreamer starts");
        glib::log_set_always_fatal(glib::LogLevels::LEVEL_CRITICAL | glib::LogLevels::LEVEL_ERROR);
        gstnestcast::plugin::plugin_register_static().expect("the plugin is registered");
    });
}

/// A pipeline that stops at the end of its test.
pub(crate) struct Pipeline(pub(crate) gst::Pipeline);

impl Pipeline {
    pub(crate) fn new(notation: &str) -> Self {
        init();
        let parsed = gst::parse::launch(notation).unwrap_or_else(|error| panic!("{notation}: {error}"));
        Self(parsed.downcast().expect("several elements make a pipeline"))
    }

    pub(crate) fn play(&self) -> &Self {
        self.0.set_state(gst::State::Playing).expect("it plays");
        self
    }

    pub(crate) fn element(&self, name: &str) -> gst::Element {
        self.0.by_name(name).unwrap_or_else(|| panic!("no element {name}"))
    }

    pub(crate) fn appsink(&self) -> AppSink {
        self.element("out").downcast().expect("an appsink")
    }

    /// Waits for the end of the stream, or returns the first error.
    pub(crate) fn end(&self) -> Result<(), String> {
        let kinds = [gst::MessageType::Eos, gst::MessageType::Error];
        let bus = self.0.bus().expect("a bus");
        let patience = gst::ClockTime::try_from(PATIENCE).expect("short");
        let message = bus.timed_pop_filtered(patience, &kinds).expect("neither an end nor an error");
        match message.view() {
            gst::MessageView::Error(error) => Err(format!("{} {}", error.error(), error.debug().unwrap_or_default())),
            _ => Ok(()),
        }
    }

    /// Panics with the first error that it posted.
    pub(crate) fn check(&self) {
        let error = self.0.bus().expect("a bus").pop_filtered(&[gst::MessageType::Error]);
        assert!(error.is_none(), "{error:?}");
    }

    /// Plays to the end, and returns all samples of the element `out`.
    pub(crate) fn samples(&self) -> Vec<gst::Sample> {
        let sink = self.appsink();
        sink.set_property("sync", false);
        self.play();
        let samples = std::iter::from_fn(|| sink.pull_sample().ok()).collect();
        self.end().unwrap_or_else(|error| panic!("{error}"));
        samples
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        let _ = self.0.set_state(gst::State::Null);
    }
}

/// Waits until something is there.
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the video format of a sample.
pub(crate) fn info(sample: &gst::Sample) -> VideoInfo {
    VideoInfo::from_caps(sample.caps().expect("caps")).expect("raw video")
}

/// Returns the luma and the colour differences of a sample, row by row without gaps, on the scale of 8 bits.
fn planes(sample: &gst::Sample) -> [Vec<f64>; 3] {
    let info = info(sample);
    let frame = VideoFrameRef::from_buffer_ref_readable(sample.buffer().expect("a buffer"), &info).expect("planes");
    let (width, height) = (info.width() as usize, info.height() as usize);
    let [columns, lines] = [width.div_ceil(2), height.div_ceil(2)];
    let bytes = if info.comp_depth(0) > 8 { 2 } else { 1 };
    let scale = match info.format() {
        VideoFormat::P01010le | VideoFormat::P012Le => 256.0,
        _ => f64::from(1 << (info.comp_depth(0) - 8)),
    };
    let value = |sample: &[u8]| sample.iter().rev().fold(0.0, |value, byte| 256.0 * value + f64::from(*byte)) / scale;
    let rows = |plane: u32, samples: usize, rows: usize| -> Vec<f64> {
        let stride = usize::try_from(frame.plane_stride()[plane as usize]).expect("a stride");
        let data = frame.plane_data(plane).expect("a plane");
        data.chunks(stride).take(rows).flat_map(|row| row[..bytes * samples].chunks(bytes).map(value)).collect()
    };
    let luma = rows(0, width, height);
    if info.n_planes() == 2 {
        let both = rows(1, 2 * columns, lines);
        let every = |from: usize| both.iter().skip(from).step_by(2).copied().collect();
        return [luma, every(0), every(1)];
    }
    [luma, rows(1, columns, lines), rows(2, columns, lines)]
}

/// Returns the mean absolute difference of two samples, over all planes, on the scale of 8 bits.
pub(crate) fn difference(one: &gst::Sample, other: &gst::Sample) -> f64 {
    let [one, other] = [one, other].map(|sample| planes(sample).concat());
    assert_eq!(one.len(), other.len(), "two sizes");
    let sum: f64 = one.iter().zip(&other).map(|(a, b)| (a - b).abs()).sum();
    sum / one.len() as f64
}
