//! WebP files of every kind: lossless, lossy, with opacity, a profile, Exif and an animation; cut and false ones. Chunks
//! are put together here (RFC 9649, section 2.7).

use image::codecs::webp::WebPEncoder;
use image::{ExtendedColorType, ImageEncoder as _};
use moxcms::ColorProfile;
use nestcast_codec::Format;
use nestcast_media::picture::{Decoded, Note, Samples, decode, decode_as, size};

/// Four squares of 16 pixels: red, green, blue and grey. ffmpeg coded them with libwebp at quality 50.
const LOSSY: [u8; 84] = [
    0x70, 0x04, 0x00, 0x9D, 0x01, 0x2A, 0x20, 0x00, 0x20, 0x00, 0x3E, 0xC1, 0x4E, 0x9E, 0x4B, 0xA7, 0xA4, 0xA2, 0xA1,
    0xB7, 0xFA, 0xA8, 0x00, 0xF0, 0x18, 0x09, 0x68, 0x00, 0x9D, 0x32, 0x84, 0x70, 0x37, 0x95, 0xF0, 0x86, 0x6D, 0x69,
    0xDF, 0xA0, 0x8A, 0x8A, 0xA6, 0x28, 0x00, 0xFE, 0xE9, 0x69, 0x1D, 0x1E, 0x01, 0x6B, 0xBF, 0xF1, 0xDA, 0x8F, 0xD8,
    0x6B, 0xB0, 0x30, 0x98, 0x1E, 0xB8, 0x69, 0xF7, 0x50, 0xBF, 0x9D, 0x02, 0xD0, 0xDF, 0x43, 0xA5, 0x64, 0x9C, 0xDC,
    0x85, 0x0E, 0x06, 0x34, 0x82, 0xB8, 0x98, 0x00,
];
const SIDE: usize = 32;
const PIXELS: u64 = 32 * 32;
const SQUARES: [[u8; 3]; 4] = [[200, 40, 40], [40, 180, 60], [50, 60, 200], [128, 128, 128]];

/// Flags of an extended file.
const ANIMATION: u8 = 0x02;
const EXIF: u8 = 0x08;
const ALPHA: u8 = 0x10;
const PROFILE: u8 = 0x20;

fn samples() -> Vec<u8> {
    (0..SIDE * SIDE).flat_map(|at| SQUARES[usize::from(at % SIDE >= 16) + 2 * usize::from(at / SIDE >= 16)]).collect()
}

fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(data.len()).expect("it is short").to_le_bytes();
    [&kind[..], &length, data, &[0][..data.len() % 2]].concat()
}

fn file(chunks: &[Vec<u8>]) -> Vec<u8> {
    chunk(b"RIFF", &[b"WEBP", &chunks.concat()[..]].concat())
}

fn lossy() -> Vec<u8> {
    chunk(b"VP8 ", &LOSSY)
}

/// Returns the chunk of a lossless picture.
fn lossless(samples: &[u8], kind: ExtendedColorType) -> Vec<u8> {
    let side = u32::try_from(SIDE).expect("it is small");
    let mut bytes = Vec::new();
    WebPEncoder::new_lossless(&mut bytes).write_image(samples, side, side, kind).expect("memory takes it");
    bytes.split_off(12)
}

/// Returns an extended file of `SIDE` by `SIDE` pixels.
fn extended(flags: u8, chunks: &[Vec<u8>]) -> Vec<u8> {
    let head = chunk(b"VP8X", &[flags, 0, 0, 0, 31, 0, 0, 31, 0, 0]);
    file(&[vec![head], chunks.to_vec()].concat())
}

fn read(bytes: &[u8]) -> Decoded {
    decode(bytes, PIXELS).expect("a picture")
}

/// Fails unless the middle of each square has its colour.
fn assert_squares(decoded: &Decoded, squares: [[u8; 3]; 4]) {
    for (at, colour) in squares.into_iter().enumerate() {
        let pixel = 3 * ((8 + 16 * (at / 2)) * SIDE + 8 + 16 * (at % 2));
        let shown = &decoded.picture.samples()[pixel..pixel + 3];
        assert!(shown.iter().zip(colour).all(|(a, b)| a.abs_diff(b) <= 4), "{shown:?}, not {colour:?}");
    }
}

#[test]
fn lossless_and_lossy_files_are_read() {
    let exact = file(&[lossless(&samples(), ExtendedColorType::Rgb8)]);
    assert_eq!((read(&exact).picture.samples(), read(&exact).notes), (&samples()[..], Vec::new()));
    for bytes in [file(&[lossy()]), extended(0, &[lossy()])] {
        assert_squares(&read(&bytes), SQUARES);
        assert_eq!((read(&bytes).notes, size(&bytes, PIXELS).expect("a size").width()), (Vec::new(), SIDE));
    }
    assert!(decode(&exact, PIXELS - 1).is_err() && size(&exact, PIXELS - 1).is_err());
}

