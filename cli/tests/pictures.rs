//! Pictures of every kind: unambiguous ones are kept, or converted with a note; all others are refused in one line.

use crate::harness::{Bench, hostile, png, samples};
use jpeg_encoder::{ColorType, Encoder, SamplingFactor};

const SIZE: (u32, u32) = (40, 24);

fn encode_refused(bench: &Bench, picture: &[u8]) -> String {
    bench.write("bad.png", picture);
    bench.refuse(&["encode", "bad.png", "-o", "out", "--analysis", "linear"])
}

/// Encodes and decodes; returns the decoded picture and the notes.
fn round_trip(bench: &Bench, picture: &[u8]) -> (image::DynamicImage, String) {
    bench.write("in", picture);
    let (_, notes) = bench.succeed(&["encode", "in", "-o", "s.nst", "--analysis", "linear"]);
    bench.succeed(&["decode", "s.nst", "-o", "back.png", "--decoder", "linear"]);
    let back = image::load_from_memory(&bench.read("back.png")).expect("a PNG");
    (back, notes)
}

/// Returns whether two pixels have about the same colour.
fn near(pixel: [u8; 3], expected: [u8; 3]) -> bool {
    pixel.iter().zip(expected).all(|(&a, b)| a.abs_diff(b) < 24)
}

fn jpeg(kind: ColorType, samples: &[u8], change: impl FnOnce(&mut Encoder<&mut Vec<u8>>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, 95);
    change(&mut encoder);
    encoder.encode(samples, 40, 24, kind).expect("encodes");
    bytes
}

