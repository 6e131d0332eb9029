//! Videos: encoded once, cut to any rate, decoded, inspected, measured; and refusals.

use crate::harness::Bench;
use nestcast_codec::{Format, FrameRate, Picture, Size, Ycbcr};
use nestcast_media::y4m::{Reader, Writer};

pub(crate) const WIDTH: usize = 64;
pub(crate) const HEIGHT: usize = 48;
pub(crate) const FRAMES: usize = 20;
/// Bytes of a frame in y4m, with its line.
pub(crate) const FRAME: usize = 6 + WIDTH * HEIGHT * 3 / 2;

/// Makes a texture that moves by two pixels a frame; from `cut` on it is another, brighter one.
pub(crate) fn clip(count: usize, cut: usize) -> Vec<u8> {
    let size = Size::new(64, 48).expect("a valid size");
    let format = Format::Ycbcr420(Ycbcr::BT601);
    let mut writer = Writer::new(Vec::new(), FrameRate::new(30, 1).expect("a rate"));
    for number in 0..count {
        let (seed, base) = if number < cut { (7, 40) } else { (3, 100) };
        let mut samples = Vec::new();
        for plane in 0..3 {
            let [width, height] = format.plane(size, plane);
            let step = if plane == 0 { 2 } else { 1 };
            let sample = |x: usize, y: usize| base + ((x * seed) ^ (y * 5)) % 120 + (x * y) % 31;
            let rows = (0..height).flat_map(|y| (0..width).map(move |x| sample(x + step * number, y)));
            samples.extend(rows.map(|sample| u8::try_from(sample).expect("below 256")));
        }
        writer.write(&Picture::new(size, format, samples).expect("the shape fits")).expect("memory takes it");
    }
    writer.into_inner()
}

/// Returns the bytes of a y4m file's header.
pub(crate) fn header(y4m: &[u8]) -> usize {
    y4m.iter().position(|byte| *byte == b'\n').expect("a line") + 1
}

pub(crate) fn frames(y4m: &[u8]) -> Vec<Picture> {
    let mut reader = Reader::new(y4m, 1 << 20).expect("y4m");
    std::iter::from_fn(|| reader.read().expect("a frame")).collect()
}

/// Returns the mean over frames of the mean squared error of luma.
pub(crate) fn error(original: &[Picture], decoded: &[Picture]) -> f64 {
    let frames =
        original.iter().zip(decoded).flat_map(|(a, b)| a.samples().iter().zip(b.samples()).take(WIDTH * HEIGHT));
    let squares: f64 = frames.map(|(a, b)| f64::from(a.abs_diff(*b)).powi(2)).sum();
    squares / (original.len() * WIDTH * HEIGHT) as f64
}

/// Makes a folder with `clip.y4m`, whose scene changes halfway, and `clip.nst`.
pub(crate) fn encoded() -> Bench {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(FRAMES, FRAMES / 2));
    let (out, _) = bench.succeed(&["encode", "clip.y4m", "-o", "clip.nst", "--bitrates", "60k..960k"]);
    assert!(out.starts_with("clip.nst: 64x48, 20 frames for 60..960 kbit/s, "), "{out}");
    bench
}

