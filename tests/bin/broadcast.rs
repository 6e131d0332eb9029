//! A broadcast in a separate process, with its own memory. It prints its address and its certificate's fingerprint in a
//! line. It broadcasts pictures of noise, or with the argument `video` a video of 160x96, with `renditions=N` in up to
//! N loops. A number among the arguments is the most receivers (500). It answers each line of input with the receivers
//! that it has and has admitted, and the number of renditions. It ends with its input.

use std::io::BufRead as _;

use nestcast_encode::RenditionLimit;
use nestcast_tests::broadcasts::{Plan, Running, identity};
use nestcast_tests::video_frames::drawn_video_frames;
use tokio::runtime::Runtime;

fn main() -> std::io::Result<()> {
    let runtime = Runtime::new()?;
    let identity = identity();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let max_receivers = arguments.iter().find_map(|count| count.parse().ok()).unwrap_or(500);
    let video = arguments.iter().any(|word| word == "video");
    let limit = arguments
        .iter()
        .find_map(|word| word.strip_prefix("renditions=")?.parse().ok())
        .map_or(RenditionLimit::AsNeeded, RenditionLimit::AtMost);
    let plan = Plan { size: (64, 48), max_receivers, ..Plan::new(&identity) };
    let broadcast = runtime.block_on(async {
        if video { Running::run(plan.listen_to(drawn_video_frames(limit))) } else { Running::start(plan) }
    });
    println!("{} {}", broadcast.address, identity.fingerprint());
    for line in std::io::stdin().lock().lines() {
        line?;
        let figures = broadcast.monitor.read();
        println!("{} {} {}", figures.receivers.len(), figures.accepted, figures.renditions);
    }
    runtime.block_on(broadcast.stop());
    Ok(())
}
