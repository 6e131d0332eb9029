//! A broadcast as an iterator of frames.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use nestcast_codec::{Matrix, Picture, Range, Ycbcr};
use nestcast_models::Package;
use nestcast_receiver::{
    Address, Announcement, Concealed, Decoding, Latency, ReceiverConfig, Shown, Trust, Viewer, view,
};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use tokio::sync::oneshot;

use crate::errors::{Raised, Result, SessionError, argument, with_causes};
use crate::picture::{Pixels, Planar};
use crate::stored::positive;
use crate::stream::shape_of;

/// How often a call that waits lets Python handle signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(100);
/// The longest delay of a frame.
const MAX_LATENCY: Duration = Duration::from_millis(400);

/// A frame as it was shown.
struct Frame {
    id: u64,
    bytes: usize,
    full: u64,
    latency: Option<Duration>,
    picture: Picture,
}

#[derive(Default)]
struct Queue {
    frames: VecDeque<Frame>,
    /// Frames that were dropped since the last one was taken.
    dropped: u64,
    /// Set at the end, with what went wrong.
    end: Option<Option<String>>,
}

/// The frames between the player's thread and Python's.
#[derive(Default)]
struct Frames {
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Frames {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, error: Option<String>) {
        self.lock().end.get_or_insert(error);
        self.changed.notify_all();
    }
}

/// Keeps the newest frames.
struct Keeper {
    frames: Arc<Frames>,
    capacity: usize,
    threads: usize,
    /// Whether frames have the bits of the video, and not 8.
    as_sent: bool,
}

impl Keeper {
    fn keep(&self, frame: Frame) {
        let mut queue = self.frames.lock();
        if queue.frames.len() == self.capacity {
            queue.frames.pop_front();
            queue.dropped += 1;
        }
        queue.frames.push_back(frame);
        self.frames.changed.notify_all();
    }
}

/// The sender's model is not part of this package.
#[derive(Debug, thiserror::Error)]
#[error("the sender's model {0} is not one of this package")]
struct UnknownModel(nestcast_codec::ModelId);

impl Viewer for Keeper {
    type Error = UnknownModel;

    fn handle_announcement(&mut self, announced: &Announcement) -> std::result::Result<Option<Decoding>, UnknownModel> {
        let unknown = UnknownModel(announced.model);
        if let Some(video) = announced.video {
            let decoding = Decoding::video(announced, self.threads).ok_or(unknown)?;
            return Ok(Some(if self.as_sent { decoding.with_bits(video.bits) } else { decoding }));
        }
        let package = Package::built_in_with(announced.model).ok_or(unknown)?;
        Ok(Some(Decoding::new(nestcast_codec::Decoder::new(package.linear(self.threads)))))
    }

    fn show(&mut self, shown: &Shown<'_>) -> std::result::Result<(), UnknownModel> {
        let &Shown { id, bytes, full, latency, picture, .. } = shown;
        self.keep(Frame { id, bytes, full, latency: Some(latency), picture: picture.clone() });
        Ok(())
    }

    fn conceal(&mut self, concealed: &Concealed<'_>) -> std::result::Result<(), UnknownModel> {
        self.keep(Frame { id: concealed.id, bytes: 0, full: 0, latency: None, picture: concealed.picture.clone() });
        Ok(())
    }
}

/// Receives a broadcast on threads of its own, and keeps the newest frames for an iterator.
#[pyclass(frozen, module = "nestcast")]
pub(crate) struct Reception {
    frames: Arc<Frames>,
    running: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
}

