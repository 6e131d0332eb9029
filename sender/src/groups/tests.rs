//! Who is in which loop, at 30 frames a second.

use super::*;

/// Frames of a second.
const SECOND: usize = 30;

/// Receivers numbered from 0 on, for so many frames. Gives what changed.
fn run(groups: &mut Groups, joins: &mut JoinBudget, rates: &[f64], frames: usize) -> Vec<Change> {
    let receivers: Vec<(u64, f64)> = (0..).zip(rates.iter().copied()).collect();
    let due = |_| {
        joins.handle_frame();
        groups.handle_frame(&receivers, joins)
    };
    (0..frames).flat_map(due).collect()
}

/// The receivers of every loop, by the loops' numbers.
fn who(groups: &Groups) -> Vec<Vec<u64>> {
    (0..groups.groups().len()).map(|at| groups.receivers(at)).collect()
}

#[test]
fn receivers_far_apart_branch_off_after_a_second_and_stay() {
    let (mut groups, mut joins) = (Groups::new(2, 30.0), JoinBudget::default());
    let rates = [0.3e6, 4e6, 1e6];
    assert_eq!(run(&mut groups, &mut joins, &rates, SECOND - 1), []);
    assert_eq!(run(&mut groups, &mut joins, &rates, 60 * SECOND), [Change::Branch { from: 0 }]);
    assert_eq!(who(&groups), [vec![0, 2], vec![1]]);
    assert_eq!(groups.slowest(), 0);
}

#[test]
fn one_loop_stays_one_and_neighbours_share_theirs() {
    for (most, rates) in [(1, [0.3e6, 4e6]), (3, [1e6, 1.9e6])] {
        let (mut groups, mut joins) = (Groups::new(most, 30.0), JoinBudget::default());
        assert_eq!(run(&mut groups, &mut joins, &rates, 20 * SECOND), [], "{most} loops");
        assert_eq!(who(&groups), [vec![0, 1]]);
    }
}

#[test]
fn a_loop_that_nobody_is_in_is_removed_and_loops_that_came_near_become_one() {
    let (mut groups, mut joins) = (Groups::new(2, 30.0), JoinBudget::default());
    run(&mut groups, &mut joins, &[0.3e6, 4e6], 2 * SECOND);
    assert_eq!(who(&groups), [vec![0], vec![1]]);
    assert_eq!(run(&mut groups, &mut joins, &[0.3e6], 1), [Change::Remove { at: 1 }]);
    run(&mut groups, &mut joins, &[0.3e6, 4e6], 10 * SECOND);
    assert_eq!(who(&groups), [vec![0], vec![1]]);
    assert_eq!(run(&mut groups, &mut joins, &[4e6, 4e6], 10 * SECOND).len(), 1);
    assert_eq!(who(&groups), [vec![0, 1]]);
}

#[test]
fn who_falls_to_a_twentieth_leaves_its_loop_at_once_and_comes_back_after_seconds() {
    let (mut groups, mut joins) = (Groups::new(2, 30.0), JoinBudget::default());
    let before = [0.2e6, 4e6, 4e6, 4e6];
    run(&mut groups, &mut joins, &before, 10 * SECOND);
    assert_eq!(who(&groups), [vec![0], vec![1, 2, 3]]);
    let fallen = [0.2e6, 4e6, 4e6, 0.2e6];
    assert_eq!(run(&mut groups, &mut joins, &fallen, 4), []);
    assert_eq!(who(&groups), [vec![0], vec![1, 2, 3]]);
    run(&mut groups, &mut joins, &fallen, 1);
    assert_eq!(who(&groups), [vec![0, 3], vec![1, 2]]);
    assert!(groups.groups()[0].joined && !groups.groups()[1].joined);
    run(&mut groups, &mut joins, &fallen, 10 * SECOND);
    assert_eq!(who(&groups), [vec![0, 3], vec![1, 2]]);
    run(&mut groups, &mut joins, &before, SECOND);
    assert_eq!(who(&groups), [vec![0, 3], vec![1, 2]], "it may have risen for a moment");
    run(&mut groups, &mut joins, &before, 3 * SECOND);
    assert_eq!(who(&groups), [vec![0], vec![1, 2, 3]]);
}

#[test]
fn nobody_changes_loops_without_a_join() {
    let (mut groups, mut joins) = (Groups::new(2, 30.0), JoinBudget::default());
    run(&mut groups, &mut joins, &[0.2e6, 4e6, 4e6], 10 * SECOND);
    while joins.take() {}
    let receivers = [(0, 0.2e6), (1, 4e6), (2, 0.2e6)];
    (0..20 * SECOND).for_each(|_| drop(groups.handle_frame(&receivers, &mut joins)));
    assert_eq!(who(&groups), [vec![0], vec![1, 2]]);
}

#[test]
fn the_slowest_loop_is_removed_with_its_last_receiver_and_who_comes_then_is_in_the_next_faster() {
    let (mut groups, mut joins) = (Groups::new(3, 30.0), JoinBudget::default());
    run(&mut groups, &mut joins, &[0.2e6, 1e6, 8e6], 10 * SECOND);
    let mut numbers: Vec<u64> = groups.groups().iter().map(|group| group.number).collect();
    assert_eq!(who(&groups).concat().len(), 3);
    let slowest = groups.slowest();
    assert_eq!((numbers.len(), groups.receivers(slowest)), (3, vec![0]));
    let without = [(1, 1e6), (2, 8e6)];
    assert_eq!(groups.handle_frame(&without, &mut joins), [Change::Remove { at: slowest }]);
    numbers.remove(slowest);
    assert_eq!(groups.groups().iter().map(|group| group.number).collect::<Vec<_>>(), numbers, "in their order");
    assert_eq!(groups.receivers(groups.slowest()), [1]);
    let next = groups.groups()[groups.slowest()].number;
    let again = [(1, 1e6), (2, 8e6), (3, 0.9e6)];
    (0..5 * SECOND).for_each(|_| assert_eq!(groups.handle_frame(&again, &mut joins), []));
    assert_eq!(groups.receivers(groups.slowest()), [1, 3]);
    assert_eq!(groups.groups()[groups.slowest()].number, next);
    assert_eq!(groups.handle_frame(&[(3, 0.9e6)], &mut joins).len(), 1);
    assert_eq!(groups.handle_frame(&[], &mut joins), [], "the last one stays");
    assert_eq!(groups.groups()[0].number, next);
}
