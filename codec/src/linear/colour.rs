//! RGB to the model's three planes and back.

use super::Planes;
use crate::model::Model;
use crate::parallel;
use crate::picture::Picture;

/// Pixels that one job takes: small enough to stay in cache, large enough to be worth a hand-over.
const CHUNK: usize = 1 << 15;
/// Pixels that are converted together.
const LANES: usize = 8;

pub(super) fn from_picture(model: &Model, picture: &Picture, threads: usize) -> Planes {
    let (size, channels) = (picture.size(), picture.channels());
    let mut components = vec![vec![0.0_f32; size.pixels()]; channels.count()];
    let mut parts: Vec<_> = components.iter_mut().map(|plane| plane.chunks_mut(CHUNK)).collect();
    let jobs = picture.samples().chunks(CHUNK * channels.count()).map(|samples| {
        let planes: Vec<&mut [f32]> = parts.iter_mut().filter_map(Iterator::next).collect();
        (samples, planes)
    });
    parallel::for_each(threads, jobs, |(samples, mut planes)| to_planes(model, samples, &mut planes));
    Planes { size, channels, components }
}

pub(super) fn to_picture(model: &Model, planes: &Planes, threads: usize) -> Picture {
    let (size, channels) = (planes.size, planes.channels);
    let mut samples = vec![0_u8; size.pixels() * channels.count()];
    let jobs = samples.chunks_mut(CHUNK * channels.count()).enumerate();
    parallel::for_each(threads, jobs, |(index, samples)| {
        let planes: Vec<&[f32]> = planes.components.iter().map(|plane| &plane[index * CHUNK..]).collect();
        to_samples(model, &planes, samples);
    });
    Picture::new(size, channels, samples).expect("one sample for every pixel and channel")
}

/// Fills one plane from grey samples, or three from RGB.
pub(super) fn to_planes<P: AsMut<[f32]>>(model: &Model, samples: &[u8], planes: &mut [P]) {
    let m = &model.colour;
    match planes {
        [plane] => {
            for (value, &sample) in plane.as_mut().iter_mut().zip(samples) {
                *value = f32::from(sample) - 128.0;
            }
        }
        [y, u, v] => {
            let pixels = samples.as_chunks::<3>().0;
            let [y, u, v] = [y, u, v].map(|plane| &mut plane.as_mut()[..pixels.len()]);
            let whole = pixels.len() - pixels.len() % LANES;
            for (((pixels, y), u), v) in pixels
                .as_chunks::<LANES>()
                .0
                .iter()
                .zip(y.as_chunks_mut::<LANES>().0)
                .zip(u.as_chunks_mut::<LANES>().0)
                .zip(v.as_chunks_mut::<LANES>().0)
            {
                [*y, *u, *v] = planes_of(m, pixels);
            }
            for x in whole..pixels.len() {
                [[y[x]], [u[x]], [v[x]]] = planes_of(m, &[pixels[x]]);
            }
        }
        _ => unreachable!("a picture has one or three components"),
    }
}

/// Fills grey samples from one plane, or RGB from three, of which there may be more than samples.
pub(super) fn to_samples<P: AsRef<[f32]>>(model: &Model, planes: &[P], samples: &mut [u8]) {
    let m = &model.colour_inverse;
    match planes {
        [plane] => {
            for (sample, &value) in samples.iter_mut().zip(plane.as_ref()) {
                *sample = to_sample(value);
            }
        }
        [y, u, v] => {
            let pixels = samples.as_chunks_mut::<3>().0;
            let [y, u, v] = [y, u, v].map(|plane| &plane.as_ref()[..pixels.len()]);
            let whole = pixels.len() - pixels.len() % LANES;
            for (((pixels, y), u), v) in pixels
                .as_chunks_mut::<LANES>()
                .0
                .iter_mut()
                .zip(y.as_chunks::<LANES>().0)
                .zip(u.as_chunks::<LANES>().0)
                .zip(v.as_chunks::<LANES>().0)
            {
                *pixels = pixels_of(m, [y, u, v]);
            }
            for x in whole..pixels.len() {
                [pixels[x]] = pixels_of(m, [&[y[x]], &[u[x]], &[v[x]]]);
            }
        }
        _ => unreachable!("a picture has one or three components"),
    }
}

#[inline]
fn planes_of<const N: usize>(m: &[f32; 9], pixels: &[[u8; 3]; N]) -> [[f32; N]; 3] {
    let channel = |c: usize| -> [f32; N] { std::array::from_fn(|i| f32::from(pixels[i][c]) - 128.0) };
    let [r, g, b] = [channel(0), channel(1), channel(2)];
    let plane = |i: usize| std::array::from_fn(|x| m[3 * i] * r[x] + m[3 * i + 1] * g[x] + m[3 * i + 2] * b[x]);
    [plane(0), plane(1), plane(2)]
}

#[inline]
fn pixels_of<const N: usize>(m: &[f32; 9], [y, u, v]: [&[f32; N]; 3]) -> [[u8; 3]; N] {
    let channel = |i: usize| -> [u8; N] {
        std::array::from_fn(|x| to_sample(m[3 * i] * y[x] + m[3 * i + 1] * u[x] + m[3 * i + 2] * v[x]))
    };
    let [r, g, b] = [channel(0), channel(1), channel(2)];
    std::array::from_fn(|x| [r[x], g[x], b[x]])
}

/// Rounds half up; a conversion to `u8` saturates.
#[inline]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturation is what is wanted")]
fn to_sample(value: f32) -> u8 {
    (value + 128.5) as u8
}
