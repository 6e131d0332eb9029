//! `nestcastenc` and `nestcastdec`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use gst::prelude::*;
use gst_app::AppSrc;

use crate::harness::{Pipeline, difference, info};

/// Returns what `videotestsrc` draws in these caps.
fn drawn(caps: &str, count: u32) -> Vec<gst::Sample> {
    let source = format!("videotestsrc num-buffers={count} ! video/x-raw,{caps} ! appsink name=out");
    Pipeline::new(&source).samples()
}

#[test]
fn pictures_come_back_in_the_same_format() {
    for caps in [
        "format=I420,width=160,height=120,framerate=30/1",
        "format=NV12,width=160,height=120,framerate=25/1",
        "format=I420,width=161,height=119,framerate=30000/1001",
        "format=NV12,width=97,height=53,framerate=30/1",
        "format=I420,width=160,height=120,framerate=30/1,colorimetry=bt709,chroma-site=mpeg2",
        "format=I420,width=160,height=120,framerate=30/1,colorimetry=1:3:5:1",
        "format=NV12,width=160,height=120,framerate=30/1,colorimetry=1:4:7:1,pixel-aspect-ratio=16/11",
        "format=I420,width=160,height=120,framerate=0/1",
        "format=I420,width=1,height=1,framerate=30/1",
        "format=I420_10LE,width=160,height=120,framerate=30/1",
        "format=I420_12LE,width=97,height=53,framerate=30/1,colorimetry=bt709",
        "format=P010_10LE,width=161,height=119,framerate=30/1",
        "format=P012_LE,width=64,height=48,framerate=30/1",
    ] {
        let before = drawn(caps, 8);
        let coded =
            format!("videotestsrc num-buffers=8 ! video/x-raw,{caps} ! nestcastenc ! nestcastdec ! appsink name=out");
        let after = Pipeline::new(&coded).samples();
        assert_eq!(after.len(), before.len(), "{caps}");
        for (one, other) in before.iter().zip(&after) {
            let [before, after] = [one, other].map(info);
            assert_eq!(before.colorimetry(), after.colorimetry(), "{caps}");
            assert_eq!((before.width(), before.height()), (after.width(), after.height()));
            assert_eq!(before.comp_depth(0), after.comp_depth(0), "{caps}");
            assert_eq!((before.fps(), before.par()), (after.fps(), after.par()), "{caps}");
            assert_eq!(before.chroma_site(), after.chroma_site(), "{caps}");
            let [first, second] = [one, other].map(|sample| sample.buffer().expect("a buffer").pts());
            assert_eq!(first, second);
            let error = difference(one, other);
            assert!(error < 6.0, "{caps}: mean error {error}");
        }
    }
}

#[test]
fn downstream_chooses_the_layout() {
    let source = "videotestsrc num-buffers=2 ! video/x-raw,format=I420,width=64,height=48";
    let before = drawn("format=I420,width=64,height=48", 2);
    let pipeline = format!("{source} ! nestcastenc ! nestcastdec ! video/x-raw,format=NV12 ! appsink name=out");
    let after = Pipeline::new(&pipeline).samples();
    assert_eq!(info(&after[0]).format(), gst_video::VideoFormat::Nv12);
    assert!(difference(&before[1], &after[1]) < 6.0);
}

#[test]
fn a_ramp_of_more_bits_comes_back_finer_than_8_bits_show_it() {
    let source = "videotestsrc pattern=gradient num-buffers=4 ! video/x-raw,format=I420_10LE,width=64,height=480";
    let before = Pipeline::new(&format!("{source} ! appsink name=out")).samples();
    let shown = |caps: &str| {
        let coded = format!("{source} ! nestcastenc fastest=20000000 ! nestcastdec ! {caps} ! appsink name=out");
        Pipeline::new(&coded).samples()
    };
    let [deep, shallow] = ["video/x-raw,format=(string){I420,P010_10LE}", "video/x-raw,format=I420"].map(shown);
    assert_eq!(info(&deep[3]).format(), gst_video::VideoFormat::P01010le);
    assert_eq!(info(&shallow[3]).format(), gst_video::VideoFormat::I420);
    let [deep, shallow] = [&deep[3], &shallow[3]].map(|sample| difference(&before[3], sample));
    assert!(deep < shallow && deep < 0.3, "{deep} {shallow}");
}

