//! ffmpeg before and after the program, through pipes, as the manual shows it. Skipped where ffmpeg is not installed.

use std::process::Command;

use crate::harness::{Bench, NESTCAST};
use nestcast_media::y4m::Reader;

/// Runs a line of a shell in the folder of the bench, with the program as `nestcast`.
fn shell(bench: &Bench, line: &str) {
    let line = line.replace("nestcast ", &format!("{NESTCAST} ")).replace("ffmpeg ", "ffmpeg -nostdin -v error -y ");
    let output = bench.command("sh").args(["-c", &format!("set -e; {line}")]).output().expect("a shell");
    assert!(output.status.success(), "{line}: {output:?}");
}

#[test]
fn what_ffmpeg_writes_is_encoded_and_what_is_decoded_ffmpeg_reads() {
    if let Err(error) = Command::new("ffmpeg").arg("-version").output() {
        println!("skipped: ffmpeg: {error}");
        return;
    }
    let source = "-f lavfi -i testsrc=size=64x48:rate=30:duration=0.5";
    for (pixels, options, bits) in [("yuv420p", "", 8), ("yuv420p10le", "-strict -1", 10)] {
        let bench = Bench::new();
        let raw = format!("-f yuv4mpegpipe -pix_fmt {pixels} {options}");
        shell(
            &bench,
            &format!("ffmpeg {source} {raw} - | nestcast encode - -o film.nst --bitrates 200k..3M >/dev/null"),
        );
        shell(&bench, "nestcast decode film.nst -o - | ffmpeg -i - -c:v ffv1 film.mkv");
        shell(&bench, &format!("ffmpeg -i film.mkv {raw} back.y4m"));
        let back = bench.read("back.y4m");
        let mut reader = Reader::new(&back[..], 1 << 20).expect("y4m").with_max_bits(16);
        assert_eq!((reader.size().width(), reader.size().height(), reader.bits()), (64, 48, bits));
        assert_eq!(std::iter::from_fn(|| reader.read().expect("a frame")).count(), 15);
    }
}
