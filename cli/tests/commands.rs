//! What each command promises when it succeeds, and its message when something is missing.

use crate::harness::live::Sender;
use crate::harness::{Bench, png, refusal};

#[test]
fn every_way_to_cut_gives_the_same_bytes() {
    let bench = Bench::new();
    let stream = bench.stream("s.nst");
    bench.succeed(&["cut", "s.nst", "-o", "c.nst", "--bytes", "300"]);
    assert_eq!(bench.read("c.nst"), &stream[..300]);
    // 64 * 48 pixels at 0.78125 bits are 300 bytes.
    bench.succeed(&["cut", "s.nst", "-o", "b.nst", "--bpp", "0.78125"]);
    assert_eq!(bench.read("b.nst"), &stream[..300]);
    bench.succeed(&["cut", "s.nst", "-o", "k.nst", "--bytes", "0.3k"]);
    assert_eq!(bench.read("k.nst"), bench.read("c.nst"));
    let said = bench.misuse(&["cut", "s.nst", "-o", "k.nst", "--bytes", "300q"]);
    assert!(said.contains("give a whole number, or one with k or M, as in 20k"), "{said}");
    let piped = bench.run(&["cut", "-", "-o", "-", "--bytes", "300"], &stream);
    assert_eq!(piped.stdout, &stream[..300]);
    bench.succeed(&[
        "encode",
        "source.png",
        "-o",
        "m.nst",
        "--max-bytes",
        "300",
        "--analysis",
        "linear",
        "--threads",
        "3",
    ]);
    assert_eq!(bench.read("m.nst"), &stream[..300]);

    bench.succeed(&["decode", "c.nst", "-o", "c.png", "--decoder", "linear"]);
    bench.succeed(&["decode", "s.nst", "-o", "s.png", "--decoder", "linear", "--bytes", "300", "--threads", "1"]);
    assert_eq!(bench.read("c.png"), bench.read("s.png"));
}

#[test]
fn commands_work_in_a_pipe() {
    let bench = Bench::new();
    let stream = bench.stream("s.nst");
    let encoded = bench.run(&["encode", "-", "-o", "-", "--analysis", "linear"], &bench.read("source.png"));
    assert_eq!(encoded.stdout, stream);
    assert!(encoded.stderr.is_empty());
    let decoded = bench.run(&["decode", "-", "-o", "-", "--decoder", "linear"], &stream);
    assert!(decoded.stdout.starts_with(b"\x89PNG"));
    let inspected = bench.run(&["inspect", "-"], &stream);
    assert!(inspected.stdout.starts_with(b"standard input"));
    let eval = ["eval", "-", "--csv", "-", "--decoder", "linear", "--grid", "0.5:1:0.5"];
    let measured = bench.run(&eval, &bench.read("source.png"));
    let table = String::from_utf8_lossy(&measured.stdout).into_owned();
    assert_eq!(table.lines().filter(|line| line.starts_with("standard input,linear,")).count(), 2, "{measured:?}");
}

#[test]
fn a_network_chooses_the_gains_where_the_model_has_one_and_onnx_runtime_works() {
    let bench = Bench::new();
    bench.write("p.png", &png::noise());
    let encode = |options: &[&str]| {
        let mut command = bench.command_with_networks();
        let arguments = [&["encode", "p.png", "-o", "p.nst", "--json"], options].concat();
        let output = command.args(arguments).output().expect("it starts");
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        (summary["analysis"].as_str().expect("a name").to_owned(), bench.read("p.nst"))
    };
    let (usual, by_network) = encode(&["--model", "photo-ssim"]);
    assert_eq!(usual, "masked");
    let (linear, by_rule) = encode(&["--model", "photo-ssim", "--analysis", "linear"]);
    assert_eq!(linear, "linear");
    assert_ne!(by_network, by_rule);
    assert_eq!(encode(&["--model", "photo-ssim", "--activity-masking", "0"]).0, "linear");
    assert_eq!(encode(&["--model", "photo"]).0, "linear");
    bench.succeed(&["decode", "p.nst", "-o", "back.png", "--decoder", "linear"]);
    let line = bench.refuse(&["encode", "p.png", "-o", "out", "--model", "photo", "--analysis", "masked"]);
    assert!(line.contains("photo has no network for --analysis masked"), "{line}");
    let (_, note) = bench.succeed(&["encode", "p.png", "-o", "p.nst", "--model", "photo-ssim"]);
    assert!(note.contains("nestcast encodes without networks") && note.contains("`--analysis linear`"), "{note}");
    assert_eq!(bench.read("p.nst"), by_rule);
}

