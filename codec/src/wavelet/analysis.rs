//! Pictures or planes to coefficients, row by row: a row of a level is handed on to the coarser one as soon as it is
//! final, so that no level is ever held whole but the one at which strips of rows meet.

mod component;

use std::ops::{Range, RangeInclusive};

use self::component::{Component, Share, side};
use crate::colour::axes::Axes;
use crate::colour::convert;
use crate::colour::planes::Planes;
use crate::parallel;
use crate::picture::{Picture, Size};
use crate::subband::coefficients::Coefficients;
use crate::subband::layout::{LEVELS, Subband};
use crate::wavelet::lift::Taps;
use crate::wavelet::strips::{Division, TILE};

/// Levels done in strips. A strip does rows around it again, the more the more levels; those of all six levels would
/// be most of the picture. What the other levels need is small.
const IN_STRIPS: usize = 2;
/// Least samples of all components for which the levels that are not done in strips are worth a thread.
const MIN_PARALLEL_SAMPLES: usize = 1 << 17;

/// The coefficients of these planes, so divided.
pub(crate) fn of_planes(taps: &[Taps; LEVELS], planes: &Planes, division: Division) -> Coefficients {
    let mut out = Coefficients { axes: planes.axes, ..Coefficients::zero(planes.size, planes.channels) };
    let width = planes.size.width();
    analyse(taps, &mut out, division, 0, |Job { components, needed: rows, .. }| {
        for (component, plane) in components.iter_mut().zip(&planes.components) {
            for row in plane[rows.start * width..rows.end * width].chunks(width) {
                component.push(row);
            }
        }
    });
    out
}

/// The coefficients of this picture, so divided.
pub(crate) fn of_picture(taps: &[Taps; LEVELS], picture: &Picture, division: Division) -> Coefficients {
    let (size, count) = (picture.size(), picture.channels().count());
    let axes = Axes::of(picture);
    let matrix = axes.analysis();
    let mut out = Coefficients { axes, ..Coefficients::zero(size, picture.channels()) };
    let width = size.width();
    analyse(taps, &mut out, division, TILE * width, |Job { components, needed: rows, tile }| {
        let samples = &picture.samples()[rows.start * width * count..rows.end * width * count];
        for samples in samples.chunks(TILE * width * count) {
            convert::to_planes(&matrix, samples, tile);
            for (component, plane) in components.iter_mut().zip(&*tile) {
                for row in plane[..samples.len() / count].chunks(width) {
                    component.push(row);
                }
            }
        }
    });
    out
}

/// Calls `feed` for every strip to push the rows it needs, lending it `tile` samples a component; then does the other
/// levels.
fn analyse(
    taps: &[Taps; LEVELS],
    out: &mut Coefficients,
    division: Division,
    tile: usize,
    feed: impl Fn(&mut Job<'_>) + Sync,
) {
    let (size, count) = (out.size, out.channels.count());
    let [width, height] = side(size, IN_STRIPS);
    let mut lows = vec![vec![0.0; width * height]; count];
    let (low_subbands, details) = out.subbands.split_at_mut(3);

    let strips: Vec<_> = division.strips(size.height()).collect();
    let mut parts: Vec<_> = lows.iter_mut().map(|low| low.chunks_mut((division.rows >> IN_STRIPS) * width)).collect();
    let parted = bands(details, size, 1..=IN_STRIPS, strips.len(), division.rows);
    let jobs = strips.into_iter().zip(parted).map(|(strip, bands)| {
        let components = parts.iter_mut().zip(bands).map(|(low, bands)| {
            let share = Share { rows: strip.clone(), bands, low: low.next().unwrap_or_default() };
            Component::new(taps, size, 1..=IN_STRIPS, share)
        });
        let (components, needed): (Vec<_>, Vec<_>) = components.unzip();
        Job { components, needed: needed[0].clone(), tile: vec![vec![0.0; tile]; count] }
    });
    // Here, since memory that a thread takes is new to it.
    let jobs: Vec<_> = jobs.collect();
    parallel::for_each(division.threads, jobs.into_iter(), |mut job| {
        feed(&mut job);
        job.components.iter_mut().for_each(Component::finish);
    });

    let rows = size.height().next_multiple_of(1 << LEVELS);
    let bands = bands(details, size, IN_STRIPS + 1..=LEVELS, 1, rows).into_iter().flatten();
    let jobs = lows.iter().zip(low_subbands).zip(bands).map(|((rows, low), bands)| {
        let share = Share { rows: 0..size.height(), bands, low };
        (rows, Component::new(taps, size, IN_STRIPS + 1..=LEVELS, share).0)
    });
    let jobs: Vec<_> = jobs.collect();
    let threads = if width * height * count < MIN_PARALLEL_SAMPLES { 1 } else { division.threads };
    parallel::for_each(threads, jobs.into_iter(), |(rows, mut component)| {
        rows.chunks(width).for_each(|row| component.push(row));
        component.finish();
    });
}

/// The parts of the detail bands that belong to each strip and component, in the order of the subbands.
fn bands(
    details: &mut [Vec<f32>],
    size: Size,
    levels: RangeInclusive<usize>,
    strips: usize,
    rows: usize,
) -> Vec<[Vec<&mut [f32]>; 3]> {
    let mut out: Vec<[Vec<&mut [f32]>; 3]> = (0..strips).map(|_| Default::default()).collect();
    for (index, band) in details.iter_mut().enumerate() {
        let subband = Subband::at(3 + index);
        if levels.contains(&subband.level) {
            let width = subband.size(size.width(), size.height()).0;
            let mut parts = band.chunks_mut(((rows >> subband.level) * width).max(1));
            for strip in &mut out {
                strip[subband.component].push(parts.next().unwrap_or_default());
            }
        }
    }
    out
}

/// A strip.
struct Job<'a> {
    components: Vec<Component<'a>>,
    /// The rows that each component must be given, in order.
    needed: Range<usize>,
    /// For rows of each component on their way.
    tile: Vec<Vec<f32>>,
}
