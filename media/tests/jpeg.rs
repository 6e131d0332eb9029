//! JPEG files as cameras write them, and as cables and disks damage them.

use jpeg_encoder::{ColorType, Encoder};
use moxcms::{ColorProfile, DataColorSpace, LutDataType, LutStore, LutType, LutWarehouse, Matrix3d, ProfileClass};
use nestcast_media::picture::{Decoded, Error, Note, decode};

const WIDTH: u16 = 200;
const HEIGHT: u16 = 136;
const PIXELS: u64 = WIDTH as u64 * HEIGHT as u64;

/// A picture with detail everywhere.
fn samples() -> Vec<u8> {
    let pixel = |at: usize| {
        let [x, y] = [at % usize::from(WIDTH), at / usize::from(WIDTH)];
        [x * 255 / 200, y * 255 / 136, (x * 7 + y * 13) % 256].map(|sample| sample.to_le_bytes()[0])
    };
    (0..usize::from(WIDTH) * usize::from(HEIGHT)).flat_map(pixel).collect()
}

fn jpeg(set: impl FnOnce(&mut Encoder<&mut Vec<u8>>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, 90);
    set(&mut encoder);
    encoder.encode(&samples(), WIDTH, HEIGHT, ColorType::Rgb).expect("memory takes it");
    bytes
}

/// Files of every kind that this encoder writes.
fn kinds() -> [Vec<u8>; 4] {
    [
        jpeg(|_| {}),
        jpeg(|encoder| encoder.set_sampling_factor(jpeg_encoder::SamplingFactor::F_2_2)),
        jpeg(|encoder| encoder.set_restart_interval(5)),
        jpeg(|encoder| encoder.set_progressive(true)),
    ]
}

fn read(bytes: &[u8]) -> Decoded {
    decode(bytes, PIXELS).expect("a picture")
}

/// Returns where the data of the first scan begin.
fn data(bytes: &[u8]) -> usize {
    let scan = bytes.windows(2).position(|pair| pair == [0xFF, 0xDA]).expect("a scan");
    scan + 2 + usize::from(bytes[scan + 3])
}

/// Returns the PSNR in dB.
fn psnr(a: &Decoded, b: &Decoded) -> f64 {
    let samples = a.picture.samples().iter().zip(b.picture.samples());
    let sum: f64 = samples.map(|(a, b)| f64::from(a.abs_diff(*b)).powi(2)).sum();
    10.0 * (255.0 * 255.0 * a.picture.samples().len() as f64 / sum).log10()
}

#[test]
fn whole_files_are_read_without_a_note() {
    for (kind, bytes) in kinds().iter().enumerate() {
        assert_eq!(read(bytes).notes, [], "{kind}");
    }
}

#[test]
fn a_missing_end_alone_is_noted_and_nothing_is_missing() {
    for bytes in kinds() {
        let endless = read(&bytes[..bytes.len() - 2]);
        assert_eq!(endless.notes, [Note::NoEnd]);
        assert_eq!(endless.picture, read(&bytes).picture);
    }
}

#[test]
fn damage_is_noted_though_an_end_marker_is_there() {
    for (kind, bytes) in kinds().iter().enumerate() {
        let (first, last) = (data(bytes), bytes.len() - 2);
        let middle = first + (last - first) / 2;
        let cut = [&bytes[..middle], &[0xFF, 0xD9]].concat();
        let mut hole = bytes.clone();
        hole[middle..middle + 200].fill(0);
        let lacking = [&bytes[..middle], &bytes[middle + 100..]].concat();
        for (what, damaged) in
            [("cut", &cut), ("hole", &hole), ("lacking", &lacking), ("no end", &bytes[..middle].to_vec())]
        {
            assert_eq!(read(damaged).notes, [Note::Damaged], "{what}, kind {kind}");
        }
        let whole = read(bytes);
        let rows = 3 * usize::from(WIDTH) * 32;
        let above = |decoded: &Decoded| decoded.picture.samples()[..rows].to_vec();
        if kind < 3 {
            assert_eq!(above(&read(&cut)), above(&whole), "what comes before damage is there, kind {kind}");
        }
    }
}