#[test]
fn eval_and_send_use_the_network_for_gains_by_default() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("slides")).expect("a folder");
    bench.write("slides/p.png", &png::noise());
    let eval = |options: &[&str]| {
        let fixed = ["eval", "slides", "--model", "photo-ssim", "--decoder", "linear", "--grid", "1:2:1"];
        let output = bench.command_with_networks().args(fixed).args(options).output().expect("it starts");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    assert!(eval(&[]).contains("masked analysis"), "{}", eval(&[]));
    let eval = |options: &[&str]| {
        let table = eval(&[&["--csv", "-"], options].concat());
        // The times of two runs differ.
        table.lines().map(|line| line.split(',').take(6).collect::<Vec<_>>().join(",")).collect::<Vec<_>>()
    };
    let usual = eval(&[]);
    assert_eq!(eval(&["--analysis", "masked"]), usual);
    assert_ne!(eval(&["--analysis", "linear"]), usual);

    let sent = |options: &[&str]| {
        let (status, figures, said) =
            Sender::start(&bench, &[&["slides", "--model", "photo-ssim"], options].concat()).wait();
        assert!(status.success() && figures["frames"] == 1, "{said}");
        figures["encoded_bytes"].as_u64().expect("a number")
    };
    let usual = sent(&[]);
    assert_eq!(sent(&["--analysis", "masked"]), usual);
    assert_ne!(sent(&["--analysis", "linear"]), usual);
}

#[test]
fn activity_masking_is_the_models_choice_or_yours() {
    let bench = Bench::new();
    bench.write("p.png", &png::noise());
    for (options, gains) in [
        (&["--model", "photo"][..], false),
        (&["--model", "photo", "--activity-masking", "0.5"], true),
        (&["--model", "photo-ssim"], true),
        (&["--model", "photo-ssim", "--activity-masking", "0"], false),
    ] {
        bench.succeed(&[&["encode", "p.png", "-o", "p.nst"], options].concat());
        let (text, _) = bench.succeed(&["inspect", "p.nst", "--json"]);
        let inspected: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(inspected["gains"], gains, "{options:?}");
        bench.succeed(&["decode", "p.nst", "-o", "back.png", "--decoder", "linear"]);
    }
    let wrong = bench.run(&["encode", "p.png", "-o", "p.nst", "--activity-masking", "1.5"], &[]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
    let clip = [&b"YUV4MPEG2 W16 H16 F25:1\nFRAME\n"[..], &[100; 384]].concat();
    bench.write("clip.y4m", &clip);
    let line = bench.refuse(&["encode", "clip.y4m", "-o", "c.nst", "--activity-masking", "0.2"]);
    assert!(line.contains("--activity-masking is for encoding pictures"), "{line}");
}

#[test]
fn summaries_are_json_on_demand() {
    let bench = Bench::new();
    bench.write("p.png", &png::rgb(50, 30));
    let (text, _) = bench.succeed(&["encode", "p.png", "-o", "p.nst", "--analysis", "linear", "--json"]);
    let encoded: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&encoded["width"], &encoded["height"]), (&50.into(), &30.into()));
    assert_eq!(encoded["bytes"], bench.read("p.nst").len());

    // If standard output takes the stream, the figures go to standard error.
    let piped = bench.run(&["encode", "p.png", "-o", "-", "--json"], &[]);
    assert_eq!((piped.status.code(), piped.stdout), (Some(0), bench.read("p.nst")));
    let summary: serde_json::Value = serde_json::from_slice(&piped.stderr).expect("JSON");
    assert_eq!((&summary["bytes"], &summary["analysis"]), (&encoded["bytes"], &"linear".into()));

    let (text, _) = bench.succeed(&["inspect", "p.nst", "--json"]);
    let inspected: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&inspected["model"], &inspected["whole"]), (&"photo".into(), &true.into()));
    assert_eq!(inspected["model_id"], encoded["model_id"]);
    assert_eq!(inspected["cuts"].as_array().and_then(|cuts| cuts.last()).expect("cuts")["bytes"], encoded["bytes"]);
}

