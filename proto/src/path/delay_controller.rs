//! A path's bandwidth and delay from acknowledged bytes: how much may be in flight so that the queue stays short.
//!
//! While a queue stands before the path's slowest link, and only then, what arrives shows its rate ([`Busy`]). Once in a
//! round trip the window becomes what that rate carries in the shortest round trip, a short queue, and one packet, the one
//! that is being sent: the aim of FAST TCP (Wei, Jin, Low, Hegde 2006), reached in one step because the rate does not depend on
//! the window. Behind a queue that stays too long it is the flow's share that counts, bytes in flight over the round trip
//! ([`Target`] says how long that queue should be). Where no queue shows, the window doubles in a round trip at first (slow start, RFC 9002, section 7.3.1), and
//! later grows by steps, since the path may have become faster. A fall of the rate to less than half shows in the deliveries
//! before a round is over ([`RateDropDetector`]). What a peer acknowledges together is sent together: the queue has room for that.
//! A router's mark is an order to be shorter than that ([`DelayController::handle_mark`]). Loss counts only where there is much of it, where another flow fills the queue
//! ([`Competition`]), or where what exceeds a rate is dropped without one ([`Policer`]).
//! A path that became longer is told from a queue by what is in flight ([`RouteChange`]). A window that is always full never sees the path without a queue, so every few seconds it shrinks
//! for one round.

mod window;

use std::collections::VecDeque;
use std::time::Duration;

use crate::bitrate::Bitrate;
use crate::path::busy::Busy;
use crate::path::competition::{Competition, Queue};
use crate::path::drain::Drain;
use crate::path::held::Held;
use crate::path::limits::MIN_WINDOW_PACKETS;
use crate::path::loss::Loss;
use crate::path::policer::Policer;
use crate::path::rate_drop::RateDropDetector;
use crate::path::round::{Round, seconds, whole};
use crate::path::route_change::{RouteChange, Trip};
use crate::path::shortest::Shortest;
use crate::path::stats::PathStats;
use crate::path::target::Target;

/// Most bytes in flight: 80 Mbit/s at 100 ms.
pub(super) const MAX_WINDOW: u64 = 1024 * 1024;
/// How long a smallest round trip is believed, and where another flow's queue may hide the path.
const MIN_RTT_LIFE: Duration = Duration::from_secs(10);
const MIN_RTT_LIFE_BEHIND_QUEUE: Duration = Duration::from_secs(60);

/// A queue that is shorter than this may be nothing but late clocks and acknowledgements.
const SURE_QUEUE: Duration = Duration::from_millis(3);
/// A packet on a slow link, of 0.3 Mbit/s.
const SLOW_PACKET: Duration = Duration::from_millis(32);
/// A path that carries less, in bytes a second, was out, and comes again as it was: 48 kbit/s.
const OUT: f64 = 6000.0;

