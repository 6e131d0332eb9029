//! The token that admits a receiver.

use subtle::ConstantTimeEq as _;

/// Compares a receiver's token with the sender's in constant time, which does not reveal where they differ.
#[must_use]
pub fn same_token(given: &[u8], wanted: &[u8]) -> bool {
    given.ct_eq(wanted).into()
}