#[test]
fn eval_writes_a_row_for_each_picture_and_rate() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("photos")).expect("a folder");
    bench.write("photos/b.png", &png::rgb(200, 180));
    bench.write("photos/a.png", &png::rgb(64, 48));
    bench.write("photos/notes.txt", b"no picture");
    let linear = ["--decoder", "linear", "--grid", "0.5:1.5:0.5"];
    let (summary, error) = bench.succeed(&[&["eval", "photos", "--csv", "out.csv"], &linear[..]].concat());
    assert!(summary.contains("means over 2 pictures") && error.is_empty(), "{summary}{error}");
    let csv = String::from_utf8(bench.read("out.csv")).expect("text");
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "image,decoder,bytes,bpp,psnr_db,ms_ssim,encode_ms,decode_ms,ssimulacra2,butteraugli");
    assert_eq!(lines.len(), 1 + 2 * 3);
    assert!(lines[1].starts_with("a.png,linear,192,0.5,") && lines[4].starts_with("b.png,linear,2250,0.5,"), "{csv}");
    let similarity = |line: &str| line.split(',').nth(5).map(str::to_owned);
    assert_eq!(similarity(lines[1]).as_deref(), Some(""), "too small for five scales");
    assert!(similarity(lines[4]).and_then(|text| text.parse::<f64>().ok()).is_some_and(|value| value > 0.5));

    // Without a file the means are the result. If the table goes to standard output, the JSON does not.
    let (means, _) = bench.succeed(&[&["eval", "photos"], &linear[..]].concat());
    let shape = |text: &str| text.lines().map(|line| line.split_whitespace().count()).collect::<Vec<_>>();
    assert_eq!(shape(&means), shape(&summary));
    let piped = bench.run(&[&["eval", "photos", "--csv", "-", "--json"], &linear[..]].concat(), &[]);
    assert_eq!(String::from_utf8_lossy(&piped.stdout).lines().count(), 1 + 2 * 3);
    let json: serde_json::Value = serde_json::from_slice(&piped.stderr).expect("JSON");
    assert_eq!(json.as_array().map(Vec::len), Some(3), "{json}");

    let line = bench.refuse(&[&["eval", "no-such-folder", "--csv", "out"], &linear[..]].concat());
    assert!(line.contains("no-such-folder"), "{line}");
}

