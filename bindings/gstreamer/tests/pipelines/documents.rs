//! The pipelines of the README.

use crate::broadcasts::listening;
use crate::harness::{Pipeline, init};

const README: &str = include_str!("../../README.md");

/// Returns the pipelines of the README, without the program's name and options.
fn pipelines() -> Vec<&'static str> {
    let lines = README.lines().filter_map(|line| line.strip_prefix("gst-launch-1.0 "));
    lines.map(|line| line.trim_start_matches("-v ")).collect()
}

#[test]
fn the_pipelines_of_the_readme_run() {
    init();
    let [sends, receives, codes] = pipelines()[..] else { panic!("the README has other pipelines: test them") };
    // Another port, and no name for the elements in the README.
    let sender = Pipeline::new(&sends.replace("nestcastsink", "nestcastsink name=send listen=127.0.0.1:0"));
    sender.play();
    let (address, fingerprint) = listening(&sender);
    // A machine that tests has no screen.
    let receives = receives.replace("127.0.0.1:4433", &address).replace("$FINGERPRINT", &fingerprint);
    let receiver = Pipeline::new(&receives.replace("autovideosink", "appsink name=out"));
    receiver.play();
    receiver.appsink().pull_sample().expect("a picture");
    Pipeline::new(codes).play().end().expect("it runs to its end");
}
