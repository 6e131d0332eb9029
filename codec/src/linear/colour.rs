//! RGB to the model's three planes and back.

use super::Planes;
use crate::model::Model;
use crate::parallel;
use crate::picture::{Channels, Picture};

/// Pixels that one job takes: small enough to stay in cache, large enough to be worth a hand-over.
const CHUNK: usize = 1 << 15;

pub(super) fn from_picture(model: &Model, picture: &Picture, threads: usize) -> Planes {
    let (size, channels) = (picture.size(), picture.channels());
    let mut components = vec![vec![0.0_f32; size.pixels()]; channels.count()];
    match channels {
        Channels::Grey => {
            let plane = components[0].chunks_mut(CHUNK);
            parallel::for_each(threads, plane.zip(picture.samples().chunks(CHUNK)), |(plane, samples)| {
                for (value, &sample) in plane.iter_mut().zip(samples) {
                    *value = f32::from(sample) - 128.0;
                }
            });
        }
        Channels::Rgb => {
            let m = model.colour;
            let [y, u, v] = components.as_mut_slice() else { unreachable!("RGB has three planes") };
            let [y, u, v] = [y, u, v].map(|plane| plane.chunks_mut(CHUNK));
            let jobs = y.zip(u).zip(v).zip(picture.samples().chunks(3 * CHUNK));
            parallel::for_each(threads, jobs, |(((y, u), v), samples)| {
                for (((y, u), v), rgb) in y.iter_mut().zip(u).zip(v).zip(samples.as_chunks::<3>().0) {
                    let [r, g, b] = rgb.map(|sample| f32::from(sample) - 128.0);
                    *y = m[0] * r + m[1] * g + m[2] * b;
                    *u = m[3] * r + m[4] * g + m[5] * b;
                    *v = m[6] * r + m[7] * g + m[8] * b;
                }
            });
        }
    }
    Planes { size, channels, components }
}

pub(super) fn to_picture(model: &Model, planes: &Planes, threads: usize) -> Picture {
    let (size, channels) = (planes.size, planes.channels);
    let mut samples = vec![0_u8; size.pixels() * channels.count()];
    match channels {
        Channels::Grey => {
            let jobs = planes.components[0].chunks(CHUNK).zip(samples.chunks_mut(CHUNK));
            parallel::for_each(threads, jobs, |(plane, samples)| {
                for (sample, &value) in samples.iter_mut().zip(plane) {
                    *sample = to_sample(value);
                }
            });
        }
        Channels::Rgb => {
            let m = model.colour_inverse;
            let [y, u, v] = [0, 1, 2].map(|i| planes.components[i].chunks(CHUNK));
            parallel::for_each(
                threads,
                y.zip(u).zip(v).zip(samples.chunks_mut(3 * CHUNK)),
                |(((y, u), v), samples)| {
                    for (((&y, &u), &v), rgb) in y.iter().zip(u).zip(v).zip(samples.as_chunks_mut::<3>().0) {
                        rgb[0] = to_sample(m[0] * y + m[1] * u + m[2] * v);
                        rgb[1] = to_sample(m[3] * y + m[4] * u + m[5] * v);
                        rgb[2] = to_sample(m[6] * y + m[7] * u + m[8] * v);
                    }
                },
            );
        }
    }
    Picture::new(size, channels, samples).expect("one sample for every pixel and channel")
}

/// Rounds half up; a conversion to `u8` saturates.
#[inline]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturation is what is wanted")]
fn to_sample(value: f32) -> u8 {
    (value + 128.5) as u8
}
