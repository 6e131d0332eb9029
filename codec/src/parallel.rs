//! Spreads work over as many threads as the caller grants; with one, it starts no thread.

/// The most threads: more gain nothing and cost time.
const MAX_THREADS: usize = 256;

/// Calls `work` once for every item, in order. Uses up to `threads` threads, but no more than there are items or than
/// the system grants.
pub(crate) fn for_each<T: Send>(threads: usize, items: impl Iterator<Item = T> + Send, work: impl Fn(T) + Sync) {
    let threads = threads.min(items.size_hint().1.unwrap_or(MAX_THREADS)).min(MAX_THREADS);
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
            if std::thread::Builder::new().spawn_scoped(scope, drain).is_err() {
                break;
            }
        }
        drain();
    });
}
