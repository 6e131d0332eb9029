//! Which receiver is in which rendition, at 30 frames a second.

use super::*;

/// Frames in a second.
const SECOND: usize = 30;

/// Returns a receiver with this number and rate, without a backlog.
fn known((number, rate): (u64, f64)) -> Receiver {
    Receiver { number, rate, owed_frames: 0, needs_random_access: false }
}

/// Encodes this many frames for receivers numbered from 0; each frame brings those that change to their rendition.
/// Returns how the renditions changed.
fn run(renditions: &mut Renditions, joins: &mut RandomAccessBudget, rates: &[f64], frames: usize) -> Vec<Change> {
    let receivers: Vec<Receiver> = (0..).zip(rates).map(|(number, rate)| known((number, *rate))).collect();
    let due = |_| {
        joins.handle_frame();
        let changes = renditions.handle_frame(&receivers, joins);
        make_bases(renditions, rates);
        renditions.handle_arrived();
        changes
    };
    (0..frames).flat_map(due).filter(|change| !matches!(change, Change::Switch { .. })).collect()
}

/// Makes a frame with the base layers that receivers of lasting rates get: three quarters of the slowest's rate, but at
/// least a tenth of the median.
fn make_bases(renditions: &mut Renditions, rates: &[f64]) {
    for at in 0..renditions.all().len() {
        let inside =
            renditions.receivers(at).into_iter().filter_map(|receiver| rates.get(usize::try_from(receiver).ok()?));
        let mut inside: Vec<f64> = inside.copied().collect();
        inside.sort_by(f64::total_cmp);
        let bits = inside.first().map_or(0.0, |slowest| (0.75 * slowest).max(0.1 * inside[(inside.len() - 1) / 2]));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a frame's bytes")]
        renditions.handle_base(at, (bits / 8.0 / 30.0) as usize, bits);
    }
}

/// Returns the receivers of every rendition, by the renditions' numbers.
fn who(renditions: &Renditions) -> Vec<Vec<u64>> {
    (0..renditions.all().len()).map(|at| renditions.receivers(at)).collect()
}

#[test]
fn receivers_far_apart_branch_off_after_a_second_and_stay() {
    let mut renditions = Renditions::new(RenditionLimit::AtMost(2), 30.0);
    let mut joins = RandomAccessBudget::default();
    let rates = [0.3e6, 4e6, 1e6];
    assert_eq!(run(&mut renditions, &mut joins, &rates, SECOND - 1), []);
    assert_eq!(run(&mut renditions, &mut joins, &rates, 60 * SECOND), [Change::Branch { from: 0 }]);
    assert_eq!(who(&renditions), [vec![0, 2], vec![1]]);
    assert_eq!(renditions.slowest(), 0);
}

/// Simulates a slow start over 100 ms: nothing is known at first, then rates double with each round trip.
#[test]
fn who_comes_over_a_long_path_is_not_taken_for_slow() {
    let mut renditions = Renditions::new(RenditionLimit::AtMost(2), 30.0);
    let mut joins = RandomAccessBudget::default();
    run(&mut renditions, &mut joins, &[1e7], 90);
    for frame in 0..120 {
        let rate = if frame < 6 { 0.0 } else { (384e3 * 2f64.powi((frame - 6) / 3)).min(1e7) };
        assert!(run(&mut renditions, &mut joins, &[1e7, rate], 1).is_empty(), "frame {frame}");
    }
    assert_eq!(who(&renditions), [vec![0, 1]]);
}

#[test]
fn a_second_rendition_as_needed_is_for_whom_the_bases_of_the_first_are_too_much() {
    let mut renditions = Renditions::new(RenditionLimit::AsNeeded, 30.0);
    let mut joins = RandomAccessBudget::default();
    assert_eq!(run(&mut renditions, &mut joins, &[0.5e6, 4e6, 4e6, 9e6], 20 * SECOND), []);
    assert_eq!(run(&mut renditions, &mut joins, &[0.3e6, 4e6, 4e6, 9e6], SECOND), [Change::Branch { from: 0 }]);
    assert_eq!(who(&renditions), [vec![0], vec![1, 2, 3]]);
    assert_eq!(run(&mut renditions, &mut joins, &[0.02e6, 4e6, 0.3e6, 9e6], 20 * SECOND), [], "two are the most");
}