#[test]
fn a_source_of_any_format_gives_8_bits() {
    for element in ["nestcastenc name=to ! nestcastdec ! fakesink", "nestcastsink name=to listen=127.0.0.1:0"] {
        let pipeline = Pipeline::new(&format!("videotestsrc num-buffers=2 ! {element}"));
        pipeline.play().end().expect("it ends");
        let caps = pipeline.element("to").static_pad("sink").expect("a pad").current_caps().expect("caps");
        assert_eq!(caps.structure(0).and_then(|fields| fields.get::<String>("format").ok()).as_deref(), Some("I420"));
    }
}

#[test]
fn a_bit_rate_cuts_frames_and_they_still_decode() {
    let source = "videotestsrc pattern=zone-plate kx2=20 ky2=20 kt=1 num-buffers=30 ! \
                  video/x-raw,format=I420,width=320,height=240,framerate=30/1";
    let bytes = |options: &str| -> usize {
        let samples = Pipeline::new(&format!("{source} ! nestcastenc {options} ! appsink name=out")).samples();
        assert_eq!(samples.len(), 30);
        samples.iter().map(|sample| sample.buffer().expect("a buffer").size()).sum()
    };
    let all = bytes("");
    let cut = bytes("max-bitrate=300000");
    assert!(cut < all && cut < 300_000 / 8 * 3 / 2, "{cut} of {all} bytes");
    let decoded = format!("{source} ! nestcastenc max-bitrate=300000 ! nestcastdec ! appsink name=out");
    assert_eq!(Pipeline::new(&decoded).samples().len(), 30);
}

#[test]
fn only_the_first_frame_and_requested_ones_are_key_frames() {
    let pipeline = Pipeline::new(
        "videotestsrc num-buffers=12 ! video/x-raw,format=I420,width=64,height=48 ! nestcastenc name=enc ! \
         appsink name=out sync=false max-buffers=1",
    );
    pipeline.play();
    let (sink, encoder) = (pipeline.appsink(), pipeline.element("enc"));
    let mut keys = Vec::new();
    for number in 0..12 {
        let sample = sink.pull_sample().expect("a frame");
        let is_delta = sample.buffer().expect("a buffer").flags().contains(gst::BufferFlags::DELTA_UNIT);
        keys.push(!is_delta);
        if number == 4 {
            let event = gst_video::UpstreamForceKeyUnitEvent::builder().all_headers(true).build();
            assert!(encoder.static_pad("src").expect("a pad").send_event(event));
        }
    }
    assert!(keys[0]);
    assert_eq!(keys.iter().filter(|&&key| key).count(), 2, "{keys:?}");
}

#[test]
fn another_format_in_the_middle_is_encoded_too() {
    let pipeline =
        Pipeline::new("appsrc name=in format=time ! nestcastenc ! nestcastdec ! appsink name=out sync=false");
    let source: AppSrc = pipeline.element("in").downcast().expect("an appsrc");
    let parts = [
        drawn("format=I420,width=160,height=120,framerate=30/1", 3),
        drawn("format=NV12,width=80,height=64,framerate=15/1,colorimetry=bt709", 3),
    ];
    pipeline.play();
    for sample in parts.iter().flatten() {
        source.push_sample(sample).expect("it is taken");
    }
    source.end_of_stream().expect("it ends");
    let sink = pipeline.appsink();
    let sizes: Vec<_> = std::iter::from_fn(|| sink.pull_sample().ok())
        .map(|sample| (info(&sample).width(), info(&sample).colorimetry().to_string()))
        .collect();
    pipeline.end().expect("it ends");
    let [first, second] = [(160, "bt601".to_owned()), (80, "bt709".to_owned())];
    assert_eq!(sizes, [first.clone(), first.clone(), first, second.clone(), second.clone(), second]);
}

