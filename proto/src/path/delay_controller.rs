//! The delay controller: from acknowledged bytes, computes how much may be in flight so that the queue stays short.
//!
//! While there is a queue before the path's slowest link, and only then, arrivals show the link's rate
//! ([`DeliveryRateSampler`]). Once in a round trip the window becomes what that rate carries in the shortest round trip
//! and a short queue, plus the packet in transmission. This is the aim of FAST TCP (Wei, Jin, Low, Hegde 2006), reached
//! in one step because the rate does not depend on the window. If the queue stays too long, the flow's own part of the
//! rate counts: bytes in flight over the round trip ([`Target`] defines the length of the queue).
//!
//! If no queue shows, the window first doubles in a round trip (slow start, RFC 9002, section 7.3.1), and later grows
//! by steps, because the path may have become faster. A fall of the rate to less than half shows in the deliveries
//! before a round ends ([`RateDropDetector`]). What a peer acknowledges together is sent together, so the queue has
//! room for that. A router's mark demands a shorter queue ([`DelayController::handle_mark`]).
//!
//! Loss counts in three cases: there is much of it, another flow fills the queue ([`CompetitiveMode`]), or a policer
//! drops what exceeds a rate without a queue ([`Policer`]). Bytes in flight distinguish a longer path from a queue
//! ([`RouteChange`]). A window that is always full never sees the path without a queue, so every few seconds it shrinks
//! for one round ([`RoundTripProbe`]).

mod window;

use std::collections::VecDeque;
use std::time::Duration;

use crate::path::ack_delay::AckDelay;
use crate::path::backlog::Backlog;
use crate::path::competitive_mode::{CompetitiveMode, Queue};
use crate::path::delivery_rate_sampler::DeliveryRateSampler;
use crate::path::limits::MIN_WINDOW_PACKETS;
use crate::path::loss::Loss;
use crate::path::policer::Policer;
use crate::path::rate_drop::RateDropDetector;
use crate::path::round::{Round, seconds, whole};
use crate::path::round_trip_probe::RoundTripProbe;
use crate::path::route_change::{RouteChange, Trip};
use crate::path::shortest::Shortest;
use crate::path::stats::PathStats;
use crate::path::target::Target;
use nestcast_units::Bitrate;

/// The most bytes in flight: 80 Mbit/s at 100 ms.
pub(super) const MAX_WINDOW: u64 = 1024 * 1024;
/// How long a shortest round trip is believed: as a rule, and while another flow's queue may hide the path.
const MIN_RTT_LIFE: Duration = Duration::from_secs(10);
const MIN_RTT_LIFE_BEHIND_QUEUE: Duration = Duration::from_secs(60);

/// A queue shorter than this may be an error of clocks and acknowledgements.
const SURE_QUEUE: Duration = Duration::from_millis(3);
/// The transmission time of a packet on a slow link, of 0.3 Mbit/s.
const SLOW_PACKET: Duration = Duration::from_millis(32);
/// A flow whose rate was this many times as high in the last minute may share the path.
const MAX_OWN_PARTS: f64 = 3.0;
/// A path with a lower rate, in bytes a second, was out, and returns as it was: 48 kbit/s.
const OUTAGE_BYTES_PER_SECOND: f64 = 6000.0;

/// Controls one path. The transport reports every packet that it sent, that arrived or that was lost.
#[derive(Debug, Clone, Default)]
pub struct DelayController {
    path: PathStats,
    shortest: Shortest,
    /// The shortest round trip, without the time that a fall of the rate added.
    fastest: Shortest,
    /// The shortest round trip of packets of any size, as measured.
    shortest_unscaled: Shortest,
    round: Round,
    /// When packets were sent, with the bytes in flight before them and those that have arrived; entries older than the
    /// last acknowledgement are removed.
    sent: VecDeque<(Duration, u64)>,
    batch: Batch,
    news: Option<News>,
    /// The last measured rate of the path, in bytes a second; `None` while the window doubles.
    rate: Option<f64>,
    /// Consecutive rounds without a queue although the path was full, and consecutive rounds with too long a queue.
    free: u32,
    late: u32,
    /// When the window was last filled.
    filled: Duration,
    busy: DeliveryRateSampler,
    rate_drops: RateDropDetector,
    competitive_mode: CompetitiveMode,
    round_trip_probe: RoundTripProbe,
    /// The round trip before the last probe.
    rtt_before_probe: Duration,
    ack_delay: AckDelay,
    backlog: Backlog,
    target: Target,
    loss: Loss,
    policer: Policer,
    route_change: RouteChange,
}

