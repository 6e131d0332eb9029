//! A number of bytes, as people write it.

use std::str::FromStr;

/// A number of bytes. As text it is a whole number, or one with `k` or `M` as rates have it: `20k` is 20,000.
///
/// ```
/// use nestcast_media::ByteCount;
///
/// assert_eq!(["300", "20k", "1.5M"].map(|text| text.parse()), [300, 20_000, 1_500_000].map(|count| Ok(ByteCount(count))));
/// assert!(["", "k", "-1", "1.5", "20 q", "1e400k"].iter().all(|text| text.parse::<ByteCount>().is_err()));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteCount(pub usize);

/// The error for text that is no number of bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no number of bytes: give a whole number, or one with k or M, as in 20k")]
pub struct ByteCountError(String);

impl FromStr for ByteCount {
    type Err = ByteCountError;

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
    fn from_str(text: &str) -> Result<Self, ByteCountError> {
        let unit = match text.chars().next_back() {
            Some('k' | 'K') => 1e3,
            Some('M') => 1e6,
            _ => return text.parse().map(Self).map_err(|_| ByteCountError(text.to_owned())),
        };
        let count = text[..text.len() - 1].parse().ok().map(|number: f64| (number * unit).round());
        let count = count.filter(|count| (0.0..=1e15).contains(count));
        count.map(|count| Self(count as usize)).ok_or_else(|| ByteCountError(text.to_owned()))
    }
}
