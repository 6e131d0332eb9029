//! Where a rendition would branch: its receivers' settled rates, split so that each part is as even as can be.
//!
//! The best split takes most off the sum of squared differences from the mean, as one step of Ward's hierarchical
//! grouping ("Hierarchical Grouping to Optimize an Objective Function", 1963) the other way round.

/// A rendition branches where the upper of its receivers are this many times faster than the lower, in the geometric mean.
const BRANCH_ABOVE_RATIO: f64 = 2.0;

/// Where a rendition would branch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Split {
    /// The number of the rendition.
    pub(super) rendition: u64,
    /// The settled rate of the slowest receiver that leaves.
    pub(super) from: f64,
    /// The difference of the parts' means.
    gap: f64,
    /// How much the sum of squared differences from the mean falls.
    pub(super) worth: f64,
}

impl Split {
    /// The best [wide](Self::is_wide) split of these rates, which rise.
    pub(super) fn best(rendition: u64, rates: &[f64]) -> Option<Self> {
        let all: f64 = rates.iter().sum();
        let mut below = 0.0;
        let splits = (1..rates.len()).filter_map(|lower| {
            below += rates[lower - 1];
            Self::between(rendition, rates, lower, [below, all - below])
        });
        splits.filter(Self::is_wide).max_by(|a, b| a.worth.total_cmp(&b.worth))
    }

    /// The split above the first `lower` of these rates, which rise; none if a part would be empty.
    pub(super) fn at(rendition: u64, rates: &[f64], lower: usize) -> Option<Self> {
        let (below, above) = rates.split_at_checked(lower)?;
        Self::between(rendition, rates, lower, [below, above].map(|part| part.iter().sum()))
    }

    /// The same, given the sums of both parts.
    fn between(rendition: u64, rates: &[f64], lower: usize, [below, above]: [f64; 2]) -> Option<Self> {
        let upper = rates.len().checked_sub(lower).filter(|upper| *upper > 0 && lower > 0)?;
        let gap = above / upper as f64 - below / lower as f64;
        Some(Self { rendition, from: rates[lower], gap, worth: sum_of_squares_between(lower, upper, gap) })
    }

    pub(super) fn is_wide(&self) -> bool {
        self.gap >= BRANCH_ABOVE_RATIO.ln()
    }
}

/// How much larger the sum of squared differences from the mean is for two parts together than for each by itself: parts
/// of `one` and `other` rates whose means are `gap` apart.
pub(super) fn sum_of_squares_between(one: usize, other: usize, gap: f64) -> f64 {
    one as f64 * other as f64 / (one + other) as f64 * gap * gap
}
