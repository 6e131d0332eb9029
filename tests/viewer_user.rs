//! What users and their pages do with the viewer, in a real browser: controls and keys, a hundred joins, a link of an old
//! certificate, a slide that grows; and the types of its elements. Without Chromium or TypeScript the tests are skipped,
//! with a message.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use bytes::Bytes;
use nestcast_codec::{Channels, Codec, Format, FrameRate};
use nestcast_encode::{PictureFormat, Pictures};
use nestcast_lab::link::{Link, Relay};
use nestcast_sender::{Broadcast, BrowserCertificate, Browsers, FrameSource};
use nestcast_tests::broadcasts::{Plan, RATE, Running, identity};
use nestcast_tests::browser::Engine;
use nestcast_tests::live_page::{Shown, digest, parse, run, watch};
use nestcast_tests::pictures::{self, Content};
use tokio::time::timeout;

/// The compiler of the types. `.ci/run` installs it.
const TYPESCRIPT: &str = "typescript@5.9.3";
/// What the compiler is asked: no file, all checks, and the modules and interfaces of today's browsers.
const COMPILER_OPTIONS: [&str; 10] = [
    "--noEmit",
    "--strict",
    "--target",
    "es2022",
    "--module",
    "nodenext",
    "--moduleResolution",
    "nodenext",
    "--lib",
    "es2022,dom,dom.iterable",
];

fn plan() -> Plan {
    Plan { browsers: Some(Browsers::default()), ..Plan::new(&identity()) }
}

/// Runs a broadcast; returns its certificate for browsers too.
fn start(broadcast: Broadcast<impl FrameSource>) -> (Running, BrowserCertificate) {
    let certificate = broadcast.browser_certificate();
    (Running::run(broadcast), certificate)
}

