//! Bad streams: each is refused in one line, no file is touched, nothing panics.

use crate::harness::{Bench, png, refusal};

/// Where the header of a 64x48 picture stores its model, and the header's length.
const MODEL: std::ops::Range<usize> = 7..13;
const HEADER: usize = 18;

fn decode(bench: &Bench, bytes: &[u8]) -> String {
    bench.write("bad.nst", bytes);
    bench.refuse(&["decode", "bad.nst", "-o", "out", "--decoder", "linear"])
}

#[test]
fn a_stream_cut_inside_its_header_is_refused_and_behind_it_decodes() {
    let bench = Bench::new();
    let stream = bench.stream("whole.nst");
    assert!(decode(&bench, &[]).contains("is empty"));
    for length in 1..HEADER {
        let line = decode(&bench, &stream[..length]);
        assert!(line.contains("ends inside its header"), "{line}");
    }
    for length in [HEADER, HEADER + 1, HEADER + 7, stream.len() - 1] {
        bench.write("cut.nst", &stream[..length]);
        bench.succeed(&["decode", "cut.nst", "-o", "cut.png", "--decoder", "linear"]);
    }
}

#[test]
fn what_is_no_stream_is_refused_by_every_command() {
    let bench = Bench::new();
    let mut stream = bench.stream("whole.nst");
    stream[0] ^= 1;
    bench.write("bad.nst", &stream);
    for arguments in [
        &["decode", "bad.nst", "-o", "out", "--decoder", "linear"][..],
        &["cut", "bad.nst", "-o", "out", "--bytes", "100"],
        &["inspect", "bad.nst"],
    ] {
        assert!(bench.refuse(arguments).contains("no nestcast stream"));
    }
}

#[test]
fn another_version_says_to_update() {
    let bench = Bench::new();
    let mut stream = bench.stream("whole.nst");
    stream[3] = 9;
    let line = decode(&bench, &stream);
    assert!(line.contains("version 9") && line.contains("update nestcast"), "{line}");
}

