//! Every kind of PNG that the specification (third edition) allows, drawn here bit by bit: colour types and depths,
//! interlacing, filters, palettes, transparency, split data, chunks that viewers ignore, and broken files. The writer
//! below shares no code with the decoder.

use nestcast_codec::{Channels, Format};
use nestcast_media::picture::{Decoded, Error, Note, Samples, decode, decode_as};

/// First column and row of each pass of Adam7, and the distances of its columns and rows.
const ADAM7: [[usize; 4]; 7] =
    [[0, 0, 8, 8], [4, 0, 8, 8], [0, 4, 4, 8], [2, 0, 4, 4], [0, 2, 2, 4], [1, 0, 2, 2], [0, 1, 1, 2]];
const GREY: u8 = 0;
const RGB: u8 = 2;
const PALETTE: u8 = 3;
const GREY_ALPHA: u8 = 4;
const RGBA: u8 = 6;
/// All colour types with their depths.
const KINDS: [(u8, &[u8]); 5] =
    [(GREY, &[1, 2, 4, 8, 16]), (RGB, &[8, 16]), (PALETTE, &[1, 2, 4, 8]), (GREY_ALPHA, &[8, 16]), (RGBA, &[8, 16])];

/// A picture in one of the kinds.
#[derive(Debug, Clone, Copy)]
struct Drawing {
    colour: u8,
    depth: u8,
    width: usize,
    height: usize,
}

impl Drawing {
    const fn channels(self) -> usize {
        match self.colour {
            GREY | PALETTE => 1,
            GREY_ALPHA => 2,
            RGB => 3,
            _ => 4,
        }
    }

    const fn max(self) -> u32 {
        (1 << self.depth) - 1
    }

    /// Returns a sample: all values occur, the least and the greatest among them.
    fn sample(self, x: usize, y: usize, channel: usize) -> u32 {
        let at = u32::try_from((x * 7 + y * 13 + channel * 5) % 32).expect("it is small");
        (at * self.max() + 15) / 31
    }

    /// Returns a row of `columns`, packed and filtered; the filters alternate.
    fn row(self, columns: &[usize], y: usize, filter: u8, above: &mut Vec<u8>) -> Vec<u8> {
        let (mut packed, mut bits, mut waiting) = (Vec::new(), 0_u32, 0);
        for &x in columns {
            for channel in 0..self.channels() {
                bits = bits << self.depth | self.sample(x, y, channel);
                waiting += self.depth;
                while waiting >= 8 {
                    waiting -= 8;
                    packed.push((bits >> waiting).to_le_bytes()[0]);
                }
            }
        }
        if waiting > 0 {
            packed.push((bits << (8 - waiting)).to_le_bytes()[0]);
        }
        let distance = (self.channels() * usize::from(self.depth)).div_ceil(8);
        above.resize(packed.len(), 0);
        let filtered = packed.iter().enumerate().map(|(at, byte)| {
            let before = |row: &[u8]| at.checked_sub(distance).map_or(0, |at| row[at]);
            let (left, up, corner) = (before(&packed), above[at], before(above));
            byte.wrapping_sub(match filter {
                0 => 0,
                1 => left,
                2 => up,
                3 => u8::midpoint(left, up),
                _ => paeth(left, up, corner),
            })
        });
        let row = [filter].into_iter().chain(filtered).collect();
        *above = packed;
        row
    }

    /// Returns the rows of a picture, or those of the seven passes.
    fn rows(self, interlaced: bool) -> Vec<u8> {
        let passes = if interlaced { &ADAM7[..] } else { &[[0, 0, 1, 1]] };
        let mut all = Vec::new();
        for &[left, top, across, down] in passes {
            let columns: Vec<usize> = (left..self.width).step_by(across).collect();
            let mut above = Vec::new();
            if columns.is_empty() {
                continue;
            }
            for (y, filter) in (top..self.height).step_by(down).zip((0..5).cycle()) {
                all.extend(self.row(&columns, y, filter, &mut above));
            }
        }
        all
    }

