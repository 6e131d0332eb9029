//! Lifting along a line (spec, "Wavelet"): four steps, each of which adds to the samples of one parity a symmetric
//! combination of their two nearest and two next neighbours, which are of the other parity.
//!
//! Prior art: lifting (Sweldens, "The lifting scheme", 1998; Daubechies and Sweldens, "Factoring wavelet transforms
//! into lifting steps", J. Fourier Anal. Appl. 4(3), 1998). The 9/7 filters of Cohen, Daubechies and Feauveau
//! ("Biorthogonal bases of compactly supported wavelets", 1992) are four such steps of two taps and a scaling; here
//! each step has four trained taps, there is no scaling, and every level has taps of its own.

/// Lifting steps of a wavelet level.
pub(crate) const STEPS: usize = 4;

/// Taps of one wavelet level, for each lifting step: (near, far).
pub(crate) type Taps = [[f32; 2]; STEPS];

/// Rows or samples that a step looks ahead and back.
pub(super) const REACH: usize = 3;

/// Which way a level runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Analysis,
    Synthesis,
}

/// The four steps of a level in the order in which they are done.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Steps {
    /// (near, far), signed.
    pub(super) taps: Taps,
    /// The parity of the samples that the first step changes; the parities alternate.
    pub(super) first: usize,
}

impl Steps {
    pub(super) fn new(taps: &Taps, direction: Direction) -> Self {
        match direction {
            Direction::Analysis => Self { taps: *taps, first: 1 },
            Direction::Synthesis => {
                Self { taps: std::array::from_fn(|i| taps[STEPS - 1 - i].map(|tap| -tap)), first: 0 }
            }
        }
    }
}

/// Where a line of `n` >= 2 samples, mirrored about its first and its last, has what is asked for at `position`.
#[inline]
pub(super) fn mirror(position: isize, n: usize) -> usize {
    let period = 2 * (n - 1);
    let at = position.rem_euclid(period.cast_signed()).cast_unsigned();
    at.min(period - at)
}

/// What one step makes of `value`; the neighbours are those at the distances -3, -1, 1, 3.
#[inline]
pub(super) fn lifted(value: f32, [near, far]: [f32; 2], [a, b, c, d]: [f32; 4]) -> f32 {
    value + (near * (b + c) + far * (a + d))
}
