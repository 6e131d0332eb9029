//! A broadcast of frames that Python makes.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nestcast_codec::{Format, FrameRate, Picture, Size, Ycbcr};
use nestcast_encode::{Offered, PictureFormat, PictureSlot, RenditionLimit, StreamPicture, VideoEncoding};
use nestcast_sender::{Authorizer, BrowserPage, Identity, LiveSource, Monitor, PageFile, SenderConfig, SharedToken};
use nestcast_web::PAGE_FILES;
use pyo3::prelude::*;
use tokio::sync::oneshot;

use crate::errors::{Result, SessionError, argument, with_causes};
use crate::picture::{Planar, STATE_BITS, colours, depth, size};
use crate::stored::positive;

/// How often a call that waits lets Python handle signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(100);
/// How long a source that breaks off waits at most until the sender knows, because the frames before are due first; and
/// how often it looks.
const BREAK_OFF_TIMEOUT: Duration = Duration::from_secs(3);
const BREAK_OFF_INTERVAL: Duration = Duration::from_millis(5);

/// Broadcasts frames, encoded once for all receivers, on threads of its own.
#[pyclass(frozen, module = "nestcast")]
pub(crate) struct Broadcast {
    slot: PictureSlot,
    outcome: Outcome,
    size: Size,
    colours: Ycbcr,
    bits: u8,
    monitor: Monitor,
    #[pyo3(get)]
    fingerprint: String,
    #[pyo3(get)]
    address: String,
    page: Option<BrowserPage>,
    running: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
}

#[pymethods]
impl Broadcast {
    #[new]
    #[pyo3(signature = (width, height, rate, listen, certificate, token, web, max_bitrate, threads, matrix, full_range, bits))]
    #[expect(clippy::too_many_arguments, reason = "each is an argument by name in Python")]
    fn new(
        py: Python<'_>,
        width: usize,
        height: usize,
        rate: (u32, u32),
        listen: &str,
        certificate: Option<(PathBuf, PathBuf)>,
        token: Option<Vec<u8>>,
        web: Option<&str>,
        max_bitrate: Option<f64>,
        threads: usize,
        matrix: Option<&str>,
        full_range: bool,
        bits: u64,
    ) -> Result<Self> {
        let size = size(width, height)?;
        let (colours, bits) = (colours(size, matrix, full_range)?, depth(bits)?);
        let rate = FrameRate::new(rate.0, rate.1).map_err(|error| argument(format!("{error}")))?;
        if threads == 0 {
            return Err(argument("at least one thread is needed"));
        }
        let place = |text: &str| {
            text.parse::<SocketAddr>().map_err(|_| argument("give an IP address and a port, as in 0.0.0.0:4433"))
        };
        let (listen, web) = (place(listen)?, web.map(place).transpose()?);
        let failed = |error: &dyn std::error::Error| SessionError::new_err(with_causes(error));
        let is_certified = certificate.is_some();
        let identity = match certificate {
            Some((chain, key)) => Identity::from_pem(&chain, &key),
            None => Identity::generate(),
        }
        .map_err(|error| failed(&error))?;
        let fingerprint = identity.fingerprint().to_string();
        let (slot, pictures) = PictureSlot::open(PictureFormat::new(size, Format::planar(colours, bits), rate));
        let outcome = Outcome::default();
        let encoding = VideoEncoding::new(pictures.format(), threads, RenditionLimit::AsNeeded);
        let encoding = encoding.map_err(|error| argument(error.to_string()))?;
        let token = token.map(|token| Arc::new(SharedToken(token.into())) as Arc<dyn Authorizer>);
        let authorizers = token.into_iter().collect();
        let max_bitrate = max_bitrate.map(positive).transpose()?;
        let config = SenderConfig { authorizers, max_bitrate, ..SenderConfig::new(listen, identity) };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let source = LiveSource::new(pictures, encoding);
        let viewer = PAGE_FILES.iter().map(|file| PageFile::from_static(file.name, file.media_type, file.bytes));
        let listening = async {
            let Some(web) = web else {
                return nestcast_sender::Broadcast::listen(config, source).map(|sender| (sender, None));
            };
            let listening = BrowserPage::listen(config, source, web, is_certified, viewer.collect());
            listening.await.map(|(sender, page)| (sender, Some(page)))
        };
        let (sender, page) = py.detach(|| runtime.block_on(listening)).map_err(|error| failed(&error))?;
        let address = sender.address().map(|address| address.to_string()).unwrap_or_default();
        let monitor = sender.monitor();
        let (stop, stopped) = oneshot::channel();
        let end = EndOnDrop { slot: slot.clone(), outcome: Arc::clone(&outcome) };
        let thread = std::thread::Builder::new().name("nestcast-send".to_owned()).spawn(move || {
            let outcome = runtime.block_on(sender.run(async { _ = stopped.await }));
            end.outcome.get_or_init(|| outcome.err().map(|error| with_causes(&error)));
            drop(end);
            runtime.shutdown_background();
        })?;
        Ok(Self {
            slot,
            outcome,
            size,
            colours,
            bits,
            monitor,
            fingerprint,
            address,
            page,
            running: Mutex::new(Some((stop, thread))),
        })
    }

