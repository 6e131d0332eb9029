//! JPEG files as cameras write them, and as cables and disks damage them.

use jpeg_encoder::{ColorType, Encoder, ImageBuffer, JpegColorType};
use moxcms::{ColorProfile, DataColorSpace, LutDataType, LutStore, LutType, LutWarehouse, Matrix3d, ProfileClass};
use nestcast_media::picture::{Decoded, Error, Note, decode, size};

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
fn most_small_holes_are_noted() {
    // JPEG has no checksum, so what decodes to coefficients that samples can have is not noticed.
    let bytes = jpeg(|_| {});
    let (first, last) = (data(&bytes), bytes.len() - 2);
    let places = || (0..60).map(|at| first + (last - first - 16) * at / 60);
    let noticed =
        |damage: &dyn Fn(usize) -> Vec<u8>| places().filter(|at| read(&damage(*at)).notes == [Note::Damaged]).count();
    let zeros = noticed(&|at| [&bytes[..at], &[0; 16], &bytes[at + 16..]].concat());
    let lost = noticed(&|at| [&bytes[..at], &bytes[at + 16..]].concat());
    let other = noticed(&|at| [&bytes[..at], &bytes[at + 100..at + 116], &bytes[at + 16..]].concat());
    assert!(zeros >= 48 && lost >= 40 && other >= 48, "{zeros}, {lost} and {other} of 60");
}

