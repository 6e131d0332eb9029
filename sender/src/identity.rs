//! A sender's identity: a certificate and its key, from files or newly made.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;

use crate::error::{Error, PemFault};

/// The name in certificates made here; receivers that pin a fingerprint ignore it.
const CERTIFICATE_NAME: &str = "nestcast";
/// The longest validity that browsers accept for a certificate that they know by its hash (W3C WebTransport, "Custom
/// certificate requirements"). It must also have a key on P-256.
const MAX_BROWSER_VALIDITY: Duration = Duration::from_secs(14 * 24 * 3600);

/// A certificate chain and the key of its first certificate.
#[derive(Debug)]
pub struct Identity {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Self { chain: self.chain.clone(), key: self.key.clone_key() }
    }
}

impl Identity {
    /// Makes a new self-signed certificate, for development: receivers pin its fingerprint.
    ///
    /// # Errors
    /// [`Error::Tls`] if the system provides no random numbers.
    pub fn generate() -> Result<Self, Error> {
        let failed = |error: rcgen::Error| Error::Tls(error.to_string());
        let signed = rcgen::generate_simple_self_signed([CERTIFICATE_NAME.to_owned(), "localhost".to_owned()])
            .map_err(failed)?;
        let key = PrivatePkcs8KeyDer::from(signed.signing_key.serialize_der()).into();
        Ok(Self { chain: vec![signed.cert.der().clone()], key })
    }

    /// Makes a new self-signed certificate that browsers know by its fingerprint. It is valid for `validity`, at most
    /// 14 days. One 28th of that lies before now, because a browser's clock may be late.
    ///
    /// # Errors
    /// If the system provides no random numbers.
    pub fn for_browsers(validity: Duration) -> Result<Self, Error> {
        let failed = |error: rcgen::Error| Error::Tls(error.to_string());
        let validity = validity.min(MAX_BROWSER_VALIDITY);
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).map_err(failed)?;
        let mut params =
            rcgen::CertificateParams::new([CERTIFICATE_NAME.to_owned(), "localhost".to_owned()]).map_err(failed)?;
        params.not_before = OffsetDateTime::now_utc() - validity / 28;
        params.not_after = params.not_before + validity;
        let certificate = params.self_signed(&key).map_err(failed)?;
        let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
        Ok(Self { chain: vec![certificate.der().clone()], key })
    }

    /// Reads PEM files: the chain, which begins with the sender's own certificate, and its key.
    ///
    /// # Errors
    /// [`Error::Certificate`] if a file cannot be read or contains no certificate or key.
    pub fn from_pem(chain: &Path, key: &Path) -> Result<Self, Error> {
        let failed =
            |file: &Path, what, error| Error::Certificate { file: file.to_owned(), fault: pem_fault(what, error) };
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_file_iter(chain).and_then(Iterator::collect);
        let certificates =
            certificates.and_then(|all| if all.is_empty() { Err(pem::Error::NoItemsFound) } else { Ok(all) });
        let certificates = certificates.map_err(|error| failed(chain, "certificate", error))?;
        let key = PrivateKeyDer::from_pem_file(key).map_err(|error| match error {
            _ if is_encrypted(key) => Error::Certificate { file: key.to_owned(), fault: PemFault::Encrypted },
            error => failed(key, "private key", error),
        })?;
        Ok(Self { chain: certificates, key })
    }

    /// Returns the fingerprint that receivers pin.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint(self.chain.first().map(Sha256::digest).unwrap_or_default().into())
    }
}

/// Returns whether a PEM file contains a private key that a passphrase protects.
fn is_encrypted(file: &Path) -> bool {
    std::fs::read_to_string(file)
        .is_ok_and(|text| text.contains("ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED"))
}

/// Returns why a PEM file contains no certificate or key.
fn pem_fault(what: &'static str, error: pem::Error) -> PemFault {
    match error {
        pem::Error::Io(source) => PemFault::Unreadable { what, source },
        pem::Error::NoItemsFound => PemFault::Missing { what },
        error => PemFault::Damaged { what, reason: error.to_string() },
    }
}

/// The SHA-256 of a certificate; shown as 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