#[test]
fn eval_measures_other_codecs_by_their_programs() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("photos")).expect("a folder");
    bench.write("photos/odd.png", &png::rgb(201, 177));
    bench.write("photos/wide.png", &png::rgb(200, 180));
    // The program itself, in files that are 800 bytes too long.
    let program = env!("CARGO_BIN_EXE_nestcast");
    let commands = format!(
        "sh -c '{program} encode \"$1\" -o \"$2.nst\" --max-bytes $3 && (cat \"$2.nst\"; head -c 800 /dev/zero) > \"$2\"' \
         - {{in}} {{out}} {{q}} => sh -c 'head -c -800 \"$1\" > \"$1.nst\" && {program} decode \"$1.nst\" -o \"$2\" \
         --decoder linear' - {{in}} {{out}}"
    );
    let linear = ["eval", "photos", "--decoder", "linear", "--grid", "0.5:2:0.5", "--csv", "out.csv"];
    let rival = ["--rival", &commands, "--qualities", "2250:9000:2250"];
    let (text, _) = bench.succeed(&[&linear[..], &rival].concat());
    assert!(text.contains("linear against sh by PSNR: -") && text.contains("VCEG-M33"), "{text}");
    let csv = String::from_utf8(bench.read("out.csv")).expect("text");
    let rows: Vec<&str> = csv.lines().filter(|line| line.contains(",sh,")).collect();
    assert_eq!((rows.len(), csv.lines().count()), (8, 1 + 2 * 8));
    let (json, _) = bench.succeed(&[&linear[..], &rival, &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!([4, 4], ["means", "rivals"].map(|name| json[name].as_array().map_or(0, Vec::len)));
    for interpolation in ["cubic_percent", "akima_percent"] {
        assert!(json["bd_rate"][0][interpolation].as_f64().is_some_and(|percent| percent < 0.0), "{json}");
    }

    let failing = ["eval", "photos/odd.png", "--decoder", "linear", "--rival"];
    let line = bench.refuse(&[&failing[..], &["no-such-coder {in} {out} {q}"]].concat());
    assert!(line.contains("no-such-coder cannot be started"), "{line}");
    let line = bench.misuse(&[&failing[..], &["cjxl {in} {out}"]].concat());
    assert!(line.contains("has no {q}"), "{line}");
}

#[cfg(feature = "perceptual")]
#[test]
fn eval_measures_how_pictures_look() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("photos")).expect("a folder");
    bench.write("photos/large.png", &png::rgb(200, 180));
    bench.write("photos/tiny.png", &png::rgb(5, 7));
    let options = ["--decoder", "linear", "--grid", "0.5:4.5:2", "--perceptual"];
    let (summary, _) = bench.succeed(&[&["eval", "photos", "--csv", "out.csv"], &options[..]].concat());
    assert!(summary.contains("SSIMULACRA2  Butteraugli"), "{summary}");
    let csv = String::from_utf8(bench.read("out.csv")).expect("text");
    let column = |name: &str, number: usize| -> Vec<Option<f64>> {
        let rows = csv.lines().filter(|line| line.starts_with(name));
        rows.map(|line| line.split(',').nth(number).and_then(|text| text.parse().ok())).collect()
    };
    let (ssimulacra2, butteraugli) = (column("large", 8), column("large", 9));
    assert!(ssimulacra2.len() == 3 && ssimulacra2.iter().all(Option::is_some), "{csv}");
    assert!(ssimulacra2.windows(2).all(|pair| pair[0] < pair[1]), "{csv}");
    assert!(butteraugli.windows(2).all(|pair| pair[0] > pair[1]), "{csv}");
    assert_eq!(column("tiny", 8), [None; 3], "{csv}");
}

