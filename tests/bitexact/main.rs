//! Prints digests of everything that must be the same on every machine, for `cargo xtask bitexact`: `cargo run
//! --release -p nestcast-bitexact -- PHOTOS THREADS...`, where PHOTOS is the number of photos, up to three, among the
//! pictures.
//!
//! Each line gives the object, the number of threads, and the object's SHA-256. The objects of a picture are:
//!
//! - the stream;
//! - the coefficients that a decoder knows at some cuts, which are the levels and their reconstruction points;
//! - the planes of the linear synthesis before rounding, as the bits of floats;
//! - the samples of the picture.
//!
//! The objects of a clip are the stored video, and the frames that decoders show of all bytes, of the bases, and of
//! amounts in between. Clips of more than 8 bits are shown in 8 bits and in their own; WebAssembly has no code for more
//! than 8. The program also checks vectors against their manifest.

use std::error::Error;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nestcast_codec::{
    Analysis as _, Channels, Decoder, Encoder, Linear, Model, Picture, Size, Synthesis as _, VideoDecoder,
};
use sha2::{Digest as _, Sha256};

use crate::clips::{CLIPS, Clip, FORMAT};
use crate::pictures::CONTENTS;
use crate::recipes::RECIPES;

#[allow(dead_code, unreachable_pub, missing_docs, reason = "it is part of the tests' library")]
#[path = "../harness/clips.rs"]
mod clips;
#[allow(dead_code, unreachable_pub, missing_docs, reason = "it is part of the tests' library")]
#[path = "../harness/pictures.rs"]
mod pictures;
#[allow(dead_code, unreachable_pub, missing_docs, reason = "it is part of the tests' library")]
#[path = "../harness/recipes.rs"]
mod recipes;

/// The photos in the repository.
const PHOTOS: [&str; 3] =
    ["lab/assets/spiral_firework.png", "benches/pictures/budgie_branch.png", "benches/pictures/mai_island.png"];

/// The bytes of the longest header of an opaque stream of 8 bits.
const USUAL_HEADER: usize = 20;

const USAGE: &str = "usage: bitexact PHOTOS THREADS..., of three photos";

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let numbers = std::env::args().skip(1).map(|word| word.parse()).collect::<Result<Vec<usize>, _>>()?;
    let [photo_count, counts @ ..] = &numbers[..] else { return Err(USAGE.into()) };
    if counts.is_empty() || *photo_count > PHOTOS.len() {
        return Err(USAGE.into());
    }
    let frozen = Arc::new(Model::from_bytes(&fs::read(file("spec/vectors/tables.bin"))?)?);
    let photo = Model::photo();
    let manifest = fs::read_to_string(file("spec/vectors/manifest.tsv"))?;
    let photos = PHOTOS[..*photo_count]
        .iter()
        .map(|path| Ok((*path, open(path)?)))
        .collect::<Result<Vec<_>, Box<dyn Error + Send + Sync>>>()?;
    for &threads in counts {
        for recipe in &RECIPES {
            let stream = recipe.encode_on(threads, &frozen);
            Digests { name: recipe.name, threads, model: &frozen }.vector(&stream, &manifest)?;
        }
        for (content, channels) in
            CONTENTS.into_iter().flat_map(|content| [Channels::Grey, Channels::Rgb].map(|kind| (content, kind)))
        {
            let name = format!("{content:?}-{channels:?}");
            let picture = pictures::picture(content, 333, 275, channels, 7);
            Digests { name: &name, threads, model: &photo }.picture(&picture)?;
        }
        for (name, picture) in &photos {
            Digests { name, threads, model: &photo }.picture(picture)?;
        }
        for clip in &CLIPS {
            Digests { name: clip.name, threads, model: &frozen }.clip(clip)?;
        }
    }
    Ok(())
}

/// Prints the digests of one picture on a number of threads.
struct Digests<'a> {
    name: &'a str,
    threads: usize,
    model: &'a Arc<Model>,
}