    /// Returns a file with these chunks before its data, which are in pieces of `piece` bytes.
    fn file(self, interlaced: bool, chunks: &[(&[u8; 4], &[u8])], piece: usize) -> Vec<u8> {
        let side = |side: usize| u32::try_from(side).expect("it is small").to_be_bytes();
        let kind = [self.depth, self.colour, 0, 0, u8::from(interlaced)];
        let header = [&side(self.width)[..], &side(self.height), &kind].concat();
        let mut file = [&b"\x89PNG\r\n\x1A\n"[..], &chunk(b"IHDR", &header)].concat();
        file.extend(chunks.iter().flat_map(|(kind, data)| chunk(kind, data)));
        file.extend(zlib(&self.rows(interlaced)).chunks(piece).flat_map(|part| chunk(b"IDAT", part)));
        file.extend(chunk(b"IEND", &[]));
        file
    }

    /// Returns a sample in 8 bits.
    fn eight(self, sample: u32) -> u8 {
        u8::try_from((sample * 255 + self.max() / 2) / self.max()).expect("it is scaled to a byte")
    }

    /// Returns the samples that a viewer shows over white; `clear` is the colour that tRNS makes transparent.
    fn shown(self, clear: Option<&[u32]>, opacity: impl Fn(usize) -> u8) -> Vec<u8> {
        let mut shown = Vec::new();
        for y in 0..self.height {
            for x in 0..self.width {
                let samples: Vec<u32> = (0..self.channels()).map(|channel| self.sample(x, y, channel)).collect();
                let bytes: Vec<u8> = samples.iter().map(|&sample| self.eight(sample)).collect();
                let is_clear = clear == Some(&samples[..]);
                let (colours, alpha) = match self.colour {
                    GREY | RGB => (bytes, if is_clear { 0 } else { 255 }),
                    PALETTE => (entry(samples[0] as usize).to_vec(), opacity(samples[0] as usize)),
                    _ => (bytes[..bytes.len() - 1].to_vec(), bytes[bytes.len() - 1]),
                };
                let over =
                    |sample: u8| (u32::from(sample) * u32::from(alpha) + 255 * (255 - u32::from(alpha)) + 127) / 255;
                shown.extend(colours.into_iter().map(|sample| u8::try_from(over(sample)).expect("a mean of bytes")));
            }
        }
        shown
    }
}

/// Returns a colour of the palette.
fn entry(at: usize) -> [u8; 3] {
    [at * 3, 255 - at, at * 29].map(|sample| (sample % 256).to_le_bytes()[0])
}

fn palette(depth: u8) -> Vec<u8> {
    (0..1 << depth).flat_map(entry).collect()
}

fn paeth(left: u8, up: u8, corner: u8) -> u8 {
    let guess = i32::from(left) + i32::from(up) - i32::from(corner);
    // The first of equally near ones.
    [left, up, corner].into_iter().min_by_key(|near| guess.abs_diff(i32::from(*near))).unwrap_or(left)
}

/// Wraps bytes as zlib does, in blocks that are stored.
fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let count = bytes.chunks(1000).count();
    for (at, block) in bytes.chunks(1000).enumerate() {
        let length = u16::try_from(block.len()).expect("it is short");
        out.push(u8::from(at + 1 == count));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
    }
    let (mut a, mut b) = (1_u32, 0);
    for byte in bytes {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    out.extend((b << 16 | a).to_be_bytes());
    out
}

fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let body = [&kind[..], data].concat();
    let length = u32::try_from(data.len()).expect("it is short").to_be_bytes();
    let crc = !body.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0xEDB8_8320 } else { 0 })
    });
    [&length[..], &body, &crc.to_be_bytes()].concat()
}

fn drawings(width: usize, height: usize) -> impl Iterator<Item = Drawing> {
    KINDS
        .into_iter()
        .flat_map(move |(colour, depths)| depths.iter().map(move |&depth| Drawing { colour, depth, width, height }))
}

