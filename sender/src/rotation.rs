//! The certificate that browsers get, replaced before it expires while the broadcast runs.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::watch;

use crate::config::Browsers;
use crate::error::Error;
use crate::identity::{Fingerprint, Identity};
use crate::quic::certificates::Certificates;

/// The time between two checks of a certificate's age. A machine that slept must not wait for the rest of a long sleep.
const LOOK_EVERY: Duration = Duration::from_secs(600);

/// The certificate that browsers can pin now.
#[derive(Debug, Clone)]
pub struct BrowserCertificate(watch::Receiver<Option<(Fingerprint, SystemTime)>>);

impl BrowserCertificate {
    /// Returns the certificate of no broadcast.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self(watch::channel(None).1)
    }

    /// Returns the SHA-256 of the certificate that browsers get now, and when the next one replaces it. `None` if
    /// browsers get the broadcast's own certificate, which an authority certifies, or may not watch.
    #[must_use]
    pub fn made(&self) -> Option<(Fingerprint, SystemTime)> {
        *self.0.borrow()
    }

    /// Waits until browsers get another certificate; forever after the broadcast has ended.
    pub async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending().await
        }
    }
}

/// Replaces the certificates of browsers.
#[derive(Debug)]
pub(crate) struct Rotation {
    certificates: Arc<Certificates>,
    validity: Option<Duration>,
    made: SystemTime,
    told: watch::Sender<Option<(Fingerprint, SystemTime)>>,
}

impl Rotation {
    /// Makes the first certificate, if the configuration asks for one.
    pub(crate) fn new(certificates: Arc<Certificates>, browsers: Option<&Browsers>) -> Result<Self, Error> {
        let validity = browsers.and_then(|browsers| browsers.validity);
        let rotation = Self { certificates, validity, made: SystemTime::now(), told: watch::Sender::new(None) };
        rotation.rotate()?;
        Ok(rotation)
    }

    pub(crate) fn certificate(&self) -> BrowserCertificate {
        BrowserCertificate(self.told.subscribe())
    }

    /// Makes another certificate whenever browsers got the one before for long enough.
    pub(crate) async fn run(mut self) -> Infallible {
        let Some(validity) = self.validity else { return std::future::pending().await };
        loop {
            tokio::time::sleep((validity / 40).min(LOOK_EVERY)).await;
            // If the clock was set back, the certificate counts as old.
            let age = self.made.elapsed().unwrap_or(validity);
            if age < shown_for(validity) {
                continue;
            }
            self.made = SystemTime::now();
            if let Err(error) = self.rotate() {
                tracing::warn!("browsers get no new certificate: {error}");
            }
        }
    }

    fn rotate(&self) -> Result<(), Error> {
        let Some(validity) = self.validity else { return Ok(()) };
        let identity = Identity::for_browsers(validity)?;
        let fingerprint = identity.fingerprint();
        self.certificates.show_browsers(identity)?;
        tracing::info!(%fingerprint, "browsers are shown a new certificate");
        self.told.send_replace(Some((fingerprint, self.made + shown_for(validity))));
        Ok(())
    }
}

/// Returns how long browsers get a certificate that is valid for `validity`.
fn shown_for(validity: Duration) -> Duration {
    validity * 4 / 5
}
