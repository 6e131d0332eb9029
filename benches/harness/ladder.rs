//! Ladders: the best few encodes of a picture for a population, in which each receiver takes the best that fits.

use crate::receivers::Receiver;

/// An encode: its bytes, and its distance from the original on any scale that falls with quality.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Encode {
    /// Bytes.
    pub bytes: usize,
    /// Distortion.
    pub distortion: f64,
}

/// A ladder, and its result for a population.
#[derive(Clone, Debug, PartialEq)]
pub struct Ladder {
    /// Bytes of each rung, lowest first.
    pub rungs: Vec<usize>,
    /// Expected distortion.
    pub expected: f64,
    /// Fraction of receivers for whom no rung is small enough.
    pub unserved: f64,
}

/// Returns the ladder of at most `rungs` of these encodes with the least expected distortion, by an exact search.
///
/// Receivers take the largest rung that their link carries in `interval_ms`. Those below the lowest rung have
/// `nothing`, the distortion without any bytes. `receivers` must be sorted, lowest first.
pub fn best(encodes: &[Encode], rungs: usize, nothing: f64, receivers: &[Receiver], interval_ms: f64) -> Ladder {
    let useful = useful(encodes, nothing);
    // The fraction of receivers that each encode is too large for.
    let below: Vec<f64> = useful
        .iter()
        .map(|encode| receivers.iter().filter(|r| r.budget(interval_ms) < encode.bytes).map(|r| r.share).sum::<f64>())
        .collect();
    let all: f64 = receivers.iter().map(|receiver| receiver.share).sum();

    let mut best = Climb { rungs: Vec::new(), below: all * nothing };
    let mut least = best.below;
    let mut climbs: Vec<Climb> =
        below.iter().enumerate().map(|(i, share)| Climb { rungs: vec![i], below: share * nothing }).collect();
    for _ in 0..rungs {
        for climb in &climbs {
            let expected = climb.below + (all - below[climb.top()]) * useful[climb.top()].distortion;
            if expected < least {
                (least, best) = (expected, climb.clone());
            }
        }
        climbs = (0..useful.len()).filter_map(|i| higher(&climbs, i, &below, &useful)).collect();
    }
    let unserved = best.rungs.first().map_or(all, |&first| below[first]);
    Ladder { rungs: best.rungs.iter().map(|&i| useful[i].bytes).collect(), expected: least, unserved }
}

/// The best choice of some number of rungs with a given last rung.
#[derive(Clone)]
struct Climb {
    /// Indices among the useful encodes, lowest first.
    rungs: Vec<usize>,
    /// Expected distortion of the receivers for whom the last is too large.
    below: f64,
}

impl Climb {
    fn top(&self) -> usize {
        self.rungs[self.rungs.len() - 1]
    }
}

/// Returns the best of `climbs` with encode `i` added on top.
fn higher(climbs: &[Climb], i: usize, below: &[f64], useful: &[Encode]) -> Option<Climb> {
    let options = climbs.iter().filter(|climb| climb.top() < i).map(|climb| {
        let top = climb.top();
        (climb.below + (below[i] - below[top]) * useful[top].distortion, climb)
    });
    let (below, climb) = options.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let rungs = climb.rungs.iter().copied().chain([i]).collect();
    Some(Climb { rungs, below })
}

/// Returns the encodes that are better than all that cost no more, lowest first.
fn useful(encodes: &[Encode], nothing: f64) -> Vec<Encode> {
    let mut sorted = encodes.to_vec();
    sorted.sort_by(|a, b| a.bytes.cmp(&b.bytes).then(a.distortion.total_cmp(&b.distortion)));
    let mut least = nothing;
    sorted.retain(|encode| {
        let better = encode.distortion < least;
        least = least.min(encode.distortion);
        better
    });
    sorted
}

/// Returns the expected distortion of one stream that is cut for each receiver; `cuts` are its prefixes.
///
/// A receiver gets the longest cut that fits, so the cuts should be made at the receivers' budgets.
pub fn cut(cuts: &[Encode], nothing: f64, receivers: &[Receiver], interval_ms: f64) -> f64 {
    let of = |receiver: &Receiver| {
        let fits = cuts.iter().filter(|cut| cut.bytes <= receiver.budget(interval_ms));
        fits.max_by_key(|cut| cut.bytes).map_or(nothing, |cut| cut.distortion)
    };
    receivers.iter().map(|receiver| receiver.share * of(receiver)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENCODES: [Encode; 4] = [
        Encode { bytes: 100, distortion: 50.0 },
        Encode { bytes: 200, distortion: 20.0 },
        Encode { bytes: 300, distortion: 25.0 },
        Encode { bytes: 400, distortion: 10.0 },
    ];

    /// Over 8 ms a budget in bytes equals the bandwidth in kbit/s.
    fn receivers() -> Vec<Receiver> {
        [(50.0, 0.1), (150.0, 0.2), (250.0, 0.3), (500.0, 0.4)].map(|(kbps, share)| Receiver { kbps, share }).to_vec()
    }

    fn expected(rungs: &[usize]) -> f64 {
        let of = |receiver: &Receiver| {
            let mut fits = ENCODES.iter().filter(|e| rungs.contains(&e.bytes) && e.bytes <= receiver.budget(8.0));
            fits.next_back().map_or(90.0, |encode| encode.distortion)
        };
        receivers().iter().map(|receiver| receiver.share * of(receiver)).sum()
    }

    #[test]
    fn the_search_is_exact() {
        for rungs in 1..=4 {
            let ladder = best(&ENCODES, rungs, 90.0, &receivers(), 8.0);
            let sets = (0_u32..16)
                .filter(|set| set.count_ones() as usize <= rungs)
                .map(|set| (0..4).filter(|i| set >> i & 1 == 1).map(|i| ENCODES[i].bytes).collect::<Vec<_>>());
            let least = sets.map(|set| expected(&set)).fold(f64::INFINITY, f64::min);
            assert!((ladder.expected - least).abs() < 1e-9, "{ladder:?}: {least}");
            assert!((expected(&ladder.rungs) - least).abs() < 1e-9, "{ladder:?}");
        }
        assert_eq!(best(&ENCODES, 1, 90.0, &receivers(), 8.0).rungs, [200]);
        assert_eq!(best(&ENCODES, 9, 90.0, &receivers(), 8.0).rungs, [100, 200, 400]);
        assert!((best(&ENCODES, 9, 90.0, &receivers(), 8.0).unserved - 0.1).abs() < 1e-12);
    }

    #[test]
    fn a_stream_cut_to_all_is_no_worse_than_any_ladder_of_its_cuts() {
        let cut = cut(&ENCODES[..2], 90.0, &receivers(), 8.0);
        assert!((cut - (0.1 * 90.0 + 0.2 * 50.0 + 0.7 * 20.0)).abs() < 1e-9);
    }
}
