//! The slow, obvious twin of the wavelet: it works on whole arrays, every column and every row as the specification
//! says.

use crate::colour::planes::Planes;
use crate::error::ModelId;
use crate::subband::coefficients::Coefficients;
use crate::subband::layout::{WAVELET_LEVELS, details};
use crate::wavelet::lift::{LIFTING_STEPS, Taps};

/// Columns, then rows.
struct Grid {
    width: usize,
    height: usize,
    samples: Vec<f32>,
}

fn lift(line: &mut [f32], taps: &Taps, analysis: bool) {
    let n = line.len();
    if n < 2 {
        return;
    }
    let mirrored = |k: isize| {
        let period = 2 * (n - 1).cast_signed();
        let r = k.rem_euclid(period);
        r.min(period - r).cast_unsigned()
    };
    for i in 0..LIFTING_STEPS {
        let step = if analysis { i } else { LIFTING_STEPS - 1 - i };
        let [near, far] = taps[step].map(|tap| if analysis { tap } else { -tap });
        for k in (1 - step % 2..n).step_by(2) {
            let at = |distance: isize| line[mirrored(k.cast_signed() + distance)];
            line[k] += near * (at(-1) + at(1)) + far * (at(-3) + at(3));
        }
    }
}

impl Grid {
    fn lift(&mut self, taps: &Taps, analysis: bool) {
        for x in 0..self.width {
            let mut column: Vec<f32> = (0..self.height).map(|y| self.samples[y * self.width + x]).collect();
            lift(&mut column, taps, analysis);
            for (y, value) in column.into_iter().enumerate() {
                self.samples[y * self.width + x] = value;
            }
        }
        self.samples.chunks_mut(self.width).for_each(|row| lift(row, taps, analysis));
    }

    /// The samples of one band: every other column from `x`, every other row from `y`.
    fn band(&mut self, x: usize, y: usize) -> impl Iterator<Item = &mut f32> {
        let rows = self.samples.chunks_mut(self.width).skip(y).step_by(2);
        rows.flat_map(move |row| row.iter_mut().skip(x).step_by(2))
    }
}

const BAND_OFFSETS: [(usize, usize); 3] = [(1, 0), (0, 1), (1, 1)];

pub(crate) fn decompose(model: ModelId, taps: &[Taps; WAVELET_LEVELS], planes: &Planes) -> Coefficients {
    let mut out = Coefficients::default();
    out.reset(model, planes.size, planes.channels, planes.axes);
    for (component, plane) in planes.components.iter().enumerate() {
        let mut grid = Grid { width: planes.size.width(), height: planes.size.height(), samples: plane.clone() };
        for level in 1..=WAVELET_LEVELS {
            grid.lift(&taps[level - 1], true);
            for (subband, (x, y)) in details(component, level).zip(BAND_OFFSETS) {
                out.subbands[subband] = grid.band(x, y).map(|value| *value).collect();
            }
            let samples = grid.band(0, 0).map(|value| *value).collect();
            grid = Grid { width: grid.width.div_ceil(2), height: grid.height.div_ceil(2), samples };
        }
        out.subbands[component] = grid.samples;
    }
    out
}

pub(crate) fn compose(taps: &[Taps; WAVELET_LEVELS], coefficients: &Coefficients) -> Planes {
    let size = coefficients.size;
    let channels = coefficients.channels;
    let components = (0..channels.count()).map(|component| {
        let mut low = coefficients.subbands[component].clone();
        for level in (1..=WAVELET_LEVELS).rev() {
            let side = |n: usize| n.div_ceil(1 << (level - 1));
            let width = side(size.width());
            let height = side(size.height());
            let mut grid = Grid { width, height, samples: vec![0.0; width * height] };
            grid.band(0, 0).zip(low).for_each(|(to, from)| *to = from);
            for (subband, (x, y)) in details(component, level).zip(BAND_OFFSETS) {
                grid.band(x, y).zip(&coefficients.subbands[subband]).for_each(|(to, &from)| *to = from);
            }
            grid.lift(&taps[level - 1], false);
            low = grid.samples;
        }
        low
    });
    Planes { size, channels, axes: coefficients.axes, components: components.collect() }
}
