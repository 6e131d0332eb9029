//! Which receivers of live video share a loop: neighbours in rate, in as few loops as serve them well.
//!
//! Every receiver has a *settled* rate, the mean of late of its rate's logarithm. While there is room for one loop more, that
//! with the receivers that are furthest apart branches: nobody needs a [join](nestcast_proto::Join) for that. Else receivers
//! change to the loop whose others are much nearer to them, and loops that came near to each other become one: a join each.
//! An encoder that comes short of time gives a loop up.

mod encoder_time;
mod split;
mod switching;

use std::collections::BTreeMap;

use crate::join_budget::JoinBudget;
use encoder_time::EncoderTime;
use split::{Split, sum_of_squares_between};
pub(crate) use switching::Switching;

/// In how many loops a video is coded side by side, each for a part of the receivers; no more than there is time to encode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Loops {
    /// One, and a second where a receiver cannot carry the bases of the first.
    #[default]
    AsNeeded,
    /// Up to so many, where the receivers' rates are more than twofold apart.
    AtMost(usize),
}

/// Two loops become one if the mean rates of their receivers are less than this factor apart.
const UNITE_BELOW_RATIO: f64 = 1.4;
/// Where there are as many loops as there may be, two become one as well if that adds this factor less to the sum of squared distances from
/// the loops' mean rates than a branch of another takes off it. So loops do not unite and branch in turn: the sum falls with every round.
const WORTH_A_JOIN: f64 = 2.0;
/// A receiver changes loops if the mean rate of the other is nearer to its own by this factor.
const STRAY_RATIO: f64 = 1.5;
/// A receiver that could not carry the bases of its loop for so long, in seconds, or to which those of so long are owed, changes to another
/// if that helps.
const STARVED_S: f64 = 0.15;
/// Seconds over which the rate of bases is averaged.
const BASE_RATE_MEAN_S: f64 = 0.5;
/// Seconds over which a rate settles, and which a receiver must be there before it counts.
const RATE_MEAN_S: f64 = 2.0;
const RATE_KNOWN_S: f64 = 1.0;
/// A rate that is known for less settles over one part in so many of that time.
const RATE_BEGIN_SHARE: f64 = 4.0;
/// Seconds between two comparisons of loops.
const REGROUP_INTERVAL_S: f64 = 0.5;
/// Comparisons in a row at which a receiver must be nearer to a faster loop's rate: up takes time, down does not.
const REGROUPS_TO_RISE: u32 = 4;
/// Seconds that a receiver stays where it is, but for starving, and that a loop stays by itself.
const STAYS_S: f64 = 3.0;

/// What is known of a receiver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    pub(crate) number: u64,
    /// Bits a second.
    pub(crate) rate: f64,
    /// As [`ReceiverStatistics::owed_frames`](crate::ReceiverStatistics::owed_frames).
    pub(crate) owed_frames: u64,
    /// As [`ReceiverStatistics::needs_join`](crate::ReceiverStatistics::needs_join).
    pub(crate) needs_join: bool,
}

/// One loop and who is in it.
#[derive(Debug)]
pub(crate) struct Group {
    /// As [`LoopFrame::number`](nestcast_proto::LoopFrame::number).
    pub(crate) number: u64,
    /// The loop that it branches off with this frame, or whose receivers arrived in it.
    pub(crate) follows: Option<u64>,
    /// Whether somebody comes from another loop with this frame, for whom a join was taken of the budget.
    pub(crate) joined: bool,
    /// What its frames' bases took of late, bits a second.
    bases: f64,
    /// Frames that it had so far.
    age: u32,
}

/// What to do with an encoder's loops, one after another, before the next frame; by their places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// Receivers of this one go over to another: see [`Groups::switching`].
    Switch { from: usize },
    /// One more, behind all, that goes on from what this one has.
    Branch { from: usize },
    /// This one has no receivers.
    Remove { at: usize },
}

/// A receiver.
#[derive(Debug)]
struct Member {
    /// The number of its loop.
    group: u64,
    rate: f64,
    owed_frames: u64,
    needs_join: bool,
    /// It is on its way to this loop, or arrives in it with this frame: it goes nowhere else.
    comes: bool,
    /// The natural logarithm of its rate, as it settled.
    settled: f64,
    /// Frames since its rate is known, and since it changed loops or came.
    known: u32,
    stayed: u32,
    /// Frames in a row for which it starved.
    starved: u32,
    /// Looks in a row at which it was nearer to another loop's.
    stray: u32,
}