#[test]
fn who_falls_and_carries_the_bases_that_are_made_for_it_needs_no_rendition() {
    let mut renditions = Renditions::new(RenditionLimit::AsNeeded, 30.0);
    let mut joins = RandomAccessBudget::default();
    assert_eq!(run(&mut renditions, &mut joins, &[4e6; 4], 10 * SECOND), []);
    assert_eq!(run(&mut renditions, &mut joins, &[0.5e6, 4e6, 4e6, 4e6], 20 * SECOND), []);
}

#[test]
fn those_alone_who_starve_are_apart_and_stay_so() {
    let mut renditions = Renditions::new(RenditionLimit::AsNeeded, 30.0);
    let mut joins = RandomAccessBudget::default();
    let rates: Vec<f64> = [0.08e6].into_iter().chain([1e6; 10]).chain([4e6; 10]).collect();
    assert_eq!(run(&mut renditions, &mut joins, &rates, 60 * SECOND), [Change::Branch { from: 0 }]);
    assert_eq!(renditions.receivers(0), [0]);
    let mut renditions = Renditions::new(RenditionLimit::AsNeeded, 30.0);
    let mut joins = RandomAccessBudget::default();
    let rates = [0.02e6, 0.35e6, 4e6, 4e6, 4e6, 4e6, 4e6];
    assert_eq!(run(&mut renditions, &mut joins, &rates, 10 * SECOND), [Change::Branch { from: 0 }]);
    let settled = who(&renditions);
    let moved = (0..60).any(|_| {
        run(&mut renditions, &mut joins, &rates, SECOND);
        who(&renditions) != settled
    });
    assert!(!moved, "{settled:?}, then {:?}", who(&renditions));
}

#[test]
fn who_owes_many_bases_gets_a_rendition_whatever_its_rate_is_thought_to_be() {
    let mut renditions = Renditions::new(RenditionLimit::AsNeeded, 30.0);
    let mut joins = RandomAccessBudget::default();
    let receivers = [(0.8e6, 6), (4e6, 0), (4e6, 0)];
    let mut known = (0..).zip(receivers).map(|(number, (rate, owed_frames))| Receiver {
        number,
        rate,
        owed_frames,
        needs_random_access: false,
    });
    let receivers: [Receiver; 3] = std::array::from_fn(|_| known.next().expect("three"));
    let changes: Vec<Change> = (0..2 * SECOND).flat_map(|_| renditions.handle_frame(&receivers, &mut joins)).collect();
    assert_eq!((changes, who(&renditions)), (vec![Change::Branch { from: 0 }], vec![vec![0], vec![1, 2]]));
}

#[test]
fn an_encoder_without_time_adds_no_rendition_and_gives_one_up_that_it_adds_again_later() {
    let mut renditions = Renditions::new(RenditionLimit::AtMost(3), 30.0);
    let mut joins = RandomAccessBudget::default();
    let rates = [0.1e6, 1e6, 10e6];
    let mut after = |took: f64, seconds: usize| {
        let changes = (0..seconds * SECOND).flat_map(|_| {
            renditions.handle_encoded(took, false);
            run(&mut renditions, &mut joins, &rates, 1)
        });
        (changes.collect::<Vec<_>>(), who(&renditions))
    };
    assert_eq!(after(0.02, 20), (vec![], vec![vec![0, 1, 2]]));
    assert_eq!(after(0.01, 4).1.len(), 3);
    assert_eq!(after(0.028, 4).0, [], "it is enough");
    let mut given_up = |seconds| (after(0.04, seconds).0.len(), after(0.04, 0).1.len());
    assert_eq!(given_up(1), (1, 2), "the others' time is measured first");
    assert_eq!(given_up(1), (1, 1));
    assert_eq!(after(0.01, 8).1.len(), 1);
    assert_eq!(after(0.01, 8).1.len(), 3);
}

#[test]
fn one_rendition_stays_one_and_neighbours_share_theirs() {
    for (most, rates) in [(1, [0.3e6, 4e6]), (3, [1e6, 1.9e6])] {
        let mut renditions = Renditions::new(RenditionLimit::AtMost(most), 30.0);
        let mut joins = RandomAccessBudget::default();
        assert_eq!(run(&mut renditions, &mut joins, &rates, 20 * SECOND), [], "{most} renditions");
        assert_eq!(who(&renditions), [vec![0, 1]]);
    }
}

