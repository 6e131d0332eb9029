//! Who may watch: the decision between a receiver's hello and its welcome.

#[cfg(feature = "access")]
pub(crate) mod callback;
pub(crate) mod shared_token;
#[cfg(feature = "access")]
pub(crate) mod signed;

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use nestcast_proto::{Bitrate, BroadcastName, Close, Code};

/// The most characters of a viewer's name.
const MAX_NAME: usize = 64;

/// Decides who may watch. A broadcast asks all its authorizers in order, and each must grant.
///
/// A receiver waits for the decision. The broadcast closes a receiver that waits for too long (spec, "Floods"), at the
/// latest after 3 s if others wait too, so an authorizer must limit its own time.
///
/// ```
/// use nestcast_sender::{AccessRequest, Authorization, Authorizer, Denial, Grant};
///
/// /// Admits the machines of one network.
/// #[derive(Debug)]
/// struct Office;
///
/// impl Authorizer for Office {
///     fn authorize<'a>(&'a self, request: &'a AccessRequest) -> Authorization<'a> {
///         let is_here = matches!(request.address, std::net::SocketAddr::V4(address) if address.ip().octets()[0] == 10);
///         Box::pin(async move { if is_here { Ok(Grant::default()) } else { Err(Denial::Refused) } })
///     }
/// }
/// ```
pub trait Authorizer: fmt::Debug + Send + Sync {
    /// Decides on one receiver.
    ///
    /// # Errors
    /// The reason, which the receiver is told as a close code.
    fn authorize<'a>(&'a self, request: &'a AccessRequest) -> Authorization<'a>;
}

/// A decision in the making.
pub type Authorization<'a> = Pin<Box<dyn Future<Output = Result<Grant, Denial>> + Send + 'a>>;

/// A receiver that wants to watch.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessRequest {
    /// The receiver's address.
    pub address: SocketAddr,
    /// Its token, at most [`MAX_TOKEN`](nestcast_proto::MAX_TOKEN) bytes; empty if it has none.
    pub token: Bytes,
    /// The cap that it asks for.
    pub max_bitrate: Option<Bitrate>,
    /// The broadcast that it asks for; the empty name if the sender has one alone.
    pub broadcast: BroadcastName,
    /// Whether the sender has that broadcast. Otherwise an admission changes nothing: the receiver is told so, and
    /// an authorizer must not count the admission against its token.
    pub is_there: bool,
}

impl AccessRequest {
    pub(crate) const fn new(
        address: SocketAddr,
        token: Bytes,
        max_bitrate: Option<Bitrate>,
        broadcast: BroadcastName,
    ) -> Self {
        Self { address, token, max_bitrate, broadcast, is_there: true }
    }
}

/// Shows all but the token.
impl fmt::Debug for AccessRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, max_bitrate, broadcast, is_there, .. } = self;
        f.debug_struct("AccessRequest")
            .field("address", address)
            .field("max_bitrate", max_bitrate)
            .field("broadcast", broadcast)
            .field("is_there", is_there)
            .finish_non_exhaustive()
    }
}

/// What an admitted receiver gets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grant {
    /// The viewer's name, for figures and the log. Of a longer one the first 64 characters are shown, and control
    /// characters, quotes and backslashes as `_`.
    pub name: Option<String>,
    /// The most bits a second that it gets, all bytes counted.
    pub max_bitrate: Option<Bitrate>,
}

impl Grant {
    /// Returns the name as it is shown.
    pub(crate) fn shown_name(&self) -> Option<Arc<str>> {
        let is_plain = |c: char| !c.is_control() && c != '"' && c != '\\';
        let shown =
            |name: &String| name.chars().take(MAX_NAME).map(|c| if is_plain(c) { c } else { '_' }).collect::<String>();
        self.name.as_ref().map(shown).filter(|name| !name.is_empty()).map(Arc::from)
    }

    /// Joins what two authorizers grant: the first name, and the smaller cap.
    pub(crate) fn join(self, other: Self) -> Self {
        let max_bitrate = [self.max_bitrate, other.max_bitrate].into_iter().flatten().min();
        Self { name: self.name.or(other.name), max_bitrate }
    }
}