#[pymethods]
impl Reception {
    #[new]
    #[pyo3(signature = (
        address, fingerprint, authorities, token, max_bitrate, latency, wait, retry, threads, capacity, as_sent
    ))]
    #[expect(clippy::too_many_arguments, reason = "each is an argument by name in Python")]
    fn new(
        py: Python<'_>,
        address: &str,
        fingerprint: Option<&str>,
        authorities: Option<std::path::PathBuf>,
        token: Vec<u8>,
        max_bitrate: Option<f64>,
        latency: Option<f64>,
        wait: bool,
        retry: f64,
        threads: usize,
        capacity: usize,
        as_sent: bool,
    ) -> Result<Self> {
        let address: Address = address.parse().map_err(|error| argument(format!("{error}")))?;
        let trust = match (fingerprint, authorities) {
            (Some(digits), None) => {
                Trust::fingerprint(digits).ok_or_else(|| argument("a fingerprint has 64 hexadecimal digits"))?
            }
            (None, Some(file)) => Trust::Authorities(file),
            _ => return Err(argument("give either a fingerprint or a file of authorities")),
        };
        let retry =
            Duration::try_from_secs_f64(retry).map_err(|_| argument("retry is a number of seconds from 0 on"))?;
        if threads == 0 {
            return Err(argument("at least one thread is needed"));
        }
        if capacity == 0 {
            return Err(argument("at least one kept frame is needed"));
        }
        let (max_bitrate, latency) = (max_bitrate.map(positive).transpose()?, delay(latency)?);
        let found = py.detach(|| address.look_up());
        let first = *found.first().ok_or_else(|| {
            Raised::from(SessionError::new_err(format!("{address} cannot be found: check the host's name")))
        })?;
        let config = ReceiverConfig {
            name: address.host().to_owned(),
            broadcast: address.broadcast().clone(),
            other_addresses: found[1..].to_vec(),
            host: Some(address),
            token: token.into(),
            max_bitrate,
            latency,
            wait,
            retry,
            ..ReceiverConfig::new(first, trust)
        };
        let frames = Arc::new(Frames::default());
        let keeper = Keeper { frames: Arc::clone(&frames), capacity, threads, as_sent };
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let ended = Arc::clone(&frames);
        let thread = std::thread::Builder::new().name("nestcast-receive".to_owned()).spawn(move || {
            // If the receiver panics, the iterator still ends.
            let end = EndOnDrop(ended);
            let outcome = runtime.block_on(view(config, keeper, async { _ = stopped.await }));
            end.0.end(outcome.err().map(|error| with_causes(&error)));
        })?;
        Ok(Self { frames, running: Mutex::new(Some((stop, thread))) })
    }

    /// Waits for the next frame; `None` at the end of the broadcast.
    fn next(&self, py: Python<'_>) -> Result<Option<ReceivedFrame>> {
        loop {
            let taken = py.detach(|| {
                let mut queue = self.frames.lock();
                if queue.frames.is_empty() && queue.end.is_none() {
                    let waited = self.frames.changed.wait_timeout(queue, SIGNAL_INTERVAL);
                    queue = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                let dropped = queue.dropped;
                match queue.frames.pop_front() {
                    Some(frame) => {
                        queue.dropped = 0;
                        Taken::Frame(frame, dropped)
                    }
                    None => queue.end.clone().map_or(Taken::Nothing, Taken::End),
                }
            });
            match taken {
                Taken::Frame(frame, dropped) => return Ok(Some(ReceivedFrame { frame, dropped })),
                Taken::End(None) => return Ok(None),
                Taken::End(Some(error)) => return Err(SessionError::new_err(error).into()),
                Taken::Nothing => py.check_signals()?,
            }
        }
    }

    /// Leaves the broadcast, and waits until that is done.
    fn close(&self, py: Python<'_>) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((stop, thread)) = running else { return };
        // If the broadcast is over, nobody listens.
        let _ = stop.send(());
        let _ = py.detach(|| thread.join());
    }
}

/// Reads the seconds by which frames are delayed; `None` delays them by as little as shows them evenly.
fn delay(seconds: Option<f64>) -> Result<Latency> {
    let Some(seconds) = seconds else { return Ok(Latency::Smooth) };
    let refused = || argument("latency is a number of seconds from 0 to 0.4");
    let delay = Duration::try_from_secs_f64(seconds).map_err(|_| refused())?;
    match delay {
        Duration::ZERO => Ok(Latency::Min),
        delay if delay <= MAX_LATENCY => Ok(Latency::Fixed(delay)),
        _ => Err(refused()),
    }
}

enum Taken {
    Frame(Frame, u64),
    End(Option<String>),
    Nothing,
}

struct EndOnDrop(Arc<Frames>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end(Some("the receiver stopped unexpectedly: please report this".to_owned()));
    }
}

/// A frame of a broadcast.
#[pyclass(frozen, module = "nestcast")]
pub(crate) struct ReceivedFrame {
    frame: Frame,
    #[pyo3(get)]
    dropped: u64,
}

impl ReceivedFrame {
    /// Returns what a video's samples mean, and their bits.
    const fn planar(&self) -> Option<(Ycbcr, u8)> {
        self.frame.picture.format().ycbcr420()
    }
}

#[pymethods]
impl ReceivedFrame {
    #[getter]
    const fn id(&self) -> u64 {
        self.frame.id
    }

    #[getter]
    const fn bytes(&self) -> usize {
        self.frame.bytes
    }

    #[getter]
    const fn full(&self) -> u64 {
        self.frame.full
    }

    #[getter]
    fn latency(&self) -> Option<f64> {
        self.frame.latency.map(|latency| latency.as_secs_f64())
    }

    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        shape_of(py, self.frame.picture.size(), self.frame.picture.channels().into())
    }

    #[getter]
    fn matrix(&self) -> Option<&'static str> {
        self.planar().map(|(colours, _)| if colours.matrix == Matrix::Bt601 { "601" } else { "709" })
    }

    #[getter]
    fn full_range(&self) -> bool {
        self.planar().is_none_or(|(colours, _)| colours.range == Range::Full)
    }

    #[getter]
    fn bits(&self) -> u8 {
        self.planar().map_or(8, |(_, bits)| bits)
    }

    /// Copies the picture into an array, or the planes of a video's frame into three arrays.
    fn copy_into(&self, out: &Bound<'_, PyAny>) -> Result<()> {
        let picture = &self.frame.picture;
        let py = out.py();
        if let Some((colours, bits)) = self.planar() {
            let advice = "receive with as_sent, if it has more";
            return Planar::of(out, picture.size(), colours, bits, advice)?.fill(py, picture.samples());
        }
        let pixels = Pixels::of(out)?;
        if pixels.size() != picture.size() || pixels.format() != picture.format() {
            return Err(argument("the array to write to has another shape or type than the frame"));
        }
        pixels.fill(py, picture.samples())
    }
}
