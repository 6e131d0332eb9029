//! A receiver in a process of its own, so that its memory is its own: `receiver ADDRESS FINGERPRINT SECONDS` receives,
//! tries again for so many seconds, and says in a line each how it ended, what it counted, and the most memory that it
//! ever had.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use nestcast_models::Package;
use nestcast_receiver::{Announcement, Config, Decoding, Shown, Totals, Viewer, receive};
use nestcast_tests::broadcasts::{decoding, pinned};

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Knows one model, takes others if they are sound, and counts.
struct Counter(Arc<Mutex<(u64, Totals)>>);

impl Counter {
    fn count(&self, change: impl FnOnce(&mut (u64, Totals))) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Viewer for Counter {
    fn handle_announcement(&mut self, announced: &Announcement) -> Result<Option<Decoding>, String> {
        let package = Package::builtin("photo").map_err(|error| error.to_string())?;
        Ok((announced.model == package.id()).then(|| decoding(&package)))
    }

    fn handle_package(&mut self, announced: &Announcement, package: Bytes) -> Result<Decoding, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        Package::unpack(&package, folder.path()).map_err(|error| error.to_string())?;
        let package = Package::open(folder.path()).map_err(|error| error.to_string())?;
        if package.id() != announced.model {
            return Err("another model came than was announced".to_owned());
        }
        Ok(decoding(&package))
    }

    fn show(&mut self, _shown: &Shown<'_>) -> Result<(), String> {
        self.count(|counts| counts.0 += 1);
        Ok(())
    }

    fn hold(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn report(&mut self, totals: &Totals) -> Result<(), String> {
        self.count(|counts| counts.1 = *totals);
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
    let counts = Arc::default();
    let ended = receive(config, Counter(Arc::clone(&counts)), std::future::pending()).await;
    let (pictures, totals) = *counts.lock().unwrap_or_else(PoisonError::into_inner);
    println!("{}", ended.map_or_else(|error| error.to_string(), |()| "the broadcast ended".to_owned()));
    println!("{pictures} {} {}", totals.corrupt, totals.reconnects);
    println!("{}", peak_memory());
}