pub(crate) fn json_lines(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn a_clip_is_encoded_once_and_every_rate_decodes_better_than_the_one_below() {
    let bench = encoded();
    let original = frames(&bench.read("clip.y4m"));
    let mut errors = Vec::new();
    let mut sizes = Vec::new();
    for rate in ["60k", "240k", "960k"] {
        bench.succeed(&["cut", "clip.nst", "-o", "small.nst", "--bitrate", rate]);
        let (out, note) = bench.succeed(&["decode", "small.nst", "-o", "small.y4m"]);
        assert!(out.starts_with("small.y4m: 64x48, 20 frames from ") && note.is_empty(), "{out}{note}");
        // Decoding as a receiver of that rate gives the same.
        bench.succeed(&["decode", "clip.nst", "-o", "rate.y4m", "--bitrate", rate]);
        assert_eq!(bench.read("small.y4m"), bench.read("rate.y4m"));
        let decoded = frames(&bench.read("small.y4m"));
        assert_eq!(decoded.len(), FRAMES);
        errors.push(error(&original, &decoded));
        sizes.push(bench.read("small.nst").len());
    }
    assert!(errors[0] > 1.3 * errors[1] && errors[1] > 1.3 * errors[2], "{errors:?}");
    assert!(2 * sizes[0] < sizes[1] && 2 * sizes[1] < sizes[2], "{sizes:?}");
    // A cut for a rate stays within it: 20 frames are two thirds of a second.
    assert!((sizes[1] as f64) < 240e3 / 8.0 * 2.0 / 3.0 + 100.0, "{sizes:?}");
}

#[test]
fn frames_are_shown_through_the_network_where_it_is_asked_for() {
    let bench = encoded();
    let deep = ["decode", "clip.nst", "-o", "deep.y4m", "--bitrate", "60k", "--decoder", "deep"];
    let output = bench.command_with_networks().args(deep).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    bench.succeed(&["decode", "clip.nst", "-o", "linear.y4m", "--bitrate", "60k"]);
    let [deep, linear] = ["deep.y4m", "linear.y4m"].map(|file| frames(&bench.read(file)));
    assert_eq!(deep.len(), FRAMES);
    assert!(deep.iter().zip(&linear).all(|(deep, linear)| deep != linear));
    // No network has seen such a clip, so the correction is small.
    assert!(error(&linear, &deep) < 0.5 * error(&linear, &frames(&bench.read("clip.y4m"))));
}

#[test]
fn without_onnx_runtime_the_way_out_is_named() {
    let bench = encoded();
    for arguments in [&["decode", "clip.nst", "-o", "out"][..], &["eval", "clip.y4m"]] {
        let line = bench.refuse(&[arguments, &["--decoder", "deep"]].concat());
        assert!(line.contains("ORT_DYLIB_PATH") && line.contains("`--decoder linear`"), "{line}");
    }
}

#[test]
fn a_rate_below_the_slowest_receivers_is_named() {
    let bench = encoded();
    let (_, note) = bench.succeed(&["cut", "clip.nst", "-o", "small.nst", "--bitrate", "20k"]);
    assert!(note.contains("below the slowest receiver's"), "{note}");
    let (_, note) = bench.succeed(&["cut", "clip.nst", "-o", "small.nst", "--bitrate", "60k"]);
    assert!(note.is_empty(), "{note}");
    let (_, note) = bench.succeed(&["cut", "small.nst", "-o", "same.nst", "--bitrate", "10M"]);
    assert!(note.ends_with(" kbit/s, less than you asked for: nestcast uses all of it\n"), "{note}");
    assert_eq!(bench.read("same.nst"), bench.read("small.nst"));
}

#[test]
fn of_several_renditions_a_cut_and_a_rate_take_the_one_that_serves_it() {
    let bench = encoded();
    let encode = ["encode", "clip.y4m", "-o", "renditions.nst", "--bitrates", "60k..960k", "--renditions", "2"];
    let (out, _) = bench.succeed(&encode);
    assert!(out.starts_with("renditions.nst: 64x48, 20 frames for 60..960 kbit/s in 2 renditions, "), "{out}");
    let (text, _) = bench.succeed(&["inspect", "renditions.nst", "--original", "clip.y4m", "--json"]);
    let lines = json_lines(&text);
    assert_eq!(
        (&lines[0]["renditions_bps"], &lines[0]["rendition"]),
        (&serde_json::json!([60_000, 240_000]), &1.into())
    );
    assert_eq!((lines.len(), &lines[FRAMES + 1]["keys"]), (FRAMES + 2, &2.into()));
    let (text, _) = bench.succeed(&["inspect", "renditions.nst"]);
    assert!(text.contains("from 60, 240 kbit/s on; shown is that from 240\n"), "{text}");
    for (rate, of) in [("60k", "60k"), ("239k", "239k"), ("240k", "240k"), ("960k", "960k")] {
        bench.succeed(&["cut", "renditions.nst", "-o", "small.nst", "--bitrate", rate]);
        let (out, note) = bench.succeed(&["decode", "small.nst", "-o", "small.y4m"]);
        assert!(out.starts_with("small.y4m: 64x48, 20 frames from ") && note.is_empty(), "{out}{note}");
        bench.succeed(&["decode", "renditions.nst", "-o", "rate.y4m", "--bitrate", of]);
        assert_eq!(bench.read("small.y4m"), bench.read("rate.y4m"), "{rate}");
        // The cut video has one loop.
        assert_eq!(bench.read("small.nst")[4], 2);
    }
    bench.succeed(&["decode", "renditions.nst", "-o", "fast.y4m"]);
    let (original, fast) = (frames(&bench.read("clip.y4m")), frames(&bench.read("fast.y4m")));
    bench.succeed(&["decode", "renditions.nst", "-o", "slow.y4m", "--bitrate", "239k"]);
    assert!(error(&original, &fast) < error(&original, &frames(&bench.read("slow.y4m"))));
    bench.succeed(&["decode", "renditions.nst", "-o", "part.y4m", "--frames", "12..15"]);
    assert_eq!(frames(&bench.read("part.y4m")), fast[12..15]);
}

#[test]
fn of_several_renditions_what_is_cut_decodes_and_what_is_broken_is_refused() {
    let bench = encoded();
    bench.succeed(&["encode", "clip.y4m", "-o", "renditions.nst", "--bitrates", "60k..960k", "--renditions", "2"]);
    let whole = bench.read("renditions.nst");
    for cut in [200, whole.len() / 2, whole.len() - 30] {
        bench.write("cut.nst", &whole[..cut]);
        let (_, note) = bench.succeed(&["decode", "cut.nst", "-o", "cut.y4m", "--bitrate", "60k"]);
        assert!(note.contains("breaks off"), "{cut}: {note}");
    }
    let count_at = 10 + 12;
    for (byte, part) in [(1, "number of renditions"), (4, "number of renditions"), (3, "do not rise")] {
        bench.write("bad.nst", &[&whole[..count_at], &[byte], &whole[count_at + 1..]].concat());
        let line = bench.refuse(&["decode", "bad.nst", "-o", "out"]);
        assert!(line.contains(part), "{line}");
    }
    let four = bench.run(&["encode", "clip.y4m", "-o", "out", "--renditions", "4"], &[]);
    assert!(
        four.status.code() == Some(2) && String::from_utf8_lossy(&four.stderr).contains("4 is not in 1..=3"),
        "{four:?}"
    );
    let (text, _) = bench.succeed(&["eval", "clip.y4m", "--bitrates", "60k..960k", "--renditions", "2", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let rates = report["rates"].as_array().expect("five");
    assert!(rates.windows(2).all(|pair| pair[0]["luma_db"].as_f64() < pair[1]["luma_db"].as_f64()), "{text}");
}

#[test]
fn videos_go_through_pipes() {
    let bench = encoded();
    let y4m = bench.read("clip.y4m");
    let stored = bench.run(&["encode", "-", "-o", "-", "--bitrates", "60k..960k", "--json"], &y4m);
    assert!(stored.status.success() && stored.stdout == bench.read("clip.nst"));
    let summary: serde_json::Value = serde_json::from_slice(&stored.stderr).expect("JSON");
    assert_eq!((&summary["frames"], &summary["keys"], &summary["least_kbps"]), (&20.into(), &2.into(), &60.0.into()));
    let cut = bench.run(&["cut", "-", "-o", "-", "--bitrate", "240k"], &stored.stdout);
    bench.succeed(&["cut", "clip.nst", "-o", "small.nst", "--bitrate", "240k"]);
    assert_eq!(cut.stdout, bench.read("small.nst"));
    let decoded = bench.run(&["decode", "-", "-o", "-"], &cut.stdout);
    bench.succeed(&["decode", "small.nst", "-o", "small.y4m"]);
    assert_eq!(decoded.stdout, bench.read("small.y4m"));
    let eval = ["eval", "-", "--frames", "0..3", "--json"];
    let measured = bench.run(&eval, &y4m);
    let report: serde_json::Value = serde_json::from_slice(&measured.stdout).expect("JSON");
    assert_eq!(report["rates"].as_array().map(Vec::len), Some(5), "{measured:?}");
}

#[test]
fn a_range_of_frames_is_encoded_and_decoded_alone() {
    let bench = encoded();
    bench.succeed(&["decode", "clip.nst", "-o", "all.y4m"]);
    let all = frames(&bench.read("all.y4m"));
    // The scene changes at frame 10. With the index, decoding begins there; from a pipe, at the first frame.
    bench.succeed(&["decode", "clip.nst", "-o", "part.y4m", "--frames", "12..15"]);
    assert_eq!(frames(&bench.read("part.y4m")), all[12..15]);
    let piped = bench.run(&["decode", "-", "-o", "-", "--frames", "12..15"], &bench.read("clip.nst"));
    assert_eq!(frames(&piped.stdout), all[12..15]);
    bench.succeed(&["encode", "clip.y4m", "-o", "part.nst", "--bitrates", "60k..960k", "--frames", "..5"]);
    bench.succeed(&["decode", "part.nst", "-o", "part.y4m"]);
    assert_eq!(frames(&bench.read("part.y4m")), all[..5]);
    for command in [["encode", "clip.y4m"], ["decode", "clip.nst"]] {
        let line = bench.refuse(&[&command[..], &["-o", "out", "--frames", "20.."]].concat());
        assert!(line.contains("has 20 frames"), "{line}");
    }
}

#[test]
fn frames_become_png_pictures_in_a_folder() {
    let bench = encoded();
    bench.succeed(&["decode", "clip.nst", "-o", "folder/", "--frames", "3..5"]);
    let mut names: Vec<_> =
        std::fs::read_dir(bench.path("folder")).expect("a folder").map(|e| e.expect("a file").file_name()).collect();
    names.sort();
    assert_eq!(names, ["frame-00000003.png", "frame-00000004.png"]);
    assert!(bench.refuse(&["decode", "clip.nst", "-o", "folder"]).contains("not empty"));
}

#[test]
fn a_stored_video_that_was_cut_anywhere_gives_the_frames_that_are_there() {
    let bench = encoded();
    let whole = bench.read("clip.nst");
    bench.succeed(&["decode", "clip.nst", "-o", "all.y4m"]);
    let all = frames(&bench.read("all.y4m"));
    for cut in (100..whole.len()).step_by(whole.len() / 9).chain([whole.len() - 1]) {
        bench.write("cut.nst", &whole[..cut]);
        let output = bench.run(&["decode", "cut.nst", "-o", "cut.y4m"], &[]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        let decoded = frames(&bench.read("cut.y4m"));
        let mut notes = error.lines();
        assert!(output.status.success() && (cut > whole.len() - 20 || notes.next().is_some()), "{cut}: {error}");
        // Only a frame that was cut in its head or side information has a second note, and shows the one before.
        if let Some(note) = notes.next() {
            let missing = format!("1 of the {} frames are missing or damaged", decoded.len());
            let [.., before, last] = &decoded[..] else { panic!("{cut}: {error}") };
            assert!(note.contains(&missing) && before == last, "{cut}: {error}");
        }
        assert_eq!(notes.next(), None, "{cut}: {error}");
        assert!(cut > whole.len() - 20 || error.contains("breaks off"), "{cut}: {error}");
        // All frames except the last are unchanged.
        assert_eq!(decoded[..decoded.len() - 1], all[..decoded.len() - 1], "{cut}");
    }
    for cut in [5, 20] {
        bench.write("bad.nst", &whole[..cut]);
        let line = bench.refuse(&["decode", "bad.nst", "-o", "out", "--decoder", "linear"]);
        assert!(line.contains("ends inside its header"), "{line}");
    }
}

#[test]
fn other_models_and_large_sizes_are_refused_and_damage_is_said() {
    let bench = encoded();
    let whole = bench.read("clip.nst");
    let damaged = |at: usize, bytes: &[u8]| {
        let mut damaged = whole.clone();
        damaged[at..at + bytes.len()].copy_from_slice(bytes);
        bench.write("bad.nst", &damaged);
    };
    // The header holds magic, version, kind, range, two sides and two numbers of the rate; then the models.
    damaged(10, &[0xAB; 6]);
    let line = bench.refuse(&["decode", "bad.nst", "-o", "out"]);
    assert!(line.contains("abababababab"), "{line}");
    bench.succeed(&["inspect", "bad.nst"]);
    let large = [&whole[..6], &[0xFF, 0x7F, 0xFF, 0x7F], &whole[8..]].concat();
    bench.write("bad.nst", &large);
    let line = bench.refuse(&["decode", "bad.nst", "-o", "out"]);
    assert!(line.contains("268435456") && line.contains("--max-pixels"), "{line}");
    bench.succeed(&["inspect", "bad.nst"]);
    assert!(bench.refuse(&["inspect", "bad.nst", "--original", "clip.y4m"]).contains("--max-pixels"));
    damaged(3, &[9]);
    assert!(bench.refuse(&["decode", "bad.nst", "-o", "out"]).contains("version 9"));
    // A reserved bit in the first frame's head: until the next key, later frames have nothing to be predicted from.
    let first = 10 + 12 + 2;
    damaged(first + 1, &[0xFF]);
    let (_, note) = bench.succeed(&["decode", "bad.nst", "-o", "bad.y4m"]);
    assert!(note.contains("frame 0: corrupt frame") && note.lines().count() == 1, "{note}");
}

#[test]
fn y4m_that_breaks_off_or_changes_its_size_becomes_a_video_of_the_frames_before() {
    let bench = Bench::new();
    let y4m = clip(6, 99);
    let head = header(&y4m);
    let mut other = y4m[..head + 2 * FRAME].to_vec();
    other.extend([0; 40]);
    other.extend(&y4m[head + 2 * FRAME..]);
    let broken = &y4m[..head + 3 * FRAME + 100];
    for (bytes, count, part) in
        [(broken, 3, "breaks off inside frame 3"), (&other, 2, "whether the video changes its size")]
    {
        bench.write("bad.y4m", bytes);
        let output = bench.run(&["encode", "bad.y4m", "-o", "out.nst"], &[]);
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), line.lines().count()), (Some(1), 1), "{line}");
        assert!(line.starts_with("nestcast: bad.y4m: ") && line.contains(part), "{line}");
        assert!(line.trim_end().ends_with(&format!("out.nst has the {count} frames before")), "{line}");
        bench.succeed(&["decode", "out.nst", "-o", "out.y4m"]);
        assert_eq!(frames(&bench.read("out.y4m")).len(), count);
        // Who asked for these frames alone gets no error.
        bench.succeed(&["encode", "bad.y4m", "-o", "asked.nst", "--frames", &format!("0..{count}")]);
        assert_eq!(bench.read("asked.nst"), bench.read("out.nst"));
        let line = bench.refuse(&["eval", "bad.y4m"]);
        assert!(line.contains(&format!("--frames 0..{count} uses the frames before it")), "{line}");
    }
    bench.write("bad.y4m", &y4m[..head + 100]);
    assert!(bench.refuse(&["encode", "bad.y4m", "-o", "out"]).contains("breaks off inside frame 0"));
    bench.write("bad.y4m", broken);
    let line = bench.refuse(&["encode", "bad.y4m", "-o", "out", "--frames", "3.."]);
    assert!(line.contains("bad.y4m is refused: the video breaks off inside frame 3"), "{line}");
    bench.write("bad.y4m", &y4m[..head]);
    assert!(bench.refuse(&["encode", "bad.y4m", "-o", "out"]).contains("no frames"));
    bench.write("bad.y4m", b"YUV4MPEG2 W16384 H16384 F25:1 C420\n");
    assert!(bench.refuse(&["encode", "bad.y4m", "-o", "out"]).contains("--max-pixels"));
}

#[test]
fn options_of_the_other_kind_are_refused_with_what_to_use() {
    let bench = encoded();
    bench.stream("picture.nst");
    for (arguments, part) in [
        (&["cut", "picture.nst", "-o", "out", "--bitrate", "300k"][..], "--bytes or --bpp"),
        (&["cut", "clip.nst", "-o", "out", "--bytes", "300"], "--bitrate"),
        (&["decode", "clip.nst", "-o", "out", "--sound", "out.mp3"], "a name that ends in .wav"),
        (&["decode", "clip.nst", "-o", "x.mpg"], "a name that ends in .y4m"),
        (&["decode", "picture.nst", "-o", "out", "--bitrate", "300k"], "--bytes"),
        (&["decode", "clip.nst", "-o", "out", "--bytes", "300"], "--bitrate"),
        (&["decode", "clip.nst", "-o", "out.png"], ".y4m"),
        (&["encode", "source.png", "-o", "out", "--bitrates", "1k..2k"], "y4m"),
        (&["encode", "source.png", "-o", "out", "--effort", "fast"], "y4m"),
        (&["encode", "clip.y4m", "-o", "out", "--max-bytes", "3000"], "--bitrates"),
        (&["encode", "clip.y4m", "-o", "out", "--model", "photo-ssim"], "--model"),
        (&["inspect", "picture.nst", "--original", "source.png"], "--original"),
        (&["encode", "clip.y4m", "-o", "out", "--model", "photo"], "--model"),
        (&["decode", "clip.nst", "-o", "out", "--model", "photo"], "--model"),
        (&["inspect", "clip.nst", "--model", "photo-ssim"], "--model"),
        (&["eval", "clip.y4m", "--model", "photo"], "--model"),
        (&["eval", "clip.y4m", "--decoder", "both"], "with one decoder each"),
        #[cfg(feature = "perceptual")]
        (&["eval", "clip.y4m", "--perceptual"], "--perceptual"),
        (&["eval", "clip.y4m", "--analysis", "deep"], "linear"),
    ] {
        let line = bench.refuse(arguments);
        assert!(line.contains(part), "{line}");
    }
}
