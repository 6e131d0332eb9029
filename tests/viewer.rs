//! The viewer in a real browser, and its module under Node.js. Every picture equals that of the native linear decoder,
//! bit for bit. Without Chromium or Node.js the tests are skipped, with a message.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use nestcast_codec::{Channels, Codec, Format, Picture, VideoDecoder, VideoFile, VideoModel, Ycbcr};
use nestcast_media::to_rgb;
use nestcast_proto::BroadcastName;
use nestcast_sender::{Browsers, PageFile, PageServer};
use nestcast_tests::broadcasts::{Plan, Running, identity};
use nestcast_tests::browser::{self, Browser, Engine, Files};
use nestcast_tests::clips::CLIPS;
use nestcast_tests::live_page::run;
use nestcast_tests::pictures::{Content, picture};
use nestcast_web::PAGE_FILES;
use sha2::{Digest as _, Sha256};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// Long enough for a slow machine, which decodes and draws in software.
const PATIENCE: Duration = Duration::from_secs(240);

/// A file for the viewer: its name, its bytes, and where to cut it. A video has no cuts, and is shown frame by frame.
struct Sample {
    name: String,
    bytes: Vec<u8>,
    cuts: Vec<usize>,
}

fn samples() -> Vec<Sample> {
    let codec = Codec::photo();
    let stills = [(77, 53, Channels::Rgb), (64, 48, Channels::Grey)].map(|(width, height, channels)| {
        let stream = codec.encode(&picture(Content::Photo, width, height, channels, 7)).expect("a picture");
        let bytes = stream.bytes().to_vec();
        let whole = bytes.len();
        // Inside the header, after it, forward and back.
        let cuts = vec![whole, 5, 40, 41, whole / 3, whole / 9, whole - 1];
        Sample { name: format!("{width}.nst"), bytes, cuts }
    });
    let model = VideoModel::built_in();
    let videos = CLIPS.iter().filter(|clip| clip.renditions == 1).map(|clip| {
        let name = format!("{}.nst", clip.name);
        Sample { name, bytes: clip.stored_on(1, &model), cuts: Vec::new() }
    });
    stills.into_iter().chain(videos).collect()
}

