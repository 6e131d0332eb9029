//! The controller over a simulated link, in virtual time.

use super::*;
use crate::path::limits::INITIAL_WINDOW;

const MTU: u64 = 1200;

/// A sender that always has packets to send, a link, and a peer that acknowledges.
struct Simulation {
    controller: DelayController,
    now: Duration,
    /// When the link has sent everything it has, and the transmission time of a packet.
    free: Duration,
    packet: Duration,
    rtt: Duration,
    /// The size of the packets in bytes.
    bytes: u64,
    /// The peer acknowledges after this many packets, or after this time.
    acks: (usize, Duration),
    /// When packets were sent and when they arrive, until they are acknowledged.
    flying: VecDeque<(Duration, Duration)>,
    smoothed: Duration,
    /// The router marks a packet if all packets met a longer queue than this for 100 ms (CoDel, RFC 8289); and since
    /// when they did.
    marks: Duration,
    above_since: Duration,
    /// The sum of the queues that acknowledged packets met, and their number.
    queues: (Duration, u32),
}

impl Simulation {
    fn new(rate: u64, rtt: u64, acks: (usize, u64)) -> Self {
        Self {
            controller: DelayController::new(MTU, Duration::ZERO),
            now: Duration::ZERO,
            free: Duration::ZERO,
            packet: Duration::from_secs_f64(MTU as f64 * 8.0 / rate as f64),
            rtt: Duration::from_millis(rtt),
            bytes: MTU,
            acks: (acks.0, Duration::from_millis(acks.1)),
            flying: VecDeque::new(),
            smoothed: Duration::ZERO,
            marks: Duration::MAX,
            above_since: Duration::ZERO,
            queues: (Duration::ZERO, 0),
        }
    }

    /// Runs until `end` milliseconds; returns the delivered part of what the link could carry since the call.
    fn run(&mut self, end: u64) -> f64 {
        let began = self.now;
        let before = self.controller.path().delivered;
        while self.now < Duration::from_millis(end) {
            self.send();
            self.acknowledge();
        }
        let packets = (self.now - began).as_secs_f64() / self.packet.as_secs_f64();
        (self.controller.path().delivered - before) as f64 / MTU as f64 / packets
    }

    /// Sends `packets` packets, one every `every`, and nothing else.
    fn run_idle(&mut self, packets: u32, every: Duration) {
        while !self.flying.is_empty() {
            self.acknowledge();
        }
        for _ in 0..packets {
            self.now += every;
            self.send_packet();
            self.acknowledge();
        }
    }

    fn send(&mut self) {
        while self.controller.path().in_flight + MTU <= self.controller.path().window {
            self.send_packet();
        }
    }

    fn send_packet(&mut self) {
        self.controller.handle_sent(self.now, self.bytes);
        self.free = self.free.max(self.now) + self.packet.mul_f64(self.bytes as f64 / MTU as f64);
        self.flying.push_back((self.now, self.free + self.rtt));
    }

    fn acknowledge(&mut self) {
        let late = self.flying[0].1 + self.acks.1;
        self.now = self.flying.get(self.acks.0 - 1).map_or(late, |(_, arrives)| late.min(*arrives));
        let mut newest = (Duration::ZERO, Duration::ZERO);
        while let Some(packet) = self.flying.pop_front_if(|(_, arrives)| *arrives <= self.now) {
            self.controller.handle_transport(self.now, self.smoothed, self.rtt);
            self.controller.handle_ack(self.now, packet.0, self.bytes);
            let queue = packet.1 - packet.0 - self.rtt.min(packet.1 - packet.0);
            self.queues = (self.queues.0 + queue, self.queues.1 + 1);
            if queue <= self.marks {
                self.above_since = packet.1;
            } else if packet.1 - self.above_since > Duration::from_millis(100) {
                self.above_since = packet.1;
                self.controller.handle_mark();
            }
            newest = packet;
        }
        let rtt = newest.1 - newest.0;
        self.smoothed = if self.smoothed.is_zero() { rtt } else { (7 * self.smoothed + rtt) / 8 };
        self.controller.handle_acks_end(self.now, self.flying.len() as u64 * self.bytes);
    }
}

#[test]
fn on_an_empty_path_the_window_doubles_in_each_round_trip() {
    let mut simulation = Simulation::new(100_000_000, 100, (4, 4));
    for round in 1..=6 {
        simulation.run(110 * round);
        let window = simulation.controller.path().window;
        assert!(window >= INITIAL_WINDOW << (round - 1), "{window} after {round}");
    }
}

