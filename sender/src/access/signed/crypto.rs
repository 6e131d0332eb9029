//! The signatures of tokens, by `ring`.

use std::sync::Once;

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::signature::{self, Signer, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ED25519, EcdsaKeyPair, Ed25519KeyPair, UnparsedPublicKey,
};

static CRYPTO_PROVIDER: CryptoProvider =
    CryptoProvider { signer_factory: signer, verifier_factory: verifier, key_utils: KeyUtils::new_unimplemented() };

/// Lets `jsonwebtoken` sign and verify, unless this process chose another library for it.
pub(super) fn install() {
    static INSTALLED_ONCE: Once = Once::new();
    INSTALLED_ONCE.call_once(|| {
        // Fails if another one is installed, which then serves as well.
        let _ = CRYPTO_PROVIDER.install_default();
    });
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    let method: &'static dyn ring::signature::VerificationAlgorithm = match algorithm {
        Algorithm::ES256 => &ECDSA_P256_SHA256_FIXED,
        Algorithm::EdDSA => &ED25519,
        _ => return Err(ErrorKind::InvalidAlgorithm.into()),
    };
    let key = UnparsedPublicKey::new(method, key.try_get_as_bytes()?.to_vec());
    Ok(Box::new(PublicKey { algorithm: *algorithm, key }))
}

struct PublicKey {
    algorithm: Algorithm,
    key: UnparsedPublicKey<Vec<u8>>,
}

impl Verifier<Vec<u8>> for PublicKey {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        self.key.verify(message, signature).map_err(|_| signature::Error::new())
    }
}

impl JwtVerifier for PublicKey {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

fn signer(algorithm: &Algorithm, key: &EncodingKey) -> Result<Box<dyn JwtSigner>, Error> {
    let random = SystemRandom::new();
    let key = match algorithm {
        Algorithm::ES256 => {
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key.as_bytes(), &random).map(PrivateKey::P256)
        }
        Algorithm::EdDSA => Ed25519KeyPair::from_pkcs8_maybe_unchecked(key.as_bytes()).map(PrivateKey::Ed25519),
        _ => return Err(ErrorKind::InvalidAlgorithm.into()),
    };
    Ok(Box::new(key.map_err(|_| ErrorKind::InvalidKeyFormat)?))
}

enum PrivateKey {
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl Signer<Vec<u8>> for PrivateKey {
    fn try_sign(&self, message: &[u8]) -> Result<Vec<u8>, signature::Error> {
        match self {
            Self::P256(key) => {
                let signed = key.sign(&SystemRandom::new(), message).map_err(|_| signature::Error::new())?;
                Ok(signed.as_ref().to_vec())
            }
            Self::Ed25519(key) => Ok(key.sign(message).as_ref().to_vec()),
        }
    }
}

impl JwtSigner for PrivateKey {
    fn algorithm(&self) -> Algorithm {
        match self {
            Self::P256(_) => Algorithm::ES256,
            Self::Ed25519(_) => Algorithm::EdDSA,
        }
    }
}
