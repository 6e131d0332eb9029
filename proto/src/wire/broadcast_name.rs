//! The name of a broadcast, of several at one sender.

use std::fmt;
use std::str::FromStr;

use crate::wire::limits::MAX_BROADCAST_NAME;

/// The name by which a receiver asks for one of a sender's broadcasts: letters, digits, `-`, `_` and `.`, but not `.` or
/// `..`, which a browser takes out of a link. The empty name is that of a broadcast which is alone.
///
/// ```
/// use nestcast_proto::BroadcastName;
///
/// let name: BroadcastName = "cam1".parse()?;
/// assert_eq!(name.as_str(), "cam1");
/// assert!("cam 1".parse::<BroadcastName>().is_err() && BroadcastName::default().is_empty());
/// # Ok::<(), nestcast_proto::BroadcastNameError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BroadcastName(String);

/// The error for text that is not the name of a broadcast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the name of a broadcast has up to {MAX_BROADCAST_NAME} letters from a to z, digits, -, _ and ., as in cam1")]
pub struct BroadcastNameError;

impl BroadcastName {
    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether it is the name of a broadcast that is alone.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for BroadcastName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for BroadcastName {
    type Err = BroadcastNameError;

    fn from_str(text: &str) -> Result<Self, BroadcastNameError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let is_name = text.len() <= MAX_BROADCAST_NAME && text.bytes().all(is_plain) && ![".", ".."].contains(&text);
        if is_name { Ok(Self(text.to_owned())) } else { Err(BroadcastNameError) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_link_or_a_line_could_misread_is_no_name() {
        for name in ["", "cam1", "A-b_c.9", "...", &"x".repeat(MAX_BROADCAST_NAME)] {
            assert!(name.parse().is_ok_and(|parsed: BroadcastName| parsed.as_str() == name), "{name}");
        }
        for text in ["cam/1", "a b", "\"", "caf\u{e9}", "a=b", "a\n", ".", "..", &"x".repeat(MAX_BROADCAST_NAME + 1)] {
            assert_eq!(text.parse::<BroadcastName>(), Err(BroadcastNameError), "{text}");
        }
    }
}
