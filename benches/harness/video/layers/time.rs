//! The processor time of encoders, here and in programs that were run: other work on the machine affects it little.

use anyhow::Result;

/// The unit in which Linux counts processor time (`getconf CLK_TCK`).
const TICKS_PER_SECOND: f64 = 100.0;
/// The fields of the time in this process and in its children, in the kernel and outside (`man 5 proc`, from 1).
const TIME_FIELDS: std::ops::RangeInclusive<usize> = 14..=17;
/// The field after the program's name, which may contain anything.
const AFTER_NAME: usize = 3;

/// Runs `work`; returns its result, and the seconds of all threads and finished programs. 0 where the system is not
/// Linux.
pub(super) fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    let start = now();
    let done = work()?;
    Ok((done, now() - start))
}

fn now() -> f64 {
    std::fs::read_to_string("/proc/self/stat").ok().and_then(|stat| seconds(&stat)).unwrap_or(0.0)
}

fn seconds(stat: &str) -> Option<f64> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: Option<u64> = TIME_FIELDS.map(|field| fields.get(field - AFTER_NAME)?.parse::<u64>().ok()).sum();
    Some(ticks? as f64 / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_this_process_and_its_children_are_added() {
        let stat = "7 (a) b) R 1 7 7 0 -1 4194304 104 0 0 0 150 25 300 5 20 0 1 0";
        assert_eq!(seconds(stat), Some(4.8));
        assert_eq!(seconds("7 (a) R 1"), None);
    }
}