/// Returns the digest of a picture as a canvas has it: red, green, blue, 255.
fn digest(picture: &Picture) -> String {
    let rgb = to_rgb(picture);
    let pixels: Vec<u8> = match rgb.format() {
        Format::Grey => rgb.samples().iter().flat_map(|&grey| [grey, grey, grey, 255]).collect(),
        _ => rgb.samples().chunks_exact(3).flat_map(|rgb| [rgb[0], rgb[1], rgb[2], 255]).collect(),
    };
    Sha256::digest(pixels).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns what the viewer should say of a sample, after its name and how it was drawn.
fn expected(sample: &Sample) -> Vec<String> {
    if sample.cuts.is_empty() {
        let mut file = VideoFile::new(Bytes::from(sample.bytes.clone())).expect("a video");
        let header = *file.header();
        let mut decoder = VideoDecoder::new(VideoModel::built_in(), header.size, 1);
        let mut picture = Picture::zero(header.size, Format::Ycbcr420(Ycbcr::BT601));
        let mut lines = Vec::new();
        while let Some(frame) = file.next_frame().expect("a frame") {
            decoder.decode(&frame).expect("a frame of a video");
            decoder.render_into(&mut picture).expect("the shape fits");
            lines.push(format!("frame {} {}", lines.len(), digest(&picture)));
        }
        return lines;
    }
    let line = |&cut: &usize| {
        let mut decoder = Codec::photo().decoder();
        decoder.push(&sample.bytes[..cut]).expect("a prefix");
        let digest =
            decoder.header().map_or_else(|| "none".to_owned(), |_| digest(&decoder.render().expect("a picture")));
        format!("cut {cut} {digest}")
    };
    sample.cuts.iter().map(line).collect()
}

fn skip(why: &str) {
    // Visible even if output is captured.
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// Returns the viewer's files, and a page of the tests.
fn files(page: [(&str, &'static str, &[u8]); 2]) -> Files {
    let viewer = PAGE_FILES.iter().map(|file| (file.name, file.media_type, file.bytes));
    let owned = |(name, media_type, bytes): (&str, _, &[u8])| (name.to_owned(), (media_type, bytes.to_vec()));
    viewer.chain(page).map(owned).collect()
}

#[test]
fn chromium_shows_every_picture_as_the_native_decoder_makes_it() {
    shows_every_picture_as_the_native_decoder_makes_it(Engine::Chromium);
}

#[test]
fn firefox_shows_every_picture_as_the_native_decoder_makes_it() {
    shows_every_picture_as_the_native_decoder_makes_it(Engine::Firefox);
}

fn shows_every_picture_as_the_native_decoder_makes_it(engine: Engine) {
    let samples = samples();
    let mut files = files([
        ("check.html", "text/html", include_bytes!("web/check.html")),
        ("check.js", "text/javascript", include_bytes!("web/check.js")),
    ]);
    let list = samples.iter().map(|sample| {
        let frames = if sample.cuts.is_empty() { expected(sample).len() } else { 0 };
        format!("{{\"name\":{:?},\"cuts\":{:?},\"frames\":{frames}}}", sample.name, sample.cuts)
    });
    let list = format!("[{}]", list.collect::<Vec<_>>().join(","));
    files.insert("files.json".to_owned(), ("application/json", list.into_bytes()));
    files
        .extend(samples.iter().map(|sample| (sample.name.clone(), ("application/octet-stream", sample.bytes.clone()))));
    let (address, posted) = browser::serve(files);
    // In this Chromium, a program draws WebGL; what draws it in Firefox depends on the machine.
    let (choice, renderers) = match engine {
        Engine::Chromium => ("#choice", &["webgl", "2d", "2d"][..]),
        _ => ("", &["webgl", "2d"][..]),
    };
    let Some(_browser) = Browser::open(engine, &format!("http://{address}/check.html{choice}")) else {
        return skip(&format!("the viewer in {engine}, which is not installed"));
    };
    let shown = browser::lines(&posted, PATIENCE);
    let of = |sample, renderer: &str| {
        expected(sample).into_iter().map(move |line| format!("{renderer} {line}")).collect::<Vec<_>>()
    };
    let all = samples.iter().flat_map(|sample| {
        renderers.iter().flat_map(|renderer| of(sample, renderer)).map(|line| format!("{} {line}", sample.name))
    });
    assert_eq!(shown, all.collect::<Vec<_>>());
}

#[test]
fn a_file_replaces_the_one_before_and_one_that_cannot_be_shown_says_so() {
    let samples = samples();
    let named = |is_video: bool| samples.iter().find(|sample| sample.cuts.is_empty() == is_video).expect("one");
    let (picture, video) = (named(false), named(true));
    let mut files = files([
        (
            "files.html",
            "text/html",
            b"<!doctype html><meta charset=\"utf-8\"><script type=\"module\" src=\"files.js\"></script>",
        ),
        ("files.js", "text/javascript", include_bytes!("web/files.js")),
    ]);
    for Sample { name, bytes, .. } in [picture, video] {
        files.insert(name.clone(), ("application/octet-stream", bytes.clone()));
    }
    let (address, posted) = browser::serve(files);
    let link = format!("http://{address}/files.html#picture={}&video={}", picture.name, video.name);
    let Some(_browser) = Browser::open(Engine::UsualChromium, &link) else {
        return skip("files in Chromium, which is not installed");
    };
    let whole = picture.bytes.len();
    assert_eq!(
        browser::lines(&posted, PATIENCE),
        [
            format!("a cut before the file: opened a picture, cut {whole} true, cut 40 true"),
            "below: cut 0 false".to_owned(),
            format!("above: cut {whole} true"),
            "between: cut 40 true".to_owned(),
            "no number: TypeError: cut needs a number".to_owned(),
            format!("a video and a picture: opened a picture, cut {whole} true"),
            "a video again and again: 1 true".to_owned(),
            format!("a picture after it: opened a picture, cut {whole} true"),
            "no file: failed: corrupt stream: it does not begin with \"nst\", so it is no nestcast stream".to_owned(),
            "nothing there: failed: nothing.nst cannot be loaded: 404".to_owned(),
            format!("a picture by its name: opened a picture, cut {whole} true"),
        ]
    );
}

#[test]
fn the_module_decodes_under_node_as_the_native_decoder_does() {
    let folder = tempfile::tempdir().expect("a folder");
    nestcast_web::write_files(folder.path()).expect("room for the files");
    let samples = samples();
    let arguments = samples.iter().map(|sample| {
        std::fs::write(folder.path().join(&sample.name), &sample.bytes).expect("room for a file");
        let cuts: Vec<_> = sample.cuts.iter().map(usize::to_string).collect();
        if cuts.is_empty() { sample.name.clone() } else { format!("{}:{}", sample.name, cuts.join(",")) }
    });
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/web/decode.mjs");
    let ran = Command::new("node").arg(script).arg(folder.path()).args(arguments).output();
    let Ok(output) = ran else { return skip("the viewer's module under Node.js, which is not installed") };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let all = samples.iter().flat_map(|sample| {
        expected(sample).into_iter().map(|line| format!("{} node {line}", sample.name)).collect::<Vec<_>>()
    });
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(printed.lines().collect::<Vec<_>>(), all.collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_waits_for_a_place_and_does_what_its_user_asks() {
    let identity = identity();
    let plan = Plan { max_receivers: 1, browsers: Some(Browsers::default()), ..Plan::new(&identity) };
    let broadcast = plan.listen();
    let (fingerprint, _) = broadcast.browser_certificate().made().expect("one is made");
    let running = Running::run(broadcast);
    let link = format!("src=https://{}/&fingerprint={fingerprint}", running.address);
    let ran = || run(Engine::Chromium, include_str!("web/full.js"), &link);
    let Some(lines) = tokio::task::block_in_place(ran) else { return };
    assert_eq!(
        lines,
        [
            "the first plays",
            "the second waits: 4, The sender has as many viewers as it takes. Trying again …",
            "the second plays once the first has gone",
            "a snapshot: image/png, 160 x 120",
            "paused: paused, 0 frames",
            "it plays again",
            "This link is broken. Ask the sender for a new one.",
            "This link has expired. Ask the sender for a new one.",
        ]
    );
    running.stop().await;
}

/// Starts a broadcast to browsers with a new certificate, and the server of its page.
async fn sender_with_page([sender, page]: [SocketAddr; 2]) -> (Running, String, SocketAddr, JoinHandle<()>) {
    let broadcast = Plan { listen: sender, browsers: Some(Browsers::default()), ..Plan::new(&identity()) }.listen();
    let certificate = broadcast.browser_certificate();
    let running = Running::run(broadcast);
    let server = Arc::new(PageServer::listen(page, None).await.expect("a free port"));
    let link = server.link(running.address, &BroadcastName::default(), &certificate, None).expect("it listens");
    let page = server.address().expect("it listens");
    let files = PAGE_FILES.iter().map(|file| PageFile::from_static(file.name, file.media_type, file.bytes));
    let serving = tokio::spawn(server.serve(files.collect(), Some((running.address, certificate))));
    (running, link, page, serving)
}

async fn until_watched(running: &Running) {
    let watched = async {
        while running.monitor.read().receivers.is_empty() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(PATIENCE, watched).await.expect("the browser watches");
}

/// The sender vanishes without a word, as if it had been killed: the test drops its runtime.
#[test]
fn an_open_page_goes_on_after_its_sender_began_anew_with_another_certificate() {
    goes_on_after_its_sender_began_anew(false);
}

/// The sender says that the broadcast has ended, as after a SIGTERM.
#[test]
fn an_open_page_goes_on_after_its_sender_ended_and_began_anew() {
    goes_on_after_its_sender_began_anew(true);
}

fn goes_on_after_its_sender_began_anew(ends: bool) {
    let [before, after] = [(); 2].map(|()| Runtime::new().expect("a runtime"));
    let free = ([127, 0, 0, 1], 0).into();
    let (first, link, page, _) = before.block_on(sender_with_page([free, free]));
    let Some(_browser) = Browser::open(Engine::Chromium, &link) else {
        return skip("the sender's own page in Chromium, which is not installed");
    };
    before.block_on(until_watched(&first));
    let sender = first.address;
    if ends {
        before.block_on(first.stop());
    }
    before.shutdown_timeout(Duration::from_secs(1));
    let (second, new_link, _, serving) = after.block_on(sender_with_page([sender, page]));
    assert_ne!(link, new_link, "the certificate of the open page is useless now");
    after.block_on(async {
        until_watched(&second).await;
        serving.abort();
        second.stop().await;
    });
}
