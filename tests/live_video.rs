//! Live video over simulated links, in virtual time: every base arrives, in order, and the bytes after it are used.

use std::time::Duration;

use nestcast_codec::{Budget, Population, VideoEncoder, VideoModel, VideoSettings};
use nestcast_encode::RenditionLimit;
use nestcast_lab::link::Link;
use nestcast_lab::video_frames::VideoFrames;
use nestcast_proto::Bitrate;
use nestcast_tests::network::{Outcome, Scenario, Viewer, broadcast_from, steps};
use nestcast_tests::video_frames::{self, CUT, RATE, Watcher, picture};

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// Broadcasts over `link` for `time` to receivers, each with its time of joining and its cap.
fn watch(link: &Link, time: Duration, receivers: &[(Duration, Option<u64>)]) -> Vec<Watcher> {
    watch_source(video_frames::video_frames(RenditionLimit::default()), std::slice::from_ref(link), time, receivers)
}

/// Does the same with this video. Each receiver has one of `links`; further receivers share the last one.
fn watch_source(
    source: VideoFrames,
    links: &[Link],
    time: Duration,
    receivers: &[(Duration, Option<u64>)],
) -> Vec<Watcher> {
    let outcome: Outcome<Watcher> = broadcast_from(links, Scenario::lasting(time), source, |network| {
        let viewer = |(at, &(joins, cap)): (usize, &(Duration, Option<u64>))| Viewer {
            joins,
            link: at.min(links.len() - 1),
            cap: cap.map(Bitrate::from_bits),
            sink: Watcher::new(network),
        };
        receivers.iter().enumerate().map(viewer).collect()
    });
    outcome.receivers
}

/// Describes what a watcher saw, in a line.
fn describe(watcher: &Watcher) -> String {
    let mut latencies: Vec<_> = watcher.decoded.iter().map(|frame| frame.latency.as_millis()).collect();
    latencies.sort_unstable();
    let at = |percent: usize| latencies[(latencies.len() - 1) * percent / 100];
    let seconds = |second: u64| watcher.psnr(ms(second * 1000), ms(second * 1000 + 1000));
    let psnr: Vec<_> = (0..8).map(|second| format!("{:.1}", seconds(second))).collect();
    let (gap, received) = (watcher.longest_gap(), watcher.received);
    format!("latency {} {} {} ms, gap {gap:?}, {} dB, {received:?}", at(50), at(95), at(100), psnr.join(" "))
}

/// Checks that after the first frames no period brought more than the cap and its burst, the bytes of three frame
/// intervals.
fn assert_within_cap(watcher: &Watcher, cap: u64) {
    let frames: Vec<_> = watcher.decoded.iter().skip(30).collect();
    for (at, first) in frames.iter().enumerate() {
        let mut bytes = 0;
        for frame in &frames[at..] {
            bytes += frame.bytes as u64;
            let most = cap / 8 * (frame.id - first.id + 3) / 30;
            assert!(bytes <= most, "{bytes} of {most} bytes in frames {} to {}", first.id, frame.id);
        }
    }
}

/// Checks that every frame from the first on was decoded, in order.
fn assert_whole(watcher: &Watcher, what: &str) {
    println!("{what}: {}", describe(watcher));
    let ids: Vec<_> = watcher.decoded.iter().map(|frame| frame.id).collect();
    let expected: Vec<_> = (ids[0]..).take(ids.len()).collect();
    assert_eq!(ids, expected, "{what}");
    assert_eq!(watcher.received.missing_bases, 0, "{what}");
}

/// Returns the mean PSNR of frames 60 to 180 if each is cut to `rate` without a network.
fn without_network(rate: Bitrate) -> f64 {
    let size = picture(0).size();
    let settings = VideoSettings { size, rate: RATE, population: Population::new([(rate, 1.0)]), threads: 1 };
    let mut encoder = VideoEncoder::new(VideoModel::built_in(), settings);
    let (mut budget, mut viewer) = (Budget::new(rate, RATE), video_frames::Viewer::default());
    let psnr = (0..180).map(|id| {
        let frame = encoder.encode(&picture(id)).expect("a frame");
        let count = budget.cut(&frame.bytes, 0).expect("a whole head");
        viewer.view(id, &frame.bytes[..count]).expect("a sound frame")
    });
    let psnr: Vec<_> = psnr.collect();
    psnr[60..].iter().sum::<f64>() / 120.0
}

