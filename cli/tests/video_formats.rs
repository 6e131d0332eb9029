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

/// A clip of 10 bits a sample: that of 8 bits with a fraction that differs from sample to sample.
fn deep_clip() -> Vec<u8> {
    let plain = clip(3, 3);
    let deep = plain[header(&plain)..].chunks(FRAME).flat_map(|frame| {
        let sample = |(sample, fraction): (&u8, u16)| (4 * u16::from(*sample) + fraction).to_le_bytes();
        b"FRAME\n"
            .iter()
            .copied()
            .chain(frame[6..].iter().zip([0, 3, 1, 2, 2].into_iter().cycle()).flat_map(sample))
            .collect::<Vec<u8>>()
    });
    b"YUV4MPEG2 W64 H48 F30:1 C420p10 XCOLORRANGE=LIMITED\n".iter().copied().chain(deep).collect()
}

/// The samples of a video of 10 bits.
fn deep_samples(y4m: &[u8]) -> Vec<u16> {
    let mut reader = nestcast_media::y4m::Reader::new(y4m, 10_000).expect("y4m").with_max_bits(16);
    assert_eq!(reader.bits(), 10);
    let mut samples = Vec::new();
    while let Some(picture) = reader.read().expect("a frame") {
        samples.extend(picture.samples().as_chunks().0.iter().map(|sample| u16::from_le_bytes(*sample)));
    }
    samples
}

#[test]
fn deep_video_keeps_its_bits_from_file_to_file() {
    let bench = Bench::new();
    bench.write("deep.y4m", &deep_clip());
    let rates = ["--bitrates", "60k..60M"];
    let (said, notes) = bench.succeed(&[&["encode", "deep.y4m", "-o", "deep.nst"], &rates[..]].concat());
    assert!(said.contains("64x48 of 10 bits, 3 frames") && notes.is_empty(), "{said}{notes}");
    assert!(bench.succeed(&["inspect", "deep.nst"]).0.contains("YCbCr 4:2:0 of 10 bits by BT.601, limited range"));
    let (_, notes) = bench.succeed(&["decode", "deep.nst", "-o", "deep.out.y4m"]);
    assert!(notes.is_empty(), "{notes}");
    let out = bench.read("deep.out.y4m");
    assert!(out.starts_with(b"YUV4MPEG2 W64 H48 F30:1 Ip A1:1 C420p10 XYSCSS=420P10 XCOLORRANGE=LIMITED\n"));
    let (given, back) = (deep_samples(&deep_clip()), deep_samples(&out));
    assert_eq!(given.len(), back.len());
    let errors: Vec<u16> = given.iter().zip(&back).map(|(a, b)| a.abs_diff(*b)).collect();
    let mean = errors.iter().map(|error| f64::from(*error)).sum::<f64>() / errors.len() as f64;
    assert!(mean < 2.0 && back.iter().any(|sample| sample % 4 != 0), "{mean} steps of 10 bits");
    // A cut of every frame, the beginning of the file.
    bench.succeed(&["cut", "deep.nst", "-o", "slow.nst", "--bitrate", "100k"]);
    bench.write("beginning.nst", &bench.read("deep.nst")[..bench.read("deep.nst").len() / 2]);
    for name in ["slow", "beginning"] {
        bench.succeed(&["decode", &format!("{name}.nst"), "-o", &format!("{name}.y4m")]);
        let cut = bench.read(&format!("{name}.y4m"));
        assert_eq!(header(&cut), header(&out), "{name}");
        assert_eq!(cut[..header(&cut)], out[..header(&out)], "{name}");
        let frames = deep_samples(&cut).len() as f64 / (given.len() / 3) as f64;
        assert!(if name == "slow" { frames == 3.0 } else { [1.0, 2.0, 3.0].contains(&frames) }, "{name}: {frames}");
        assert!(cut != out, "{name}: it is another video");
    }
}

#[test]
fn deep_video_becomes_pictures_of_16_bits_and_after_a_network_frames_of_8() {
    let bench = Bench::new();
    bench.write("deep.y4m", &deep_clip());
    bench.succeed(&["encode", "deep.y4m", "-o", "deep.nst"]);
    let network = ["decode", "deep.nst", "-o", "restored.y4m", "--decoder", "deep"];
    let output = bench.command_with_networks().args(network).output().expect("the binary starts");
    let notes = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{notes}");
    assert!(notes.contains("deep.nst: it has 10 bits a sample: nestcast rounds them to 8"), "{notes}");
    assert_eq!(frames(&bench.read("restored.y4m")).len(), 3);
    let (_, notes) = bench.succeed(&["decode", "deep.nst", "-o", "pictures/"]);
    assert!(!notes.contains("rounds"), "{notes}");
    let png = image::load_from_memory(&bench.read("pictures/frame-00000000.png")).expect("a PNG");
    assert_eq!(png.color(), image::ColorType::Rgb16);
}

