//! Videos of all kinds: grey, deep, interlaced, with other matrices and rates.

use nestcast_codec::{Format, Picture, Ycbcr};

use crate::harness::Bench;
use crate::video::*;

#[test]
fn grey_video_becomes_video_without_colour() {
    let bench = Bench::new();
    let mut y4m = b"YUV4MPEG2 W16 H16 F25:1 Cmono\n".to_vec();
    (0..3).for_each(|_| y4m.extend([&b"FRAME\n"[..], &[100; 256]].concat()));
    bench.write("grey.y4m", &y4m);
    bench.succeed(&["encode", "grey.y4m", "-o", "grey.nst"]);
    bench.succeed(&["decode", "grey.nst", "-o", "out.y4m"]);
    for frame in frames(&bench.read("out.y4m")) {
        assert_eq!(frame.format(), Format::Ycbcr420(Ycbcr::BT601));
        assert!(
            frame.samples().iter().zip([[100; 256].as_slice(), &[128; 128]].concat()).all(|(a, b)| a.abs_diff(b) < 4)
        );
    }
}

#[test]
fn deep_video_is_rounded_to_8_bits_and_a_note_says_so() {
    let bench = Bench::new();
    let plain = clip(3, 3);
    let at = header(&plain);
    let deep = plain[at..].chunks(FRAME).flat_map(|frame| {
        let samples = frame[6..].iter().flat_map(|sample| (u16::from(*sample) << 2).to_le_bytes());
        b"FRAME\n".iter().copied().chain(samples).collect::<Vec<u8>>()
    });
    let deep: Vec<u8> = b"YUV4MPEG2 W64 H48 F30:1 C420p10\n".iter().copied().chain(deep).collect();
    bench.write("deep.y4m", &deep);
    bench.write("plain.y4m", &plain);
    let (_, notes) = bench.succeed(&["encode", "deep.y4m", "-o", "deep.nst", "--bitrates", "60k..960k"]);
    assert!(notes.contains("deep.y4m: it has 10 bits a sample: nestcast rounds them to 8"), "{notes}");
    let (_, notes) = bench.succeed(&["encode", "plain.y4m", "-o", "plain.nst", "--bitrates", "60k..960k"]);
    assert!(!notes.contains("bits a sample"), "{notes}");
    for name in ["deep", "plain"] {
        bench.succeed(&["decode", &format!("{name}.nst"), "-o", &format!("{name}.out.y4m")]);
    }
    assert_eq!(frames(&bench.read("deep.out.y4m")), frames(&bench.read("plain.out.y4m")));
}

/// A clip whose header says more than [`clip`]'s.
fn clip_with(fields: &str) -> Vec<u8> {
    let plain = clip(3, 3);
    let [size, rest] = [&b"YUV4MPEG2 W64 H48 F30:1 "[..], &plain[header(&plain)..]];
    [size, fields.as_bytes(), b"\n", rest].concat()
}

#[test]
fn interlacing_aspect_and_siting_are_kept_and_what_cannot_hold_them_is_told() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip_with("It A16:11 C420mpeg2"));
    bench.succeed(&["encode", "clip.y4m", "-o", "clip.nst"]);
    let (_, note) = bench.succeed(&["decode", "clip.nst", "-o", "back.y4m"]);
    let back = bench.read("back.y4m");
    assert!(back.starts_with(b"YUV4MPEG2 W64 H48 F30:1 It A16:11 C420mpeg2 ") && note.is_empty(), "{note}");
    let (_, note) = bench.succeed(&["decode", "clip.nst", "-o", "pictures/"]);
    assert!(note.contains("its pixels are 16:11") && note.contains("it is interlaced"), "{note}");
}

#[test]
fn the_matrix_that_was_asked_for_goes_with_the_video() {
    use nestcast_codec::Matrix;
    let bench = Bench::new();
    bench.write("clip.y4m", &clip_with("Ip A1:1 C420jpeg"));
    let original = frames(&bench.read("clip.y4m")).swap_remove(0);
    // Mean squared error of the first picture of red, green and blue, to the original by a matrix.
    let error = |folder: &str, matrix| {
        let decoded =
            image::load_from_memory(&bench.read(&format!("{folder}/frame-00000000.png"))).expect("a PNG").into_rgb8();
        let colours = Ycbcr { matrix, ..Ycbcr::BT601 };
        let planar = Picture::new(original.size(), Format::Ycbcr420(colours), original.samples().to_vec());
        let planar = planar.expect("the shape fits");
        let pairs = nestcast_media::to_rgb(&planar)
            .samples()
            .iter()
            .zip(decoded.as_raw())
            .map(|(a, b)| a.abs_diff(*b))
            .collect::<Vec<_>>();
        pairs.iter().map(|error| f64::from(*error).powi(2)).sum::<f64>() / pairs.len() as f64
    };
    for (option, right, wrong, name) in
        [(&[][..], Matrix::Bt601, Matrix::Bt709, "601"), (&["--matrix", "709"], Matrix::Bt709, Matrix::Bt601, "709")]
    {
        bench.succeed(&[&["encode", "clip.y4m", "-o", "clip.nst", "--bitrates", "900k..9M"], option].concat());
        let (header, _) = bench.succeed(&["inspect", "clip.nst"]);
        assert!(header.contains(&format!("YCbCr 4:2:0 by BT.{name}, limited range")), "{header}");
        bench.succeed(&["decode", "clip.nst", "-o", &format!("{name}/")]);
        assert!(2.0 * error(name, right) < error(name, wrong), "{} {}", error(name, right), error(name, wrong));
        let (_, note) = bench.succeed(&["decode", "clip.nst", "-o", "back.y4m"]);
        assert_eq!(note.contains("--matrix 709"), name == "709", "{note}");
    }
}

#[test]
fn rates_of_any_fraction_are_read() {
    let bench = Bench::new();
    let clip = clip_with("Ip C420jpeg");
    bench.write(
        "clip.y4m",
        String::from_utf8_lossy(&clip[..header(&clip)]).replace("F30:1", "F10000000:333333").as_bytes(),
    );
    bench.write("clip.y4m", &[&bench.read("clip.y4m")[..], &clip[header(&clip)..]].concat());
    bench.succeed(&["encode", "clip.y4m", "-o", "clip.nst"]);
    bench.succeed(&["decode", "clip.nst", "-o", "back.y4m"]);
    assert!(bench.read("back.y4m").starts_with(b"YUV4MPEG2 W64 H48 F999991:33333 "));
}
