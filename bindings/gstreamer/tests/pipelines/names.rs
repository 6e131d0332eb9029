//! Senders of several broadcasts.

use gst::prelude::*;
use nestcast_codec::{Format, FrameRate, Picture, Size, Ycbcr};
use nestcast_encode::{PictureFormat, Pictures, RenditionLimit, VideoEncoding};
use nestcast_sender::{Broadcast, FrameSource, Identity, LiveSource, SenderConfig, place_of};

use crate::broadcasts::receiver;
use crate::harness::info;

/// A video without an end.
fn camera(width: u32, height: u32) -> impl FrameSource {
    let (size, samples) = (Size::new(width, height).expect("a size"), Format::Ycbcr420(Ycbcr::BT601));
    let format = PictureFormat::new(size, samples, FrameRate::new(30, 1).expect("a rate"));
    let pictures = Pictures::still(Picture::zero(size, samples), format.rate);
    let encoding = VideoEncoding::new(pictures.format(), 1, RenditionLimit::AsNeeded).expect("planar video");
    LiveSource::new(pictures, encoding)
}

#[test]
fn a_broadcast_is_asked_for_by_its_name() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let identity = Identity::generate().expect("random numbers");
    let fingerprint = identity.fingerprint().to_string();
    let name = |text: &str| text.parse().expect("a name");
    let sender = {
        let _entered = runtime.enter();
        let config = SenderConfig::new(([127, 0, 0, 1], 0).into(), identity);
        Broadcast::listen(config, camera(64, 48)).expect("a free port")
    };
    let sender = sender.named(name("cam1")).with_source(name("cam2"), camera(96, 80));
    let address = place_of(sender.address().expect("it listens"));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = runtime.spawn(sender.run(async { _ = stopped.await }));
    for (name, width) in [("cam1", 64), ("cam2", 96)] {
        let receiver = receiver(&(format!("{address}/{name}"), fingerprint.clone()), "");
        receiver.play();
        assert_eq!(info(&receiver.appsink().pull_sample().expect("a picture")).width(), width, "{name}");
    }
    let stranger = receiver(&(format!("{address}/cam3"), fingerprint), "");
    let _ = stranger.0.set_state(gst::State::Playing);
    let error = stranger.end().expect_err("there is none");
    assert!(error.contains("no broadcast of this name"), "{error}");
    drop(stop);
    runtime.block_on(running).expect("no panic").expect("it ends");
}