/// Acknowledgements that came together.
#[derive(Debug, Clone, Copy, Default)]
struct Batch {
    delivered: u64,
    newest: Option<Newest>,
}

/// The newest packet of a batch; the acknowledgements of the others waited for it.
#[derive(Debug, Clone, Copy)]
struct Newest {
    sent: Duration,
    /// The time until its acknowledgement came.
    rtt: Duration,
    /// Bytes in flight when it was sent, including its own.
    flight: u64,
    bytes: u64,
}

/// A batch whose ack delay is not known yet.
#[derive(Debug, Clone, Copy)]
struct News {
    newest: Newest,
    /// Bytes delivered when it came.
    delivered: u64,
}

/// A round trip, converted to that of a whole packet.
#[derive(Debug, Clone, Copy)]
struct ScaledTrip {
    rtt: Duration,
    /// Whether it counts for the shortest round trip.
    counts: bool,
}

/// Returns how long a shortest round trip is believed.
const fn min_rtt_life(behind_queue: bool) -> Duration {
    if behind_queue { MIN_RTT_LIFE_BEHIND_QUEUE } else { MIN_RTT_LIFE }
}

impl DelayController {
    /// Makes a controller for packets of `mtu` bytes. `clock` is the time of a clock that flows share, such as UTC,
    /// when this flow begins.
    #[must_use]
    pub fn new(mtu: u64, clock: Duration) -> Self {
        Self {
            path: PathStats { mtu, ..PathStats::default() },
            round: Round::new(Duration::ZERO, 0),
            round_trip_probe: RoundTripProbe::new(clock),
            ..Self::default()
        }
    }

    /// Returns the current state of the path.
    #[must_use]
    pub fn path(&self) -> PathStats {
        let link_rate = Bitrate::from_bits(self.backlog.rate().map_or(0, |rate| whole(8.0 * rate)));
        PathStats { link_rate, rate_before_probe: self.rate_before_probe(), ..self.path }
    }

    /// Returns when the path's slowest link will have transmitted everything that was sent; the past if it is idle.
    #[must_use]
    pub const fn idle_from(&self) -> Duration {
        self.backlog.until()
    }

    /// Notes that the size of packets changed.
    pub const fn handle_mtu(&mut self, mtu: u64) {
        self.path.mtu = mtu;
    }

    /// Notes that packets with `bytes` bytes in total were sent.
    pub fn handle_sent(&mut self, now: Duration, bytes: u64) {
        if self.sent.back().is_none_or(|(at, _)| *at < now) {
            self.sent.push_back((now, self.path.in_flight));
        }
        self.path.in_flight += bytes;
        self.backlog.handle_sent(now, bytes);
        self.round.busiest = self.round.busiest.max(self.path.in_flight);
    }

    /// Takes the transport's smoothed and shortest round trip, as they were before the present acknowledgements: they
    /// show the ack delay of the acknowledgements before (RFC 9002, section 5.3).
    pub fn handle_transport(&mut self, now: Duration, smoothed: Duration, shortest: Duration) {
        let news = self.news.take();
        let ack_delay = self.ack_delay.handle_transport(smoothed, shortest, news.map(|news| news.newest.rtt));
        if let Some(news) = news {
            self.handle_news(now, news, ack_delay);
        }
    }

    /// Notes that a packet of `bytes` that was sent at `sent` arrived.
    pub fn handle_ack(&mut self, now: Duration, sent: Duration, bytes: u64) {
        self.path.delivered += bytes;
        self.batch.delivered += bytes;
        while self.sent.front().is_some_and(|(at, _)| *at < sent) {
            self.sent.pop_front();
        }
        if let Some((_, flight)) = self.sent.front_mut().filter(|(at, _)| *at == sent) {
            *flight += bytes;
            self.batch.newest = Some(Newest { sent, rtt: now.saturating_sub(sent), flight: *flight, bytes });
        }
    }

