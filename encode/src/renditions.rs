//! Groups the receivers of live video into renditions: similar rates together, in as few renditions as serve them well.
//!
//! Every receiver has a *settled* rate, the recent mean of its rate's logarithm. While the encoder has time for one
//! more rendition, the rendition whose receivers' rates differ most branches: no receiver needs a random-access frame
//! ([`RandomAccessFrame`](nestcast_proto::RandomAccessFrame)) for that. Otherwise receivers change to a rendition whose
//! rates are much nearer to theirs, and renditions whose mean rates are close merge: these changes cost random-access
//! frames. An encoder that runs out of time removes a rendition.

mod encoder_time;
mod member;
mod split;
mod switching;

use std::collections::BTreeMap;

use crate::random_access_budget::RandomAccessBudget;
use encoder_time::EncoderTime;
use member::Member;
pub(crate) use member::Receiver;
use split::{Split, sum_of_squares_between};
pub(crate) use switching::Switching;

/// The most renditions of a video, encoded in parallel, each for some of the receivers. There are never more than the
/// encoder has time for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RenditionLimit {
    /// One, and a second if some receiver's path does not carry the base layers of the first.
    #[default]
    AsNeeded,
    /// Up to this many, if the receivers' rates differ more than twofold.
    AtMost(usize),
}

impl RenditionLimit {
    const fn most(self) -> usize {
        match self {
            Self::AsNeeded => 2,
            Self::AtMost(most) => most,
        }
    }
}

/// Two renditions merge if their receivers' mean rates differ by less than this factor.
const UNITE_BELOW_RATIO: f64 = 1.4;
/// At the limit of renditions, two also merge if a branch of another pays: the merge must add this factor less to the
/// sum of squared distances from the mean rates than the branch removes. So merges and branches do not alternate for
/// ever: the sum falls with every round.
const WORTH_RANDOM_ACCESS: f64 = 2.0;
/// A receiver changes renditions if the mean rate of the other is nearer to its own by this factor.
const STRAY_RATIO: f64 = 1.5;
/// A receiver is starved if its path has not carried the base layers of its rendition for this many seconds, or if its
/// backlog is that long. It then changes to another rendition, if that helps.
const STARVED_S: f64 = 0.15;
/// Seconds over which the rate of base layers is averaged.
const BASE_RATE_MEAN_S: f64 = 0.5;
/// Seconds over which a rate settles.
const RATE_MEAN_S: f64 = 2.0;
/// Seconds for which a rate must be known before it counts.
const RATE_KNOWN_S: f64 = 1.0;
/// Seconds between two comparisons of renditions.
const REGROUP_INTERVAL_S: f64 = 0.5;
/// Consecutive comparisons at which a receiver must be nearer to a faster rendition's rate: it rises slowly and falls
/// at once.
const REGROUPS_TO_RISE: u32 = 4;
/// Seconds for which a receiver stays in its rendition unless it starves, and a rendition is not merged.
const STAYS_S: f64 = 3.0;
/// The longest backlog in frames of a receiver that switches. With a longer one it begins anew with a random-access
/// frame.
const MAY_OWE: u64 = 1;

/// One rendition.
#[derive(Debug)]
pub(crate) struct State {
    /// See [`Rendition::number`](nestcast_proto::Rendition::number).
    pub(crate) number: u64,
    /// The rendition from which it branches off with this frame, or whose receivers arrived in it.
    pub(crate) follows: Option<u64>,
    /// Whether a receiver comes from another rendition with this frame, with a random-access frame from the budget.
    pub(crate) joined: bool,
    /// The recent rate of its base layers, in bits a second.
    bases: f64,
    /// The number of its frames so far.
    age: u32,
}

/// A change of an encoder's renditions, made in order before the next frame; renditions are given by place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// Receivers of this rendition change to another: see [`Renditions::switching`].
    Switch { from: usize },
    /// A new rendition, after all others, continues from this one's state.
    Branch { from: usize },
    /// This rendition has no receivers.
    Remove { at: usize },
}

