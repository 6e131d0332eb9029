//! What the tests share: a slow decoder written only from the specification, computed pictures and clips, vectors, a
//! network in virtual time, broadcasts over real networks, and peers that break the rules.

pub mod arrows;
pub mod broadcasts;
pub mod browser;
pub mod clips;
pub mod hostile_receiver;
pub mod hostile_sender;
pub mod hostile_video;
pub mod later_version;
pub mod live_page;
#[cfg(target_os = "linux")]
pub mod netns_links;
pub mod network;
pub mod page;
pub mod pictures;
pub mod recipes;
pub mod still_frames;
pub mod stored_video;
pub mod tcp_delay;
mod tls;
pub mod vectors;
pub mod video_frames;
pub mod video_vectors;
pub mod web_receiver;

use nestcast_codec::Picture;

/// Compiles and runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

pub use nestcast_reference as reference;
pub use nestcast_reference::probe;

/// Returns the mean squared error between the samples of two pictures.
///
/// # Panics
/// If they differ in size.
pub fn mse(a: &Picture, b: &Picture) -> f64 {
    assert_eq!((a.size(), a.channels()), (b.size(), b.channels()), "pictures of one shape");
    let square = |(&a, &b): (&u8, &u8)| u64::from(a.abs_diff(b)).pow(2);
    let sum: u64 = a.samples().iter().zip(b.samples()).map(square).sum();
    sum as f64 / a.samples().len() as f64
}

/// Returns the largest difference between two samples.
pub fn furthest(a: &[u8], b: &[u8]) -> u8 {
    assert_eq!(a.len(), b.len(), "as many samples");
    a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0)
}

/// Returns the most memory that this process ever used, in kB; zero where the system does not report it.
#[must_use]
pub fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}
