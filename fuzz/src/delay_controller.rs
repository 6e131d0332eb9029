//! The delay controller under any acknowledgements, losses and moments.

use std::collections::VecDeque;
use std::time::Duration;

use arbitrary::{Arbitrary, Unstructured};
use nestcast_proto::{DelayController, INITIAL_WINDOW};

/// The most bytes that may ever be in flight, in the session's tuning.
const MAX_WINDOW: u64 = 1024 * 1024;

/// The time on a sender's clock when the flow begins; any time would do.
const START_TIME: Duration = Duration::from_millis(1_234_567);

#[derive(Debug, Arbitrary)]
enum Event {
    Sent {
        bytes: u16,
    },
    /// One of the packets on the way arrived, or a number of bytes that is no packet's.
    Ack {
        which: u8,
        bytes: Option<u16>,
    },
    /// A packet arrived that was sent at any moment.
    StrangeAck {
        back: u32,
        bytes: u16,
    },
    AcksEnd {
        in_flight: Option<u32>,
    },
    /// The transport's smoothed round trip.
    Smoothed {
        micros: u32,
    },
    Loss {
        bytes: u16,
        all: bool,
    },
    Wait {
        micros: u32,
    },
    Mtu {
        more: u16,
    },
    /// A window of packets is sent, waits, and arrives packet by packet; a few times over.
    Round {
        times: u8,
        packets: u8,
        rtt: u16,
        gap: u16,
    },
}

/// Checks that on any path the window stays between a packet and the largest allowed one, and that the counts add up.
///
/// The input: bytes of a packet, then the events.
pub fn delay_controller(data: &[u8]) {
    let mut input = Unstructured::new(data);
    let Ok(mtu) = input.arbitrary::<u8>() else { return };
    let mut driver = Driver::new(1200 + u64::from(mtu));
    while !input.is_empty() {
        let Ok(event) = input.arbitrary() else { break };
        driver.handle(&event);
        driver.check();
    }
}

struct Driver {
    controller: DelayController,
    /// The smallest packets so far.
    mtu: u64,
    now: Duration,
    /// The moment at which each packet on the way was sent, and its bytes.
    packets: VecDeque<(Duration, u64)>,
    in_flight: u64,
    delivered: u64,
    lost: u64,
}

impl Driver {
    fn new(mtu: u64) -> Self {
        let (controller, packets) = (DelayController::new(mtu, START_TIME), VecDeque::new());
        Self { controller, mtu, now: Duration::ZERO, packets, in_flight: 0, delivered: 0, lost: 0 }
    }

    fn handle(&mut self, event: &Event) {
        match *event {
            Event::Sent { bytes } => self.send(bytes.into()),
            Event::Ack { which, bytes } => {
                let at = usize::from(which).min(self.packets.len().saturating_sub(1));
                if let Some((sent, whole)) = self.packets.remove(at) {
                    self.in_flight -= whole;
                    self.ack(sent, bytes.map_or(whole, u64::from));
                }
            }
            Event::StrangeAck { back, bytes } => {
                self.ack(self.now.saturating_sub(Duration::from_micros(back.into())), bytes.into());
            }
            Event::AcksEnd { in_flight } => {
                let in_flight = in_flight.map_or_else(|| self.in_flight, u64::from);
                self.controller.handle_acks_end(self.now, in_flight);
            }
            Event::Smoothed { micros } => {
                let smoothed = Duration::from_micros(micros.into());
                self.controller.handle_transport(self.now, smoothed, smoothed / 2);
            }
            Event::Loss { bytes, all } => {
                self.lost += u64::from(bytes);
                self.in_flight -= self.packets.pop_front().map_or(0, |(_, bytes)| bytes);
                self.controller.handle_loss(self.now, bytes.into(), all);
            }
            Event::Wait { micros } => self.now += Duration::from_micros(micros.into()),
            Event::Mtu { more } => {
                let mtu = 1200 + u64::from(more);
                self.mtu = self.mtu.min(mtu);
                self.controller.handle_mtu(mtu);
            }
            Event::Round { times, packets, rtt, gap } => (0..=times % 8).for_each(|_| self.round(packets, rtt, gap)),
        }
    }

    fn send(&mut self, bytes: u64) {
        self.packets.push_back((self.now, bytes));
        self.in_flight += bytes;
        self.controller.handle_sent(self.now, bytes);
    }

    fn ack(&mut self, sent: Duration, bytes: u64) {
        self.delivered += bytes;
        self.controller.handle_ack(self.now, sent, bytes);
    }

    fn round(&mut self, packets: u8, rtt: u16, gap: u16) {
        for _ in 0..packets % 32 {
            self.send(1200);
        }
        self.now += Duration::from_micros(16 * u64::from(rtt));
        while let Some((sent, bytes)) = self.packets.pop_front() {
            self.in_flight -= bytes;
            self.ack(sent, bytes);
            self.controller.handle_acks_end(self.now, self.in_flight);
            self.check();
            self.now += Duration::from_micros(gap.into());
        }
    }

    fn check(&self) {
        let path = self.controller.path();
        let least = self.mtu.min(INITIAL_WINDOW);
        assert!((least..=MAX_WINDOW).contains(&path.window), "a window of {} bytes", path.window);
        assert_eq!((path.delivered, path.lost), (self.delivered, self.lost));
        assert!(path.queue() <= path.rtt && path.retransmitted_bytes <= path.lost, "{path:?}");
    }
}
