//! A bound on the memory that a piece of work holds at once.

/// Does `work`, and panics if this thread held more than `most` bytes for it at any moment.
pub(crate) fn within<R>(most: usize, what: &str, work: impl FnOnce() -> R) -> R {
    let mut result = None;
    let held = allocation_counter::measure(|| result = Some(work())).bytes_max;
    assert!(held <= most as u64, "{what}: {held} bytes were held at once, over the limit of {most}");
    result.expect("the work was done")
}
