//! The viewer in a real browser, and what it must show: the pictures of the native decoder, bit for bit.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use nestcast_codec::{Picture, VideoDecoder, VideoModel};
use nestcast_media::to_rgb;
use nestcast_proto::Frame;
use nestcast_sender::{FrameReceiver, NextFrame};
use nestcast_web::PAGE_FILES;
use sha2::{Digest as _, Sha256};

use crate::browser::{self, Browser, Engine, Files};

/// Long enough for a slow machine, which decodes and draws in software.
const PATIENCE: Duration = Duration::from_secs(240);

/// Returns all frames until the broadcast ends, by number.
pub async fn record(mut frames: FrameReceiver) -> BTreeMap<u64, Frame> {
    let mut all = BTreeMap::new();
    loop {
        match frames.next().await {
            NextFrame::Frame(next) => drop(all.insert(next.frame.id, next.frame)),
            NextFrame::Missed(_) => {}
            NextFrame::End => return all,
        }
    }
}

/// Opens a page with a script of `tests/web` and the viewer's files in a browser. The page's address has this link. Returns
/// the browser and what the page posts; `None` if the browser is not installed, which this then says.
///
/// # Panics
/// If there is no room for a profile, or no free port.
#[must_use]
pub fn open(engine: Engine, script: &'static str, link: &str) -> Option<(Browser, Receiver<String>)> {
    open_at(engine, script, "page.html", link)
}

/// Opens the page of this name, which is the test's, or leads there.
fn open_at(engine: Engine, script: &'static str, name: &str, link: &str) -> Option<(Browser, Receiver<String>)> {
    let page = "<!doctype html><meta charset=\"utf-8\"><title>A test of the viewer</title>\
                <script type=\"module\" src=\"test.js\"></script>";
    let before = "<!doctype html><meta charset=\"utf-8\"><title>Before</title><script src=\"before.js\"></script>";
    // Long enough for the browser to have started.
    let waits = "setTimeout(() => location.replace('page.html' + location.hash), 2500)";
    let own = [
        ("page.html", "text/html", page),
        ("test.js", "text/javascript", script),
        ("before.html", "text/html", before),
        ("before.js", "text/javascript", waits),
    ];
    let mut files: Files =
        PAGE_FILES.iter().map(|file| (file.name.to_owned(), (file.media_type, file.bytes.to_vec()))).collect();
    files.extend(own.map(|(name, media_type, text)| (name.to_owned(), (media_type, text.as_bytes().to_vec()))));
    let (address, posted) = browser::serve(files);
    let Some(browser) = Browser::open(engine, &format!("http://{address}/{name}#{link}")) else {
        // Visible even if output is captured.
        let _ = writeln!(std::io::stderr(), "skipped: the viewer in {engine}, which is not installed");
        return None;
    };
    Some((browser, posted))
}

/// Does the same, and returns what the page posts first.
///
/// # Panics
/// If the page posts nothing in time, or reports a failure.
#[must_use]
pub fn run(engine: Engine, script: &'static str, link: &str) -> Option<Vec<String>> {
    let (_browser, posted) = open(engine, script, link)?;
    Some(browser::lines(&posted, PATIENCE))
}

/// Opens the viewer in a browser, with this link, and returns what `tests/web/live.js` posts; `None` if the browser is not
/// installed.
///
/// # Panics
/// If the page posts nothing in time, or reports a failure.
#[must_use]
pub fn watch(engine: Engine, link: &str) -> Option<Vec<String>> {
    run(engine, include_str!("../web/live.js"), link)
}

/// Does the same with a browser that has run for a while before it opens the viewer.
///
/// # Panics
/// If the page posts nothing in time, or reports a failure.
#[must_use]
pub fn watch_in_running(engine: Engine, link: &str) -> Option<Vec<String>> {
    let (_browser, posted) = open_at(engine, include_str!("../web/live.js"), "before.html", link)?;
    Some(browser::lines(&posted, PATIENCE))
}

/// Returns the digest of a picture as a canvas has it: red, green, blue, 255.
///
/// # Panics
/// Never: a picture has three samples for each pixel.
#[must_use]
pub fn digest(picture: &Picture) -> String {
    let pixels =
        to_rgb(picture).samples().chunks_exact(3).flat_map(|rgb| [rgb[0], rgb[1], rgb[2], 255]).collect::<Vec<_>>();
    Sha256::digest(pixels).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A picture that the page showed.
#[derive(Debug)]
pub struct Shown<'a> {
    /// The frame's number.
    pub id: u64,
    /// The bytes that arrived.
    pub bytes: usize,
    /// All bytes of the frame or of its random-access frame, whichever the page got.
    pub full: usize,
    /// See [`digest`].
    pub pixels: &'a str,
}

/// Parses what the page says of a picture.
///
/// # Panics
/// If the page says something else.
#[must_use]
pub fn parse(line: &str) -> Shown<'_> {
    let words: Vec<_> = line.split(' ').collect();
    let &[id, bytes, full, pixels] = words.as_slice() else { panic!("not four words: {line}") };
    let number = |word: &str| word.parse().expect("a number");
    Shown { id: id.parse().expect("a number"), bytes: number(bytes), full: number(full), pixels }
}

/// Compares the frames that the page showed with the same decoded here, each from as many bytes as the page says; with
/// `whole`, these must be all. Returns which is another, if frames before it were not shown: a busy browser decodes such
/// frames too, but does not say from how many bytes.
///
/// # Errors
/// Which frame is another picture.
///
/// # Panics
/// If a frame is another picture though all before it were shown.
pub fn compare(
    shown: &[String],
    frames: &BTreeMap<u64, Frame>,
    mut picture: Picture,
    whole: bool,
) -> Result<(), String> {
    let mut decoder = VideoDecoder::new(VideoModel::built_in(), picture.size(), 1);
    let shown: BTreeMap<_, _> = shown.iter().map(|line| parse(line)).map(|shown| (shown.id, shown)).collect();
    let first = shown.values().next().expect("a frame");
    let last = *shown.keys().last().expect("a frame");
    let is_begin = |&(id, length): &(u64, usize)| id < first.id || length == first.full;
    let lengths = frames.range(..=first.id).filter_map(|(id, frame)| Some((*id, frame.join.as_ref()?.bytes.len())));
    let (begin, _) = lengths.filter(is_begin).last().expect("a page begins with a frame that needs no other");
    let mut lacks = false;
    for (id, frame) in frames.range(begin..=last) {
        let shown = shown.get(id);
        let join = frame.join.as_ref().map(|join| &join.bytes);
        // After frames that came too late, the sender goes on with a random-access frame.
        let goes_on = shown.is_some_and(|shown| shown.full != frame.bytes.len());
        let bytes = join.filter(|_| *id == begin || goes_on).unwrap_or(&frame.bytes);
        let came = shown.map_or(bytes.len(), |shown| bytes.len().min(shown.bytes));
        decoder.decode(&bytes[..came]).expect("a frame of the video");
        decoder.render_into(&mut picture).expect("the shape fits");
        match shown {
            Some(shown) if digest(&picture) == shown.pixels && (came == bytes.len() || !whole) => {}
            Some(_) if lacks => return Err(format!("frame {id} is another picture")),
            Some(shown) => panic!("not the picture of {} bytes after frame {begin}: {shown:?}", bytes.len()),
            None => lacks = true,
        }
    }
    Ok(())
}
