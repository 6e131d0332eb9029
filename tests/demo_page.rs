//! The demonstration's page in a real browser: it cuts the picture that the reader cuts, and measures what the program
//! measures.

use std::io::Write as _;
use std::time::Duration;

use nestcast_codec::{Channels, Decoder, Encoder};
use nestcast_lab::demo::{
    Setup,
    picture::{Coders, Photo, run},
};
use nestcast_lab::metrics::psnr;
use nestcast_models::Package;
use nestcast_tests::browser::{self, Browser, Engine, Files};
use nestcast_tests::pictures::{Content, picture};
use nestcast_web::PAGE_FILES;

const PATIENCE: Duration = Duration::from_secs(240);

/// Returns a count as the page writes it.
fn grouped(count: usize) -> String {
    if count < 1000 { count.to_string() } else { format!("{},{:03}", count / 1000, count % 1000) }
}

#[test]
fn chromium_cuts_the_demonstrations_picture_and_measures_what_the_program_does() {
    cuts_and_measures(Content::Photo, |whole, jpegs| {
        assert!(whole > 2000, "of a larger stream the page cuts 5 %");
        vec![whole / 20, whole / 2, jpegs[0] - 1, jpegs[0], whole, 100, 4]
    });
}

#[test]
fn chromium_cuts_a_picture_that_is_smaller_than_any_jpeg() {
    cuts_and_measures(Content::Flat, |whole, jpegs| {
        assert!(jpegs.is_empty());
        vec![whole, 4, whole]
    });
}

/// `cuts` makes the places to cut from the stream's bytes and those of the JPEGs; the page makes the first one by itself.
fn cuts_and_measures(content: Content, cuts: impl FnOnce(usize, &[usize]) -> Vec<usize>) {
    let original = picture(content, 192, 128, Channels::Rgb, 7);
    let package = Package::builtin("photo").expect("it is built in");
    let coders = Coders {
        encoder: Encoder::new(package.linear(1)),
        decoders: vec![("linear", Decoder::new(package.linear(1)))],
    };
    let setup = Setup { package: &package, threads: 1, note: |_| {} };
    let photo = Photo::new("A photo".to_owned(), original.clone()).expect("a picture");
    let page = run(&setup, &photo, coders).expect("it is measured").slider().expect("it is drawn");
    let of_viewer = PAGE_FILES.iter().map(|file| (file.name.to_owned(), (file.media_type, file.bytes.to_vec())));
    let own = page.iter().map(|file| (file.name.to_owned(), (file.media_type, file.bytes.to_vec())));
    let mut files: Files = of_viewer.chain(own).collect();
    let stream = files["picture.nst"].1.clone();
    let facts: serde_json::Value = serde_json::from_slice(&files["picture.json"].1).expect("JSON");
    let jpegs = facts["jpegs"].as_array().expect("a list").iter();
    let jpegs: Vec<_> =
        jpegs.map(|jpeg| jpeg["bytes"].as_u64().and_then(|n| n.try_into().ok()).expect("bytes")).collect();
    let jpeg_of = |cut: usize| {
        let bytes: Option<&usize> = jpegs.iter().rfind(|&&bytes| bytes <= cut);
        bytes.map_or_else(|| "none is this small".to_owned(), |&bytes| format!("{} bytes, ", grouped(bytes)))
    };
    let whole = stream.len();
    let cuts = cuts(whole, &jpegs);
    let list = cuts.iter().map(|&bytes| serde_json::json!({ "bytes": bytes, "jpeg": jpeg_of(bytes) }));
    let list = serde_json::Value::from_iter(list).to_string();
    files.insert("cuts.json".to_owned(), ("application/json", list.into_bytes()));
    files.insert("check.js".to_owned(), ("text/javascript", include_bytes!("web/slider.js").to_vec()));
    let index = String::from_utf8(files["index.html"].1.clone()).expect("text");
    let checked = index.replace("</head>", "<script type=\"module\" src=\"check.js\"></script></head>");
    assert_ne!(index, checked);
    files.insert("check.html".to_owned(), ("text/html", checked.into_bytes()));
    let (address, posted) = browser::serve(files);
    let Some(_browser) = Browser::open(Engine::Chromium, &format!("http://{address}/check.html")) else {
        // Visible even if output is captured.
        let _ = writeln!(std::io::stderr(), "skipped: the demonstration's page in Chromium, which is not installed");
        return;
    };
    let mut decoder = Decoder::new(package.linear(1));
    let expected = cuts.iter().map(|&cut| {
        decoder.reset();
        decoder.push(&stream[..cut]).expect("a prefix");
        let quality = decoder.header().is_some().then(|| psnr(&original, &decoder.render().expect("a picture")));
        let quality = match quality {
            None => "no picture yet".to_owned(),
            Some(db) if db.is_infinite() => "without loss".to_owned(),
            Some(db) => format!("{db:.2} dB"),
        };
        format!("{} bytes: {quality}", grouped(cut))
    });
    assert_eq!(browser::lines(&posted, PATIENCE), expected.collect::<Vec<_>>());
}