#[test]
fn a_mean_that_no_samples_have_ends_what_is_shown() {
    // Two white blocks in steps of 1: the first has a mean of 8 * 127, and the second the same.
    let mut white = Vec::new();
    Encoder::new(&mut white, 100).encode(&[255; 128], 16, 8, ColorType::Luma).expect("memory takes it");
    assert_eq!(read(&white).notes, []);
    // Twice the code of ten bits, 1016, and the end of a block (T.81, tables K.3 and K.5): the mean doubles.
    let codes = [0xFE, 0xFE, 0x2B, 0xFB, 0xF8, 0xAF, 0xFF, 0xD9];
    let damaged = read(&[&white[..data(&white)], &codes].concat());
    assert_eq!(damaged.notes, [Note::Damaged]);
    assert!(damaged.picture.samples().iter().all(|sample| *sample == 255), "the first block is there");
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
fn a_restart_marker_with_a_wrong_number_costs_nothing() {
    let bytes = jpeg(|encoder| encoder.set_restart_interval(5));
    let first = data(&bytes);
    let marker = |pair: &[u8]| pair[0] == 0xFF && (0xD0..=0xD7).contains(&pair[1]);
    let markers: Vec<usize> = (first..bytes.len() - 1).filter(|at| marker(&bytes[*at..at + 2])).collect();
    for (at, bit) in [(markers[0], 1), (markers[4], 2), (markers[9], 4)] {
        let mut damaged = bytes.clone();
        damaged[at + 1] ^= bit;
        let damaged = read(&damaged);
        assert_eq!((damaged.notes, damaged.picture), (vec![Note::Damaged], read(&bytes).picture), "bit {bit}");
    }
}

#[test]
fn an_end_marker_inside_a_progressive_scan_spoils_nothing() {
    let bytes = jpeg(|encoder| encoder.set_progressive(true));
    for tenths in 2..10 {
        let cut = &bytes[..bytes.len() * tenths / 10];
        let ended = read(&[cut, &[0xFF, 0xD9]].concat());
        assert_eq!(ended.notes, [Note::Damaged]);
        assert_eq!(ended.picture, read(cut).picture, "{tenths} tenths");
    }
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
    assert!(refusal(frame + 1, 0xF7).contains("JPEG-LS"));
    assert!(refusal(frame + 11, 0x31).contains("sampled in a way"), "thirds");
    for (at, what) in [(14, "blue differences"), (17, "red differences")] {
        assert!(refusal(frame + at, 0x21).contains("sampled in a way"), "{what} finer than luma");
    }
    assert!(refusal(frame + 9, 2).contains("components"));
    let gif = decode(b"GIF89a and a picture", PIXELS).expect_err("it is refused");
    assert!(matches!(gif, Error::OtherFormat("a GIF")));
}

#[test]
fn a_height_that_follows_the_picture_is_read() {
    for bytes in [jpeg(|_| {}), jpeg(|encoder| encoder.set_restart_interval(5))] {
        let frame = bytes.windows(2).position(|pair| pair == [0xFF, 0xC0]).expect("a frame");
        let mut late = bytes.clone();
        let height: Vec<u8> = late.splice(frame + 5..frame + 7, [0, 0]).collect();
        late.splice(bytes.len() - 2.., [&[0xFF, 0xDC, 0, 4][..], &height, &[0xFF, 0xD9]].concat());
        assert_eq!((read(&late).notes, read(&late).picture), (Vec::new(), read(&bytes).picture));
        assert_eq!(size(&late, PIXELS).expect("a size"), read(&bytes).picture.size());
        let never = [&late[..late.len() - 8], &[0xFF, 0xD9]].concat();
        assert!(decode(&never, PIXELS).is_err(), "it has no height");
    }
}

/// Components that the file keeps as they are.
struct Unconverted(Vec<u8>);

impl ImageBuffer for Unconverted {
    fn get_jpeg_color_type(&self) -> JpegColorType {
        JpegColorType::Ycbcr
    }

    fn width(&self) -> u16 {
        WIDTH
    }

    fn height(&self) -> u16 {
        HEIGHT
    }

    fn fill_buffers(&self, y: u16, buffers: &mut [Vec<u8>; 4]) {
        let row = 3 * usize::from(WIDTH);
        for pixel in self.0[row * usize::from(y)..][..row].as_chunks::<3>().0 {
            buffers.iter_mut().zip(pixel).for_each(|(buffer, sample)| buffer.push(*sample));
        }
    }
}

#[test]
fn components_may_be_red_green_and_blue() {
    let mut plain = Vec::new();
    Encoder::new(&mut plain, 95).encode_image(Unconverted(samples())).expect("memory takes it");
    // JFIF would say that they are luma and colour differences.
    let jfif = 2 + 2 + usize::from(plain[5]);
    plain.drain(2..jfif);
    let adobe = [&plain[..2], &[0xFF, 0xEE, 0, 14], b"Adobe\0\x64\0\0\0\0\0", &plain[2..]].concat();
    let mut named = plain.clone();
    let frame = named.windows(2).position(|pair| pair == [0xFF, 0xC0]).expect("a frame");
    let scan = named.windows(2).position(|pair| pair == [0xFF, 0xDA]).expect("a scan");
    for (at, name) in b"RGB".iter().enumerate() {
        named[frame + 10 + 3 * at] = *name;
        named[scan + 5 + 2 * at] = *name;
    }
    for bytes in [adobe, named] {
        let decoded = read(&bytes);
        let near = decoded.picture.samples().iter().zip(samples()).filter(|(a, b)| a.abs_diff(*b) <= 24).count();
        assert!(near > samples().len() * 9 / 10 && decoded.notes.is_empty(), "{near} of {}", samples().len());
    }
}

#[test]
fn jfif_says_more_than_adobe_of_what_the_components_are() {
    let plain = jpeg(|_| {});
    let jfif = 4 + usize::from(plain[5]);
    assert_eq!(plain[6..10], *b"JFIF");
    let both = [&plain[..jfif], &[0xFF, 0xEE, 0, 14], b"Adobe\0\x64\0\0\0\0\0", &plain[jfif..]].concat();
    assert_eq!(read(&both), read(&plain));
}

/// Returns the file with a segment before all others.
fn with_segment(bytes: &[u8], marker: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len() + 2).expect("it is short").to_be_bytes();
    [&bytes[..2], &[0xFF, marker], &length, body, &bytes[2..]].concat()
}