#[test]
fn formats_that_it_lacks_are_refused_by_name() {
    let refused = |caps: &str, sink: &str| {
        let source = format!("videotestsrc num-buffers=2 ! video/x-raw,{caps} ! {sink}");
        let pipeline = Pipeline::new(&source);
        let _ = pipeline.0.set_state(gst::State::Playing);
        pipeline.end().expect_err("it is refused")
    };
    for sink in ["nestcastenc ! fakesink", "nestcastsink listen=127.0.0.1:0"] {
        let wide = refused("format=I420,width=64,height=48,colorimetry=bt2020", sink);
        assert!(wide.contains("BT.601 and BT.709") && wide.contains("videoconvert"), "{wide}");
    }
}

#[test]
fn other_pixels_do_not_link() {
    crate::harness::init();
    for element in ["nestcastenc", "nestcastsink"] {
        for format in ["RGB", "I420_10BE", "I422_10LE"] {
            let notation = format!("videotestsrc ! video/x-raw,format={format} ! {element}");
            let pipeline = gst::parse::launch(&notation).and_then(|pipeline| {
                let pipeline = Pipeline(pipeline.downcast().expect("a pipeline"));
                let _ = pipeline.0.set_state(gst::State::Playing);
                pipeline.end().map_err(|error| gst::glib::Error::new(gst::CoreError::Negotiation, &error))
            });
            let error = pipeline.expect_err("it needs videoconvert").to_string();
            assert!(error.contains("link") || error.contains("negotiat"), "{format}: {error}");
        }
    }
}

#[test]
fn bytes_that_are_no_frame_are_an_error_and_no_crash() {
    let pipeline = Pipeline::new("appsrc name=in format=time ! nestcastdec ! fakesink");
    let source: AppSrc = pipeline.element("in").downcast().expect("an appsrc");
    let caps = gst::Caps::builder("video/x-nestcast").field("width", 64).field("height", 48).build();
    source.set_caps(Some(&caps));
    pipeline.play();
    for length in [0, 1, 7, 64, 4096] {
        let _ = source.push_buffer(gst::Buffer::from_slice(vec![255; length]));
    }
    let _ = source.end_of_stream();
    let error = pipeline.end().expect_err("no frame decodes");
    assert!(error.contains("nestcastdec") || error.contains("decod") || error.contains("corrupt"), "{error}");
}

#[test]
fn frames_of_another_model_are_refused_by_name() {
    let pipeline = Pipeline::new("appsrc name=in format=time ! nestcastdec ! fakesink");
    let source: AppSrc = pipeline.element("in").downcast().expect("an appsrc");
    let caps = gst::Caps::builder("video/x-nestcast").field("width", 64).field("height", 48).field("models", "00:11");
    source.set_caps(Some(&caps.build()));
    pipeline.play();
    let _ = source.push_buffer(gst::Buffer::from_slice(vec![0; 100]));
    let error = pipeline.end().expect_err("unknown models");
    assert!(error.contains("00:11"), "{error}");
}

