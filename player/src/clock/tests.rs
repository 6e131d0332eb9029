use super::*;

/// When a frame was captured and ready, in microseconds, and its presentation.
#[derive(Debug, Clone, Copy)]
struct Frame {
    captured: u64,
    ready: u64,
    presentation: Presentation,
}

impl Frame {
    fn at(&self) -> u64 {
        u64::try_from(self.presentation.at.as_micros()).expect("a moment of a test")
    }
}

/// The sender's clock is ahead by this many microseconds: a date.
const EPOCH: u64 = 1_795_000_000_000_000;

/// Plays frames that become ready this many microseconds after their capture, in order; `None` for those that are lost.
fn play(latency: Latency, fps: u64, transits: impl IntoIterator<Item = Option<u64>>) -> Vec<Frame> {
    play_drifting(latency, fps, 0.0, transits)
}

/// Plays frames of a sender whose clock is faster than ours by `drift` parts.
fn play_drifting(
    latency: Latency,
    fps: u64,
    drift: f64,
    transits: impl IntoIterator<Item = Option<u64>>,
) -> Vec<Frame> {
    let mut clock = PlayoutClock::new(latency, Duration::from_secs(1) / u32::try_from(fps).expect("a rate"));
    let (mut frames, mut last) = (Vec::new(), 0);
    for (id, transit) in (0..).zip(transits) {
        let Some(transit) = transit else { continue };
        let captured = id * 1_000_000 / fps;
        let ready = last.max(1_000_000 + captured + transit);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a moment")]
        let said = EPOCH + (captured as f64 * (1.0 + drift)) as u64;
        let presentation = clock.handle_ready(Duration::from_micros(ready), said);
        assert!(presentation.at >= Duration::from_micros(ready), "a frame is presented when it is ready");
        frames.push(Frame { captured, ready, presentation });
        last = ready;
    }
    frames
}

/// Returns numbers below `below` that look random.
fn noise(seed: u64, below: u64) -> impl Iterator<Item = u64> {
    let next =
        |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
    std::iter::successors(Some(seed), next).skip(1).map(move |state| (state >> 33) % below)
}

fn late_percent(frames: &[Frame]) -> f64 {
    100.0 * frames.iter().filter(|frame| frame.presentation.is_late).count() as f64 / frames.len() as f64
}

/// Returns the unevenness of 95 % of the frames, in milliseconds.
fn unevenness(frames: &[Frame]) -> f64 {
    let mut all: Vec<u64> = frames
        .windows(2)
        .map(|pair| (pair[1].at() - pair[0].at()).abs_diff(pair[1].captured - pair[0].captured))
        .collect();
    all.sort_unstable();
    all[all.len() * 95 / 100] as f64 / 1e3
}

/// Returns the mean time that frames wait, in milliseconds.
fn wait(frames: &[Frame]) -> f64 {
    frames.iter().map(|frame| (frame.at() - frame.ready) as f64).sum::<f64>() / frames.len() as f64 / 1e3
}

/// Returns transits of 30 ms and up to `jitter` ms more.
fn jittered(jitter: u64, frames: usize) -> impl Iterator<Item = Option<u64>> {
    noise(jitter, jitter * 1000).map(|more| Some(30_000 + more)).take(frames)
}

#[test]
fn of_jittered_frames_less_than_one_in_a_hundred_is_late_and_all_are_even() {
    for (fps, jitter) in [25, 30, 50, 60].into_iter().flat_map(|fps| [5, 30, 90].map(|jitter| (fps, jitter))) {
        let frames = play(Latency::Smooth, fps, jittered(jitter, 60 * 60));
        let (late, uneven, waits) = (late_percent(&frames[200..]), unevenness(&frames[200..]), wait(&frames[200..]));
        println!("{fps} fps, {jitter} ms: {late:.2} % late, {uneven:.1} ms uneven, {waits:.1} ms waiting");
        assert!(late < 1.0, "{fps}, {jitter}: {late} %");
        assert!(uneven <= 1.5, "{fps}, {jitter}: {uneven} ms");
        assert!(waits <= 0.55 * jitter as f64 + 1.0, "half of the jitter is the least: {fps}, {jitter}: {waits} ms");
    }
}

#[test]
fn frames_without_jitter_do_not_wait() {
    let frames = play(Latency::Smooth, 30, (0..300).map(|_| Some(40_000)));
    assert!(frames.iter().all(|frame| frame.at() == frame.ready && !frame.presentation.is_late));
}

#[test]
fn at_once_means_that_no_frame_waits() {
    let frames = play(Latency::Min, 25, jittered(90, 500));
    assert!(frames.iter().all(|frame| frame.at() == frame.ready));
    assert!(late_percent(&frames) > 10.0, "more than half an interval later than the one before");
}

#[test]
fn a_fixed_delay_is_kept_from_the_least_transit_on() {
    let frames = play(Latency::Fixed(Duration::from_millis(60)), 25, jittered(40, 1000));
    let delays: Vec<_> = frames[300..].iter().map(|frame| (frame.at() - frame.captured) / 1000).collect();
    assert!(delays.iter().all(|delay| (1090..=1091).contains(delay)), "30 and 60 ms, and a second");
    assert!(frames.iter().all(|frame| !frame.presentation.is_late));
}

