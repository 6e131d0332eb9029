//! `nestcastsink` and `nestcastsrc`.

use std::time::Duration;

use gst::prelude::*;
use gst_app::AppSrc;
use gst_video::VideoChromaSite;

use crate::harness::{Pipeline, difference, eventually, info};

/// Waits until the sink listens, and returns its address and fingerprint.
pub(crate) fn listening(pipeline: &Pipeline) -> (String, String) {
    let sink = pipeline.element("send");
    let address = eventually("the sink does not listen", || {
        Some(sink.property::<String>("address")).filter(|address| !address.is_empty())
    });
    (address, sink.property("fingerprint"))
}

/// A pipeline that receives, with pictures in the element `out`.
pub(crate) fn receiver((address, fingerprint): &(String, String), options: &str) -> Pipeline {
    Pipeline::new(&format!(
        "nestcastsrc name=receive address={address} fingerprint={fingerprint} {options} ! appsink name=out sync=false"
    ))
}

#[test]
fn a_receiver_sees_the_senders_pictures_in_their_format() {
    for (caps, options) in [
        ("format=I420,width=160,height=120,framerate=30/1", ""),
        ("format=NV12,width=160,height=120,framerate=25/1,colorimetry=bt709,chroma-site=mpeg2", "latency=0"),
        ("format=I420,width=97,height=53,framerate=30/1,colorimetry=1:4:16:4,pixel-aspect-ratio=16/11", "latency=100"),
        ("format=I420_10LE,width=160,height=120,framerate=30/1,colorimetry=bt709,chroma-site=mpeg2", ""),
        ("format=P010_10LE,width=97,height=53,framerate=30/1", ""),
    ] {
        let test = "videotestsrc pattern=smpte75 num-buffers=";
        let drawn = Pipeline::new(&format!("{test}1 ! video/x-raw,{caps} ! appsink name=out")).samples();
        let sender = Pipeline::new(&format!(
            "{test}100000 is-live=true ! video/x-raw,{caps} ! nestcastsink name=send listen=127.0.0.1:0"
        ));
        sender.play();
        let receiver = receiver(&listening(&sender), options);
        receiver.play();
        let sink = receiver.appsink();
        let samples: Vec<_> = (0..20).map(|_| sink.pull_sample().expect("a picture")).collect();
        let [before, after] = [&drawn[0], &samples[19]].map(info);
        assert_eq!(before.colorimetry(), after.colorimetry(), "{caps}");
        assert_eq!((before.width(), before.height(), before.fps()), (after.width(), after.height(), after.fps()));
        assert_eq!((before.par(), before.comp_depth(0)), (after.par(), after.comp_depth(0)), "{caps}");
        // Caps that do not say where colour differences lie are announced as in the middle.
        let site = if before.chroma_site().is_empty() { VideoChromaSite::JPEG } else { before.chroma_site() };
        assert_eq!(site, after.chroma_site(), "{caps}");
        let error = difference(&drawn[0], &samples[19]);
        assert!(error < 8.0, "{caps}: mean error {error}");
        // Timestamps rise, and the capture time is the sender's.
        let times: Vec<_> = samples.iter().map(|sample| sample.buffer().expect("a buffer").pts()).collect();
        assert!(times.is_sorted(), "{times:?}");
        let meta = samples
            .iter()
            .find_map(|sample| sample.buffer()?.meta::<gst::ReferenceTimestampMeta>().map(|meta| meta.timestamp()));
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
        let captured = Duration::from_nanos(meta.expect("a capture time").nseconds());
        assert!(now.abs_diff(captured) < Duration::from_secs(60), "{captured:?}");
        assert_eq!(sender.element("send").property::<u32>("receivers"), 1);
        assert!(sender.element("send").property::<u64>("frames") >= 20);
    }
}

#[test]
fn a_pipeline_of_8_bits_sees_a_broadcast_of_10() {
    let sender = Pipeline::new(
        "videotestsrc is-live=true ! video/x-raw,format=I420_10LE,width=64,height=48,framerate=30/1 ! \
         nestcastsink name=send listen=127.0.0.1:0",
    );
    sender.play();
    let (address, fingerprint) = listening(&sender);
    let receiver = Pipeline::new(&format!(
        "nestcastsrc address={address} fingerprint={fingerprint} ! video/x-raw,format=NV12 ! appsink name=out"
    ));
    receiver.play();
    let sample = receiver.appsink().pull_sample().expect("a picture");
    assert_eq!(info(&sample).format(), gst_video::VideoFormat::Nv12);
}

