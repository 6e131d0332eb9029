//! Signed tokens: JSON Web Tokens (RFC 7519) of viewers, each with an expiry, a broadcast, a name and a cap.

mod claims;
mod crypto;
mod error;
mod key_set;
mod signing_key;
mod used_tokens;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use nestcast_proto::Bitrate;

use crate::access::{AccessRequest, Authorization, Authorizer, Denial, Grant};

use self::key_set::KeyFile;
use self::used_tokens::UsedTokens;

pub use self::claims::{Audience, Claims};
pub use self::error::KeyError;
pub use self::signing_key::SigningKey;

/// The seconds by which the clocks of the signer and of this sender may differ.
const LEEWAY_SECONDS: u64 = 5;
/// The algorithms of tokens: ECDSA on P-256 with SHA-256, and Ed25519 (RFC 7518, section 3.1; RFC 8037).
const TOKEN_ALGORITHMS: [Algorithm; 2] = [Algorithm::ES256, Algorithm::EdDSA];

/// Admits receivers whose token is signed by a key of a JWK Set (RFC 7517), a file of public keys.
///
/// A token's claims are those of [`Claims`]. The file is read again when it changes, so keys are replaced while the
/// broadcast runs: add the new key, sign with it, and remove the old key when its tokens have expired. A file that
/// cannot be used then changes nothing and is told in the log.
pub struct SignedTokens {
    keys: Arc<KeyFile>,
    /// The name of the broadcast; if there is none, tokens that name one are refused.
    audience: Option<String>,
    used: Mutex<UsedTokens>,
}

/// Shows no key.
impl fmt::Debug for SignedTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignedTokens").field("audience", &self.audience).finish_non_exhaustive()
    }
}

impl SignedTokens {
    /// Reads the public keys. If there is an `audience`, every token must name it in its claim `aud`. Without one, it must
    /// name the broadcast that its receiver asks for; if that has no name, no token may have the claim.
    ///
    /// # Errors
    /// [`KeyError`] if the file cannot be read, is no JWK Set, or has no key for ES256 or EdDSA.
    pub fn from_file(file: &Path, audience: Option<String>) -> Result<Self, KeyError> {
        crypto::install();
        Ok(Self { keys: Arc::new(KeyFile::open(file)?), audience, used: Mutex::default() })
    }

    /// Decides on a token at `now`, in seconds since 1970-01-01 UTC.
    fn check(&self, request: &AccessRequest, now: u64) -> Result<Grant, Denial> {
        let AccessRequest { token, broadcast, is_there, .. } = request;
        let header = decode_header(token).map_err(|_| Denial::Token)?;
        if !TOKEN_ALGORITHMS.contains(&header.alg) {
            return Err(Denial::Token);
        }
        let mut validation = Validation::new(header.alg);
        validation.leeway = LEEWAY_SECONDS;
        validation.validate_nbf = true;
        let named = (!broadcast.is_empty()).then_some(broadcast.as_str());
        if let Some(audience) = self.audience.as_deref().or(named) {
            validation.set_audience(&[audience]);
            validation.set_required_spec_claims(&["exp", "aud"]);
        }
        let keys = self.keys.keys();
        let mut denial = Denial::Key;
        for key in keys.for_token(header.alg, header.kid.as_deref()) {
            match decode::<Claims>(token, key, &validation) {
                Ok(token) => return self.admit(token.claims, *is_there, now),
                Err(error) => match error.kind() {
                    // Another key may have signed it.
                    ErrorKind::InvalidSignature => {}
                    kind => denial = denial_of(kind),
                },
            }
        }
        Err(denial)
    }

    /// Admits a viewer whose token is valid, unless it admits once and was used. A token is not used up by a broadcast
    /// that is not there.
    fn admit(&self, claims: Claims, is_there: bool, now: u64) -> Result<Grant, Denial> {
        if let Some(id) = claims.jti {
            let until = claims.exp.saturating_add(LEEWAY_SECONDS);
            let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            if is_there { used.note(id, until, now) } else { used.check(&id, now) }?;
        }
        Ok(Grant { name: claims.sub, max_bitrate: claims.max_bitrate.map(Bitrate::from_bits) })
    }
}

/// Returns why a token is refused whose signature may be right.
fn denial_of(kind: &ErrorKind) -> Denial {
    match kind {
        ErrorKind::ExpiredSignature | ErrorKind::ImmatureSignature => Denial::Expired,
        ErrorKind::InvalidAudience => Denial::Audience,
        ErrorKind::MissingRequiredClaim(claim) if claim == "aud" => Denial::Audience,
        _ => Denial::Token,
    }
}

impl Authorizer for SignedTokens {
    fn authorize<'a>(&'a self, request: &'a AccessRequest) -> Authorization<'a> {
        Box::pin(async move {
            KeyFile::refresh(&self.keys).await;
            // Before 1970 no token is valid yet.
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|_| Denial::Expired)?;
            self.check(request, now.as_secs())
        })
    }
}

#[cfg(test)]
mod tests;
