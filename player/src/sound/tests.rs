use super::*;

const MILLISECOND: i64 = 1000;

fn packet(number: u64, captured: u64) -> SoundPacket {
    SoundPacket { number, captured, bytes: Bytes::copy_from_slice(&number.to_be_bytes()) }
}

fn number_of(block: &SoundBlock) -> Option<u64> {
    match &block.content {
        SoundContent::Packet(bytes) => bytes[..].try_into().ok().map(u64::from_be_bytes),
        _ => None,
    }
}

/// Random numbers, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

fn at(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).expect("after the beginning"))
}

/// Plays what is due until `until`; returns blocks with the moment of each.
fn play(sound: &mut SoundPlayout, until: Duration) -> Vec<(Duration, SoundBlock)> {
    let mut blocks = Vec::new();
    while let Some(due) = sound.poll_timeout(None).filter(|due| *due <= until) {
        match sound.poll(due, None) {
            Some(block) => blocks.push((due, block)),
            None => break,
        }
    }
    blocks
}

#[test]
fn an_hour_of_drifting_clocks_and_losses_keeps_pictures_within_40_ms_of_the_sound() {
    // By the capture clock: the microphone is 80 ppm slow. The receiver's clock is 120 ppm fast.
    let received = |time: i64| 7_000_000 + time + time / 1_000_000 * 120;
    let microphone = |number: i64| 1_000_000 + number * 20 * MILLISECOND + number * 20 * MILLISECOND / 1_000_000 * 80;
    let mut random = Random(88_172_645_463_325_252);
    let mut events = Vec::new();
    for number in 0..180_000 {
        // 1 % are lost, and come again 70 ms later, too late or not.
        let captured = microphone(number);
        let lost = if random.below(100) == 0 { 70 * MILLISECOND } else { 0 };
        let transit = 25 * MILLISECOND + random.below(15_000) as i64 + lost;
        events.push((received(captured + transit), Some(number as u64), captured));
    }
    for frame in 0..108_000 {
        let captured = 1_000_000 + frame * 33_333;
        let transit = 60 * MILLISECOND + random.below(25_000) as i64;
        events.push((received(captured + transit), None, captured));
    }
    events.sort_unstable();
    let mut sound = SoundPlayout::new(SoundMode::Live);
    let mut pictures = PlayoutClock::new(Latency::Smooth, Duration::from_micros(33_333));
    let (mut worst, mut frames, mut steep, mut heard) = (0, 0, 0_u64, 0_u64);
    for (now, number, captured) in events {
        while let Some(due) = sound.poll_timeout(pictures.learned_micros()).filter(|due| *due <= at(now)) {
            let Some(block) = sound.poll(due, pictures.learned_micros()) else { break };
            pictures.follow(sound.offset());
            let is_steep = (block.samples as i64 - PACKET_SAMPLES).abs() > STRETCH_SAMPLES;
            heard += u64::from(number_of(&block).is_some());
            steep += u64::from(number_of(&block).is_some() && is_steep);
        }
        let captured = u64::try_from(captured).expect("after the beginning");
        if let Some(number) = number {
            sound.handle_packet(at(now), packet(number, captured));
            continue;
        }
        let presentation = pictures.handle_ready(at(now), captured);
        // After ten seconds, when both clocks know the path.
        if let Some(offset) = sound.offset().filter(|_| captured > 11_000_000) {
            let shown = micros(presentation.at) - signed(captured);
            worst = worst.max((shown - offset).abs());
            frames += 1;
        }
    }
    println!(
        "pictures are within {worst} us of the sound, {frames} frames, {heard} packets, {steep} stretched by 2 %, {:?}",
        sound.stats()
    );
    assert!(worst <= 40 * MILLISECOND && frames > 107_000, "{worst} us in {frames} frames");
    assert!(steep * 100 < heard, "{steep} of {heard} packets were stretched by more than 0.4 %");
    let SoundStats { packets, lost, concealed, silent } = sound.stats();
    assert!(packets + lost >= 179_000 && packets > 178_000, "{packets} packets, {lost} lost");
    assert!(concealed < Duration::from_secs(40) && silent < Duration::from_millis(100), "{concealed:?} {silent:?}");
}

