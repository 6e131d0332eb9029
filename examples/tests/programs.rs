//! Runs the five first programs as a new user would.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use nestcast_codec::{Format, Picture, Size};
use nestcast_media::{picture, y4m};

fn run(program: &str, folder: &Path, arguments: &[&str]) -> Output {
    let output = Command::new(program).args(arguments).current_dir(folder).output().expect("it starts");
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Writes a photo-like picture as a PNG file.
fn write_png(path: &Path) -> Picture {
    let size = Size::new(96, 64).expect("a size");
    let sample = |at: usize| (at / 3 % 96 * 2 + at / 288 * at % 7 * 5 + at % 3 * 20).to_le_bytes()[0];
    let picture = Picture::new(size, Format::Rgb, (0..96 * 64 * 3).map(sample).collect()).expect("a picture");
    std::fs::write(path, picture::encode_png(&picture).expect("a PNG")).expect("a file");
    picture
}

#[test]
fn a_picture_is_encoded_cut_decoded_and_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let original = write_png(&at("photo.png"));
    run(env!("CARGO_BIN_EXE_encode_png"), folder.path(), &["photo.png", "photo.nst"]);
    run(env!("CARGO_BIN_EXE_decode_prefix"), folder.path(), &["photo.nst", "500", "small.png"]);
    let small = picture::decode(&std::fs::read(at("small.png")).expect("a file"), 1 << 20).expect("a PNG").picture;
    assert_eq!((small.size(), small.format()), (original.size(), original.format()));

    let measured = run(env!("CARGO_BIN_EXE_psnr_at_ten_cuts"), folder.path(), &["photo.png"]).stdout;
    let text = String::from_utf8(measured).expect("text");
    let rows: Vec<Vec<f64>> =
        text.lines().map(|line| line.split(' ').filter_map(|word| word.parse().ok()).collect()).collect();
    assert_eq!(rows.len(), 10, "{text}");
    assert!(rows.windows(2).all(|pair| pair[0][0] < pair[1][0] && pair[0][1] <= pair[1][1] + 0.5), "{text}");
    assert!(rows[9][1] > rows[0][1] + 6.0, "{text}");
    assert_eq!(std::fs::metadata(at("photo.nst")).expect("a file").len() as f64, rows[9][0]);
}

#[test]
fn a_generated_video_is_sent_and_shown() {
    let mut sender = Command::new(env!("CARGO_BIN_EXE_send_generated"))
        .arg("127.0.0.1:0")
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    BufReader::new(sender.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let (address, fingerprint) = line.trim().split_once(' ').expect("an address and a fingerprint");
    let shown = Command::new(env!("CARGO_BIN_EXE_show_received")).args([address, fingerprint, "5"]).output();
    sender.kill().and_then(|()| sender.wait()).expect("it ends");
    let shown = shown.expect("it starts");
    assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
    let mut video = y4m::Reader::new(&shown.stdout[..], 1 << 20).expect("a video");
    assert_eq!((video.size().width(), video.size().height(), video.rate().to_string()), (320, 240, "30".to_owned()));
    for _ in 0..5 {
        let picture = video.read().expect("a frame").expect("five frames");
        let luma = &picture.samples()[..320];
        let bright = luma.iter().filter(|sample| **sample > 160).count();
        assert!((30..=50).contains(&bright), "{bright} of a row's samples are in the bar");
    }
    assert_eq!(video.read().expect("an end"), None);
}
