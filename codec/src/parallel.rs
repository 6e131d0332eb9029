//! Work spread over as many threads as the caller grants; with one, none is started.

/// Calls `work` once for every item, on up to `threads` threads. Items are taken in order.
pub(crate) fn for_each<T: Send>(threads: usize, items: impl Iterator<Item = T> + Send, work: impl Fn(T) + Sync) {
    if threads <= 1 {
        return items.for_each(work);
    }
    let queue = std::sync::Mutex::new(items);
    let next = || queue.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
    let drain = || {
        while let Some(item) = next() {
            work(item);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(drain);
        }
        drain();
    });
}
