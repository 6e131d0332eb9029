//! Pictures and sound from one pipe: Matroska, made here byte by byte, and by ffmpeg where it is installed.

use std::fs::File;
use std::process::{Command, Stdio};

use crate::harness::Bench;
use crate::harness::live::Sender;
use crate::live_sound::{begins, in_step, lit, loud};

/// Samples in a second.
const RATE: usize = 48_000;

/// Writes an element.
fn element(id: u32, content: &[u8]) -> Vec<u8> {
    let id: Vec<u8> = id.to_be_bytes().into_iter().skip_while(|byte| *byte == 0).collect();
    [&id[..], &(1 << 56 | content.len() as u64).to_be_bytes(), content].concat()
}

fn number(id: u32, number: u64) -> Vec<u8> {
    element(id, &number.to_be_bytes())
}

/// Makes three seconds of 30 pictures a second, bright in the first half of each second, and of a tone in that half, but
/// no sound for the milliseconds `silent`.
#[expect(clippy::cast_possible_truncation, reason = "samples of 16 bits")]
fn film(silent: std::ops::Range<usize>) -> Vec<u8> {
    let video = [number(0xB0, 32), number(0xBA, 24), element(0x2E_B524, b"I420")].concat();
    let codec = element(0x86, b"V_UNCOMPRESSED");
    let pictures = [number(0xD7, 1), number(0x83, 1), codec, number(0x23_E383, 33_333_333), element(0xE0, &video)];
    let audio = [element(0xB5, &48_000_f64.to_be_bytes()), number(0x6264, 16)].concat();
    let sound = [number(0xD7, 2), number(0x83, 2), element(0x86, b"A_PCM/INT/LIT"), element(0xE1, &audio)];
    let tracks = [element(0xAE, &pictures.concat()), element(0xAE, &sound.concat())].concat();
    let mut segment = element(0x1654_AE6B, &tracks);
    let block = |track: u8, time: usize, content: &[u8]| {
        let time = u64::try_from(time).expect("short");
        let block = element(0xA3, &[&[0x80 | track, 0, 0, 0x80][..], content].concat());
        element(0x1F43_B675, &[number(0xE7, time), block].concat())
    };
    let mut sounded = 0;
    for frame in 0..90_usize {
        let luma = if frame % 30 < 15 { 220 } else { 30 };
        segment.extend(block(1, (frame * 1000 + 15) / 30, &[&[luma; 32 * 24][..], &[128; 2 * 16 * 12]].concat()));
        while sounded * 30 < (frame + 1) * RATE {
            let sample =
                |at: usize| if at % RATE < RATE / 2 { ((at as f64 * 0.06).sin() * 12_000.0) as i16 } else { 0 };
            let samples: Vec<u8> = (sounded..sounded + 1024).flat_map(|at| sample(at).to_le_bytes()).collect();
            let time = sounded / 48;
            if !silent.contains(&time) {
                segment.extend(block(2, time, &samples));
            }
            sounded += 1024;
        }
    }
    [element(0x1A45_DFA3, &[]), element(0x1853_8067, &segment)].concat()
}

/// Broadcasts a file through a pipe, records it, and decodes the recording to `came.y4m` and `came.wav`.
fn through_a_pipe(bench: &Bench, film: &str) {
    let sent = bench
        .command(crate::harness::NESTCAST)
        .args(["send", "-", "--record", "came.nst", "--listen", "127.0.0.1:0"])
        .stdin(File::open(bench.path(film)).expect("it is there"))
        .stderr(Stdio::piped())
        .output()
        .expect("it runs");
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    let decoded = bench.run(&["decode", "came.nst", "-o", "came.y4m", "--sound", "came.wav"], &[]);
    assert!(decoded.status.success(), "{decoded:?}");
}

#[test]
fn pictures_and_sound_from_one_pipe_are_in_step() {
    let bench = Bench::new();
    bench.write("film.mkv", &film(0..0));
    through_a_pipe(&bench, "film.mkv");
    // The first of each is bright and loud from the beginning.
    let pairs = in_step(&bench, "came.y4m", "came.wav");
    assert!(pairs.len() >= 2 && pairs.iter().all(|(seen, heard)| (seen - heard).abs() <= 0.04), "{pairs:?}");
}

#[test]
fn sound_that_begins_late_or_stops_goes_on_in_step() {
    for silent in [0..1600, 1200..1800] {
        let bench = Bench::new();
        bench.write("film.mkv", &film(silent.clone()));
        through_a_pipe(&bench, "film.mkv");
        let (seen, heard) = (begins(&lit(&bench, "came.y4m"), 30.0), begins(&loud(&bench, "came.wav"), 200.0));
        let last = seen.last().expect("the third second");
        assert!(
            *last > 1.9 && heard.iter().any(|heard| (heard - last).abs() <= 0.04),
            "{silent:?}: {seen:?}, {heard:?}"
        );
    }
}

