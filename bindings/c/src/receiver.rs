//! A receiver of broadcasts, which calls the caller back.

use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use nestcast_codec::{Bitrate, Codec, Model, ModelId};
use nestcast_receiver::{
    Address, Announcement, Concealed, Decoding, Latency, ReceiverConfig, Shown, Trust, Viewer, view,
};
use tokio::sync::oneshot;

use crate::boundary::{Out, borrowed, bytes, exclusive, free, guard};
use crate::model::count;
use crate::picture::NestcastPicture;
use crate::status::{Fault, NestcastStatus, Result, argument};

/// What to receive. Strings end with 0, are UTF-8, and need to stay only during nestcast_receiver_new.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct NestcastReceiverSettings {
    /// The sender's host and UDP port, and the broadcast there if it has a name: "example.org:4433/cam1".
    pub address: *const c_char,
    /// The SHA-256 of the sender's certificate, 64 hexadecimal digits; NULL if authorities certify it.
    pub fingerprint: *const c_char,
    /// A PEM file of authorities that certify the sender; NULL if there is a fingerprint.
    pub authorities: *const c_char,
    /// The token that the sender asks for, `token_length` bytes.
    pub token: *const u8,
    /// Bytes of the token; 0 for none.
    pub token_length: usize,
    /// The most bits a second to receive; 0 for no limit.
    pub max_bitrate: u64,
    /// Milliseconds by which pictures are delayed, at most 400: 0 shows them at once, and a negative number delays them by
    /// as little as shows them evenly.
    pub latency_ms: i32,
    /// Milliseconds without a usable frame for which the receiver connects again; 0 for one attempt.
    pub retry_ms: u32,
    /// Whether to wait for the first broadcast, and after each for the next one, however long that takes.
    pub wait: bool,
    /// Threads that decode, at least 1.
    pub threads: u32,
    /// The most bits of a sample in which video is shown, 8 to 16; 0 for 8. A video that has fewer is shown in its own.
    pub max_bits: u32,
}

/// A picture to show now. It and its samples are valid until the callback returns.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct NestcastShown {
    /// The frame's number; the same as before if more of a picture that stays has arrived.
    pub id: u64,
    /// When it was captured, in microseconds since 1970; 0 if it is concealed.
    pub captured: u64,
    /// Microseconds from capture until now; 0 if it is concealed.
    pub latency: u64,
    /// Bytes that arrived in time.
    pub bytes: usize,
    /// Bytes of the whole frame.
    pub full: u64,
    /// Whether it stands for a frame that is missing.
    pub concealed: bool,
    /// Its samples: a format of YCbCr for video, with the bits of a sample if they are more than 8, else grey or RGB.
    pub picture: NestcastPicture,
}

/// What a receiver calls, from threads of the library, one call after another: `show` any number of times, then `end` once.
/// No picture is shown while `show` runs, so it should be short. No exception may leave a callback.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct NestcastReceiverCallbacks {
    /// Passed to each call; the library does not use it.
    pub user: *mut c_void,
    /// Shows a picture. Return true to go on, and false to stop.
    pub show: Option<unsafe extern "C" fn(user: *mut c_void, shown: *const NestcastShown) -> bool>,
    /// Says that no further picture comes: NESTCAST_STATUS_OK at the end of the broadcast or after a stop, else why, with
    /// one line in `message`, which is valid until it returns. May be NULL.
    pub end: Option<unsafe extern "C" fn(user: *mut c_void, status: NestcastStatus, message: *const c_char)>,
}

/// Receives a broadcast on threads of its own.
pub struct NestcastReceiver {
    /// Its drop stops the reception. It is dropped before `running`, which waits for the end, and has a lock of its own, so
    /// that one thread stops what another waits for.
    stop: Mutex<Option<oneshot::Sender<()>>>,
    running: Mutex<Running>,
}

struct Running {
    id: u64,
    thread: Option<JoinHandle<Result<()>>>,
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// The receiver that calls back on this thread at the moment; 0 for none.
    static CALLS_BACK: Cell<u64> = const { Cell::new(0) };
}

