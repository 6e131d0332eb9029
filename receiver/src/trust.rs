//! Verification of the sender: by a pinned fingerprint, or by certificate authorities.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use sha2::{Digest as _, Sha256};

use crate::error::{AuthoritiesFault, Error};
use crate::sender_clock::WallClock;

/// The senders that a receiver trusts.
#[derive(Debug, Clone)]
pub enum Trust {
    /// The sender whose certificate has this SHA-256, whatever its name.
    Fingerprint([u8; 32]),
    /// Senders whose name an authority in this PEM file certifies.
    Authorities(PathBuf),
}

impl Trust {
    /// Reads a fingerprint: 64 hexadecimal digits, colons allowed between them.
    #[must_use]
    pub fn fingerprint(text: &str) -> Option<Self> {
        let digits: Vec<u8> = text
            .chars()
            .filter(|c| *c != ':')
            .map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok()))
            .collect::<Option<_>>()?;
        let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
        (digits.len() == 64).then(|| bytes.try_into().ok()).flatten().map(Self::Fingerprint)
    }

    /// Returns the TLS configuration that trusts no other sender.
    /// Returns the TLS configuration that trusts no other sender.
    ///
    /// # Errors
    /// If the file of authorities cannot be used, or TLS cannot be set up.
    pub fn config(&self) -> Result<ClientConfig, Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_details(Arc::clone(&provider), Arc::new(WallClock))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| Error::Setup(error.to_string()))?;
        Ok(match self {
            Self::Fingerprint(expected) => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Pinned { expected: *expected, provider }))
                .with_no_client_auth(),
            Self::Authorities(file) => {
                let mut roots = RootCertStore::empty();
                let failed = |fault| Error::Authorities { file: file.clone(), fault };
                let unread = |error| match error {
                    pem::Error::Io(error) => failed(AuthoritiesFault::Unreadable(error)),
                    error => failed(AuthoritiesFault::Damaged(error.to_string())),
                };
                for certificate in CertificateDer::pem_file_iter(file).map_err(unread)? {
                    let certificate = certificate.map_err(unread)?;
                    let added = roots.add(certificate);
                    added.map_err(|error| failed(AuthoritiesFault::Damaged(error.to_string())))?;
                }
                if roots.is_empty() {
                    return Err(failed(AuthoritiesFault::Empty));
                }
                builder.with_root_certificates(roots).with_no_client_auth()
            }
        })
    }
}

/// Accepts one certificate. The handshake still proves that the peer has its key.
#[derive(Debug)]
struct Pinned {
    expected: [u8; 32],
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let found: [u8; 32] = Sha256::digest(end_entity).into();
        if found == self.expected {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(rustls::Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_64_digits() {
        let digits = "00ff".repeat(16);
        assert!(matches!(Trust::fingerprint(&digits), Some(Trust::Fingerprint(bytes)) if bytes[..2] == [0, 255]));
        assert!(Trust::fingerprint(&"00:FF:".repeat(16)).is_some());
        for wrong in ["", "00ff", &digits[1..], &digits.replace('f', "g"), &"é".repeat(64)] {
            assert!(Trust::fingerprint(wrong).is_none(), "{wrong}");
        }
    }
}