    /// Notes that bytes were lost; `all` if nothing arrived for long.
    pub fn handle_loss(&mut self, now: Duration, bytes: u64, all: bool) {
        self.policer.handle_loss(now, self.path.delivered, bytes);
        self.path.lost += bytes;
        // A transport may report acknowledgements first, while the lost bytes still count as in flight.
        self.path.in_flight = self.path.in_flight.saturating_sub(bytes);
        self.path.retransmitted_bytes += bytes;
        self.round.lost += bytes;
        if all {
            self.path.window = self.least();
            self.round_trip_probe.give_up();
        }
    }

    /// Notes that a router marked a packet instead of dropping it, because its queue grows (ECN, RFC 3168). The
    /// controller reacts as to a drop by a full queue, once in a round trip (RFC 9002, section 7.1).
    pub const fn handle_mark(&mut self) {
        self.round.marked = true;
    }

    /// Ends a batch of acknowledgements; `in_flight` bytes are still on their way.
    pub fn handle_acks_end(&mut self, now: Duration, in_flight: u64) {
        self.path.in_flight = in_flight;
        let Batch { delivered: batch, newest } = std::mem::take(&mut self.batch);
        self.round.delivered += batch;
        let Some(newest) = newest else { return };
        self.watch_backlog(now, in_flight);
        self.news = Some(News { newest, delivered: self.path.delivered });
        // Until its ack delay is known, this packet may have been delayed as long as others.
        let queue = newest.rtt.saturating_sub(self.path.min_rtt + self.ack_delay.longest());
        if self.rate.is_none() && self.used() && queue < self.target.of_path(&self.path, f64::MAX) {
            // Doubles the window in a round trip, until a queue shows the path's rate.
            self.path.window = (self.path.window + batch).min(MAX_WINDOW);
        }
        self.watch_falls(now, queue);
    }

    /// Corrects the model of the link's queue by an acknowledgement that has just come.
    fn watch_backlog(&mut self, now: Duration, in_flight: u64) {
        let rate = self.backlog.rate().unwrap_or(f64::MAX);
        // The round trip without a queue has the transmission time of a whole packet in it.
        let packet = Duration::from_secs_f64(self.path.mtu as f64 / rate.max(1.0));
        let travels = self.path.min_rtt.saturating_sub(packet) + self.path.ack_delay;
        self.backlog.handle_arrived(now.saturating_sub(travels), in_flight);
    }

    /// Processes a batch whose ack delay is known.
    fn handle_news(&mut self, now: Duration, News { newest, delivered }: News, ack_delay: Duration) {
        self.see_round_trip(now, &newest, ack_delay);
        let queue = self.path.queue();
        self.round.handle_batch(newest.rtt, queue, newest.flight);
        self.round.handle_standing(self.path.rtt.saturating_sub(ack_delay + self.alone()));
        let least = (self.target.of_path(&self.path, self.rate.unwrap_or(f64::MAX)) / 3).max(SURE_QUEUE);
        let arrived = (newest.sent + newest.rtt).saturating_sub(ack_delay);
        self.busy.handle_batch(arrived, delivered, self.path.mtu, queue, least);
        if self.rate.is_none() {
            self.start();
        }
        if newest.sent >= self.round.began {
            let shows_queue = self.round.mean_queue() > SURE_QUEUE;
            self.end_round(now);
            self.backlog.handle_round(self.rate, shows_queue);
        }
    }

    /// Records the newest packet's round trip, and the shortest ones.
    fn see_round_trip(&mut self, now: Duration, newest: &Newest, ack_delay: Duration) {
        let unscaled = newest.rtt.saturating_sub(ack_delay);
        let scaled = self.scale_to_packet(now, newest, unscaled);
        // A competitor's queue hides the shortest round trip, which is taken to be unchanged.
        let suspected = min_rtt_life(self.competitive_mode.is_suspected(now));
        let certain = min_rtt_life(self.competitive_mode.is_there());
        let min_rtt = self.shortest.of(now, scaled.rtt, scaled.counts, suspected);
        self.fastest.of(now, scaled.rtt, scaled.counts, certain);
        let min_unscaled = self.shortest_unscaled.of(now, unscaled, true, suspected);
        // A whole packet takes longer by the difference of the shortest round trips, plus half of it for the error of
        // clocks. If the path became faster unseen, short packets would otherwise seem to wait for ever, and only short
        // ones would be sent.
        let longer = min_rtt.saturating_sub(min_unscaled) * 3 / 2;
        let rtt = scaled.rtt.min(unscaled + longer).max(min_rtt);
        self.path.min_rtt = min_rtt;
        self.path.rtt = rtt + ack_delay;
        self.path.ack_delay = ack_delay;
    }

