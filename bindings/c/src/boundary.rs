//! The border to C: panics, handles, and pointers to bytes and results.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, TryLockError};

use crate::status::{Fault, NestcastStatus, Result, argument, remember};

/// Runs a call; turns its error or panic into a status and keeps the message.
pub(crate) fn guard(call: impl FnOnce() -> Result<()>) -> NestcastStatus {
    // What a panic may leave half-done is behind a mutex, which is poisoned then: `exclusive` refuses it.
    let result = catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| Err(defect(&*panic)));
    match result {
        Ok(()) => NestcastStatus::Ok,
        Err(Fault { status, message }) => {
            remember(message);
            status
        }
    }
}

fn defect(panic: &(dyn Any + Send)) -> Fault {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    Fault { status: NestcastStatus::Panic, message: format!("a defect of nestcast: {text}") }
}

/// Locks a handle's content for one call.
pub(crate) fn exclusive<T>(shared: &Mutex<T>) -> Result<MutexGuard<'_, T>> {
    match shared.try_lock() {
        Ok(content) => Ok(content),
        Err(TryLockError::WouldBlock) => Err(argument("another thread uses this handle")),
        Err(TryLockError::Poisoned(_)) => {
            let message = "a call with this handle met a defect of nestcast: free it".to_owned();
            Err(Fault { status: NestcastStatus::Panic, message })
        }
    }
}

/// Borrows what a pointer of the caller refers to.
///
/// # Safety
/// `pointer` is null, or refers to an initialised `T` that nobody changes or frees before `'a` ends.
pub(crate) unsafe fn borrowed<'a, T>(pointer: *const T, name: &str) -> Result<&'a T> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(argument(format!("{name} is NULL or misaligned")));
    }
    // SAFETY: the pointer is neither null nor misaligned; the rest is the caller's promise.
    Ok(unsafe { &*pointer })
}

/// Borrows a model, a nullable handle.
///
/// # Safety
/// As [`borrowed`].
pub(crate) unsafe fn optional<'a, T>(pointer: *const T, name: &str) -> Result<Option<&'a T>> {
    // SAFETY: the caller's promise is the same.
    if pointer.is_null() { Ok(None) } else { unsafe { borrowed(pointer, name) }.map(Some) }
}

/// Borrows bytes of the caller. No bytes may have any pointer.
///
/// # Safety
/// If `length` is not 0, `bytes` is null, or refers to `length` bytes of one allocation that nobody changes or frees
/// before `'a` ends.
pub(crate) unsafe fn bytes<'a>(bytes: *const u8, length: usize) -> Result<&'a [u8]> {
    if length == 0 {
        return Ok(&[]);
    }
    if bytes.is_null() || isize::try_from(length).is_err() {
        return Err(argument("bytes is NULL, or length is too large"));
    }
    // SAFETY: not null, and at most isize::MAX bytes; bytes need no alignment. The rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(bytes, length) })
}

/// Where a call puts a result: a pointer of the caller that was checked.
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Checks the pointer.
    ///
    /// # Safety
    /// `pointer` is null, or nobody else uses its memory, which is valid for writes of a `T`, before the value is put.
    pub(crate) unsafe fn new(pointer: *mut T, name: &str) -> Result<Self> {
        if pointer.is_null() || !pointer.is_aligned() {
            return Err(argument(format!("{name} is NULL or misaligned")));
        }
        Ok(Self(pointer))
    }

    /// Writes the result. The memory may be uninitialised.
    pub(crate) fn put(self, value: T) {
        // SAFETY: neither null nor misaligned, by `new`; valid and nobody else's, by its caller's promise. All `T`s of
        // this crate are plain data, so overwriting one needs no drop.
        unsafe { self.0.write(value) }
    }
}

impl<T> Out<*mut T> {
    /// Writes a new handle, which `free` takes back.
    pub(crate) fn put_handle(self, content: T) {
        self.put(Box::into_raw(Box::new(content)));
    }
}

/// Frees a handle; null is none.
///
/// # Safety
/// `handle` is null, or comes from [`Out::put_handle`], was not freed before, and no call uses it.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    if handle.is_null() {
        return;
    }
    // SAFETY: `put_handle` made it by `Box::into_raw` with this type, and by the caller's promise this is the only use.
    let content = unsafe { Box::from_raw(handle) };
    // A panic of a destructor must not cross either; there is no status to return.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(content)));
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;
    use crate::status::nestcast_last_message;

    fn last_message() -> String {
        // SAFETY: it is a string that ends with 0, and this thread makes no other call meanwhile.
        unsafe { CStr::from_ptr(nestcast_last_message()) }.to_str().expect("text").to_owned()
    }

    #[test]
    fn a_panic_becomes_a_status() {
        std::panic::set_hook(Box::new(|_| {}));
        assert_eq!(guard(|| panic!("a test")), NestcastStatus::Panic);
        assert_eq!(last_message(), "a defect of nestcast: a test");
        let content = Mutex::new(0);
        let status = guard(|| {
            let _held = exclusive(&content)?;
            panic!("{}", 7)
        });
        assert_eq!((status, last_message().as_str()), (NestcastStatus::Panic, "a defect of nestcast: 7"));
        // What the panic left is of no more use.
        assert_eq!(guard(|| exclusive(&content).map(drop)), NestcastStatus::Panic);
        let _ = std::panic::take_hook();
    }

    #[test]
    fn a_second_thread_is_refused() {
        let content = Mutex::new(0);
        let _held = exclusive(&content).expect("it is free");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(guard(|| exclusive(&content).map(drop)), NestcastStatus::Argument);
                assert_eq!(last_message(), "invalid argument: another thread uses this handle");
            });
        });
    }

    #[test]
    fn every_thread_has_its_own_message() {
        assert_eq!(guard(|| Err(argument("one"))), NestcastStatus::Argument);
        std::thread::spawn(|| assert_eq!(last_message(), "")).join().expect("no panic");
        assert_eq!(guard(|| Ok(())), NestcastStatus::Ok);
        assert_eq!(last_message(), "invalid argument: one");
    }
}
