//! A number of bytes, as people write it.

use std::str::FromStr;

/// A number of bytes. As text it is a whole number, or one with `k` or `M` as rates have it: `20k` is 20,000.
///
/// ```
/// use nestcast_media::ByteCount;
///
/// assert_eq!(["300", "20k", "1.5M"].map(|text| text.parse()), [300, 20_000, 1_500_000].map(|count| Ok(ByteCount(count))));
/// assert!(["", "k", "-1", "1.5", "20 q", "1e3k"].iter().all(|text| text.parse::<ByteCount>().is_err()));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteCount(pub usize);

/// The error for text that is no number of bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ByteCountError {
    /// It has another form, or it rounds to no byte.
    #[error("`{0}` is no number of bytes: give a whole number, or one with k or M, as in 20k")]
    Form(String),
    /// This machine cannot count as far.
    #[error("`{0}` is too many bytes: give {max} or fewer", max = usize::MAX)]
    TooMany(String),
}

impl FromStr for ByteCount {
    type Err = ByteCountError;

    fn from_str(text: &str) -> Result<Self, ByteCountError> {
        let form = || ByteCountError::Form(text.to_owned());
        let (number, zeros) = match text.strip_suffix(['k', 'K']) {
            Some(number) => (number, 3),
            None => text.strip_suffix('M').map_or((text, 0), |number| (number, 6)),
        };
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let is_whole = !number.contains('.') || zeros > 0;
        let has_digits = !whole.is_empty() || !part.is_empty();
        if !is_whole || !has_digits || !whole.bytes().chain(part.bytes()).all(|byte| byte.is_ascii_digit()) {
            return Err(form());
        }
        // As many digits as count bytes, and one to round by.
        let padded = format!("{whole}{part:0<zeros$}0");
        let digits = &padded[..=whole.len() + zeros];
        // Digits alone, so only their number can be wrong.
        let tenths: Option<u128> = digits.parse().ok();
        let count = tenths.and_then(|tenths| usize::try_from(tenths.saturating_add(5) / 10).ok());
        let count = count.ok_or_else(|| ByteCountError::TooMany(text.to_owned()))?;
        let is_lost = count == 0 && number.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
        if is_lost { Err(form()) } else { Ok(Self(count)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_has_digits_and_one_point_at_most_and_is_rounded_but_not_away() {
        for (text, count) in [
            ("0", 0),
            ("007", 7),
            ("1K", 1000),
            (".5k", 500),
            ("2.k", 2000),
            ("0.0005k", 1),
            ("1.2344k", 1234),
            ("1.2345k", 1235),
            ("0.1234567M", 123_457),
            ("0.00k", 0),
        ] {
            assert_eq!(text.parse(), Ok(ByteCount(count)), "{text}");
        }
        let most = usize::MAX.to_string();
        assert_eq!(most.parse(), Ok(ByteCount(usize::MAX)));
        for wrong in [
            "",
            ".",
            "k",
            ".k",
            "1.5",
            "1.",
            "+5",
            "-0",
            "-0k",
            "+5k",
            "1e3k",
            "0.0004k",
            "0.0000001M",
            "1.2.3k",
            "1 k",
            "infk",
            "nank",
            "1kk",
            "٣",
        ] {
            assert_eq!(wrong.parse::<ByteCount>(), Err(ByteCountError::Form(wrong.to_owned())));
        }
        for many in [format!("{most}0"), format!("{most}k"), "9".repeat(60), format!("{}M", "9".repeat(60))] {
            let refused = many.parse::<ByteCount>().expect_err("too many").to_string();
            assert_eq!(refused, format!("`{many}` is too many bytes: give {most} or fewer"));
        }
    }
}
