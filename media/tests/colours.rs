//! Checks that viewers show the colours that files declare. The tests compute them a second time from the standards.

use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder as _};
use moxcms::{ColorProfile, LocalizableString, ProfileText};
use nestcast_media::picture::{Decoded, Note, decode};

const WIDTH: u32 = 16;
const HEIGHT: u32 = 4;

/// Colours of all kinds, greys among them.
fn samples() -> Vec<u8> {
    let pixel = |at: u8| if at.is_multiple_of(8) { [at * 4; 3] } else { [at * 4, 255 - at * 3, at.wrapping_mul(37)] };
    (0..64).flat_map(pixel).collect()
}

fn png(profile: Option<Vec<u8>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = PngEncoder::new(&mut bytes);
    if let Some(profile) = profile {
        encoder.set_icc_profile(profile).expect("it takes profiles");
    }
    encoder.write_image(&samples(), WIDTH, HEIGHT, ExtendedColorType::Rgb8).expect("memory takes it");
    bytes
}

/// Returns the file with these chunks before its data.
fn with_chunks(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let bytes = png(None);
    let chunk = |(kind, data): &(&[u8; 4], &[u8])| {
        let body = [&kind[..], data].concat();
        let length = u32::try_from(data.len()).expect("it is short").to_be_bytes();
        [&length[..], &body, &crc(&body).to_be_bytes()].concat()
    };
    let header = 8 + 25;
    [&bytes[..header], &chunks.iter().flat_map(chunk).collect::<Vec<u8>>(), &bytes[header..]].concat()
}

/// The checksum of PNG, annex D.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0xEDB8_8320 } else { 0 })
    })
}

fn linear(sample: f64) -> f64 {
    if sample <= 0.04045 { sample / 12.92 } else { ((sample + 0.055) / 1.055).powf(2.4) }
}

fn signal(light: f64) -> f64 {
    let light = light.clamp(0.0, 1.0);
    if light <= 0.003_130_8 { light * 12.92 } else { 1.055 * light.powf(1.0 / 2.4) - 0.055 }
}

/// Fails unless each pixel is, within `tolerance`, the `expected` colour of the file's pixel, from 0 to 1.
fn assert_shown(decoded: &Decoded, tolerance: f64, expected: impl Fn([f64; 3]) -> [f64; 3]) {
    for (given, shown) in samples().as_chunks::<3>().0.iter().zip(decoded.picture.samples().as_chunks::<3>().0) {
        let expected = expected(given.map(|sample| f64::from(sample) / 255.0));
        for (shown, expected) in shown.iter().zip(expected) {
            let away = (f64::from(*shown) - 255.0 * expected).abs();
            assert!(away <= tolerance, "{given:?} is shown as {shown}, not {}", 255.0 * expected);
        }
    }
}

/// Converts linear light of Display P3 to that of sRGB; both have the white of D65.
fn p3_to_srgb(light: [f64; 3]) -> [f64; 3] {
    const MATRIX: [[f64; 3]; 3] =
        [[1.224_94, -0.224_94, 0.0], [-0.042_057, 1.042_057, 0.0], [-0.019_638, -0.078_636, 1.098_274]];
    MATRIX.map(|row| row.iter().zip(light).map(|(factor, light)| factor * light).sum())
}

#[test]
fn a_profile_is_applied_whatever_it_calls_itself() {
    let mut profile = ColorProfile::new_display_p3();
    let name = LocalizableString::new("en".to_owned(), "US".to_owned(), "Display P3, as sRGB".to_owned());
    profile.description = Some(ProfileText::Localizable(vec![name]));
    let decoded = decode(&png(Some(profile.encode().expect("a profile"))), 64).expect("a picture");
    assert_eq!(decoded.notes, []);
    assert_shown(&decoded, 2.0, |colour| p3_to_srgb(colour.map(linear)).map(signal));
}

#[test]
fn a_profile_of_srgb_changes_nothing_and_one_that_is_none_is_noted() {
    let srgb = ColorProfile::new_srgb().encode().expect("a profile");
    let decoded = decode(&png(Some(srgb)), 64).expect("a picture");
    assert_eq!((decoded.picture.samples(), &decoded.notes[..]), (&samples()[..], &[][..]));
    let decoded = decode(&png(Some(b"no profile, whatever sRGB it names".to_vec())), 64).expect("a picture");
    assert_eq!((decoded.picture.samples(), &decoded.notes[..]), (&samples()[..], &[Note::Profile][..]));
}

#[test]
fn a_profile_of_lab_is_none_for_red_green_and_blue() {
    let lab = ColorProfile::new_lab().encode().expect("a profile");
    let decoded = decode(&png(Some(lab)), 64).expect("a picture");
    assert_eq!((decoded.picture.samples(), &decoded.notes[..]), (&samples()[..], &[Note::Profile][..]));
}

