//! A file of public keys, read again when it changes.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::Value;
use tokio::time::Instant;

use super::error::KeyError;

/// The most bytes of a file.
const MAX_BYTES: u64 = 64 * 1024;
/// The most keys of a file: a token without a key's name is tried with each.
const MAX_KEYS: usize = 64;
/// The shortest time between two looks at the file.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The keys of a file.
#[derive(Debug)]
pub(super) struct KeySet(Vec<PublicKey>);

#[derive(Debug)]
struct PublicKey {
    id: Option<String>,
    algorithm: Algorithm,
    key: DecodingKey,
}

impl KeySet {
    /// Parses a JWK Set. Keys for other algorithms are skipped, as RFC 7517, section 5, wants it.
    pub(super) fn parse(text: &[u8]) -> Result<Self, KeyError> {
        let mut set: Value = serde_json::from_slice(text).map_err(KeyError::NotAKeySet)?;
        let keys: Vec<Value> = serde_json::from_value(set["keys"].take()).map_err(KeyError::NotAKeySet)?;
        if keys.len() > MAX_KEYS {
            return Err(KeyError::TooLong);
        }
        if keys.iter().any(|key| key.get("d").is_some() || key.get("k").is_some()) {
            return Err(KeyError::Secret);
        }
        let keys: Vec<_> = keys.into_iter().filter_map(PublicKey::of).collect();
        if keys.is_empty() { Err(KeyError::NoUsableKey) } else { Ok(Self(keys)) }
    }

    /// Returns the keys that may have signed a token.
    pub(super) fn for_token<'a>(
        &'a self,
        algorithm: Algorithm,
        id: Option<&'a str>,
    ) -> impl Iterator<Item = &'a DecodingKey> {
        let fits = move |key: &&PublicKey| {
            key.algorithm == algorithm && (id.is_none() || key.id.is_none() || id == key.id.as_deref())
        };
        self.0.iter().filter(fits).map(|key| &key.key)
    }
}

impl PublicKey {
    fn of(key: Value) -> Option<Self> {
        let key: Jwk = serde_json::from_value(key).ok()?;
        let algorithm = match &key.algorithm {
            AlgorithmParameters::EllipticCurve(curve) if curve.curve == EllipticCurve::P256 => Algorithm::ES256,
            AlgorithmParameters::OctetKeyPair(pair) if pair.curve == EllipticCurve::Ed25519 => Algorithm::EdDSA,
            _ => return None,
        };
        Some(Self { key: DecodingKey::from_jwk(&key).ok()?, id: key.common.key_id, algorithm })
    }
}

/// A file of keys.
#[derive(Debug)]
pub(super) struct KeyFile {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    keys: Arc<KeySet>,
    /// The file as it was when it was read last.
    version: Option<(SystemTime, u64)>,
    looked: Instant,
}

impl KeyFile {
    pub(super) fn open(path: &Path) -> Result<Self, KeyError> {
        let version = version(path);
        let keys = Arc::new(KeySet::parse(&read(path)?)?);
        let state = Mutex::new(State { keys, version, looked: Instant::now() });
        Ok(Self { path: path.to_owned(), state })
    }

    /// Returns the keys of now.
    pub(super) fn keys(&self) -> Arc<KeySet> {
        Arc::clone(&self.state().keys)
    }

    /// Reads the file again if it has changed.
    pub(super) async fn refresh(file: &Arc<Self>) {
        {
            let mut state = file.state();
            if state.looked.elapsed() < LOOK_EVERY {
                return;
            }
            state.looked = Instant::now();
        }
        let file = Arc::clone(file);
        // A file may lie on a disk that is slow.
        let _ = tokio::task::spawn_blocking(move || file.read_changed()).await;
    }

    fn read_changed(&self) {
        let version = version(&self.path);
        if version == self.state().version {
            return;
        }
        let keys = read(&self.path).and_then(|text| KeySet::parse(&text));
        let mut state = self.state();
        state.version = version;
        match keys {
            Ok(keys) => state.keys = Arc::new(keys),
            Err(error) => {
                tracing::warn!("{} is not used, the keys of before stay: {error}", self.path.display());
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns what changes when a file is written.
fn version(path: &Path) -> Option<(SystemTime, u64)> {
    let facts = std::fs::metadata(path).ok()?;
    Some((facts.modified().ok()?, facts.len()))
}

fn read(path: &Path) -> Result<Vec<u8>, KeyError> {
    let mut text = Vec::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_BYTES { Err(KeyError::TooLong) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ED25519: &str =
        r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","kid":"a"}"#;
    const P256: &str = r#"{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}"#;

    #[test]
    fn keys_of_both_kinds_are_read_and_others_skipped() {
        let text = format!(r#"{{"keys":[{ED25519},{P256},{{"kty":"RSA","n":"AQAB","e":"AQAB"}},{{"kty":"new"}}]}}"#);
        let set = KeySet::parse(text.as_bytes()).expect("a set");
        let count = |algorithm, id| set.for_token(algorithm, id).count();
        assert_eq!(set.0.len(), 2);
        assert_eq!(
            [count(Algorithm::EdDSA, Some("a")), count(Algorithm::EdDSA, Some("b")), count(Algorithm::EdDSA, None)],
            [1, 0, 1]
        );
        assert_eq!(count(Algorithm::ES256, Some("b")), 1, "a key without a name is tried for every token");
    }

    #[test]
    fn what_is_no_set_of_public_keys_is_refused() {
        let parse = |text: &str| KeySet::parse(text.as_bytes());
        assert!(matches!(parse("no"), Err(KeyError::NotAKeySet(_))));
        assert!(matches!(parse("{}"), Err(KeyError::NotAKeySet(_))));
        assert!(matches!(parse(r#"{"keys":[]}"#), Err(KeyError::NoUsableKey)));
        assert!(matches!(parse(r#"{"keys":[{"kty":"oct","k":"AQAB"}]}"#), Err(KeyError::Secret)));
        let private = ED25519.replace(r#""kid""#, r#""d":"AQAB","kid""#);
        assert!(matches!(parse(&format!(r#"{{"keys":[{private}]}}"#)), Err(KeyError::Secret)));
        let many = vec![ED25519; MAX_KEYS + 1].join(",");
        assert!(matches!(parse(&format!(r#"{{"keys":[{many}]}}"#)), Err(KeyError::TooLong)));
    }
}