/// All loops of a video, and who is in which.
#[derive(Debug)]
pub(crate) struct Groups {
    loops: Loops,
    time: EncoderTime,
    frames_a_second: f64,
    groups: Vec<Group>,
    members: BTreeMap<u64, Member>,
    switching: Option<Switching>,
    /// Loops that there were so far.
    made: u64,
    frames: u64,
}

impl Groups {
    /// One loop, and more as `loops` says.
    pub(crate) fn new(loops: Loops, frames_a_second: f64) -> Self {
        let groups = vec![Group { number: 0, follows: None, joined: false, bases: 0.0, age: 0 }];
        let time = EncoderTime::new(frames_a_second);
        Self { loops, time, frames_a_second, groups, members: BTreeMap::new(), switching: None, made: 1, frames: 0 }
    }

    /// Whether there may be several.
    pub(crate) const fn may_branch(&self) -> bool {
        self.most() > 1
    }

    const fn most(&self) -> usize {
        match self.loops {
            Loops::AsNeeded => 2,
            Loops::AtMost(most) => most,
        }
    }

    /// A frame took so many seconds to encode, in all its loops.
    pub(crate) fn handle_encoded(&mut self, seconds: f64) {
        self.time.handle_encoded(seconds);
    }

    /// A frame is due for these receivers. Gives what changes before it.
    pub(crate) fn handle_frame(&mut self, receivers: &[Known], joins: &mut JoinBudget) -> Vec<Change> {
        self.frames += 1;
        for group in &mut self.groups {
            *group = Group { follows: None, joined: false, age: group.age.saturating_add(1), ..*group };
        }
        self.note(receivers);
        self.go_on_switching();
        self.let_starving_go(joins);
        let looks = self.frames.is_multiple_of(self.frames_in(REGROUP_INTERVAL_S).into());
        let branch = if looks { self.branch() } else { None };
        if looks && self.time.is_short() {
            self.give_one_up(joins);
        } else if looks && branch.is_none() {
            self.gather_strays(joins);
            self.unite(joins);
        }
        let switches = self.switching.as_ref().and_then(Switching::begins);
        let switches = switches.and_then(|from| self.place(from)).map(|from| Change::Switch { from });
        switches.into_iter().chain(branch).chain(self.remove_empty()).collect()
    }

    /// The frame's base in the loop at this place has so many bytes; bases are made for `most` bits a second now.
    pub(crate) fn handle_base(&mut self, at: usize, bytes: usize, most: f64) {
        let weight = (1.0 / (BASE_RATE_MEAN_S * self.frames_a_second)).min(1.0);
        let bases = &mut self.groups[at].bases;
        *bases += (bytes as f64 * 8.0 * self.frames_a_second - *bases) * weight;
        // Whose rate fell, and the bases with it, carries these.
        *bases = bases.min(most);
    }

    /// Place of the loop of this number.
    pub(crate) fn place(&self, number: u64) -> Option<usize> {
        self.groups.iter().position(|group| group.number == number)
    }

    /// The loops, in the order of the encoder's.
    pub(crate) fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The place of the loop with the slowest receivers: who is new is in it.
    pub(crate) fn slowest(&self) -> usize {
        let mean = |at: &usize| self.mean(self.groups[*at].number).unwrap_or(f64::INFINITY);
        (0..self.groups.len()).min_by(|a, b| mean(a).total_cmp(&mean(b))).unwrap_or(0)
    }