#[test]
fn unreadable_pictures_are_refused() {
    let bench = Bench::new();
    let whole = png::rgb(SIZE.0, SIZE.1);
    assert!(encode_refused(&bench, b"").contains("is empty"));
    assert!(
        encode_refused(&bench, b"GIF89a and so on").contains("it is a GIF, which nestcast does not read: `ffmpeg ")
    );
    for (start, advice) in [
        (&b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"[..], "it is a HEIC, which nestcast does not read: `heif-convert "),
        (b"II*\0\x08\0\0\0", "it is a TIFF or raw picture, which nestcast does not read: `ffmpeg "),
        (b"FUJIFILMCCD-RAW 0201", "it is a raw picture, which nestcast does not read: export it as a PNG "),
        (b"\x1A\x45\xDF\xA3 a film", "it is a Matroska video, not a picture: `ffmpeg -i IN -pix_fmt yuv420p OUT.y4m` "),
    ] {
        let line = encode_refused(&bench, start);
        assert!(line.contains(advice), "{line}");
    }
    assert!(encode_refused(&bench, b"nothing at all").contains("no PNG, JPEG or WebP"));
    for length in [8, 20, 60] {
        let line = encode_refused(&bench, &whole[..length]);
        assert!(!line.contains(['{', '(']), "a library's words: {line}");
    }
    let line = bench.refuse(&["encode", "absent.png", "-o", "out", "--analysis", "linear"]);
    assert!(line.contains("absent.png cannot be read"), "{line}");
}

#[test]
fn a_damaged_picture_shows_what_can_be_decoded_of_it_with_a_note() {
    let bench = Bench::new();
    let whole = png::file(SIZE, 8, png::RGB, &[(b"IDAT", png::pixels(&[200; 40 * 24 * 3], 120))]);
    let middle = whole.len() / 2;
    let mut flipped = whole.clone();
    flipped[middle] ^= 0x10;
    for damaged in [&whole[..middle], &flipped] {
        let (back, notes) = round_trip(&bench, damaged);
        assert!(notes.contains("it is damaged") && notes.lines().count() == 1, "{notes}");
        assert!(near(back.to_rgb8().get_pixel(20, 4).0, [200; 3]), "{:?}", back.to_rgb8().get_pixel(20, 4));
    }
    let endless = &whole[..whole.len() - 12];
    let (_, notes) = round_trip(&bench, endless);
    assert!(notes.contains("end marker is missing") && notes.lines().count() == 1, "{notes}");
    let whole = jpeg(ColorType::Rgb, &samples(40, 24), |_| {});
    assert!(round_trip(&bench, &whole[..whole.len() * 3 / 4]).1.contains("it is damaged"));
    for length in [3, 30] {
        encode_refused(&bench, &whole[..length]);
    }
}

#[test]
fn a_jpeg_with_a_scan_for_each_component_is_read() {
    let bench = Bench::new();
    let plain = |encoder: &mut Encoder<&mut Vec<u8>>| encoder.set_sampling_factor(SamplingFactor::F_2_2);
    let scattered = jpeg(ColorType::Rgb, &samples(40, 24), |encoder| {
        plain(encoder);
        encoder.set_optimized_huffman_tables(true);
    });
    let (back, notes) = round_trip(&bench, &scattered);
    assert!(notes.is_empty(), "{notes}");
    assert_eq!(back, round_trip(&bench, &jpeg(ColorType::Rgb, &samples(40, 24), plain)).0);
}

#[test]
fn huge_pictures_are_refused_by_their_header() {
    let bench = Bench::new();
    let data = png::pixels(&[0; 30], 30);
    let wide = png::file((20_000, 10), 8, png::RGB, &[(b"IDAT", data.clone())]);
    assert!(encode_refused(&bench, &wide).contains("16384"));
    let large = png::file((16_384, 16_384), 8, png::RGB, &[(b"IDAT", data)]);
    assert!(encode_refused(&bench, &large).contains("--max-pixels"));
}

#[test]
fn what_decode_refuses_is_not_encoded() {
    let bench = Bench::new();
    let deep = [200, 7, 30, 9, 40, 255, 9, 1].repeat(40 * 24);
    bench.write("in", &png::file(SIZE, 16, png::RGBA, &[(b"IDAT", png::pixels(&deep, 320))]));
    // With its opacity and its bits, the picture counts as 960 + 480 + 120 pixels.
    let encode = |max| ["encode", "in", "-o", "s.nst", "--analysis", "linear", "--max-pixels", max];
    let line = bench.refuse(&encode("1559"));
    assert!(line.contains("1560") && line.contains("both get --max-pixels"), "{line}");
    bench.succeed(&encode("1560"));
    bench.succeed(&["decode", "s.nst", "-o", "back.png", "--decoder", "linear", "--max-pixels", "1560"]);
}

#[test]
fn sixteen_bits_are_kept_unless_fewer_are_wanted() {
    let bench = Bench::new();
    let wide = [200, 7, 30, 9, 40, 255].repeat(40 * 24);
    let picture = png::file(SIZE, 16, png::RGB, &[(b"IDAT", png::pixels(&wide, 240))]);
    let (back, notes) = round_trip(&bench, &picture);
    assert!(notes.is_empty(), "{notes}");
    assert_eq!(back.color(), image::ColorType::Rgb16);
    let expected = [200 * 256 + 7, 30 * 256 + 9, 40 * 256 + 255];
    let pixel = back.to_rgb16().get_pixel(20, 12).0;
    assert!(pixel.iter().zip(expected).all(|(given, expected)| given.abs_diff(expected) < 24), "{pixel:?}");
    let (inspected, _) = bench.succeed(&["inspect", "s.nst"]);
    assert!(inspected.contains("RGB of 16 bits"), "{inspected}");
    bench.succeed(&["encode", "in", "-o", "s.nst", "--bits", "8", "--analysis", "linear"]);
    bench.succeed(&["decode", "s.nst", "-o", "back.png", "--decoder", "linear"]);
    let back = image::load_from_memory(&bench.read("back.png")).expect("a PNG");
    assert_eq!(back.color(), image::ColorType::Rgb8);
    assert!(near(back.to_rgb8().get_pixel(20, 12).0, [200, 30, 41]), "{:?}", back.to_rgb8().get_pixel(20, 12));
}

#[test]
fn the_summary_names_the_analysis_that_a_picture_got() {
    let bench = Bench::new();
    for (row, used) in [([200, 7, 30, 9, 40, 255], "linear"), ([200, 200, 30, 30, 40, 40], "deep")] {
        let picture = png::file(SIZE, 16, png::RGB, &[(b"IDAT", png::pixels(&row.repeat(40 * 24), 240))]);
        bench.write("in", &picture);
        for bits in ["8", "16"] {
            let encode = ["encode", "in", "-o", "s.nst", "--analysis", "deep", "--bits", bits];
            let output = bench.command_with_networks().args(encode).output().expect("it starts");
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(said.contains(&format!("{used} analysis")), "{bits} bits: {said}{output:?}");
        }
    }
}

#[test]
fn a_palette_becomes_rgb() {
    let bench = Bench::new();
    let palette = vec![200, 30, 40, 20, 60, 220];
    let indices: Vec<u8> = (0..40 * 24).map(|i| u8::from(i % 40 >= 20)).collect();
    let picture = png::file(SIZE, 8, png::PALETTE, &[(b"PLTE", palette), (b"IDAT", png::pixels(&indices, 40))]);
    let (back, notes) = round_trip(&bench, &picture);
    assert!(notes.is_empty(), "{notes}");
    let back = back.to_rgb8();
    assert!(near(back.get_pixel(3, 12).0, [200, 30, 40]) && near(back.get_pixel(36, 12).0, [20, 60, 220]));
}

#[test]
fn grey_stays_grey() {
    let bench = Bench::new();
    let picture = png::file(SIZE, 8, png::GREY, &[(b"IDAT", png::pixels(&[77; 40 * 24], 40))]);
    let (back, _) = round_trip(&bench, &picture);
    assert_eq!(back.color(), image::ColorType::L8);
}

#[test]
fn transparency_is_kept() {
    let bench = Bench::new();
    let clear = png::file(SIZE, 8, png::RGBA, &[(b"IDAT", png::pixels(&[40, 90, 160, 0].repeat(40 * 24), 160))]);
    let (back, notes) = round_trip(&bench, &clear);
    assert!(notes.is_empty(), "{notes}");
    assert_eq!(back.color(), image::ColorType::Rgba8);
    let [colours @ .., alpha] = back.to_rgba8().get_pixel(5, 5).0;
    assert!(near(colours, [40, 90, 160]) && alpha == 0, "{colours:?}, {alpha}");
    let opaque = png::file(SIZE, 8, png::RGBA, &[(b"IDAT", png::pixels(&[255; 40 * 24 * 4], 160))]);
    assert_eq!(round_trip(&bench, &opaque).0.color(), image::ColorType::Rgb8);
}

#[test]
fn of_an_animation_the_first_picture_is_used_with_a_note() {
    let bench = Bench::new();
    let control = [1u32.to_be_bytes(), 0u32.to_be_bytes()].concat();
    let mut frame: Vec<u8> = [0, SIZE.0, SIZE.1, 0, 0].iter().flat_map(|number| number.to_be_bytes()).collect();
    frame.extend([0, 1, 0, 10, 0, 0]);
    let data = png::pixels(&samples(40, 24), 120);
    let picture = png::file(SIZE, 8, png::RGB, &[(b"acTL", control), (b"fcTL", frame), (b"IDAT", data)]);
    let (_, notes) = round_trip(&bench, &picture);
    assert!(notes.contains("animated") && notes.lines().count() == 1, "{notes}");
}

#[test]
fn cmyk_is_converted_with_a_note() {
    let bench = Bench::new();
    // Cyan, magenta, yellow and black ink: none of it on the left, all cyan on the right.
    let ink: Vec<u8> = (0..40 * 24).flat_map(|i| [if i % 40 < 20 { 0 } else { 255 }, 0, 0, 0]).collect();
    let (back, notes) = round_trip(&bench, &jpeg(ColorType::Cmyk, &ink, |_| {}));
    assert!(notes.contains("CMYK") && notes.lines().count() == 1, "{notes}");
    let back = back.to_rgb8();
    assert!(near(back.get_pixel(4, 12).0, [255; 3]), "{:?}", back.get_pixel(4, 12));
    assert!(near(back.get_pixel(36, 12).0, [0, 255, 255]), "{:?}", back.get_pixel(36, 12));
}

#[test]
fn exif_orientation_is_applied() {
    let bench = Bench::new();
    // One TIFF entry: orientation (0x112), a short, 6: turn right by a quarter.
    let exif = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
    let turned = jpeg(ColorType::Rgb, &samples(40, 24), |encoder| {
        encoder.add_exif_metadata(exif).expect("it fits");
    });
    let (back, _) = round_trip(&bench, &turned);
    assert_eq!((back.width(), back.height()), (24, 40));
}

#[test]
fn pixels_that_the_files_bytes_cannot_hold_are_refused() {
    let bench = Bench::new();
    let data = png::pixels(&[0; 30], 30);
    let empty = png::file((9_999, 9_999), 16, png::RGBA, &[(b"IDAT", data)]);
    assert!(encode_refused(&bench, &empty).contains("data are missing"));
    assert!(encode_refused(&bench, &hostile::jpeg((9_999, 9_999), 0, 0)).contains("data are missing"));
}

#[test]
fn a_jpeg_of_many_scans_is_refused_before_it_is_decoded() {
    let bench = Bench::new();
    let scans = |scans| hostile::jpeg((1024, 1024), 128 * 128, scans);
    bench.write("in.jpg", &scans(20));
    bench.succeed(&["encode", "in.jpg", "-o", "s.nst", "--analysis", "linear"]);
    for count in [24, 2_000] {
        let line = encode_refused(&bench, &scans(count));
        assert!(line.contains("more than 24 times"), "{line}");
    }
}

#[test]
fn a_jpeg_of_many_tables_is_refused_before_it_is_decoded() {
    let bench = Bench::new();
    let file = hostile::jpeg((64, 64), 64, 1);
    let tables = [0xFF, 0xDD, 0, 4, 0, 0].repeat(5_000);
    let line = encode_refused(&bench, &[&file[..2], &tables, &file[2..]].concat());
    assert!(line.contains("4096 segments"), "{line}");
}

#[test]
fn what_a_png_says_of_its_animation_costs_nothing() {
    let bench = Bench::new();
    let control = [u32::MAX.to_be_bytes(), 0u32.to_be_bytes()].concat();
    let data = png::pixels(&samples(40, 24), 120);
    for (width, height) in [(SIZE.0, SIZE.1), (u32::MAX, u32::MAX), (1, 1)] {
        let mut frame: Vec<u8> = [0, width, height, 0, 0].iter().flat_map(|number| number.to_be_bytes()).collect();
        frame.extend([0, 1, 0, 10, 0, 0]);
        let chunks: [(&[u8; 4], Vec<u8>); 3] = [(b"acTL", control.clone()), (b"fcTL", frame), (b"IDAT", data.clone())];
        let picture = png::file(SIZE, 8, png::RGB, &chunks);
        if (width, height) == SIZE {
            round_trip(&bench, &picture);
        } else {
            encode_refused(&bench, &picture);
        }
    }
    round_trip(&bench, &png::file(SIZE, 8, png::RGB, &[(b"acTL", control), (b"IDAT", data)]));
}

#[test]
fn a_profile_over_the_limit_is_skipped_with_a_note() {
    let bench = Bench::new();
    let (_, notes) = round_trip(&bench, &hostile::png_with_profile(SIZE, 64 << 20));
    assert!(notes.contains("cannot read what it says of its colours") && notes.lines().count() == 1, "{notes}");
    let text = [b"Comment\0".to_vec(), vec![b'x'; 40 << 20]].concat();
    let data = png::pixels(&samples(40, 24), 120);
    let line = encode_refused(&bench, &png::file(SIZE, 8, png::RGB, &[(b"tEXt", text), (b"IDAT", data)]));
    assert!(line.contains("metadata needs more than"), "{line}");
}

#[cfg(unix)]
#[test]
fn a_small_file_with_a_huge_profile_takes_little_memory() {
    let bench = Bench::new();
    let encode = |picture: &[u8]| {
        bench.write("in", picture);
        let arguments = ["encode", "in", "-o", "s.nst", "--analysis", "linear", "--threads", "1"];
        bench.shell(r#"ulimit -v 250000; exec "$0" "$@""#, &arguments)
    };
    if !encode(&png::rgb(SIZE.0, SIZE.1)).status.success() {
        return crate::harness::faults::skip("a limit of 250 MB", "not even an ordinary picture fits into it here");
    }
    let output = encode(&hostile::png_with_profile(SIZE, 256 << 20));
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn pictures_of_one_name_in_two_folders_are_told_apart_and_a_flat_one_leaves_the_means() {
    let bench = Bench::new();
    for folder in ["a", "b"] {
        std::fs::create_dir(bench.path(folder)).expect("a folder");
    }
    bench.write("a/x.png", &png::rgb(SIZE.0, SIZE.1));
    bench.write("b/x.png", &png::file(SIZE, 8, png::GREY, &[(b"IDAT", png::pixels(&[90; 40 * 24], 40))]));
    let arguments = ["eval", "a", "b", "--decoder", "linear", "--csv", "out.csv", "--grid", "1:1:1"];
    let (table, _) = bench.succeed(&arguments);
    let csv = String::from_utf8(bench.read("out.csv")).expect("text");
    assert!(["a/x.png", "b/x.png"].iter().all(|name| csv.lines().any(|line| line.starts_with(name))), "{csv}");
    assert!(!table.contains("inf ") && table.contains("decoded without any error"), "{table}");
}
