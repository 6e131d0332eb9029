//! The certificates that peers get. Receivers pin one that stays; browsers get a new one every few days.

use std::sync::{Arc, PoisonError, RwLock};

use nestcast_proto::SESSION_ALPN;
use rustls::InconsistentKeys;
use rustls::crypto::CryptoProvider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::error::Error;
use crate::identity::Identity;

/// The certificates of a broadcast.
#[derive(Debug)]
pub(crate) struct Certificates {
    provider: Arc<CryptoProvider>,
    receivers: Arc<CertifiedKey>,
    browsers: RwLock<Arc<CertifiedKey>>,
}

impl Certificates {
    /// Shows all peers the certificate of `identity`.
    pub(super) fn new(provider: Arc<CryptoProvider>, identity: Identity) -> Result<Self, Error> {
        let receivers = certified(&provider, identity)?;
        Ok(Self { provider, browsers: RwLock::new(Arc::clone(&receivers)), receivers })
    }

    /// Shows browsers that connect from now on the certificate of `identity`.
    pub(crate) fn show_browsers(&self, identity: Identity) -> Result<(), Error> {
        let certified = certified(&self.provider, identity)?;
        *self.browsers.write().unwrap_or_else(PoisonError::into_inner) = certified;
        Ok(())
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let is_receiver = hello.alpn().is_some_and(|mut names| names.any(|name| name == SESSION_ALPN));
        let browsers = self.browsers.read().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::clone(if is_receiver { &self.receivers } else { &browsers }))
    }
}

fn certified(provider: &CryptoProvider, identity: Identity) -> Result<Arc<CertifiedKey>, Error> {
    let certified = CertifiedKey::from_der(identity.chain, identity.key, provider);
    certified.map(Arc::new).map_err(|error| match error {
        rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => Error::KeyMismatch,
        error => Error::Tls(error.to_string()),
    })
}
