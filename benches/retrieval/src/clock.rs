//! The processor time of this thread; other work on the machine affects it only through the caches.

/// Runs `work`; returns its result, and microseconds.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = now();
    let done = work();
    (done, now() - start)
}

/// Returns the microseconds of this thread so far.
#[cfg(unix)]
fn now() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// Returns the microseconds since the first call, where the system does not count threads' times.
#[cfg(not(unix))]
fn now() -> f64 {
    static PROCESS_START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    PROCESS_START.elapsed().as_secs_f64() * 1e6
}