#[test]
fn a_constant_link_brings_every_frame_nearly_as_good_as_the_codec_gives_it_at_that_rate() {
    for rate in [300_000_u32, 600_000] {
        // The rest of the link is headers.
        let codec = without_network(Bitrate::rounded(f64::from(rate) * 0.8));
        for rtt in [10, 50] {
            let link = Link::constant(rate.into()).with_rtt(ms(rtt));
            let watchers = watch(&link, ms(6000), &[(ms(0), None)]);
            let what = format!("{rate} bit/s, {rtt} ms, {codec:.1} dB without network");
            assert_whole(&watchers[0], &what);
            let live = watchers[0].psnr(ms(2000), ms(6000));
            assert!(live >= codec - 3.0, "{what}: {live:.1} dB");
        }
    }
}

/// Lets the rate of `link` fall at these moments, after bases have got their part of a rate that lasts, and returns the
/// longest time without a new picture for each moment. No frame may be lost.
fn falls(
    source: fn(RenditionLimit) -> VideoFrames,
    [before, after]: [u64; 2],
    rtt: u64,
    moments: u64,
) -> Vec<Duration> {
    let gaps = (0..moments).map(|moment| {
        let fall = ms(6000 + 37 * moment);
        let link = Link::varying(vec![(ms(0), before), (fall, after)]).with_rtt(ms(rtt));
        let watchers = watch_source(source(RenditionLimit::default()), &[link], ms(8000), &[(ms(0), None)]);
        assert_whole(&watchers[0], &format!("from {before} to {after} bit/s after {fall:?}, {rtt} ms"));
        watchers[0].longest_gap()
    });
    gaps.collect()
}

/// The gap depends on which frame the fall hits, and then on which packets the queue drops: this checks the mean of
/// several moments.
fn assert_mean(gaps: &[Duration], most: Duration, what: &str) {
    let mean = gaps.iter().sum::<Duration>() / u32::try_from(gaps.len()).expect("few moments");
    println!("{what}: {gaps:?}, {mean:?}");
    assert!(mean <= most, "{what}: {gaps:?}");
}

#[test]
fn a_fall_to_a_tenth_loses_no_base() {
    for (before, longest, moments) in [(3_000_000, 120, 4), (1_000_000, 500, 12)] {
        for rtt in [10, 50] {
            let what = format!("{before} bit/s to a tenth, {rtt} ms");
            let gaps = falls(video_frames::video_frames, [before, before / 10], rtt, moments);
            assert_mean(&gaps, ms(longest), &what);
            assert!(gaps.iter().all(|gap| *gap < ms(1000)), "{what}: {gaps:?}");
        }
    }
}

#[test]
fn a_fall_to_a_quarter_stops_the_picture_for_less_than_four_frame_intervals() {
    for rtt in [10, 50, 100] {
        let gaps = falls(video_frames::video_frames, [1_000_000, 250_000], rtt, 4);
        println!("to a quarter, {rtt} ms: {gaps:?}");
        assert!(gaps.iter().all(|gap| *gap < ms(133)), "{rtt} ms: {gaps:?}");
    }
}

/// Noise fills bases: they are as large as allowed.
#[test]
fn a_fall_to_a_quarter_loses_no_base_of_noise() {
    // With bases of 0.4 of the rate the longest path stops for 506 ms.
    for (rtt, longest) in [(10, 600), (50, 600), (100, 900)] {
        let gaps = falls(video_frames::noisy_video_frames, [1_000_000, 250_000], rtt, 8);
        assert_mean(&gaps, ms(longest), &format!("noise, to a quarter, {rtt} ms"));
    }
}

#[test]
fn with_one_packet_in_a_hundred_lost_every_frame_is_decoded() {
    let link = Link::constant(1_000_000).with_rtt(ms(50)).with_loss(10_000, 1);
    let watchers = watch(&link, ms(6000), &[(ms(0), None)]);
    assert_whole(&watchers[0], "1 % of loss");
}