/// Returns the link of a page to a sender.
fn link(to: std::net::SocketAddr, certificate: &BrowserCertificate) -> String {
    format!("src=https://{to}/&fingerprint={}", certificate.made().expect("one is made").0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_finds_every_control_and_each_key_does_what_the_documents_say() {
    // Silence in stereo, so that there is a control for sound.
    let (running, certificate) =
        start(Plan { sound: vec![Bytes::from_static(&[0xFC, 0xFF, 0xFE])], ..plan() }.listen());
    let link = format!("{}&rate={RATE}", link(running.address, &certificate));
    let ran = || run(Engine::Chromium, include_str!("web/user.js"), &link);
    let Some(lines) = tokio::task::block_in_place(ran) else { return };
    assert_eq!(
        lines,
        [
            "names: Pause, 10 seconds back, 10 seconds forward, Sound on, To live, Highest bit rate, Statistics, \
             Save a snapshot, Picture in picture, Full screen",
            "360 px: true true outside: ; covered: ",
            "320 px: true true outside: ; covered: ",
            "240 px: Pause, Sound on, Full screen; less than half: true",
            "space: true paused",
            "a held key: false paused",
            "space again: playing",
            "Picture: 160 × 120",
            "Rate: N kbit/s",
            "Latency: N ms",
            "Round trip: N ms",
            "Received: N MB",
            "Last frame: N of N bytes",
            "Frames shown: N",
            "statistics: hidden",
            "sound: false true",
            "a key in the menu: true",
            "snapshot: nestcast-N-N-NTN-N-N.NZ.png 160 x 120",
            "asked for: full screen; picture in picture of 160 x 120",
            "it shows the pictures",
            "more than the cap before: true",
            "within the cap: 300000 true",
            "the menu follows: 1 Mbit/s true",
        ]
    );
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_in_chromium_changes_and_moves_the_element_and_the_viewer_follows() {
    a_page_changes_and_moves_the_element_and_the_viewer_follows(Engine::Chromium).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_in_firefox_changes_and_moves_the_element_and_the_viewer_follows() {
    a_page_changes_and_moves_the_element_and_the_viewer_follows(Engine::Firefox).await;
}

async fn a_page_changes_and_moves_the_element_and_the_viewer_follows(engine: Engine) {
    let (running, certificate) = start(plan().listen());
    let link = link(running.address, &certificate);
    let ran = || run(engine, include_str!("web/pages.js"), &link);
    let Some(lines) = tokio::task::block_in_place(ran) else { return };
    assert_eq!(
        lines,
        [
            "without src: idle, –, Error: there is no picture yet",
            "a wrong fingerprint: ended, link, the fingerprint is not 64 hexadecimal digits",
            "the right one: connecting [], playing []",
            "a cap of a page: 500 kbit/s, then Auto of 5",
            "label: The stage; muted: false, true",
            "a late frame: ended",
            "again: connecting [], playing []",
            "a paused viewer that was moved: paused, true",
            "on: playing",
            "without src again: idle, false",
            "back: playing; removed: idle",
            "errors: ",
        ]
    );
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_element_joins_a_hundred_times() {
    let (running, certificate) = start(Plan { size: (64, 48), ..plan() }.listen());
    let link = format!("{}&joins=100", link(running.address, &certificate));
    let ran = || run(Engine::Chromium, include_str!("web/joins.js"), &link);
    let Some(lines) = tokio::task::block_in_place(ran) else { return };
    assert_eq!(lines[0], "100 joins");
    let growth: i64 = lines[1].parse().expect("a number of bytes");
    assert!(growth <= 1 << 20, "ninety joins took {growth} bytes of the modules' memory");
    // A busy machine may break a connection, and then the viewer makes another.
    assert!(running.monitor.read().accepted >= 100);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_with_the_fingerprint_of_an_old_certificate_waits_and_says_why() {
    let browsers = Browsers { validity: Some(Duration::from_secs(2)), ..Browsers::default() };
    let (running, mut certificate) = start(Plan { browsers: Some(browsers), ..plan() }.listen());
    let link = format!("{}&waits=1", link(running.address, &certificate));
    timeout(Duration::from_secs(60), certificate.changed()).await.expect("another is made");
    let ran = || watch(Engine::Chromium, &link);
    let Some(lines) = tokio::task::block_in_place(ran) else { return };
    assert_eq!(
        lines,
        ["waiting unreachable: The sender does not answer, shows another certificate than the link names (links are \
             valid for 14 days at most), or does not admit pages of this site. Trying again …"]
    );
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slide_grows_in_the_page_until_it_is_whole() {
    let slide = pictures::picture(Content::Photo, 512, 384, Channels::Rgb, 3);
    let whole = Codec::photo().encode(&slide).expect("a picture");
    let shape = PictureFormat::new(slide.size(), Format::Rgb, FrameRate::new(RATE, 1).expect("a rate"));
    let pictures = Pictures::from_fn(shape, move |_| Ok(Some(slide.clone())));
    let (running, certificate) = start(plan().listen_with(pictures));
    let slow = Link::constant(60_000).with_rtt(Duration::from_millis(20));
    let relay = Relay::start(running.address, slow).await.expect("free ports");
    let link = format!("{}&whole=1", link(relay.address(), &certificate));
    let ran = || watch(Engine::Chromium, &link);
    let Some(lines) = tokio::task::block_in_place(ran) else { return };
    let (end, shown) = lines.split_last().expect("a line");
    assert_eq!(end, "whole");
    let shown: Vec<_> = shown.iter().map(|line| parse(line)).collect();
    let lengths: Vec<_> = shown.iter().map(|shown| shown.bytes).collect();
    // Bytes of the frame's own stream, of which all later bytes have need, do not wait until the last of those is sent.
    let steps: Vec<_> = lengths.windows(2).map(|pair| pair[1].checked_sub(pair[0])).collect();
    let most = Some(whole.bytes().len() / 3);
    assert!(steps.len() > 3 && steps.iter().all(|step| step.is_some() && *step < most), "{lengths:?}");
    assert_eq!(lengths.last(), Some(&whole.bytes().len()), "{lengths:?}");
    for Shown { id, bytes, pixels, .. } in shown {
        let mut decoder = Codec::photo().decoder();
        decoder.push(&whole.bytes()[..bytes]).expect("a sound frame");
        assert_eq!(digest(&decoder.render().expect("a picture")), pixels, "picture {id}, {bytes} bytes");
    }
    running.stop().await;
}

#[test]
fn pages_in_typescript_have_types_for_elements_and_events() {
    let installed = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("typescript");
    let compiler = installed.join("node_modules/typescript/lib/tsc.js");
    let skip = |why: &str| {
        // Visible even if output is captured.
        let _ = writeln!(std::io::stderr(), "skipped: the types of the viewer's elements: {why}");
    };
    if !compiler.is_file() {
        return skip(&format!("`npm install --no-save --prefix {} {TYPESCRIPT}`", installed.display()));
    }
    let folder = tempfile::tempdir().expect("a folder");
    nestcast_web::write_files(folder.path()).expect("room for the files");
    let page = folder.path().join("types.ts");
    std::fs::write(&page, include_str!("web/types.ts")).expect("room for a file");
    let ran = Command::new("node").arg(compiler).args(COMPILER_OPTIONS).arg(page).output();
    let Ok(output) = ran else { return skip("Node.js is not installed") };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