    /// Hands over the next frame. Waits until the encoder has taken the one before, which it does at the broadcast's
    /// frame rate.
    fn write(&self, frame: &Bound<'_, PyAny>) -> Result<()> {
        let py = frame.py();
        let planes = Planar::of(frame, self.size, self.colours, self.bits, STATE_BITS)?;
        let mut copy = self.slot.spent().unwrap_or_else(|| Picture::zero(self.size, planes.format()));
        planes.copy_into(py, &mut copy)?;
        let mut picture = StreamPicture::from(copy);
        loop {
            match py.detach(|| self.slot.offer(picture, SIGNAL_INTERVAL)) {
                Offered::Accepted | Offered::Replaced => return Ok(()),
                Offered::Refused(again) => picture = again,
                Offered::Ended => return Err(SessionError::new_err(self.ending(py)).into()),
            }
            py.check_signals()?;
        }
    }

    /// The link that opens the viewer in a browser.
    #[getter]
    fn link(&self) -> Option<String> {
        self.page.as_ref()?.link()
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

    /// Says that the source broke off after the last frame, so that receivers learn it, and waits until the sender knows,
    /// but not for long: below a frame in two seconds, receivers may learn of an end alone. `close` is next.
    fn break_off(&self, py: Python<'_>) -> Result<()> {
        if self.outcome.set(Some("the broadcast is over: its source broke off".to_owned())).is_err() {
            return Ok(());
        }
        let ends = Instant::now() + BREAK_OFF_TIMEOUT;
        // A picture of another format breaks the pictures off.
        let other = Picture::zero(size(1, 1)?, Format::Grey);
        if let Offered::Refused(other) = py.detach(|| self.slot.offer(other, BREAK_OFF_TIMEOUT / 2)) {
            self.slot.replace(other);
        }
        self.slot.close();
        while self.monitor.read().source_failures == 0 && Instant::now() < ends {
            py.detach(|| std::thread::sleep(BREAK_OFF_INTERVAL));
        }
        Ok(())
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

impl Broadcast {
    /// Returns why no further frame is sent.
    fn ending(&self, py: Python<'_>) -> String {
        let is_closed = self.running.lock().unwrap_or_else(PoisonError::into_inner).is_none();
        // The encoder may be gone before the sender has said why.
        match if is_closed { self.outcome.get() } else { Some(py.detach(|| self.outcome.wait())) } {
            Some(Some(why)) => why.clone(),
            Some(None) => "the broadcast is over".to_owned(),
            None => "the broadcast is closed".to_owned(),
        }
    }
}

impl Drop for Broadcast {
    fn drop(&mut self) {
        // The threads end by themselves.
        self.slot.close();
    }
}

/// Why a broadcast is over, from its end on: `None` if nothing went wrong.
type Outcome = Arc<OnceLock<Option<String>>>;

/// Ends the slot even if the sender panics. Python's thread and the encoder's may wait for it.
struct EndOnDrop {
    slot: PictureSlot,
    outcome: Outcome,
}

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.outcome.get_or_init(|| Some("the sender stopped unexpectedly: please report this".to_owned()));
        self.slot.end();
    }
}