/// Why a receiver is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Denial {
    /// It has no token, or a wrong one.
    Token,
    /// Its token is signed, but by none of the keys that this sender knows.
    Key,
    /// Its token was valid, or will be.
    Expired,
    /// Its token is for another broadcast.
    Audience,
    /// Its token admits once, and was used.
    Used,
    /// The authorizer refuses this viewer.
    Refused,
    /// The authorizer cannot decide now. The receiver learns only that the sender failed inside
    /// ([`Code::Failed`]), and may try again.
    Undecided,
}

/// Writes the reason, as the sender's log shows it and as the close of the connection carries it. A receiver of nestcast
/// shows the text of the close's [`Code`] in its place.
impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Close::from(*self).why)
    }
}

impl From<Denial> for Close {
    fn from(denial: Denial) -> Self {
        let (code, why) = match denial {
            Denial::Token => (Code::Token, "the token is missing or wrong"),
            Denial::Key => (Code::Key, "no key of the sender signed the token"),
            Denial::Expired => (Code::Expired, "the token has expired or is not valid yet"),
            Denial::Audience => (Code::Audience, "the token is for another broadcast"),
            Denial::Used => (Code::Used, "the token admits once and was used before"),
            Denial::Refused => (Code::Denied, "this viewer is not admitted"),
            Denial::Undecided => (Code::Failed, "who may watch cannot be decided now"),
        };
        Self { code, why }
    }
}

/// Asks all authorizers in order, until one refuses.
pub(crate) async fn decide(authorizers: &[Arc<dyn Authorizer>], request: &AccessRequest) -> Result<Grant, Denial> {
    let mut all = Grant::default();
    for authorizer in authorizers {
        all = all.join(authorizer.authorize(request).await?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Always(Result<Grant, Denial>);

    impl Authorizer for Always {
        fn authorize<'a>(&'a self, _request: &'a AccessRequest) -> Authorization<'a> {
            let answer = self.0.clone();
            Box::pin(async move { answer })
        }
    }

    fn grant(name: Option<&str>, megabits: Option<u64>) -> Result<Grant, Denial> {
        let max_bitrate = megabits.map(|megabits| Bitrate::from_bits(megabits * 1_000_000));
        Ok(Grant { name: name.map(str::to_owned), max_bitrate })
    }

    #[tokio::test]
    async fn all_authorizers_must_grant_and_the_least_cap_holds() {
        let cases = [
            (vec![], grant(None, None)),
            (
                vec![grant(None, Some(3)), grant(Some("ann"), Some(2)), grant(Some("bob"), None)],
                grant(Some("ann"), Some(2)),
            ),
            (vec![grant(Some("ann"), None), Err(Denial::Refused), Err(Denial::Used)], Err(Denial::Refused)),
        ];
        let request = AccessRequest::new(
            ([127, 0, 0, 1], 9).into(),
            Bytes::from_static(b"secret"),
            None,
            BroadcastName::default(),
        );
        assert!(!format!("{request:?}").contains("secret"));
        for (answers, decided) in cases {
            let authorizers: Vec<Arc<dyn Authorizer>> =
                answers.into_iter().map(|answer| Arc::new(Always(answer)) as Arc<dyn Authorizer>).collect();
            assert_eq!(decide(&authorizers, &request).await, decided);
        }
    }

    #[test]
    fn a_name_is_shown_short_and_without_what_breaks_a_line() {
        let shown = |name: &str| Grant { name: Some(name.to_owned()), max_bitrate: None }.shown_name();
        assert_eq!(shown("Zoë \"Z\"\n\\").as_deref(), Some("Zoë _Z___"));
        assert_eq!(shown(""), None);
        assert_eq!(shown(&"x".repeat(100)).map(|name| name.len()), Some(64));
    }

    #[test]
    fn a_denial_says_what_the_receiver_is_told_and_only_the_undecided_may_try_again() {
        assert_eq!(Denial::Audience.to_string(), "the token is for another broadcast");
        assert_eq!(Denial::Key.to_string(), Code::Key.to_string());
        let all = [
            Denial::Token,
            Denial::Key,
            Denial::Expired,
            Denial::Audience,
            Denial::Used,
            Denial::Refused,
            Denial::Undecided,
        ];
        for denial in all {
            assert_eq!(Close::from(denial).code.may_retry(), denial == Denial::Undecided);
        }
    }
}
