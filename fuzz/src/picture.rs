//! Pictures in files: PNG and JPEG.

use std::sync::LazyLock;

use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use miniz_oxide::deflate::compress_to_vec_zlib;
use nestcast_codec::{Channels, Picture, Size};
use nestcast_media::picture::{self, Decoded, Samples};

use crate::bounded;
use crate::patched::patched;

const MAX_PIXELS: u64 = 4096;
/// The bytes that decoders hold of the smallest file: windows, tables, rows, and the table of a profile of ink.
const FIXED_BYTES: usize = 4 << 20;
/// For each pixel: 16 bits of four channels, the same as 8 bits, opaque, turned, and what this target makes of it.
const BYTES_PER_PIXEL: usize = 64;
/// Deflate makes at best this many bytes of one; a decoder holds a profile twice while it unpacks it.
const BYTES_PER_BYTE: usize = 2 * 1032;

/// Checks that any bytes are a PNG picture within the limit, or are refused in one line. The length of the file and the
/// limit bound the memory. A picture that was read is written as PNG that reads as the same picture, without a note;
/// with all its samples too.
///
/// The input: how the file is made, then its material: the bytes unchanged, or a sound file with parts replaced, or any
/// chunks and rows, compressed. The checksums are right.
pub fn png(data: &[u8]) {
    let Some((&how, rest)) = data.split_first() else { return };
    let file = match how % 3 {
        0 => rest.to_vec(),
        1 => sealed(&patched(&PNG, rest)),
        _ => built(rest),
    };
    read(&file);
}

/// Checks the same of JPEG. Work is bounded too: a file of few scans is decoded, and others are refused before.
///
/// The input: how the file is made, then its material: the bytes unchanged, or a sound file of one or of many scans,
/// with parts replaced.
pub fn jpeg(data: &[u8]) {
    let Some((&how, rest)) = data.split_first() else { return };
    let [baseline, progressive, optimised] = &*JPEGS;
    let file = match how % 4 {
        0 => rest.to_vec(),
        1 => patched(baseline, rest),
        2 => patched(progressive, rest),
        _ => patched(optimised, rest),
    };
    read(&file);
}

fn read(file: &[u8]) {
    let most =
        FIXED_BYTES + BYTES_PER_PIXEL * usize::try_from(MAX_PIXELS).expect("small") + BYTES_PER_BYTE * file.len();
    bounded::within(most, "decoding a picture", || match picture::decode(file, MAX_PIXELS) {
        Ok(Decoded { picture, notes }) => {
            assert!(picture.size().pixels() as u64 <= MAX_PIXELS && notes.len() <= 6, "{notes:?}");
            let again = picture::encode_png(&picture).expect("memory takes it");
            assert_eq!(
                picture::decode(&again, MAX_PIXELS).expect("it is sound"),
                Decoded { picture, notes: Vec::new() }
            );
        }
        Err(error) => {
            let line = error.to_string();
            assert!(!line.contains(|c: char| c.is_control()), "no line for a terminal: {line:?}");
        }
    });
    bounded::within(most, "decoding all samples", || {
        if let Ok(Decoded { picture, .. }) = picture::decode_as(file, MAX_PIXELS, Samples::All) {
            let again = picture::encode_png(&picture).expect("memory takes it");
            assert_eq!(picture::decode_as(&again, MAX_PIXELS, Samples::All).expect("it is sound").picture, picture);
        }
    });
}

/// A few colours in a few blocks.
fn samples(width: usize, height: usize) -> Vec<u8> {
    (0..width * height * 3).map(|at| (at * at / 7 % 251).to_le_bytes()[0]).collect()
}

static PNG: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let size = Size::new(9, 7).expect("a valid size");
    let picture = Picture::new(size, Channels::Rgb, samples(9, 7)).expect("as many samples as pixels");
    picture::encode_png(&picture).expect("memory takes it")
});

/// JPEG files of one scan, of many, and of one for each component.
static JPEGS: LazyLock<[Vec<u8>; 3]> = LazyLock::new(|| {
    [(false, false), (true, false), (false, true)].map(|(progressive, optimised)| {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, 60);
        encoder.set_sampling_factor(SamplingFactor::F_2_2);
        encoder.set_progressive(progressive);
        encoder.set_optimized_huffman_tables(optimised);
        encoder.encode(&samples(24, 20), 24, 20, ColorType::Rgb).expect("memory takes it");
        bytes
    })
});

const SIGNATURE: &[u8; 8] = b"\x89PNG\r\n\x1a\n";

/// Makes a PNG file whose chunks have right checksums, as far as there are chunks.
fn sealed(file: &[u8]) -> Vec<u8> {
    let mut bytes = file.to_vec();
    let mut at = SIGNATURE.len();
    while let Some(&[a, b, c, d]) = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
        let Ok(length) = usize::try_from(u32::from_be_bytes([a, b, c, d])) else { break };
        let (from, to) = (at + 4, at.saturating_add(8).saturating_add(length));
        let Some(content) = bytes.get(from..to) else { break };
        let sum = crc32fast::hash(content).to_be_bytes();
        let Some(place) = bytes.get_mut(to..to.saturating_add(4)) else { break };
        place.copy_from_slice(&sum);
        at = to + 4;
    }
    bytes
}

/// Kinds of chunks that a decoder reads.
const CHUNKS: [&[u8; 4]; 12] =
    [b"PLTE", b"tRNS", b"gAMA", b"iCCP", b"eXIf", b"tEXt", b"zTXt", b"iTXt", b"acTL", b"fcTL", b"fdAT", b"IDAT"];

/// Makes a header of small sides, any chunks, some with compressed content, and as many rows as there are bytes.
fn built(input: &[u8]) -> Vec<u8> {
    let Some((&[width, height, depth, colour, interlaced, count], mut rest)) = input.split_first_chunk::<6>() else {
        return Vec::new();
    };
    let mut file = SIGNATURE.to_vec();
    let depth = [1, 2, 4, 8, 16, depth][usize::from(depth) % 6];
    let header = [0, 0, 0, width, 0, 0, 0, height, depth, colour % 8, 0, 0, interlaced % 3];
    chunk(&mut file, b"IHDR", &header);
    for _ in 0..count % 4 {
        let Some((&[kind, length], after)) = rest.split_first_chunk::<2>() else { break };
        let (body, after) = after.split_at(usize::from(length).min(after.len()));
        rest = after;
        let kind_of = CHUNKS[usize::from(kind) % CHUNKS.len()];
        // After a name: the bytes after the first zero byte are packed.
        let named = body.iter().position(|&byte| byte == 0).map(|at| body.split_at(at + 1));
        match named {
            Some((name, content)) if kind >= 0x80 => {
                chunk(&mut file, kind_of, &[name, &[0], &compress_to_vec_zlib(content, 1)].concat());
            }
            _ => chunk(&mut file, kind_of, body),
        }
    }
    chunk(&mut file, b"IDAT", &compress_to_vec_zlib(rest, 1));
    chunk(&mut file, b"IEND", &[]);
    file
}

fn chunk(file: &mut Vec<u8>, kind: &[u8; 4], content: &[u8]) {
    let length = u32::try_from(content.len()).expect("an input is short");
    file.extend(length.to_be_bytes());
    let from = file.len();
    file.extend(kind);
    file.extend(content);
    let sum = crc32fast::hash(&file[from..]);
    file.extend(sum.to_be_bytes());
}
