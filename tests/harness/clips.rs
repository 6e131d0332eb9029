//! Short videos made by integer arithmetic, always the same on every machine.

use std::sync::Arc;

use nestcast_codec::{
    Bitrate, Channels, CodedFrame, Display, Format, FrameRate, Model, Picture, Population, RenditionRates, Size,
    Switch, VideoEncoder, VideoHeader, VideoModel, VideoRenditions, VideoSettings, VideoWriter, Ycbcr,
};

use crate::pictures::{self, Content};

/// The format of all clips.
pub const FORMAT: Format = Format::Ycbcr420(Ycbcr::BT601);
/// The frame rate of all clips.
pub const RATE: FrameRate = match FrameRate::new(30, 1) {
    Ok(rate) => rate,
    Err(_) => panic!("a rate"),
};

/// When the first frame of a timed clip was captured, in microseconds since 1970.
pub const FIRST_CAPTURED: u64 = 1_700_000_000_000_000;

/// A frame number that no clip has.
pub const NEVER: u32 = u32::MAX;

/// A clip, and the receivers that it is encoded for.
#[derive(Clone, Copy, Debug)]
pub struct Clip {
    /// Name of the file, without `.nst`.
    pub name: &'static str,
    /// Width in samples of luma.
    pub width: u32,
    /// Rows of luma.
    pub height: u32,
    /// The number of frames.
    pub frames: u32,
    /// The first frame of another scene.
    pub cut: u32,
    /// Whether the other scene has its own encoder, so that it begins with a key frame.
    pub begins_anew: bool,
    /// Whether the stored video has capture times.
    pub is_timed: bool,
    /// Bytes of a frame for the slowest receiver; the fastest has sixteen times as many.
    pub slowest: u32,
    /// The number of its renditions.
    pub renditions: usize,
    /// The first frame of the faster of two renditions; earlier frames are of the slower one.
    pub rises: u32,
    /// The frame in whose place is a random-access frame.
    pub joins: u32,
    /// The frame whose picture stays, and the first frame that moves again.
    pub stays: u32,
    /// See `stays`.
    pub moves_again: u32,
    /// Whether the encoder knows its receivers.
    pub knows_receivers: bool,
    /// Bits of a sample.
    pub bits: u8,
}

/// Ten frames of one scene in one loop.
const PLAIN: Clip = Clip {
    name: "video",
    width: 48,
    height: 32,
    frames: 10,
    cut: NEVER,
    begins_anew: false,
    is_timed: false,
    slowest: 40,
    renditions: 1,
    rises: NEVER,
    joins: NEVER,
    stays: NEVER,
    moves_again: NEVER,
    knows_receivers: false,
    bits: 8,
};

/// The clips whose bytes are stored as vectors.
pub const CLIPS: [Clip; 9] = [
    PLAIN,
    Clip { name: "video-odd", width: 33, height: 17, frames: 36, slowest: 25, ..PLAIN },
    Clip {
        name: "video-cut",
        width: 80,
        height: 64,
        frames: 12,
        cut: 7,
        begins_anew: true,
        is_timed: true,
        slowest: 60,
        ..PLAIN
    },
    Clip { name: "video-loops", renditions: 2, ..PLAIN },
    Clip { name: "video-switch", rises: 4, ..PLAIN },
    Clip { name: "video-join", joins: 5, ..PLAIN },
    Clip { name: "video-stays", stays: 2, knows_receivers: true, slowest: 120, moves_again: 27, frames: 30, ..PLAIN },
    Clip { name: "video-renews", width: 160, height: 160, stays: 1, slowest: 100, ..PLAIN },
    Clip { name: "video-deep", width: 50, height: 34, slowest: 60, bits: 10, ..PLAIN },
];

impl Clip {
    /// Returns width and height.
    ///
    /// # Panics
    /// If a side is not 1..=16384.
    pub fn size(&self) -> Size {
        Size::new(self.width, self.height).expect("a size of 1..=16384")
    }

    /// Returns the format of its pictures.
    pub const fn format(&self) -> Format {
        Format::planar(Ycbcr::BT601, self.bits)
    }