#[test]
fn gamma_is_applied_unless_something_better_is_said() {
    let linear_light = 100_000_u32.to_be_bytes();
    let gamma: (&[u8; 4], &[u8]) = (b"gAMA", &linear_light);
    let decoded = decode(&with_chunks(&[gamma]), 64).expect("a picture");
    assert_shown(&decoded, 1.5, |colour| colour.map(signal));
    for better in [(b"sRGB", &[0][..]), (b"cICP", &[1, 13, 0, 1])] {
        let decoded = decode(&with_chunks(&[better, gamma]), 64).expect("a picture");
        assert_eq!((decoded.picture.samples(), &decoded.notes[..]), (&samples()[..], &[][..]));
    }
    // Chunks that writers of sRGB add.
    let usual = 45_455_u32.to_be_bytes();
    let decoded = decode(&with_chunks(&[(b"gAMA", &usual)]), 64).expect("a picture");
    assert_eq!(decoded.picture.samples(), samples());
}

#[test]
fn primaries_are_applied() {
    let p3 = [31_270, 32_900, 68_000, 32_000, 26_500, 69_000, 15_000, 6_000_u32];
    let chromaticities: Vec<u8> = p3.iter().flat_map(|number| number.to_be_bytes()).collect();
    let gamma = 45_455_u32.to_be_bytes();
    let decoded = decode(&with_chunks(&[(b"gAMA", &gamma), (b"cHRM", &chromaticities)]), 64).expect("a picture");
    assert_shown(&decoded, 2.0, |colour| p3_to_srgb(colour.map(linear)).map(signal));
    // The same by code points.
    let decoded = decode(&with_chunks(&[(b"cICP", &[12, 13, 0, 1])]), 64).expect("a picture");
    assert_shown(&decoded, 2.0, |colour| p3_to_srgb(colour.map(linear)).map(signal));
}

#[test]
fn a_matrix_that_png_does_not_have_leaves_the_picture_readable() {
    let decoded = decode(&with_chunks(&[(b"cICP", &[1, 13, 1, 1])]), 64).expect("a picture");
    assert_eq!((decoded.picture.samples(), &decoded.notes[..]), (&samples()[..], &[Note::Matrix][..]));
}

#[test]
fn hdr_is_shown_up_to_reference_white_and_noted() {
    let decoded = decode(&with_chunks(&[(b"cICP", &[9, 16, 0, 1])]), 64).expect("a picture");
    assert_eq!(decoded.notes, [Note::Hdr]);
    // SMPTE ST 2084, and BT.2020 to BT.709 of ITU-R BT.2087.
    let light = |signal: f64| {
        let power = signal.powf(1.0 / 78.843_75);
        let light = ((power - 0.835_937_5).max(0.0) / (18.851_562_5 - 18.6875 * power)).powf(1.0 / 0.159_301_757_812_5);
        (light * 10_000.0 / 203.0).min(1.0)
    };
    let matrix = [[1.6605, -0.5876, -0.0728], [-0.1246, 1.1329, -0.0083], [-0.0182, -0.1006, 1.1187_f64]];
    assert_shown(&decoded, 4.0, |colour| {
        let light = colour.map(light);
        matrix.map(|row| signal(row.iter().zip(light).map(|(factor, light)| factor * light).sum()))
    });
}

#[test]
fn grey_pictures_have_colours_too() {
    let greys: Vec<u8> = (0..=255).collect();
    let file = |profile: ColorProfile| {
        let mut bytes = Vec::new();
        let mut encoder = PngEncoder::new(&mut bytes);
        encoder.set_icc_profile(profile.encode().expect("a profile")).expect("it takes profiles");
        encoder.write_image(&greys, 16, 16, ExtendedColorType::L8).expect("memory takes it");
        bytes
    };
    let decoded = decode(&file(ColorProfile::new_gray_with_gamma(1.0)), 256).expect("a picture");
    for (grey, shown) in greys.iter().zip(decoded.picture.samples()) {
        let expected = 255.0 * signal(f64::from(*grey) / 255.0);
        assert!((f64::from(*shown) - expected).abs() <= 1.0, "{grey} is shown as {shown}, not {expected}");
    }
    // A profile of red, green and blue changes nothing in a grey picture but its greys.
    let decoded = decode(&file(ColorProfile::new_display_p3()), 256).expect("a picture");
    assert!(decoded.picture.samples().iter().zip(&greys).all(|(shown, grey)| shown.abs_diff(*grey) <= 1));
}