impl Running {
    /// Whether a callback of this receiver makes this call: nothing may wait for it then.
    fn is_called_back(&self) -> bool {
        CALLS_BACK.get() == self.id
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_called_back()
            && let Some(thread) = self.thread.take()
        {
            // The callback has said how it ended.
            let _ = thread.join();
        }
    }
}

/// The caller's functions and its pointer, on their way to the threads that call them.
#[derive(Clone, Copy)]
struct Callbacks {
    functions: NestcastReceiverCallbacks,
    id: u64,
}

// SAFETY: the library never follows `user`. The contract of nestcast_receiver_new says that another thread calls the
// functions with it, so the caller made both for that.
unsafe impl Send for Callbacks {}

impl Callbacks {
    fn show(&self, shown: &NestcastShown) -> bool {
        let NestcastReceiverCallbacks { user, show, .. } = self.functions;
        CALLS_BACK.set(self.id);
        // SAFETY: the function is one for this `user`, by the contract of nestcast_receiver_new; `shown` and the samples
        // that it refers to live until the call returns.
        let goes_on = show.is_none_or(|show| unsafe { show(user, shown) });
        CALLS_BACK.set(0);
        goes_on
    }

    fn end(&self, status: NestcastStatus, message: &str) {
        let text = CString::new(message.replace('\0', " ")).unwrap_or_default();
        CALLS_BACK.set(self.id);
        if let Some(end) = self.functions.end {
            // SAFETY: as in `show`; the text ends with 0 and lives until the call returns.
            unsafe { end(self.functions.user, status, text.as_ptr()) }
        }
        CALLS_BACK.set(0);
    }
}

/// Why the viewer stops.
#[derive(Debug, Clone, Copy, thiserror::Error)]
enum Stopped {
    #[error("the sender's model {0} is not built into this library: update it")]
    Model(ModelId),
    #[error("the callback stopped")]
    Callback,
}

/// Passes pictures to the callback.
struct Calling {
    callbacks: Callbacks,
    threads: usize,
    max_bits: u8,
    /// Why it stopped, for the thread that runs it.
    stopped: Arc<OnceLock<Stopped>>,
}

impl Viewer for Calling {
    type Error = Stopped;

    fn handle_announcement(&mut self, announced: &Announcement) -> std::result::Result<Option<Decoding>, Stopped> {
        let decoding = if let Some(video) = announced.video {
            Decoding::video(announced, self.threads).map(|decoding| decoding.with_bits(video.bits.min(self.max_bits)))
        } else {
            (announced.model == Model::photo().id()).then(|| Decoding::new(Codec::photo().decoder()))
        };
        decoding.map(Some).ok_or_else(|| self.stop(Stopped::Model(announced.model)))
    }

    fn show(&mut self, shown: &Shown<'_>) -> std::result::Result<(), Stopped> {
        let &Shown { id, captured, bytes, full, picture, .. } = shown;
        let latency = u64::try_from(shown.latency.as_micros()).unwrap_or(u64::MAX);
        self.call(&NestcastShown {
            id,
            captured,
            latency,
            bytes,
            full,
            concealed: false,
            picture: NestcastPicture::lend(picture),
        })
    }

    fn conceal(&mut self, concealed: &Concealed<'_>) -> std::result::Result<(), Stopped> {
        let (id, picture) = (concealed.id, NestcastPicture::lend(concealed.picture));
        self.call(&NestcastShown { id, captured: 0, latency: 0, bytes: 0, full: 0, concealed: true, picture })
    }
}

impl Calling {
    fn call(&self, shown: &NestcastShown) -> std::result::Result<(), Stopped> {
        if self.callbacks.show(shown) { Ok(()) } else { Err(self.stop(Stopped::Callback)) }
    }

    fn stop(&self, why: Stopped) -> Stopped {
        *self.stopped.get_or_init(|| why)
    }
}