#[test]
fn who_joins_sees_a_picture_at_once_and_gets_its_own_rate_of_the_one_encode() {
    let link = Link::constant(4_000_000).with_rtt(ms(20));
    let watchers = watch(&link, ms(6000), &[(ms(0), Some(600_000)), (ms(3000), Some(120_000))]);
    let [fast, slow] = &watchers[..] else { panic!("two receivers") };
    assert_whole(fast, "600 kbit/s");
    assert_whole(slow, "120 kbit/s, joined after 3 s");
    let first = slow.decoded[0];
    assert!(first.at < ms(3200) && first.receiving <= ms(34), "{first:?}");
    assert!(first.psnr > 25.0, "{first:?}");
    assert_within_cap(slow, 120_000);
    assert_within_cap(fast, 600_000);
    let settled = |watcher: &Watcher| watcher.psnr(ms(4000), ms(6000));
    assert!(settled(fast) > settled(slow) + 1.0, "{:.1} and {:.1} dB", settled(fast), settled(slow));
    assert!(settled(slow) > 40.0, "{:.1} dB", settled(slow));
}

#[test]
fn a_receiver_has_its_cap_though_a_quarter_of_the_frames_is_left_out() {
    let caps = [150_000, 300_000];
    let source = video_frames::noisy_video_frames(RenditionLimit::default()).leaving_out(4);
    let link = Link::constant(4_000_000).with_rtt(ms(20));
    let watchers = watch_source(source, &[link], ms(6000), &caps.map(|cap| (ms(0), Some(cap))));
    for (watcher, cap) in watchers.iter().zip(caps) {
        println!("{cap} bit/s: {}", describe(watcher));
        assert_eq!(watcher.received.missing_bases, 0);
        assert_within_cap(watcher, cap);
        let settled: Vec<_> = watcher.decoded.iter().filter(|frame| frame.id >= 60).collect();
        let frames = settled.last().expect("frames").id - settled[0].id;
        let bytes: usize = settled[1..].iter().map(|frame| frame.bytes).sum();
        let used = bytes as f64 * 8.0 * 30.0 / (frames as f64 * cap as f64 * 0.95);
        println!("{:.1} % of what the cap leaves for frames, {} of {frames} frames", 100.0 * used, settled.len() - 1);
        assert!(used >= 0.95, "{used}");
    }
}

/// Compares with a receiver that was there all the time. On a slow link frames differ anyway, so both links carry whole
/// frames.
#[test]
fn who_joins_has_full_quality_within_sixteen_frames() {
    for rate in [1_000_000, 4_000_000] {
        let receivers = [0, 2000, 2517, 3034].map(|joins| (ms(joins), None));
        let links = vec![Link::constant(rate).with_rtt(ms(50)); receivers.len()];
        let source = video_frames::video_frames(RenditionLimit::AtMost(1));
        let watchers = watch_source(source, &links, ms(4200), &receivers);
        let psnr = |watcher: &Watcher, ids: std::ops::Range<u64>| {
            let within = watcher.decoded.iter().filter(|frame| ids.contains(&frame.id));
            let psnr: Vec<f64> = within.map(|frame| frame.psnr).collect();
            psnr.iter().sum::<f64>() / psnr.len() as f64
        };
        for watcher in &watchers[1..] {
            let first = watcher.decoded[0].id;
            let less = [0, 8, 16].map(|at| {
                let ids = first + at..first + at + 8;
                psnr(&watchers[0], ids.clone()) - psnr(watcher, ids)
            });
            println!("{rate} bit/s, from frame {first} on: {less:.1?} dB less");
            assert!(less[0] <= 3.0 && less[2] <= 1.0, "{rate} bit/s, from frame {first} on: {less:?} dB less");
        }
    }
}