#[test]
fn a_profile_in_parts_is_joined_and_a_lost_part_is_noted() {
    let profile = ColorProfile::new_display_p3().encode().expect("a profile");
    let whole = jpeg(|encoder| encoder.add_icc_profile(&profile).expect("it is short"));
    let shown = read(&whole);
    assert_eq!(shown.notes, []);
    let plain = jpeg(|_| {});
    assert_ne!(shown.picture, read(&plain).picture);
    let part = |number: u8, all: u8, part: &[u8]| [b"ICC_PROFILE\0", &[number, all][..], part].concat();
    let (first, second) = profile.split_at(profile.len() / 2);
    let with = |parts: &[Vec<u8>]| parts.iter().fold(plain.clone(), |file, part| with_segment(&file, 0xE2, part));
    let (first, second) = (part(1, 2, first), part(2, 2, second));
    for parts in [[first.clone(), second.clone()], [second.clone(), first.clone()]] {
        assert_eq!(read(&with(&parts)), shown);
    }
    for parts in [&[first.clone()][..], &[second], &[first.clone(), first], &[part(1, 1, b"no profile")]] {
        let decoded = read(&with(parts));
        assert_eq!((decoded.notes, decoded.picture), (vec![Note::Profile], read(&plain).picture));
    }
}

#[test]
fn colours_that_exif_names_are_shown_or_noted() {
    // The first field points to Exif's fields: the colour space, and where those of interoperability are.
    let exif = |space: u16, index: &[u8; 4]| {
        let field =
            |tag: u16, kind: u8, value: [u8; 4]| [&tag.to_le_bytes()[..], &[kind, 0, 1, 0, 0, 0], &value].concat();
        let [low, high] = space.to_le_bytes();
        let header = [&b"Exif\0\0II*\0\x08\0\0\0\x01\0"[..], &field(0x8769, 4, [26, 0, 0, 0]), &[0; 4]].concat();
        let second = [&[2, 0][..], &field(0xA001, 3, [low, high, 0, 0]), &field(0xA005, 4, [56, 0, 0, 0]), &[0; 4]];
        [header, second.concat(), vec![1, 0], field(1, 2, *index), vec![0; 4]].concat()
    };
    let plain = jpeg(|_| {});
    let with = |space: u16, index: &[u8; 4]| with_segment(&plain, 0xE1, &exif(space, index));
    let adobe = ColorProfile::new_adobe_rgb().encode().expect("a profile");
    let expected = read(&jpeg(|encoder| encoder.add_icc_profile(&adobe).expect("it is short")));
    assert_ne!(expected.picture, read(&plain).picture);
    for bytes in [with(0xFFFF, b"R03\0"), with(2, b"R98\0")] {
        assert!(psnr(&read(&bytes), &expected) > 50.0 && read(&bytes).notes.is_empty());
    }
    for (bytes, notes) in [(with(1, b"R98\0"), vec![]), (with(0xFFFF, b"R98\0"), vec![Note::Uncalibrated])] {
        assert_eq!((read(&bytes).notes, read(&bytes).picture), (notes, read(&plain).picture));
    }
    // What a profile says counts.
    let both = with_segment(
        &jpeg(|encoder| encoder.add_icc_profile(&adobe).expect("it is short")),
        0xE1,
        &exif(0xFFFF, b"R98\0"),
    );
    assert_eq!(read(&both), expected);
}

#[test]
fn a_video_behind_the_picture_is_noted() {
    let bytes = jpeg(|_| {});
    let film = [&bytes[..], b"MotionPhoto_Data\0\0\0\x18ftypmp42\0\0\0\0isommp42"].concat();
    assert_eq!((read(&film).notes, read(&film).picture), (vec![Note::Film], read(&bytes).picture));
    assert_eq!(read(&[&bytes[..], b"a note of the camera"].concat()).notes, []);
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
