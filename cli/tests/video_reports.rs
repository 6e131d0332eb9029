//! What `inspect` and `eval` say of videos.

use crate::video::*;

#[test]
fn inspect_tells_every_frame_and_how_near_it_is() {
    let bench = encoded();
    let (text, _) = bench.succeed(&["inspect", "clip.nst", "--original", "clip.y4m", "--json"]);
    let lines = json_lines(&text);
    assert_eq!(lines.len(), FRAMES + 2);
    assert_eq!(
        (&lines[0]["event"], &lines[0]["width"], &lines[0]["frames_per_second"]),
        (&"video".into(), &64.into(), &30.0.into())
    );
    for (number, line) in lines[1..=FRAMES].iter().enumerate() {
        let count = |name: &str| line[name].as_u64().unwrap_or_else(|| panic!("{name} of {line}"));
        assert_eq!(count("frame"), number as u64);
        assert_eq!(line["kind"], if number % 10 == 0 { "key" } else { "inter" });
        assert!(
            count("side") <= count("base_reference")
                && count("base_reference") <= count("enhancement_reference")
                && count("enhancement_reference") <= count("bytes")
        );
        assert!(line["luma_db"].as_f64().is_some_and(|db| db > 25.0), "{line}");
    }
    let total = &lines[FRAMES + 1];
    assert_eq!((&total["event"], &total["frames"], &total["keys"]), (&"total".into(), &20.into(), &2.into()));
    // Both are keys, and the frames after each last until 0.3 s later.
    assert_eq!((&total["beginnings"], &total["longest_to_next_s"]), (&2.into(), &0.333.into()));
    let (text, _) = bench.succeed(&["inspect", "clip.nst"]);
    assert!(text.contains("64x48 YCbCr 4:2:0") && text.lines().count() == FRAMES + 9, "{text}");
    let begins = "\n2 frames that a decoder can begin with, and at most 0.3 s from one to the next or to the end\n";
    assert!(text.ends_with(begins), "{text}");
    assert!(
        text.contains("columns   bytes from the frame's begin to the end of side information, of the base-layer"),
        "{text}"
    );
}

#[test]
fn inspect_counts_one_frame_and_says_where_the_original_breaks_off() {
    let bench = encoded();
    bench.succeed(&["encode", "clip.y4m", "-o", "one.nst", "--frames", "0..1"]);
    assert!(bench.succeed(&["inspect", "one.nst"]).0.contains("\n1 frame, 1 of them key, "));
    assert!(bench.succeed(&["decode", "one.nst", "-o", "one.y4m"]).0.contains(": 64x48, 1 frame from "));
    assert!(
        bench.succeed(&["cut", "one.nst", "-o", "less.nst", "--bitrate", "1M"]).0.starts_with("less.nst: 1 frame, ")
    );
    let (text, _) = bench.succeed(&["inspect", "clip.nst"]);
    let heading = |text: &str| text.lines().find(|line| line.contains("frame  kind")).map(str::to_owned);
    assert_eq!(heading(&text).as_deref(), Some("   frame  kind    side    base  enhanced    bytes"));
    let (text, _) = bench.succeed(&["inspect", "clip.nst", "--original", "clip.y4m"]);
    assert!(heading(&text).is_some_and(|line| line.ends_with("bytes    Y dB  YCbCr dB")), "{text}");
    // Only commands that have `--frames` suggest it.
    let y4m = bench.read("clip.y4m");
    bench.write("short.y4m", &y4m[..y4m.len() - 100]);
    let output = bench.run(&["inspect", "clip.nst", "--original", "short.y4m"], &[]);
    let line = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{line}");
    assert!(line.contains("breaks off inside frame 19") && !line.contains("--frames"), "{line}");
}

#[test]
fn eval_measures_five_rates() {
    let bench = encoded();
    let plot: &[&str] = if cfg!(feature = "plot") { &["--plot", "out.svg"] } else { &[] };
    let arguments = [&["eval", "clip.y4m", "--bitrates", "60k..960k", "--csv", "out.csv", "--json"], plot].concat();
    let (text, _) = bench.succeed(&arguments);
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let rates = report["rates"].as_array().expect("five");
    assert_eq!(
        rates.iter().map(|row| row["kbps"].as_f64().expect("a rate")).collect::<Vec<_>>(),
        [60.0, 120.0, 240.0, 480.0, 960.0]
    );
    assert!(rates.windows(2).all(|pair| pair[0]["luma_db"].as_f64() < pair[1]["luma_db"].as_f64()), "{text}");
    assert!(report["bd_rate_luma"].as_f64().is_some_and(|percent| percent < 0.0), "{text}");
    assert_eq!(String::from_utf8(bench.read("out.csv")).expect("text").lines().count(), 1 + 5 * FRAMES);
    assert!(plot.is_empty() || bench.read("out.svg").starts_with(b"<svg"));
}

#[cfg(feature = "plot")]
#[test]
fn a_plot_on_standard_output_has_it_for_itself() {
    let bench = encoded();
    let (plot, _) = bench.succeed(&["eval", "clip.y4m", "--frames", "0..3", "--plot", "-"]);
    assert!(plot.starts_with("<svg") && plot.trim_end().ends_with("</svg>"), "{plot}");
    let line = bench.refuse(&["eval", "clip.y4m", "--plot", "-", "--csv", "-"]);
    assert!(line.contains("cannot both"), "{line}");
}