#[test]
fn an_hour_of_a_recording_has_every_packet_at_its_capture_time() {
    // The microphone is 300 ppm fast: a recorder that counted samples would be a second away.
    let microphone = |number: u64| 1_000_000 + number * 19_994;
    let mut random = Random(1);
    let mut sound = SoundPlayout::new(SoundMode::Recorded);
    let (mut samples, mut worst, mut heard) = (0, 0, 0);
    let mut take = |sound: &mut SoundPlayout| {
        while let Some(block) = sound.poll(Duration::ZERO, None) {
            let place = 1_000_000 + samples * 1_000_000 / SAMPLES_PER_SECOND;
            worst = worst.max((place - signed(block.captured)).abs());
            samples += block.samples as i64;
            heard += u64::from(number_of(&block).is_some());
        }
    };
    for number in 0..180_000 {
        let late = random.below(40);
        // Some come late, in another order, and one in a hundred never.
        if random.below(100) > 0 {
            sound.handle_packet(
                Duration::ZERO,
                packet(number ^ u64::from(late == 0), microphone(number ^ u64::from(late == 0))),
            );
        }
        take(&mut sound);
    }
    sound.handle_end();
    take(&mut sound);
    assert!(worst <= 2 * MILLISECOND, "{worst} us");
    assert!(heard > 170_000, "{heard} packets");
    let hour = 180_000 * 19_994 * SAMPLES_PER_SECOND / 1_000_000;
    assert!((samples - hour).abs() < 5 * PACKET_SAMPLES, "{samples} samples of {hour}");
}

#[test]
fn a_lost_packet_is_concealed_and_a_later_one_that_is_there_is_not_waited_for() {
    let mut sound = SoundPlayout::new(SoundMode::Live);
    for number in [0, 1, 2, 4, 5, 6] {
        sound.handle_packet(at(number as i64 * 20_000), packet(number, number * 20_000));
    }
    let blocks = play(&mut sound, at(160_000));
    let numbers: Vec<_> = blocks.iter().map(|(_, block)| number_of(block)).collect();
    assert_eq!(numbers[..7], [Some(0), Some(1), Some(2), None, Some(4), Some(5), Some(6)]);
    assert_eq!(blocks[3].1.content, SoundContent::Concealed);
    assert_eq!((sound.stats().packets, sound.stats().lost), (6, 1));
}

#[test]
fn sound_that_stops_is_concealed_then_silent_and_goes_on_when_it_returns() {
    let mut sound = SoundPlayout::new(SoundMode::Live);
    (0..10).for_each(|number| sound.handle_packet(at(number as i64 * 20_000), packet(number, number * 20_000)));
    let blocks = play(&mut sound, at(3_000_000));
    let count = |content: &SoundContent| blocks.iter().filter(|(_, block)| block.content == *content).count();
    assert_eq!(count(&SoundContent::Concealed), 5);
    assert!((125..=140).contains(&count(&SoundContent::Silence)), "{}", count(&SoundContent::Silence));
    assert_eq!(sound.offset(), None, "there is nothing to follow");
    // It returns: a second later by the sender's clock than it was lost.
    (10..30).for_each(|number| {
        sound.handle_packet(at(3_000_000 + (number as i64 - 10) * 20_000), packet(number, 2_800_000 + number * 20_000))
    });
    let blocks = play(&mut sound, at(3_400_000));
    let heard = blocks.iter().filter(|(_, block)| number_of(block).is_some()).count();
    assert!(heard >= 17, "{heard}: {blocks:?}");
    assert!(sound.offset().is_some());
    assert_eq!(sound.stats().lost, 0);
}

