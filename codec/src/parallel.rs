//! Spreads work over as many threads as the caller grants. They are started once, sleep while there is no work, and end
//! with their owner.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use self::pool::Pool;
use crate::observer::{Moment, Observer, Stage};

/// The most threads: more gain nothing and cost time.
const MAX_THREADS: usize = 256;

/// Threads that work at the same time: the caller's, and others that start with the first work for more than one.
/// Clones share them; the last one ends them.
#[derive(Clone)]
pub struct Threads {
    count: usize,
    shared: Arc<Shared>,
}

/// The part of a handle that all clones share.
struct Shared {
    /// The number of threads with which the pool starts.
    count: usize,
    /// The other threads; `None` if the system grants none.
    pool: OnceLock<Option<Pool>>,
    observer: OnceLock<Arc<dyn Observer>>,
}

impl std::fmt::Debug for Threads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Threads").field("count", &self.count).finish_non_exhaustive()
    }
}

impl Threads {
    /// Returns a handle of up to `count` threads, at least one; it starts none yet.
    #[must_use]
    pub fn new(count: usize) -> Self {
        let count = count.clamp(1, MAX_THREADS);
        Self { count, shared: Arc::new(Shared { count, pool: OnceLock::new(), observer: OnceLock::new() }) }
    }

    /// Returns the number of threads, the caller's included.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Returns a handle of the same threads that uses at most `count` of them.
    pub(crate) fn at_most(&self, count: usize) -> Self {
        Self { count: self.count.min(count).max(1), ..self.clone() }
    }

    /// Shows an observer all work of these threads from now on; does nothing if there is one already.
    pub(crate) fn observe(&self, observer: Arc<dyn Observer>) {
        let _ = self.shared.observer.set(observer);
    }

    /// Tells the observer, if there is one, that a stage ends.
    pub(crate) fn end(&self, stage: Stage) {
        self.note(Moment::Stage(stage));
    }

    /// Tells the observer, if there is one, of a moment.
    pub(crate) fn note(&self, moment: Moment) {
        if let Some(observer) = self.shared.observer.get() {
            observer.handle(moment);
        }
    }

    fn is_observed(&self) -> bool {
        self.shared.observer.get().is_some()
    }

    fn pool(&self) -> Option<&Pool> {
        self.shared.pool.get_or_init(|| Pool::start(self.shared.count)).as_ref()
    }
}

/// Calls `work` once for every item. The caller takes items in order, and so does each other thread as soon as it is
/// awake. The caller waits for items that another thread has begun, and for no thread that sleeps.
pub(crate) fn for_each<T: Send>(threads: &Threads, items: impl Iterator<Item = T> + Send, work: impl Fn(T) + Sync) {
    if threads.is_observed() {
        threads.note(Moment::Fork);
        for (number, item) in items.enumerate() {
            work(item);
            threads.note(Moment::Item(number));
        }
        return threads.note(Moment::Join);
    }
    let helpers = threads.count().min(items.size_hint().1.unwrap_or(MAX_THREADS)).saturating_sub(1);
    let pool = if helpers > 0 { threads.pool() } else { None };
    let Some(pool) = pool else { return items.for_each(work) };
    let queue = Mutex::new(items);
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let drain = || {
        while let Some(item) = next() {
            work(item);
        }
    };
    // The pool's scopes must not be left by a panic while other threads work in them.
    let panicked = Mutex::new(None);
    pool.join(helpers, &|| {
        if let Err(panic) = panic::catch_unwind(AssertUnwindSafe(drain)) {
            panicked.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
        }
    });
    if let Some(panic) = panicked.into_inner().unwrap_or_else(PoisonError::into_inner) {
        panic::resume_unwind(panic);
    }
}

#[cfg(not(target_family = "wasm"))]
mod pool {
    use std::num::NonZero;
    use std::time::Duration;

    use chili::{Config, Scope, ThreadPool};

    /// The crate's timer shares more work at this interval, for which [`Pool::join`] has no use.
    const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(10);

    /// Threads that sleep until there is work.
    #[derive(Debug)]
    pub(super) struct Pool(ThreadPool);

    impl Pool {
        /// Starts one thread fewer than `count`; `None` if the system starts no thread.
        pub(super) fn start(count: usize) -> Option<Self> {
            // The crate takes for granted that threads start.
            std::thread::Builder::new().spawn(|| ()).ok()?.join().ok()?;
            let config = Config { thread_count: NonZero::new(count), heartbeat_interval: HEARTBEAT_INTERVAL };
            Some(Self(ThreadPool::with_config(config)))
        }

        /// Calls `work` on this thread, and on up to `helpers` others that wake before it ends here. Waits for those
        /// that have begun it. `work` must not panic.
        pub(super) fn join(&self, helpers: usize, work: &(dyn Fn() + Sync)) {
            if helpers == 0 {
                return work();
            }
            // A new scope shares one piece of work at once, with the first thread that is free.
            self.0.scope().join_with_heartbeat_every::<1, _, _, _, _>(
                |_| work(),
                |scope| {
                    share(scope);
                    self.join(helpers - 1, work);
                },
            );
        }
    }

    /// Offers the work that waits in a scope to the other threads.
    fn share(scope: &mut Scope<'_>) {
        scope.join_with_heartbeat_every::<1, _, _, _, _>(|_| (), |_| ());
    }
}

/// There are no other threads.
#[cfg(target_family = "wasm")]
mod pool {
    #[derive(Debug)]
    pub(super) enum Pool {}

    impl Pool {
        pub(super) const fn start(_: usize) -> Option<Self> {
            None
        }

        pub(super) const fn join(&self, _: usize, _: &(dyn Fn() + Sync)) {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Condvar;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_item_is_worked_on_once_by_any_number_of_threads() {
        for count in [1, 2, 3, 8, 300] {
            let threads = Threads::new(count);
            for items in [0, 1, 2, 100] {
                let mut done = vec![0; items];
                for_each(&threads, done.iter_mut(), |done| *done += 1);
                assert!(done.iter().all(|done| *done == 1), "{count} threads, {items} items");
            }
        }
    }

    /// Each of two items waits for the other a while, which they meet on two threads alone.
    #[test]
    fn other_threads_help() {
        let threads = Threads::new(2);
        let meet = || {
            let (begun, both) = (Mutex::new(0), Condvar::new());
            let met = AtomicUsize::new(0);
            for_each(&threads, 0..2, |_| {
                let mut begun = begun.lock().expect("nothing panicked");
                *begun += 1;
                both.notify_all();
                let wait = both.wait_timeout_while(begun, Duration::from_millis(200), |begun| *begun < 2);
                met.fetch_add(usize::from(!wait.expect("nothing panicked").1.timed_out()), Ordering::Relaxed);
            });
            met.into_inner() == 2
        };
        assert!((0..50).any(|_| meet()), "no other thread took an item in 50 turns");
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_threads_work_on() {
        let threads = Threads::new(3);
        let work = || for_each(&threads, 0..20, |item| assert!(item != 7, "item seven"));
        let panic = panic::catch_unwind(AssertUnwindSafe(work)).expect_err("it panicked");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"item seven"));
        let sum = AtomicUsize::new(0);
        for_each(&threads, 0..20, |item| {
            sum.fetch_add(item, Ordering::Relaxed);
        });
        assert_eq!(sum.into_inner(), 190);
    }
}
