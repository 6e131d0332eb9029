//! `nestcast demo` as a program: its pages load nothing; the tests also cover its refusals. Needs the feature `demo`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;

use crate::harness::live::clip;
use crate::harness::{Bench, NESTCAST, png};

#[test]
fn the_demo_of_a_picture_is_one_page_that_loads_nothing() {
    let bench = Bench::new();
    bench.write("p.png", &png::rgb(96, 64));
    let (text, _) = bench.succeed(&["demo", "p.png", "-o", "shown", "--decoder", "linear"]);
    for percent in ["  1 %", "  5 %", " 20 %", "100 %"] {
        assert!(text.contains(percent), "{text}");
    }
    assert!(bench.read("shown/picture-sheet.png").starts_with(b"\x89PNG"));
    assert!(bench.read("shown/picture.nst").starts_with(b"nst"));
    let page = String::from_utf8(bench.read("shown/picture.html")).expect("text");
    assert!(
        page.contains("<svg") && page.contains("data:image/png;base64,") && page.contains("data:image/jpeg;base64,")
    );
    for outside in ["http:", "https:", "<script", "<link", "url(", "@import"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn without_onnx_runtime_the_demo_of_a_picture_is_linear_and_a_note_says_so() {
    let bench = Bench::new();
    bench.write("p.png", &png::rgb(96, 64));
    let (_, note) = bench.succeed(&["demo", "p.png", "-o", "shown"]);
    assert!(note.contains("uses the linear decoder: ONNX Runtime was not found"), "{note}");
    assert!(bench.path("shown/picture.html").exists());
}

#[test]
fn the_demo_of_a_video_is_a_broadcast_and_one_page_that_loads_nothing() {
    let bench = Bench::new();
    bench.write("clip.y4m", &clip(20));
    let (text, _) = bench.succeed(&["demo", "clip.y4m", "-o", "shown", "--decoder", "linear"]);
    for link in ["0.3 Mbit/s", "1 Mbit/s", "4 Mbit/s"] {
        assert!(text.contains(link), "{text}");
    }
    assert!(bench.read("shown/broadcast-sheet.png").starts_with(b"\x89PNG"));
    let frames = String::from_utf8(bench.read("shown/broadcast.csv")).expect("text");
    let shown = |link: &str| frames.lines().filter(|line| line.starts_with(link)).count();
    // 12 seconds of virtual time, less the handshake.
    assert!([shown("0.3"), shown("1"), shown("4")].iter().all(|&count| (350..=360).contains(&count)), "{frames}");
    let page = String::from_utf8(bench.read("shown/broadcast.html")).expect("text");
    assert!(page.contains("<svg") && page.contains("data:image/webp;base64,"));
    for outside in ["http:", "https:", "<script", "<link", "url(", "@import"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn the_demo_takes_pipes() {
    let bench = Bench::new();
    let output = bench.run(&["demo", "-", "-o", "shown", "--decoder", "linear"], &clip(2));
    assert!(output.status.success() && bench.path("shown/broadcast.html").exists(), "{output:?}");
    #[cfg(unix)]
    {
        bench.write("p.png", &png::rgb(96, 64));
        let script = r#"mkfifo pipe; cat p.png > pipe & exec "$0" "$@""#;
        let output = bench.shell(script, &["demo", "pipe", "-o", "shown", "--decoder", "linear"]);
        assert!(output.status.success() && bench.path("shown/picture.html").exists(), "{output:?}");
    }
}

#[test]
fn a_page_of_the_demo_is_served_until_its_user_ends_it() {
    let bench = Bench::new();
    bench.write("p.png", &png::rgb(96, 64));
    let mut command = bench.command(NESTCAST);
    command.args(["demo", "p.png", "-o", "shown", "--decoder", "linear", "--web", "127.0.0.1:0"]);
    let mut program = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let lines = BufReader::new(program.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    let address = lines.into_iter().find_map(|line| Some(line.split_once("http://")?.1.split_once('/')?.0.to_owned()));
    let address = address.expect("it says where the page is");
    for (file, has) in
        [("", "<nestcast-file"), ("slider.js", "'./player.js'"), ("player.js", "customElements"), ("none", "404")]
    {
        let mut stream = TcpStream::connect(&address).expect("it listens");
        write!(stream, "GET /{file} HTTP/1.1\r\nhost: {address}\r\n\r\n").expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("text");
        assert!(answer.contains(has), "{file}: {answer}");
    }
    program.kill().expect("it runs");
    program.wait().expect("it ended");
    assert!(bench.path("shown/picture.html").exists());
}

#[test]
fn what_the_demo_cannot_do_is_said_before_it_begins() {
    let bench = Bench::new();
    bench.stream("s.nst");
    let line = bench.refuse(&["demo", "-o", "folder", "--decoder", "both"]);
    assert!(line.contains("ORT_DYLIB_PATH") && line.contains("`--decoder linear`"), "{line}");
    assert!(!bench.path("folder").exists());
    assert!(bench.refuse(&["demo", "-o", "s.nst", "--decoder", "linear"]).contains("is a file"));
    bench.write("clip.y4m", &clip(2));
    let line = bench.refuse(&["demo", "clip.y4m", "-o", "folder", "--decoder", "linear", "--web", "127.0.0.1:0"]);
    assert!(line.contains("--web cuts a picture"), "{line}");
    let other = ["demo", "-o", "folder", "--decoder", "linear", "--web", "127.0.0.1:0", "--model", "photo-ssim"];
    let line = bench.refuse(&other);
    assert!(line.contains("leave out --model or --web"), "{line}");
    assert!(!bench.path("folder").exists());
}
