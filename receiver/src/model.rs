//! The model that was asked for: one stream may bring it, and none may take for ever.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use nestcast_proto::{Bitrate, ModelHeader, PackageHash};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::error::Error;
use crate::transport::Incoming;

/// How long nothing may come of it.
const FETCH_STALL: Duration = Duration::from_secs(10);
/// How long all of it may take: so long, and what it takes at this rate.
const MIN_FETCH_TIME: Duration = Duration::from_secs(30);
const MIN_FETCH_BYTES_PER_SECOND: u64 = 8 * 1024;

const LATE: Error = Error::Late("its model did not come");

/// A request for a model.
#[derive(Debug)]
pub(crate) struct Request {
    package: PackageHash,
    /// Told when the stream that brings it begins.
    begun: Mutex<Option<oneshot::Sender<()>>>,
    fulfilled: AtomicBool,
}

impl Request {
    /// With what is told when the model begins to come.
    pub(crate) fn new(package: PackageHash) -> (Self, oneshot::Receiver<()>) {
        let (begun, begins) = oneshot::channel();
        (Self { package, begun: Mutex::new(Some(begun)), fulfilled: AtomicBool::new(false) }, begins)
    }

    /// Whether the model is not there yet, so that no frame can be shown.
    pub(crate) fn is_open(&self) -> bool {
        !self.fulfilled.load(Ordering::Relaxed)
    }

    /// The sink has the model.
    pub(crate) fn fulfil(&self) {
        self.fulfilled.store(true, Ordering::Relaxed);
    }

    /// Whether a stream may bring this model: once.
    pub(crate) fn begin(&self, header: &ModelHeader) -> bool {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever waited for it is told, or has gone with the connection.
        header.package == self.package && begun.take().is_some_and(|begun| begun.send(()).is_ok())
    }
}

/// Fails if the model does not begin to come.
pub(crate) async fn expect(begins: oneshot::Receiver<()>) -> Result<(), Error> {
    timeout(FETCH_STALL, begins).await.map_or(Err(LATE), |_| Ok(()))
}

/// Reads a package, of which `first` has come. A sender keeps to the receiver's `cap`.
pub(crate) async fn read(
    header: &ModelHeader,
    first: Bytes,
    stream: &mut impl Incoming,
    cap: Option<Bitrate>,
) -> Result<Bytes, Error> {
    let half = cap.map_or(u64::MAX, |cap| cap.bits() / 16);
    let rate = half.clamp(1, MIN_FETCH_BYTES_PER_SECOND);
    let whole = MIN_FETCH_TIME + Duration::from_secs(header.length / rate);
    timeout(whole, collect(header.length, first, stream)).await.unwrap_or(Err(LATE))
}

async fn collect(length: u64, first: Bytes, stream: &mut impl Incoming) -> Result<Bytes, Error> {
    let length = usize::try_from(length).map_err(|_| Error::violation("a model package is too long"))?;
    // A head announces no more than a package may have, and one at a time is read.
    let mut package = BytesMut::with_capacity(length);
    let mut next = Some(first);
    while let Some(bytes) = next {
        if bytes.len() > length - package.len() {
            return Err(Error::violation("a model package is longer than announced"));
        }
        package.extend_from_slice(&bytes);
        next = timeout(FETCH_STALL, stream.read()).await.unwrap_or(Err(LATE))?;
    }
    if package.len() < length {
        return Err(Error::violation("a model package is shorter than announced"));
    }
    Ok(package.freeze())
}
