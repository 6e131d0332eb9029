//! One token for all receivers.

use std::fmt;

use bytes::Bytes;
use subtle::ConstantTimeEq as _;

use crate::access::{AccessRequest, Authorization, Authorizer, Denial, Grant};

/// Admits every receiver that knows this token. The comparison takes the same time wherever the two differ.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedToken(pub Bytes);

/// Does not show the token.
impl fmt::Debug for SharedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedToken").finish_non_exhaustive()
    }
}

impl Authorizer for SharedToken {
    fn authorize<'a>(&'a self, request: &'a AccessRequest) -> Authorization<'a> {
        let is_same = bool::from(request.token.ct_eq(&self.0));
        Box::pin(async move { if is_same { Ok(Grant::default()) } else { Err(Denial::Token) } })
    }
}

#[cfg(test)]
mod tests {
    use nestcast_proto::BroadcastName;

    use super::*;

    #[tokio::test]
    async fn who_knows_the_token_is_admitted() {
        let token = SharedToken(Bytes::from_static(b"secret"));
        for (given, answer) in [
            ("secret", Ok(Grant::default())),
            ("secreT", Err(Denial::Token)),
            ("secret2", Err(Denial::Token)),
            ("", Err(Denial::Token)),
        ] {
            let request = AccessRequest::new(
                ([127, 0, 0, 1], 9).into(),
                Bytes::from_static(given.as_bytes()),
                None,
                BroadcastName::default(),
            );
            assert_eq!(token.authorize(&request).await, answer, "{given}");
        }
        assert!(!format!("{token:?}").contains("secret"));
    }
}