/// Receivers join within three frames of the cut, before or after it.
#[test]
fn who_joins_in_the_middle_of_a_scene_cut_sees_the_new_scene_as_soon_as_the_others() {
    let cut = ms(CUT * 1000 / 30);
    let joins = (0..13).map(|step| (cut + ms(17 * step) - ms(150), None));
    let receivers: Vec<_> = [(ms(0), None)].into_iter().chain(joins).collect();
    let links = vec![Link::constant(1_000_000).with_rtt(ms(50)); receivers.len()];
    let source = video_frames::cut_video_frames(RenditionLimit::AtMost(1));
    let outcome: Outcome<Watcher> = broadcast_from(&links, Scenario::lasting(ms(4000)), source, |network| {
        let viewer = |(link, &(joins, cap)): (usize, &(Duration, Option<Bitrate>))| {
            let sink = Watcher::new(network).compared_with(video_frames::cut_picture);
            Viewer { joins, link, cap, sink }
        };
        receivers.iter().enumerate().map(viewer).collect()
    });
    for (watcher, (joins, _)) in outcome.receivers.iter().zip(&receivers) {
        assert_whole(watcher, &format!("joined at {joins:?}"));
        let first = watcher.decoded[0];
        assert!(first.at < *joins + ms(300) && first.psnr > 25.0, "{first:?}");
        let scene = |watcher: &Watcher| watcher.psnr(cut + ms(700), cut + ms(1200));
        let [there, came] = [&outcome.receivers[0], watcher].map(scene);
        assert!(came > there - 1.5, "joined at {joins:?}: {came:.1} dB, {there:.1} for who was there");
    }
}

/// What the slower one gains or loses differs by tenths of a decibel from rate to rate, so the mean of several rates
/// counts.
#[test]
fn the_faster_of_two_receivers_far_apart_is_served_better_by_a_second_loop() {
    let link = [Link::constant(6_000_000).with_rtt(ms(20))];
    let slower: Vec<_> = (7..=13)
        .map(|rate| {
            let receivers = [10_000, 150_000].map(|times| (ms(0), Some(rate * times)));
            let settled = [1, 2].map(|renditions| {
                let source = video_frames::video_frames(RenditionLimit::AtMost(renditions));
                let watchers = watch_source(source, &link, ms(8000), &receivers);
                watchers.iter().for_each(|watcher| assert_whole(watcher, &format!("{renditions} loops")));
                [0, 1].map(|at| watchers[at].psnr(ms(4000), ms(8000)))
            });
            println!("one loop {:?} dB, two {:?} dB", settled[0], settled[1]);
            // With one loop, the enhanced picture already consists of the slower receiver's bytes.
            assert!(settled[1][1] > settled[0][1] + 0.5, "{settled:?} dB");
            settled[1][0] - settled[0][0]
        })
        .collect();
    let mean = slower.iter().sum::<f64>() / slower.len() as f64;
    assert!(mean >= 0.0, "{slower:?} dB");
}

#[test]
fn who_cannot_carry_the_bases_of_the_others_gets_a_loop_of_its_own_and_costs_them_nothing() {
    let links = [200_000, 15_000_000].map(|rate| Link::constant(rate).with_rtt(ms(20)));
    let receivers = [(ms(0), None); 4];
    let [alone, helped] = [RenditionLimit::AtMost(1), RenditionLimit::AsNeeded].map(|renditions| {
        let watchers = watch_source(video_frames::noisy_video_frames(renditions), &links, ms(10_000), &receivers);
        watchers.iter().for_each(|watcher| println!("{renditions:?}: {}", describe(watcher)));
        watchers
    });
    // The highest latency of the last seconds.
    let late = |watcher: &Watcher| {
        let frames = watcher.decoded.iter().filter(|frame| frame.at > ms(6000));
        frames.map(|frame| frame.latency).max().expect("frames")
    };
    assert!(late(&alone[0]) > ms(400), "a delay that is to be cured");
    assert!(late(&helped[0]) < ms(200), "{:?}", late(&helped[0]));
    for (with, without) in helped.iter().zip(&alone).skip(1) {
        assert!(late(with) < ms(80), "{:?}", late(with));
        assert!(with.received.shown + 1 >= without.received.shown, "{:?}", with.received);
        assert!(with.received.bytes * 100 >= without.received.bytes * 98, "{:?}", with.received);
    }
}

#[test]
fn who_changes_loops_misses_no_frame() {
    for rtt in [10, 50] {
        let link = [steps(&[(0, 3_000_000), (4, 300_000), (10, 3_000_000)]).with_rtt(ms(rtt))];
        let watchers = watch_source(
            video_frames::video_frames(RenditionLimit::AtMost(2)),
            &link,
            ms(16_000),
            &[(ms(0), Some(120_000)), (ms(0), None)],
        );
        for (watcher, who) in watchers.iter().zip(["slow", "falls"]) {
            assert_whole(watcher, &format!("{who}, {rtt} ms"));
        }
    }
}
