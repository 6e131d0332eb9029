//! A broadcast of frames that Python makes.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use nestcast_codec::{Format, FrameRate, Picture, Size, Ycbcr};
use nestcast_encode::{PictureFormat, Pictures, RenditionLimit, VideoEncoding};
use nestcast_sender::{Authorizer, Broadcast as Sender, Config, Identity, LiveSource, Monitor, SharedToken};
use pyo3::prelude::*;
use tokio::sync::oneshot;

use crate::errors::{Result, SessionError, argument, with_causes};
use crate::picture::{Planar, colours, size};

/// How often a call that waits lets Python handle signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Default)]
struct State {
    next: Option<Picture>,
    /// No further frames come.
    closed: bool,
    /// The broadcast is over, with what went wrong.
    end: Option<Option<String>>,
}

/// The one frame between Python's thread and the encoder's.
#[derive(Default)]
struct Slot {
    state: Mutex<State>,
    changed: Condvar,
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next frame; `None` if no further comes.
    fn take(&self) -> Option<Picture> {
        let mut state = self.lock();
        loop {
            if let Some(picture) = state.next.take() {
                self.changed.notify_all();
                return Some(picture);
            }
            if state.closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Offers a frame for a while; gives it back if the encoder did not take the one before. The error is what ended
    /// the broadcast.
    fn offer(&self, picture: Picture) -> std::result::Result<Option<Picture>, String> {
        let over = |end: &Option<Option<String>>| {
            let why = |end: &Option<String>| end.clone().unwrap_or_else(|| "the broadcast is over".to_owned());
            end.as_ref().map(why)
        };
        let mut state = self.lock();
        if state.next.is_some() && state.end.is_none() {
            state = self.changed.wait_timeout(state, SIGNAL_INTERVAL).unwrap_or_else(PoisonError::into_inner).0;
        }
        if let Some(error) = over(&state.end) {
            return Err(error);
        }
        if state.closed {
            return Err("the broadcast is closed".to_owned());
        }
        if state.next.is_some() {
            return Ok(Some(picture));
        }
        state.next = Some(picture);
        self.changed.notify_all();
        Ok(None)
    }

    fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }
}

/// Broadcasts frames, encoded once for all receivers, on threads of its own.
#[pyclass(frozen, module = "nestcast")]
pub(crate) struct Broadcast {
    slot: Arc<Slot>,
    size: Size,
    colours: Ycbcr,
    monitor: Monitor,
    #[pyo3(get)]
    fingerprint: String,
    #[pyo3(get)]
    address: String,
    running: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
}

#[pymethods]
impl Broadcast {
    #[new]
    #[pyo3(signature = (width, height, rate, listen, certificate, token, threads, matrix, full_range))]
    #[expect(clippy::too_many_arguments, reason = "each is an argument by name in Python")]
    fn new(
        py: Python<'_>,
        width: usize,
        height: usize,
        rate: (u32, u32),
        listen: &str,
        certificate: Option<(PathBuf, PathBuf)>,
        token: Option<Vec<u8>>,
        threads: usize,
        matrix: Option<&str>,
        full_range: bool,
    ) -> Result<Self> {
        let size = size(width, height)?;
        let colours = colours(size, matrix, full_range)?;
        let rate = FrameRate::new(rate.0, rate.1).map_err(|error| argument(format!("{error}")))?;
        if threads == 0 {
            return Err(argument("at least one thread is needed"));
        }
        let listen = listen.parse().map_err(|_| argument("give an IP address and a port, as in 0.0.0.0:4433"))?;
        let failed = |error: &dyn std::error::Error| SessionError::new_err(with_causes(error));
        let identity = match certificate {
            Some((chain, key)) => Identity::from_pem(&chain, &key),
            None => Identity::generate(),
        }
        .map_err(|error| failed(&error))?;
        let fingerprint = identity.fingerprint().to_string();
        let slot = Arc::new(Slot::default());
        let pictures = Arc::clone(&slot);
        let format = PictureFormat::new(size, Format::Ycbcr420(colours), rate);
        let pictures = Pictures::from_fn(format, move |_| Ok(pictures.take()));
        let encoding = VideoEncoding::new(pictures.format(), threads, RenditionLimit::AsNeeded);
        let encoding = encoding.map_err(|error| argument(error.to_string()))?;
        let token = token.map(|token| Arc::new(SharedToken(token.into())) as Arc<dyn Authorizer>);
        let authorizers = token.into_iter().collect();
        let config = Config { authorizers, ..Config::new(listen, identity) };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let _entered = runtime.enter();
        let sender = py.detach(|| Sender::listen(config, LiveSource::new(pictures, encoding)));
        let sender = sender.map_err(|error| failed(&error))?;
        let address = sender.address().map(|address| address.to_string()).unwrap_or_default();
        let monitor = sender.monitor();
        drop(_entered);
        let (stop, stopped) = oneshot::channel();
        let ended = Arc::clone(&slot);
        let thread = std::thread::Builder::new().name("nestcast-send".to_owned()).spawn(move || {
            let end = EndOnDrop(ended);
            let outcome = runtime.block_on(sender.run(async { _ = stopped.await }));
            end.0.lock().end = Some(outcome.err().map(|error| with_causes(&error)));
            // The encoder's thread may wait for a frame.
            end.0.close();
            runtime.shutdown_background();
        })?;
        Ok(Self { slot, size, colours, monitor, fingerprint, address, running: Mutex::new(Some((stop, thread))) })
    }

    /// Hands over the next frame. Waits until the encoder has taken the one before, which it does at the broadcast's
    /// frame rate.
    fn write(&self, frame: &Bound<'_, PyAny>) -> Result<()> {
        let py = frame.py();
        let mut picture = Planar::of(frame, self.size, self.colours)?.to_picture(py)?;
        loop {
            match py.detach(|| self.slot.offer(picture)) {
                Ok(None) => return Ok(()),
                Ok(Some(again)) => picture = again,
                Err(error) => return Err(SessionError::new_err(error).into()),
            }
            py.check_signals()?;
        }
    }

    /// The number of receivers at the moment.
    #[getter]
    fn receivers(&self) -> usize {
        self.monitor.read().receivers.len()
    }

    /// The number of frames that were encoded.
    #[getter]
    fn frames(&self) -> u64 {
        self.monitor.read().frames
    }

    /// Ends the broadcast after the last frame, or at once, and waits until that is done.
    fn close(&self, py: Python<'_>, at_once: bool) {
        self.slot.close();
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((stop, thread)) = running else { return };
        if at_once {
            // If the broadcast is over, nobody listens.
            let _ = stop.send(());
            let _ = py.detach(|| thread.join());
        } else {
            let _ = py.detach(|| thread.join());
            drop(stop);
        }
    }
}

impl Drop for Broadcast {
    fn drop(&mut self) {
        // The threads end by themselves.
        self.slot.close();
    }
}

struct EndOnDrop(Arc<Slot>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        let unexpected = || Some("the sender stopped unexpectedly: please report this".to_owned());
        self.0.lock().end.get_or_insert_with(unexpected);
        self.0.close();
    }
}