/// All renditions of a video, and the receivers of each.
#[derive(Debug)]
pub(crate) struct Renditions {
    limit: RenditionLimit,
    time: EncoderTime,
    frames_a_second: f64,
    all: Vec<State>,
    members: BTreeMap<u64, Member>,
    switching: Option<Switching>,
    /// The next number for a rendition or switching.
    numbers: u64,
    frames: u64,
}

/// A summary of a rendition's receivers.
struct Mean {
    number: u64,
    /// The mean of the settled rates.
    rate: f64,
    /// The number of receivers.
    count: usize,
    /// See [`State::bases`].
    bases: f64,
}

impl Renditions {
    /// Starts with one rendition; `limit` allows more.
    pub(crate) fn new(limit: RenditionLimit, frames_a_second: f64) -> Self {
        let first = State { number: 0, follows: None, joined: false, bases: 0.0, age: 0 };
        Self {
            limit,
            time: EncoderTime::new(frames_a_second),
            frames_a_second,
            all: vec![first],
            members: BTreeMap::new(),
            switching: None,
            numbers: 1,
            frames: 0,
        }
    }

    /// Returns whether there may be several renditions.
    pub(crate) const fn may_branch(&self) -> bool {
        self.limit.most() > 1
    }

    /// Notes that a frame took this many seconds to encode, in all its renditions; `may_fall` says whether the next ones
    /// may take less effort.
    pub(crate) fn handle_encoded(&mut self, seconds: f64, may_fall: bool) {
        self.time.handle_encoded(seconds, may_fall);
    }

    /// Notes that frames will take another time from now on.
    pub(crate) const fn handle_effort_changed(&mut self) {
        self.time.handle_effort_changed();
    }

    /// Processes a frame that is due for these receivers. Returns the changes before it.
    pub(crate) fn handle_frame(&mut self, receivers: &[Receiver], joins: &mut RandomAccessBudget) -> Vec<Change> {
        self.frames += 1;
        for rendition in &mut self.all {
            *rendition = State { follows: None, joined: false, age: rendition.age.saturating_add(1), ..*rendition };
        }
        self.note(receivers);
        self.go_on_switching();
        self.let_starving_go(joins);
        let compares = self.frames.is_multiple_of(self.frames_in(REGROUP_INTERVAL_S).into());
        let branch = if compares { self.branch() } else { None };
        if compares && self.time.is_short() {
            self.give_one_up(joins);
        } else if compares && branch.is_none() {
            self.gather_strays(joins);
            self.unite(joins);
        }
        let leaves = self.switching.as_ref().and_then(|switching| switching.from);
        let switches = leaves.and_then(|from| self.place(from)).map(|from| Change::Switch { from });
        switches.into_iter().chain(branch).chain(self.remove_empty()).collect()
    }

    /// Notes the size of the frame's base layer in the rendition at this place; `most` is the bits a second that base
    /// layers now get.
    pub(crate) fn handle_base(&mut self, at: usize, bytes: usize, most: f64) {
        let weight = (1.0 / (BASE_RATE_MEAN_S * self.frames_a_second)).min(1.0);
        let bases = &mut self.all[at].bases;
        *bases += (bytes as f64 * 8.0 * self.frames_a_second - *bases) * weight;
        // A receiver whose rate fell carries the base layers, which became smaller with it.
        *bases = bases.min(most);
    }

    /// Returns the place of the rendition with this number.
    pub(crate) fn place(&self, number: u64) -> Option<usize> {
        self.all.iter().position(|rendition| rendition.number == number)
    }

    /// Returns the renditions, in the encoder's order.
    pub(crate) fn all(&self) -> &[State] {
        &self.all
    }

    /// Returns the place of the rendition with the slowest receivers, which new receivers join.
    pub(crate) fn slowest(&self) -> usize {
        let mean = |at: &usize| self.mean(self.all[*at].number).unwrap_or(f64::INFINITY);
        (0..self.all.len()).min_by(|a, b| mean(a).total_cmp(&mean(b))).unwrap_or(0)
    }