#[track_caller]
fn assert_shows(file: &[u8], drawing: Drawing, expected: &[u8], notes: &[Note]) {
    let Decoded { picture, notes: given } =
        decode(file, 1 << 20).unwrap_or_else(|error| panic!("{drawing:?}: {error}"));
    let format = if matches!(drawing.colour, GREY | GREY_ALPHA) { Format::Grey } else { Format::Rgb };
    assert_eq!(picture.format(), format, "{drawing:?}");
    assert_eq!((picture.size().width(), picture.size().height()), (drawing.width, drawing.height));
    assert!(picture.samples() == expected, "{drawing:?}: {:?}, not {expected:?}", picture.samples());
    assert_eq!(given, notes, "{drawing:?}");
}

/// Returns the chunks that a kind needs.
fn needed(drawing: Drawing) -> Vec<(&'static [u8; 4], Vec<u8>)> {
    if drawing.colour == PALETTE { vec![(b"PLTE", palette(drawing.depth))] } else { Vec::new() }
}

fn borrowed<'a>(chunks: &'a [(&'static [u8; 4], Vec<u8>)]) -> Vec<(&'a [u8; 4], &'a [u8])> {
    chunks.iter().map(|(kind, data)| (*kind, &data[..])).collect()
}

/// Returns the notes about a kind.
fn noted(drawing: Drawing) -> Vec<Note> {
    let deep = (drawing.depth == 16).then_some(Note::Depth);
    let clear = matches!(drawing.colour, GREY_ALPHA | RGBA).then_some(Note::Transparency);
    deep.into_iter().chain(clear).collect()
}

#[test]
fn all_colour_types_depths_and_filters_are_read_interlaced_or_not() {
    for drawing in drawings(33, 11) {
        for interlaced in [false, true] {
            let file = drawing.file(interlaced, &borrowed(&needed(drawing)), usize::MAX);
            assert_shows(&file, drawing, &drawing.shown(None, |_| 255), &noted(drawing));
        }
    }
}

/// The kinds whose pictures are more than opaque samples of 8 bits keep every bit if you ask for all samples.
#[test]
fn all_samples_are_those_of_the_file() {
    for drawing in drawings(33, 11).filter(|drawing| drawing.depth >= 8 && drawing.colour != PALETTE) {
        let Drawing { colour, depth, width, height } = drawing;
        let channels = if matches!(colour, GREY | GREY_ALPHA) { Channels::Grey } else { Channels::Rgb };
        let format = Format::interleaved(channels, matches!(colour, GREY_ALPHA | RGBA), depth == 16);
        let mut expected = Vec::new();
        for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
            for channel in 0..drawing.channels() {
                let [low, high, ..] = drawing.sample(x, y, channel).to_le_bytes();
                expected.push(low);
                expected.extend((depth == 16).then_some(high));
            }
        }
        for interlaced in [false, true] {
            let file = drawing.file(interlaced, &[], usize::MAX);
            let Decoded { picture, notes } = decode_as(&file, 1 << 20, Samples::All).expect("a picture");
            assert_eq!((picture.format(), notes), (format, Vec::new()), "{drawing:?}");
            assert!(picture.samples() == expected, "{drawing:?}");
        }
    }
}