/// Reads a string of the caller.
///
/// # Safety
/// `text` is null, or refers to bytes that end with 0 and that nobody changes or frees before `'a` ends.
unsafe fn text<'a>(text: *const c_char, name: &str) -> Result<Option<&'a str>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: not null; the rest is the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|_| argument(format!("{name} is not UTF-8")))
}

/// Reads the settings.
///
/// # Safety
/// The strings are null or end with 0; `token` refers to `token_length` bytes.
unsafe fn config(given: &NestcastReceiverSettings) -> Result<(Address, ReceiverConfig)> {
    // SAFETY: this function's contract.
    let (address, fingerprint, authorities, token) = unsafe {
        (
            text(given.address, "address")?,
            text(given.fingerprint, "fingerprint")?,
            text(given.authorities, "authorities")?,
            bytes(given.token, given.token_length)?,
        )
    };
    let address = address.ok_or_else(|| argument("address is NULL"))?;
    let address: Address = address.parse().map_err(|error| argument(format!("{error}")))?;
    let trust = match (fingerprint, authorities) {
        (Some(digits), None) => {
            Trust::fingerprint(digits).ok_or_else(|| argument("a fingerprint has 64 hexadecimal digits"))?
        }
        (None, Some(file)) => Trust::Authorities(PathBuf::from(file)),
        _ => return Err(argument("give either a fingerprint or a file of authorities")),
    };
    let latency = match u64::try_from(given.latency_ms) {
        Err(_) => Latency::Smooth,
        Ok(0) => Latency::Min,
        Ok(milliseconds @ 1..=400) => Latency::Fixed(Duration::from_millis(milliseconds)),
        Ok(_) => return Err(argument("latency_ms is at most 400")),
    };
    let config = ReceiverConfig {
        name: address.host().to_owned(),
        broadcast: address.broadcast().clone(),
        host: Some(address.clone()),
        token: token.to_vec().into(),
        max_bitrate: (given.max_bitrate > 0).then(|| Bitrate::from_bits(given.max_bitrate)),
        retry: Duration::from_millis(given.retry_ms.into()),
        wait: given.wait,
        latency,
        // The thread looks the host up.
        ..ReceiverConfig::new(([0, 0, 0, 0], 0).into(), trust)
    };
    Ok((address, config))
}

/// Checks the most bits of a sample; 0 is 8.
fn max_bits(given: u32) -> Result<u8> {
    match u8::try_from(given) {
        Ok(0) => Ok(8),
        Ok(bits @ 8..=16) => Ok(bits),
        _ => Err(argument("max_bits is 8 to 16, or 0 for 8")),
    }
}

fn broke_off() -> Fault {
    Fault { status: NestcastStatus::Panic, message: "a defect of nestcast: the receiver broke off".to_owned() }
}

/// Receives until the end, and says how it ended.
fn receive(address: &Address, config: ReceiverConfig, calling: Calling, stopped: oneshot::Receiver<()>) -> Result<()> {
    let failed = |message: String| Fault { status: NestcastStatus::Session, message };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed(format!("the network cannot be used: {error}")))?;
    let found = address.look_up();
    let missing = || failed(format!("{address} cannot be found: check the host's name"));
    let (&first, others) = found.split_first().ok_or_else(missing)?;
    let config = ReceiverConfig { address: first, other_addresses: others.to_vec(), ..config };
    let why = Arc::clone(&calling.stopped);
    let outcome = runtime.block_on(view(config, calling, async { _ = stopped.await }));
    match (why.get(), outcome) {
        (Some(Stopped::Callback), _) | (None, Ok(())) => Ok(()),
        (Some(unknown @ Stopped::Model(_)), _) => {
            Err(Fault { status: NestcastStatus::Model, message: unknown.to_string() })
        }
        (None, Err(error)) => {
            let causes = std::iter::successors(std::error::Error::source(&error), |cause| cause.source());
            Err(failed(causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))))
        }
    }
}

