//! The streams of `nestcastsrc`: pictures and sound.

use gst::prelude::*;

use crate::broadcasts::listening;
use crate::harness::{Pipeline, eventually};

/// A broadcast of pictures and sound.
fn sender() -> Pipeline {
    let sender = Pipeline::new(
        "videotestsrc is-live=true ! video/x-raw,format=I420,width=64,height=48,framerate=30/1 ! \
         nestcastsink name=send listen=127.0.0.1:0 \
         audiotestsrc is-live=true ! audioconvert ! audioresample ! queue ! send.audio",
    );
    sender.play();
    sender
}

/// The notation of a source of that broadcast.
fn source(sender: &Pipeline) -> String {
    let (address, fingerprint) = listening(sender);
    format!("nestcastsrc name=receive address={address} fingerprint={fingerprint}")
}

fn pull(pipeline: &Pipeline, name: &str) -> gst::Sample {
    let sink: gst_app::AppSink = pipeline.element(name).downcast().expect("an appsink");
    sink.pull_sample().expect("a buffer")
}

/// Returns the id and the group of the stream that a pad of the source sent.
fn stream(pipeline: &Pipeline, pad: &str) -> (String, gst::GroupId) {
    let pad = pipeline.element("receive").static_pad(pad).expect("a pad");
    let start = pad.sticky_event::<gst::event::StreamStart>(0).expect("a start of the stream");
    (start.stream_id().to_owned(), start.group_id().expect("a group"))
}

/// Returns the state that a pipeline changes to, and how.
fn change(pipeline: &Pipeline, to: gst::State) -> gst::StateChangeSuccess {
    pipeline.0.set_state(to).expect("it changes its state")
}

#[test]
fn pictures_and_sound_are_two_streams_that_belong_together() {
    let sender = sender();
    let receiver = Pipeline::new(&format!(
        "{} ! appsink name=out sync=false receive.audio ! appsink name=heard sync=false",
        source(&sender)
    ));
    let play = || {
        // It is live: there is nothing to show before it plays.
        assert_eq!(change(&receiver, gst::State::Paused), gst::StateChangeSuccess::NoPreroll);
        receiver.play();
        ["out", "heard"].iter().for_each(|name| drop(pull(&receiver, name)));
        ["src", "audio"].map(|pad| stream(&receiver, pad))
    };
    let [(pictures, group), (sound, group_of_sound)] = play();
    assert_ne!(pictures, sound);
    assert_eq!(group, group_of_sound);
    // Whoever receives again knows the streams by their ids. The group is another one.
    change(&receiver, gst::State::Ready);
    let [(pictures_again, group_again), (sound_again, _)] = play();
    assert_eq!((pictures, sound), (pictures_again, sound_again));
    assert_ne!(group, group_again);
}

#[test]
fn a_source_of_pictures_alone_has_the_same_stream() {
    let sender = sender();
    let ids = ["", "receive.audio ! fakesink"].map(|sound| {
        let receiver = Pipeline::new(&format!("{} ! appsink name=out sync=false {sound}", source(&sender)));
        receiver.play();
        pull(&receiver, "out");
        stream(&receiver, "src").0
    });
    assert_eq!(ids[0], ids[1]);
}

#[test]
fn an_end_that_the_application_asks_for_reaches_both_streams() {
    let sender = sender();
    let file = std::env::temp_dir().join(format!("nestcast-gstreamer-{}.mkv", std::process::id()));
    let receiver = Pipeline::new(&format!(
        "{} ! tee name=pictures ! queue ! matroskamux name=mux ! filesink location={} \
         receive.audio ! queue ! mux. pictures. ! queue ! appsink name=out sync=false",
        source(&sender),
        file.display()
    ));
    receiver.play();
    (0..20).for_each(|_| drop(pull(&receiver, "out")));
    assert!(receiver.0.send_event(gst::event::Eos::new()));
    receiver.end().expect("it ends");
    let kept = Pipeline::new(&format!(
        "filesrc location={} ! matroskademux name=file file.video_0 ! queue ! appsink name=out sync=false \
         file.audio_0 ! queue ! appsink name=heard sync=false",
        file.display()
    ));
    kept.play();
    ["out", "heard"].iter().for_each(|name| drop(pull(&kept, name)));
    std::fs::remove_file(&file).expect("it is removed");
}