/// A tone of 440 Hz into the sink's pad for sound, as sources give it.
const TONE: &str = "freq=440 volume=0.5 ! audioconvert ! audioresample ! queue ! send.audio";

/// Returns the left channel of a block of samples of 16 bits.
fn left(block: &gst::Sample) -> Vec<i16> {
    let bytes = block.buffer().expect("a buffer").map_readable().expect("bytes");
    bytes.as_chunks::<4>().0.iter().map(|both| i16::from_le_bytes([both[0], both[1]])).collect()
}

/// Returns whether a block is no silence.
fn is_loud(block: &gst::Sample) -> bool {
    let left = left(block);
    left.iter().map(|sample| f64::from(*sample).powi(2)).sum::<f64>() / left.len() as f64 > 1e6
}

/// Returns how often the left channel changes its sign within blocks that are no silence, and how many samples they have.
fn turns(blocks: &[gst::Sample]) -> (usize, usize) {
    let turns_of = |left: &[i16]| left.windows(2).filter(|pair| (pair[0] < 0) != (pair[1] < 0)).count();
    let loud = blocks.iter().filter(|block| is_loud(block)).map(left);
    loud.fold((0, 0), |(turns, samples), left| (turns + turns_of(&left), samples + left.len()))
}

#[test]
fn a_receiver_hears_the_senders_sound_at_its_pace() {
    for live in ["true", "false"] {
        let sender = Pipeline::new(&format!(
            "videotestsrc is-live={live} ! video/x-raw,format=I420,width=64,height=48,framerate=30/1 ! \
             nestcastsink name=send listen=127.0.0.1:0 audiotestsrc is-live={live} {TONE}"
        ));
        sender.play();
        let (address, fingerprint) = listening(&sender);
        let receiver = Pipeline::new(&format!(
            "nestcastsrc name=receive address={address} fingerprint={fingerprint} ! fakesink \
             receive.audio ! appsink name=out sync=false"
        ));
        receiver.play();
        let sink = receiver.appsink();
        let pull = |count: usize| -> Vec<_> { (0..count).map(|_| sink.pull_sample().expect("sound")).collect() };
        eventually("no sound", || is_loud(&pull(1)[0]).then_some(()));
        let samples = pull(60);
        // 440 Hz change sign 880 times a second; a change between two blocks is not counted.
        let (turns, counted) = turns(&samples);
        let each_second = turns as f64 * 48_000.0 / counted as f64;
        assert!(counted > 0 && (750.0..950.0).contains(&each_second), "{turns} in {counted} samples");
        let caps = samples[0].caps().and_then(|caps| caps.structure(0)).expect("caps");
        assert_eq!((caps.get::<i32>("rate"), caps.get::<i32>("channels")), (Ok(48_000), Ok(2)));
        let buffers: Vec<_> = samples.iter().filter_map(|sample| sample.buffer()).collect();
        let times: Vec<_> = buffers.iter().filter_map(|buffer| buffer.pts().zip(buffer.duration())).collect();
        assert_eq!(times.len(), 60, "{times:?}");
        // Each block follows the one before, or says that it does not.
        let is_marked = |at: usize| buffers[at].flags().contains(gst::BufferFlags::DISCONT);
        assert!((1..60).all(|at| times[at].0 == times[at - 1].0 + times[at - 1].1 || is_marked(at)), "{times:?}");
        // Timestamps go as fast as the sound. A machine that is late makes them uneven.
        let [first, last] = [times[0].0, times[59].0];
        let lasts: gst::ClockTime = times[..59].iter().map(|(_, duration)| *duration).sum();
        assert!(last > first && last - first > lasts / 2, "{times:?}");
        // Sound goes on after a pause of either end.
        for pipeline in [&sender, &receiver] {
            pipeline.0.set_state(gst::State::Paused).expect("it pauses");
            pipeline.0.state(gst::ClockTime::from_seconds(60)).0.expect("it paused");
            pipeline.play();
            eventually("no sound", || is_loud(&pull(1)[0]).then_some(()));
        }
    }
}