    /// Returns the frames: ground that pans by quarters of a sample, a patch that moves across it and grows brighter,
    /// grain.
    ///
    /// # Panics
    /// If a side is not 1..=16384.
    pub fn pictures(&self) -> Vec<Picture> {
        let scenes =
            [(3, false), (8, true)].map(|(seed, negative)| Scene::new(self.width, self.height, seed, negative));
        let picture = |number: u32| {
            let moment = if number < self.moves_again { number.min(self.stays) } else { number };
            let scene = &scenes[usize::from(number >= self.cut)];
            let mut samples = Vec::new();
            for plane in 0..3 {
                let [width, height] = FORMAT.plane(self.size(), plane);
                for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
                    let sample = scene.sample(plane, [x, y], moment as usize);
                    if self.bits == 8 {
                        samples.push(sample);
                        continue;
                    }
                    // A fraction of a step that differs from one sample to the next.
                    let fraction = (5 * x + 3 * y + 7 * moment as usize) % (1 << (self.bits - 8));
                    let fraction = u16::try_from(fraction).expect("less than 256");
                    samples.extend((u16::from(sample) << (self.bits - 8) | fraction).to_le_bytes());
                }
            }
            Picture::new(self.size(), self.format(), samples).expect("as many samples as the size says")
        };
        (0..self.frames).map(picture).collect()
    }

    /// Encodes the frames with the current codec on `threads` threads: for each picture one frame of every loop, the
    /// slowest first.
    ///
    /// # Panics
    /// If the codec refuses.
    pub fn encode_on(&self, threads: usize, model: &VideoModel) -> Vec<Vec<CodedFrame>> {
        let pictures = self.pictures();
        let first = if self.begins_anew { self.cut as usize } else { pictures.len() };
        let scenes = pictures.chunks(first);
        scenes.flat_map(|scene| self.encode(scene, threads, model).0).collect()
    }

    /// Returns the frames of the fastest loop.
    ///
    /// # Panics
    /// If the codec refuses.
    pub fn fastest_on(&self, threads: usize, model: &VideoModel) -> Vec<CodedFrame> {
        self.encode_on(threads, model).into_iter().filter_map(|mut frames| frames.pop()).collect()
    }

    /// Returns the stored video.
    ///
    /// # Panics
    /// If the codec refuses.
    pub fn stored_on(&self, threads: usize, model: &VideoModel) -> Vec<u8> {
        let renditions = self.encode(&[], 1, model).1;
        let header = VideoHeader {
            size: self.size(),
            rate: RATE,
            colours: Ycbcr::BT601,
            bits: self.bits,
            display: Display::default(),
            models: model.ids(),
            renditions,
        };
        let (mut writer, mut bytes) = VideoWriter::new(&header);
        for (at, frames) in (0..).zip(self.encode_on(threads, model)) {
            if self.is_timed {
                writer.captured(FIRST_CAPTURED + at * u64::from(1_000_000 / RATE.frames()));
            }
            for (number, frame) in frames.iter().enumerate() {
                bytes.extend(writer.frame(&frame.bytes, frame.key && number == 0));
            }
        }
        bytes.extend(writer.finish());
        bytes
    }

    fn encode(&self, scene: &[Picture], threads: usize, model: &VideoModel) -> (Vec<Vec<CodedFrame>>, RenditionRates) {
        let settings = settings(self.size(), self.slowest, threads);
        let mut encoder = VideoRenditions::new(model, settings, if self.rises == NEVER { self.renditions } else { 2 })
            .expect("one to three renditions")
            .with_known_receivers(self.knows_receivers);
        if self.rises == NEVER {
            let frame = |(number, picture)| {
                let frames = encoder.encode(picture).expect("a frame of its size");
                let join =
                    if number == self.joins as usize { encoder.join(0, 8 * self.slowest as usize) } else { None };
                join.map_or(frames, |join| vec![join])
            };
            return (scene.iter().enumerate().map(frame).collect(), encoder.rates());
        }
        let mut switch: Option<Switch> = None;
        let frame = |(number, picture)| {
            if number == self.rises as usize {
                switch = Some(encoder.switch_from(0).expect("there is a first loop"));
            }
            let mut frames = encoder.encode(picture).expect("a frame of its size");
            let to = usize::from(number >= self.rises as usize);
            let switching =
                switch.as_mut().and_then(|switch| encoder.switch_to(to, switch, 16 * self.slowest as usize));
            switch = switch.take().filter(|switch| !switch.arrived());
            vec![switching.unwrap_or_else(|| frames.swap_remove(to))]
        };
        (scene.iter().enumerate().map(frame).collect(), RenditionRates::ONE)
    }
}