#[test]
fn a_transparent_colour_or_entry_becomes_opacity() {
    for drawing in drawings(32, 4) {
        let samples: Vec<u32> = (0..drawing.channels()).map(|channel| drawing.sample(3, 2, channel)).collect();
        let data: Vec<u8> = match drawing.colour {
            GREY | RGB => {
                samples.iter().flat_map(|sample| u16::try_from(*sample).expect("16 bits").to_be_bytes()).collect()
            }
            PALETTE => vec![0],
            _ => continue,
        };
        let mut chunks = needed(drawing);
        chunks.push((b"tRNS", data));
        let file = drawing.file(false, &borrowed(&chunks), usize::MAX);
        let Decoded { picture, notes } = decode_as(&file, 1 << 20, Samples::All).expect("a picture");
        assert!(picture.format().has_alpha() && notes.is_empty(), "{drawing:?}: {notes:?}");
        assert_eq!(picture.format().is_deep(), drawing.depth == 16, "{drawing:?}");
        let pixel = picture.format().bytes(picture.size()) / picture.size().pixels();
        for (at, pixel) in picture.samples().chunks(pixel).enumerate() {
            let (x, y) = (at % drawing.width, at / drawing.width);
            let is_same = (0..drawing.channels()).all(|channel| drawing.sample(x, y, channel) == samples[channel]);
            let is_clear = if drawing.colour == PALETTE { drawing.sample(x, y, 0) == 0 } else { is_same };
            assert_eq!(pixel.last(), Some(&if is_clear { 0 } else { 255 }), "{drawing:?}, {x}, {y}");
        }
    }
}

#[test]
fn passes_may_be_empty_and_rows_may_end_inside_a_byte() {
    for (width, height) in (1..=9).flat_map(|width| (1..=9).map(move |height| (width, height))) {
        for (colour, depth) in [(GREY, 1), (PALETTE, 4), (RGB, 8)] {
            let drawing = Drawing { colour, depth, width, height };
            for interlaced in [false, true] {
                let file = drawing.file(interlaced, &borrowed(&needed(drawing)), usize::MAX);
                assert_shows(&file, drawing, &drawing.shown(None, |_| 255), &[]);
            }
        }
    }
}

#[test]
fn a_colour_or_entries_of_the_palette_may_be_transparent() {
    for drawing in drawings(32, 4) {
        let samples: Vec<u32> = (0..drawing.channels()).map(|channel| drawing.sample(3, 2, channel)).collect();
        let clear: Vec<u8> =
            samples.iter().flat_map(|sample| u16::try_from(*sample).expect("16 bits").to_be_bytes()).collect();
        // Fewer than the palette has: the rest is opaque.
        let opacities = [0, 128, 255];
        let (data, expected) = match drawing.colour {
            GREY | RGB => (clear, drawing.shown(Some(&samples), |_| 255)),
            PALETTE => {
                let given = &opacities[..opacities.len().min(1 << drawing.depth)];
                (given.to_vec(), drawing.shown(None, |at| given.get(at).copied().unwrap_or(255)))
            }
            _ => continue,
        };
        let mut chunks = needed(drawing);
        chunks.push((b"tRNS", data));
        let mut notes = noted(drawing);
        notes.push(Note::Transparency);
        for interlaced in [false, true] {
            assert_shows(&drawing.file(interlaced, &borrowed(&chunks), usize::MAX), drawing, &expected, &notes);
        }
    }
}

#[test]
fn data_may_come_in_pieces_of_a_byte() {
    for drawing in drawings(5, 3) {
        let file = drawing.file(true, &borrowed(&needed(drawing)), 1);
        assert_shows(&file, drawing, &drawing.shown(None, |_| 255), &noted(drawing));
    }
}

#[test]
fn chunks_that_do_not_change_the_colours_are_ignored() {
    let drawing = Drawing { colour: RGB, depth: 8, width: 6, height: 5 };
    let odd: [(&[u8; 4], &[u8]); 12] = [
        (b"sBIT", &[5, 6, 5]),
        // A suggested palette, for screens with few colours.
        (b"PLTE", &[1, 2, 3, 4, 5, 6]),
        (b"bKGD", &[0, 9, 0, 8, 0, 7]),
        (b"hIST", &[0, 1, 0, 2]),
        (b"pHYs", &[0, 0, 0, 1, 0, 0, 0, 4, 0]),
        (b"sPLT", b"six-cube\0\x08\x01\x02\x03\xFF\0\x01"),
        (b"tEXt", b"Title\0a picture"),
        (b"zTXt", b"Comment\0\0no zlib stream"),
        (b"iTXt", b"Title\0\0\0\0\0text"),
        (b"tIME", &[7, 208, 1, 1, 0, 0, 0]),
        (b"prVt", b"a chunk of nobody"),
        (b"oFFs", &[0; 9]),
    ];
    assert_shows(&drawing.file(false, &odd, 7), drawing, &drawing.shown(None, |_| 255), &[]);
    for one in odd {
        assert_shows(&drawing.file(true, &[one], 7), drawing, &drawing.shown(None, |_| 255), &[]);
    }
}