#[test]
fn a_pad_for_sound_that_is_asked_for_late_is_heard() {
    let sender = Pipeline::new(
        "videotestsrc is-live=true ! video/x-raw,format=I420,width=64,height=48,framerate=30/1 ! \
         nestcastsink name=send listen=127.0.0.1:0 \
         audiotestsrc is-live=true freq=440 volume=0.5 ! audioconvert ! audioresample ! queue name=sound",
    );
    sender.0.set_state(gst::State::Ready).expect("it is ready");
    let pad = sender.element("send").request_pad_simple("audio").expect("nothing plays yet");
    sender.element("sound").static_pad("src").expect("a pad").link(&pad).expect("both are sound");
    sender.play();
    let (address, fingerprint) = listening(&sender);
    let receiver = Pipeline::new(&format!(
        "nestcastsrc name=receive address={address} fingerprint={fingerprint} ! fakesink \
         receive.audio ! appsink name=out sync=false"
    ));
    receiver.play();
    let sink = receiver.appsink();
    eventually("no sound", || is_loud(&sink.pull_sample().expect("sound")).then_some(()));
    // By its name, GStreamer itself calls a second one a mistake.
    for element in [sender.element("send"), receiver.element("receive")] {
        let template = element.pad_template("audio").expect("a template");
        assert!(element.request_pad(&template, None, None).is_none(), "there is one already");
    }
}

#[test]
fn sound_that_an_element_refuses_ends_the_pipeline_with_an_error() {
    let sender = Pipeline::new(&format!(
        "videotestsrc is-live=true ! video/x-raw,format=I420,width=64,height=48,framerate=30/1 ! \
         nestcastsink name=send listen=127.0.0.1:0 audiotestsrc is-live=true {TONE}"
    ));
    sender.play();
    let (address, fingerprint) = listening(&sender);
    let receiver = Pipeline::new(&format!(
        "nestcastsrc name=receive address={address} fingerprint={fingerprint} ! fakesink \
         receive.audio ! appsink name=out sync=false"
    ));
    let refuses = gst_app::AppSinkCallbacks::builder().new_sample(|_| Err(gst::FlowError::NotSupported));
    receiver.appsink().set_callbacks(refuses.build());
    receiver.play();
    let error = receiver.end().expect_err("the sound is refused");
    assert!(error.contains("refuses the sound"), "{error}");
}

#[test]
fn sound_ends_with_the_broadcast_and_a_broadcast_without_it_is_shown() {
    for sound in [format!("audiotestsrc is-live=true {TONE}"), String::new()] {
        let sender = Pipeline::new(&format!(
            "videotestsrc is-live=true ! video/x-raw,format=I420,width=64,height=48,framerate=30/1 ! \
             nestcastsink name=send listen=127.0.0.1:0 {sound}"
        ));
        sender.play();
        let (address, fingerprint) = listening(&sender);
        let receiver = Pipeline::new(&format!(
            "nestcastsrc name=receive address={address} fingerprint={fingerprint} ! appsink name=out sync=false \
             receive.audio ! fakesink async=false"
        ));
        receiver.play();
        let sink = receiver.appsink();
        (0..5).for_each(|_| drop(sink.pull_sample().expect("a picture")));
        assert!(sender.0.send_event(gst::event::Eos::new()));
        while sink.pull_sample().is_ok() {}
        receiver.end().expect("both pads end");
    }
}

#[test]
fn the_end_of_the_stream_reaches_receivers() {
    let sender = Pipeline::new(
        "videotestsrc is-live=true ! video/x-raw,format=I420,width=64,height=48,framerate=30/1 ! \
         nestcastsink name=send listen=127.0.0.1:0",
    );
    sender.play();
    let receiver = receiver(&listening(&sender), "retry=5000");
    receiver.play();
    let sink = receiver.appsink();
    (0..5).for_each(|_| drop(sink.pull_sample().expect("a picture")));
    assert!(sender.0.send_event(gst::event::Eos::new()));
    while sink.pull_sample().is_ok() {}
    receiver.end().expect("it ends as the broadcast does");
    sender.end().expect("it ends");
}