/// Returns settings for receivers from `slowest` bytes a frame to sixteen times as many.
fn settings(size: Size, slowest: u32, threads: usize) -> VideoSettings {
    let least = u64::from(slowest) * 8 * u64::from(RATE.frames()) / u64::from(RATE.seconds());
    VideoSettings {
        size,
        rate: RATE,
        population: Population::log_uniform(Bitrate::from_bits(least)..=Bitrate::from_bits(16 * least)),
        threads,
    }
}

/// Encodes pictures for receivers from `slowest` bytes a frame to sixteen times as many.
///
/// # Panics
/// If the codec refuses.
pub fn encode(pictures: &[Picture], slowest: u32, threads: usize, model: &VideoModel) -> Vec<CodedFrame> {
    let mut encoder = VideoEncoder::new(model.clone(), settings(pictures[0].size(), slowest, threads));
    pictures.iter().map(|picture| encoder.encode(picture).expect("a frame of its size")).collect()
}

/// Uses the same tables for frames predicted from nothing and for residuals.
pub fn model(tables: &Arc<Model>) -> VideoModel {
    VideoModel::new(Arc::clone(tables), Arc::clone(tables))
}

/// Two pictures larger than a frame.
struct Scene {
    ground: Picture,
    patch: Picture,
    size: [usize; 2],
    /// Whether bright and dark are exchanged.
    negative: bool,
}

/// Samples of ground on every side of a frame.
const MARGIN_SAMPLES: usize = 16;

impl Scene {
    fn new(width: u32, height: u32, seed: u32, negative: bool) -> Self {
        let of = |width, height, seed| pictures::picture(Content::Photo, width, height, Channels::Rgb, seed);
        let margin = 2 * u32::try_from(MARGIN_SAMPLES).expect("small");
        let size = [width as usize, height as usize];
        Self { ground: of(width + margin, height + margin, seed), patch: of(width, height, seed + 1), size, negative }
    }

    fn sample(&self, plane: usize, [x, y]: [usize; 2], number: usize) -> u8 {
        let (x, y) = if plane == 0 { (x, y) } else { (2 * x, 2 * y) };
        let [width, height] = self.size;
        let left = (number * 3) % width.max(1);
        let inside = (left..left + width / 3).contains(&x) && (height / 4..height / 2).contains(&y);
        let value = if inside {
            at(&self.patch, plane, [x - left, y]) + number
        } else {
            // In quarters of a sample: 3 a frame to the right, 1 down.
            between(&self.ground, plane, [4 * x + 3 * number, 4 * y + number])
        };
        let grain = (x * 7 + y * 13 + number * 29) * (x + 3 * number + 5) % 5;
        let sample = u8::try_from(value + grain).unwrap_or(u8::MAX);
        if self.negative { !sample } else { sample }
    }
}

fn at(picture: &Picture, component: usize, [x, y]: [usize; 2]) -> usize {
    let (width, height) = (picture.size().width(), picture.size().height());
    usize::from(picture.samples()[3 * (y % height * width + x % width) + component])
}

/// Returns the sample at a place in quarters.
fn between(picture: &Picture, component: usize, [x, y]: [usize; 2]) -> usize {
    let (left, upper, right, lower) = (x / 4, y / 4, x % 4, y % 4);
    let row =
        |y: usize| (4 - right) * at(picture, component, [left, y]) + right * at(picture, component, [left + 1, y]);
    ((4 - lower) * row(upper) + lower * row(upper + 1)) / 16
}