#[test]
fn eval_goes_on_behind_a_broken_picture_and_says_which() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("photos")).expect("a folder");
    let whole = png::rgb(64, 48);
    bench.write("photos/a.png", &whole);
    bench.write("photos/b.png", &whole[..200]);
    bench.write("photos/c.png", &whole);
    // What a killed process left does not count as a picture.
    bench.write("photos/.nestcast-Ab3dE6", &whole);
    let linear = ["--decoder", "linear", "--grid", "0.5:1.0:0.5"];
    let output = bench.run(&[&["eval", "photos", "--csv", "out.csv"], &linear[..]].concat(), &[]);
    let errors = String::from_utf8(output.stderr).expect("text");
    let lines: Vec<&str> = errors.lines().collect();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert_eq!(lines.len(), 2, "{errors}");
    assert!(lines[0].contains("note: photos/b.png is refused"), "{errors}");
    assert!(lines[1].contains("1 of 3 pictures") && lines[1].ends_with("photos/b.png"), "{errors}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("means over 2 pictures"));
    let csv = String::from_utf8(bench.read("out.csv")).expect("text");
    assert_eq!(csv.lines().filter(|line| line.starts_with("a.png,") || line.starts_with("c.png,")).count(), 4);
    assert_eq!(csv.lines().count(), 1 + 4);

    bench.write("bad.png", &whole[..200]);
    bench.write("worse.png", b"");
    let one = [&["eval", "bad.png", "--csv", "out"], &linear[..]].concat();
    assert!(bench.refuse(&one).contains("bad.png is refused"));
    bench.write("out", b"old");
    let output = bench.run(&[&["eval", "bad.png", "worse.png", "--csv", "out"], &linear[..]].concat(), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no picture can be measured: bad.png, worse.png"));
    assert_eq!(bench.read("out"), b"old");
}

#[test]
fn without_onnx_runtime_a_command_that_was_asked_for_networks_names_the_way_out() {
    let bench = Bench::new();
    bench.stream("s.nst");
    for (arguments, instead) in [
        (&["encode", "source.png", "-o", "out", "--analysis", "deep"][..], "`--analysis linear`"),
        (&["decode", "s.nst", "-o", "out", "--decoder", "deep"], "`--decoder linear`"),
        (&["eval", "source.png", "--csv", "out", "--decoder", "both"], "`--decoder linear`"),
    ] {
        let line = bench.refuse(arguments);
        assert!(line.contains("ORT_DYLIB_PATH") && line.contains(instead), "{line}");
    }
}

#[test]
fn without_onnx_runtime_the_first_commands_work_with_the_linear_decoder_and_a_note() {
    const NOTE: &str = "nestcast: note: nestcast uses the linear decoder: ONNX Runtime was not found";
    let bench = Bench::new();
    bench.stream("s.nst");
    let (out, note) = bench.succeed(&["decode", "s.nst", "-o", "usual.png"]);
    assert!(out.ends_with("linear decoder\n"), "{out}");
    assert!(note.starts_with(NOTE) && note.ends_with("`--decoder linear` silences this note\n"), "{note}");
    assert_eq!(note.lines().count(), 1, "{note}");
    let (_, silence) = bench.succeed(&["decode", "s.nst", "-o", "linear.png", "--decoder", "linear"]);
    assert_eq!((bench.read("usual.png"), silence), (bench.read("linear.png"), String::new()));

    // What is refused is not measured by any decoder.
    bench.write("film.mkv", b"\x1A\x45\xDF\xA3\x8Bno film at all");
    bench.refuse(&["eval", "film.mkv"]);

    let (table, note) = bench.succeed(&["eval", "source.png"]);
    assert!(table.contains("linear") && !table.contains("deep") && note.starts_with(NOTE), "{table}{note}");
    let (json, _) = bench.succeed(&["eval", "source.png", "--json"]);
    assert!(json.contains("\"linear\"") && !json.contains("\"deep\""), "{json}");
}

#[test]
fn where_there_is_no_library_anywhere_the_note_says_how_to_install_it() {
    let bench = Bench::new();
    bench.stream("s.nst");
    // As installed: no library is near the program, nor in the user's cache.
    let mut command = bench.command(&bench.install("installed"));
    command.env_remove("ORT_DYLIB_PATH");
    for variable in ["XDG_CACHE_HOME", "HOME", "LOCALAPPDATA"] {
        command.env(variable, bench.path("nowhere"));
    }
    let output = command.args(["decode", "s.nst", "-o", "out.png"]).output().expect("it starts");
    let note = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && bench.path("out.png").exists(), "{note}");
    assert!(note.contains("ONNX Runtime was not found: run `cargo xtask install-runtime`"), "{note}");
}

