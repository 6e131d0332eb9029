//! Sound over simulated links, in virtual time: what a listener hears of it, and what it costs the pictures.

use std::convert::Infallible;
use std::time::Duration;

use nestcast_lab::bottleneck::Bottleneck;
use nestcast_lab::link::Link;
use nestcast_player::{SoundContent, SoundMode, SoundPlayout, SoundStats};
use nestcast_proto::{Bitrate, ReceiveStats, ReceivedFrame, Sound, SoundPacket};
use nestcast_receiver::FrameSink;
use nestcast_tests::network::{BASE, FULL, Outcome, Scenario, Viewer, broadcast_from};
use nestcast_tests::still_frames::StillFrames;

/// Bytes of a packet at 64 kbit/s.
const PACKET_BYTES: usize = 160;
const ROUND_TRIP: Duration = Duration::from_millis(50);

/// Keeps the packets of sound with the moment at which each came, and counts frames.
struct Listener {
    network: Bottleneck,
    listens: bool,
    packets: Vec<(Duration, SoundPacket)>,
    frame_bytes: u64,
    received: ReceiveStats,
}

impl FrameSink for Listener {
    type Error = Infallible;

    fn handle_frame(&mut self, frame: ReceivedFrame, stats: ReceiveStats) -> Result<(), Infallible> {
        self.frame_bytes += frame.prefix.len() as u64;
        self.received = stats;
        Ok(())
    }

    fn handle_sound_announced(&mut self, sound: Sound) -> bool {
        assert_eq!(sound, Sound::Stereo);
        self.listens
    }

    fn handle_sound(&mut self, packet: SoundPacket) -> Result<(), Infallible> {
        self.packets.push((self.network.now(), packet));
        Ok(())
    }
}

/// What was heard: counts, and the longest time without a packet, after the first five seconds.
#[derive(Debug)]
struct Heard {
    stats: SoundStats,
    interrupted: Duration,
    interruptions: usize,
    delay: Duration,
}

impl Listener {
    /// Plays what came as it came.
    fn play(&self) -> Heard {
        let mut sound = SoundPlayout::new(SoundMode::Live);
        let (mut heard, mut gap) = (
            Heard {
                stats: SoundStats::default(),
                interrupted: Duration::ZERO,
                interruptions: 0,
                delay: Duration::ZERO,
            },
            Duration::ZERO,
        );
        for (came, packet) in &self.packets {
            while let Some(due) = sound.poll_timeout(None).filter(|due| due <= came) {
                let Some(block) = sound.poll(due, None) else { break };
                let offset = u64::try_from(sound.offset().unwrap_or_default()).unwrap_or_default();
                heard.delay = heard.delay.max(Duration::from_micros(offset));
                if matches!(block.content, SoundContent::Packet(_)) {
                    heard.interruptions += usize::from(gap > Duration::ZERO);
                    gap = Duration::ZERO;
                } else if due > Duration::from_secs(5) {
                    gap += Duration::from_secs(block.samples as u64) / 48_000;
                    heard.interrupted = heard.interrupted.max(gap);
                }
            }
            sound.handle_packet(*came, packet.clone());
        }
        heard.stats = sound.stats();
        heard
    }
}

fn listen(link: Link, time: Duration, cap: Option<u64>, listens: bool) -> Listener {
    let scenario = Scenario { sound: Some(PACKET_BYTES), ..Scenario::lasting(time) };
    let source = StillFrames::new(FULL, BASE, time);
    let outcome: Outcome<Listener> = broadcast_from(&[link], scenario, source, |network| {
        let (network, received) = (network.clone(), ReceiveStats::default());
        let sink = Listener { network, listens, packets: Vec::new(), frame_bytes: 0, received };
        vec![Viewer { joins: Duration::ZERO, link: 0, cap: cap.map(Bitrate::from_bits), sink }]
    });
    outcome.receivers.into_iter().next().expect("one")
}

#[test]
fn at_1_percent_loss_and_50_ms_of_round_trip_sound_is_interrupted_for_60_ms_at_most() {
    for seed in 1..=3 {
        let time = Duration::from_secs(60);
        let link = Link::constant(2_000_000).with_rtt(ROUND_TRIP).with_loss(10_000, seed);
        let listener = listen(link, time, None, true);
        let heard = listener.play();
        println!("seed {seed}: {heard:?}, frames {:?}", listener.received);
        assert!(heard.interrupted <= Duration::from_millis(60), "{heard:?}");
        let SoundStats { packets, lost, .. } = heard.stats;
        assert!(packets > 2900 && lost * 50 < packets, "{heard:?}");
        assert!(heard.delay < Duration::from_millis(250), "{heard:?}");
    }
}

#[test]
fn a_narrow_path_that_falls_carries_every_packet_and_a_base_of_every_frame() {
    let time = Duration::from_secs(40);
    let rates = [(0, 1_000_000), (15, 250_000), (30, 1_000_000)];
    let link =
        Link::varying(rates.map(|(second, bits)| (Duration::from_secs(second), bits)).to_vec()).with_rtt(ROUND_TRIP);
    let listener = listen(link, time, None, true);
    let heard = listener.play();
    println!("{heard:?}, frames {:?}", listener.received);
    assert!(heard.interrupted <= Duration::from_millis(400), "{heard:?}");
    assert!(heard.stats.packets > 1900, "{heard:?}");
    assert!(listener.received.missing_bases <= 2 && listener.received.shown > 1100, "{:?}", listener.received);
}

#[test]
fn sound_counts_in_the_cap_and_who_has_too_low_a_cap_or_does_not_listen_gets_none() {
    let time = Duration::from_secs(20);
    let link = || Link::constant(4_000_000).with_rtt(ROUND_TRIP);
    let cap = 500_000;
    let with = listen(link(), time, Some(cap), true);
    let carried = with.frame_bytes + (with.packets.len() * PACKET_BYTES) as u64;
    assert!(carried < cap / 8 * 20, "{carried} bytes in 20 s");
    assert!(with.packets.len() > 950, "{} packets", with.packets.len());
    let without = listen(link(), time, Some(cap), false);
    assert_eq!(without.packets.len(), 0, "it does not listen");
    let cost = without.frame_bytes - with.frame_bytes;
    println!("sound of {} bytes costs frames {cost} bytes", with.packets.len() * PACKET_BYTES);
    assert!((50 * 20 * PACKET_BYTES as u64..60 * 20 * PACKET_BYTES as u64).contains(&cost), "{cost}");
    let low = listen(link(), time, Some(100_000), true);
    assert_eq!(low.packets.len(), 0, "the cap is less than twice the sound's rate");
    assert!(low.received.shown > 500, "{:?}", low.received);
}
