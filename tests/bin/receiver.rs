//! A receiver in a process of its own, so that its memory is its own: `receiver ADDRESS FINGERPRINT SECONDS` receives,
//! tries again for so many seconds, and says in a line each how it ended, how many pictures it showed, and the most
//! memory that it ever had, in kB.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use nestcast_models::Package;
use nestcast_receiver::{Announcement, Config, Decoding, Shown, Viewer, view};
use nestcast_tests::broadcasts::{decoding, pinned};

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Knows one model of pictures and that of video, takes others if they are sound, and counts pictures.
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

/// In kB; zero where the system does not say.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, fingerprint, seconds] = arguments.as_slice() else { panic!("three arguments") };
    let config = pinned(address.parse().expect("an address"), fingerprint);
    let retry = Duration::from_secs(seconds.parse().expect("a number of seconds"));
    let config = Config { fetch_model: true, retry, ..config };
    let shown = Arc::new(AtomicU64::new(0));
    let ended = view(config, Counter(Arc::clone(&shown)), std::future::pending()).await;
    println!("{}", ended.map_or_else(|error| error.to_string(), |()| "the broadcast ended".to_owned()));
    println!("{}", shown.load(Ordering::Relaxed));
    println!("{}", peak_memory());
}