    /// Converts the round trip `unscaled` to that of a whole packet, which takes longer to transmit. Until the path's
    /// rate is known, much shorter packets do not count.
    fn scale_to_packet(&mut self, now: Duration, newest: &Newest, unscaled: Duration) -> ScaledTrip {
        let mtu = self.path.mtu;
        let missing = mtu.saturating_sub(newest.bytes);
        let Some(rate) = self.rate else {
            return ScaledTrip { rtt: unscaled, counts: missing <= mtu / 8 };
        };
        let packet = self.target.handle_rate(now, mtu, rate);
        let longer = packet.mul_f64(missing as f64 / mtu as f64);
        ScaledTrip { rtt: unscaled + longer, counts: true }
    }

    /// Returns the round trip without a queue, as seen for another flow's queue: if that flow caused a fall of the
    /// rate, a packet does not take longer to transmit.
    fn alone(&self) -> Duration {
        let shorter = self.path.min_rtt.saturating_sub(SLOW_PACKET);
        self.fastest.shortest().map_or(self.path.min_rtt, |rtt| rtt.max(shorter))
    }

    /// Returns whether the whole window was in flight in this round.
    const fn used(&self) -> bool {
        self.round.busiest + self.path.mtu >= self.path.window
    }

    /// Ends the doubling of the window once a queue has shown the path's rate.
    fn start(&mut self) {
        self.rate = self.busy.take(self.path.mtu);
        if let Some(rate) = self.rate {
            let carried = self.carried(rate);
            self.path.window = self.path.window.min(whole(carried)).max(self.least());
            self.free = 0;
        }
    }

    /// Shrinks the window at once if the path, with a queue, delivers less than half of the rate that the window is
    /// for.
    fn watch_falls(&mut self, now: Duration, queue: Duration) {
        let busy = 2 * self.path.in_flight >= self.path.window && !self.competitive_mode.is_there();
        let Some(rate) = self.rate_drops.rate(now, self.path.delivered, busy) else { return };
        // The queue of several flows is longer by itself.
        let target = self.target.of_share(&self.path, rate);
        let aim = whole(rate * seconds(self.path.min_rtt + target)).max(self.least());
        // Without a queue these are gaps between bursts of the sender, or a probe drains the queue.
        let (window, longest) = match self.round_trip_probe.window() {
            Some(window) => (window, 2 * target),
            None => (self.path.window, target),
        };
        if self.rate_drops.certain(now, queue > longest && 2 * aim < window) {
            self.path.window = aim;
            self.path.rate_drops += 1;
            self.path.drop_lead_time = Duration::ZERO;
            self.backlog.handle_round(Some(rate.max(OUTAGE_BYTES_PER_SECOND)), true);
            if rate >= OUTAGE_BYTES_PER_SECOND {
                // The transmission time of a packet rose, which is not a queue.
                self.shortest.lengthen(self.target.handle_fall(now, self.path.mtu, rate));
                self.rate = Some(rate);
            }
            self.late = 0;
            self.round_trip_probe.give_up();
            self.busy = DeliveryRateSampler::default();
            self.rate_drops = RateDropDetector::default();
            self.round = Round::new(now, self.path.in_flight);
        }
    }

    fn end_round(&mut self, now: Duration) {
        let used = self.used();
        let round = std::mem::replace(&mut self.round, Round::new(now, self.path.in_flight));
        self.path.retransmitted_bytes = round.lost;
        self.target.handle_round(now, &round);
        self.competitive_mode.handle_round(now, self.queue_of(&round));
        self.watch_policer(now, &round);
        if self.watch_route(now, &round) {
            return;
        }
        if self.round_trip_probe.window().is_some() {
            self.path.window = self.round_trip_probe.end(now, self.path.rtt).unwrap_or(self.path.window);
            return;
        }
        let window = self.path.window as f64;
        let aim = if self.competitive_mode.is_there() {
            let mtu = self.path.mtu as f64;
            // A probe uses this rate, and the window begins with it when the other flow is gone.
            self.rate = self.busy.take(self.path.mtu).map(|rate| rate.min(round.flown())).or(self.rate);
            mtu * self.competitive_mode.window(now, round.mean_rtt(), window / mtu, round.lost > 0 || round.marked)
        } else {
            self.aim(&round)
        };
        self.path.window = whole(self.limit(now, &round, used, aim)).clamp(self.least(), MAX_WINDOW);
        let suspected = self.competitive_mode.is_suspected(now) && !self.competitive_mode.is_there();
        self.round_trip_probe.handle_round(round.standing <= SURE_QUEUE);
        if self.round_trip_probe.is_due(now, suspected) && used {
            let rate = self.rate.unwrap_or(f64::MAX);
            let packet = Duration::from_secs_f64(self.path.mtu as f64 / rate.max(1.0));
            // Flows that share a path must probe at the same times, however small their shares are.
            let shares = self.target.highest_rate(self.path.mtu).is_some_and(|whole| whole > MAX_OWN_PARTS * rate);
            let suspected = suspected || shares;
            if suspected || !self.round_trip_probe.leaves_out(packet) {
                self.begin_drain(now);
            }
        }
    }

