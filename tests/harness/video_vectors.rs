//! The vectors of video in `spec/vectors`: stored videos, and the decoding of their frames at some cuts.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use nestcast_codec::{
    DecodedPart, Format, FrameResidualDecoder, FrameResiduals, Model, Picture, Size, VideoDecoder, Ycbcr,
};

use crate::clips::{self, CLIPS, Clip};
use crate::reference::{Head, StoredVideo, VideoReference};
use crate::vectors::{folder, sha256};

const COLUMNS: &str = "vector\tvideo sha256\trun\tframe\tbytes\tfloor sha256\tenhanced sha256\tshown sha256\n";
/// Which bytes of every frame arrive: all; only the base; any number after the side information; all, but of one frame
/// only a part of the side information, and of the next nothing.
pub const RUNS: [&str; 4] = ["whole", "base", "cuts", "losses"];

/// A line of the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What arrives.
    pub run: String,
    /// Number of its record, from 0.
    pub frame: usize,
    /// Bytes of the frame that arrived.
    pub bytes: usize,
    /// Digests of floor, enhanced picture and shown frame.
    pub digests: [String; 3],
}

/// Reads a stored video.
///
/// # Panics
/// If the file is missing.
pub fn read(clip: &Clip) -> Vec<u8> {
    let file = format!("{}.nst", clip.name);
    fs::read(folder().join(&file)).unwrap_or_else(|error| panic!("spec/vectors/{file}: {error}"))
}

/// Returns the manifest's lines of a clip.
///
/// # Panics
/// If they cannot be read, or are of another file.
pub fn rows(clip: &Clip) -> Vec<Row> {
    let manifest = fs::read_to_string(folder().join("video.tsv")).expect("spec/vectors/video.tsv");
    let digest = sha256(&read(clip));
    let lines = manifest.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
    let own = lines.filter(|columns| columns[0] == clip.name);
    let row = |columns: Vec<&str>| {
        assert_eq!(columns[1], digest, "{}: the manifest is of another file", clip.name);
        Row {
            run: columns[2].to_owned(),
            frame: columns[3].parse().expect("a number"),
            bytes: columns[4].parse().expect("a number"),
            digests: [5, 6, 7].map(|column| columns[column].to_owned()),
        }
    };
    own.map(row).collect()
}

/// Decodes a stored video of which `counts` bytes of each frame arrive: floor and enhanced picture by the reference
/// decoder, the shown frame by both, and by a decoder that gets the residuals from another one.
///
/// # Panics
/// If one of them refuses it, or they show different frames.
pub fn decode(tables: &[u8], stored: &[u8], run: &str, counts: &[usize]) -> Vec<Row> {
    let video = StoredVideo::read(stored).expect("a valid video");
    let side = |side: usize| u32::try_from(side).expect("at most 16384");
    let size = Size::new(side(video.width), side(video.height)).expect("a valid size");
    let model = clips::model(&Arc::new(Model::from_bytes(tables).expect("valid tables")));
    // Every loop has its own decoders.
    let reference = || VideoReference::new(tables, tables, video.width, video.height).expect("valid tables");
    let renditions = video.renditions.len().max(1);
    let decoder = || VideoDecoder::new(model.clone(), size, 1);
    let mut decoders: Vec<_> = (0..renditions).map(|_| (reference(), decoder(), decoder())).collect();
    let mut residuals = FrameResidualDecoder::new(model.clone(), size, 1);
    let (mut made, mut taken) = (FrameResiduals::default(), FrameResiduals::default());
    let mut picture = Picture::zero(size, Format::planar(Ycbcr::BT601, video.bits));
    let mut rows = Vec::new();
    for (frame, (bytes, &count)) in video.frames.iter().zip(counts).enumerate() {
        let (reference, decoder, halved) = &mut decoders[frame % renditions];
        let is_used = reference.decode(&bytes[..count]).expect("a valid frame");
        let part = decoder.decode(&bytes[..count]).expect("a valid frame");
        assert_eq!(is_used, part > DecodedPart::Nothing, "{run}, frame {frame}");
        decoder.render_into(&mut picture).expect("its size and format");
        let shown = if video.bits > 8 { reference.shown_deep(video.bits.into()) } else { reference.shown() };
        assert!(shown == picture.samples(), "{run}, frame {frame}: the codec shows another frame");
        let is_there = residuals.decode(&bytes[..count], &mut made).expect("a valid frame");
        if halved.predict(&bytes[..count]).expect("a valid frame") > DecodedPart::Nothing {
            assert!(is_there, "{run}, frame {frame}: a prediction without residuals");
            taken.room(made.numbers().len()).copy_from_slice(made.numbers());
            halved.complete_with(&mut taken).expect("residuals of this frame");
        }
        let mut again = Picture::zero(size, picture.format());
        halved.render_into(&mut again).expect("its size and format");
        assert!(picture == again, "{run}, frame {frame}: in two halves it is another frame");
        let digests =
            [digest(&reference.floor()), digest(&reference.enhancement_reference()), sha256(picture.samples())];
        rows.push(Row { run: run.to_owned(), frame, bytes: count, digests });
    }
    rows
}

/// Returns the bytes of each frame that arrive.
fn counts(video: &StoredVideo, run: &str) -> Vec<usize> {
    let count = |(number, frame): (usize, &Vec<u8>)| {
        let head = Head::read(frame).expect("a valid frame").expect("a whole head");
        let base = (head.bytes + head.side + head.base_reference).min(frame.len());
        match (run, number % 6) {
            ("whole", _) => frame.len(),
            ("base", _) => base,
            ("losses", _) if number == 2 => head.bytes + head.side / 2,
            ("losses", _) if number == 3 => 0,
            ("losses", _) => frame.len(),
            (_, 1) => base + (frame.len() - base) / 3,
            (_, 3) => head.bytes + head.side + head.base_reference / 2,
            (_, 4) => head.bytes + head.side,
            _ => frame.len() - frame.len() / 5,
        }
    };
    video.frames.iter().enumerate().map(count).collect()
}

/// Writes videos and manifest.
///
/// # Errors
/// If a file cannot be written.
///
/// # Panics
/// If the codec or the reference decoder refuses a video.
pub fn write(folder: &Path, tables: &[u8]) -> std::io::Result<()> {
    let model = clips::model(&Arc::new(Model::from_bytes(tables).expect("valid tables")));
    let mut manifest = COLUMNS.to_owned();
    for clip in &CLIPS {
        let stored = clip.stored_on(1, &model);
        fs::write(folder.join(format!("{}.nst", clip.name)), &stored)?;
        let video = StoredVideo::read(&stored).expect("a valid video");
        for run in RUNS {
            for row in decode(tables, &stored, run, &counts(&video, run)) {
                let (name, [base_reference, enhancement_reference, shown]) = (clip.name, &row.digests);
                let digests = format!("{base_reference}\t{enhancement_reference}\t{shown}");
                writeln!(manifest, "{name}\t{}\t{run}\t{}\t{}\t{digests}", sha256(&stored), row.frame, row.bytes)
                    .expect("a string");
            }
        }
    }
    fs::write(folder.join("video.tsv"), manifest)
}

/// Returns the digest of samples of 16 bits, signed, little-endian.
fn digest(samples: &[i64]) -> String {
    let bytes = samples.iter().flat_map(|sample| i16::try_from(*sample).expect("clipped").to_le_bytes());
    sha256(&bytes.collect::<Vec<u8>>())
}