impl Digests<'_> {
    /// Prints the digests of everything that is made of a picture.
    fn picture(&self, picture: &Picture) -> Result<(), Box<dyn Error + Send + Sync>> {
        let linear = Linear::new(self.model.clone()).with_threads(self.threads);
        let analysed = linear.coefficients_of(picture.into())?;
        self.print("analysis", &floats(&analysed.subbands));
        let stream = Encoder::new(linear).encode_coefficients(&analysed)?;
        let stream = stream.bytes();
        self.print("stream", stream);
        for cut in [USUAL_HEADER, 500, 10_000, stream.len()] {
            self.cut(stream, cut.min(stream.len()))?;
        }
        Ok(())
    }

    /// Prints the digest of a vector, which must equal the frozen one.
    fn vector(&self, stream: &[u8], manifest: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
        let digest = self.print("stream", stream);
        for line in manifest.lines() {
            let columns: Vec<&str> = line.split('\t').collect();
            let [name, _, _, _, _, _, frozen_stream, cut, _, frozen_samples] = columns[..] else {
                return Err(format!("spec/vectors/manifest.tsv: {line:?} has not ten columns").into());
            };
            if name != self.name {
                continue;
            }
            let samples = self.cut(stream, cut.parse::<usize>()?.min(stream.len()))?;
            if [&*digest, &*samples] != [frozen_stream, frozen_samples] {
                return Err(format!("{name}, first {cut} bytes: other than spec/vectors/manifest.tsv has it").into());
            }
        }
        Ok(())
    }

    /// Prints the digests of a stored video, and of the frames that decoders with different prefixes show.
    fn clip(&self, clip: &Clip) -> Result<(), Box<dyn Error + Send + Sync>> {
        let model = clips::model(self.model);
        self.print("stored video", &clip.stored_on(self.threads, &model));
        let frames = clip.fastest_on(self.threads, &model);
        let formats = [FORMAT, clip.format()];
        let formats = if clip.bits > 8 && !cfg!(target_family = "wasm") { &formats[..] } else { &formats[..1] };
        for (format, quarters) in formats.iter().flat_map(|&format| [0, 1, 4].map(|quarters| (format, quarters))) {
            let mut picture = Picture::zero(clip.size(), format);
            let mut decoder = VideoDecoder::new(model.clone(), clip.size(), self.threads);
            let mut shown = Vec::new();
            for frame in &frames {
                let count = frame.base + (frame.bytes.len() - frame.base) * quarters / 4;
                decoder.decode(&frame.bytes[..count])?;
                decoder.render_into(&mut picture)?;
                shown.extend_from_slice(picture.samples());
            }
            let deep = if format == FORMAT { "" } else { ", deep" };
            self.print(&format!("frames of the base and {quarters} quarters of the rest{deep}"), &shown);
        }
        Ok(())
    }

    /// Prints the digests of a decoded prefix; returns that of the samples.
    fn cut(&self, stream: &[u8], cut: usize) -> Result<String, Box<dyn Error + Send + Sync>> {
        let linear = Linear::new(self.model.clone()).with_threads(self.threads);
        let mut decoder = Decoder::new(linear.clone());
        decoder.push(&stream[..cut])?;
        let (coefficients, at) = decoder.coefficients()?;
        self.print(&format!("coefficients of {cut} bytes"), &floats(&coefficients.subbands));
        let planes = linear.compose(coefficients)?;
        self.print(&format!("planes of {cut} bytes"), &floats(&planes.components));
        let mut picture = linear.picture_of(coefficients.clone(), at)?;
        let format = decoder.header().ok_or("no header")?.format();
        if format != picture.format() {
            picture = decoder.render_as(format)?;
        }
        Ok(self.print(&format!("samples of {cut} bytes"), picture.samples()))
    }

    fn print(&self, what: &str, bytes: &[u8]) -> String {
        let digest = Sha256::digest(bytes).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        println!("{} {what}\t{}\t{digest}", self.name, self.threads);
        digest
    }
}

/// Returns the bits of floats.
fn floats(parts: &[Vec<f32>]) -> Vec<u8> {
    parts.iter().flatten().flat_map(|value| value.to_bits().to_le_bytes()).collect()
}

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Reads a photo: 8 bits, RGB.
fn open(path: &str) -> Result<Picture, Box<dyn Error + Send + Sync>> {
    let mut reader = png::Decoder::new(BufReader::new(File::open(file(path))?)).read_info()?;
    let mut samples = vec![0; reader.output_buffer_size().ok_or("too large a photo")?];
    let frame = reader.next_frame(&mut samples)?;
    Ok(Picture::new(Size::new(frame.width, frame.height)?, Channels::Rgb, samples)?)
}
