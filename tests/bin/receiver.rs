//! A receiver in a separate process, with its own memory: `receiver ADDRESS FINGERPRINT SECONDS` receives and retries
//! for that many seconds. It prints a line each with how it ended, how many pictures it showed, and the most memory
//! that it ever used, in kB.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use nestcast_models::Package;
use nestcast_receiver::{Announcement, Decoding, ReceiverConfig, Shown, Viewer, view};
use nestcast_tests::broadcasts::{decoding, pinned};

/// The program's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Knows one model of pictures and that of video, accepts other valid ones, and counts pictures.
struct Counter(Arc<AtomicU64>);

impl Viewer for Counter {
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn handle_announcement(&mut self, announced: &Announcement) -> Result<Option<Decoding>, Self::Error> {
        if announced.video.is_some() {
            return Ok(Decoding::video(announced, 1));
        }
        let package = Package::builtin("photo")?;
        Ok((announced.model == package.id()).then(|| decoding(&package)))
    }

    fn handle_package(&mut self, announced: &Announcement, package: Bytes) -> Result<Option<Decoding>, Self::Error> {
        let package = Package::from_archive(&package, "from the sender")?;
        if (package.id(), package.hash()) != (announced.model, announced.package.0) {
            return Err("another model came than was announced".into());
        }
        Ok(Some(decoding(&package)))
    }

    fn show(&mut self, _shown: &Shown<'_>) -> Result<(), Self::Error> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, fingerprint, seconds] = arguments.as_slice() else { panic!("three arguments") };
    let config = pinned(address.parse().expect("an address"), fingerprint);
    let retry = Duration::from_secs(seconds.parse().expect("a number of seconds"));
    let config = ReceiverConfig { fetch_model: true, retry, ..config };
    let shown = Arc::new(AtomicU64::new(0));
    let ended = view(config, Counter(Arc::clone(&shown)), std::future::pending()).await;
    println!("{}", ended.map_or_else(|error| error.to_string(), |()| "the broadcast ended".to_owned()));
    println!("{}", shown.load(Ordering::Relaxed));
    println!("{}", nestcast_tests::peak_memory());
}