#[test]
fn pictures_and_sound_end_after_a_number_of_pictures() {
    let sender = sender();
    for sound in ["", "receive.audio ! fakesink async=false"] {
        let notation = format!("{} num-buffers=3 ! appsink name=out {sound}", source(&sender));
        assert_eq!(Pipeline::new(&notation).samples().len(), 3);
    }
}

#[test]
fn pictures_have_no_times_if_nobody_wants_them() {
    let sender = sender();
    let notation = format!("{} num-buffers=3 do-timestamp=false ! appsink name=out", source(&sender));
    let samples = Pipeline::new(&notation).samples();
    assert_eq!(samples.len(), 3);
    // GStreamer itself stamps the first one with 0.
    assert!(samples[1..].iter().all(|sample| sample.buffer().expect("a buffer").pts().is_none()));
}

#[test]
fn pictures_go_on_without_the_sound() {
    let sender = sender();
    let receiver = Pipeline::new(&format!(
        "{} ! appsink name=out sync=false receive.audio ! queue name=sound ! appsink name=heard sync=false",
        source(&sender)
    ));
    receiver.play();
    pull(&receiver, "heard");
    let element = receiver.element("receive");
    let pad = element.static_pad("audio").expect("a pad");
    let pictures = || (0..10).for_each(|_| drop(pull(&receiver, "out")));
    // First the pad leads nowhere, then there is none.
    pad.unlink(&receiver.element("sound").static_pad("sink").expect("a pad")).expect("it was linked");
    pictures();
    element.release_request_pad(&pad);
    assert!(element.static_pad("audio").is_none());
    pictures();
    // After the release, there may be another one.
    change(&receiver, gst::State::Ready);
    let pad = element.request_pad_simple("audio").expect("nothing plays");
    pad.link(&receiver.element("sound").static_pad("sink").expect("a pad")).expect("both are sound");
    receiver.play();
    pull(&receiver, "heard");
    receiver.check();
}

#[test]
fn a_flush_and_a_pause_do_not_end_the_sound() {
    let sender = sender();
    let receiver = Pipeline::new(&format!(
        "{} ! appsink name=out sync=false receive.audio ! appsink name=heard sync=false",
        source(&sender)
    ));
    receiver.play();
    let both = || ["out", "heard"].iter().for_each(|name| (0..5).for_each(|_| drop(pull(&receiver, name))));
    both();
    assert!(receiver.0.send_event(gst::event::FlushStart::new()));
    assert!(receiver.0.send_event(gst::event::FlushStop::new(true)));
    both();
    assert_eq!(change(&receiver, gst::State::Paused), gst::StateChangeSuccess::NoPreroll);
    receiver.play();
    both();
    receiver.check();
}

#[test]
fn a_pipeline_that_plays_both_delays_both_by_the_latency_of_sound() {
    let sender = sender();
    let receiver = Pipeline::new(&format!(
        "{} ! appsink name=out processing-deadline=0 receive.audio ! appsink name=heard processing-deadline=0",
        source(&sender)
    ));
    receiver.play();
    ["out", "heard"].iter().for_each(|name| drop(pull(&receiver, name)));
    let sound = (true, gst::ClockTime::from_mseconds(100), None);
    let mut query = gst::query::Latency::new();
    assert!(receiver.0.query(&mut query));
    assert_eq!(query.result(), sound);
    for (pad, latency) in [("src", (true, gst::ClockTime::ZERO, None)), ("audio", sound)] {
        let mut query = gst::query::Latency::new();
        assert!(receiver.element("receive").static_pad(pad).expect("a pad").query(&mut query));
        assert_eq!(query.result(), latency, "{pad}");
    }
}

#[test]
fn errors_are_those_of_the_element() {
    let digits = "0".repeat(64);
    for options in ["fingerprint=12".to_owned(), format!("address=127.0.0.1:9 fingerprint={digits}")] {
        let pipeline =
            Pipeline::new(&format!("nestcastsrc name=receive {options} ! fakesink receive.audio ! fakesink"));
        let _ = pipeline.0.set_state(gst::State::Playing);
        let bus = pipeline.0.bus().expect("a bus");
        let message = eventually("no error", || bus.pop_filtered(&[gst::MessageType::Error]));
        assert_eq!(message.src(), Some(pipeline.element("receive").upcast_ref()), "{options}");
    }
}