#[test]
fn a_missing_or_broken_model_is_refused() {
    let bench = Bench::new();
    bench.stream("s.nst");
    std::fs::create_dir(bench.path("empty")).expect("a folder");
    let encode = ["encode", "source.png", "-o", "out", "--analysis", "linear", "--model"];
    let decode = ["decode", "s.nst", "-o", "out", "--decoder", "linear", "--model"];
    for command in [&encode[..], &decode] {
        for model in ["no-such-model", "./no/such/folder", ""] {
            let said = bench.misuse(&[command, &[model]].concat());
            assert!(
                said.contains(
                    "there is no such model and no such folder; built-in models for pictures: photo, photo-ssim"
                ),
                "{said}"
            );
            assert_eq!(said.contains("; for codes: thumb"), cfg!(feature = "retrieval"), "{said}");
        }
        assert!(bench.refuse(&[command, &["empty"]].concat()).contains("manifest"));
    }
    // `eval` does not measure codes.
    let said = bench.misuse(&["eval", "source.png", "--model", "thumb"]);
    assert!(said.contains("for pictures: photo, photo-ssim") && !said.contains("codes"), "{said}");
}

#[test]
fn a_folder_and_files_of_another_kind_are_called_what_they_are() {
    let bench = Bench::new();
    bench.stream("s.nst");
    std::fs::create_dir(bench.path("photos")).expect("a folder");
    bench.write("clip.y4m", &crate::harness::live::clip(1));
    for (arguments, part) in [
        (&["encode", "photos", "-o", "out"][..], "photos is a folder: name a file in it"),
        (&["decode", "photos", "-o", "out"], "is a folder"),
        (&["decode", "source.png", "-o", "out"], "it is a picture, not a stream: `nestcast encode`"),
        (&["cut", "source.png", "-o", "out", "--bytes", "99"], "it is a picture, not a stream"),
        (&["inspect", "clip.y4m"], "it is a y4m video, not a stream"),
    ] {
        let line = bench.refuse(arguments);
        assert!(line.contains(part), "{line}");
    }
}

#[test]
fn places_that_cannot_be_written_are_refused() {
    let bench = Bench::new();
    bench.stream("s.nst");
    std::fs::create_dir(bench.path("folder")).expect("a folder");
    let line = bench.refuse(&["cut", "s.nst", "-o", "./s.nst", "--bytes", "100"]);
    assert!(line.contains("is the input"), "{line}");
    assert!(bench.refuse(&["cut", "s.nst", "-o", "folder", "--bytes", "100"]).contains("is a folder"));
    assert!(bench.refuse(&["cut", "s.nst", "-o", "none/c.nst", "--bytes", "100"]).contains("does not exist"));
    assert!(bench.refuse(&["decode", "s.nst", "-o", "p.jpg", "--decoder", "linear"]).contains(".png"));
    // Before any work: the command does not read the input.
    for arguments in [
        &["encode", "none.png", "-o", "new/"][..],
        &["cut", "none.nst", "-o", "new/", "--bytes", "100"],
        &["decode", "s.nst", "-o", "new/", "--decoder", "linear"],
        &["eval", "source.png", "--csv", "new/", "--decoder", "linear"],
    ] {
        let line = bench.refuse(arguments);
        assert!(line.ends_with("new/ is a folder's name: name a file to write"), "{line}");
    }
    for arguments in [
        &["encode", "source.png", "-o", "x.png"][..],
        &["encode", "source.png", "-o", "x.PNG", "--max-bytes", "100"],
        &["cut", "s.nst", "-o", "x.png", "--bytes", "100"],
        &["cut", "s.nst", "-o", "x.y4m", "--bytes", "100"],
    ] {
        let line = bench.refuse(arguments);
        assert!(line.ends_with(" would hold a stream: give it a name that ends in .nst"), "{line}");
    }
    let line = bench.refuse(&["encode", "s.nst/x.png", "-o", "out"]);
    assert!(line.contains("s.nst/x.png cannot be read: Not a directory"), "{line}");
}

