//! The pipelines of the README.

use gst::prelude::*;

use crate::broadcasts::listening;
use crate::harness::{Pipeline, init};

const README: &str = include_str!("../../README.md");

/// Returns the pipelines of the README, without the program's name and options, each in one line.
fn pipelines() -> Vec<String> {
    let text = README.replace("\\\n", "");
    let lines = text.lines().filter_map(|line| line.strip_prefix("gst-launch-1.0 "));
    lines.map(|line| line.trim_start_matches("-v ").to_owned()).collect()
}

#[test]
fn the_pipelines_of_the_readme_run() {
    init();
    let pipelines = pipelines();
    let [sends, receives, sends_sound, receives_sound, shows, codes] = &pipelines[..] else {
        panic!("the README has other pipelines: test them")
    };
    for (sends, receives) in [(sends, receives), (sends_sound, receives_sound)] {
        // Another port, and one name for the element.
        let sends = sends.replace("nestcastsink name=send", "nestcastsink");
        let sender = Pipeline::new(&sends.replace("nestcastsink", "nestcastsink name=send listen=127.0.0.1:0"));
        sender.play();
        let (address, fingerprint) = listening(&sender);
        // A machine that tests has no screen and no loudspeaker.
        let receives = receives.replace("127.0.0.1:4433", &address).replace("$FINGERPRINT", &fingerprint);
        let receives =
            receives.replace("autovideosink", "appsink name=out").replace("autoaudiosink", "appsink name=heard");
        let receiver = Pipeline::new(&receives);
        receiver.play();
        receiver.appsink().pull_sample().expect("a picture");
        if let Some(heard) = receiver.0.by_name("heard") {
            heard.downcast::<gst_app::AppSink>().expect("an appsink").pull_sample().expect("sound");
        }
    }
    let shows = shows.replace("web=127.0.0.1:8080", "name=send listen=127.0.0.1:0 web=127.0.0.1:0");
    let sender = Pipeline::new(&shows);
    sender.play();
    listening(&sender);
    assert!(sender.element("send").property::<String>("link").starts_with("http://127.0.0.1:"));
    Pipeline::new(codes).play().end().expect("it runs to its end");
}
