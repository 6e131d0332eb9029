//! Looks for secrets in what others can read.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Panics if the bytes of `what` show one of the secrets in any form.
pub(crate) fn hides(what: &str, bytes: &[u8], secrets: &[&str]) {
    let text = String::from_utf8_lossy(bytes);
    for form in secrets.iter().flat_map(|secret| forms(secret)) {
        assert!(!text.contains(&form), "{what} shows a token as {form}");
    }
}

/// Returns every form in which a log may show a text.
fn forms(secret: &str) -> Vec<String> {
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let listed = secret.bytes().map(|byte| byte.to_string()).collect::<Vec<_>>().join(", ");
    // Base64 of the middle is the same wherever it begins, if whole groups of three bytes precede it.
    let coded = (0..3).flat_map(|skipped| {
        let middle = &secret.as_bytes()[skipped..skipped + (secret.len() - skipped) / 3 * 3];
        [STANDARD_NO_PAD.encode(middle), URL_SAFE_NO_PAD.encode(middle)]
    });
    [secret.to_owned(), hex.to_uppercase(), hex, listed].into_iter().chain(coded).collect()
}
