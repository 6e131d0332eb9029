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
