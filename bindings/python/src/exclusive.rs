//! What one thread at a time may use.

use std::sync::{Mutex, MutexGuard, TryLockError};

use crate::errors::{Result, argument};

/// Locks what one call at a time may use.
pub(crate) fn exclusive<'a, T>(shared: &'a Mutex<T>, what: &str) -> Result<MutexGuard<'a, T>> {
    match shared.try_lock() {
        Ok(guard) => Ok(guard),
        Err(TryLockError::Poisoned(broken)) => Ok(broken.into_inner()),
        Err(TryLockError::WouldBlock) => {
            Err(argument(format!("another thread uses this {what}: each thread needs its own")))
        }
    }
}