/// Watches one path. The transport tells it of every packet that it sent, that arrived or was lost.
#[derive(Debug, Clone, Default)]
pub struct DelayController {
    path: PathStats,
    shortest: Shortest,
    /// The shortest round trip, without what a fall of the rate added to it.
    fastest: Shortest,
    /// The shortest round trip as it was, of packets of any length.
    shortest_unscaled: Shortest,
    round: Round,
    /// Moments at which packets were sent, with the bytes in flight before them and of those that arrived; what is
    /// older than the last acknowledgement is gone.
    sent: VecDeque<(Duration, u64)>,
    batch: Batch,
    news: Option<News>,
    /// What the path carried when it was last seen busy, in bytes a second; `None` while the window doubles.
    rate: Option<f64>,
    /// Rounds in a row that saw no queue although all that the path should carry was in flight, and rounds that saw a long
    /// one.
    free: u32,
    late: u32,
    /// When the window was last filled.
    filled: Duration,
    busy: Busy,
    falls: RateDropDetector,
    competition: Competition,
    drain: Drain,
    held: Held,
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

/// The newest packet of a batch: others waited for it to be acknowledged.
#[derive(Debug, Clone, Copy)]
struct Newest {
    sent: Duration,
    /// Until its acknowledgement came.
    rtt: Duration,
    /// Bytes that were in flight when it was sent, and its own.
    flight: u64,
    bytes: u64,
}

/// A batch of which it is not known yet for how long the peer held it back.
#[derive(Debug, Clone, Copy)]
struct News {
    newest: Newest,
    /// Bytes that had been delivered when it came.
    delivered: u64,
}

/// A round trip as a whole packet would have had it.
#[derive(Debug, Clone, Copy)]
struct ScaledTrip {
    rtt: Duration,
    /// Whether it counts for the shortest.
    counts: bool,
}

/// For how long a smallest round trip is believed.
const fn min_rtt_life(behind_queue: bool) -> Duration {
    if behind_queue { MIN_RTT_LIFE_BEHIND_QUEUE } else { MIN_RTT_LIFE }
}

impl DelayController {
    /// For packets of `mtu` bytes. `clock` is the time on a clock that flows share, as UTC, when this one's begins.
    #[must_use]
    pub fn new(mtu: u64, clock: Duration) -> Self {
        Self {
            path: PathStats { mtu, ..PathStats::default() },
            round: Round::new(Duration::ZERO, 0),
            drain: Drain::new(clock),
            ..Self::default()
        }
    }

    /// What is known now.
    #[must_use]
    pub const fn path(&self) -> PathStats {
        self.path
    }

    /// Packets grew or shrank.
    pub const fn handle_mtu(&mut self, mtu: u64) {
        self.path.mtu = mtu;
    }

    /// Packets of so many bytes were sent.
    pub fn handle_sent(&mut self, now: Duration, bytes: u64) {
        if self.sent.back().is_none_or(|(at, _)| *at < now) {
            self.sent.push_back((now, self.path.in_flight));
        }
        self.path.in_flight += bytes;
        self.round.busiest = self.round.busiest.max(self.path.in_flight);
    }

    /// The transport's smoothed round trip and the shortest that it saw, as they were before the acknowledgements at hand:
    /// those show for how long the peer held back the ones before (RFC 9002, section 5.3).
    pub fn handle_transport(&mut self, now: Duration, smoothed: Duration, shortest: Duration) {
        let news = self.news.take();
        let held = self.held.handle_transport(smoothed, shortest, news.map(|news| news.newest.rtt));
        if let Some(news) = news {
            self.handle_news(now, news, held);
        }
    }

    /// A packet of `bytes` that was sent at `sent` arrived.
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

    /// Bytes were lost; `all` if nothing got through for long.
    pub fn handle_loss(&mut self, now: Duration, bytes: u64, all: bool) {
        self.policer.handle_loss(now, self.path.delivered, bytes);
        self.path.lost += bytes;
        // A transport may tell of acknowledgements first, when what was lost was still in flight.
        self.path.in_flight = self.path.in_flight.saturating_sub(bytes);
        self.path.repairing += bytes;
        self.round.lost += bytes;
        if all {
            self.path.window = self.least();
            self.drain.give_up();
        }
    }

    /// A router on the path marked a packet rather than drop it, since its queue grows (ECN, RFC 3168): that is answered
    /// as a drop by a full queue is, once in a round trip (RFC 9002, section 7.1).
    pub const fn handle_mark(&mut self) {
        self.round.marked = true;
    }

    /// All acknowledgements that came together were told; `in_flight` bytes are still on their way.
    pub fn handle_acks_end(&mut self, now: Duration, in_flight: u64) {
        self.path.in_flight = in_flight;
        let Batch { delivered: batch, newest } = std::mem::take(&mut self.batch);
        self.round.delivered += batch;
        let Some(newest) = newest else { return };
        self.news = Some(News { newest, delivered: self.path.delivered });
        // Until more is known this one may have been held back for as long as others.
        let queue = newest.rtt.saturating_sub(self.path.min_rtt + self.held.longest());
        if self.rate.is_none() && self.used() && queue < self.target.of_path(&self.path, f64::MAX) {
            // Twice as much in a round trip, until a queue shows the path's rate.
            self.path.window = (self.path.window + batch).min(MAX_WINDOW);
        }
        self.watch_falls(now, queue);
    }

