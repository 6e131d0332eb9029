//! Threads are started once for an encoder or a decoder, not for a frame. The only test of this program, because it
//! counts the program's threads.

#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::read_dir;
use std::path::Path;

use nestcast_codec::{
    Bitrate, Format, FrameRate, Picture, Population, Size, VideoDecoder, VideoEncoder, VideoModel, VideoSettings, Ycbcr,
};

const THREADS: usize = 3;
const TASKS: &str = "/proc/self/task";

/// Returns the numbers of the threads that are alive.
fn alive() -> BTreeSet<OsString> {
    read_dir(TASKS).expect("the system lists threads").flatten().map(|entry| entry.file_name()).collect()
}

#[test]
fn threads_are_kept_until_their_owner_ends() {
    let size = Size::new(322, 182).expect("a valid size");
    let format = Format::Ycbcr420(Ycbcr::BT601);
    let picture = |number: usize| {
        let samples = (0..format.bytes(size)).map(|at| (at * at / 7 + 3 * number).to_le_bytes()[0]);
        Picture::new(size, format, samples.collect()).expect("all samples")
    };
    let rate = FrameRate::new(30, 1).expect("a valid rate");
    let before = alive();
    let population = Population::log_uniform(Bitrate::from_bits(100_000)..=Bitrate::from_bits(1_000_000));
    let settings = VideoSettings { size, rate, population, threads: THREADS };
    let mut encoder = VideoEncoder::new(VideoModel::built_in(), settings);
    let mut decoder = VideoDecoder::new(VideoModel::built_in(), size, THREADS);
    assert_eq!(alive(), before, "they start with the first frame");
    let mut out = Picture::zero(size, format);
    let mut run = |picture: &Picture| {
        let frame = encoder.encode(picture).expect("a frame");
        decoder.decode(&frame.bytes).expect("a frame");
        decoder.render_into(&mut out).expect("its size and format");
    };
    run(&picture(0));
    let kept = alive();
    assert!(kept.len() - before.len() >= 2 * (THREADS - 1), "{before:?}, then {kept:?}");
    for number in 1..12 {
        run(&picture(number));
        assert_eq!(alive(), kept);
    }
    drop((encoder, decoder));
    let gone = |id: &OsString| !Path::new(TASKS).join(id).exists();
    assert!(kept.difference(&before).all(gone), "threads outlive encoder and decoder");
}