    /// Who is in the loop at this place, or on the way there, by rising numbers.
    pub(crate) fn receivers(&self, at: usize) -> Vec<u64> {
        let number = self.groups[at].number;
        self.members.iter().filter(|(_, member)| member.group == number).map(|(receiver, _)| *receiver).collect()
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few frames")]
    fn frames_in(&self, seconds: f64) -> u32 {
        (seconds * self.frames_a_second).ceil().max(1.0) as u32
    }

    /// Takes the receivers' rates over.
    fn note(&mut self, receivers: &[Known]) {
        let newcomers = self.groups[self.slowest()].number;
        let weight = (1.0 / (RATE_MEAN_S * self.frames_a_second)).min(1.0);
        let mut before = std::mem::take(&mut self.members);
        for &Known { number, rate, owed_frames, needs_join } in receivers {
            let now = rate.max(1.0).ln();
            let (group, settled) = (newcomers, now);
            let new = || Member {
                group,
                rate,
                owed_frames,
                needs_join,
                comes: false,
                settled,
                known: 0,
                stayed: 0,
                starved: 0,
                stray: 0,
            };
            let before = before.remove(&number).unwrap_or_else(new);
            let mut member = Member { rate, owed_frames, needs_join, comes: false, ..before };
            // Of a path of which nothing is known yet there is no rate.
            if rate >= 1.0 {
                member.known = member.known.saturating_add(1);
                // At first what was seen last counts for more: a connection begins slowly.
                member.settled +=
                    (now - member.settled) * weight.max(RATE_BEGIN_SHARE / f64::from(member.known)).min(1.0);
            }
            member.stayed = member.stayed.saturating_add(1);
            self.members.insert(number, member);
        }
    }

    /// Who cannot carry the bases of its loop changes to the fastest whose bases it carries.
    fn let_starving_go(&mut self, joins: &mut JoinBudget) {
        let patience = self.frames_in(STARVED_S);
        let mut leaving = Vec::new();
        for (receiver, member) in &mut self.members {
            let Some(own) = self.groups.iter().find(|group| group.number == member.group) else { continue };
            let behind = member.owed_frames > patience.into();
            member.starved = match member.rate >= own.bases && !behind {
                true => 0,
                false if behind => patience,
                false => member.starved + 1,
            };
            let carries = |group: &&Group| group.bases <= member.rate && group.bases < own.bases;
            let better = self.groups.iter().filter(carries).max_by(|a, b| a.bases.total_cmp(&b.bases));
            leaving.extend(better.filter(|_| member.starved >= patience).map(|to| (*receiver, to.number)));
        }
        leaving.into_iter().for_each(|(receiver, to)| self.change(receiver, to, joins));
    }

    /// Receivers that are much nearer to those of another loop change to it.
    fn gather_strays(&mut self, joins: &mut JoinBudget) {
        let (settled, stays) = (self.frames_in(RATE_KNOWN_S), self.frames_in(STAYS_S));
        let patience = u64::from(self.frames_in(STARVED_S));
        let mut leaving = Vec::new();
        let means: Vec<(u64, f64)> =
            self.groups.iter().filter_map(|group| Some((group.number, self.mean(group.number)?))).collect();
        let counts: Vec<usize> = means.iter().map(|(number, _)| self.of(*number).count()).collect();
        for (receiver, member) in &mut self.members {
            let Some(own) = means.iter().position(|(number, _)| *number == member.group) else { continue };
            let carried =
                |number: u64| self.groups.iter().any(|group| group.number == number && group.bases <= member.rate);
            let behind = member.owed_frames > patience;
            let others = means.iter().filter(|(number, _)| !behind && *number != member.group && carried(*number));
            let apart = |mean: f64| (member.settled - mean).abs();
            let nearest = others.min_by(|a, b| apart(a.1).total_cmp(&apart(b.1)));
            let Some(&(to, mean)) = nearest.filter(|_| counts[own] > 1 && member.known >= settled) else { continue };
            // The mean of the others in its loop.
            let count = counts[own] as f64;
            let left = (means[own].1 * count - member.settled) / (count - 1.0);
            member.stray = if apart(left) - apart(mean) > STRAY_RATIO.ln() { member.stray + 1 } else { 0 };
            let looks = if mean > left { REGROUPS_TO_RISE } else { 1 };
            if member.stray >= looks && member.stayed >= stays {
                leaving.push((*receiver, to));
            }
        }
        leaving.into_iter().for_each(|(receiver, to)| self.change(receiver, to, joins));
    }

    /// Of two loops that came near to each other the receivers of one change to the other.
    fn unite(&mut self, joins: &mut JoinBudget) {
        let Some((gap, pair)) = self.nearest(self.frames_in(STAYS_S)) else { return };
        // Where a receiver alone may change, that costs less.
        let full = self.groups.len() == self.most() && self.members.values().all(|member| member.stray == 0);
        let full = full && self.loops != Loops::AsNeeded;
        let [one, other] = pair.map(|number| self.of(number).count());
        let cost = sum_of_squares_between(one, other, gap);
        if gap < UNITE_BELOW_RATIO.ln() || full && self.widest().is_some_and(|split| split.worth > WORTH_A_JOIN * cost)
        {
            self.merge(pair, joins);
        }
    }

    /// The two loops that are nearest to each other become one, however far that is.
    fn give_one_up(&mut self, joins: &mut JoinBudget) {
        if self.nearest(0).is_some_and(|(_, pair)| self.merge(pair, joins)) {
            self.time.handle_given_up();
        }
    }

    /// Of the loops with receivers that had so many frames the two nearest to each other, and by how much they are apart.
    fn nearest(&self, frames: u32) -> Option<(f64, [u64; 2])> {
        let old = self.groups.iter().filter(|group| group.age >= frames);
        let mut old: Vec<_> = old.filter_map(|group| Some((self.mean(group.number)?, group.number))).collect();
        old.sort_by(|a, b| a.0.total_cmp(&b.0));
        let pairs = old.windows(2).map(|pair| (pair[1].0 - pair[0].0, [pair[0].1, pair[1].1]));
        pairs.min_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// The receivers of that loop which has fewer change to the other, if a join may be made for them. Whether they did.
    fn merge(&mut self, [one, other]: [u64; 2], joins: &mut JoinBudget) -> bool {
        let (from, to) = if self.of(one).count() < self.of(other).count() { (one, other) } else { (other, one) };
        let leaving: Vec<u64> = self.of(from).map(|(receiver, _)| *receiver).collect();
        leaving.into_iter().for_each(|receiver| self.change(receiver, to, joins));
        self.of(from).next().is_none()
    }

    /// Lets the loop branch whose receivers are furthest apart, if there is room and need.
    fn branch(&mut self) -> Option<Change> {
        if self.groups.len() >= self.most() || !self.time.has_room() {
            return None;
        }
        let split = match self.loops {
            Loops::AsNeeded => self.above_who_starves(),
            Loops::AtMost(_) => self.widest(),
        }?;
        let from = self.groups.iter().position(|group| group.number == split.group)?;
        let number = self.made;
        self.made += 1;
        let bases = self.groups[from].bases;
        self.groups.push(Group { number, follows: Some(split.group), joined: false, bases, age: 0 });
        let faster = |member: &&mut Member| member.group == split.group && member.settled >= split.from;
        let faster = self.members.values_mut().filter(|member| !member.comes).filter(faster);
        faster.for_each(|member| *member = Member { group: number, stayed: 0, stray: 0, ..*member });
        Some(Change::Branch { from })
    }

    /// The split of the first loop above those of its receivers who cannot carry its bases.
    fn above_who_starves(&self) -> Option<Split> {
        let (group, patience) = (self.groups.first()?.number, self.frames_in(STARVED_S));
        let rates = self.settled_rates(group);
        let starving =
            self.of(group).filter(|(_, member)| member.starved >= patience).map(|(_, member)| member.settled);
        let fastest = starving.max_by(f64::total_cmp)?;
        Split::at(group, &rates, rates.partition_point(|rate| *rate <= fastest)).filter(Split::is_wide)
    }

    /// The settled rates of a loop's receivers, without those who came of late; they rise.
    fn settled_rates(&self, group: u64) -> Vec<f64> {
        let settled = self.frames_in(RATE_KNOWN_S);
        let members = self.of(group).filter(|(_, member)| member.known >= settled);
        let mut rates: Vec<f64> = members.map(|(_, member)| member.settled).collect();
        rates.sort_by(f64::total_cmp);
        rates
    }

    /// Of the splits between receivers that are far enough apart that which is worth the most.
    fn widest(&self) -> Option<Split> {
        let splits =
            self.groups.iter().filter_map(|group| Split::best(group.number, &self.settled_rates(group.number)));
        splits.max_by(|a, b| a.worth.total_cmp(&b.worth))
    }

    /// Loops without receivers are given up, but for the last.
    fn remove_empty(&mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        for at in (0..self.groups.len()).rev() {
            if self.groups.len() > 1 && self.of(self.groups[at].number).next().is_none() {
                self.groups.remove(at);
                changes.push(Change::Remove { at });
            }
        }
        changes
    }

    fn of(&self, number: u64) -> impl Iterator<Item = (&u64, &Member)> {
        self.members.iter().filter(move |(_, member)| member.group == number)
    }

    /// The mean of the settled rates of a loop; none if nobody is in it.
    fn mean(&self, number: u64) -> Option<f64> {
        let (sum, count) =
            self.of(number).fold((0.0, 0_u32), |(sum, count), (_, member)| (sum + member.settled, count + 1));
        (count > 0).then(|| sum / f64::from(count))
    }
}

#[cfg(test)]
mod tests;