#[test]
fn without_a_clock_the_broadcast_keeps_the_frame_rate_and_counts_every_picture() {
    let sender = Pipeline::new(
        "videotestsrc num-buffers=40 ! video/x-raw,format=I420,width=64,height=48,framerate=100/1 ! \
         nestcastsink name=send listen=127.0.0.1:0 sync=false",
    );
    let begun = std::time::Instant::now();
    sender.play();
    sender.end().expect("it ends");
    // 40 pictures at 100 a second last 0.4 s; without the rate they would last a few milliseconds.
    assert!(begun.elapsed() > Duration::from_millis(300), "{:?}", begun.elapsed());
    let [frames, skipped] = ["frames", "skipped"].map(|name| sender.element("send").property::<u64>(name));
    assert_eq!(frames + skipped, 40, "{frames} frames, {skipped} skipped");
}

#[test]
fn an_encoder_that_is_late_skips_pictures_and_the_application_learns_it() {
    // More pictures than any processor encodes.
    let sender = Pipeline::new(
        "videotestsrc num-buffers=200 pattern=snow is-live=true ! \
         video/x-raw,format=I420,width=1920,height=1080,framerate=500/1 ! \
         nestcastsink name=send listen=127.0.0.1:0 threads=1",
    );
    sender.play();
    let bus = sender.0.bus().expect("a bus");
    let patience = gst::ClockTime::try_from(crate::harness::PATIENCE).expect("short");
    let message =
        bus.timed_pop_filtered(patience, &[gst::MessageType::Qos, gst::MessageType::Error]).expect("a message");
    let gst::MessageView::Qos(qos) = message.view() else { panic!("{message:?}") };
    let (_, skipped) = qos.stats();
    assert!(skipped.value() > 0, "{skipped:?}");
    assert!(sender.element("send").property::<u64>("skipped") > 0);
}

#[test]
fn another_format_begins_another_broadcast_at_the_same_address() {
    let draw = |caps: &str| {
        Pipeline::new(&format!("videotestsrc num-buffers=1 ! video/x-raw,{caps},framerate=30/1 ! appsink name=out"))
            .samples()
    };
    let parts = [draw("format=I420,width=64,height=48"), draw("format=I420,width=96,height=80")];
    let sender = Pipeline::new(
        "appsrc name=in format=time is-live=true do-timestamp=true ! \
         nestcastsink name=send listen=127.0.0.1:0 web=127.0.0.1:0",
    );
    let source: AppSrc = sender.element("in").downcast().expect("an appsrc");
    sender.play();
    let push = |part: &[gst::Sample]| {
        // The appsrc stamps a copy with the time.
        let mut buffer = part[0].buffer_owned().expect("a buffer");
        let fresh = buffer.make_mut();
        fresh.set_pts(gst::ClockTime::NONE);
        let sample = gst::Sample::builder().caps(&part[0].caps_owned().expect("caps")).buffer(&buffer).build();
        let _ = source.push_sample(&sample);
        std::thread::sleep(Duration::from_millis(20));
    };
    push(&parts[0]);
    let place = listening(&sender);
    let page = || sender.element("send").property::<String>("link").split('#').next().map(str::to_owned);
    let first_page = page();
    let receiver = receiver(&place, "wait=true");
    receiver.play();
    let sink = receiver.appsink();
    for part in &parts {
        let width = info(&part[0]).width();
        eventually("no picture of this format", || {
            push(part);
            sender.check();
            receiver.check();
            let sample = sink.try_pull_sample(gst::ClockTime::from_mseconds(1));
            sample.filter(|sample| info(sample).width() == width)
        });
    }
    assert_eq!(listening(&sender), place);
    assert_eq!(page(), first_page);
}