#[test]
fn wrong_usage_has_its_own_exit_status() {
    let bench = Bench::new();
    bench.stream("s.nst");
    for arguments in [
        &[][..],
        &["encode", "source.png"],
        &["encode", "source.png", "-o", "out", "--max-bytes", "3"],
        &["cut", "s.nst", "-o", "out"],
        &["cut", "s.nst", "-o", "out", "--bytes", "20", "--bpp", "1"],
        &["cut", "s.nst", "-o", "out", "--bpp", "-1"],
        &["decode", "s.nst", "-o", "out", "--decoder", "magic"],
        &["decode", "s.nst", "-o", "out", "--decoder", "linear", "--threads", "257"],
        &["eval", "source.png", "--csv", "out", "--grid", "1:2"],
        #[cfg(feature = "plot")]
        &["eval", "source.png", "--plot", "out.png"],
        &["send", "source.png", "--rate", "0"],
        &["send", "source.png", "--rate", "1001"],
        &["receive", "127.0.0.1", "--fingerprint", &"00".repeat(32), "-o", "out"],
        &["receive", "127.0.0.1:9", "--fingerprint", "abc", "-o", "out"],
        &["receive", "127.0.0.1:9", "--fingerprint", &"00".repeat(32), "-o", "out", "--original", "source.png"],
    ] {
        // Without a subcommand the program prints help.
        if arguments.is_empty() {
            assert_eq!(bench.run(arguments, &[]).status.code(), Some(2));
        } else {
            bench.misuse(arguments);
        }
    }
    let said = bench.misuse(&["receive", "127.0.0.1:9", "-o", "out"]);
    assert!(said.contains("--fingerprint <HEX>|--ca <PEM>"), "{said}");
}

#[test]
fn a_stream_whose_header_has_a_side_too_long_is_not_helped_by_more_pixels() {
    let bench = Bench::new();
    let mut stream = bench.stream("s.nst");
    stream[5..8].copy_from_slice(b"\xFF\xFF\x7F");
    bench.write("wide.nst", &stream);
    let line = bench.refuse(&["decode", "wide.nst", "-o", "out", "--decoder", "linear"]);
    assert!(line.ends_with(", over the limit of 16384: get it again, or a smaller picture"), "{line}");
    // The same number as a limit of pixels.
    bench.write("large.png", &png::rgb(160, 120));
    bench.succeed(&["encode", "large.png", "-o", "large.nst", "--analysis", "linear"]);
    let few = ["decode", "large.nst", "-o", "out", "--decoder", "linear", "--max-pixels", "16384"];
    let line = bench.refuse(&few);
    assert!(line.ends_with(", over the limit of 16384: if you trust it, raise --max-pixels"), "{line}");
}

#[test]
fn an_unknown_option_is_a_slip_or_one_of_another_command() {
    let bench = Bench::new();
    for (arguments, tip) in [
        (["send", "clip.y4m", "--rewnd"], "  tip: a similar argument exists: '--rewind'"),
        (["encode", "source.png", "--bitrate"], "  tip: a similar argument exists: '--bitrates'"),
        (["cut", "s.nst", "--bitrates"], "  tip: a similar argument exists: '--bitrate'"),
        (["decode", "s.nst", "--record"], "  tip: '--record' is an option of `nestcast send`"),
        (["receive", "127.0.0.1:9", "--repeat"], "  tip: '--repeat' is an option of `nestcast send`"),
    ] {
        let said = bench.misuse(&arguments);
        let tips: Vec<_> = said.lines().filter(|line| line.contains("tip:")).collect();
        assert_eq!(tips, [tip], "{said}");
    }
    for (feature, is_there, arguments) in [
        ("full", cfg!(feature = "metrics"), &["send", "clip.y4m", "--metrics", "127.0.0.1:0"][..]),
        ("full", cfg!(feature = "plot"), &["eval", "clip.y4m", "--plot=out.svg"]),
        ("full", cfg!(feature = "metrics"), &["top", "127.0.0.1:9433"]),
        ("full", cfg!(feature = "demo"), &["demo"]),
        ("full,moq", cfg!(feature = "moq"), &["send", "clip.y4m", "--relay", "moq://127.0.0.1:1/a"]),
    ] {
        if !is_there {
            let said = bench.misuse(arguments);
            let lacks = said.contains("  tip: this nestcast was built without ") && !said.contains("similar");
            let command = format!("with `cargo install --locked --path cli --features {feature}`\n");
            assert!(lacks && said.contains(&command), "{said}");
        }
    }
    let said = bench.misuse(&["cut", "s.nst", "--nothing-like-it"]);
    assert!(!said.contains("tip:") && said.contains("Usage: nestcast cut"), "{said}");
}