    /// Checks whether a policer drops what exceeds a rate, without a queue.
    fn watch_policer(&mut self, now: Duration, round: &Round) {
        let queue = round.mean_queue() > self.target.of_path(&self.path, self.rate.unwrap_or(f64::MAX));
        if let Some(since) = self.policer.handle_round(now, round, queue, self.path.mtu) {
            // Sending the lost bytes again would delay base layers.
            self.path.rate_drops += 1;
            self.path.drop_lead_time = now.saturating_sub(since);
        }
        let bits = |rate: f64| Bitrate::from_bits(whole(8.0 * rate));
        let rate = self.policer.rate();
        (self.path.policer_rate, self.path.probe_rate) =
            (rate.map(|(all, _)| bits(all)), rate.map_or(Bitrate::default(), |(_, probe_rate)| bits(probe_rate)));
    }

    /// Checks whether the path became longer; if so, restarts on it with the earlier rate.
    fn watch_route(&mut self, now: Duration, round: &Round) -> bool {
        // During a probe few bytes are in flight anyway.
        if self.round_trip_probe.window().is_some() {
            return false;
        }
        let trip = Trip {
            time: self.alone().saturating_add(round.standing),
            queue: round.standing > self.target.of_path(&self.path, self.rate.unwrap_or(f64::MAX)),
            flight: round.busiest,
            delivered: round.delivered,
            lost: round.lost,
            rate: self.rate,
        };
        let Some((rtt, rate)) = self.route_change.handle_round(now, trip, self.path.mtu) else { return false };
        self.shortest = Shortest::default();
        self.fastest = Shortest::default();
        self.shortest_unscaled = Shortest::default();
        self.path.min_rtt = self.shortest.of(now, rtt, true, MIN_RTT_LIFE);
        self.fastest.of(now, rtt, true, MIN_RTT_LIFE);
        self.busy = DeliveryRateSampler::default();
        self.rate_drops = RateDropDetector::default();
        self.competitive_mode = CompetitiveMode::default();
        self.free = 0;
        self.late = 0;
        self.rate = rate;
        if let Some(rate) = rate {
            self.path.window = whole(self.carried(rate)).clamp(self.least(), MAX_WINDOW);
        }
        true
    }

    /// Returns the measurements from which competition is detected.
    fn queue_of(&self, round: &Round) -> Queue {
        Queue {
            standing: round.standing,
            target: self.target.of_path(&self.path, self.target.highest_rate(self.path.mtu).unwrap_or(f64::MAX)),
            min_rtt: self.fastest.shortest().unwrap_or(self.path.min_rtt),
            draining: self.round_trip_probe.window().is_some(),
        }
    }

    /// Returns the target rate before a probe, during one. Where the round trip grows all the same, the rate has fallen.
    fn rate_before_probe(&self) -> Option<Bitrate> {
        let window = self.round_trip_probe.window()?;
        let rtt = self.path.rtt.max(self.rtt_before_probe);
        Some(PathStats { window, rtt, ..self.path }.target_rate())
    }

    /// Begins a round-trip probe: leaves the path partly empty, so that the queue drains.
    fn begin_drain(&mut self, now: Duration) {
        let Some(rate) = self.rate else { return };
        self.rtt_before_probe = self.path.rtt;
        self.path.window = self.round_trip_probe.begin(now, self.path.window, (rate, self.path.min_rtt), self.path.mtu);
    }

    const fn least(&self) -> u64 {
        MIN_WINDOW_PACKETS * self.path.mtu
    }
}

#[cfg(test)]
mod tests;