/// Begins to receive. Looking up the host, connecting and decoding happen on a thread of the library, which makes the
/// calls; what fails there is said by `end`.
///
/// # Safety
/// `settings` refers to settings whose strings are NULL or end with 0; `callbacks` refers to functions that may be called
/// with their `user` from another thread until nestcast_receiver_free returns; `receiver` refers to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_receiver_new(
    settings: *const NestcastReceiverSettings,
    callbacks: *const NestcastReceiverCallbacks,
    receiver: *mut *mut NestcastReceiver,
) -> NestcastStatus {
    guard(|| {
        // SAFETY: this function's contract.
        let (out, given) = unsafe { (Out::new(receiver, "receiver")?, borrowed(settings, "settings")?) };
        // SAFETY: this function's contract.
        let (callbacks, (address, config)) = unsafe { (*borrowed(callbacks, "callbacks")?, config(given)?) };
        let (threads, max_bits) = (count(given.threads)?, max_bits(given.max_bits)?);
        if callbacks.show.is_none() {
            return Err(argument("show is NULL"));
        }
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let callbacks = Callbacks { functions: callbacks, id };
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name("nestcast-receive".to_owned()).spawn(move || {
            let calling = Calling { callbacks, threads, max_bits, stopped: Arc::default() };
            // What a panic leaves.
            let mut outcome = Err(broke_off());
            let status = guard(|| {
                outcome = receive(&address, config, calling, stopped);
                outcome.clone()
            });
            callbacks.end(status, outcome.as_ref().err().map_or("", |fault| &fault.message));
            outcome
        });
        let thread = thread.map_err(|error| Fault {
            status: NestcastStatus::Session,
            message: format!("a thread cannot be started: {error}"),
        })?;
        let running = Mutex::new(Running { id, thread: Some(thread) });
        out.put_handle(NestcastReceiver { stop: Mutex::new(Some(stop)), running });
        Ok(())
    })
}

/// Stops a receiver, and returns at once. Pictures that have arrived may still be shown, and then `end` is called. Any thread
/// may stop it, while another is in nestcast_receiver_wait too, and so may a callback. A second stop does nothing. A look-up
/// of the host's name that has begun cannot be interrupted.
///
/// # Safety
/// `receiver` is a receiver that is not freed during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_receiver_stop(receiver: *const NestcastReceiver) -> NestcastStatus {
    guard(|| {
        // SAFETY: this function's contract.
        let receiver = unsafe { borrowed(receiver, "receiver")? };
        let stop = receiver.stop.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(stop);
        Ok(())
    })
}

/// Waits until the reception is over and `end` has returned. Returns what `end` got; a second wait returns
/// NESTCAST_STATUS_OK. A look-up of the host's name that has begun cannot be interrupted. nestcast_receiver_stop ends the
/// wait from another thread.
///
/// # Safety
/// `receiver` is a receiver that is not freed during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_receiver_wait(receiver: *const NestcastReceiver) -> NestcastStatus {
    guard(|| {
        // SAFETY: this function's contract.
        let receiver = unsafe { borrowed(receiver, "receiver")? };
        let mut running = exclusive(&receiver.running)?;
        if running.is_called_back() {
            return Err(argument("a callback cannot wait for its own receiver"));
        }
        match running.thread.take().map(JoinHandle::join) {
            Some(Ok(outcome)) => outcome,
            Some(Err(_)) => Err(broke_off()),
            None => Ok(()),
        }
    })
}

/// Stops a receiver, and waits until its last callback has returned. A callback may free its own receiver: then nothing
/// waits, and `end` is still called. A look-up of the host's name that has begun cannot be interrupted: where the system
/// waits for a name server that does not answer, this waits too, as long as the system does, often for some seconds. An
/// address of digits needs no look-up.
///
/// # Safety
/// `receiver` is NULL, or was returned by nestcast_receiver_new and not freed before, and no call uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_receiver_free(receiver: *mut NestcastReceiver) {
    // SAFETY: this function's contract.
    unsafe { free(receiver) }
}