    /// A batch was held back for so long.
    fn handle_news(&mut self, now: Duration, News { newest, delivered }: News, held: Duration) {
        self.see_round_trip(now, &newest, held);
        let queue = self.path.queue();
        self.round.handle_batch(newest.rtt, queue, newest.flight);
        self.round.handle_standing(self.path.rtt.saturating_sub(held + self.alone()));
        let least = (self.target.of_path(&self.path, self.rate.unwrap_or(f64::MAX)) / 3).max(SURE_QUEUE);
        let arrived = (newest.sent + newest.rtt).saturating_sub(held);
        self.busy.handle_batch(arrived, delivered, self.path.mtu, queue, least);
        if self.rate.is_none() {
            self.start();
        }
        if newest.sent >= self.round.began {
            self.end_round(now);
        }
    }

    /// Notes the round trip of the newest packet, and the shortest ones.
    fn see_round_trip(&mut self, now: Duration, newest: &Newest, held: Duration) {
        let unscaled = newest.rtt.saturating_sub(held);
        let scaled = self.scale_to_packet(now, newest, unscaled);
        // Behind a competitor's queue the shortest round trip is not seen, and is as it was.
        let suspected = min_rtt_life(self.competition.is_suspected(now));
        let certain = min_rtt_life(self.competition.is_there());
        let min_rtt = self.shortest.of(now, scaled.rtt, scaled.counts, suspected);
        self.fastest.of(now, scaled.rtt, scaled.counts, certain);
        let min_unscaled = self.shortest_unscaled.of(now, unscaled, true, suspected);
        // A whole packet takes longer by the difference of the shortest round trips, and by half of it for late clocks: where the path
        // became faster unseen, short packets would seem to wait for ever, and nothing but short ones be sent.
        let longer = min_rtt.saturating_sub(min_unscaled) * 3 / 2;
        let rtt = scaled.rtt.min(unscaled + longer).max(min_rtt);
        self.path.min_rtt = min_rtt;
        self.path.rtt = rtt + held;
        self.path.held = held;
    }

    /// The round trip `unscaled` as a whole packet would have had it: that takes longer to be sent. Where the path's rate is not
    /// known yet, packets that are much shorter do not count.
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

    /// The round trip without a queue, as far as can be told from another flow's: where a fall of the rate was that flow's doing, a
    /// packet does not take longer to be sent.
    fn alone(&self) -> Duration {
        let shorter = self.path.min_rtt.saturating_sub(SLOW_PACKET);
        self.fastest.shortest().map_or(self.path.min_rtt, |rtt| rtt.max(shorter))
    }

    /// Whether all of the window was in flight in this round.
    const fn used(&self) -> bool {
        self.round.busiest + self.path.mtu >= self.path.window
    }

    /// Ends the doubling of the window once a queue showed the path's rate.
    fn start(&mut self) {
        self.rate = self.busy.take(self.path.mtu);
        if let Some(rate) = self.rate {
            let carried = self.carried(rate);
            self.path.window = self.path.window.min(whole(carried)).max(self.least());
            self.free = 0;
        }
    }

    /// Takes the window down at once if the path delivers less than half of what it is for, behind a queue.
    fn watch_falls(&mut self, now: Duration, queue: Duration) {
        let busy = 2 * self.path.in_flight >= self.path.window && !self.competition.is_there();
        let Some(rate) = self.falls.rate(now, self.path.delivered, busy) else { return };
        // The queue of several flows is longer by itself.
        let target = self.target.of_share(&self.path, rate);
        let aim = whole(rate * seconds(self.path.min_rtt + target)).max(self.least());
        // Without a queue these are the gaps between what was sent in bursts, or the queue drains.
        let (window, longest) = match self.drain.window() {
            Some(window) => (window, 2 * target),
            None => (self.path.window, target),
        };
        if self.falls.certain(now, queue > longest && 2 * aim < window) {
            self.path.window = aim;
            self.path.falls += 1;
            self.path.fell = Duration::ZERO;
            if rate >= OUT {
                // A packet takes longer to be sent now, which is no queue.
                self.shortest.lengthen(self.target.handle_fall(now, self.path.mtu, rate));
                self.rate = Some(rate);
            }
            self.late = 0;
            self.drain.give_up();
            self.busy = Busy::default();
            self.falls = RateDropDetector::default();
            self.round = Round::new(now, self.path.in_flight);
        }
    }

