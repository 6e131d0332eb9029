//! Receivers on their way from one loop to another.

use super::{Groups, Member};
use crate::join_budget::JoinBudget;

/// Most frames that may wait for a receiver's path where it changes loops by frames that are predicted from theirs. A receiver for whom more
/// wait begins anew with a join frame.
const MAY_OWE: u64 = 1;

/// Receivers that change from one loop to another with the same frames.
#[derive(Debug)]
pub(crate) struct Switching {
    /// A number among those of loops: while they are on the way they are in none of these.
    pub(crate) number: u64,
    /// The numbers of the loops; that which they leave with this frame, if they do.
    pub(crate) from: Option<u64>,
    pub(crate) to: u64,
    /// Who they are, by rising numbers.
    pub(crate) receivers: Vec<u64>,
    /// They go on in the other loop with the next frame.
    pub(super) arrived: bool,
}

impl Switching {
    /// A receiver begins it with the next frame.
    pub(super) fn new(number: u64, receiver: u64, from: u64, to: u64) -> Self {
        Self { number, from: Some(from), to, receivers: vec![receiver], arrived: false }
    }

    /// A receiver would come with them: that may be who goes the same way from its beginning on.
    pub(super) fn admit(&mut self, receiver: u64, from: u64, to: u64) -> bool {
        let same = (self.from, self.to) == (Some(from), to);
        if let Err(at) = self.receivers.binary_search(&receiver)
            && same
        {
            self.receivers.insert(at, receiver);
        }
        same
    }

    /// The loop that it leaves, if it begins.
    pub(super) const fn begins(&self) -> Option<u64> {
        self.from
    }

    /// The next frame is due, which those get who still `take` one.
    pub(super) fn go_on(&mut self, takes: impl Fn(u64) -> bool) {
        self.from = None;
        self.receivers.retain(|receiver| takes(*receiver));
    }
}

impl Groups {
    /// Who is on the way to another loop with this frame.
    pub(crate) const fn switching(&self) -> Option<&Switching> {
        self.switching.as_ref()
    }

    /// They have arrived behind this frame.
    pub(crate) const fn handle_arrived(&mut self) {
        if let Some(switching) = &mut self.switching {
            switching.arrived = true;
        }
    }

    /// They arrived with this frame itself, or will not.
    pub(crate) fn end_switching(&mut self) {
        self.switching = None;
    }

    /// The least rate of those on the way, bits a second.
    pub(crate) fn switching_rate(&self) -> f64 {
        let receivers = self.switching.iter().flat_map(|switching| &switching.receivers);
        receivers
            .filter_map(|receiver| self.members.get(receiver))
            .map(|member| member.rate)
            .fold(f64::INFINITY, f64::min)
    }

    /// Those on the way have a frame more, or are where they wanted to.
    pub(super) fn go_on_switching(&mut self) {
        let Some(mut switching) = self.switching.take() else { return };
        // Who lacks a base that was given up begins anew where it was to go.
        switching.go_on(|receiver| self.members.get(&receiver).is_some_and(|member| !member.needs_join));
        for receiver in &switching.receivers {
            if let Some(member) = self.members.get_mut(receiver) {
                member.comes = true;
            }
        }
        if !switching.arrived {
            self.switching = Some(switching).filter(|switching| !switching.receivers.is_empty());
        } else if let Some(at) = self.place(switching.to) {
            self.groups[at].follows = Some(switching.number);
        }
    }

    /// A receiver changes loops, if frames may be made for it: those of a switching if it may come with one, or else a join.
    pub(super) fn change(&mut self, receiver: u64, to: u64, joins: &mut JoinBudget) {
        let Some(group) = self.groups.iter_mut().find(|group| group.number == to) else { return };
        let Some(member) = self.members.get_mut(&receiver).filter(|member| !member.comes) else { return };
        let may_switch = member.owed_frames <= MAY_OWE && !member.needs_join;
        let switches = match &mut self.switching {
            Some(switching) => may_switch && switching.admit(receiver, member.group, to),
            None if may_switch && joins.take() => {
                self.switching = Some(Switching::new(self.made, receiver, member.group, to));
                self.made += 1;
                true
            }
            None => false,
        };
        group.joined = group.joined || !switches && joins.take();
        if switches || group.joined {
            *member = Member { group: to, stayed: 0, starved: 0, stray: 0, ..*member };
        }
    }
}