#[test]
fn a_rendition_that_nobody_is_in_is_removed_and_renditions_that_came_near_become_one() {
    let mut renditions = Renditions::new(RenditionLimit::AtMost(2), 30.0);
    let mut joins = RandomAccessBudget::default();
    run(&mut renditions, &mut joins, &[0.3e6, 4e6], 2 * SECOND);
    assert_eq!(who(&renditions), [vec![0], vec![1]]);
    assert_eq!(run(&mut renditions, &mut joins, &[0.3e6], 1), [Change::Remove { at: 1 }]);
    run(&mut renditions, &mut joins, &[0.3e6, 4e6], 10 * SECOND);
    assert_eq!(who(&renditions), [vec![0], vec![1]]);
    assert_eq!(run(&mut renditions, &mut joins, &[4e6, 4e6], 10 * SECOND).len(), 1);
    assert_eq!(who(&renditions), [vec![0, 1]]);
}

#[test]
fn who_falls_to_a_twentieth_leaves_its_rendition_at_once_and_comes_back_after_seconds() {
    let mut renditions = Renditions::new(RenditionLimit::AtMost(2), 30.0);
    let mut joins = RandomAccessBudget::default();
    let before = [0.2e6, 4e6, 4e6, 4e6];
    run(&mut renditions, &mut joins, &before, 10 * SECOND);
    assert_eq!(who(&renditions), [vec![0], vec![1, 2, 3]]);
    let fallen = [0.2e6, 4e6, 4e6, 0.2e6];
    assert_eq!(run(&mut renditions, &mut joins, &fallen, 4), []);
    assert_eq!(who(&renditions), [vec![0], vec![1, 2, 3]]);
    run(&mut renditions, &mut joins, &fallen, 1);
    assert_eq!(who(&renditions), [vec![0, 3], vec![1, 2]]);
    let switching = renditions.switching().expect("it goes over");
    assert_eq!((switching.from, switching.to, &switching.receivers[..]), (Some(1), 0, &[3][..]));
    assert!(renditions.all().iter().all(|rendition| !rendition.joined));
    run(&mut renditions, &mut joins, &fallen, 1);
    assert!(renditions.switching().is_none() && renditions.all()[0].follows.is_some());
    run(&mut renditions, &mut joins, &fallen, 10 * SECOND);
    assert_eq!(who(&renditions), [vec![0, 3], vec![1, 2]]);
    run(&mut renditions, &mut joins, &before, SECOND);
    assert_eq!(who(&renditions), [vec![0, 3], vec![1, 2]], "it may have risen for a moment");
    run(&mut renditions, &mut joins, &before, 3 * SECOND);
    assert_eq!(who(&renditions), [vec![0], vec![1, 2, 3]]);
}

#[test]
fn nobody_changes_renditions_without_a_join() {
    let mut renditions = Renditions::new(RenditionLimit::AtMost(2), 30.0);
    let mut joins = RandomAccessBudget::default();
    run(&mut renditions, &mut joins, &[0.2e6, 4e6, 4e6], 10 * SECOND);
    while joins.take() {}
    let receivers = [(0, 0.2e6), (1, 4e6), (2, 0.2e6)];
    let receivers = receivers.map(known);
    (0..20 * SECOND).for_each(|_| drop(renditions.handle_frame(&receivers, &mut joins)));
    assert_eq!(who(&renditions), [vec![0], vec![1, 2]]);
}

#[test]
fn the_slowest_rendition_is_removed_with_its_last_receiver_and_who_comes_then_is_in_the_next_faster() {
    let mut renditions = Renditions::new(RenditionLimit::AtMost(3), 30.0);
    let mut joins = RandomAccessBudget::default();
    run(&mut renditions, &mut joins, &[0.2e6, 1e6, 8e6], 10 * SECOND);
    let mut numbers: Vec<u64> = renditions.all().iter().map(|rendition| rendition.number).collect();
    assert_eq!(who(&renditions).concat().len(), 3);
    let slowest = renditions.slowest();
    assert_eq!((numbers.len(), renditions.receivers(slowest)), (3, vec![0]));
    let without = [(1, 1e6), (2, 8e6)].map(known);
    assert_eq!(renditions.handle_frame(&without, &mut joins), [Change::Remove { at: slowest }]);
    numbers.remove(slowest);
    assert_eq!(
        renditions.all().iter().map(|rendition| rendition.number).collect::<Vec<_>>(),
        numbers,
        "in their order"
    );
    assert_eq!(renditions.receivers(renditions.slowest()), [1]);
    let next = renditions.all()[renditions.slowest()].number;
    let again = [(1, 1e6), (2, 8e6), (3, 0.9e6)].map(known);
    (0..5 * SECOND).for_each(|_| assert_eq!(renditions.handle_frame(&again, &mut joins), []));
    assert_eq!(renditions.receivers(renditions.slowest()), [1, 3]);
    assert_eq!(renditions.all()[renditions.slowest()].number, next);
    assert_eq!(renditions.handle_frame(&[known((3, 0.9e6))], &mut joins).len(), 1);
    assert_eq!(renditions.handle_frame(&[], &mut joins), [], "the last one stays");
    assert_eq!(renditions.all()[0].number, next);
}

