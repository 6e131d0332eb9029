//! Parts of the bindings' tests that this machine cannot run.

use std::env;

use crate::failure::{Failure, Result};

/// The variable that makes a failure of all that is skipped, for a machine that has everything.
const REQUIRE_VARIABLE: &str = "NESTCAST_REQUIRE_BINDINGS";

/// Says what is skipped; fails if nothing may be.
pub(crate) fn skip(what: &str) -> Result<()> {
    if !may_skip() {
        return Err(Failure::say(format!("{REQUIRE_VARIABLE} is set, and this machine cannot test {what}")));
    }
    println!("skipped: {what}");
    Ok(())
}

/// Returns whether tests that lack something are skipped.
pub(crate) fn may_skip() -> bool {
    env::var_os(REQUIRE_VARIABLE).is_none_or(|value| value.is_empty())
}