#[test]
fn opacity_is_kept_or_laid_over_white() {
    // The lower half is clear.
    let opacity = |at: usize| if at < SIDE * SIDE / 2 { 255 } else { 0 };
    let pixels = samples();
    let colours = pixels.as_chunks::<3>().0.iter().enumerate();
    let rgba: Vec<u8> = colours.flat_map(|(at, &[r, g, b])| [r, g, b, opacity(at)]).collect();
    let plain: Vec<u8> = [0].into_iter().chain((0..SIDE * SIDE).map(opacity)).collect();
    let of_lossy = extended(ALPHA, &[chunk(b"ALPH", &plain), lossy()]);
    for bytes in [file(&[lossless(&rgba, ExtendedColorType::Rgba8)]), of_lossy] {
        let all = decode_as(&bytes, PIXELS, Samples::All).expect("a picture").picture;
        let kept = all.samples().iter().skip(3).step_by(4).copied();
        assert!(all.format() == Format::Rgba && kept.eq((0..SIDE * SIDE).map(opacity)));
        let shown = read(&bytes);
        assert_squares(&shown, [SQUARES[0], SQUARES[1], [255; 3], [255; 3]]);
        assert_eq!(shown.notes, [Note::Transparency]);
    }
}

#[test]
fn a_profile_is_applied_and_one_that_is_none_is_noted() {
    let with = |profile: &[u8]| read(&extended(PROFILE, &[chunk(b"ICCP", profile), lossy()]));
    let p3 = with(&ColorProfile::new_display_p3().encode().expect("a profile"));
    // Red of Display P3 lies beyond that of sRGB, and grey is the same.
    let [red, grey] = [0, 3].map(|at: usize| 3 * ((8 + 16 * (at / 2)) * SIDE + 8 + 16 * (at % 2)));
    let samples = p3.picture.samples();
    assert!(samples[red] > 210 && samples[red + 1] < 30 && samples[grey].abs_diff(128) <= 4, "{:?}", &samples[red..]);
    assert_eq!(p3.notes, []);
    let broken = with(b"no profile");
    assert_squares(&broken, SQUARES);
    assert_eq!(broken.notes, [Note::Profile]);
}

#[test]
fn exif_turns_the_picture_whether_or_not_it_has_jpegs_name_before_it() {
    // One TIFF entry: orientation, a short, 6: turn right by a quarter.
    let tiff = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0".to_vec();
    for exif in [tiff.clone(), [b"Exif\0\0".to_vec(), tiff].concat()] {
        let turned = read(&extended(EXIF, &[lossy(), chunk(b"EXIF", &exif)]));
        assert_squares(&turned, [SQUARES[2], SQUARES[0], SQUARES[3], SQUARES[1]]);
    }
}

#[test]
fn an_animation_shows_its_first_picture() {
    let frame = |picture: Vec<u8>| {
        chunk(b"ANMF", &[&[0, 0, 0, 0, 0, 0, 31, 0, 0, 31, 0, 0, 100, 0, 0, 0][..], &picture].concat())
    };
    let grey = lossless(&[77; 3 * SIDE * SIDE], ExtendedColorType::Rgb8);
    let animated = extended(ANIMATION, &[chunk(b"ANIM", &[0; 6]), frame(lossy()), frame(grey)]);
    assert_squares(&read(&animated), SQUARES);
    assert_eq!(read(&animated).notes, [Note::Animation]);
}

#[test]
fn a_cut_file_is_refused_at_every_byte() {
    for bytes in [file(&[lossy()]), extended(PROFILE, &[chunk(b"ICCP", b"short"), lossy()])] {
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length], PIXELS).is_err(), "{length}");
        }
        let refused = decode(&bytes[..bytes.len() - 9], PIXELS).expect_err("it is cut").to_string();
        assert!(refused.contains("get the whole file"), "{refused}");
        let more = [&bytes[..], b"a note of the camera"].concat();
        assert_eq!(read(&more), read(&bytes), "what follows the file does not count");
    }
}

#[test]
fn a_picture_larger_than_its_file_says_takes_no_memory() {
    let mut huge = LOSSY.to_vec();
    huge[6..10].copy_from_slice(&[0xFF, 0x3F, 0xFF, 0x3F]);
    let huge = chunk(b"VP8 ", &huge);
    let frame = chunk(b"ANMF", &[&[0; 16][..], &huge].concat());
    for bytes in [extended(0, std::slice::from_ref(&huge)), extended(ANIMATION, &[chunk(b"ANIM", &[0; 6]), frame])] {
        let taken = allocation_counter::measure(|| assert!(decode(&bytes, PIXELS).is_err()));
        assert!(taken.bytes_max < 1 << 20, "{taken:?}");
    }
}
