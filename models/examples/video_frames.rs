//! Writes parts of decoded frames at many bit rates, to train a network that restores them: `cargo run --release -p
//! nestcast-models --example video_frames -- OUT PARTS:CLIP.y4m...`, PARTS of each frame and receiver.
//! `models/train/nestcast_train/frames/decoded_frames.py` reads them.

mod clip;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::{Arc, Mutex, PoisonError};

use nestcast_codec::{
    Bitrate, Budget, DecodedFrame, DecodingConditions, Picture, Population, Restoration, TransformError, VideoDecoder,
    VideoEncoder, VideoModel, VideoSettings, ViewMut,
};

use clip::{Clip, Failure};

/// Rates of the slowest receiver of each population, in bits a pixel and frame.
const SLOWEST_RATES: [f64; 3] = [0.015, 0.045, 0.135];
/// The fastest receiver's rate over the slowest one's.
const RATE_SPREAD: f64 = 16.0;
/// Receivers of a population.
const RECEIVER_COUNT: u32 = 5;
/// Frames of a clip, at most.
const MAX_FRAMES: usize = 32;
/// One of this many frames of a receiver is used, from the first on; each receiver has others.
const LOOK_EVERY: usize = 2;
/// Side of a part in luma, and the grid that it begins on.
const SIDE_SAMPLES: usize = 128;
const GRID_SAMPLES: usize = 16;
/// Parts of a frame that are drawn for each that is kept: that of the greatest error.
const DRAWN_PARTS: usize = 2;
/// Units of filtered samples.
const SAMPLE_UNITS: f32 = 64.0;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [out, clips @ ..] = arguments.as_slice() else {
        return Err("usage: video_frames OUT PARTS:CLIP.y4m...".into());
    };
    let mut out = BufWriter::new(File::create(out)?);
    for (number, clip) in clips.iter().enumerate() {
        let (parts, path) = clip.split_once(':').ok_or("a clip is PARTS:FILE")?;
        let (parts, clip) = (parts.parse()?, Clip::read(path)?);
        for (of, slowest) in SLOWEST_RATES.iter().enumerate() {
            let seed = (number * SLOWEST_RATES.len() + of) as u64;
            let writer = Writer { parts, label: [number, of], random: Random(seed), out: &mut out };
            encode(&clip, *slowest, writer)?;
        }
        eprintln!("{path}");
    }
    Ok(out.flush()?)
}

/// Encodes a clip for receivers from `slowest` bits a pixel on, and writes parts of what they have.
fn encode<W: Write>(clip: &Clip, slowest: f64, mut writer: Writer<W>) -> Result<(), Failure> {
    let bits = slowest * clip.size.pixels() as f64 * clip.rate.per_second();
    let rate = |at: u32| bits * RATE_SPREAD.powf(f64::from(at) / f64::from(RECEIVER_COUNT - 1));
    let rates: Vec<Bitrate> = (0..RECEIVER_COUNT).map(|at| Bitrate::rounded(rate(at))).collect();
    let population = Population::new(rates.iter().map(|rate| (*rate, 1.0)));
    let settings = VideoSettings { size: clip.size, rate: clip.rate, population, threads: 1 };
    let mut encoder = VideoEncoder::new(VideoModel::built_in(), settings);
    let kept = Arc::new(Keeper::default());
    let decoder = || VideoDecoder::new(VideoModel::built_in(), clip.size, 1).with_restoration(kept.clone());
    let mut receivers: Vec<_> = rates.iter().map(|rate| (decoder(), Budget::new(*rate, clip.rate))).collect();
    let mut unused = clip.frames.first().ok_or("the clip has no frames")?.clone();
    for (number, picture) in clip.frames.iter().take(MAX_FRAMES).enumerate() {
        let frame = encoder.encode(picture)?;
        for (receiver, (decoder, budget)) in receivers.iter_mut().enumerate() {
            let cut = budget.cut(&frame.bytes, 0)?;
            decoder.decode(&frame.bytes[..cut])?;
            if number == 0 || (number + receiver).is_multiple_of(LOOK_EVERY) {
                decoder.render_into(&mut unused)?;
                let decoded = kept.0.lock().unwrap_or_else(PoisonError::into_inner).take();
                writer.write(&decoded.ok_or("the decoder showed nothing")?, picture, [number, receiver])?;
            }
        }
    }
    Ok(())
}

/// Shows nothing, and keeps the frame.
#[derive(Default)]
struct Keeper(Mutex<Option<Decoded>>);

/// Width and height of a plane, its samples after the filter, its prediction and its significance.
type Plane = ([usize; 2], Vec<f32>, Vec<i16>, Vec<u8>);

/// A decoded frame.
struct Decoded {
    planes: [Plane; 3],
    told: DecodingConditions,
}

impl Restoration for Keeper {
    fn restore(&self, frame: &DecodedFrame<'_>, _: ViewMut<'_>) -> Result<(), TransformError> {
        let planes = [0, 1, 2].map(|plane| {
            let [width, height] = frame.plane(plane);
            let filtered = (0..height).flat_map(|y| frame.filtered(plane, y)).copied().collect();
            let predicted = (0..height).flat_map(|y| frame.predicted(plane, y)).copied().collect();
            let blocks = (0..height.div_ceil(4)).flat_map(|row| frame.significance(plane, row)).copied().collect();
            ([width, height], filtered, predicted, blocks)
        });
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Decoded { planes, told: frame.told() });
        Ok(())
    }
}