#[test]
fn bytes_between_segments_are_skipped() {
    for bytes in kinds() {
        let scan = bytes.windows(2).position(|pair| pair == [0xFF, 0xDA]).expect("a scan");
        for junk in [&[0xDE, 0xAD, 0xBE, 0xEF][..], &[0xFF; 7], &[0xFF, 0, 0xFF, 0x01, 3]] {
            let with_junk = read(&[&bytes[..scan], junk, &bytes[scan..]].concat());
            assert_eq!((with_junk.notes, with_junk.picture), (Vec::new(), read(&bytes).picture));
        }
    }
}

#[test]
fn a_lost_restart_marker_costs_no_more_than_its_neighbours() {
    let bytes = jpeg(|encoder| encoder.set_restart_interval(5));
    let first = data(&bytes);
    let marker = |pair: &[u8]| pair[0] == 0xFF && (0xD0..=0xD7).contains(&pair[1]);
    let markers: Vec<usize> = (first..bytes.len() - 1).filter(|at| marker(&bytes[*at..at + 2])).collect();
    let whole = read(&bytes);
    for lost in [0, markers.len() / 3, markers.len() - 1] {
        let at = markers[lost];
        let damaged = read(&[&bytes[..at], &bytes[at + 2..]].concat());
        assert_eq!(damaged.notes, [Note::Damaged]);
        assert!(psnr(&damaged, &whole) > 20.0, "marker {lost}: {:.1} dB", psnr(&damaged, &whole));
    }
    // An interval with its marker.
    let (from, to) = (markers[9], markers[10]);
    let damaged = read(&[&bytes[..from], &bytes[to..]].concat());
    assert!(psnr(&damaged, &whole) > 20.0, "{:.1} dB", psnr(&damaged, &whole));
}

#[test]
fn scans_of_a_component_each_are_read() {
    for sampling in
        [jpeg_encoder::SamplingFactor::F_1_1, jpeg_encoder::SamplingFactor::F_2_2, jpeg_encoder::SamplingFactor::F_2_1]
    {
        let scattered = jpeg(|encoder| {
            encoder.set_sampling_factor(sampling);
            encoder.set_optimized_huffman_tables(true);
        });
        let usual = jpeg(|encoder| encoder.set_sampling_factor(sampling));
        assert!(scattered.windows(2).filter(|pair| *pair == [0xFF, 0xDA]).count() == 3);
        let read_scattered = read(&scattered);
        assert_eq!((read_scattered.notes, read_scattered.picture), (Vec::new(), read(&usual).picture), "{sampling:?}");
    }
}

#[test]
fn kinds_that_are_not_read_are_named() {
    let usual = jpeg(|_| {});
    let frame = usual.windows(2).position(|pair| pair == [0xFF, 0xC0]).expect("a frame");
    let refusal = |at: usize, value: u8| {
        let mut bytes = usual.clone();
        bytes[at] = value;
        decode(&bytes, PIXELS).expect_err("it is refused").to_string()
    };
    assert!(refusal(frame + 1, 0xC9).contains("arithmetic coding") && refusal(frame + 1, 0xC9).contains("jpegtran"));
    assert!(refusal(frame + 1, 0xC3).contains("lossless"));
    assert!(refusal(frame + 4, 12).contains("12 bits"));
    let gif = decode(b"GIF89a and a picture", PIXELS).expect_err("it is refused");
    assert!(matches!(gif, Error::OtherFormat("a GIF")));
}

#[test]
fn a_file_of_several_pictures_shows_its_first() {
    let bytes = jpeg(|_| {});
    let list = [&[0xFF, 0xE2, 0, 10][..], b"MPF\0abcd"].concat();
    let both = [&bytes[..2], &list, &bytes[2..], &bytes].concat();
    assert_eq!(read(&both).notes, [Note::Several]);
    assert_eq!(read(&both).picture, read(&bytes).picture);
}

