//! Prints digests of what must be the same on every machine, for `cargo xtask bitexact`:
//! `cargo run --release -p nestcast-bitexact -- PHOTOS THREADS...`, where PHOTOS is how many of three photos are among the pictures.
//!
//! Each line is what was made, the number of threads, and the SHA-256 of it: of streams; of coefficients as a decoder knows
//! them at some cuts, which are the levels and their reconstruction points; of the planes of the linear synthesis before
//! they are rounded; and of the samples of the picture. Floats count by their bits. Of clips: the stored video, and the
//! frames that are shown of all bytes, of the bases, and of what is between. Vectors are held to their manifest besides.

use std::error::Error;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nestcast_codec::{
    Analysis as _, Channels, Decoder, Encoder, Linear, MAX_HEADER, Model, Picture, Size, Synthesis as _, VideoDecoder,
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

/// The photos that the repository has.
const PHOTOS: [&str; 3] =
    ["lab/assets/spiral_firework.png", "benches/pictures/budgie_branch.png", "benches/pictures/mai_island.png"];

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

/// Prints the digests of one picture on so many threads.
struct Digests<'a> {
    name: &'a str,
    threads: usize,
    model: &'a Arc<Model>,
}

impl Digests<'_> {
    /// Of all that is made of a picture.
    fn picture(&self, picture: &Picture) -> Result<(), Box<dyn Error + Send + Sync>> {
        let linear = Linear::new(self.model.clone()).with_threads(self.threads);
        let analysed = linear.coefficients_of(picture.into())?;
        self.print("analysis", &floats(&analysed.subbands));
        let stream = Encoder::new(linear).encode_coefficients(&analysed)?;
        let stream = stream.bytes();
        self.print("stream", stream);
        for cut in [MAX_HEADER, 500, 10_000, stream.len()] {
            self.cut(stream, cut.min(stream.len()))?;
        }
        Ok(())
    }

    /// Of a vector, which must be what it was when it was frozen.
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

    /// Of a stored video, and of the frames that decoders with different prefixes show.
    fn clip(&self, clip: &Clip) -> Result<(), Box<dyn Error + Send + Sync>> {
        let model = clips::model(self.model);
        self.print("stored video", &clip.stored_on(self.threads, &model));
        let frames = clip.fastest_on(self.threads, &model);
        let mut picture = Picture::zero(clip.size(), FORMAT);
        for quarters in [0, 1, 4] {
            let mut decoder = VideoDecoder::new(model.clone(), clip.size(), self.threads);
            let mut shown = Vec::new();
            for frame in &frames {
                let count = frame.base + (frame.bytes.len() - frame.base) * quarters / 4;
                decoder.decode(&frame.bytes[..count])?;
                decoder.render_into(&mut picture)?;
                shown.extend_from_slice(picture.samples());
            }
            self.print(&format!("frames of the base and {quarters} quarters of the rest"), &shown);
        }
        Ok(())
    }

    /// Of what a prefix decodes to; gives that of the samples.
    fn cut(&self, stream: &[u8], cut: usize) -> Result<String, Box<dyn Error + Send + Sync>> {
        let linear = Linear::new(self.model.clone()).with_threads(self.threads);
        let mut decoder = Decoder::new(linear.clone());
        decoder.push(&stream[..cut])?;
        let (coefficients, at) = decoder.coefficients()?;
        self.print(&format!("coefficients of {cut} bytes"), &floats(&coefficients.subbands));
        let planes = linear.compose(coefficients)?;
        self.print(&format!("planes of {cut} bytes"), &floats(&planes.components));
        let picture = linear.picture_of(coefficients.clone(), at)?;
        Ok(self.print(&format!("samples of {cut} bytes"), picture.samples()))
    }

    fn print(&self, what: &str, bytes: &[u8]) -> String {
        let digest = Sha256::digest(bytes).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        println!("{} {what}\t{}\t{digest}", self.name, self.threads);
        digest
    }
}

/// The bits of floats.
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