#[test]
fn a_flush_and_a_pause_do_not_end_a_broadcast() {
    for sync in ["true", "false"] {
        let sender = Pipeline::new(&format!(
            "videotestsrc num-buffers=100000 ! video/x-raw,format=I420,width=64,height=48,framerate=30/1 ! \
             nestcastsink name=send listen=127.0.0.1:0 sync={sync}"
        ));
        sender.play();
        let receiver = receiver(&listening(&sender), "");
        receiver.play();
        let sink = receiver.appsink();
        let pictures = || (0..5).for_each(|_| drop(sink.pull_sample().expect("a picture")));
        pictures();
        sender.0.seek_simple(gst::SeekFlags::FLUSH, gst::ClockTime::from_seconds(1)).expect("it seeks");
        pictures();
        sender.0.set_state(gst::State::Paused).expect("it pauses");
        let (result, ..) = sender.0.state(gst::ClockTime::from_seconds(60));
        result.expect("it paused");
        sender.play();
        pictures();
        // A flush of the receiver loses pictures, and no more.
        assert!(receiver.0.send_event(gst::event::FlushStart::new()));
        assert!(receiver.0.send_event(gst::event::FlushStop::new(true)));
        pictures();
        receiver.check();
    }
}

#[test]
fn a_receiver_adds_no_latency_of_its_own() {
    let sender = Pipeline::new(
        "videotestsrc is-live=true ! video/x-raw,format=I420,width=64,height=48,framerate=30/1 ! \
         nestcastsink name=send listen=127.0.0.1:0",
    );
    sender.play();
    let receiver = receiver(&listening(&sender), "");
    receiver.play();
    receiver.appsink().pull_sample().expect("a picture");
    let mut query = gst::query::Latency::new();
    assert!(receiver.element("receive").static_pad("src").expect("a pad").query(&mut query));
    assert_eq!(query.result(), (true, gst::ClockTime::ZERO, None));
    // The sink waits for the clock as any other.
    let mut query = gst::query::Latency::new();
    assert!(sender.0.query(&mut query));
    assert!(query.result().0);
}