#[test]
fn what_a_small_build_is_said_to_lack_is_in_a_larger_one() {
    let bench = Bench::new();
    let help = |arguments: &[&str]| String::from_utf8(bench.run(arguments, &[]).stdout).expect("text");
    let with_options = ["send", "receive", "encode", "decode", "cut", "inspect", "eval"];
    let all = with_options.map(|command| help(&[command, "--help"])).concat() + &help(&["--help"]);
    let there: Vec<_> = all.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').collect();
    let full = [cfg!(feature = "access"), cfg!(feature = "demo"), cfg!(feature = "metrics"), cfg!(feature = "qlog")];
    let full =
        full.into_iter().chain([cfg!(feature = "perceptual"), cfg!(feature = "plot"), cfg!(feature = "retrieval")]);
    let builds = [full.into_iter().all(|is_on| is_on), cfg!(feature = "moq")];
    let lists: Vec<_> =
        include_str!("../src/args/missing.rs").split('"').filter(|text| text.starts_with("--")).collect();
    assert_eq!(lists.len(), builds.len());
    for (list, _) in lists.iter().zip(builds).filter(|(_, is_built)| *is_built) {
        // A receiver's URL is no word of the program.
        for name in list.split(' ').filter(|name| *name != "relays") {
            assert!(there.contains(&name), "no help names {name}");
        }
    }
}

#[test]
fn the_manual_names_every_option() {
    let bench = Bench::new();
    let manual = include_str!("../../docs/program.md");
    let help = |arguments: &[&str]| String::from_utf8(bench.run(arguments, &[]).stdout).expect("text");
    let all = help(&["--help"]);
    assert!(all.starts_with("Encode a picture once and cut its stream at any byte, or a video once and cut its file"));
    assert!(help(&["encode", "--help"]).contains("Needs 6 % fewer bytes than realtime at equal quality"));
    let commands = all.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let mut count = 0;
    for command in commands.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help") {
        let help = help(&[command, "--help"]);
        let options =
            help.lines().filter_map(|line| line.trim_start().split(", ").find_map(|part| part.strip_prefix("--")));
        for option in options.filter_map(|option| option.split([' ', '<']).next()) {
            let given = ["help", "version", "output"].contains(&option) || manual.contains(&format!("--{option}"));
            assert!(given, "docs/program.md does not name `{command} --{option}`");
            count += 1;
        }
    }
    assert!(count > 40, "{count} options were found");
}

#[test]
fn the_viewer_is_written_again_over_itself_but_over_no_other_file() {
    let bench = Bench::new();
    bench.succeed(&["web-viewer", "-o", "viewer"]);
    bench.succeed(&["web-viewer", "-o", "viewer"]);
    bench.write("viewer/package.json", b"mine");
    std::fs::remove_file(bench.path("viewer/page.css")).expect("it is there");
    let again = ["web-viewer", "-o", "viewer"];
    let line = refusal(&again, &bench.run(&again, &[]));
    let why =
        "viewer cannot be written: package.json is there and has other contents: remove it, or name another folder";
    assert!(line.ends_with(why), "{line}");
    assert_eq!(bench.read("viewer/package.json"), b"mine");
    assert!(!bench.path("viewer/page.css").exists(), "a refused folder stays as it is");
}
