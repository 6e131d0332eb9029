//! A process's processor time and memory, as Linux counts them.

use std::time::Duration;

use anyhow::{Context, Result};

/// The unit in which Linux counts processor time (`getconf CLK_TCK`).
const TICKS_PER_SECOND: u64 = 100;

/// Processor time and memory of a process.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// In the kernel and outside, of all threads.
    pub cpu: Duration,
    /// Pages in memory.
    pub resident: u64,
}

impl Usage {
    /// Returns the usage of the process `id` so far.
    pub fn of(id: u32) -> Result<Self> {
        let read = |file: &str| {
            let path = format!("/proc/{id}/{file}");
            std::fs::read_to_string(&path).with_context(|| format!("{path} cannot be read: this needs Linux"))
        };
        let stat = read("stat")?;
        // The fields from the third on follow the name, which may contain anything (man 5 proc).
        let fields: Vec<&str> = stat.rsplit_once(')').context("a process has a name")?.1.split_whitespace().collect();
        let ticks = |field: usize| -> Result<u64> { Ok(fields.get(field - 3).context("a field is missing")?.parse()?) };
        let resident = read("statm")?.split_whitespace().nth(1).context("a field is missing")?.parse()?;
        Ok(Self { cpu: Duration::from_millis((ticks(14)? + ticks(15)?) * 1000 / TICKS_PER_SECOND), resident })
    }
}

/// Returns the bytes of a page.
pub const fn page_bytes() -> u64 {
    4096
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory() {
        let usage = Usage::of(std::process::id()).expect("it runs");
        assert!(usage.resident * page_bytes() > 1 << 20);
    }
}