#[test]
fn packets_that_come_in_a_burst_after_a_pause_are_played_late_and_the_delay_returns() {
    let mut sound = SoundPlayout::new(SoundMode::Live);
    let mut heard = 0;
    for number in 0..1000 {
        let captured = number * 20_000;
        // The path holds back packets 200 to 204 until 204 is there.
        let arrives = if (200..205).contains(&number) { 204 * 20_000 } else { captured };
        let now = at(i64::try_from(arrives).expect("soon") + 10_000);
        heard += play(&mut sound, now).iter().filter(|(_, block)| number_of(block).is_some()).count();
        sound.handle_packet(now, packet(number, captured));
    }
    assert!(heard >= 990, "{heard}");
    assert_eq!(sound.stats().lost, 0);
    let offset = sound.offset().expect("it is heard");
    assert!(offset < 140 * MILLISECOND, "{offset}");
}

#[test]
fn any_packets_are_played_in_bounded_memory_and_time_goes_on() {
    let mut random = Random(7);
    for mode in [SoundMode::Live, SoundMode::Recorded] {
        let mut sound = SoundPlayout::new(mode);
        let mut now = Duration::ZERO;
        for _ in 0..20_000 {
            let captured = if random.below(50) == 0 { u64::MAX >> random.below(60) } else { random.below(5_000_000) };
            let number = if random.below(50) == 0 { u64::MAX >> (2 + random.below(60)) } else { random.below(300) };
            sound.handle_packet(now, packet(number, captured));
            now += Duration::from_millis(random.below(30));
            for _ in 0..20 {
                if sound.poll(now, Some(random.below(1_000_000) as i64)).is_none() {
                    break;
                }
            }
            assert!(sound.packets.len() <= MAX_WAITING_PACKETS);
        }
    }
}