#[test]
fn a_matrix_that_png_does_not_have_is_left_out_with_advice() {
    let drawing = Drawing { colour: RGB, depth: 8, width: 6, height: 5 };
    let file = drawing.file(false, &[(b"cICP", &[1, 13, 1, 1])], 99);
    assert_shows(&file, drawing, &drawing.shown(None, |_| 255), &[Note::Matrix]);
    assert!(Note::Matrix.to_string().contains("matrix 0"), "{}", Note::Matrix);
}

#[test]
fn exif_turns_the_picture_before_or_after_its_data() {
    let drawing = Drawing { colour: RGB, depth: 8, width: 6, height: 5 };
    // One TIFF entry: orientation, a short, 3: turn by a half.
    let exif = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x03\0\0\0\0\0\0\0";
    let mut turned: Vec<u8> = drawing.shown(None, |_| 255);
    turned.as_chunks_mut::<3>().0.reverse();
    let plain = drawing.file(false, &[], usize::MAX);
    let end = plain.len() - 12;
    let late = [&plain[..end], &chunk(b"eXIf", exif), &plain[end..]].concat();
    for file in [drawing.file(false, &[(b"eXIf", exif)], usize::MAX), late] {
        assert_shows(&file, drawing, &turned, &[]);
    }
}

#[test]
fn the_variant_for_iphones_is_named() {
    let drawing = Drawing { colour: RGB, depth: 8, width: 6, height: 5 };
    let plain = drawing.file(false, &[], usize::MAX);
    let file = [&plain[..8], &chunk(b"CgBI", &[0x50, 0, 0x20, 2]), &plain[8..]].concat();
    let refused = decode(&file, 1 << 20).expect_err("it is refused").to_string();
    assert!(refused.contains("CgBI") && refused.contains("-revert-iphone-optimizations"), "{refused}");
}

#[test]
fn broken_files_are_refused_or_noted() {
    let drawing = Drawing { colour: RGB, depth: 8, width: 6, height: 5 };
    let whole = drawing.file(false, &[], usize::MAX);
    let header = 8 + 25;
    let refused = |file: &[u8]| decode(file, 1 << 20).expect_err("it is broken").to_string();
    // Signatures that a transfer as text leaves.
    for signature in [&b"\x89PNG\n\x1A\n"[..], b"\x09PNG\r\n\x1A\n", b"PNG\r\n\x1A\n"] {
        assert!(matches!(decode(&[signature, &whole[8..]].concat(), 1 << 20), Err(Error::Format)), "{signature:?}");
    }
    for (depth, colour) in [(8, 1), (8, 5), (8, 9), (0, 0), (3, 0), (99, 0), (4, 2), (16, 3)] {
        let kind = [depth, colour, 0, 0, 0];
        let head = chunk(b"IHDR", &[&[0, 0, 0, 6, 0, 0, 0, 5], &kind[..]].concat());
        let message = refused(&[&whole[..8], &head, &whole[header..]].concat());
        assert!(message.len() < 100 && !message.contains("Error"), "{depth}, {colour}: {message}");
    }
    let without_data = [&whole[..header], &chunk(b"IEND", &[])].concat();
    assert!(matches!(decode(&without_data, 1 << 20), Err(Error::Corrupt(_))));
    let mut no_palette = Drawing { colour: PALETTE, ..drawing }.file(false, &[], usize::MAX);
    assert!(matches!(decode(&no_palette, 1 << 20), Err(Error::Corrupt(_))));
    no_palette[header - 1] ^= 1;
    assert!(decode(&no_palette, 1 << 20).is_err(), "the header's checksum is wrong");
}
