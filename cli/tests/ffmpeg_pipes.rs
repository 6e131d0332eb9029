//! ffmpeg before and after the program, through pipes, as the manual shows it. Skipped where ffmpeg is not installed.

use std::process::Command;

use crate::harness::{Bench, NESTCAST};
use nestcast_codec::Picture;
use nestcast_media::y4m::Reader;

/// Runs a line of a shell in the folder of the bench, with the program as `nestcast`.
fn shell(bench: &Bench, line: &str) {
    let line = line.replace("nestcast ", &format!("{NESTCAST} ")).replace("ffmpeg ", "ffmpeg -nostdin -v error -y ");
    let output = bench.command("sh").args(["-c", &format!("set -e; {line}")]).output().expect("a shell");
    assert!(output.status.success(), "{line}: {output:?}");
}

/// Returns the bits of a sample of a video of 64x48, and the luma of its frames on the scale of 8 bits.
fn luma(video: &[u8]) -> (u8, Vec<Vec<f64>>) {
    let mut reader = Reader::new(video, 1 << 20).expect("y4m").with_max_bits(16);
    assert_eq!((reader.size().width(), reader.size().height()), (64, 48));
    let bits = reader.bits();
    let step = f64::from(1_u32 << (bits - 8));
    let of = |frame: Picture| -> Vec<f64> {
        let samples = frame.samples();
        if bits == 8 {
            return samples[..64 * 48].iter().map(|sample| f64::from(*sample)).collect();
        }
        let samples = samples[..2 * 64 * 48].as_chunks().0.iter();
        samples.map(|bytes| f64::from(u16::from_le_bytes(*bytes)) / step).collect()
    };
    (bits, std::iter::from_fn(|| reader.read().expect("a frame")).map(of).collect())
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
        shell(&bench, &format!("ffmpeg {source} {raw} source.y4m"));
        let [(of_source, drawn), (of_back, came)] = ["source.y4m", "back.y4m"].map(|name| luma(&bench.read(name)));
        assert_eq!((of_source, of_back, drawn.len(), came.len()), (bits, bits, 15, 15));
        let sum = |(one, other): (&Vec<f64>, &Vec<f64>)| -> f64 {
            one.iter().zip(other).map(|(one, other)| (one - other).abs()).sum()
        };
        let errors: Vec<f64> = drawn.iter().zip(&came).map(|both| sum(both) / f64::from(64 * 48)).collect();
        assert!(errors.iter().all(|error| *error < 1.0), "{pixels}: {errors:?}");
    }
}