#[test]
fn another_model_is_named_and_still_inspected_and_cut() {
    let bench = Bench::new();
    let mut stream = bench.stream("whole.nst");
    stream[MODEL].copy_from_slice(&[0xAB; 6]);
    let line = decode(&bench, &stream);
    assert!(line.contains("abababababab") && line.contains("--model"), "{line}");
    let (text, _) = bench.succeed(&["inspect", "bad.nst", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["model_id"], "abababababab");
    assert!(json["model"].is_null() && json["whole"].is_null());
    bench.succeed(&["cut", "bad.nst", "-o", "cut.nst", "--bytes", "50"]);
    assert_eq!(bench.read("cut.nst"), &stream[..50]);
}

#[test]
fn a_built_in_model_is_found_by_the_stream_that_names_it() {
    let bench = Bench::new();
    bench.write("source.png", &png::rgb(64, 48));
    bench.succeed(&["encode", "source.png", "-o", "ssim.nst", "--model", "photo-ssim"]);
    bench.succeed(&["decode", "ssim.nst", "-o", "out.png", "--decoder", "linear"]);
    let (text, _) = bench.succeed(&["inspect", "ssim.nst"]);
    assert!(text.contains("(photo-ssim)") && text.contains("the whole stream"), "{text}");
    // A model that is named must be the stream's.
    let decode = ["decode", "ssim.nst", "-o", "out", "--decoder", "linear", "--model"];
    bench.succeed(&[&decode[..], &["photo-ssim"]].concat());
    for arguments in [&[&decode[..], &["photo"]].concat()[..], &["inspect", "ssim.nst", "--model", "photo"]] {
        let line = bench.refuse(arguments);
        assert!(line.contains("ssim.nst ") && line.contains("--model photo: unsupported model "), "{line}");
        assert!(line.contains(": the stream needs it, but ") && line.contains(" was given"), "{line}");
    }
}

#[test]
fn what_is_nestcasts_own_is_called_so_where_a_picture_is_meant() {
    let bench = Bench::new();
    bench.write("source.png", &png::rgb(64, 48));
    bench.succeed(&["encode", "source.png", "-o", "photo.nst"]);
    let line = bench.refuse(&["encode", "photo.nst", "-o", "again.nst"]);
    assert_eq!(
        line,
        "nestcast: photo.nst is refused: it is a stream, not a picture: `nestcast decode` makes a PNG of it"
    );
}

#[test]
fn a_header_of_a_huge_picture_takes_no_memory() {
    let bench = Bench::new();
    let stream = bench.stream("whole.nst");
    let header = |side: &[u8]| [&stream[..5], side, side, &stream[MODEL], &[5], &[0x15; 40]].concat();
    let line = decode(&bench, &header(&[0xFF, 0x7F]));
    assert!(line.contains("268435456") && line.contains("--max-pixels"), "{line}");
    let line = decode(&bench, &header(&[0xFF, 0xFF, 0x7F]));
    assert!(line.contains("over the limit of 16384"), "{line}");
    bench.write("bad.nst", &header(&[0xFF, 0x7F]));
    let (text, _) = bench.succeed(&["inspect", "bad.nst"]);
    assert!(text.contains("16384x16384"), "{text}");
}

#[test]
fn an_input_without_end_is_refused_or_cut() {
    let bench = Bench::new();
    let stream = bench.stream("whole.nst");
    let zeros = vec![0; 9 << 20];
    let line = refusal(&[], &bench.run(&["decode", "-", "-o", "out", "--decoder", "linear"], &zeros));
    assert!(line.contains("no nestcast stream"), "{line}");
    let line = refusal(&[], &bench.run(&["encode", "-", "-o", "out", "--analysis", "linear"], &zeros));
    assert!(line.contains("no PNG, JPEG or WebP"), "{line}");
    let picture = [&bench.read("source.png")[..], &vec![0; 65 << 20]].concat();
    let arguments = ["encode", "-", "-o", "out", "--analysis", "linear", "--max-pixels", "3072"];
    let line = refusal(&[], &bench.run(&arguments, &picture));
    assert!(line.contains("more than") && line.contains("--max-pixels"), "{line}");

    let endless = [&stream[..], &zeros].concat();
    for arguments in [&["decode", "-", "-o", "out", "--decoder", "linear"][..], &["inspect", "-"]] {
        let line = refusal(&[], &bench.run(arguments, &endless));
        assert!(line.contains("is longer than") && line.contains("64x48"), "{line}");
    }
    let output = bench.run(&["cut", "-", "-o", "cut.nst", "--bytes", "50"], &endless);
    assert!(output.status.success());
    assert_eq!(bench.read("cut.nst"), &stream[..50]);
}

#[test]
fn a_flipped_bit_gives_a_picture_or_one_line() {
    let bench = Bench::new();
    let stream = bench.stream("whole.nst");
    let bits = (0..HEADER * 8).chain((HEADER * 8..stream.len() * 8).step_by(stream.len() / 4));
    for bit in bits {
        let mut bytes = stream.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        bench.write("bad.nst", &bytes);
        let arguments = ["decode", "bad.nst", "-o", "flipped.png", "--decoder", "linear", "--max-pixels", "4000000"];
        let output = bench.run(&arguments, &[]);
        let written = bench.path("flipped.png").exists();
        assert_eq!(written, output.status.success(), "bit {bit}");
        if written {
            std::fs::remove_file(bench.path("flipped.png")).expect("it is there");
        } else {
            refusal(&arguments, &output);
        }
    }
}

#[test]
fn before_a_corrupt_segment_there_is_a_picture_and_a_note() {
    let bench = Bench::new();
    bench.write("large.png", &png::rgb(640, 620));
    let limits = ["--analysis", "linear", "--max-bytes", "3000"];
    bench.succeed(&[&["encode", "large.png", "-o", "whole.nst"], &limits[..]].concat());
    let whole = bench.read("whole.nst");
    // Two slices: two lengths, which for the first segment are two bytes each.
    let lengths = HEADER + 2;
    let length = |at: usize| {
        let [low, high] = [whole[at], whole[at + 1]].map(usize::from);
        assert!(low >= 0x80 && high < 0x80, "{:?}", &whole[..30]);
        (low & 0x7F) | high << 7
    };
    let end = lengths + 4 + length(lengths) + length(lengths + 2);
    let corrupt = [&whole[..end], &[0xFF; 5], &whole[end..]].concat();
    bench.write("corrupt.nst", &corrupt);
    bench.write("before.nst", &whole[..end]);

    let linear = ["--decoder", "linear"];
    let (_, note) = bench.succeed(&[&["decode", "corrupt.nst", "-o", "corrupt.png"], &linear[..]].concat());
    assert!(note.contains("note: corrupt.nst: corrupt stream") && note.lines().count() == 1, "{note}");
    let (_, silence) = bench.succeed(&[&["decode", "before.nst", "-o", "before.png"], &linear[..]].concat());
    assert_eq!(silence, "");
    assert_eq!(bench.read("corrupt.png"), bench.read("before.png"));

    let (text, _) = bench.succeed(&["inspect", "corrupt.nst", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert!(json["fault"].as_str().is_some_and(|fault| fault.contains("corrupt")), "{text}");
    assert_eq!(json["whole"], false);
    assert!(bench.succeed(&["inspect", "corrupt.nst"]).0.contains("what comes before it decodes"));
}

#[test]
fn cuts_outside_the_stream() {
    let bench = Bench::new();
    let stream = bench.stream("whole.nst");
    for arguments in [["--bytes", "17"], ["--bytes", "0"], ["--bpp", "0.001"]] {
        let line = bench.refuse(&[&["cut", "whole.nst", "-o", "out"], &arguments[..]].concat());
        assert!(line.contains("inside the stream's header") && line.contains("18"), "{line}");
    }
    let line = bench.refuse(&["decode", "whole.nst", "-o", "out", "--decoder", "linear", "--bytes", "5"]);
    assert!(line.contains("inside the stream's header"), "{line}");
    let (_, note) = bench.succeed(&["cut", "whole.nst", "-o", "all.nst", "--bytes", "9999999"]);
    let said = format!(
        "nestcast: note: the stream has {} bytes, fewer than you asked for: nestcast uses all of it\n",
        stream.len()
    );
    assert_eq!(note, said);
    assert_eq!(bench.read("all.nst"), stream);
    let (_, note) = bench.succeed(&["cut", "whole.nst", "-o", "all.nst", "--bpp", "1e300"]);
    assert_eq!(note, said);
}
