//! What a signed token says.

use std::fmt::Write as _;

use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Serialize};

use super::error::KeyError;

/// The claims of a token (RFC 7519, section 4). Others are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// The time at which the token expires, in seconds since 1970-01-01 UTC. A receiver that watches then goes on.
    pub exp: u64,
    /// The time before which it is not valid, in seconds since 1970-01-01 UTC.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nbf: Option<u64>,
    /// The broadcast that it is for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub aud: Option<Audience>,
    /// The viewer's name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sub: Option<String>,
    /// The token's number or name. A token that has one admits once: a receiver that comes back needs another token.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub jti: Option<String>,
    /// The most bits a second that the receiver gets, all bytes counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_bitrate: Option<u64>,
}

impl Claims {
    /// Returns a new random number for [`Claims::jti`].
    ///
    /// # Errors
    /// [`KeyError::Signing`] if the system provides no random numbers.
    pub fn new_number() -> Result<String, KeyError> {
        let mut bytes = [0; 16];
        SystemRandom::new().fill(&mut bytes).map_err(|_| KeyError::Signing("no random numbers".to_owned()))?;
        Ok(bytes.iter().fold(String::new(), |mut text, byte| {
            // Writing to a string does not fail.
            let _ = write!(text, "{byte:02x}");
            text
        }))
    }
}

/// The broadcasts that a token is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Audience {
    /// One broadcast.
    One(String),
    /// Any of these.
    Several(Vec<String>),
}
