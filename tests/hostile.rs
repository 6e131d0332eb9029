//! Invalid streams and tables: the decoder does not panic, uses no more memory than agreed, returns the errors of the
//! specification, and decodes damaged strings to the same Levels as the reference.

use std::sync::Arc;

use nestcast_codec::{Decoder, Error, Linear, Model};
use nestcast_tests::pictures::{Content, picture};
use nestcast_tests::reference::{Fault, Header, Reference, Tables};
use nestcast_tests::{probe, vectors};
use proptest::collection::vec;
use proptest::prelude::*;

/// The number of pixels that the decoders here agree to hold.
const MAX_PIXELS: u64 = 1 << 20;

fn fault(error: Error) -> Fault {
    match error {
        Error::Corrupt { .. } => Fault::Corrupt,
        Error::Version { .. } | Error::Model { .. } => Fault::Unsupported,
        Error::Limit { .. } => Fault::Limit,
        other => panic!("no error for a stream: {other}"),
    }
}

/// Returns what a decoder should say of a stream.
fn expected(stream: &[u8], tables: &[u8]) -> Result<(), Fault> {
    let Some(header) = Header::read(stream)? else { return Ok(()) };
    if header.model != Tables::read(tables)?.id {
        return Err(Fault::Unsupported);
    }
    let pixels = (header.width * header.height) as u64;
    let alpha = if header.alpha.is_some() { pixels / 2 } else { 0 };
    let deep = if header.bits > 8 { pixels / 8 } else { 0 };
    if pixels + alpha + deep > MAX_PIXELS {
        return Err(Fault::Limit);
    }
    let reference = Reference::decode(tables, stream)?.expect("a whole header");
    if reference.at(stream.len()).corrupt { Err(Fault::Corrupt) } else { Ok(()) }
}

fn probe_tables() -> Vec<u8> {
    probe::tables(&vectors::tables())
}

/// Makes a header of the probe's model.
fn header(rgb: bool, width: usize, height: usize, planes: u8) -> Vec<u8> {
    let mut header = vec![b'n', b's', b't', 1, u8::from(rgb)];
    for side in [width - 1, height - 1] {
        let byte = |value: usize| u8::try_from(value).expect("a side is at most 16384");
        if side < 128 { header.push(byte(side)) } else { header.extend([byte(side % 128) | 128, byte(side / 128)]) }
    }
    header.extend(Tables::read(&probe_tables()).expect("valid tables").id);
    header.push(planes);
    if rgb {
        header.extend([0x1e, 0xd2, 0x97, 0x28]);
    }
    header
}

