//! Several broadcasts at one address, each with a recording and sound of its own.

use std::io::Cursor;

use nestcast_media::stored::Reader;

use crate::harness::live::{Sender, clip};
use crate::harness::{Bench, refusal};

/// Makes a clip of grey pictures.
fn grey(frames: usize) -> Vec<u8> {
    let frame = [&b"FRAME\n"[..], &[90; 48 * 32]].concat();
    [&b"YUV4MPEG2 W48 H32 F30:1 Cmono\n"[..], &frame.repeat(frames)].concat()
}

/// Returns the width of a recording, its frames, and whether it has its end.
fn recorded(bench: &Bench, name: &str) -> (usize, u64, bool) {
    let mut reader = Reader::new(Cursor::new(bench.read(name)), 10_000).expect("a stored video");
    let mut frames = 0;
    while reader.next_frame().expect("whole records").is_some() {
        frames += u64::from(reader.captured().is_some());
    }
    (reader.header().size.width(), frames, reader.is_whole())
}

#[test]
fn each_of_several_broadcasts_has_a_recording_and_sound_of_its_own() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(45));
    bench.write("grey.y4m", &grey(60));
    let tone = |step: u32, samples: u32| -> Vec<u8> {
        (0..samples).flat_map(|at| [0, (at / step % 2 * 40).to_le_bytes()[0]]).collect()
    };
    bench.write("tone.raw", &tone(64, 2 * 48_000));
    bench.write("both.raw", &tone(50, 4 * 48_000));
    let sources = ["cam1=clip.y4m", "cam2=grey.y4m", "cam3=grey.y4m"];
    let sounds = ["--sound", "cam2=tone.raw", "--sound-raw", "cam2=48000:1", "--sound", "cam3=both.raw"];
    let raw = ["--sound-raw", "cam3=48000:2"];
    let records = ["--record", "cam2=two.nst", "--record", "cam1=one.nst", "--record", "cam3=three.nst"];
    let mut sender = Sender::start(&bench, &[&sources[..], &sounds, &raw, &records].concat());
    let mut ended = std::collections::BTreeMap::new();
    while ended.len() < 3 {
        let line = sender.line();
        if line["event"] == "recorded" {
            let name = line["broadcast"].as_str().expect("its name").to_owned();
            ended.insert(name, (line["frames"].as_u64(), line["bytes"].as_u64()));
        }
    }
    let (status, _, said) = sender.wait();
    assert!(status.success(), "{said}");
    for (name, file, width) in [("cam1", "one.nst", 32), ("cam2", "two.nst", 48), ("cam3", "three.nst", 48)] {
        let (of_file, frames, is_whole) = recorded(&bench, file);
        let bytes = bench.read(file).len() as u64;
        assert_eq!((of_file, is_whole, &(Some(frames), Some(bytes))), (width, true, &ended[name]), "{file}");
        assert!(frames > 20, "{file}: {frames}");
    }
    for (file, channels) in [("two", 1_u16), ("three", 2)] {
        let [video, picture, sound] = ["nst", "y4m", "wav"].map(|ending| format!("{file}.{ending}"));
        bench.succeed(&["decode", &video, "-o", &picture, "--sound", &sound]);
        let wav = bench.read(&sound);
        let seconds = (wav.len() - 44) as f64 / (96_000.0 * f64::from(channels));
        assert_eq!(wav[22..24], channels.to_le_bytes(), "{file}");
        assert!((1.0..2.2).contains(&seconds), "{file}: {seconds} s of sound");
    }
    let none = bench.run(&["decode", "one.nst", "-o", "one.y4m", "--sound", "one.wav"], &[]);
    assert!(String::from_utf8_lossy(&none.stderr).contains("sound"), "cam1 has none: {none:?}");
}

#[cfg(unix)]
#[test]
fn a_recording_of_several_that_finds_no_room_ends_alone() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(60));
    bench.write("grey.y4m", &grey(60));
    let records = ["--record", "cam1=full.nst", "--record", "cam2=kept.nst"];
    let send = ["send", "cam1=clip.y4m", "cam2=grey.y4m", "--listen", "127.0.0.1:0"];
    // Units of 512 bytes or 1 kB.
    let output = bench.shell(r#"ulimit -f 20; exec "$0" "$@""#, &[&send[..], &records].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let (_, frames, is_whole) = recorded(&bench, "full.nst");
    let ends = format!("full.nst: the recording ends after {frames} frames");
    let notes: Vec<_> = said.lines().filter(|line| line.contains("full.nst")).collect();
    assert!(notes.len() == 1 && notes[0].contains(&ends) && notes[0].contains("the broadcast goes on"), "{said}");
    assert!(!is_whole && frames < 60);
    let (_, frames, is_whole) = recorded(&bench, "kept.nst");
    assert!(is_whole && said.contains(&format!("kept.nst: {frames} frames recorded")), "{said}");
}

#[test]
fn options_for_one_of_several_sources_that_make_no_sense_are_refused_and_leave_no_file() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(2));
    bench.write("there.nst", b"precious");
    bench.write("tone.raw", &[0; 9600]);
    bench.write("picture.png", &crate::harness::png::rgb(8, 8));
    let before = bench.files();
    let two = ["cam1=clip.y4m", "cam2=clip.y4m"];
    let one = ["clip.y4m"];
    let raw = ["--sound-raw", "cam1=48000:1"];
    for (sources, options, part) in [
        (&two[..], &["--record", "a.nst"][..], "--record is for one source: say for which, as in --record cam1=..."),
        (&two, &["--sound", "tone.raw"], "--sound is for one source: say for which"),
        (&two, &["--record", "cam3=a.nst"], "--record names cam3, but no source has this name"),
        (&one, &["--record", "cam1=a.nst"], "--record names cam1, but no source has this name"),
        (&two, &["--record", "cam1=a.nst", "--record", "cam1=b.nst"], "--record is there twice for one source"),
        (&one, &["--record", "a.nst", "--record", "b.nst"], "--record is there twice for one source"),
        (&two, &["--record", "cam1=a.nst", "--record", "cam2=a.nst"], "--record names one place for two sources"),
        (&two, &["--record", "cam1=a.nst", "--record", "cam2=./a.nst"], "./a.nst exists, and a recording replaces no"),
        (&two, &["--record", "cam1=a.nst", "--record", "cam2=there.nst"], "there.nst exists"),
        (&["cam1=clip.y4m", "cam2=picture.png"], &["--record", "cam1=a.nst", "--record", "cam2=b.nst"], "pictures"),
        (&two, &["--sound", "cam2=tone.raw", raw[0], raw[1]], "--sound-raw is for a source without --sound"),
        (&["cam1=-", "cam2=clip.y4m"], &["--sound", "cam2=-", raw[0], raw[1]], "only one source or sound can be"),
    ] {
        let arguments = [&["send", "--listen", "127.0.0.1:0"], sources, options].concat();
        let said = refusal(&arguments, &bench.run(&arguments, &clip(1)));
        assert!(said.contains(part), "{arguments:?}: {said}");
        assert!(bench.files() == before, "{arguments:?} left a file");
    }
    let said = bench.misuse(&["send", "clip.y4m", "--record", "a b=c.nst"]);
    assert!(said.contains("--record"), "{said}");
}