#[test]
fn marks_keep_the_queue_as_short_as_the_router_wants_it() {
    for (rate, rtt) in [(4_000_000, 10), (4_000_000, 50), (10_000_000, 100)] {
        let run = |marks| {
            let mut simulation = Simulation::new(rate, rtt, (4, 4));
            simulation.marks = marks;
            simulation.run(2000);
            simulation.queues = (Duration::ZERO, 0);
            let used = simulation.run(12_000);
            (used, simulation.queues.0 / simulation.queues.1)
        };
        let ((without, long), (used, queue)) = (run(Duration::MAX), run(Duration::from_millis(5)));
        println!("{rate} bit/s, {rtt} ms: {without:.3} with {long:?}, marked {used:.3} with {queue:?}");
        assert!(
            used >= 0.8 && queue < long.min(Duration::from_millis(7)),
            "{rate} bit/s, {rtt} ms: {used}, {queue:?} and {long:?}"
        );
    }
}

#[test]
fn a_window_that_was_not_filled_for_minutes_begins_anew() {
    let mut simulation = Simulation::new(10_000_000, 50, (1, 0));
    simulation.run(3000);
    let window = simulation.controller.path().window;
    simulation.run_idle(29, Duration::from_secs(10));
    assert!(simulation.controller.path().window >= window / 2, "five minutes");
    simulation.run_idle(3, Duration::from_secs(10));
    assert_eq!(simulation.controller.path().window, INITIAL_WINDOW);
    let mut run_second = || {
        let end = (simulation.now + Duration::from_secs(1)).as_millis();
        simulation.run(u64::try_from(end).expect("minutes"))
    };
    let [_, used] = [run_second(), run_second()];
    assert!(used >= 0.8, "{used}");
}

#[test]
fn bursts_without_a_queue_are_no_fall() {
    let mut simulation = Simulation::new(1_000_000_000, 100, (4, 4));
    simulation.run(4000);
    assert_eq!(simulation.controller.path().rate_drops, 0);
    assert_eq!(simulation.controller.path().window, MAX_WINDOW);
}

#[test]
fn a_probe_of_the_path_keeps_the_rate_before_it() {
    let mut simulation = Simulation::new(4_000_000, 50, (4, 4));
    simulation.run(3000);
    let mut probes = 0;
    while simulation.now < Duration::from_secs(11) {
        simulation.send();
        simulation.acknowledge();
        let path = simulation.controller.path();
        if let Some(before) = path.rate_before_probe {
            probes += 1;
            assert!((3_600_000..4_400_000).contains(&before.bits()), "{before}");
            assert!(path.target_rate() < before, "{path:?}");
        }
    }
    assert!((2..40).contains(&probes), "{probes}: at 5 and 10 s, for a round trip or two");
}

#[test]
fn a_fall_in_a_probe_shows() {
    let mut simulation = Simulation::new(1_000_000, 50, (2, 25));
    while simulation.controller.path().rate_before_probe.is_none() {
        simulation.send();
        simulation.acknowledge();
    }
    let fall = simulation.now;
    simulation.packet *= 4;
    while simulation.now < fall + Duration::from_millis(300) {
        simulation.send();
        simulation.acknowledge();
    }
    let path = simulation.controller.path();
    let rate = path.rate_before_probe.unwrap_or_else(|| path.target_rate());
    assert!(rate.bits() < 500_000, "{rate}");
}

#[test]
fn a_fall_shows_before_a_round_trip_is_over() {
    let mut simulation = Simulation::new(4_000_000, 50, (4, 4));
    simulation.run(3000);
    assert_eq!(simulation.controller.path().rate_drops, 0);
    let window = simulation.controller.path().window;
    simulation.packet *= 10;
    simulation.run(3000 + 150);
    assert_eq!(simulation.controller.path().rate_drops, 1);
    assert!(simulation.controller.path().window < window / 3);
}

#[test]
fn on_a_path_that_became_faster_short_packets_do_not_seem_to_wait() {
    for rtt in [10, 100] {
        let mut simulation = Simulation::new(100_000, rtt, (1, 0));
        simulation.run(8000);
        assert!(simulation.controller.rate.is_some_and(|rate| rate < 15_000.0), "the rate of before is known");
        simulation.run_idle(0, Duration::ZERO);
        simulation.packet /= 10;
        simulation.run_idle(1, Duration::from_millis(33));
        simulation.bytes = MTU / 4;
        for _ in 0..60 {
            simulation.run_idle(1, Duration::from_millis(33));
            let queue = simulation.controller.path().queue();
            assert!(queue < Duration::from_millis(4), "{queue:?} at a round trip of {rtt} ms");
        }
    }
}

#[test]
fn acknowledgements_that_come_late_or_together_are_no_queue() {
    for rate in [1_000_000, 4_000_000, 10_000_000] {
        for rtt in [10, 50, 100] {
            let mut simulation = Simulation::new(rate, rtt, (10, 25));
            simulation.run(2000);
            let used = simulation.run(12_000);
            println!("{rate} bit/s, {rtt} ms: {used:.3}");
            assert!(used >= 0.9, "{rate} bit/s, {rtt} ms: {used}");
        }
    }
}