/// Decodes in one push and in two, and compares both with the reference. Returns true if a segment's length was
/// corrupt.
fn assert_as_reference(stream: &[u8], halfway: usize, what: &str) -> bool {
    let tables = probe_tables();
    let reference = Reference::decode(&tables, stream).expect("a valid header").expect("a whole header");
    let cut = reference.at(stream.len());
    let mut once = probe::decoder(&tables);
    let answer = once.push(stream).map(|_| ()).map_err(fault);
    let expected = if cut.corrupt { Err(Fault::Corrupt) } else { Ok(()) };
    assert_eq!(answer, expected, "{what}");
    probe::assert_same(&mut once, &cut, what);
    let mut twice = probe::decoder(&tables);
    let (first, second) = stream.split_at(halfway.min(stream.len()));
    // After a corrupt length, more bytes change nothing.
    let _ = twice.push(first);
    let _ = twice.push(second);
    probe::assert_same(&mut twice, &cut, &format!("{what}, in two"));
    cut.corrupt
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any bytes after a valid header decode to the picture that the specification defines.
    #[test]
    fn random_bytes_behind_a_header(
        rgb: bool, width in 1..90_usize, height in 1..90_usize, planes in 0..=15_u8,
        body in vec(any::<u8>(), 0..600), constant in proptest::option::of(any::<u8>()), half in 0..600_usize,
    ) {
        let mut stream = header(rgb, width, height, planes);
        // Long runs of one byte reach states that noise does not.
        stream.extend(constant.into_iter().flat_map(|byte| [byte; 40]));
        stream.extend(body);
        assert_as_reference(&stream, half, "random bytes");
    }

    /// Changes every field of the header to every value, cut anywhere.
    #[test]
    fn damaged_headers(which in 0..vectors::RECIPES.len(), at in 0..23_usize, values in vec(any::<u8>(), 1..3), keep in 0..40_usize) {
        let tables = vectors::tables();
        let mut stream = vectors::read()[which].stream.clone();
        stream.resize(stream.len().max(at + 2), 0);
        stream[at..at + values.len().min(2)].copy_from_slice(&values);
        stream.truncate(keep);
        assert_header(&stream, &tables);
    }

    /// Makes a header of noise.
    #[test]
    fn random_headers(bytes in vec(any::<u8>(), 0..40), magic in 0..14_usize) {
        let tables = vectors::tables();
        let mut stream = header(true, 300, 200, 12);
        stream.truncate(magic);
        stream.extend(bytes);
        assert_header(&stream, &tables);
    }

    /// Tables are refused exactly as section 3 says.
    #[test]
    fn damaged_tables(
        at in prop_oneof![0..90_usize, 0..4600_usize, 0..18_754_usize, 18_750..105_152_usize],
        value in prop_oneof![
            any::<[u8; 4]>(),
            proptest::sample::select(vec![f32::NAN, f32::INFINITY, 1e4, -1e4, 9999.0, 0.001, 0.000_999, 0.0, -1.0])
                .prop_map(f32::to_le_bytes),
            // Taps that are too large together.
            Just([127, 0x81, 127, 127]),
        ],
        aligned: bool,
        length in prop_oneof![Just(18_754_usize), Just(105_156_usize), 0..18_830_usize, 105_150..105_160_usize],
    ) {
        let mut tables = vectors::tables();
        let at = if aligned { at / 4 * 4 } else { at };
        tables[at..at + 4].copy_from_slice(&value);
        tables.resize(length, 0);
        assert_tables(&tables);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// Flips bits and truncates.
    #[test]
    fn damaged_streams(which in proptest::sample::select(vec![0_usize, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 16, 17, 18]), flips in vec((any::<usize>(), 0..8_u8), 1..6),
        keep in prop_oneof![Just(usize::MAX), 0..24_000_usize], half in 0..24_000_usize) {
        let vector = &vectors::read()[which];
        let mut stream = probe::stream(&vector.stream, &probe_tables());
        let header = Header::read(&stream).expect("valid").expect("whole").bytes;
        let body = stream.len() - header;
        for (at, bit) in flips {
            stream[header + at % body] ^= 1 << bit;
        }
        stream.truncate(header + keep.min(body));
        assert_as_reference(&stream, half, &format!("{} damaged", vector.recipe.name));
    }

    /// Segments with arbitrary lengths, in a picture of two slices.
    #[test]
    fn lying_segments(parts in vec((0..5_u8, any::<[u8; 5]>(), vec(any::<u8>(), 0..30)), 0..8), rgb: bool, half in 0..200_usize) {
        let mut stream = header(rgb, 640, 620, 9);
        for (kind, bytes, body) in parts {
            let mut lengths = match kind {
                0 => bytes.to_vec(),
                1 => vec![bytes[0] % 20, bytes[1] % 20],
                2 => vec![bytes[0] | 128, bytes[1] | 128, bytes[2] | 128, bytes[3] & 127],
                3 => vec![(bytes[0] % 20) | 128, 128, 128, 0, 0],
                _ => vec![255, 255, 255, 255],
            };
            stream.append(&mut lengths);
            stream.extend(body);
        }
        assert_as_reference(&stream, half, "lying segments");
    }
}

fn assert_header(stream: &[u8], tables: &[u8]) {
    let linear = Linear::new(Arc::new(Model::from_bytes(tables).expect("valid tables")));
    let expected = expected(stream, tables);
    let mut whole = Decoder::new(linear.clone()).with_max_pixels(MAX_PIXELS);
    assert_eq!(whole.push(stream).map(|_| ()).map_err(fault), expected, "{:02x?}", &stream[..stream.len().min(22)]);
    // Byte by byte, the error comes with the last byte at the latest, and is the same.
    let mut decoder = Decoder::new(linear).with_max_pixels(MAX_PIXELS);
    let mut answers = stream.iter().map(|&byte| decoder.push(&[byte]).map(|_| ()).map_err(fault));
    let first = answers.find(|answer| answer.is_err()).unwrap_or(Ok(()));
    assert_eq!(first, expected, "byte by byte: {:02x?}", &stream[..stream.len().min(22)]);
}

fn assert_tables(tables: &[u8]) {
    let codec = Model::from_bytes(tables).map(|_| ()).map_err(fault);
    assert_eq!(codec, Tables::read(tables).map(|_| ()), "{} bytes of tables", tables.len());
}

#[test]
fn causes_of_section_15() {
    let tables = vectors::tables();
    let valid = vectors::read()[2].stream.clone();
    let answer = |at: usize, bytes: &[u8]| {
        let mut stream = valid.clone();
        stream[at..at + bytes.len()].copy_from_slice(bytes);
        assert_header(&stream, &tables);
        let mut decoder = probe::decoder(&tables).with_max_pixels(1000);
        decoder.push(&stream).map(|_| ()).map_err(fault)
    };
    assert_eq!(answer(0, b"nst"), Ok(()));
    assert_eq!(answer(2, b"x"), Err(Fault::Corrupt), "magic");
    assert_eq!(answer(3, &[3]), Err(Fault::Unsupported), "version");
    assert_eq!(answer(3, &[0]), Err(Fault::Unsupported), "version");
    assert_eq!(answer(4, &[2]), Err(Fault::Corrupt), "kind");
    assert_eq!(answer(5, &[0x80, 0]), Err(Fault::Corrupt), "a side in too many bytes");
    assert_eq!(answer(5, &[0xff, 0x80]), Err(Fault::Limit), "a side over 16384");
    assert_eq!(answer(7, &[0]), Err(Fault::Unsupported), "model");
    assert_eq!(answer(13, &[31]), Ok(()), "all planes, and gains");
    assert_eq!(answer(13, &[32]), Err(Fault::Corrupt), "a reserved bit of the planes");
    assert_eq!(answer(14, &[0xff, 0xff, 0xff, 0x3f]), Ok(()), "any angles");
    assert_eq!(answer(17, &[0x40]), Err(Fault::Corrupt), "a reserved bit of the axes");
}

#[test]
fn causes_of_section_15_in_version_2() {
    let tables = probe_tables();
    let answer = |bytes: &[u8]| {
        let mut stream = header(true, 20, 10, 12);
        stream[3] = 2;
        stream.extend(bytes);
        assert_header(&stream, &tables);
        let mut decoder = probe::decoder(&tables).with_max_pixels(200);
        decoder.push(&stream).map(|_| decoder.header().is_some()).map_err(fault)
    };
    assert_eq!(answer(&[]), Ok(false), "the byte of precision is missing");
    assert_eq!(answer(&[0]), Err(Fault::Corrupt), "what version 1 says");
    assert_eq!(answer(&[0x60]), Ok(true), "six planes below the finest step");
    assert_eq!(answer(&[0x70]), Err(Fault::Corrupt), "seven planes below the finest step");
    assert_eq!(answer(&[0x09]), Err(Fault::Corrupt), "17 bits a sample");
    assert_eq!(answer(&[0x68]), Err(Fault::Limit), "16 bits a sample count");
    assert_eq!(answer(&[0x80]), Ok(false), "the planes of opacity are missing");
    assert_eq!(answer(&[0x80, 0x70]), Err(Fault::Corrupt), "seven fine planes of opacity");
    assert_eq!(answer(&[0x80, 0x6f]), Err(Fault::Limit), "opacity counts");
}

/// A header may promise 268 million pixels; a decoder with a lower limit allocates no memory for them.
#[test]
fn oversized_pictures_are_refused_before_memory_is_taken() {
    let tables = probe_tables();
    let mut stream = header(true, 16384, 16384, 15);
    stream.extend([0x55; 100]);
    let mut decoder = probe::decoder(&tables).with_max_pixels(MAX_PIXELS);
    assert_eq!(decoder.push(&stream).map(|_| ()).map_err(fault), Err(Fault::Limit));
    assert!(decoder.header().is_none() && decoder.coefficients().is_err(), "no picture after an error of the header");
}

/// Bytes that no encoder writes: four bytes ff, and everything that can follow.
#[test]
fn strings_of_ones_and_zeros() {
    for byte in [0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff] {
        for count in [1, 2, 3, 4, 5, 6, 9, 200] {
            for end in [0x00, 0x80, 0xff] {
                let mut stream = header(true, 37, 29, 15);
                let halfway = stream.len() + count / 2;
                stream.extend(vec![byte; count]);
                stream.extend([end; 30]);
                assert_as_reference(&stream, halfway, &format!("{count} bytes {byte:02x}, then {end:02x}"));
            }
        }
    }
}

/// Bytes after the end of a string are ignored.
#[test]
fn bytes_behind_the_end() {
    for vector in vectors::read().iter().filter(|vector| vector.recipe.is_small()) {
        let mut stream = probe::stream(&vector.stream, &probe_tables());
        let halfway = stream.len();
        stream.extend([0xa5; 50]);
        assert_as_reference(&stream, halfway, vector.recipe.name);
    }
}

/// Five bytes of length are corrupt, and the picture before them stays.
#[test]
fn a_corrupt_length_keeps_the_picture() {
    let linear = Linear::new(Arc::new(Model::from_bytes(&probe_tables()).expect("valid tables")));
    let original = picture(Content::Photo, 640, 620, nestcast_codec::Channels::Grey, 3);
    let mut encoder = nestcast_codec::Encoder::new(linear).with_max_bytes(3000);
    let mut stream = encoder.encode(&original).expect("a stream").bytes().to_vec();
    // Segments are found by their lengths, which for the first are two bytes each.
    let header = Header::read(&stream).expect("valid").expect("whole").bytes;
    let length = |at: usize| usize::from(stream[at] & 0x7f) | usize::from(stream[at + 1]) << 7;
    let end = header + 4 + length(header) + length(header + 2);
    assert!([0, 2].iter().all(|at| stream[header + at] >= 0x80), "{:?}", &stream[..30]);
    assert!(end < stream.len(), "a segment of {end} bytes of {}", stream.len());
    stream.splice(end.., [0xff, 0xff, 0xff, 0xff, 0x01, 0x02, 0x03]);
    assert!(assert_as_reference(&stream, end + 4, "five bytes of length"), "the length is corrupt");
    stream.truncate(end + 4);
    assert!(!assert_as_reference(&stream, end + 1, "four bytes of length"), "four bytes are not corrupt yet");
}