#[test]
fn deep_video_is_rounded_to_8_bits_where_you_ask_for_them() {
    let bench = Bench::new();
    let plain = clip(3, 3);
    let at = header(&plain);
    let deep = plain[at..].chunks(FRAME).flat_map(|frame| {
        let samples = frame[6..].iter().flat_map(|sample| (u16::from(*sample) << 2).to_le_bytes());
        b"FRAME\n".iter().copied().chain(samples).collect::<Vec<u8>>()
    });
    let deep: Vec<u8> = b"YUV4MPEG2 W64 H48 F30:1 C420p10\n".iter().copied().chain(deep).collect();
    bench.write("deep.y4m", &deep);
    bench.write("plain.y4m", &[b"YUV4MPEG2 W64 H48 F30:1 C420mpeg2\n", &plain[at..]].concat());
    let rates = ["--bitrates", "60k..960k"];
    let eight = &["encode", "deep.y4m", "-o", "eight.nst", "--bits", "8"];
    let (_, notes) = bench.succeed(&[&eight[..], &rates[..]].concat());
    assert!(notes.contains("deep.y4m: it has 10 bits a sample: nestcast rounds them to 8"), "{notes}");
    for name in ["deep", "plain"] {
        let (input, output) = (format!("{name}.y4m"), format!("{name}.nst"));
        let (_, notes) = bench.succeed(&[&["encode", &input, "-o", &output], &rates[..]].concat());
        assert!(!notes.contains("bits a sample"), "{notes}");
    }
    assert!(bench.read("eight.nst") == bench.read("plain.nst"), "8 bits are what they were");
    // The same frames after headers of two versions: the other one has a byte more.
    let (deep, plain) = (bench.read("deep.nst"), bench.read("plain.nst"));
    assert_eq!((deep[3], plain[3], deep.len()), (2, 1, plain.len() + 1));
    bench.succeed(&["decode", "plain.nst", "-o", "plain.out.y4m"]);
    bench.succeed(&["decode", "deep.nst", "-o", "deep.out.y4m"]);
    let rounded: Vec<u8> =
        frames(&bench.read("deep.out.y4m")).iter().flat_map(|frame| frame.samples().to_vec()).collect();
    let plain: Vec<u8> =
        frames(&bench.read("plain.out.y4m")).iter().flat_map(|frame| frame.samples().to_vec()).collect();
    assert!(rounded.iter().zip(&plain).all(|(a, b)| a.abs_diff(*b) <= 1), "rounded once more");
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
        let place = format!("{folder}-by-{matrix:?}");
        let pictures = nestcast_media::output::PictureFolder::begin(&bench.path(&place)).expect("a new folder");
        pictures.put(0, &planar).expect("it is written");
        let shown = image::load_from_memory(&bench.read(&format!("{place}/frame-00000000.png"))).expect("a PNG");
        let pairs: Vec<_> = shown.into_rgb8().iter().zip(decoded.as_raw()).map(|(a, b)| a.abs_diff(*b)).collect();
        pairs.iter().map(|error| f64::from(*error).powi(2)).sum::<f64>() / pairs.len() as f64
    };
    for (option, right, wrong, name) in
        [(&[][..], Matrix::Bt601, Matrix::Bt709, "601"), (&["--matrix", "709"], Matrix::Bt709, Matrix::Bt601, "709")]
    {
        bench.succeed(&[&["encode", "clip.y4m", "-o", "clip.nst", "--bitrates", "900k..9M"], option].concat());
        let (header, _) = bench.succeed(&["inspect", "clip.nst"]);
        assert!(header.contains(&format!("YCbCr 4:2:0 by BT.{name}, limited range")), "{header}");
        bench.succeed(&["decode", "clip.nst", "-o", &format!("{name}/")]);
        let errors = [right, wrong].map(|matrix| error(name, matrix));
        assert!(2.0 * errors[0] < errors[1], "{errors:?}");
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

#[test]
fn colours_from_720_lines_on_are_those_of_bt_709() {
    use crate::harness::live::Sender;
    let bench = Bench::new();
    // Red by ITU-R BT.709-6, and by BT.601-7, in limited range.
    for (height, red, name) in [(720, [63, 102, 240], "709"), (718, [81, 90, 240], "601")] {
        let (luma, differences) = (32 * height, 16 * height / 2);
        let frame: Vec<u8> = [vec![red[0]; luma], vec![red[1]; differences], vec![red[2]; differences]].concat();
        let frame = [&b"FRAME\n"[..], &frame].concat();
        let clip = format!("YUV4MPEG2 W32 H{height} F10:1 C420jpeg\n").into_bytes();
        bench.write("clip.y4m", &[clip, frame.repeat(3)].concat());
        bench.succeed(&["encode", "clip.y4m", "-o", "clip.nst"]);
        let (header, _) = bench.succeed(&["inspect", "clip.nst"]);
        assert!(header.contains(&format!("YCbCr 4:2:0 by BT.{name}")), "{header}");
        let decoded = format!("decoded{name}/");
        bench.succeed(&["decode", "clip.nst", "-o", &decoded]);
        let sender = Sender::start(&bench, &["clip.nst", "--repeat"]);
        let received = format!("received{name}/");
        let mut receiver = bench
            .command(crate::harness::NESTCAST)
            .args(sender.receive(&["-o", &received, "--json"]))
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let lines = std::io::BufRead::lines(std::io::BufReader::new(receiver.stdout.take().expect("it is piped")));
        let frames = lines.map_while(Result::ok).filter(|line| line.contains("\"event\":\"frame\""));
        assert_eq!(frames.take(2).count(), 2);
        receiver.kill().expect("it runs");
        receiver.wait().expect("it ends");
        for folder in [&decoded, &received] {
            let entries = std::fs::read_dir(bench.path(folder)).expect("a folder");
            let first = entries.map(|entry| entry.expect("an entry").path()).min().expect("a picture");
            let picture = image::open(&first).expect("a PNG").into_rgb8();
            let pixel = picture.get_pixel(16, 300).0;
            let near = pixel.iter().zip([255, 0, 0]).all(|(a, b)| a.abs_diff(b) <= 12);
            assert!(near, "{folder} of {height} lines: {pixel:?}");
        }
    }
}
