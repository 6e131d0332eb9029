//! A broadcast in a process of its own, so that its memory is its own: says its address and its certificate's
//! fingerprint in a line, broadcasts pictures of noise, or with the argument `video` a video of 160x96, with `loops=N` in up to
//! so many loops, to as many receivers as a number among its arguments says (500), answers each line of input with how many
//! receivers it has and has let in, and how many renditions there are, and ends with its input.

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
        .find_map(|word| word.strip_prefix("loops=")?.parse().ok())
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
