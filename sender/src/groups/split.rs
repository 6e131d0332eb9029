//! Where a loop would branch: its receivers' settled rates, parted so that both parts are as alike as can be.
//!
//! Of all partings that is best which takes most off the sum of squared differences from the mean, as one step of Ward's hierarchical
//! grouping ("Hierarchical Grouping to Optimize an Objective Function", 1963) the other way round.

/// A loop branches where the upper of its receivers are so many times faster than the lower, in the geometric mean.
const BRANCH_ABOVE_RATIO: f64 = 2.0;

/// Where a loop would branch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Split {
    pub(super) group: u64,
    /// The slowest that leave, as [`Member::settled`](super::Member).
    pub(super) from: f64,
    /// Between the means of both parts.
    gap: f64,
    /// By how much the sum of squared differences from the mean falls.
    pub(super) worth: f64,
}

impl Split {
    /// The best of these rates, which rise, of those that are [wide](Self::is_wide).
    pub(super) fn best(group: u64, rates: &[f64]) -> Option<Self> {
        let all: f64 = rates.iter().sum();
        let mut below = 0.0;
        let splits = (1..rates.len()).filter_map(|lower| {
            below += rates[lower - 1];
            Self::between(group, rates, lower, [below, all - below])
        });
        splits.filter(Self::is_wide).max_by(|a, b| a.worth.total_cmp(&b.worth))
    }

    /// Above so many of these rates, which rise; none if a part would be empty.
    pub(super) fn at(group: u64, rates: &[f64], lower: usize) -> Option<Self> {
        let (below, above) = rates.split_at_checked(lower)?;
        Self::between(group, rates, lower, [below, above].map(|part| part.iter().sum()))
    }

    /// The same, of parts with these sums.
    fn between(group: u64, rates: &[f64], lower: usize, [below, above]: [f64; 2]) -> Option<Self> {
        let upper = rates.len().checked_sub(lower).filter(|upper| *upper > 0 && lower > 0)?;
        let gap = above / upper as f64 - below / lower as f64;
        Some(Self { group, from: rates[lower], gap, worth: sum_of_squares_between(lower, upper, gap) })
    }

    pub(super) fn is_wide(&self) -> bool {
        self.gap >= BRANCH_ABOVE_RATIO.ln()
    }
}

/// By how much the sum of squared differences from the mean is larger for two parts together than for each by itself: parts
/// of so many, `gap` apart in their means.
pub(super) fn sum_of_squares_between(one: usize, other: usize, gap: f64) -> f64 {
    one as f64 * other as f64 / (one + other) as f64 * gap * gap
}