    /// Returns the receivers of the rendition at this place, and those on the way to it, in ascending order.
    pub(crate) fn receivers(&self, at: usize) -> Vec<u64> {
        self.of(self.all[at].number).map(|(receiver, _)| *receiver).collect()
    }

    /// Returns the receivers that change renditions with this frame.
    pub(crate) const fn switching(&self) -> Option<&Switching> {
        self.switching.as_ref()
    }

    /// Notes that they arrive with this frame.
    pub(crate) const fn handle_arrived(&mut self) {
        if let Some(switching) = &mut self.switching {
            switching.arrive();
        }
    }

    /// Ends the switching: they have arrived, or never will.
    pub(crate) fn end_switching(&mut self) {
        self.switching = None;
    }

    /// Returns the lowest rate of those that change, in bits a second.
    pub(crate) fn switching_rate(&self) -> f64 {
        let receivers = self.switching.iter().flat_map(|switching| &switching.receivers);
        let rates = receivers.filter_map(|receiver| self.members.get(receiver)).map(|member| member.rate);
        rates.fold(f64::INFINITY, f64::min)
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few frames")]
    fn frames_in(&self, seconds: f64) -> u32 {
        (seconds * self.frames_a_second).ceil().max(1.0) as u32
    }

    /// Updates the members from the current receivers.
    fn note(&mut self, receivers: &[Receiver]) {
        let newcomers = self.all[self.slowest()].number;
        let weight = (1.0 / (RATE_MEAN_S * self.frames_a_second)).min(1.0);
        let mut before = std::mem::take(&mut self.members);
        for &receiver in receivers {
            let mut member = before.remove(&receiver.number).unwrap_or_else(|| Member::new(receiver, newcomers));
            member.handle_frame(receiver, weight);
            self.members.insert(receiver.number, member);
        }
    }

    /// Continues the switching: receivers on the way get one more frame, or have arrived.
    fn go_on_switching(&mut self) {
        let Some(mut switching) = self.switching.take() else { return };
        // A receiver whose backlog was dropped begins anew in the rendition that it was to change to.
        switching.go_on(|receiver| self.members.get(&receiver).is_some_and(|member| !member.needs_random_access));
        for receiver in &switching.receivers {
            if let Some(member) = self.members.get_mut(receiver) {
                member.comes = true;
            }
        }
        if !switching.has_arrived() {
            self.switching = Some(switching).filter(|switching| !switching.receivers.is_empty());
        } else if let Some(at) = self.place(switching.to) {
            self.all[at].follows = Some(switching.number);
        }
    }

    /// Moves a receiver to another rendition, if frames may be made for it: switching frames if it may take part, or a
    /// random-access frame.
    fn change(&mut self, receiver: u64, to: u64, joins: &mut RandomAccessBudget) {
        let Some(rendition) = self.all.iter_mut().find(|rendition| rendition.number == to) else { return };
        let Some(member) = self.members.get_mut(&receiver).filter(|member| !member.comes) else { return };
        let may_switch = member.owed_frames <= MAY_OWE && !member.needs_random_access;
        let switches = match &mut self.switching {
            Some(switching) => may_switch && switching.admit(receiver, member.rendition, to),
            None if may_switch && joins.take() => {
                self.switching = Some(Switching::new(self.numbers, receiver, member.rendition, to));
                self.numbers += 1;
                true
            }
            None => false,
        };
        rendition.joined = rendition.joined || !switches && joins.take();
        if switches || rendition.joined {
            member.enter(to);
            member.starved = 0;
        }
    }

    /// Moves each starved receiver to the rendition with the highest base-layer rate that its path carries.
    fn let_starving_go(&mut self, joins: &mut RandomAccessBudget) {
        let patience = self.frames_in(STARVED_S);
        let mut leaving = Vec::new();
        for (receiver, member) in &mut self.members {
            let Some(own) = self.all.iter().find(|rendition| rendition.number == member.rendition) else { continue };
            let is_late = member.owed_frames > patience.into();
            member.starved = match member.rate >= own.bases && !is_late {
                true => 0,
                false if is_late => patience,
                false => member.starved + 1,
            };
            let carries = |other: &&State| other.bases <= member.rate && other.bases < own.bases;
            let better = self.all.iter().filter(carries).max_by(|a, b| a.bases.total_cmp(&b.bases));
            leaving.extend(better.filter(|_| member.starved >= patience).map(|to| (*receiver, to.number)));
        }
        leaving.into_iter().for_each(|(receiver, to)| self.change(receiver, to, joins));
    }

    /// Moves receivers that are much nearer to those of another rendition.
    fn gather_strays(&mut self, joins: &mut RandomAccessBudget) {
        let known = self.frames_in(RATE_KNOWN_S);
        let stays = self.frames_in(STAYS_S);
        let patience = u64::from(self.frames_in(STARVED_S));
        let means = self.means();
        let mut leaving = Vec::new();
        for (receiver, member) in &mut self.members {
            if member.known < known || member.owed_frames > patience {
                continue;
            }
            let Some((left, nearest)) = nearest(&means, member) else { continue };
            let apart = |rate: f64| (member.settled - rate).abs();
            member.stray = if apart(left) - apart(nearest.rate) > STRAY_RATIO.ln() { member.stray + 1 } else { 0 };
            let patience = if nearest.rate > left { REGROUPS_TO_RISE } else { 1 };
            if member.stray >= patience && member.stayed >= stays {
                leaving.push((*receiver, nearest.number));
            }
        }
        leaving.into_iter().for_each(|(receiver, to)| self.change(receiver, to, joins));
    }

    /// Merges two renditions whose mean rates are close: the receivers of one change to the other.
    fn unite(&mut self, joins: &mut RandomAccessBudget) {
        let Some((gap, pair)) = self.closest_pair(self.frames_in(STAYS_S)) else { return };
        // If a single receiver may change instead, that costs less.
        let full = self.all.len() == self.limit.most() && self.members.values().all(|member| member.stray == 0);
        let full = full && self.limit != RenditionLimit::AsNeeded;
        let [one, other] = pair.map(|number| self.of(number).count());
        let cost = sum_of_squares_between(one, other, gap);
        let pays = |split: Split| split.worth > WORTH_RANDOM_ACCESS * cost;
        if gap < UNITE_BELOW_RATIO.ln() || full && self.widest().is_some_and(pays) {
            self.merge(pair, joins);
        }
    }

    /// Merges the two closest renditions, however far apart they are.
    fn give_one_up(&mut self, joins: &mut RandomAccessBudget) {
        if self.closest_pair(0).is_some_and(|(_, pair)| self.merge(pair, joins)) {
            self.time.handle_given_up();
        }
    }

    /// Returns the two renditions with the closest mean rates and their distance, among renditions with receivers that
    /// are at least this many frames old.
    fn closest_pair(&self, frames: u32) -> Option<(f64, [u64; 2])> {
        let old = self.all.iter().filter(|rendition| rendition.age >= frames);
        let mut old: Vec<_> = old.filter_map(|state| Some((self.mean(state.number)?, state.number))).collect();
        old.sort_by(|a, b| a.0.total_cmp(&b.0));
        let pairs = old.windows(2).map(|pair| (pair[1].0 - pair[0].0, [pair[0].1, pair[1].1]));
        pairs.min_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// Moves the receivers of the smaller rendition to the other, as far as the budget allows. Returns whether all
    /// moved.
    fn merge(&mut self, [one, other]: [u64; 2], joins: &mut RandomAccessBudget) -> bool {
        let (from, to) = if self.of(one).count() < self.of(other).count() { (one, other) } else { (other, one) };
        let leaving: Vec<u64> = self.of(from).map(|(receiver, _)| *receiver).collect();
        leaving.into_iter().for_each(|receiver| self.change(receiver, to, joins));
        self.of(from).next().is_none()
    }

    /// Branches the rendition whose receivers' rates differ most, if there is time and need.
    fn branch(&mut self) -> Option<Change> {
        if self.all.len() >= self.limit.most() || !self.time.has_room() {
            return None;
        }
        let split = match self.limit {
            RenditionLimit::AsNeeded => self.above_starving(),
            RenditionLimit::AtMost(_) => self.widest(),
        }?;
        let from = self.place(split.rendition)?;
        let number = self.numbers;
        self.numbers += 1;
        let bases = self.all[from].bases;
        self.all.push(State { number, follows: Some(split.rendition), joined: false, bases, age: 0 });
        let faster = |member: &&mut Member| member.rendition == split.rendition && member.settled >= split.from;
        let faster = self.members.values_mut().filter(|member| !member.comes).filter(faster);
        faster.for_each(|member| member.enter(number));
        Some(Change::Branch { from })
    }

    /// Returns the split of the first rendition above its starved receivers.
    fn above_starving(&self) -> Option<Split> {
        let first = self.all.first()?.number;
        let patience = self.frames_in(STARVED_S);
        let rates = self.settled_rates(first);
        let starving = self.of(first).filter(|(_, member)| member.starved >= patience);
        let fastest = starving.map(|(_, member)| member.settled).max_by(f64::total_cmp)?;
        Split::at(first, &rates, rates.partition_point(|rate| *rate <= fastest)).filter(Split::is_wide)
    }

    /// Returns the settled rates of a rendition's receivers, without recent ones, in ascending order.
    fn settled_rates(&self, number: u64) -> Vec<f64> {
        let known = self.frames_in(RATE_KNOWN_S);
        let members = self.of(number).filter(|(_, member)| member.known >= known);
        let mut rates: Vec<f64> = members.map(|(_, member)| member.settled).collect();
        rates.sort_by(f64::total_cmp);
        rates
    }

    /// Returns the most useful split between receivers that are far enough apart.
    fn widest(&self) -> Option<Split> {
        let splits = self.all.iter().filter_map(|state| Split::best(state.number, &self.settled_rates(state.number)));
        splits.max_by(|a, b| a.worth.total_cmp(&b.worth))
    }

    /// Removes renditions without receivers, except the last one.
    fn remove_empty(&mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        for at in (0..self.all.len()).rev() {
            if self.all.len() > 1 && self.of(self.all[at].number).next().is_none() {
                self.all.remove(at);
                changes.push(Change::Remove { at });
            }
        }
        changes
    }

    fn of(&self, number: u64) -> impl Iterator<Item = (&u64, &Member)> {
        self.members.iter().filter(move |(_, member)| member.rendition == number)
    }

    /// Returns the mean settled rate of a rendition; `None` if it has no receivers.
    fn mean(&self, number: u64) -> Option<f64> {
        let (sum, count) =
            self.of(number).fold((0.0, 0_u32), |(sum, count), (_, member)| (sum + member.settled, count + 1));
        (count > 0).then(|| sum / f64::from(count))
    }

    /// Returns the means of all renditions with receivers.
    fn means(&self) -> Vec<Mean> {
        let mean = |state: &State| {
            let &State { number, bases, .. } = state;
            Some(Mean { number, rate: self.mean(number)?, count: self.of(number).count(), bases })
        };
        self.all.iter().filter_map(mean).collect()
    }
}

/// Returns the mean rate of the other receivers in a member's rendition, and the nearest other rendition by mean rate
/// whose base layers its path carries. Returns `None` if the member is alone, or its path carries no other rendition's
/// base layers.
fn nearest<'a>(means: &'a [Mean], member: &Member) -> Option<(f64, &'a Mean)> {
    let own = means.iter().find(|mean| mean.number == member.rendition).filter(|own| own.count > 1)?;
    let others = means.iter().filter(|other| other.number != own.number && other.bases <= member.rate);
    let apart = |other: &Mean| (member.settled - other.rate).abs();
    let nearest = others.min_by(|a, b| apart(a).total_cmp(&apart(b)))?;
    let count = own.count as f64;
    Some(((own.rate * count - member.settled) / (count - 1.0), nearest))
}

#[cfg(test)]
mod tests;