struct Writer<'a, W> {
    parts: usize,
    /// Number of the clip, and of the population.
    label: [usize; 2],
    random: Random,
    out: &'a mut W,
}

impl<W: Write> Writer<'_, W> {
    /// Writes some parts of a frame: 12 numbers in binary32, then the original of each plane in bytes, then for each
    /// plane the samples after the filter in 1/64 and the prediction in 1/8, both less 128 in 16 bits, and the
    /// significance in bytes.
    fn write(&mut self, decoded: &Decoded, original: &Picture, [frame, receiver]: [usize; 2]) -> Result<(), Failure> {
        let Decoded { planes, told } = decoded;
        let [[width, height], ..] = planes.each_ref().map(|plane| plane.0);
        if width < SIDE_SAMPLES || height < SIDE_SAMPLES {
            return Err("the clip is too small".into());
        }
        let mut rest = original.samples();
        let originals = planes.each_ref().map(|(size, ..)| {
            let (own, after) = rest.split_at(size[0] * size[1]);
            rest = after;
            own
        });
        let mean = |plane: usize| {
            let ([width, height], filtered, ..) = &planes[plane];
            squares(filtered, originals[plane], [0, 0], [*width, *height], *width) / (width * height) as f32
        };
        let told = [told.base_reference.0, told.enhancement_reference.0, told.shown.0, f32::from(u8::from(told.key))];
        let head = [self.label[0] as f32, self.label[1] as f32, frame as f32, receiver as f32];
        let head = [head, told, [mean(0), mean(1), mean(2), 0.0]].concat();
        for _ in 0..self.parts {
            let tries = [(); DRAWN_PARTS].map(|()| {
                let at = [width, height]
                    .map(|side| self.random.below((side - SIDE_SAMPLES) / GRID_SAMPLES + 1) * GRID_SAMPLES);
                (squares(&planes[0].1, originals[0], at, [SIDE_SAMPLES, SIDE_SAMPLES], width), at)
            });
            let (_, at) = tries.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).ok_or("nothing was drawn")?;
            self.write_part(&head, planes, originals, at)?;
        }
        Ok(())
    }

    fn write_part(
        &mut self,
        head: &[f32],
        planes: &[Plane; 3],
        originals: [&[u8]; 3],
        [x, y]: [usize; 2],
    ) -> Result<(), Failure> {
        let mut bytes: Vec<u8> = head.iter().flat_map(|number| number.to_le_bytes()).collect();
        // Each plane's part: where it begins, its side, the plane's width.
        let parts: [_; 3] = std::array::from_fn(|plane| {
            let halved = plane.min(1);
            ([x >> halved, y >> halved], SIDE_SAMPLES >> halved, planes[plane].0[0])
        });
        for (original, part) in originals.into_iter().zip(parts) {
            rows(original, part).for_each(|row| bytes.extend(row));
        }
        for ((_, filtered, ..), part) in planes.iter().zip(parts) {
            let numbers = rows(filtered, part).flatten().map(|value| in_units(*value));
            bytes.extend(numbers.flat_map(i16::to_le_bytes));
        }
        for ((_, _, predicted, _), part) in planes.iter().zip(parts) {
            bytes.extend(rows(predicted, part).flatten().flat_map(|value| value.to_le_bytes()));
        }
        for ((.., blocks), (at, side, width)) in planes.iter().zip(parts) {
            let part = (at.map(|from| from / 4), side / 4, width.div_ceil(4));
            rows(blocks, part).for_each(|row| bytes.extend(row));
        }
        Ok(self.out.write_all(&bytes)?)
    }
}

/// A filtered sample in 16 bits.
#[expect(clippy::cast_possible_truncation, reason = "samples have nine bits before the point")]
fn in_units(value: f32) -> i16 {
    (value * SAMPLE_UNITS).round() as i16
}

/// Rows of a square part of a plane.
fn rows<T>(plane: &[T], ([x, y], side, width): ([usize; 2], usize, usize)) -> impl Iterator<Item = &[T]> {
    plane.chunks(width).skip(y).take(side).map(move |row| &row[x..x + side])
}

/// Sum of squared errors of a part.
fn squares(filtered: &[f32], original: &[u8], [x, y]: [usize; 2], [width, height]: [usize; 2], stride: usize) -> f32 {
    let rows = filtered.chunks(stride).zip(original.chunks(stride)).skip(y).take(height);
    rows.flat_map(|(a, b)| a[x..x + width].iter().zip(&b[x..x + width]))
        .map(|(a, b)| (a + 128.0 - f32::from(*b)).powi(2))
        .sum()
}

/// The same numbers on every run: splitmix64.
struct Random(u64);

impl Random {
    /// In 0..`count`.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is below `count`")]
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let share = (mixed >> 31) as f64 / (1_u64 << 33) as f64;
        (share * count as f64) as usize
    }
}