#[test]
fn a_file_is_broadcast_again_and_again_and_one_that_breaks_off_keeps_what_came() {
    let bench = Bench::new();
    let film = film(0..0);
    bench.write("film.mkv", &film);
    let mut sender = Sender::start(&bench, &["film.mkv", "--repeat"]);
    while sender.line()["frames"].as_u64() < Some(100) {}
    drop(sender);
    bench.write("cut.mkv", &film[..film.len() / 3]);
    let sent = bench.run(&["send", "cut.mkv", "--record", "kept.nst", "--listen", "127.0.0.1:0"], &[]);
    let said = String::from_utf8_lossy(&sent.stderr).into_owned();
    assert!(!sent.status.success() && said.contains("breaks off after"), "{said}");
    let decoded = bench.run(&["decode", "kept.nst", "-o", "kept.y4m", "--sound", "kept.wav"], &[]);
    assert!(decoded.status.success(), "{decoded:?}");
    // The last picture may go with the source.
    assert!((20..=31).contains(&lit(&bench, "kept.y4m").len()) && loud(&bench, "kept.wav").len() > 100);
}

#[test]
fn what_nestcast_does_not_read_is_refused_with_what_to_give_ffmpeg() {
    let bench = Bench::new();
    let swap = |from: &[u8], to: &[u8]| {
        let film = film(0..0);
        let at = film.windows(from.len()).position(|part| part == from).expect("it is there");
        [&film[..at], to, &film[at + from.len()..]].concat()
    };
    for (from, to, said) in [
        (&b"V_UNCOMPRESSED"[..], &b"V_MPEG4/ISOAVC"[..], "-c:v rawvideo -pix_fmt yuv420p"),
        (b"I420", b"BGR3", "-pix_fmt yuv420p"),
        (b"A_PCM/INT/LIT", b"A_VORBIS\0\0\0\0\0", "-c:a pcm_s16le"),
    ] {
        let refused = bench.run(&["send", "-", "--listen", "127.0.0.1:0"], &swap(from, to));
        let error = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(1) && error.contains(said) && error.lines().count() == 1, "{error}");
    }
}

/// Makes a file by ffmpeg, of bars and a tone; says that it is skipped, and returns false, if ffmpeg is not installed.
fn made_by_ffmpeg(bench: &Bench, arguments: &[&str]) -> bool {
    let inputs =
        ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=30000/1001:duration=1", "-f", "lavfi", "-i", "sine=duration=1"];
    let made = Command::new("ffmpeg")
        .args(["-v", "error"])
        .args(inputs)
        .args(arguments)
        .args(["-f", "matroska", "-"])
        .stdin(Stdio::null())
        .stdout(File::create(bench.path("film.mkv")).expect("a file"))
        .status();
    match made {
        Ok(ref status) => assert!(status.success(), "{arguments:?}"),
        Err(ref error) => println!("skipped: ffmpeg: {error}"),
    }
    made.is_ok()
}

#[test]
fn what_ffmpeg_writes_to_a_pipe_is_broadcast() {
    for (video, audio) in [
        (&["-pix_fmt", "yuv420p"][..], &["-c:a", "pcm_s16le"][..]),
        (&["-pix_fmt", "nv12", "-color_range", "pc"], &["-c:a", "libopus", "-b:a", "64k"]),
        (&["-pix_fmt", "yuv420p", "-live", "1"], &["-c:a", "pcm_f32le", "-ar", "44100"]),
        (&["-pix_fmt", "yuv420p"], &["-an"]),
    ] {
        let bench = Bench::new();
        if !made_by_ffmpeg(&bench, &[&["-c:v", "rawvideo"], video, audio].concat()) {
            return;
        }
        if audio == ["-an"] {
            let sent = bench.run(&["send", "film.mkv", "--listen", "127.0.0.1:0"], &[]);
            assert!(sent.status.success(), "{sent:?}");
            continue;
        }
        through_a_pipe(&bench, "film.mkv");
        let bytes = bench.read("came.y4m");
        let mut came = nestcast_media::y4m::Reader::new(&bytes[..], 10_000).expect("y4m");
        assert_eq!((came.size().width(), came.rate().frames(), came.rate().seconds()), (64, 30_000, 1001));
        let is_full = came.format() == nestcast_codec::Format::Ycbcr420(nestcast_codec::Ycbcr::BT601_FULL);
        assert_eq!(is_full, video.contains(&"pc"), "{video:?}");
        let pictures = std::iter::from_fn(|| came.read().expect("frames")).count();
        let heard = loud(&bench, "came.wav").len();
        assert!((29..=31).contains(&pictures) && (190..=206).contains(&heard), "{pictures} pictures, {heard} x 5 ms");
    }
}

#[test]
fn a_recording_becomes_one_file_by_ffmpeg_and_that_is_broadcast_again() {
    let bench = Bench::new();
    bench.write("film.mkv", &film(0..0));
    through_a_pipe(&bench, "film.mkv");
    let made = bench
        .command("ffmpeg")
        .args([
            "-v", "error", "-i", "came.y4m", "-i", "came.wav", "-c:v", "rawvideo", "-c:a", "libopus", "film.mkv", "-y",
        ])
        .stdin(Stdio::null())
        .status();
    let Ok(status) = made else { return println!("skipped: ffmpeg is not installed") };
    assert!(status.success());
    std::fs::remove_file(bench.path("came.nst")).expect("it is there");
    through_a_pipe(&bench, "film.mkv");
    let pairs = in_step(&bench, "came.y4m", "came.wav");
    assert!(pairs.len() >= 2 && pairs.iter().all(|(seen, heard)| (seen - heard).abs() <= 0.04), "{pairs:?}");
}
