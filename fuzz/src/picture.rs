//! Pictures in files: PNG, JPEG and WebP.

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

/// The most bytes of a partition of a lossy WebP file. The decoder takes them before it finds that the file is shorter, and
/// touches no more of them than the file has.
const PARTITION_BYTES: usize = 1 << 24;

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
    read(&file, 0);
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
    read(&file, 0);
}

/// Checks the same of WebP, but its files may have few bytes for many pixels.
///
/// The input: how the file is made, then its material: the bytes unchanged, or a sound file, lossy, lossless, with
/// opacity and metadata, or animated, with parts replaced.
pub fn webp(data: &[u8]) {
    let Some((&how, rest)) = data.split_first() else { return };
    let file = match usize::from(how) % 5 {
        0 => rest.to_vec(),
        kind => patched(&WEBPS[kind - 1], rest),
    };
    read(&file, PARTITION_BYTES);
}

fn read(file: &[u8], more: usize) {
    let most = more
        + FIXED_BYTES
        + BYTES_PER_PIXEL * usize::try_from(MAX_PIXELS).expect("small")
        + BYTES_PER_BYTE * file.len();
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

/// Four squares of 16 pixels, lossy, as libwebp writes them.
const LOSSY: [u8; 84] = *b"\x70\x04\x00\x9D\x01\x2A\x20\x00\x20\x00\x3E\xC1\x4E\x9E\x4B\xA7\xA4\xA2\xA1\xB7\xFA\xA8\x00\xF0\x18\x09\x68\x00\x9D\x32\x84\x70\x37\x95\xF0\x86\x6D\x69\xDF\xA0\x8A\x8A\xA6\x28\x00\xFE\xE9\x69\x1D\x1E\x01\x6B\xBF\xF1\xDA\x8F\xD8\x6B\xB0\x30\x98\x1E\xB8\x69\xF7\x50\xBF\x9D\x02\xD0\xDF\x43\xA5\x64\x9C\xDC\x85\x0E\x06\x34\x82\xB8\x98\x00";
/// Colours that change over 20 by 12 pixels, lossless.
const LOSSLESS: [u8; 134] = *b"\x2F\x13\xC0\x02\x00\x7F\xA0\x28\x92\xA4\xE6\xC8\xE1\x05\x2E\x50\x84\x05\xC4\x62\x26\x67\xF0\xA1\x36\x92\xAD\xE4\x1B\x96\xD1\x7F\x45\x10\x53\x87\x3B\x99\x9A\x00\x40\x1A\x36\xE8\xA7\x1D\x56\x11\x0B\x99\x5E\x2F\xE6\x3F\x5C\xD8\x6D\x26\x68\x74\xC9\x27\x1F\x8F\xDF\x92\xD2\x5F\xC1\x26\xA6\x61\x7E\xA7\x5F\xB5\x6E\x11\xDC\x75\x4D\x61\x1A\xE2\xE7\x31\xB0\xAA\x6D\x2B\x0A\x11\xE8\x40\x04\x2A\x4C\x49\xA0\x8B\x11\xCC\x60\x04\x33\x69\x82\xE9\x9F\x04\xE7\x44\xF4\x3F\x02\x10\x9F\x5F\x5D\x97\xD5\x74\xDD\xC0\x0E\x6C\x63\xAA\x27\x70\xF4\xA2\xAE\x03";

/// A lossy file, a lossless one, one with opacity, a profile and Exif, and an animation.
static WEBPS: LazyLock<[Vec<u8>; 4]> = LazyLock::new(|| {
    let canvas = |flags: u8| riff(b"VP8X", &[flags, 0, 0, 0, 31, 0, 0, 31, 0, 0]);
    let (lossy, lossless) = (riff(b"VP8 ", &LOSSY), riff(b"VP8L", &LOSSLESS));
    let opacity = riff(b"ALPH", &samples(19, 18)[..1 + 32 * 32]);
    let rich = [canvas(0x38), riff(b"ICCP", &[7; 40]), opacity, lossy.clone(), riff(b"EXIF", b"II*\0\x08\0\0\0\0\0")];
    let frame = |sides: [u8; 2], picture: &[u8]| {
        let head = [0, 0, 0, 0, 0, 0, sides[0] - 1, 0, 0, sides[1] - 1, 0, 0, 9, 0, 0, 0];
        riff(b"ANMF", &[&head[..], picture].concat())
    };
    let animated = [canvas(2), riff(b"ANIM", &[0; 6]), frame([20, 12], &lossless), frame([32, 32], &lossy)];
    [lossy, lossless, rich.concat(), animated.concat()].map(|chunks| riff(b"RIFF", &[b"WEBP", &chunks[..]].concat()))
});

fn riff(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(data.len()).expect("it is short").to_le_bytes();
    [&kind[..], &length, data, &[0][..data.len() % 2]].concat()
}

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
