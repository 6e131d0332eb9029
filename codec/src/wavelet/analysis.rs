//! Splits pictures or planes into coefficients, row by row. A level passes a row on to the coarser one as soon as the
//! row is final, so no level is ever stored whole, except the one at which strips of rows meet.

pub(crate) mod component;

use std::ops::{Range, RangeInclusive};

use self::component::{Component, Share};
use crate::colour::convert::ToPlanes;
use crate::colour::planes::Planes;
use crate::parallel::{self, Threads};
use crate::picture::View;
use crate::scratch::{Arena, Scratch};
use crate::subband::coefficients::{self, Coefficients};
use crate::subband::layout::{SUBBAND_COUNT, Subband, WAVELET_LEVELS, side};
use crate::wavelet::lift::Taps;
use crate::wavelet::strips::{Division, TILE_ROWS};

/// The levels that strips compute. A strip repeats rows around it, and more of them with every level; six levels would
/// repeat most of the picture. The other levels need little time.
const IN_STRIPS: RangeInclusive<usize> = 1..=2;
/// The other levels.
const WHOLE_PLANE_LEVELS: RangeInclusive<usize> = 3..=WAVELET_LEVELS;
/// The fewest samples of all components for which the levels outside the strips justify a thread.
const MIN_PARALLEL_SAMPLES: usize = 1 << 17;

/// Fills `out` with the coefficients of these planes, in strips of `division`.
pub(crate) fn of_planes(
    taps: &[Taps; WAVELET_LEVELS],
    planes: &Planes,
    (threads, division): (&Threads, Division),
    scratch: &Scratch,
    out: &mut Coefficients,
) {
    let width = planes.size.width();
    analyse(taps, out, (threads, division), scratch, |components, rows, _| {
        for (component, plane) in components.iter_mut().zip(&planes.components) {
            for row in plane[rows.start * width..rows.end * width].chunks(width) {
                component.push(row);
            }
        }
    });
}

/// Fills `out` with the coefficients of this picture along the axes in `out`, in strips of `division`.
pub(crate) fn of_picture(
    taps: &[Taps; WAVELET_LEVELS],
    picture: View<'_>,
    (threads, division): (&Threads, Division),
    scratch: &Scratch,
    out: &mut Coefficients,
) {
    let width = out.size.width();
    let to_planes = ToPlanes::new(picture.format, out.axes);
    analyse(taps, out, (threads, division), scratch, |components, rows, tile| {
        for top in rows.clone().step_by(TILE_ROWS) {
            let bottom = (top + TILE_ROWS).min(rows.end);
            let mut planes = tile.chunks_mut(TILE_ROWS * width);
            let mut planes: [&mut [f32]; 3] = std::array::from_fn(|_| planes.next().unwrap_or_default());
            to_planes.rows(&picture, top..bottom, &mut planes);
            for (component, plane) in components.iter_mut().zip(planes) {
                for row in plane[..(bottom - top) * width].chunks(width) {
                    component.push(row);
                }
            }
        }
    });
}

/// Calls `feed` for every strip, which pushes the rows that the strip needs and borrows a tile of every component; then
/// does the other levels.
fn analyse(
    taps: &[Taps; WAVELET_LEVELS],
    out: &mut Coefficients,
    (threads, division): (&Threads, Division),
    scratch: &Scratch,
    feed: impl Fn(&mut [Component<'_>], Range<usize>, &mut [f32]) + Sync,
) {
    let size = out.size;
    let count = out.channels.count();
    let [width, height] = side(size, *IN_STRIPS.end());
    scratch.lend(width * height * count, |lows| {
        let strips = division.strips(size.height());
        let mut rest = lows.chunks_mut(width * height);
        let mut rest: [&mut [f32]; 3] = std::array::from_fn(|_| rest.next().unwrap_or_default());
        let parts =
            strips.clone().zip(coefficients::slices_mut(&mut out.subbands, size, strips)).map(|(strip, bands)| {
                let samples = width * (division.rows >> IN_STRIPS.end());
                let lows =
                    rest.each_mut().map(|rest| rest.split_off_mut(..samples.min(rest.len())).unwrap_or_default());
                (strip, bands, lows)
            });
        let tile = TILE_ROWS * size.width() * count;
        let floats = tile + count * Component::floats(size, IN_STRIPS);
        parallel::for_each(threads, parts, |(strip, mut bands, lows)| {
            scratch.lend(floats, |floats| {
                let mut arena = Arena(floats);
                let tile = arena.take(tile);
                let mut needed = 0..0;
                let mut components: [Component<'_>; 3] = Default::default();
                for (component, low) in lows.into_iter().enumerate().take(count) {
                    let share = Share { component, rows: strip.clone(), bands: &mut bands, low };
                    (components[component], needed) = Component::new(taps, size, IN_STRIPS, share, &mut arena);
                }
                feed(&mut components[..count], needed, tile);
                components[..count].iter_mut().for_each(Component::finish);
            });
        });
        analyse_whole(taps, out, threads, scratch, lows);
    });
}

/// Does the levels outside the strips, from the low bands of the last level in strips.
fn analyse_whole(
    taps: &[Taps; WAVELET_LEVELS],
    out: &mut Coefficients,
    threads: &Threads,
    scratch: &Scratch,
    lows: &mut [f32],
) {
    let size = out.size;
    let count = out.channels.count();
    let [width, height] = side(size, *IN_STRIPS.end());
    let threads = threads.at_most(if lows.len() < MIN_PARALLEL_SAMPLES { 1 } else { count });
    let mut bands = coefficients::as_slices(&mut out.subbands);
    let jobs = lows
        .chunks(width * height)
        .enumerate()
        .take(count)
        .map(|(component, rows)| (component, rows, own_bands(&mut bands, component)));
    parallel::for_each(&threads, jobs, |(component, rows, mut bands)| {
        scratch.lend(Component::floats(size, WHOLE_PLANE_LEVELS), |floats| {
            let low = std::mem::take(&mut bands[component]);
            let share = Share { component, rows: 0..size.height(), bands: &mut bands, low };
            let (mut component, _) = Component::new(taps, size, WHOLE_PLANE_LEVELS, share, &mut Arena(floats));
            rows.chunks(width).for_each(|row| component.push(row));
            component.finish();
        });
    });
}

/// Takes a component's bands, which are those that [`Component`] uses.
pub(crate) fn own_bands<'a>(
    bands: &mut [&'a mut [f32]; SUBBAND_COUNT],
    component: usize,
) -> [&'a mut [f32]; SUBBAND_COUNT] {
    std::array::from_fn(|index| {
        let is_own = Subband::at(index).component == component;
        if is_own { std::mem::take(&mut bands[index]) } else { Default::default() }
    })
}
