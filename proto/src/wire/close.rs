//! Reasons for the end of a connection (spec, "Close codes").

use std::fmt;

/// A close code; both ends know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The broadcast or the receiver ended normally.
    Done,
    /// The peer broke the session's rules.
    Violation,
    /// The peer speaks another version.
    Version,
    /// The token is missing or wrong.
    Token,
    /// The sender has no slot left.
    Full,
    /// The peer took too long for a required message.
    Slow,
    /// The model is unavailable: the sender does not send it, or the receiver does not accept it.
    Model,
    /// The peer failed internally.
    Failed,
    /// The broadcast's source broke off.
    Source,
    /// The receiver does not know what the sender announces, such as a kind of frames of a later version.
    Unsupported,
    /// The token has expired, or is not valid yet.
    Expired,
    /// The token is for another broadcast.
    Audience,
    /// The token admits once, and was used.
    Used,
    /// Who decides on viewers refuses this one.
    Denied,
    /// The sender has no broadcast of this name.
    NoBroadcast,
    /// None of the sender's keys signed the token.
    Key,
    /// A code that this build does not know.
    Other(u64),
}

/// All codes with their numbers.
const ALL_CODES: [(Code, u64); 16] = [
    (Code::Done, 0),
    (Code::Violation, 1),
    (Code::Version, 2),
    (Code::Token, 3),
    (Code::Full, 4),
    (Code::Slow, 5),
    (Code::Model, 6),
    (Code::Failed, 7),
    (Code::Source, 8),
    (Code::Unsupported, 9),
    (Code::Expired, 10),
    (Code::Audience, 11),
    (Code::Used, 12),
    (Code::Denied, 13),
    (Code::NoBroadcast, 14),
    (Code::Key, 15),
];

impl Code {
    /// Returns the number on the wire.
    #[must_use]
    pub fn number(self) -> u32 {
        let number = match self {
            Self::Other(number) => number,
            known => ALL_CODES.iter().find(|(code, _)| *code == known).map_or(u64::MAX, |(_, number)| *number),
        };
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    /// Returns the code of a number.
    #[must_use]
    pub fn from_number(number: u64) -> Self {
        ALL_CODES.iter().find(|(_, known)| *known == number).map_or(Self::Other(number), |(code, _)| *code)
    }

    /// Returns a word for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Violation => "violation",
            Self::Version => "version",
            Self::Token => "token",
            Self::Full => "full",
            Self::Slow => "slow",
            Self::Model => "model",
            Self::Failed => "failed",
            Self::Source => "source",
            Self::Unsupported => "unsupported",
            Self::Expired => "expired",
            Self::Audience => "audience",
            Self::Used => "used",
            Self::Denied => "denied",
            Self::NoBroadcast => "no_broadcast",
            Self::Key => "key",
            Self::Other(_) => "other",
        }
    }

    /// Returns whether a retry may help although nobody changes anything (session specification, section 8).
    #[must_use]
    pub const fn may_retry(self) -> bool {
        matches!(self, Self::Full | Self::Slow | Self::Failed)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Done => "the broadcast ended",
            Self::Violation => "the peer broke the session's rules",
            Self::Version => "the peer speaks another version of the session",
            Self::Token => "the token is missing or wrong",
            Self::Full => "the sender has as many receivers as it takes",
            Self::Slow => "the peer took too long to say what it must",
            Self::Model => "the model cannot be had from the sender",
            Self::Failed => "the peer failed inside",
            Self::Source => "the broadcast broke off: the sender lost its source; frames until then are kept",
            Self::Unsupported => "the receiver cannot show what the sender announces",
            Self::Expired => "the token has expired or is not valid yet",
            Self::Audience => "the token is for another broadcast",
            Self::Used => "the token admits once and was used before",
            Self::Denied => "this viewer is not admitted",
            Self::NoBroadcast => "the sender has no broadcast of this name",
            Self::Key => "no key of the sender signed the token",
            Self::Other(number) => return write!(f, "closed with the unknown code {number}"),
        };
        f.write_str(text)
    }
}

/// A close that this end decides: the code for the peer, and the text for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Close {
    /// The code that the peer gets.
    pub code: Code,
    /// The rule that was broken.
    pub why: &'static str,
}

impl Close {
    /// Makes a close for a peer that broke a rule.
    pub(crate) const fn violation(why: &'static str) -> Self {
        Self { code: Code::Violation, why }
    }
}

/// The close for a message that ends before its fields do.
pub(crate) const SHORT_MESSAGE: Close = Close::violation("a control message is shorter than its fields");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_codes_are_each_others_inverse() {
        for number in 0..20 {
            assert_eq!(u64::from(Code::from_number(number).number()), number);
        }
    }
}
