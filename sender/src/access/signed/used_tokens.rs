//! Tokens that admit once.

use std::collections::{BTreeMap, HashMap};

use crate::access::Denial;

/// The most tokens that are remembered.
const MAX_USED: usize = 100_000;
/// The most bytes of a token's number.
const MAX_ID: usize = 128;

/// The used tokens that are still valid.
#[derive(Debug, Default)]
pub(super) struct UsedTokens {
    until: HashMap<String, u64>,
    by_expiry: BTreeMap<u64, Vec<String>>,
}

impl UsedTokens {
    /// Notes the use of the token `id`, which is valid until `until`; `now` and `until` in seconds.
    pub(super) fn note(&mut self, id: String, until: u64, now: u64) -> Result<(), Denial> {
        self.check(&id, now)?;
        self.by_expiry.entry(until).or_default().push(id.clone());
        self.until.insert(id, until);
        Ok(())
    }

    /// Checks that the token `id` can be used at `now`.
    pub(super) fn check(&mut self, id: &str, now: u64) -> Result<(), Denial> {
        self.forget_expired(now);
        if id.len() > MAX_ID {
            return Err(Denial::Token);
        }
        if self.until.contains_key(id) {
            return Err(Denial::Used);
        }
        if self.until.len() >= MAX_USED {
            return Err(Denial::Undecided);
        }
        Ok(())
    }

    fn forget_expired(&mut self, now: u64) {
        while let Some(oldest) = self.by_expiry.first_entry().filter(|oldest| *oldest.key() < now) {
            for id in oldest.remove() {
                self.until.remove(&id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_used_once_until_it_expires_and_few_are_remembered() {
        let mut used = UsedTokens::default();
        assert_eq!(used.note("a".into(), 10, 0), Ok(()));
        assert_eq!(used.note("a".into(), 10, 10), Err(Denial::Used));
        assert_eq!(used.note("a".into(), 20, 11), Ok(()), "the first has expired, which its own check says");
        assert_eq!(used.note("x".repeat(MAX_ID + 1), 20, 11), Err(Denial::Token));
        for number in 1..MAX_USED {
            assert_eq!(used.note(number.to_string(), 20, 11), Ok(()));
        }
        assert_eq!(used.note("b".into(), 20, 11), Err(Denial::Undecided));
        assert_eq!(used.note("b".into(), 30, 21), Ok(()));
        assert_eq!((used.until.len(), used.by_expiry.len()), (1, 1));
    }
}