#[test]
fn every_orientation_turns_the_picture_as_exif_says() {
    // Where each corner of the file is shown: Exif 2.32, figure 6. Left to right, upper row first.
    let corners: [[usize; 4]; 8] = [
        [0, 1, 2, 3],
        [1, 0, 3, 2],
        [3, 2, 1, 0],
        [2, 3, 0, 1],
        [0, 2, 1, 3],
        [2, 0, 3, 1],
        [3, 1, 2, 0],
        [1, 3, 0, 2],
    ];
    let (width, height) = (32_u16, 16_u16);
    let quarter = |at: usize| usize::from(at % 32 >= 16) + 2 * usize::from(at / 32 >= 8);
    let greys: Vec<u8> = (0..512).map(|at| [20, 90, 160, 230][quarter(at)]).collect();
    let mut plain = Vec::new();
    Encoder::new(&mut plain, 95).encode(&greys, width, height, ColorType::Luma).expect("memory takes it");
    for (orientation, corners) in (1..).zip(corners) {
        let exif =
            [&b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0"[..], &[orientation, 0, 0, 0], &[0; 4]].concat();
        let length = u16::try_from(exif.len() + 2).expect("it is short").to_be_bytes();
        let file = [&plain[..2], &[0xFF, 0xE1], &length, &exif, &plain[2..]].concat();
        let picture = decode(&file, 512).expect("a picture").picture;
        let (wide, high) = (picture.size().width(), picture.size().height());
        assert_eq!((wide, high), if orientation < 5 { (32, 16) } else { (16, 32) }, "{orientation}");
        let places = [0, wide - 1, wide * (high - 1), wide * high - 1];
        let shown = places.map(|at| usize::from(picture.samples()[at] / 70));
        assert_eq!(shown, corners, "orientation {orientation}");
    }
}

/// Returns a profile of ink by which black alone and each of the other inks shows a grey of its own, unlike any print.
fn profile_of_greys() -> Vec<u8> {
    let lightness = |inks: usize| match inks {
        0 => 0xFF00,
        // Cyan, the first channel, varies slowest.
        8 => 0x8000,
        4 => 0x4000,
        2 => 0xC000,
        _ => 0,
    };
    let clut = (0..16).flat_map(|inks| [lightness(inks), 0x8000, 0x8000]).collect();
    let straight = |count: usize| LutStore::Store16([0, u16::MAX].repeat(count));
    let mut profile = ColorProfile::new_lab();
    profile.color_space = DataColorSpace::Cmyk;
    profile.pcs = DataColorSpace::Lab;
    profile.profile_class = ProfileClass::OutputDevice;
    let table = LutWarehouse::Lut(LutDataType {
        num_input_channels: 4,
        num_output_channels: 3,
        num_clut_grid_points: 2,
        matrix: Matrix3d::IDENTITY,
        num_input_table_entries: 2,
        num_output_table_entries: 2,
        input_table: straight(4),
        clut_table: LutStore::Store16(clut),
        output_table: straight(3),
        lut_type: LutType::Lut16,
    });
    profile.lut_a_to_b_perceptual = Some(table.clone());
    profile.lut_a_to_b_colorimetric = Some(table);
    profile.lut_b_to_a_perceptual = None;
    profile.lut_b_to_a_colorimetric = None;
    profile.encode().expect("a profile")
}

#[test]
fn a_profile_of_ink_is_applied_to_the_ink() {
    let inks = [[0; 4], [255, 0, 0, 0], [0, 255, 0, 0], [0, 0, 255, 0], [0, 0, 0, 255]];
    // sRGB of L* 100, 50.2, 25.1, 75.3 and 0.
    let greys = [255, 119, 60, 186, 0_u8];
    let side = 16;
    let samples: Vec<u8> = (0..side * side * inks.len()).flat_map(|at| inks[at % (side * inks.len()) / side]).collect();
    let width = u16::try_from(side * inks.len()).expect("it is small");
    for kind in [ColorType::Cmyk, ColorType::CmykAsYcck] {
        let file = |profile: Option<&[u8]>| {
            let mut bytes = Vec::new();
            let mut encoder = Encoder::new(&mut bytes, 100);
            if let Some(profile) = profile {
                encoder.add_icc_profile(profile).expect("it is short");
            }
            encoder.encode(&samples, width, 16, kind).expect("memory takes it");
            bytes
        };
        let decoded = read(&file(Some(&profile_of_greys())));
        assert_eq!(decoded.notes, [], "{kind:?}");
        for (at, grey) in greys.into_iter().enumerate() {
            let pixel = 3 * (8 * side * inks.len() + at * side + side / 2);
            let shown = &decoded.picture.samples()[pixel..pixel + 3];
            assert!(shown.iter().all(|sample| sample.abs_diff(grey) <= 4), "{kind:?}: {shown:?}, not {grey}");
        }
        for profile in [None, Some(&b"no profile"[..])] {
            assert_eq!(read(&file(profile)).notes, [Note::Cmyk], "{kind:?}");
        }
        // A profile for pictures of light is none for ink.
        let srgb = ColorProfile::new_display_p3().encode().expect("a profile");
        assert_eq!(read(&file(Some(&srgb))).notes, [Note::Cmyk], "{kind:?}");
    }
}