#[test]
fn a_recording_goes_on_at_times_that_jump() {
    let mut sound = SoundPlayout::new(SoundMode::Recorded);
    let mut blocks = Vec::new();
    for (number, captured) in (0..).zip([0, 20_000, 1 << 60, (1 << 60) + 20_000, 7, 20_007, 100_007, u64::MAX]) {
        sound.handle_packet(Duration::ZERO, packet(number, captured));
        blocks.extend(std::iter::from_fn(|| sound.poll(Duration::ZERO, None)).take(1000));
    }
    sound.handle_end();
    blocks.extend(std::iter::from_fn(|| sound.poll(Duration::ZERO, None)).take(1000));
    assert_eq!(blocks.iter().filter_map(number_of).collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
    assert_eq!(blocks.len(), 8 + 3, "of the 60 ms without packets three are concealed");
}

/// What is seen and heard around a stall of the path at 10 s: when each frame is shown and when each packet is heard, with
/// their capture times, in microseconds.
struct Stall {
    seen: Vec<(i64, i64)>,
    heard: Vec<(i64, i64)>,
}

impl Stall {
    /// Plays 60 s. The path carries nothing for `length`; what it held back comes at its end, up to half a second of
    /// sound and a second of pictures, as much as a sender leaves on the way. `extra` is how much longer everything takes
    /// in the three seconds after that.
    fn play(length: i64, extra: i64) -> Self {
        let (begins, ends) = (10_000 * MILLISECOND, 10_000 * MILLISECOND + length);
        let mut random = Random(88_172_645_463_325_252);
        let mut events = Vec::new();
        let mut add = |number: u64, captured: i64, is_sound: bool, most_held: i64, transit: i64| {
            let more = if (ends..ends + 3_000 * MILLISECOND).contains(&captured) { extra } else { 0 };
            let arrives = captured + transit + more;
            let held = (begins..ends).contains(&arrives);
            if !held || captured < begins + most_held {
                events.push((if held { ends } else { arrives }, is_sound, number, captured));
            }
        };
        for number in 0..3_000 {
            let transit = 25 * MILLISECOND + random.below(8_000) as i64;
            add(number, number as i64 * 20 * MILLISECOND, true, 480 * MILLISECOND, transit);
        }
        for number in 0..1_800 {
            let transit = 40 * MILLISECOND + random.below(15_000) as i64;
            add(number, number as i64 * 33_333, false, 1_000 * MILLISECOND, transit);
        }
        events.sort_unstable();
        let mut sound = SoundPlayout::new(SoundMode::Live);
        let mut pictures = PlayoutClock::new(Latency::Smooth, Duration::from_micros(33_333));
        let mut stall = Self { seen: Vec::new(), heard: Vec::new() };
        for (now, is_sound, number, captured) in events {
            while let Some(due) = sound.poll_timeout(pictures.learned_micros()).filter(|due| *due <= at(now)) {
                let Some(block) = sound.poll(due, pictures.learned_micros()) else { break };
                pictures.follow(sound.offset());
                if number_of(&block).is_some() {
                    stall.heard.push((micros(due), signed(block.captured)));
                }
            }
            let captured = captured as u64;
            if is_sound {
                sound.handle_packet(at(now), packet(number, captured));
            } else {
                stall.seen.push((micros(pictures.handle_ready(at(now), captured).at), signed(captured)));
            }
        }
        stall
    }

    /// Returns the longest delay between two moments, of pictures and of sound.
    fn delay(&self, from: i64, until: i64) -> [i64; 2] {
        [&self.seen, &self.heard].map(|all| {
            let within = all.iter().filter(|(at, _)| (from * MILLISECOND..until * MILLISECOND).contains(at));
            within.map(|(at, captured)| at - captured).max().unwrap_or_default() / MILLISECOND
        })
    }
}

#[test]
fn after_a_stall_pictures_and_sound_return_to_their_delay_together() {
    // The length of the stall, and the time after which the delay is what it was, within 60 ms. A short stall leaves late
    // frames among those of the last ten seconds, so the delay that they need stays that long.
    for (length, returns) in [(150, 14_000), (300, 18_000), (380, 18_000), (1000, 1000), (3000, 1000), (8000, 1000)] {
        let stall = Stall::play(length * MILLISECOND, 0);
        let end = 10_000 + length;
        let delays: Vec<_> = [0, 500, 1000, 3000, 5000, 10_000, 14_000, 17_000, 25_000, 35_000]
            .windows(2)
            .map(|pair| (pair[0], stall.delay(end + pair[0], end + pair[1])))
            .collect();
        println!("a stall of {length} ms; from so many ms after it, pictures and sound are so late: {delays:?}");
        let before = stall.delay(5000, 10_000);
        let after = stall.delay(end + returns, 60_000);
        assert!(before.iter().all(|delay| *delay < 70), "{before:?}");
        assert!(after.iter().zip(before).all(|(after, before)| *after <= before + 60), "{length} ms: {after:?}");
        let together = stall.delay(end + 1000, 60_000);
        assert!(together[0].abs_diff(together[1]) <= 40, "{length} ms: {together:?}");
    }
}

#[test]
fn a_capture_clock_that_is_set_by_an_hour_interrupts_sound_for_little_more_than_two_seconds() {
    for jump in [3_600_000_000_i64, -3_600_000_000] {
        let mut sound = SoundPlayout::new(SoundMode::Live);
        let mut heard = Vec::new();
        for number in 0..1000 {
            let time = 7_200_000_000 + number * 20 * MILLISECOND;
            let captured = time + if number < 300 { 0 } else { jump };
            let now = at(time + 10 * MILLISECOND);
            heard.extend(play(&mut sound, now).into_iter().filter_map(|(at, block)| number_of(&block).map(|_| at)));
            sound.handle_packet(now, packet(number as u64, captured as u64));
        }
        let longest = heard.windows(2).map(|pair| pair[1] - pair[0]).max().expect("it is heard");
        assert!(longest < Duration::from_millis(2300) && heard.len() > 870, "{jump}: {longest:?}, {}", heard.len());
        assert!(sound.offset().is_some());
    }
}
