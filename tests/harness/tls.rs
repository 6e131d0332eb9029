//! TLS of peers that obey nothing but QUIC: a sender with its own certificate, and a receiver that trusts any
//! certificate and checks no signature, so that an attack is as cheap as possible for it.

use std::sync::Arc;

use nestcast_proto::SESSION_ALPN;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, ServerConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::cipher_suite::{TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{DigitallySignedStruct, SignatureScheme};
use sha2::{Digest as _, Sha256};

/// Returns a sender's side, and the fingerprint of its new certificate in hexadecimal digits.
pub(crate) fn server() -> (ServerConfig, String) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("random numbers");
    let certificate = made.cert.der().clone();
    let fingerprint = Sha256::digest(&certificate).iter().map(|byte| format!("{byte:02x}")).collect();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let builder = rustls::ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_protocol_versions(&[&TLS13]).expect("TLS 1.3 is there");
    let mut crypto = builder.with_no_client_auth().with_single_cert(vec![certificate], key).expect("a pair");
    crypto.alpn_protocols = vec![SESSION_ALPN.to_vec()];
    let crypto = QuicServerConfig::try_from(crypto).expect("it has the ciphers of QUIC");
    (ServerConfig::with_crypto(Arc::new(crypto)), fingerprint)
}

/// Returns a receiver's side.
pub(crate) fn client() -> ClientConfig {
    offering(default_provider(), SESSION_ALPN)
}

/// Returns a browser's side.
pub(crate) fn browser() -> ClientConfig {
    offering(default_provider(), b"h3")
}

/// Returns a receiver's side with no cipher but AES-256-GCM, except for first packets.
pub(crate) fn client_of_aes_256() -> ClientConfig {
    offering(CryptoProvider { cipher_suites: vec![TLS13_AES_256_GCM_SHA384], ..default_provider() }, SESSION_ALPN)
}

fn offering(provider: CryptoProvider, protocol: &[u8]) -> ClientConfig {
    let builder = rustls::ClientConfig::builder_with_provider(Arc::new(provider));
    let builder = builder.with_protocol_versions(&[&TLS13]).expect("TLS 1.3 is there");
    let mut crypto = builder.dangerous().with_custom_certificate_verifier(Arc::new(Anyone)).with_no_client_auth();
    crypto.alpn_protocols = vec![protocol.to_vec()];
    let initial = TLS13_AES_128_GCM_SHA256.tls13().and_then(|suite| suite.quic_suite()).expect("QUIC's own");
    let crypto = QuicClientConfig::with_initial(Arc::new(crypto), initial).expect("that of first packets");
    ClientConfig::new(Arc::new(crypto))
}

/// Trusts any certificate.
#[derive(Debug)]
struct Anyone;

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("TLS 1.3 alone".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        default_provider().signature_verification_algorithms.supported_schemes()
    }
}
