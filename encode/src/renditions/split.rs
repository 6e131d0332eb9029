//! Splits a rendition by its receivers' settled rates, so that the rates in each part differ as little as possible.
//!
//! The best split removes most of the sum of squared differences from the mean. It is the reverse of one step of Ward's
//! hierarchical grouping ("Hierarchical Grouping to Optimize an Objective Function", 1963).

/// A rendition branches if its faster receivers are this many times faster than the slower ones, in the geometric mean.
const BRANCH_ABOVE_RATIO: f64 = 2.0;

/// A possible branch of a rendition.
#[derive(Debug, Clone, Copy)]
pub(super) struct Split {
    /// The rendition's number.
    pub(super) rendition: u64,
    /// The settled rate of the slowest receiver that leaves.
    pub(super) from: f64,
    /// The difference between the parts' means.
    gap: f64,
    /// The fall of the sum of squared differences from the mean.
    pub(super) worth: f64,
}

impl Split {
    /// Returns the best [wide](Self::is_wide) split of these ascending rates.
    pub(super) fn best(rendition: u64, rates: &[f64]) -> Option<Self> {
        let all: f64 = rates.iter().sum();
        let mut below = 0.0;
        let splits = (1..rates.len()).filter_map(|lower| {
            below += rates[lower - 1];
            Self::between(rendition, rates, lower, [below, all - below])
        });
        splits.filter(Self::is_wide).max_by(|a, b| a.worth.total_cmp(&b.worth))
    }

    /// Returns the split above the first `lower` of these ascending rates; `None` if a part would be empty.
    pub(super) fn at(rendition: u64, rates: &[f64], lower: usize) -> Option<Self> {
        let (below, above) = rates.split_at_checked(lower)?;
        Self::between(rendition, rates, lower, [below, above].map(|part| part.iter().sum()))
    }

    /// Returns the same split, given the sums of both parts.
    fn between(rendition: u64, rates: &[f64], lower: usize, [below, above]: [f64; 2]) -> Option<Self> {
        let upper = rates.len().checked_sub(lower).filter(|upper| *upper > 0 && lower > 0)?;
        let gap = above / upper as f64 - below / lower as f64;
        Some(Self { rendition, from: rates[lower], gap, worth: sum_of_squares_between(lower, upper, gap) })
    }

    pub(super) fn is_wide(&self) -> bool {
        self.gap >= BRANCH_ABOVE_RATIO.ln()
    }
}

/// Returns by how much the sum of squared differences from the mean is larger for two parts together than for each
/// alone. The parts have `one` and `other` rates, and their means are `gap` apart.
pub(super) fn sum_of_squares_between(one: usize, other: usize, gap: f64) -> f64 {
    one as f64 * other as f64 / (one + other) as f64 * gap * gap
}