#[test]
fn a_file_is_decoded_and_broadcast() {
    let folder = std::env::temp_dir().join(format!("nestcast-gstreamer-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("clip.ogg");
    let place = file.display();
    Pipeline::new(&format!(
        "videotestsrc num-buffers=60 ! video/x-raw,width=128,height=96,framerate=30/1 ! theoraenc ! oggmux name=mux ! \
         filesink location={place} audiotestsrc num-buffers=90 ! audioconvert ! vorbisenc ! queue ! mux."
    ))
    .play()
    .end()
    .expect("a file is written");
    let sender = Pipeline::new(&format!(
        "filesrc location={place} ! decodebin name=file file. ! videoconvert ! nestcastsink name=send \
         listen=127.0.0.1:0 file. ! queue ! audioconvert ! audioresample ! queue ! send.audio"
    ));
    sender.play();
    let (address, fingerprint) = listening(&sender);
    let receiver = Pipeline::new(&format!(
        "nestcastsrc name=receive address={address} fingerprint={fingerprint} retry=5000 ! appsink name=out sync=false \
         receive.audio ! appsink name=heard sync=false"
    ));
    receiver.play();
    let sample = receiver.appsink().pull_sample().expect("a picture");
    assert_eq!((info(&sample).width(), info(&sample).height()), (128, 96));
    let heard: gst_app::AppSink = receiver.element("heard").downcast().expect("an appsink");
    heard.pull_sample().expect("sound");
    sender.end().expect("it ends");
    std::fs::remove_dir_all(&folder).expect("it is removed");
}

#[test]
fn rtp_comes_in() {
    // A free port: the socket is closed again before the pipeline opens its own.
    let port = std::net::UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port();
    let sender = Pipeline::new(&format!(
        "udpsrc port={port} caps=\"application/x-rtp,media=video,clock-rate=90000,encoding-name=JPEG,payload=26\" ! \
         rtpjitterbuffer ! rtpjpegdepay ! jpegdec ! videoconvert ! nestcastsink name=send listen=127.0.0.1:0"
    ));
    sender.play();
    let camera = Pipeline::new(&format!(
        "videotestsrc is-live=true ! video/x-raw,format=I420,width=128,height=96,framerate=30/1 ! jpegenc ! \
         rtpjpegpay ! udpsink host=127.0.0.1 port={port}"
    ));
    camera.play();
    let receiver = receiver(&listening(&sender), "retry=5000");
    receiver.play();
    let sample = receiver.appsink().pull_sample().expect("a picture");
    assert_eq!((info(&sample).width(), info(&sample).height()), (128, 96));
}

/// As OBS streams by SRT, in H.265: the decoder of H.264 is in another package.
#[test]
fn srt_comes_in() {
    crate::harness::init();
    let needed = ["srtsrc", "srtsink", "mpegtsmux", "tsdemux", "x265enc", "h265parse", "libde265dec"];
    if let Some(missing) = needed.into_iter().find(|name| gst::ElementFactory::find(name).is_none()) {
        assert!(std::env::var_os("NESTCAST_REQUIRE_BINDINGS").is_none(), "SRT needs {missing}");
        println!("skipped: SRT, for which GStreamer has no {missing}: install gstreamer1.0-plugins-bad");
        return;
    }
    let port = std::net::UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port();
    let sender = Pipeline::new(&format!(
        "srtsrc uri=\"srt://127.0.0.1:{port}?mode=listener\" ! decodebin ! videoconvert ! \
         nestcastsink name=send listen=127.0.0.1:0"
    ));
    sender.play();
    let obs = Pipeline::new(&format!(
        "videotestsrc is-live=true ! video/x-raw,format=I420,width=128,height=96,framerate=30/1 ! \
         x265enc tune=zerolatency key-int-max=15 ! h265parse config-interval=-1 ! mpegtsmux ! \
         srtsink uri=\"srt://127.0.0.1:{port}\""
    ));
    obs.play();
    let receiver = receiver(&listening(&sender), "retry=5000");
    receiver.play();
    let sample = receiver.appsink().pull_sample().expect("a picture");
    assert_eq!((info(&sample).width(), info(&sample).height()), (128, 96));
}

#[test]
fn a_token_admits_and_its_lack_does_not() {
    let sender = Pipeline::new(
        "videotestsrc is-live=true ! video/x-raw,format=I420,width=64,height=48 ! \
         nestcastsink name=send listen=127.0.0.1:0 token=secret",
    );
    sender.play();
    let place = listening(&sender);
    let admitted = receiver(&place, "token=secret");
    admitted.play();
    admitted.appsink().pull_sample().expect("a picture");
    let stranger = receiver(&place, "");
    stranger.play();
    let error = stranger.end().expect_err("it has no token");
    assert!(error.contains("token"), "{error}");
}

#[test]
fn what_is_wrong_is_said() {
    let fails = |notation: &str| {
        let pipeline = Pipeline::new(notation);
        let _ = pipeline.0.set_state(gst::State::Playing);
        pipeline.end().expect_err("it fails")
    };
    let source = "videotestsrc ! video/x-raw,format=I420,width=64,height=48 ! nestcastsink";
    let digits = "0".repeat(64);
    for (notation, words) in [
        (format!("{source} listen=somewhere"), "an IP address and a port"),
        (format!("{source} listen=192.0.2.1:1"), "192.0.2.1:1"),
        (format!("{source} listen=127.0.0.1:0 web=here"), "give web an IP address and a port"),
        (format!("{source} listen=127.0.0.1:0 web=192.0.2.1:1"), "192.0.2.1:1"),
        (format!("{source} certificate=/nothing/there"), "both certificate and private-key"),
        (format!("{source} certificate=/nothing/there private-key=/nor/there"), "/nothing/there"),
        ("nestcastsrc ! fakesink".to_owned(), "a fingerprint or a file of authorities"),
        ("nestcastsrc fingerprint=12 ! fakesink".to_owned(), "64 hexadecimal digits"),
        (format!("nestcastsrc address=nowhere fingerprint={digits} ! fakesink"), "a host and a port"),
        (format!("nestcastsrc address=host.invalid:1 fingerprint={digits} ! fakesink"), "cannot be found"),
        (format!("nestcastsrc address=127.0.0.1:9 fingerprint={digits} ! fakesink"), "127.0.0.1:9"),
    ] {
        let error = fails(&notation);
        assert!(error.contains(words), "{notation}: {error}");
    }
}
