//! Watches a broadcast of 320x180 at 30 frames a second in Chromium, and prints once a minute what the browser's memory
//! holds: `browser-growth MINUTES`. Linux only.

use std::collections::HashMap;
use std::fs;
use std::io::Write as _;
use std::time::Duration;

use nestcast_codec::{Format, FrameRate, Picture, Size, Ycbcr};
use nestcast_encode::{PictureFormat, RenditionLimit};
use nestcast_lab::video_frames::VideoFrames;
use nestcast_sender::Browsers;
use nestcast_tests::broadcasts::{Plan, Running, identity};
use nestcast_tests::browser::{self, Browser, Engine, Files};
use nestcast_web::PAGE_FILES;

const SIZE: [u32; 2] = [320, 180];
const FORMAT: Format = Format::Ycbcr420(Ycbcr::BT601);
/// Longer than from one post of the page to the next.
const PATIENCE: Duration = Duration::from_secs(180);

fn size() -> Size {
    Size::new(SIZE[0], SIZE[1]).expect("a valid size")
}

/// Draws waves that move at two speeds, with grain.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "luma is from 34 to 217")]
fn picture(id: u64) -> Picture {
    let mut picture = Picture::zero(size(), FORMAT);
    let time = (id % 100_000) as f64;
    let mut grain = id;
    let (luma, colours) = picture.samples_mut().split_at_mut(size().pixels());
    for (y, row) in luma.chunks_exact_mut(size().width()).enumerate() {
        for (x, sample) in row.iter_mut().enumerate() {
            grain = grain.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let waves = ((x as f64 + time) / 9.0).sin() + ((y as f64 - time * 0.7) / 13.0).sin();
            *sample = (124.0 + 45.0 * waves + (grain >> 62) as f64) as u8;
        }
    }
    colours.fill(128);
    picture
}

/// Returns the kilobytes of a process and of all that it started, with shared pages counted once.
fn kilobytes(process: u32) -> u64 {
    let mut parents = HashMap::new();
    for entry in fs::read_dir("/proc").expect("Linux").flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        parents.extend(parent.map(|parent| (id, parent)));
    }
    let is_below = |mut id: u32| loop {
        if id == process {
            return true;
        }
        let Some(parent) = parents.get(&id) else { return false };
        id = *parent;
    };
    let proportional = |id: &u32| {
        let sizes = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).unwrap_or_default();
        let line = sizes.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap_or_default();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or_default()
    };
    parents.keys().filter(|id| is_below(**id)).map(proportional).sum()
}

#[tokio::main]
async fn main() {
    let minutes: u32 = std::env::args().nth(1).and_then(|text| text.parse().ok()).expect("a number of minutes");
    let shape = PictureFormat::new(size(), FORMAT, FrameRate::new(30, 1).expect("a rate"));
    let source = VideoFrames::new(shape, (1, RenditionLimit::AtMost(1)), picture);
    let broadcast = Plan { browsers: Some(Browsers::default()), ..Plan::new(&identity()) }.listen_to(source);
    let certificate = broadcast.browser_certificate();
    let running = Running::run(broadcast);
    let fingerprint = certificate.made().expect("one is made").0;
    let link = format!("src=https://{}/&fingerprint={fingerprint}", running.address);
    tokio::task::spawn_blocking(move || watch(&link, minutes)).await.expect("no panic");
    running.stop().await;
}

fn watch(link: &str, minutes: u32) {
    let mut files: Files =
        PAGE_FILES.iter().map(|file| (file.name.to_owned(), (file.media_type, file.bytes.to_vec()))).collect();
    let own = [
        ("growth.html", "text/html", include_bytes!("../web/growth.html").to_vec()),
        ("growth.js", "text/javascript", include_bytes!("../web/growth.js").to_vec()),
    ];
    files.extend(own.map(|(name, media_type, bytes)| (name.to_owned(), (media_type, bytes))));
    let (address, posted) = browser::serve(files);
    let browser = Browser::open(Engine::Chromium, &format!("http://{address}/growth.html#{link}"));
    let browser = browser.expect("Chromium is installed");
    println!(
        "| minute | page's heap, kB | heaps of page and workers, kB | all that the page holds, kB | WebAssembly, kB | \
         browser, MB | pictures shown | late | concealed |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for minute in 1..=minutes {
        let lines = browser::lines(&posted, PATIENCE);
        let words: Vec<&str> = lines[0].split(' ').collect();
        let [values @ .., state] = &words[..] else { panic!("nine values: {lines:?}") };
        assert_eq!(*state, "playing");
        let mut numbers: Vec<u64> = values.iter().map(|word| word.parse().expect("a number")).collect();
        numbers[..4].iter_mut().for_each(|bytes| *bytes /= 1000);
        numbers.insert(4, kilobytes(browser.id()) / 1000);
        let cells: Vec<_> = numbers.iter().map(u64::to_string).collect();
        println!("| {minute} | {} |", cells.join(" | "));
        let _ = std::io::stdout().flush();
    }
}
