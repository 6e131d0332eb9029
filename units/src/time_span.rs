//! Times in whole seconds, as people write them.

use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A time of 1 to 2^32 - 1 whole seconds.
///
/// Text is a number of seconds, or numbers with `s`, `m`, `h` and `d` in any order, such as `1m30s`, whose sum counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeSpan(u32);

/// Why a text is no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeSpanError;

impl From<TimeSpan> for Duration {
    fn from(TimeSpan(seconds): TimeSpan) -> Self {
        Self::from_secs(seconds.into())
    }
}

impl FromStr for TimeSpan {
    type Err = TimeSpanError;

    fn from_str(text: &str) -> Result<Self, TimeSpanError> {
        let mut seconds = 0_u32;
        let mut rest = text;
        while !rest.is_empty() {
            let (number, unit) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
            let factor = match unit.chars().next() {
                None | Some('s') => 1,
                Some('m') => 60,
                Some('h') => 3600,
                Some('d') => 86400,
                _ => return Err(TimeSpanError),
            };
            let part = number.parse().ok().and_then(|number: u32| number.checked_mul(factor));
            seconds = part.and_then(|part| seconds.checked_add(part)).ok_or(TimeSpanError)?;
            rest = unit.get(1..).unwrap_or_default();
        }
        if seconds == 0 { Err(TimeSpanError) } else { Ok(Self(seconds)) }
    }
}

impl fmt::Display for TimeSpanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("give a time such as 90s, 15m, 12h or 30d")
    }
}

impl Error for TimeSpanError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_or_are_seconds() {
        for (text, seconds) in
            [("90", 90), ("90s", 90), ("1m30s", 90), ("12h", 43_200), ("1d1h", 90_000), ("1h30", 3630)]
        {
            assert_eq!(text.parse().map(|time: TimeSpan| Duration::from(time).as_secs()), Ok(seconds), "{text}");
        }
        for wrong in ["", "0", "m", "1x", "-1", "1.5h", "1m\u{20ac}", "99999999999999999999", "4294967296"] {
            assert_eq!(wrong.parse::<TimeSpan>(), Err(TimeSpanError), "{wrong}");
        }
    }
}