    fn end_round(&mut self, now: Duration) {
        let used = self.used();
        let round = std::mem::replace(&mut self.round, Round::new(now, self.path.in_flight));
        self.path.repairing = round.lost;
        self.target.handle_round(now, &round);
        self.competition.handle_round(now, self.queue_of(&round));
        self.watch_policer(now, &round);
        if self.watch_route(now, &round) {
            return;
        }
        if self.drain.window().is_some() {
            self.path.window = self.drain.end(now, self.path.rtt).unwrap_or(self.path.window);
            return;
        }
        let window = self.path.window as f64;
        let aim = if self.competition.is_there() {
            let mtu = self.path.mtu as f64;
            // What is drained for, and what the window begins with when the other is gone.
            self.rate = self.busy.take(self.path.mtu).map(|rate| rate.min(round.flown())).or(self.rate);
            mtu * self.competition.window(now, round.mean_rtt(), window / mtu, round.lost > 0 || round.marked)
        } else {
            self.aim(&round)
        };
        self.path.window = whole(self.limit(now, &round, used, aim)).clamp(self.least(), MAX_WINDOW);
        let suspected = self.competition.is_suspected(now) && !self.competition.is_there();
        if self.drain.is_due(now, suspected) && used {
            self.begin_drain(now);
        }
    }

    /// Looks whether what exceeds a rate is dropped, though no queue stands.
    fn watch_policer(&mut self, now: Duration, round: &Round) {
        let queue = round.mean_queue() > self.target.of_path(&self.path, self.rate.unwrap_or(f64::MAX));
        if let Some(since) = self.policer.handle_round(now, round, queue, self.path.mtu) {
            // What is to come again of that would be in the way of bases.
            self.path.falls += 1;
            self.path.fell = now.saturating_sub(since);
        }
        let bits = |rate: f64| Bitrate::from_bits(whole(8.0 * rate));
        let rate = self.policer.rate();
        (self.path.policed, self.path.tried) =
            (rate.map(|(all, _)| bits(all)), rate.map_or(Bitrate::default(), |(_, tried)| bits(tried)));
    }

    /// Looks whether the path became longer, and begins anew on it with the rate of before.
    fn watch_route(&mut self, now: Duration, round: &Round) -> bool {
        // While the queue drains little is in flight by itself.
        if self.drain.window().is_some() {
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
        self.busy = Busy::default();
        self.falls = RateDropDetector::default();
        self.competition = Competition::default();
        self.free = 0;
        self.late = 0;
        self.rate = rate;
        if let Some(rate) = rate {
            self.path.window = whole(self.carried(rate)).clamp(self.least(), MAX_WINDOW);
        }
        true
    }

    /// What competition is seen by.
    fn queue_of(&self, round: &Round) -> Queue {
        Queue {
            standing: round.standing,
            target: self.target.of_path(&self.path, self.target.highest_rate(self.path.mtu).unwrap_or(f64::MAX)),
            min_rtt: self.fastest.shortest().unwrap_or(self.path.min_rtt),
            draining: self.drain.window().is_some(),
        }
    }

    /// Leaves the path partly empty, so that the queue drains.
    fn begin_drain(&mut self, now: Duration) {
        let Some(rate) = self.rate else { return };
        self.path.window = self.drain.begin(now, self.path.window, (rate, self.path.min_rtt), self.path.mtu);
    }

    const fn least(&self) -> u64 {
        MIN_WINDOW_PACKETS * self.path.mtu
    }
}

#[cfg(test)]
mod tests;