#[test]
fn after_a_flush_pictures_begin_with_a_key_frame() {
    let pipeline = Pipeline::new(
        "videotestsrc num-buffers=400 ! video/x-raw,format=I420,width=64,height=48,framerate=30/1 ! \
         nestcastenc name=enc ! identity name=between silent=true ! nestcastdec ! \
         appsink name=out sync=false max-buffers=1",
    );
    let flags: Arc<Mutex<Vec<bool>>> = Arc::default();
    let seen = Arc::clone(&flags);
    let pad = pipeline.element("between").static_pad("src").expect("a pad");
    pad.add_probe(gst::PadProbeType::BUFFER, move |_, probe| {
        if let Some(buffer) = probe.buffer() {
            seen.lock().expect("no panic").push(!buffer.flags().contains(gst::BufferFlags::DELTA_UNIT));
        }
        gst::PadProbeReturn::Ok
    });
    pipeline.play();
    let sink = pipeline.appsink();
    for _ in 0..5 {
        sink.pull_sample().expect("a picture");
    }
    flags.lock().expect("no panic").clear();
    let flags_of_seek = gst::SeekFlags::FLUSH | gst::SeekFlags::ACCURATE;
    pipeline.0.seek_simple(flags_of_seek, gst::ClockTime::from_seconds(2)).expect("it seeks");
    let after: Vec<_> = (0..5).map(|_| sink.pull_sample().expect("a picture")).collect();
    let pts = after.iter().map(|sample| sample.buffer().expect("a buffer").pts().expect("a time"));
    let pts: Vec<_> = pts.collect();
    assert!(pts.iter().any(|pts| *pts >= gst::ClockTime::from_seconds(2)), "{pts:?}");
    let keys = flags.lock().expect("no panic").clone();
    assert!(keys.iter().filter(|&&key| key).count() >= 1, "{keys:?}");
}

#[test]
fn frames_before_a_key_frame_are_not_shown() {
    let frames = Pipeline::new(
        "videotestsrc num-buffers=6 ! video/x-raw,format=I420,width=64,height=48 ! nestcastenc ! appsink name=out",
    )
    .samples();
    let pipeline = Pipeline::new("appsrc name=in format=time ! nestcastdec ! appsink name=out sync=false");
    let source: AppSrc = pipeline.element("in").downcast().expect("an appsrc");
    pipeline.play();
    // The key frame is missing at first, then all frames come.
    for sample in frames[1..].iter().chain(&frames) {
        source.push_sample(sample).expect("it is taken");
    }
    source.end_of_stream().expect("it ends");
    let sink = pipeline.appsink();
    assert_eq!(std::iter::from_fn(|| sink.pull_sample().ok()).count(), 6);
}

#[test]
fn late_frames_are_skipped_by_the_encoder_and_decoded_unseen_by_the_decoder() {
    for late in ["enc", "dec"] {
        let pipeline = Pipeline::new(
            "videotestsrc num-buffers=40 ! video/x-raw,format=I420,width=64,height=48,framerate=30/1 ! \
             nestcastenc name=enc qos=true ! nestcastdec name=dec qos=true ! appsink name=out sync=false max-buffers=1",
        );
        pipeline.play();
        let sink = pipeline.appsink();
        let first = sink.pull_sample().expect("a picture");
        let pts = first.buffer().expect("a buffer").pts().expect("a time");
        // A picture came 300 ms late. GStreamer gives up those of twice that time.
        let late_by = gst::ClockTime::from_mseconds(300).nseconds().cast_signed();
        let event = gst::event::Qos::new(gst::QOSType::Underflow, 2.0, late_by, pts);
        let pad = pipeline.element(late).static_pad("src").expect("a pad");
        pad.send_event(event);
        let shown = 1 + std::iter::from_fn(|| sink.pull_sample().ok()).count();
        pipeline.end().expect("it ends");
        assert!((15..35).contains(&shown), "{late}: {shown} of 40 pictures");
    }
}

#[test]
fn neither_adds_latency() {
    let pipeline = Pipeline::new(
        "videotestsrc is-live=true ! video/x-raw,format=I420,width=64,height=48,framerate=30/1 ! nestcastenc ! \
         nestcastdec ! fakesink name=end sync=true",
    );
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let pad = pipeline.element("end").static_pad("sink").expect("a pad");
    pad.add_probe(gst::PadProbeType::BUFFER, move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        gst::PadProbeReturn::Ok
    });
    pipeline.play();
    crate::harness::eventually("pictures", || (count.load(Ordering::Relaxed) > 3).then_some(()));
    let mut with = gst::query::Latency::new();
    assert!(pad.peer_query(&mut with));
    let (live, least, _) = with.result();
    // The source's own, which is the time of a frame.
    assert!(live && least <= gst::ClockTime::from_mseconds(34), "{live} {least}");
}
