//! The private key that signs tokens.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::claims::Claims;
use super::crypto;
use super::error::KeyError;

/// A private key on Ed25519 or P-256.
pub struct SigningKey {
    algorithm: Algorithm,
    key: EncodingKey,
    /// The public key as a JWK (RFC 7517), with its thumbprint (RFC 7638) as its name.
    public: Value,
}

/// Shows the public key.
impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("public", &self.public).finish_non_exhaustive()
    }
}

impl SigningKey {
    /// Makes a new key on Ed25519. Returns it, and as PEM (PKCS #8).
    ///
    /// # Errors
    /// [`KeyError::Signing`] if the system provides no random numbers.
    pub fn generate() -> Result<(Self, String), KeyError> {
        let failed = |error: rcgen::Error| KeyError::Signing(error.to_string());
        let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).map_err(failed)?;
        let pem = pair.serialize_pem();
        Ok((Self::of(&pair)?, pem))
    }

    /// Reads a key in PEM (PKCS #8).
    ///
    /// # Errors
    /// [`KeyError::NotAPrivateKey`] if it is something else.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        Self::of(&rcgen::KeyPair::from_pem(text).map_err(|_| KeyError::NotAPrivateKey)?)
    }

    fn of(pair: &rcgen::KeyPair) -> Result<Self, KeyError> {
        crypto::install();
        let encoded = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let (point, der) = (pair.public_key_raw(), pair.serialize_der());
        // The members that a thumbprint needs, in the order that it needs (RFC 7638, section 3.2; RFC 8037, section 2).
        let (algorithm, key, members) = if pair.is_compatible(&rcgen::PKCS_ED25519) {
            (
                Algorithm::EdDSA,
                EncodingKey::from_ed_der(&der),
                json!({"crv": "Ed25519", "kty": "OKP", "x": encoded(point)}),
            )
        } else if let (true, Some((x, y))) = (pair.is_compatible(&rcgen::PKCS_ECDSA_P256_SHA256), coordinates(point)) {
            let members = json!({"crv": "P-256", "kty": "EC", "x": encoded(x), "y": encoded(y)});
            (Algorithm::ES256, EncodingKey::from_ec_der(&der), members)
        } else {
            return Err(KeyError::NotAPrivateKey);
        };
        let mut public = members;
        public["kid"] = encoded(&Sha256::digest(public.to_string())).into();
        public["alg"] = json!(algorithm);
        public["use"] = "sig".into();
        Ok(Self { algorithm, key, public })
    }

    /// Signs a token.
    ///
    /// # Errors
    /// [`KeyError::Signing`] if the library refuses.
    pub fn sign(&self, claims: &Claims) -> Result<String, KeyError> {
        let header = Header { kid: self.public["kid"].as_str().map(str::to_owned), ..Header::new(self.algorithm) };
        encode(&header, claims, &self.key).map_err(|error| KeyError::Signing(error.to_string()))
    }

    /// Returns a JWK Set with the keys of `set` and this key's public half.
    ///
    /// # Errors
    /// [`KeyError::NotAKeySet`] if `set` is something else.
    pub fn add_to(&self, set: Option<&str>) -> Result<String, KeyError> {
        let mut keys: Vec<Value> = match set {
            Some(set) => {
                let mut set: Value = serde_json::from_str(set).map_err(KeyError::NotAKeySet)?;
                serde_json::from_value(set["keys"].take()).map_err(KeyError::NotAKeySet)?
            }
            None => Vec::new(),
        };
        keys.retain(|key| key["kid"] != self.public["kid"]);
        keys.push(self.public.clone());
        let text = serde_json::to_string_pretty(&json!({ "keys": keys })).map_err(KeyError::NotAKeySet)?;
        Ok(text + "\n")
    }
}

/// Returns the coordinates of an uncompressed point of P-256 (SEC 1, section 2.3.3).
fn coordinates(point: &[u8]) -> Option<(&[u8], &[u8])> {
    match point {
        [4, coordinates @ ..] if coordinates.len() == 64 => coordinates.split_at_checked(32),
        _ => None,
    }
}