/// Counts the seconds after the first twenty in which a receiver changed renditions.
fn moves(limit: RenditionLimit, rates: &[f64], seconds: usize) -> usize {
    let mut renditions = Renditions::new(limit, 30.0);
    let mut joins = RandomAccessBudget::default();
    run(&mut renditions, &mut joins, rates, 20 * SECOND);
    let mut before = who(&renditions);
    let moved = (0..seconds).filter(|_| {
        run(&mut renditions, &mut joins, rates, SECOND);
        let now = who(&renditions);
        std::mem::replace(&mut before, now) != before
    });
    moved.count()
}

#[test]
fn at_steady_rates_nobody_changes_renditions_for_ever() {
    // Two close renditions merged here; in place of the third, which then branched, they were apart again.
    let rates = [0.17e6, 4.77e6, 7.09e6, 2.31e6, 2.89e6, 3.1e6, 7.76e6, 0.71e6];
    assert_eq!(moves(RenditionLimit::AtMost(3), &rates, 60), 0);
    let mut random = fastrand::Rng::with_seed(1);
    for limit in [RenditionLimit::AsNeeded, RenditionLimit::AtMost(2), RenditionLimit::AtMost(3)] {
        for _ in 0..40 {
            let count = random.usize(2..12);
            let rates: Vec<f64> = (0..count).map(|_| 0.1e6 * (4.6 * random.f64()).exp()).collect();
            assert_eq!(moves(limit, &rates, 30), 0, "{limit:?} with {rates:?}");
        }
    }
}

/// Returns two renditions, and a third receiver that falls from the faster one's rate to the slower one's.
fn falls(needs_random_access: bool) -> (Renditions, RandomAccessBudget, Vec<Receiver>) {
    let mut renditions = Renditions::new(RenditionLimit::AtMost(2), 30.0);
    let mut joins = RandomAccessBudget::default();
    run(&mut renditions, &mut joins, &[300_000.0, 4e6, 4e6], 6 * SECOND);
    assert_eq!(who(&renditions), [vec![0], vec![1, 2]]);
    let rates = [300_000.0, 4e6, 300_000.0];
    let receivers = (0..)
        .zip(rates)
        .map(known)
        .map(|known| Receiver { needs_random_access: needs_random_access && known.number == 2, ..known });
    (renditions, joins, receivers.collect())
}

#[test]
fn who_needs_a_join_frame_gets_no_switching_frames() {
    for needs_random_access in [false, true] {
        let (mut renditions, mut joins, receivers) = falls(needs_random_access);
        let mut switched = false;
        for _ in 0..SECOND {
            joins.handle_frame();
            renditions.handle_frame(&receivers, &mut joins);
            switched |= renditions.switching().is_some();
            make_bases(&mut renditions, &[300_000.0, 4e6, 4e6]);
            renditions.handle_arrived();
        }
        assert_eq!(who(&renditions), [vec![0, 2], vec![1]]);
        assert_eq!(switched, !needs_random_access);
    }
}

#[test]
fn who_is_on_the_way_goes_nowhere_else_and_who_needs_a_join_frame_there_is_no_longer_on_it() {
    let (mut renditions, mut joins, mut receivers) = falls(false);
    while renditions.switching().is_none() {
        joins.handle_frame();
        renditions.handle_frame(&receivers, &mut joins);
        make_bases(&mut renditions, &[300_000.0, 4e6, 4e6]);
    }
    // It rises again, and would be called back.
    receivers[2].rate = 4e6;
    let number = renditions.all()[1].number;
    for _ in 0..2 {
        joins.handle_frame();
        renditions.handle_frame(&receivers, &mut joins);
        renditions.change(2, number, &mut joins);
        assert_eq!(who(&renditions), [vec![0, 2], vec![1]]);
        assert_eq!(renditions.switching().expect("on the way").receivers, [2]);
    }
    receivers[2].needs_random_access = true;
    joins.handle_frame();
    renditions.handle_frame(&receivers, &mut joins);
    assert!(renditions.switching().is_none());
}
