//! The token that lets a receiver in.

use subtle::ConstantTimeEq as _;

/// Compares a receiver's token with the sender's in a time that does not tell where they differ.
#[must_use]
pub fn same_token(given: &[u8], wanted: &[u8]) -> bool {
    given.ct_eq(wanted).into()
}