#[test]
fn late_frames_raise_the_delay_at_once_and_it_falls_slowly() {
    // From 20 s to 40 s frames need 70 ms more.
    let transits = (0..25 * 80).map(|id| Some(if (500..1000).contains(&id) { 100_000 } else { 30_000 }));
    let frames = play(Latency::Smooth, 25, transits);
    let late: Vec<_> = (0..).zip(&frames).filter(|(_, frame)| frame.presentation.is_late).map(|(id, _)| id).collect();
    assert_eq!(late, [500, 501], "two, and the delay is longer");
    assert!(frames[502..1000].iter().all(|frame| frame.at() == frame.ready));
    let waits = |second: usize| (frames[second * 25].at() - frames[second * 25].ready) / 1000;
    assert_eq!(waits(42), 70, "it may happen again");
    assert!((1..60).contains(&waits(52)) && waits(60) <= 1, "{} {}", waits(52), waits(60));
    let intervals = frames[1001..].windows(2).map(|pair| pair[1].at() - pair[0].at());
    assert!(intervals.min() >= Some(38_000), "no frame is shown noticeably shorter");
}

#[test]
fn lost_frames_and_bursts_of_them_cost_nothing_but_themselves() {
    let lost = |id: usize| id % 40 == 7 || (600..620).contains(&id);
    let transits = jittered(20, 2000).enumerate().map(|(id, transit)| transit.filter(|_| !lost(id)));
    let frames = play(Latency::Smooth, 30, transits);
    assert!(late_percent(&frames[200..]) < 1.0 && unevenness(&frames[200..]) <= 1.5);
}

#[test]
fn an_outage_teaches_nothing() {
    // For a second nothing comes; then what waited comes twice as fast as it was captured.
    let transits = jittered(10, 1500).enumerate().map(|(id, transit)| {
        let behind = |since: u64| 1_000_000_u64.saturating_sub(since * 20_000);
        transit.map(|transit| transit + if id >= 700 { behind(id as u64 - 700) } else { 0 })
    });
    let frames = play(Latency::Smooth, 25, transits);
    let before = wait(&frames[500..700]);
    let after = wait(&frames[760..960]);
    assert!(frames[700..745].iter().all(|frame| frame.at() == frame.ready), "they are late, and shown as they come");
    assert!(after < before + 3.0, "{before} {after}");
}

#[test]
fn clocks_that_drift_apart_are_followed() {
    for drift in [-200e-6, 200e-6] {
        let frames = play_drifting(Latency::Smooth, 30, drift, jittered(16, 30 * 600));
        let (first, last) = (wait(&frames[900..1800]), wait(&frames[17_000..]));
        println!("{drift}: waits {first:.1} ms, and ten minutes later {last:.1} ms");
        assert!(late_percent(&frames[900..]) < 1.2 && (first - last).abs() < 2.0 && last < 12.0, "{first} {last}");
        assert!(unevenness(&frames[900..]) <= 1.5);
    }
}

#[test]
fn after_a_clock_was_set_or_the_route_changed_the_clock_begins_anew() {
    for (jump, most) in [(-30_000_000_i64, 1), (-1_000_000, 1), (1_000_000, 51), (i64::from(u32::MAX), 51)] {
        let mut clock = PlayoutClock::new(Latency::Smooth, Duration::from_millis(40));
        let present = |clock: &mut PlayoutClock, id: u64, more: i64| {
            let captured = (EPOCH + id * 40_000).checked_add_signed(more).expect("a date");
            clock.handle_ready(Duration::from_millis(1030 + 40 * id), captured)
        };
        (0..200).for_each(|id| assert!(!present(&mut clock, id, 0).is_late));
        // A capture time that is earlier makes frames late.
        let late = (200..400).filter(|&id| present(&mut clock, id, -jump).is_late).count();
        assert!(late < most, "{jump}: {late}");
        let last = present(&mut clock, 400, -jump);
        assert_eq!(last.at, Duration::from_millis(1030 + 40 * 400), "{jump}");
    }
}

#[test]
fn whatever_a_sender_says_no_frame_waits_for_long() {
    for latency in [Latency::Min, Latency::Smooth, Latency::Fixed(Duration::from_millis(400))] {
        let mut clock = PlayoutClock::new(latency, Duration::from_millis(40));
        let said = [0, u64::MAX, EPOCH, 1, i64::MAX.cast_unsigned(), EPOCH + 1, EPOCH, u64::MAX - 1, u64::MAX];
        for (id, captured) in (0..900).zip(said.into_iter().cycle()) {
            let now = Duration::from_millis(40 * id);
            let Presentation { at, .. } = clock.handle_ready(now, captured);
            assert!(at >= now && at <= now + Duration::from_millis(800), "{latency:?}: {now:?} {at:?}");
            let _ = (clock.presentation(u64::MAX), clock.presentation(0), clock.delay());
        }
        let at = clock.handle_ready(Duration::MAX, 7);
        assert_eq!(at.at, Duration::MAX);
    }
}

#[test]
fn a_frame_in_a_long_while_is_shown_when_it_comes() {
    let mut clock = PlayoutClock::new(Latency::Smooth, Duration::from_secs(3600));
    for hour in 0..50 {
        let now = Duration::from_secs(3600 * hour);
        let Presentation { at, .. } = clock.handle_ready(now, EPOCH + 3_600_000_000 * hour);
        assert_eq!(at, now);
    }
    assert_eq!(clock.grace(), Duration::from_secs(900));
}
